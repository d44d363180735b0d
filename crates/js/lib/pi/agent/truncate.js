// Cutting tool output to what a model may see: whole lines from the start or
// the end, limited by lines and by bytes.

/** Lines kept by default. */
export const DEFAULT_MAX_LINES = 2000;
/** Bytes kept by default. */
export const DEFAULT_MAX_BYTES = 50 * 1024;

/** Bytes of a text in UTF-8. */
export function byteLength(text) {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code >= 0xd800 && code <= 0xdbff && i + 1 < text.length) {
      bytes += 4;
      i += 1;
    } else bytes += 3;
  }
  return bytes;
}

/** A size for people: 512B, 1.5KB, 2.0MB. */
export function formatSize(bytes) {
  if (bytes < 1024) return `${bytes}B`;
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)}KB` : `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

function linesOf(content) {
  if (content === "") return [];
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function prepare(content, options) {
  const maxLines = options.maxLines ?? DEFAULT_MAX_LINES;
  const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES;
  const lines = linesOf(content);
  const totalBytes = byteLength(content);
  const fits = lines.length <= maxLines && totalBytes <= maxBytes;
  const result = (text, kept, more = {}) => ({
    content: text,
    truncated: !fits,
    truncatedBy: null,
    totalLines: lines.length,
    totalBytes,
    outputLines: kept,
    outputBytes: fits ? totalBytes : byteLength(text),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    ...more,
    maxLines,
    maxBytes,
  });
  return { lines, maxLines, maxBytes, fits, result };
}

/** The start of a text. A first line that is too long leaves nothing, and says so. */
export function truncateHead(content, options = {}) {
  const { lines, maxLines, maxBytes, fits, result } = prepare(content, options);
  if (fits) return result(content, lines.length);
  if (byteLength(lines[0] ?? "") > maxBytes) return result("", 0, { truncatedBy: "bytes", firstLineExceedsLimit: true });
  const kept = [];
  let used = 0;
  let by = "lines";
  for (const line of lines.slice(0, maxLines)) {
    const size = byteLength(line) + (kept.length > 0 ? 1 : 0);
    if (used + size > maxBytes) {
      by = "bytes";
      break;
    }
    kept.push(line);
    used += size;
  }
  if (kept.length >= maxLines && used <= maxBytes) by = "lines";
  return result(kept.join("\n"), kept.length, { truncatedBy: by });
}

function lastBytes(text, limit) {
  const chars = [...text];
  let used = 0;
  let at = chars.length;
  while (at > 0) {
    const size = byteLength(chars[at - 1]);
    if (used + size > limit) break;
    used += size;
    at -= 1;
  }
  return chars.slice(at).join("");
}

/** The end of a text. When not even the last line fits, its end is kept. */
export function truncateTail(content, options = {}) {
  const { lines, maxLines, maxBytes, fits, result } = prepare(content, options);
  if (fits) return result(content, lines.length);
  const kept = [];
  let used = 0;
  let by = "lines";
  let partial = false;
  for (let i = lines.length - 1; i >= 0 && kept.length < maxLines; i--) {
    const size = byteLength(lines[i]) + (kept.length > 0 ? 1 : 0);
    if (used + size > maxBytes) {
      by = "bytes";
      if (kept.length === 0) {
        kept.unshift(lastBytes(lines[i], maxBytes));
        partial = true;
      }
      break;
    }
    kept.unshift(lines[i]);
    used += size;
  }
  if (kept.length >= maxLines && used <= maxBytes && !partial) by = "lines";
  return result(kept.join("\n"), kept.length, { truncatedBy: by, lastLinePartial: partial });
}

/** One line, cut with a note. */
export function truncateLine(line, maxChars = 500) {
  return line.length <= maxChars ? { text: line, wasTruncated: false } : { text: `${line.slice(0, maxChars)}... [truncated]`, wasTruncated: true };
}
