// Components of pi-tui: text, boxes, lists, fields, the editor, loaders, images
// and the screen. Expected values were obtained from pi 1.5.0.
import { Box, CURSOR_MARKER, CancellableLoader, CombinedAutocompleteProvider, Container, Editor, Image, Input, Loader, ProcessTerminal, ScrollView, SelectList, SettingsList, Spacer, StdinBuffer, Text, TruncatedText, TuiMainScreen, VStack, colorToHex, encodeKitty, foregroundAnsi, getPngDimensions, imageFallback, isFocusable, okhslColor, oklchColor, parseColor, renderLatex, setCapabilities, styleText } from "@earendil-works/pi-tui";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}
const tag = (name) => (text) => `<${name}>${text}</${name}>`;
const cursor = (text) => `\x1b_pi:fc\x07${text}\x1b_pi:/fc\x07`;

same(new Text("hello world", 1, 1).render(8), ["        ", " hello  ", " world  ", "        "], "Text");
same(new Text("", 1, 1).render(8), [], "empty Text");
same(new Text("hi there", 1, 1, tag("b")).render(8), ["<b>        </b>", "<b> hi     </b>", "<b> there  </b>", "<b>        </b>"], "Text with a background");
same(new Text("hello", 2, 0).render(3), [" h ", " e ", " l ", " l ", " o "], "narrow Text");
same(new TruncatedText("hello world foo").render(10), ["hello w\x1b[0m...\x1b[0m"], "TruncatedText");
same(new Spacer(2).render(5), ["", ""], "Spacer");
const box = new Box(2, 1, tag("b"));
same(box.render(10), [], "empty Box");
box.addChild(new Text("hi", 0, 0));
same(box.render(10), ["<b>          </b>", "<b>  hi      </b>", "<b>          </b>"], "Box");
class Own extends Container {
  render(width) {
    return [...super.render(width), "own"];
  }
}
const own = new Own();
own.addChild(new Text("a", 0, 0));
same(own.render(2), ["a ", "own"], "a class derived from Container");
same(new VStack([new Text("a", 0, 0), new Text("b", 0, 0)], { gap: 1 }).render(3), ["a  ", "", "b  "], "VStack");
same(new ScrollView(new Text("1\n2", 0, 0)).render(2), ["1 ", "2 "], "ScrollView");

const listTheme = { selectedPrefix: tag("p"), selectedText: tag("s"), description: tag("d"), scrollInfo: tag("i"), noMatch: tag("n") };
const items = [{ value: "a", label: "Alpha", description: "first thing" }, { value: "b", label: "Beta" }, { value: "c", label: "Gamma" }];
const list = new SelectList(items, 2, listTheme);
same(list.render(60), ["<s>→ Alpha                           first thing</s>", "  Beta", "<i>  (1/3)</i>"], "SelectList");
const chosen = [];
list.onSelect = (item) => chosen.push(item.value);
list.onCancel = () => chosen.push("cancel");
for (const key of ["\x1b[A", "\r", "\x1b[B", "\x1b[6~", "\r", "\x1b"]) list.handleInput(key);
same(chosen, ["c", "c", "cancel"], "SelectList keys");
list.setFilter("z");
same(list.render(60), ["<n>  No matching commands</n>"], "SelectList without a match");

const changed = [];
const settings = new SettingsList(
  [{ id: "one", label: "One", currentValue: "on", values: ["on", "off"], description: "about one" }, { id: "two", label: "Two long label", currentValue: "x" }],
  5, { label: (text) => text, value: (text, selected) => (selected ? `*${text}*` : text), description: tag("d"), cursor: "→ ", hint: tag("h") },
  (id, value) => changed.push([id, value]), () => changed.push("cancel"), { enableSearch: true });
same(settings.render(70).slice(1), ["", "→ One             *on*", "  Two long label  x", "", "<d>  about one</d>", "", "<h>  Type to search · Enter/Space to change · Esc to cancel</h>"], "SettingsList");
settings.handleInput("\r");
settings.handleInput("\x1b");
same(changed, [["one", "off"], "cancel"], "SettingsList keys");

const input = new Input();
input.focused = true;
for (const key of "hello world") input.handleInput(key);
same(input.render(20), [`> hello world${CURSOR_MARKER}${cursor(" ")}      `], "Input");
same(input.render(10), [`> o world${CURSOR_MARKER}${cursor(" ")}`], "Input that scrolls");
for (const key of ["\x1b[D", "\x1b[D", "\x17"]) input.handleInput(key);
same(input.getValue(), "hello ld", "delete word");
input.handleInput("\x1f");
same(input.getValue(), "hello world", "undo");
input.handleInput("\x15");
input.handleInput("\x19");
same(input.getValue(), "hello world", "kill and yank");
input.setValue("");
input.handleInput("\x1b[200~pasted\ntext\tx\x1b[201~");
same(input.getValue(), "pastedtext    x", "paste");
same(new Input({ prompt: "? ", placeholder: "type" }).render(20), [`? ${cursor("t")}ype`], "placeholder");
same(isFocusable(input), true, "isFocusable");

