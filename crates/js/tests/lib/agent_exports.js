// Every name that pi's modules export exists, with the right kind. The lists are
// those of pi 1.5.0.
import * as m0 from "@earendil-works/pi-tui";
import * as m1 from "@earendil-works/pi-coding-agent";
import * as m2 from "@earendil-works/pi-ai";
import * as m3 from "@earendil-works/pi-agent-core";
import * as m4 from "@earendil-works/pi-ai/models";
import * as m5 from "@earendil-works/pi-ai/providers/all";
import * as compat from "@earendil-works/pi-ai/compat";
import * as old from "@mariozechner/pi-tui";

const LISTS = [
  ["pi-tui", m0, {
    class: "Box CancellableLoader CombinedAutocompleteProvider Container Editor HStack Image Input KeybindingsManager Loader Markdown Marked " +
      "MouseRegion ProcessTerminal ScrollView SelectList SettingsList Spacer StdinBuffer Text TruncatedText TuiAltScreen TuiMainScreen " +
      "VStack ",
    string: "CURSOR_MARKER ",
    object: "Key TUI_KEYBINDINGS ",
    function: "allocateImageId backgroundAnsi calculateImageRows colorToHex colorToOkhsl colorToOklch colorToRgb compositeTuiLine " +
      "decodeKittyPrintable deleteAllKittyImages deleteKittyImage detectCapabilities encodeITerm2 encodeKitty foregroundAnsi " +
      "formatProgramStatus fuzzyFilter fuzzyMatch getCapabilities getCellDimensions getGifDimensions getImageDimensions getJpegDimensions " +
      "getKeybindings getNativeClipboard getOsc8LinkAtColumn getPngDimensions getSelectPageIndex getTerminalColorMode getWebpDimensions " +
      "hyperlink imageFallback indexedColor isAppleTerminalSession isFocusable isKeyRelease isKeyRepeat isKittyProtocolActive " +
      "isViewportTUI matchesKey mixColors okhslColor oklabToOkhslLightness oklchColor parseColor parseKey parseTerminalColorSchemeReport " +
      "renderFakeCursor renderImage renderLatex replaceControlCharacters resetCapabilitiesCache rgbColor setCapabilities " +
      "setCapabilityOverrides setCellDimensions setImageTranscoder setKeybindings setKittyProtocolActive sliceByColumn " +
      "stripTerminalSequences styleText styleTextWithAnsi truncateToWidth visibleWidth wrapTextWithAnsi ",
  }],
  ["pi-coding-agent", m1, {
    class: "AgentSession AgentSessionRuntime ArminComponent AssistantMessageComponent BashExecutionComponent BorderedLoader " +
      "BranchSummaryMessageComponent CompactionSummaryMessageComponent CredentialSynchronizationError CustomEditor CustomMessageComponent " +
      "DefaultPackageManager DefaultResourceLoader DynamicBorder ExtensionEditorComponent ExtensionInputComponent ExtensionRunner " +
      "ExtensionSelectorComponent FooterComponent InteractiveMode LoginDialogComponent ModelRegistry ModelRuntime ModelSelectorComponent " +
      "OAuthSelectorComponent ProjectTrustStore RpcClient SessionManager SessionSelectorComponent SettingsManager " +
      "SettingsSelectorComponent ShowImagesSelectorComponent SkillInvocationMessageComponent Theme ThemeSelectorComponent " +
      "ThinkingSelectorComponent ToolExecutionComponent TreeSelectorComponent UserMessageComponent UserMessageSelectorComponent ",
    string: "CONFIG_DIR_NAME VERSION VIRTUAL_MODEL_STATE_ENTRY ",
    number: "CURRENT_SESSION_VERSION DEFAULT_MAX_BYTES DEFAULT_MAX_LINES ",
    object: "DEFAULT_COMPACTION_SETTINGS ",
    function: "buildContextEntries buildSessionContext buildSessionProjection calculateContextTokens collectEntriesForBranchSummary compact " +
      "convertToLlm convertToPng copyToClipboard createAgentSession createAgentSessionFromServices createAgentSessionRuntime " +
      "createAgentSessionServices createBashTool createBashToolDefinition createCodemodeExtension createCodingTools createEditTool " +
      "createEditToolDefinition createEventBus createExtensionRuntime createFindTool createFindToolDefinition createGrepTool " +
      "createGrepToolDefinition createLocalBashOperations createLocalPowerShellOperations createLsTool createLsToolDefinition " +
      "createMcpExtension createPowerShellTool createPowerShellToolDefinition createReadOnlyTools createReadTool createReadToolDefinition " +
      "createSyntheticSourceInfo createToolSearchExtension createWriteTool createWriteToolDefinition defineTool " +
      "detectSupportedImageMimeTypeFromFile discoverAndLoadExtensions estimateTokens findCutPoint findTurnStartIndex formatDimensionNote " +
      "formatReadLineRange formatSize formatSkillsForPrompt generateBranchSummary generateDiffString generateSummary " +
      "generateSummaryWithUsage generateUnifiedPatch getAgentDir getDocsPath getExamplesPath getLanguageFromPath getLastAssistantUsage " +
      "getLatestCompactionEntry getMarkdownTheme getPackageDir getPowerShellConfig getReadmePath getSelectListTheme getSettingsListTheme " +
      "getShellConfig hasTrustRequiringProjectResources highlightCode initTheme isBashToolResult isEditToolResult isFindToolResult " +
      "isGrepToolResult isLsToolResult isPowerShellToolResult isReadToolResult isToolCallEventType isWriteToolResult keyHint keyText " +
      "loadProjectContextFiles loadSkills loadSkillsFromDir main migrateSessionEntries parseArgs parseFrontmatter parseSessionEntries " +
      "parseSkillBlock prepareBranchEntries rawKeyHint readStoredCredential renderDiff resizeImage resolveCliModel " +
      "resolveModelScopeWithDiagnostics runPrintMode runRpcMode serializeConversation sessionEntryToContextMessages shouldCompact " +
      "stripFrontmatter truncateHead truncateLine truncateTail truncateToVisualLines withFileMutationQueue wrapRegisteredTool " +
      "wrapRegisteredTools ",
  }],
  ["pi-ai", m2, {
    object: "AI_TELEMETRY_SCHEMA PI_ATTRIBUTION Type ",
    string: "ANTHROPIC_API_KEY_ENV ANTHROPIC_AUTH_TOKEN_ENV ANTHROPIC_FEDERATION_RULE_ID_ENV ANTHROPIC_IDENTITY_TOKEN_FILE_ENV " +
      "ANTHROPIC_OAUTH_TOKEN_ENV ANTHROPIC_ORGANIZATION_ID_ENV ANTHROPIC_SERVICE_ACCOUNT_ID_ENV ANTHROPIC_WORKSPACE_ID_ENV PI_AI_VERSION ",
    class: "AssistantMessageEventStream EventStream InMemoryCredentialStore InMemoryModelsStore ModelsError StreamingJsonParser " +
      "ToolCallArgumentsStream ",
    number: "DEFAULT_MAX_AGENT_RETRY_DELAY_MS ",
    function: "StringEnum anthropicMessagesApi appendAssistantMessageDiagnostic azureOpenAIResponsesApi bedrockConverseStreamApi calculateCost " +
      "clampThinkingLevel cleanupSessionResources collapseSystemMessages complete completeSimple contentText " +
      "createAssistantMessageDiagnostic createAssistantMessageEventStream createFauxCore createInitialSystemMessage createModels " +
      "createProvider declarationsEqual defaultProviderAuthContext envApiKeyAuth extractDiagnosticError fauxAssistantMessage fauxProvider " +
      "fauxText fauxThinking fauxToolCall findEnvKeys formatThrownValue formatUserAgent generateImages generateImagesOpenRouter " +
      "getApiProvider getApiProviders getAttributionHeaders getClientVersion getCurrentSystemMessage getCurrentSystemPrompt " +
      "getCurrentTools getDeclaredTools getEnvApiKey getIdentityHeaders getImageModel getImageModels getImageProviders " +
      "getImagesApiProvider getInitialSystemMessage getModel getModelType getModels getOpenCodeSessionHeaders getOverflowPatterns " +
      "getProviders getSupportedThinkingLevels getSystemMessageText getToolStateChanges googleGenerativeAIApi googleVertexApi hasApi " +
      "hasNonAdditiveToolChanges hasToolRedefinitions isContextOverflow isModelType isRecoverableLength isRetryableAssistantError lazyApi " +
      "lazyOAuth lazyStream mergeClientIdentity mistralConversationsApi modelsAreEqual normalizeContext openAICodexResponsesApi " +
      "openAICompletionsApi openAIResponsesApi parseJsonWithRepair parseStreamingJson parseToolCallArguments piMessagesApi " +
      "registerApiProvider registerBuiltInApiProviders registerBuiltInImagesApiProviders registerFauxProvider registerImagesApiProvider " +
      "registerSessionResourceCleanup renderSystemMessageUpdate repairJson resetApiProviders resolveTranscript resolveTranscriptTools " +
      "retryAssistantCall retryDelayMs setBedrockProviderModule stream streamAnthropic streamAzureOpenAIResponses streamGoogle " +
      "streamGoogleVertex streamMistral streamOpenAICodexResponses streamOpenAICompletions streamOpenAIResponses streamSimple " +
      "streamSimpleAnthropic streamSimpleAzureOpenAIResponses streamSimpleGoogle streamSimpleGoogleVertex streamSimpleMistral " +
      "streamSimpleOpenAICodexResponses streamSimpleOpenAICompletions streamSimpleOpenAIResponses toToolDeclaration unregisterApiProviders " +
      "uuidv7 validateToolArguments validateToolCall withClientIdentity withoutInitialSystemMessage ",
  }],
  ["pi-agent-core", m3, {
    class: "Agent ",
    object: "DEFAULT_AGENT_IDENTITY ",
    function: "agentLoop agentLoopContinue runAgentLoop runAgentLoopContinue runToolCall setDefaultStreamFn streamProxy ",
  }],
  ["pi-ai/models", m4, {
    object: "AI_TELEMETRY_SCHEMA ",
    class: "ModelsError ",
    function: "calculateCost clampThinkingLevel createModels createProvider getModelType getSupportedThinkingLevels hasApi isModelType " +
      "modelsAreEqual ",
  }],
  ["pi-ai/providers/all", m5, {
    function: "builtinModels builtinProviders getAllBuiltinModels getBuiltinClassifierModel getBuiltinClassifierModels getBuiltinImageModel " +
      "getBuiltinImageModels getBuiltinModel getBuiltinModelDataGeneratedAt getBuiltinModels getBuiltinProviders radiusProvider ",
  }],
];

const wrong = [];
let count = 0;
const kindOf = (value) => (typeof value === "function" && Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false ? "class" : typeof value);
for (const [name, module, kinds] of LISTS) {
  for (const [kind, names] of Object.entries(kinds)) {
    for (const each of names.trim().split(" ")) {
      count += 1;
      if (kindOf(module[each]) !== kind) wrong.push(`${name}: ${each} is ${kindOf(module[each])}, not ${kind}`);
    }
  }
}
if (compat.StringEnum !== m2.StringEnum) wrong.push("pi-ai/compat is not pi-ai");
if (old.Text !== m0.Text) wrong.push("the old scope has classes of its own");
if (count !== 420) wrong.push(`${count} names`);
if (wrong.length > 0) throw new Error(wrong.join("\n"));
