// `@earendil-works/pi-ai` (and `@mariozechner/pi-ai`): pi's model library. Data,
// streams, JSON and validation work here; answers of models come from the
// host's agent.
export { defaultProviderAuthContext, envApiKeyAuth, findEnvKeys, getEnvApiKey, lazyOAuth } from "jackfield:pi/ai/auth";
export { anthropicMessagesApi, azureOpenAIResponsesApi, bedrockConverseStreamApi, googleGenerativeAIApi, googleVertexApi, mistralConversationsApi, openAICodexResponsesApi, openAICompletionsApi, openAIResponsesApi, piMessagesApi, setBedrockProviderModule, streamAnthropic, streamAzureOpenAIResponses, streamGoogle, streamGoogleVertex, streamMistral, streamOpenAICodexResponses, streamOpenAICompletions, streamOpenAIResponses, streamSimpleAnthropic, streamSimpleAzureOpenAIResponses, streamSimpleGoogle, streamSimpleGoogleVertex, streamSimpleMistral, streamSimpleOpenAICodexResponses, streamSimpleOpenAICompletions, streamSimpleOpenAIResponses } from "jackfield:pi/ai/builtin-apis";
export { getImageModel, getImageModels, getImageProviders, getModel, getModels, getProviders } from "jackfield:pi/ai/catalogue";
export { AI_TELEMETRY_SCHEMA, ANTHROPIC_API_KEY_ENV, ANTHROPIC_AUTH_TOKEN_ENV, ANTHROPIC_FEDERATION_RULE_ID_ENV, ANTHROPIC_IDENTITY_TOKEN_FILE_ENV, ANTHROPIC_OAUTH_TOKEN_ENV, ANTHROPIC_ORGANIZATION_ID_ENV, ANTHROPIC_SERVICE_ACCOUNT_ID_ENV, ANTHROPIC_WORKSPACE_ID_ENV, DEFAULT_MAX_AGENT_RETRY_DELAY_MS, PI_AI_VERSION, PI_ATTRIBUTION } from "jackfield:pi/ai/constants";
export { appendAssistantMessageDiagnostic, createAssistantMessageDiagnostic, extractDiagnosticError, formatThrownValue, getOverflowPatterns, isContextOverflow, isRecoverableLength, isRetryableAssistantError, retryAssistantCall, retryDelayMs } from "jackfield:pi/ai/errors";
export { AssistantMessageEventStream, EventStream, createAssistantMessageEventStream, lazyStream } from "jackfield:pi/ai/event-stream";
export { createFauxCore, fauxAssistantMessage, fauxProvider, fauxText, fauxThinking, fauxToolCall, registerFauxProvider } from "jackfield:pi/ai/faux";
export { formatUserAgent, getAttributionHeaders, getClientVersion, getIdentityHeaders, getOpenCodeSessionHeaders, mergeClientIdentity, withClientIdentity } from "jackfield:pi/ai/identity";
export { StreamingJsonParser, ToolCallArgumentsStream, parseJsonWithRepair, parseStreamingJson, parseToolCallArguments, repairJson } from "jackfield:pi/ai/json";
export { InMemoryCredentialStore, InMemoryModelsStore, ModelsError, calculateCost, clampThinkingLevel, createModels, createProvider, getModelType, getSupportedThinkingLevels, hasApi, isModelType, modelsAreEqual } from "jackfield:pi/ai/models";
export { StringEnum } from "jackfield:pi/ai/schema";
export { cleanupSessionResources, complete, completeSimple, generateImages, generateImagesOpenRouter, getApiProvider, getApiProviders, getImagesApiProvider, lazyApi, registerApiProvider, registerBuiltInApiProviders, registerBuiltInImagesApiProviders, registerImagesApiProvider, registerSessionResourceCleanup, resetApiProviders, stream, streamSimple, unregisterApiProviders } from "jackfield:pi/ai/streams";
export { collapseSystemMessages, contentText, createInitialSystemMessage, declarationsEqual, getCurrentSystemMessage, getCurrentSystemPrompt, getCurrentTools, getDeclaredTools, getInitialSystemMessage, getSystemMessageText, getToolStateChanges, hasNonAdditiveToolChanges, hasToolRedefinitions, normalizeContext, renderSystemMessageUpdate, resolveTranscript, resolveTranscriptTools, toToolDeclaration, withoutInitialSystemMessage } from "jackfield:pi/ai/transcript";
export { uuidv7 } from "jackfield:pi/ai/uuid";
export { validateToolArguments, validateToolCall } from "jackfield:pi/ai/validate";
export { Type } from "jackfield:pi/typebox";