const tui = new TuiMainScreen(new ProcessTerminal());
const editor = new Editor(tui, { borderColor: (text) => text, selectList: listTheme });
const sent = [];
const seen = [];
editor.onSubmit = (text) => sent.push(text);
editor.onChange = (text) => seen.push(text);
const type = (...keys) => { for (const key of keys) editor.handleInput(key); };
type("h", "i", "\x1b[13;2u", "x", "\x1b[A");
same([editor.getText(), editor.getCursor()], ["hi\nx", { line: 0, col: 1 }], "Editor");
same(editor.render(8), ["────────", `h${cursor("i")}      `, "x       ", "────────"], "Editor lines");
type("\r");
same([sent, seen, editor.getText()], [["hi\nx"], ["h", "hi", "hi\n", "hi\nx", ""], ""], "submit");
editor.setText("one two three four five six seven");
same(editor.render(20).slice(1, -1), ["one two three four  ", `five six seven${cursor(" ")}     `], "word wrap");
type("\x17", "\x1f");
same(editor.getText(), "one two three four five six seven", "undo in the editor");
editor.setText("");
type(`\x1b[200~${Array.from({ length: 15 }, (_, i) => `line${i}`).join("\n")}\x1b[201~`);
same([editor.getText(), editor.getExpandedText().split("\n").length], ["[paste #1 +15 lines]", 15], "a large paste");
type("\x7f");
same(editor.getText(), "", "a folded paste goes as one character");
editor.addToHistory("old1");
editor.addToHistory("old2");
type("\x1b[A");
same(editor.getText(), "old2", "history");
editor.setText("a\\");
type("\r");
same(editor.getText(), "a\n", "backslash and enter");
editor.setText(Array.from({ length: 30 }, (_, i) => `L${i}`).join("\n"));
same([editor.render(20)[0], editor.render(20).length], ["──── ↑ 23 more ─────", 9], "a tall text");

const loader = new Loader(tui, (text) => text, (text) => text, "Working");
same(loader.render(20), ["", " ⠋ Working          "], "Loader");
loader.stop();
const stoppable = new CancellableLoader(tui, (text) => text, (text) => text, "x");
stoppable.handleInput("\x1b");
same([stoppable.aborted, stoppable.signal.aborted], [true, true], "CancellableLoader");
stoppable.dispose();

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
setCapabilities({ images: null, trueColor: true, hyperlinks: false });
same(new Image(png, "image/png", { fallbackColor: tag("f") }, { filename: "a.png" }).render(40), ["<f>[Image: a.png [image/png] 1x1]</f>"], "Image");
same([getPngDimensions(png), getPngDimensions("!!"), imageFallback("image/png")], [{ widthPx: 1, heightPx: 1 }, null, "[Image: [image/png]]"], "image sizes");
same(encodeKitty("abcd", { columns: 3, rows: 2, imageId: 7 }), "\x1b_Ga=T,f=100,q=2,c=3,r=2,i=7;abcd\x1b\\", "Kitty image");

same([colorToHex(oklchColor(0.7, 0.1, 200)), colorToHex(okhslColor(120, 0.5, 0.5)), parseColor("#f80")], ["#40b1b7", "#717e47", { kind: "rgb", r: 255, g: 136, b: 0 }], "colours");
same([foregroundAnsi(parseColor("#ff8800"), "truecolor"), foregroundAnsi(parseColor("#ff8800"), "256color")], ["\x1b[38;2;255;136;0m", "\x1b[38;5;208m"], "colour sequences");
same(styleText("x", { bold: true }, "truecolor"), "\x1b[1mx\x1b[22m", "styleText");
same(["x^2", "\\frac{a}{b}", "\\alpha+\\beta", "e^{i\\pi}", "\\unknown{x}", "\\sqrt{x+1}"].map((source) => renderLatex(source) ?? null), ["x²", "a/b", "α+β", "e^(iπ)", null, "√(x+1)"], "LaTeX");

const stdin = new StdinBuffer({ timeout: 5 });
const keys = [];
stdin.on("data", (data) => keys.push(data));
stdin.on("paste", (data) => keys.push(["paste", data]));
for (const chunk of ["ab", "\x1b[A\x1b[", "B", "\x1b[200~hello ", "world\x1b[201~z", "\x1b[<0;10;", "20M", "\x1bx"]) stdin.process(chunk);
same([keys, stdin.getBuffer()], [["a", "b", "\x1b[A", "\x1b[B", ["paste", "hello world"], "z", "\x1b[<0;10;20M", "\x1bx"], ""], "StdinBuffer");
stdin.destroy();

const complete = new CombinedAutocompleteProvider([{ name: "help", description: "show help" }, { name: "model", argumentHint: "<m>", description: "m", getArgumentCompletions: (prefix) => [{ value: "gpt", label: "gpt" }].filter((item) => item.value.startsWith(prefix)) }], "/", null);
const ask = (text) => complete.getSuggestions([text], 0, text.length, { signal: new AbortController().signal });
same(await ask("/he"), { items: [{ value: "help", label: "help", description: "show help" }], prefix: "/he" }, "a command");
same(await ask("/model g"), { items: [{ value: "gpt", label: "gpt" }], prefix: "g" }, "an argument");
same(await ask("hello"), null, "nothing to complete");
same(complete.applyCompletion(["/he"], 0, 3, { value: "help", label: "help" }, "/he"), { lines: ["/help "], cursorLine: 0, cursorCol: 6 }, "a completion");

tui.addChild(new Text("base", 0, 0));
const overlay = tui.showOverlay(new Text("over", 0, 0), { width: 6, anchor: "top-left" });
same([tui.hasOverlay(), overlay.getBounds()], [true, { row: 0, col: 0, width: 6, height: 1 }], "overlay");
overlay.hide();
same([tui.hasOverlay(), tui.render(6)], [false, ["base  "]], "screen");
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
