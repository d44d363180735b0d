// pi-ai and pi-agent-core: data, streams, JSON, validation and the loop with a
// played model. Expected values were obtained from pi 1.5.0.
import { Agent, runToolCall } from "@earendil-works/pi-agent-core";
import { StringEnum, calculateCost, clampThinkingLevel, complete, contentText, createAssistantMessageEventStream, createModels, fauxAssistantMessage, fauxProvider, fauxToolCall, getModel, getModels, getProviders, getSupportedThinkingLevels, isContextOverflow, isRetryableAssistantError, modelsAreEqual, normalizeContext, parseJsonWithRepair, parseStreamingJson, parseToolCallArguments, registerFauxProvider, repairJson, retryDelayMs, streamSimple, uuidv7, validateToolArguments, validateToolCall } from "@earendil-works/pi-ai";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}
const attempt = (work) => {
  try {
    return work();
  } catch (error) {
    return `ERR ${error.message}`;
  }
};
same([StringEnum(["a", "b"], { description: "d", default: "a" }), StringEnum(["a"])], [{ type: "string", enum: ["a", "b"], description: "d", default: "a" }, { type: "string", enum: ["a"] }], "StringEnum");
const model = { id: "m", provider: "p", api: "x", reasoning: true, cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 0 } };
same(calculateCost(model, { input: 1000, output: 100, cacheRead: 10, cacheWrite: 0, cost: {} }), { input: 0.003, output: 0.0015, cacheRead: 0.000003, cacheWrite: 0, total: 0.004503000000000001, totalFromProvider: false }, "cost");
same([clampThinkingLevel(model, "xhigh"), getSupportedThinkingLevels({ ...model, thinkingLevelMap: { minimal: null, xhigh: "x", max: "m" } }), modelsAreEqual(model, { ...model }), modelsAreEqual(model, null)], ["high", ["off", "low", "medium", "high", "xhigh", "max"], true, false], "thinking levels");
same([contentText("x"), contentText([{ type: "text", text: "a" }, { type: "image" }, { type: "text", text: "b" }])], ["x", "a\nb"], "contentText");
same([getProviders(), getModels("anthropic"), getModel("a", "b") ?? null], [[], [], null], "no catalogue");
const STREAMED = [['{"a":1', { a: 1 }], ['{"a":"x', { a: "x" }], ['{"a":[1,2', { a: [1, 2] }], ['{"a":tr', { a: true }], ['{"a":', {}], ["{", {}], ["", {}], ["null", null], ['{"a":"b\\', { a: "b" }], ['{"a":"line\nbreak"}', { a: "line\nbreak" }], ['{"a":1,}', { a: 1 }], ["[1,", [1]], ['{"a":{"b":"c', { a: { b: "c" } }], ['{"a":"\\u12', { a: "" }], ["x", {}], ['{"a":"C:\\dir"}', { a: "C:\\dir" }], ['{"a": 1} trailing', { a: 1 }]];
for (const [text, value] of STREAMED) same(parseStreamingJson(text), value, `streamed ${JSON.stringify(text)}`);
same([repairJson('{"a":"C:\\dir"}'), parseJsonWithRepair('{"a":"x\ty"}'), parseToolCallArguments("null").argumentsError], ['{"a":"C:\\\\dir"}', { a: "x\ty" }, "Tool arguments must be a JSON object\n\nReceived arguments:\nnull"], "repair");
const tool = { name: "t", description: "d", parameters: { type: "object", required: ["a"], properties: { a: { type: "number" }, b: { type: "string" }, c: { type: "array", items: { type: "string" } }, d: { type: "boolean" } } } };
const VALID = [[{ a: "1" }, { a: 1 }], [{ a: 1, b: 2 }, { a: 1, b: "2" }], [{ a: 1, c: "x" }, { a: 1, c: ["x"] }], [{ a: 1, d: "true" }, { a: 1, d: true }], [{ a: 1, b: null }, { a: 1 }], [{ a: 1, z: 1 }, { a: 1, z: 1 }]];
for (const [given, value] of VALID) same(validateToolArguments(tool, { name: "t", arguments: given }), value, `valid ${JSON.stringify(given)}`);
same(attempt(() => validateToolArguments(tool, { name: "t", arguments: { a: "x" } })), 'ERR Validation failed for tool "t":\n  - a: expected number, got string\n\nReceived arguments:\n{\n  "a": "x"\n}', "wrong type");
same(attempt(() => validateToolArguments(tool, { name: "t", arguments: {} })), 'ERR Validation failed for tool "t":\n  - a: missing\n\nReceived arguments:\n{}', "missing argument");
same(attempt(() => validateToolCall([tool], { name: "zz", arguments: {} })), 'ERR Tool "zz" not found', "unknown tool");
const failed = (errorMessage) => ({ role: "assistant", content: [], stopReason: "error", errorMessage, usage: { input: 1 } });
const ERRORS = [["prompt is too long: 213462 tokens > 200000 maximum", true, false], ["maximum context length is 8192 tokens", true, false], ["rate limit", false, true], ["overloaded", false, true], ["503", false, true], ["fetch failed", false, true], ["invalid api key", false, false], ["insufficient_quota", false, false], ["429 Too Many", false, true]];
for (const [text, overflow, retry] of ERRORS) same([isContextOverflow(failed(text)), isRetryableAssistantError(failed(text))], [overflow, retry], `error ${text}`);
same([retryDelayMs({ baseDelayMs: 2000 }, 1), retryDelayMs({ baseDelayMs: 2000 }, 3), retryDelayMs({ baseDelayMs: 2000 }, 90)], [2000, 8000, 60000], "waits");
same(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(uuidv7()), true, "uuidv7");
same(normalizeContext({ systemPrompt: "sp", messages: [{ role: "user", content: "x" }] }), { messages: [{ role: "system", content: "sp", timestamp: 0 }, { role: "user", content: "x" }] }, "normalizeContext");

