// The .env file format, for util.parseEnv and process.loadEnvFile: quotes of three kinds, comments, `export`, values over
// several lines in quotes. Only double quotes know \n.
import { validateString } from "jackfield:node/internal/errors";

export function parseEnv(content) {
  validateString(content, "content");
  const out = {};
  const text = content.replace(/\r\n?/g, "\n");
  let at = 0;
  const lineEnd = (from) => {
    const end = text.indexOf("\n", from);
    return end === -1 ? text.length : end;
  };
  while (at < text.length) {
    const end = lineEnd(at);
    const line = text.slice(at, end);
    const match = /^\s*(?:export\s+)?([^=\s#]+)\s*=[ \t]*/.exec(line);
    if (match === null) {
      at = end + 1;
      continue;
    }
    const start = at + match[0].length;
    const mark = text[start];
    if (mark === '"' || mark === "'" || mark === "`") {
      const close = text.indexOf(mark, start + 1);
      if (close !== -1) {
        const raw = text.slice(start + 1, close);
        out[match[1]] = mark === '"' ? raw.replaceAll("\\n", "\n") : raw;
        at = lineEnd(close) + 1;
        continue;
      }
    }
    out[match[1]] = text.slice(start, end).split("#")[0].trim();
    at = end + 1;
  }
  return out;
}
