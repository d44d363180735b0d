// The APIs that pi's library speaks itself. Here each of them is the agent's:
// the functions exist, ask the host's agent, and say so when there is none.
import { stream, streamSimple } from "jackfield:pi/ai/streams";

const api = () => ({ stream: (model, context, options) => stream(model, context, options), streamSimple: (model, context, options) => streamSimple(model, context, options) });

/** Anthropic's messages. */
export function anthropicMessagesApi() { return api(); }
/** OpenAI's responses on Azure. */
export function azureOpenAIResponsesApi() { return api(); }
/** Amazon Bedrock. */
export function bedrockConverseStreamApi() { return api(); }
/** Google's generative AI. */
export function googleGenerativeAIApi() { return api(); }
/** Google's Vertex. */
export function googleVertexApi() { return api(); }
/** Mistral's conversations. */
export function mistralConversationsApi() { return api(); }
/** OpenAI's Codex. */
export function openAICodexResponsesApi() { return api(); }
/** OpenAI's chat completions. */
export function openAICompletionsApi() { return api(); }
/** OpenAI's responses. */
export function openAIResponsesApi() { return api(); }
/** pi's own messages. */
export function piMessagesApi() { return api(); }
/** Nothing to set: Bedrock is the agent's. */
export function setBedrockProviderModule(_module) {}

/** Streams from Anthropic. */
export function streamAnthropic(model, context, options) { return stream(model, context, options); }
/** Streams from OpenAI on Azure. */
export function streamAzureOpenAIResponses(model, context, options) { return stream(model, context, options); }
/** Streams from Google. */
export function streamGoogle(model, context, options) { return stream(model, context, options); }
/** Streams from Google's Vertex. */
export function streamGoogleVertex(model, context, options) { return stream(model, context, options); }
/** Streams from Mistral. */
export function streamMistral(model, context, options) { return stream(model, context, options); }
/** Streams from OpenAI's Codex. */
export function streamOpenAICodexResponses(model, context, options) { return stream(model, context, options); }
/** Streams from chat completions. */
export function streamOpenAICompletions(model, context, options) { return stream(model, context, options); }
/** Streams from OpenAI's responses. */
export function streamOpenAIResponses(model, context, options) { return stream(model, context, options); }
/** Streams from Anthropic with common options. */
export function streamSimpleAnthropic(model, context, options) { return streamSimple(model, context, options); }
/** Streams from OpenAI on Azure with common options. */
export function streamSimpleAzureOpenAIResponses(model, context, options) { return streamSimple(model, context, options); }
/** Streams from Google with common options. */
export function streamSimpleGoogle(model, context, options) { return streamSimple(model, context, options); }
/** Streams from Google's Vertex with common options. */
export function streamSimpleGoogleVertex(model, context, options) { return streamSimple(model, context, options); }
/** Streams from Mistral with common options. */
export function streamSimpleMistral(model, context, options) { return streamSimple(model, context, options); }
/** Streams from OpenAI's Codex with common options. */
export function streamSimpleOpenAICodexResponses(model, context, options) { return streamSimple(model, context, options); }
/** Streams from chat completions with common options. */
export function streamSimpleOpenAICompletions(model, context, options) { return streamSimple(model, context, options); }
/** Streams from OpenAI's responses with common options. */
export function streamSimpleOpenAIResponses(model, context, options) { return streamSimple(model, context, options); }
