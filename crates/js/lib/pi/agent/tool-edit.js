// The built-in edit tool: exact replacements in one file, all or none. Line
// endings and a byte order mark survive; typographic quotes, dashes and
// trailing blanks do not keep a match from being found.
import { constants } from "node:fs";
import { access, readFile, writeFile } from "node:fs/promises";
import { generateDiffString, generateUnifiedPatch } from "jackfield:pi/agent/diff";
import { withFileMutationQueue } from "jackfield:pi/agent/mutation-queue";
import { renderers } from "jackfield:pi/agent/tool-render";
import { PREFER_STRICT, objectSchema, resolveToolPath, stringField, textResult, throwIfAborted, toolFromDefinition } from "jackfield:pi/agent/tool-shape";

const defaults = {
  readFile: (path) => readFile(path),
  writeFile: (path, content) => writeFile(path, content, "utf-8"),
  access: (path) => access(path, constants.R_OK | constants.W_OK),
};

const plain = (text) =>
  text
    .normalize("NFKC")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c\u201d\u201e\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00a0\u2002-\u200a\u202f\u205f\u3000]/g, " ");

const occurrences = (text, part) => text.split(part).length - 1;

function locate(content, edits, path) {
  const several = edits.length > 1;
  const name = (i) => (several ? `edits[${i}]` : "the exact text");
  edits.forEach((edit, i) => {
    if (edit.oldText === "") throw new Error(several ? `edits[${i}].oldText must not be empty in ${path}.` : `oldText must not be empty in ${path}.`);
  });
  const places = edits.map((edit, i) => {
    const index = content.indexOf(edit.oldText);
    if (index === -1) {
      const what = several ? "The oldText must match" : "The old text must match";
      throw new Error(`Could not find ${name(i)} in ${path}. ${what} exactly including all whitespace and newlines.`);
    }
    // Unique also when quotes and blanks are read loosely: a near miss elsewhere is ambiguous.
    const count = occurrences(plain(content), plain(edit.oldText));
    if (count > 1) {
      const what = several ? `edits[${i}]` : "the text";
      throw new Error(several
        ? `Found ${count} occurrences of ${what} in ${path}. Each oldText must be unique. Please provide more context to make it unique.`
        : `Found ${count} occurrences of ${what} in ${path}. The text must be unique. Please provide more context to make it unique.`);
    }
    return { i, start: index, end: index + edit.oldText.length, newText: edit.newText };
  });
  places.sort((a, b) => a.start - b.start);
  for (let at = 1; at < places.length; at++) {
    if (places[at].start < places[at - 1].end) {
      throw new Error(`edits[${places[at - 1].i}] and edits[${places[at].i}] overlap in ${path}. Merge them into one edit or target disjoint regions.`);
    }
  }
  return places;
}

/** Lines that no edit touches keep their original characters. */
function restoreLines(original, loose, places) {
  const originals = original.split("\n");
  const looseLines = loose.split("\n");
  let out = "";
  let line = 0;
  let offset = 0;
  let at = 0;
  while (line < looseLines.length) {
    const end = offset + looseLines[line].length;
    const place = places[at];
    const tail = line < looseLines.length - 1 ? "\n" : "";
    if (!place || place.start > end) {
      out += originals[line] + tail;
      offset = end + 1;
      line += 1;
      continue;
    }
    // From the first line that an edit touches to the last one, the loose text counts.
    let cursor = offset;
    let limit = end;
    while (at < places.length && places[at].start <= limit) {
      out += loose.slice(cursor, places[at].start) + places[at].newText;
      cursor = places[at].end;
      while (limit < cursor) {
        line += 1;
        limit += 1 + looseLines[line].length;
      }
      at += 1;
    }
    out += loose.slice(cursor, limit) + (line < looseLines.length - 1 ? "\n" : "");
    offset = limit + 1;
    line += 1;
  }
  return out;
}

function replaceAll(content, edits, path) {
  const lf = edits.map((edit) => ({ oldText: edit.oldText.replace(/\r\n?/g, "\n"), newText: edit.newText.replace(/\r\n?/g, "\n") }));
  const exact = lf.every((edit) => edit.oldText === "" || content.includes(edit.oldText));
  let next;
  if (exact) {
    const places = locate(content, lf, path);
    next = "";
    let cursor = 0;
    for (const place of places) {
      next += content.slice(cursor, place.start) + place.newText;
      cursor = place.end;
    }
    next += content.slice(cursor);
  } else {
    const loose = plain(content);
    const places = locate(loose, lf.map((edit) => ({ ...edit, oldText: plain(edit.oldText) })), path);
    next = restoreLines(content, loose, places);
  }
  if (next === content) {
    throw new Error(lf.length > 1
      ? `No changes made to ${path}. The replacements produced identical content.`
      : `No changes made to ${path}. The replacement produced identical content. This might indicate an issue with special characters or the text not existing as expected.`);
  }
  return next;
}

