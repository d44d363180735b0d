// util.parseArgs: command line arguments to values, positionals and tokens, with Node's rules and error codes.
import { invalidArgType, invalidArgValue, typeError, validateArray, validateBoolean, validateObject, validateOneOf, validateString } from "jackfield:node/internal/errors";
import process from "node:process";

const shortOf = (long, options) => (options[long]?.short ? `-${options[long].short}, ` : "");

function checkOptions(options) {
  for (const [name, option] of Object.entries(options)) {
    validateObject(option, `options.${name}`);
    validateOneOf(option.type, `options.${name}.type`, ["string", "boolean"]);
    if (option.short !== undefined) {
      validateString(option.short, `options.${name}.short`);
      if (option.short.length !== 1) throw invalidArgValue(`options.${name}.short`, option.short, "must be a single character");
    }
    if (option.multiple !== undefined) validateBoolean(option.multiple, `options.${name}.multiple`);
    const fallback = option.default;
    if (fallback === undefined) continue;
    const values = option.multiple ? fallback : [fallback];
    if (option.multiple) validateArray(fallback, `options.${name}.default`);
    values.forEach((value, i) => {
      if (typeof value !== option.type) throw invalidArgType(`options.${name}.default${option.multiple ? `[${i}]` : ""}`, option.type, value);
    });
  }
}

// Arguments as tokens: options with or without a value, positionals, and the "--" that ends options.
function tokenize(args, options) {
  const tokens = [];
  const byShort = new Map(Object.entries(options).filter(([, o]) => o.short).map(([name, o]) => [o.short, name]));
  const takesValue = (name) => Object.hasOwn(options, name) && options[name].type === "string";
  const queue = args.map((arg, index) => ({ arg, index }));
  while (queue.length > 0) {
    const { arg, index } = queue.shift();
    const next = queue[0]?.group ? undefined : queue[0];
    if (arg === "--") {
      tokens.push({ kind: "option-terminator", index });
      for (const rest of queue) tokens.push({ kind: "positional", index: rest.index, value: rest.arg });
      break;
    }
    if (arg.length > 2 && arg.startsWith("--")) {
      const equals = arg.indexOf("=", 3);
      const name = equals === -1 ? arg.slice(2) : arg.slice(2, equals);
      const token = { kind: "option", name, rawName: `--${name}`, index, value: undefined, inlineValue: undefined };
      if (equals !== -1) Object.assign(token, { value: arg.slice(equals + 1), inlineValue: true });
      else if (takesValue(name) && next !== undefined) Object.assign(token, { value: queue.shift().arg, inlineValue: false });
      tokens.push(token);
      continue;
    }
    if (arg.length > 1 && arg[0] === "-") {
      const name = byShort.get(arg[1]) ?? arg[1];
      if (arg.length === 2) {
        const token = { kind: "option", name, rawName: arg, index, value: undefined, inlineValue: undefined };
        if (takesValue(name) && next !== undefined) Object.assign(token, { value: queue.shift().arg, inlineValue: false });
        tokens.push(token);
        continue;
      }
      if (takesValue(name)) {
        tokens.push({ kind: "option", name, rawName: `-${arg[1]}`, index, value: arg.slice(2), inlineValue: true });
        continue;
      }
      // A group like -abc: each letter alone, until one takes the rest as its value.
      const parts = [];
      for (let i = 1; i < arg.length; i++) {
        const one = byShort.get(arg[i]) ?? arg[i];
        if (takesValue(one) && i < arg.length - 1) {
          parts.push({ arg: `-${arg.slice(i)}`, index });
          break;
        }
        parts.push({ arg: `-${arg[i]}`, index });
      }
      for (const part of parts.slice(1)) part.group = true;
      queue.unshift(...parts);
      continue;
    }
    tokens.push({ kind: "positional", index, value: arg });
  }
  return tokens;
}

function checkStrict(token, { options, allowPositionals, allowNegative }) {
  let { name } = token;
  if (!Object.hasOwn(options, name) && allowNegative && name.startsWith("no-") && options[name.slice(3)]?.type === "boolean") name = name.slice(3);
  if (!Object.hasOwn(options, name)) {
    const tail = allowPositionals ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- ${JSON.stringify(token.rawName)}` : "";
    throw typeError("ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${token.rawName}'${tail}`);
  }
  const label = `${shortOf(name, options)}--${name}`;
  if (options[name].type === "string" && typeof token.value !== "string") {
    throw typeError("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${label} <value>' argument missing`);
  }
  if (options[name].type === "boolean" && token.value != null) {
    throw typeError("ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${label}' does not take an argument`);
  }
  if (options[name].type === "string" && token.inlineValue === false && token.value.length > 1 && token.value[0] === "-") {
    const example = token.rawName.startsWith("--") ? `'${token.rawName}=-XYZ'` : `'--${name}=-XYZ' or '${token.rawName}-XYZ'`;
    throw typeError("ERR_PARSE_ARGS_INVALID_OPTION_VALUE",
      `Option '${token.rawName}' argument is ambiguous.\nDid you forget to specify the option argument for '${token.rawName}'?\nTo specify an option argument starting with a dash use ${example}.`);
  }
}

export function parseArgs(config = {}) {
  validateObject(config, "config");
  const args = config.args ?? process.argv.slice(2);
  const strict = config.strict ?? true;
  const allowPositionals = config.allowPositionals ?? !strict;
  const allowNegative = config.allowNegative ?? false;
  const options = config.options ?? {};
  validateArray(args, "args");
  validateBoolean(strict, "strict");
  validateBoolean(allowPositionals, "allowPositionals");
  validateBoolean(allowNegative, "allowNegative");
  validateObject(options, "options");
  checkOptions(options);

  const values = Object.create(null);
  const positionals = [];
  const tokens = tokenize(args, options);
  for (const token of tokens) {
    if (token.kind === "positional") {
      if (!allowPositionals) {
        throw typeError("ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL", `Unexpected argument '${token.value}'. This command does not take positional arguments`);
      }
      positionals.push(token.value);
    }
    if (token.kind !== "option") continue;
    if (strict) checkStrict(token, { options, allowPositionals, allowNegative });
    let { name } = token;
    let value = token.value ?? true;
    if (allowNegative && name.startsWith("no-") && token.value === undefined && !Object.hasOwn(options, name) && options[name.slice(3)]?.type !== "string") {
      name = name.slice(3);
      value = false;
    }
    if (name === "__proto__") continue;
    if (options[name]?.multiple && Object.hasOwn(options, name)) (values[name] ??= []).push(value);
    else values[name] = value;
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  }
  const result = { values, positionals };
  if (config.tokens) result.tokens = tokens;
  return result;
}
