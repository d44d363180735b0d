// What registering twice, taking back and bad arguments do.
import { attempt, type Api, tell } from "./lib/tell.ts";
import { Type } from "typebox";
import { StringEnum } from "@earendil-works/pi-ai";

export default function (pi: Api) {
  const tool = (name: string, more = {}) => ({ name, label: name, description: "d", parameters: Type.Object({}), execute: async () => ({ content: [], details: undefined }), ...more });
  pi.registerTool(tool("twice"));
  pi.registerTool(tool("other"));
  pi.registerTool(tool("twice", { description: "the second" }));
  pi.registerTool(tool("types", {
    parameters: Type.Object({
      text: Type.String({ minLength: 1 }), maybe: Type.Optional(Type.Integer()), kind: StringEnum(["a", "b"] as const, { description: "which", default: "a" }),
      list: Type.Array(Type.Union([Type.Literal("x"), Type.Null()])), map: Type.Record(Type.String(), Type.Number()), any: Type.Any(), unsafe: Type.Unsafe({ type: "string", format: "uri" }),
      nested: Type.Partial(Type.Object({ a: Type.Boolean(), b: Type.Tuple([Type.String(), Type.Number()]) })),
    }, { additionalProperties: false }),
  }));
  const off = pi.on("turn_end", () => {});
  pi.on("turn_end", () => {});
  pi.on("input", () => {});
  pi.on("no_such_event", () => {});
  if (typeof off === "function") off();
  pi.registerShortcut("ctrl+x", { description: "x", handler: async () => {} });
  pi.registerFlag("on", { type: "boolean", default: true });
  pi.registerMessageRenderer("m", () => undefined);
  pi.events.on("a:b", () => {});
  tell(pi, {
    noSchema: attempt(() => pi.registerTool({ ...tool("bad"), parameters: undefined })),
    noHandler: attempt(() => pi.registerCommand("bad", { description: "x" } as never)),
    flagType: attempt(() => pi.registerFlag("bad", { type: "boolean", default: "yes" })),
    flag: attempt(() => pi.getFlag("on")), unknownFlag: typeof attempt(() => pi.getFlag("nope")),
    off: typeof off, tooEarly: typeof attempt(() => pi.sendMessage({ customType: "x", content: "y", display: true })),
    members: ["on", "registerTool", "registerCommand", "registerShortcut", "registerFlag", "getFlag", "registerMessageRenderer", "sendMessage", "sendUserMessage", "appendEntry", "setSessionName", "getSessionName", "setLabel", "exec", "getActiveTools", "getAllTools", "setActiveTools", "getCommands", "setModel", "getThinkingLevel", "setThinkingLevel", "registerProvider", "unregisterProvider", "events"].map((name) => typeof pi[name]),
  });
}
