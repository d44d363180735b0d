// The built-in read tool: text by lines, images as attachments.
import { closeSync, constants, openSync, readSync } from "node:fs";
import { access, readFile } from "node:fs/promises";
import { renderers } from "jackfield:pi/agent/tool-render";
import { PREFER_STRICT, numberField, objectSchema, resolveToolPath, stringField, textResult, throwIfAborted, toolFromDefinition } from "jackfield:pi/agent/tool-shape";
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, formatSize, truncateHead } from "jackfield:pi/agent/truncate";

// Providers refuse images above this size, in base64.
const MAX_IMAGE = 4.5 * 1024 * 1024;

function imageType(bytes) {
  const at = (index, ...values) => values.every((value, i) => bytes[index + i] === value);
  if (at(0, 0x89, 0x50, 0x4e, 0x47)) return "image/png";
  if (at(0, 0xff, 0xd8, 0xff)) return "image/jpeg";
  if (at(0, 0x47, 0x49, 0x46, 0x38)) return "image/gif";
  if (at(0, 0x52, 0x49, 0x46, 0x46) && at(8, 0x57, 0x45, 0x42, 0x50)) return "image/webp";
  return at(0, 0x42, 0x4d) && bytes.length > 14 ? "image/bmp" : null;
}

/** The media type of an image file by its first bytes, or null. */
export async function detectSupportedImageMimeTypeFromFile(path) {
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(32);
    return imageType(buffer.subarray(0, readSync(file, buffer, 0, buffer.length, 0)));
  } finally {
    closeSync(file);
  }
}

const defaults = {
  readFile: (path) => readFile(path),
  access: (path) => access(path, constants.R_OK),
};

const lineNumber = (value) => {
  const number = typeof value === "string" ? Number(value) : value;
  return Number.isFinite(number) ? Math.trunc(number) : undefined;
};

/** ":10-20" for a part of a file, "" for all of it. */
export function formatReadLineRange(offset, limit) {
  const from = offset ?? undefined;
  const count = limit ?? undefined;
  if (from === undefined && count === undefined) return "";
  const first = from === undefined ? 1 : lineNumber(from);
  const size = count === undefined ? undefined : lineNumber(count);
  // A number that is none leaves the whole range out.
  if (first === undefined || (count !== undefined && size === undefined)) return "";
  const last = size === undefined ? 0 : first + size - 1;
  return last === 0 ? `:${first}` : `:${first}-${last}`;
}

function readText(content, { path, offset, limit }) {
  const lines = content.split("\n");
  const start = Math.max(0, (lineNumber(offset) ?? 1) - 1);
  if (start >= lines.length) throw new Error(`Offset ${offset} is beyond end of file (${lines.length} lines total)`);
  const count = lineNumber(limit);
  const end = count === undefined ? lines.length : Math.min(start + count, lines.length);
  const part = truncateHead(lines.slice(start, end).join("\n"));
  const first = start + 1;
  if (part.firstLineExceedsLimit) {
    const size = formatSize(new TextEncoder().encode(lines[start]).length);
    return { text: `[Line ${first} is ${size}, exceeds ${formatSize(DEFAULT_MAX_BYTES)} limit. Use bash: sed -n '${first}p' ${path} | head -c ${DEFAULT_MAX_BYTES}]`, truncation: part };
  }
  if (part.truncated) {
    const last = first + part.outputLines - 1;
    const why = part.truncatedBy === "bytes" ? ` (${formatSize(DEFAULT_MAX_BYTES)} limit)` : "";
    return { text: `${part.content}\n\n[Showing lines ${first}-${last} of ${lines.length}${why}. Use offset=${last + 1} to continue.]`, truncation: part };
  }
  const rest = lines.length - end;
  return { text: rest > 0 ? `${part.content}\n\n[${rest} more lines in file. Use offset=${end + 1} to continue.]` : part.content };
}

/** The definition of the read tool. `options.operations` may read from elsewhere. */
export function createReadToolDefinition(cwd, options) {
  const operations = options?.operations ?? defaults;
  return {
    name: "read",
    label: "read",
    description: `Read the contents of a file. Supports text files and images (jpg, png, gif, webp, bmp). Images are sent as attachments. For text files, output is truncated to ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024}KB (whichever is hit first). Use offset/limit for large files. When you need the full file, continue with offset until complete.`,
    promptSnippet: "Read file contents",
    promptGuidelines: ["Use read to examine files instead of cat or sed."],
    parameters: objectSchema(["path"], {
      path: stringField("Path to the file to read (relative or absolute)"),
      offset: numberField("Line number to start reading from (1-indexed)"),
      limit: numberField("Maximum number of lines to read"),
    }),
    outputSchema: {
      anyOf: [
        { type: "string" },
        objectSchema(["type", "data", "mimeType", "note"], { type: { type: "string", const: "image" }, data: { type: "string" }, mimeType: { type: "string" }, note: { type: "string" } }),
      ],
    },
    constrainedSampling: PREFER_STRICT,
    async execute(_toolCallId, params, signal, _onUpdate, _ctx) {
      throwIfAborted(signal);
      const path = resolveToolPath(params.path, cwd);
      await operations.access(path);
      throwIfAborted(signal);
      const bytes = await operations.readFile(path);
      throwIfAborted(signal);
      // Other operations say themselves which files are images; local ones are looked at.
      const mimeType = operations === defaults ? imageType(bytes) : await operations.detectImageMimeType?.(path);
      if (mimeType) return imageResult(bytes, mimeType);
      const { text, truncation } = readText(typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes), params);
      return textResult(text, truncation && { truncation }, text);
    },
    ...renderers("read", (args) => `${args.path ?? args.file_path ?? ""}${formatReadLineRange(args.offset, args.limit)}`),
  };
}

function imageResult(bytes, mimeType) {
  const data = bytes.toString("base64");
  const note = `Read image file [${mimeType}]`;
  if (data.length > MAX_IMAGE || mimeType === "image/bmp") {
    const text = `${note}\n[Image omitted: could not be resized below the inline image size limit.]`;
    return textResult(text, undefined, text);
  }
  return { content: [{ type: "text", text: note }, { type: "image", data, mimeType }], details: undefined, structuredContent: { type: "image", data, mimeType, note } };
}

/** The read tool. */
export function createReadTool(cwd, options) {
  return toolFromDefinition(createReadToolDefinition(cwd, options));
}