/** Arguments as models write them, brought into the tool's form. */
function prepareArguments(args) {
  if (typeof args !== "object" || args === null || Array.isArray(args)) return args;
  const out = { ...args };
  if (typeof out.edits === "string") {
    try {
      const parsed = JSON.parse(out.edits);
      if (typeof parsed === "object" && parsed !== null) out.edits = parsed;
    } catch {
      return out;
    }
  }
  if (out.edits && !Array.isArray(out.edits) && typeof out.edits === "object") out.edits = [out.edits];
  if (typeof out.oldText === "string" && typeof out.newText === "string") {
    const { oldText, newText, ...rest } = out;
    return { ...rest, edits: [...(Array.isArray(out.edits) ? out.edits : []), { oldText, newText }] };
  }
  return out;
}

/** The definition of the edit tool. `options.operations` may edit elsewhere. */
export function createEditToolDefinition(cwd, options) {
  const operations = options?.operations ?? defaults;
  return {
    name: "edit",
    label: "edit",
    description: "Edit a single file using exact text replacement. Every edits[].oldText must match a unique, non-overlapping region of the original file. If two changes affect the same block or nearby lines, merge them into one edit instead of emitting overlapping edits. Do not include large unchanged regions just to connect distant changes.",
    promptSnippet: "Make precise file edits with exact text replacement, including multiple disjoint edits in one call",
    promptGuidelines: [
      "Use edit for targeted changes. Batch changes to one file in a single call.",
      "Each edits[].oldText must exactly and uniquely match the original file. Keep matches short and non-overlapping; merge nearby changes without including large unchanged regions.",
    ],
    parameters: objectSchema(["path", "edits"], {
      path: stringField("Path to the file to edit (relative or absolute)"),
      edits: {
        type: "array",
        items: objectSchema(["oldText", "newText"], {
          oldText: stringField("Exact text for one targeted replacement. It must be unique in the original file and must not overlap with any other edits[].oldText in the same call."),
          newText: stringField("Replacement text for this targeted edit."),
        }),
        description: "One or more targeted replacements. Each edit is matched against the original file, not incrementally. Do not include overlapping or nested edits. If two changes touch the same block or nearby lines, merge them into one edit instead.",
      },
    }),
    constrainedSampling: PREFER_STRICT,
    renderShell: "self",
    prepareArguments,
    async execute(_toolCallId, input, signal, _onUpdate, _ctx) {
      if (!Array.isArray(input.edits) || input.edits.length === 0) throw new Error("Edit tool input is invalid. edits must contain at least one replacement.");
      const path = resolveToolPath(input.path, cwd);
      return withFileMutationQueue(path, async () => {
        throwIfAborted(signal);
        try {
          await operations.access(path);
        } catch (error) {
          throw new Error(`Could not edit file: ${input.path}. ${error?.code ? `Error code: ${error.code}` : String(error?.message ?? error)}.`, { cause: error });
        }
        const bytes = await operations.readFile(path);
        throwIfAborted(signal);
        const raw = typeof bytes === "string" ? bytes : bytes.toString("utf-8");
        const mark = raw.startsWith("\ufeff") ? "\ufeff" : "";
        const text = raw.slice(mark.length);
        const windows = text.indexOf("\r\n") !== -1 && text.indexOf("\r\n") === text.indexOf("\n") - 1;
        const before = text.replace(/\r\n?/g, "\n");
        const after = replaceAll(before, input.edits, input.path);
        throwIfAborted(signal);
        await operations.writeFile(path, mark + (windows ? after.replaceAll("\n", "\r\n") : after));
        const { diff, firstChangedLine } = generateDiffString(before, after);
        const patch = generateUnifiedPatch(input.path, before, after);
        return textResult(`Successfully replaced ${input.edits.length} block(s) in ${input.path}.`, { diff, patch, firstChangedLine });
      });
    },
    ...renderers("edit", (args) => args.path ?? args.file_path ?? ""),
  };
}

/** The edit tool. */
export function createEditTool(cwd, options) {
  return toolFromDefinition(createEditToolDefinition(cwd, options));
}
