// Fills in a template, in JavaScript: QuickJS and this script in one component, which imports the log and nothing else.
//
// `cargo xtask examples fill-js-wasm` makes target/examples/fill-js-wasm/fill.wasm of it.
// An exception that is not caught ends the instance, so every tool is wrapped.
import { write } from "jackfield:extension/log@1.0.0";

const tools = {
  fill: {
    description: "Fills in a template: {name} becomes the value of that name.",
    schema: {
      type: "object",
      properties: {
        template: { type: "string" },
        values: { type: "object", additionalProperties: { type: ["string", "number"] } },
      },
      required: ["template", "values"],
    },
    run({ template, values }) {
      return template.replace(/\{(\w+)\}/g, (_, name) => {
        if (!(name in values)) throw new Error(`no value for {${name}}`);
        return String(values[name]);
      });
    },
  },
};

export const guest = {
  describe: () => ({
    name: "fill",
    version: "1.0.0",
    description: "Fills in templates.",
    tools: Object.entries(tools).map(([name, { description, schema }]) => ({
      name,
      label: undefined,
      description,
      inputSchema: JSON.stringify(schema),
      annotations: "",
    })),
    commands: [],
    events: [],
    hooks: [],
    capabilities: [],
    extra: "",
  }),

  callTool(_context, name, args) {
    let text;
    let isError = false;
    try {
      text = tools[name].run(JSON.parse(args));
      write("debug", "filled in", JSON.stringify({ characters: text.length }));
    } catch (error) {
      text = error.message;
      isError = true;
    }
    return { content: [{ tag: "text", val: text }], isError, details: undefined };
  },
};
