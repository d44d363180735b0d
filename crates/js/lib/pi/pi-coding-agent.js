// `@earendil-works/pi-coding-agent` (and `@mariozechner/…`): pi's helpers for
// extensions. What needs pi's own agent asks the host's agent and otherwise
// fails with a clear error; the rest does its work here.
export { ArminComponent, ExtensionEditorComponent, ExtensionInputComponent, ExtensionSelectorComponent, FooterComponent, LoginDialogComponent, ModelSelectorComponent, OAuthSelectorComponent, SessionSelectorComponent, SettingsSelectorComponent, ShowImagesSelectorComponent, ThemeSelectorComponent, ThinkingSelectorComponent, TreeSelectorComponent, UserMessageSelectorComponent } from "jackfield:pi/agent/selectors";
export { AgentSession, AgentSessionRuntime, CredentialSynchronizationError, DefaultPackageManager, ExtensionRunner, InteractiveMode, RpcClient, createAgentSession, createAgentSessionFromServices, createAgentSessionRuntime, createAgentSessionServices, createCodemodeExtension, createExtensionRuntime, createMcpExtension, createToolSearchExtension, discoverAndLoadExtensions, main, runPrintMode, runRpcMode } from "jackfield:pi/agent/sdk";
export { AssistantMessageComponent, BashExecutionComponent, BorderedLoader, BranchSummaryMessageComponent, CompactionSummaryMessageComponent, CustomEditor, CustomMessageComponent, DynamicBorder, SkillInvocationMessageComponent, UserMessageComponent, truncateToVisualLines } from "jackfield:pi/agent/components";
export { ToolExecutionComponent } from "jackfield:pi/agent/tool-component";
export { DefaultResourceLoader, ProjectTrustStore } from "jackfield:pi/agent/resources";
export { ModelRegistry, ModelRuntime, readStoredCredential, resolveCliModel, resolveModelScopeWithDiagnostics } from "jackfield:pi/agent/model-registry";
export { CONFIG_DIR_NAME, VERSION, getAgentDir, getDocsPath, getExamplesPath, getLanguageFromPath, getPackageDir, getReadmePath } from "jackfield:pi/agent/paths";
export { CURRENT_SESSION_VERSION, VIRTUAL_MODEL_STATE_ENTRY, buildContextEntries, buildSessionContext, buildSessionProjection, getLatestCompactionEntry, migrateSessionEntries, parseSessionEntries, sessionEntryToContextMessages } from "jackfield:pi/agent/session-entries";
export { SessionManager } from "jackfield:pi/agent/session";
export { SettingsManager } from "jackfield:pi/agent/settings";
export { DEFAULT_COMPACTION_SETTINGS, calculateContextTokens, collectEntriesForBranchSummary, compact, estimateTokens, findCutPoint, findTurnStartIndex, generateBranchSummary, generateSummary, generateSummaryWithUsage, getLastAssistantUsage, prepareBranchEntries, shouldCompact } from "jackfield:pi/agent/compaction";
export { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead, truncateLine, truncateTail } from "jackfield:pi/agent/truncate";
export { Theme, getMarkdownTheme, getSelectListTheme, getSettingsListTheme, highlightCode, initTheme, renderDiff } from "jackfield:pi/agent/theme";
export { keyHint, keyText, rawKeyHint } from "jackfield:pi/agent/app-keys";
export { convertToLlm, parseSkillBlock, serializeConversation } from "jackfield:pi/agent/messages";
export { convertToPng, copyToClipboard, formatDimensionNote, parseArgs, resizeImage } from "jackfield:pi/agent/misc";
export { createBashTool, createBashToolDefinition, createLocalBashOperations, createLocalPowerShellOperations, createPowerShellTool, createPowerShellToolDefinition, getPowerShellConfig, getShellConfig } from "jackfield:pi/agent/tool-bash";
export { createEditTool, createEditToolDefinition } from "jackfield:pi/agent/tool-edit";
export { createReadTool, createReadToolDefinition, detectSupportedImageMimeTypeFromFile, formatReadLineRange } from "jackfield:pi/agent/tool-read";
export { createFindTool, createFindToolDefinition, createGrepTool, createGrepToolDefinition, createLsTool, createLsToolDefinition } from "jackfield:pi/agent/tool-search";
export { createWriteTool, createWriteToolDefinition } from "jackfield:pi/agent/tool-write";
export { createCodingTools, createReadOnlyTools } from "jackfield:pi/agent/tools";
export { createEventBus, createSyntheticSourceInfo, defineTool, isBashToolResult, isEditToolResult, isFindToolResult, isGrepToolResult, isLsToolResult, isPowerShellToolResult, isReadToolResult, isToolCallEventType, isWriteToolResult, wrapRegisteredTool, wrapRegisteredTools } from "jackfield:pi/agent/guards";
export { formatSkillsForPrompt, hasTrustRequiringProjectResources, loadProjectContextFiles, loadSkills, loadSkillsFromDir } from "jackfield:pi/agent/skills";
export { generateDiffString, generateUnifiedPatch } from "jackfield:pi/agent/diff";
export { parseFrontmatter, stripFrontmatter } from "jackfield:pi/agent/frontmatter";
export { withFileMutationQueue } from "jackfield:pi/agent/mutation-queue";
