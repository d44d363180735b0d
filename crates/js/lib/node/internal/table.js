// The table that console.table draws.
import { inspect } from "jackfield:node/internal/inspect";
import { columns as widthOf } from "jackfield:node/internal/inspect_text";
import { isMap, isSet } from "jackfield:node/internal/types";

const cell = (value) => {
  const deep = value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0;
  return inspect(value, { maxArrayLength: 3, breakLength: Infinity, depth: deep });
};
const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

function render(head, rows) {
  const widths = head.map((name, i) => Math.max(widthOf(name), ...rows.map((row) => widthOf(row[i]))) + 2);
  const line = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const row = (cells) => `│${cells.map((text, i) => ` ${text}${" ".repeat(widths[i] - widthOf(text) - 1)}`).join("│")}│`;
  return [line("┌", "┬", "┐"), row(head), line("├", "┼", "┤"), ...rows.map(row), line("└", "┴", "┘")].join("\n");
}

export function table(data, wanted) {
  const collection = isMap(data) || isSet(data);
  const indexName = collection ? "(iteration index)" : "(index)";
  if (isMap(data)) {
    return render([indexName, "Key", "Values"], [...data].map(([key, value], i) => [String(i), cell(key), cell(value)]));
  }
  if (isSet(data)) return render([indexName, "Values"], [...data].map((value, i) => [String(i), cell(value)]));
  const names = wanted === undefined ? [] : wanted.map(String);
  let plain = false;
  const entries = Object.entries(data).map(([index, value]) => {
    if (!isObject(value)) {
      plain = true;
      return [index, {}, cell(value)];
    }
    if (wanted === undefined) for (const key of Object.keys(value)) if (!names.includes(key)) names.push(key);
    return [index, value, ""];
  });
  const head = [indexName, ...names, ...(plain ? ["Values"] : [])];
  return render(head, entries.map(([index, value, text]) => [
    index, ...names.map((name) => (Object.hasOwn(value, name) ? cell(value[name]) : "")), ...(plain ? [text] : []),
  ]));
}