const stream = createAssistantMessageEventStream();
stream.push({ type: "start", partial: 1 });
stream.push({ type: "done", reason: "stop", message: { durationMs: 5 } });
stream.end();
const events = [];
for await (const event of stream) events.push(event.type);
same([events, await stream.result()], [["start", "done"], { durationMs: 5 }], "event stream");

const faux = registerFauxProvider();
faux.setResponses([fauxAssistantMessage("hello")]);
same((await complete(faux.getModel(), { messages: [] })).content, [{ type: "text", text: "hello" }], "a registered API");
faux.unregister();
const provider = fauxProvider();
provider.setResponses([fauxAssistantMessage("from a collection")]);
const models = createModels();
models.setProvider(provider.provider);
same((await models.complete(models.getModels()[0], { messages: [] })).content[0].text, "from a collection", "createModels");

let refused;
try {
  await complete({ provider: "p", id: "m", api: "none" }, { messages: [] });
} catch (error) {
  refused = error.code;
}
same(refused, "unsupported", "no agent: complete rejects");
const last = await streamSimple({ provider: "p", id: "m", api: "none" }, { messages: [] }).result();
same([last.stopReason, typeof last.errorMessage], ["error", "string"], "no agent: a stream ends with an error");

const core = registerFauxProvider();
core.setResponses([fauxAssistantMessage([fauxToolCall("add", { a: "1", b: 2 }, { id: "c1" })], { stopReason: "toolUse" }), fauxAssistantMessage("3")]);
const add = { name: "add", label: "add", description: "", parameters: { type: "object", required: ["a", "b"], properties: { a: { type: "number" }, b: { type: "number" } } }, execute: async (_id, { a, b }) => ({ content: [{ type: "text", text: String(a + b) }], details: {} }) };
const agent = new Agent({ initialState: { model: core.getModel(), tools: [add] } });
const kinds = [];
agent.subscribe((event) => kinds.push(event.type));
await agent.prompt("1 + 2");
same(agent.state.messages.map((message) => [message.role, contentText(message.content)]), [["user", "1 + 2"], ["assistant", ""], ["toolResult", "3"], ["assistant", "3"]], "the loop");
same([kinds[0], kinds.at(-1), kinds.filter((kind) => kind === "turn_end").length], ["agent_start", "agent_end", 2], "its events");
core.unregister();
const broken = await runToolCall({ toolCall: { id: "1", name: "nope", arguments: {} }, tools: [] });
same([broken.isError, broken.result.content[0].text], [true, "Tool nope not found"], "a tool that does not exist");
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
