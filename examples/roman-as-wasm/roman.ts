// Roman numerals, in AssemblyScript: a component without an SDK or bindings. The interface of wit/ is laid out by hand, so
// this is also how any language comes in that only makes core modules.
//
// `cargo xtask examples roman-as-wasm` compiles it, names the exports as components name them (exports.mjs), and makes
// roman.wasm.

// What the host reads stays where it was built: the stub runtime never frees. An instance that grows too large is replaced.

/** Text as a pointer and a length, for two fields of a record. */
function putText(at: usize, text: string): void {
  const bytes = String.UTF8.encode(text);
  store<u32>(at, changetype<u32>(bytes));
  store<u32>(at, <u32>bytes.byteLength, 4);
}

/** The host asks for room for its arguments. */
export function realloc(_old: u32, _oldSize: u32, align: u32, size: u32): u32 {
  return (<u32>heap.alloc(size + align) + align - 1) & ~(align - 1);
}

/** guest.describe: a registration, nine pairs of pointer and length. */
export function describe(): u32 {
  const registration = heap.alloc(72);
  memory.fill(registration, 0, 72);
  putText(registration, "roman");
  putText(registration + 8, "1.0.0");
  putText(registration + 16, "Writes numbers as the Romans did.");
  const tool = heap.alloc(44);
  memory.fill(tool, 0, 44);
  putText(tool, "roman");
  // The label at 8 is an option: zero means none.
  putText(tool + 20, "Writes a number from 1 to 3999 as a Roman numeral.");
  putText(
    tool + 28,
    '{"type":"object","properties":{"number":{"type":"integer","minimum":1,"maximum":3999}},"required":["number"]}',
  );
  store<u32>(registration + 24, <u32>tool);
  store<u32>(registration + 28, 1);
  return <u32>registration;
}

const VALUES: i32[] = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1];
const LETTERS: string[] = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"];

function roman(number: i32): string {
  let text = "";
  for (let i = 0; i < VALUES.length; i++) {
    while (number >= VALUES[i]) {
      text += LETTERS[i];
      number -= VALUES[i];
    }
  }
  return text;
}

/** The first number in the arguments. The host has checked them against the schema: there is one, and it is small. */
function numberIn(json: string): i32 {
  let number = 0;
  for (let i = json.indexOf(":") + 1; i < json.length; i++) {
    const digit = json.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) number = number * 10 + digit;
  }
  return number;
}

/** guest.call-tool: the context's seven numbers, then name and arguments; gives a result<tool-result, error>. */
export function callTool(
  _id: u32, _idLength: u32, _workspace: u32, _workspaceLength: u32, _deadline: f64, _meta: u32, _metaLength: u32,
  _name: u32, _nameLength: u32, args: u32, argsLength: u32,
): u32 {
  const number = numberIn(String.UTF8.decodeUnsafe(args, argsLength));
  const content = heap.alloc(20);
  memory.fill(content, 0, 20); // case 0: text
  putText(content + 4, roman(number));
  const result = heap.alloc(32);
  memory.fill(result, 0, 32); // case 0: fine
  store<u32>(result + 4, <u32>content);
  store<u32>(result + 8, 1);
  return <u32>result;
}
