// node:sys: the old name of node:util.
export {
  MIMEParams, MIMEType, TextDecoder, TextEncoder, _extend, aborted, callbackify, debug, debuglog, deprecate, format,
  formatWithOptions, getSystemErrorMap, getSystemErrorName, inherits, inspect, isArray, isDeepStrictEqual, parseArgs,
  parseEnv, promisify, stripVTControlCharacters, styleText, toUSVString, types, default,
} from "node:util";
