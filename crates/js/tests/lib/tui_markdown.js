// The Markdown component. Expected values were obtained from pi 1.5.0.
import { Markdown, Marked, setCapabilities } from "@earendil-works/pi-tui";

let failures = 0;
function same(got, expected, what) {
  if (JSON.stringify(got) === JSON.stringify(expected)) return;
  failures += 1;
  console.log(`${what}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}

const color = (n) => (text) => `\x1b[3${n}m${text}\x1b[39m`;
const theme = {
  heading: color(1), link: color(2), linkUrl: color(3), code: color(4), codeBlock: color(5), codeBlockBorder: color(6), quote: color(7), quoteBorder: color(1), hr: color(2), listBullet: color(3),
  bold: (text) => `\x1b[1m${text}\x1b[22m`, italic: (text) => `\x1b[3m${text}\x1b[23m`, strikethrough: (text) => `\x1b[9m${text}\x1b[29m`, underline: (text) => `\x1b[4m${text}\x1b[24m`,
};
const RENDERED = [
  ["# H1",40,["\u001b[31m\u001b[1m\u001b[4mH1\u001b[24m\u001b[22m\u001b[39m"]],
  ["# H1",24,["\u001b[31m\u001b[1m\u001b[4mH1\u001b[24m\u001b[22m\u001b[39m"]],
  ["## H2",40,["\u001b[31m\u001b[1mH2\u001b[22m\u001b[39m"]],
  ["## H2",24,["\u001b[31m\u001b[1mH2\u001b[22m\u001b[39m"]],
  ["### H3 **b**",40,["\u001b[31m\u001b[1m### \u001b[22m\u001b[39m\u001b[31m\u001b[1mH3 \u001b[22m\u001b[39m\u001b[1m\u001b[31m\u001b[1mb\u001b[22m\u001b[39m\u001b[22m"]],
  ["### H3 **b**",24,["\u001b[31m\u001b[1m### \u001b[22m\u001b[39m\u001b[31m\u001b[1mH3 \u001b[22m\u001b[39m\u001b[1m\u001b[31m\u001b[1mb\u001b[22m\u001b[39m\u001b[22m"]],
  ["para *it* **bo** `code` ~~st~~ [link](http://x) <b>h</b>",40,["para \u001b[3mit\u001b[23m \u001b[1mbo\u001b[22m \u001b[34mcode\u001b[39m \u001b[9mst\u001b[29m \u001b[32m\u001b[4mlink\u001b[24m\u001b[39m\u001b[33m (http://x)\u001b[39m","<b>h</b>"]],
  ["para *it* **bo** `code` ~~st~~ [link](http://x) <b>h</b>",24,["para \u001b[3mit\u001b[23m \u001b[1mbo\u001b[22m \u001b[34mcode\u001b[39m \u001b[9mst\u001b[29m \u001b[32m\u001b[4mlink\u001b[24m\u001b[39m\u001b[33m","\u001b[33m(http://x)\u001b[39m <b>h</b>"]],
  ["para1\n\npara2",40,["para1","","para2"]],
  ["para1\n\npara2",24,["para1","","para2"]],
  ["line1\nline2",40,["line1","line2"]],
  ["line1\nline2",24,["line1","line2"]],
  ["line1  \nline2",40,["line1","line2"]],
  ["line1  \nline2",24,["line1","line2"]],
  ["- a\n- b\n  - c\n- d",40,["\u001b[33m- \u001b[39ma","\u001b[33m- \u001b[39mb","    \u001b[33m- \u001b[39mc","\u001b[33m- \u001b[39md"]],
  ["- a\n- b\n  - c\n- d",24,["\u001b[33m- \u001b[39ma","\u001b[33m- \u001b[39mb","    \u001b[33m- \u001b[39mc","\u001b[33m- \u001b[39md"]],
  ["1. one\n2. two\n10. ten",40,["\u001b[33m1. \u001b[39mone","\u001b[33m2. \u001b[39mtwo","\u001b[33m3. \u001b[39mten"]],
  ["1. one\n2. two\n10. ten",24,["\u001b[33m1. \u001b[39mone","\u001b[33m2. \u001b[39mtwo","\u001b[33m3. \u001b[39mten"]],
  ["3. three\n4. four",40,["\u001b[33m3. \u001b[39mthree","\u001b[33m4. \u001b[39mfour"]],
  ["3. three\n4. four",24,["\u001b[33m3. \u001b[39mthree","\u001b[33m4. \u001b[39mfour"]],
  ["```js\nconst x = 1;\nfoo()\n```",40,["\u001b[36m```js\u001b[39m","  \u001b[35mconst x = 1;\u001b[39m","  \u001b[35mfoo()\u001b[39m","\u001b[36m```\u001b[39m"]],
  ["```js\nconst x = 1;\nfoo()\n```",24,["\u001b[36m```js\u001b[39m","  \u001b[35mconst x = 1;\u001b[39m","  \u001b[35mfoo()\u001b[39m","\u001b[36m```\u001b[39m"]],
  ["    indented code",40,["\u001b[36m```\u001b[39m","  \u001b[35mindented code\u001b[39m","\u001b[36m```\u001b[39m"]],
  ["    indented code",24,["\u001b[36m```\u001b[39m","  \u001b[35mindented code\u001b[39m","\u001b[36m```\u001b[39m"]],
  ["> quote\n> more",40,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mquote","\u001b[31m│ \u001b[39m\u001b[3;37mmore\u001b[23m\u001b[39m"]],
  ["> quote\n> more",24,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mquote","\u001b[31m│ \u001b[39m\u001b[3;37mmore\u001b[23m\u001b[39m"]],
  ["> q **b**\n\n> r",40,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mq \u001b[1mb\u001b[22m\u001b[23m\u001b[39m","","\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mr\u001b[23m\u001b[39m"]],
  ["> q **b**\n\n> r",24,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mq \u001b[1mb\u001b[22m\u001b[23m\u001b[39m","","\u001b[31m│ \u001b[39m\u001b[37m\u001b[3mr\u001b[23m\u001b[39m"]],
  ["---",40,["\u001b[32m────────────────────────────────────────\u001b[39m"]],
  ["---",24,["\u001b[32m────────────────────────\u001b[39m"]],
  ["| a | b |\n|---|---|\n| 1 | 2 |\n| long cell | x |",40,["┌───────────┬───┐","│ \u001b[1ma        \u001b[22m │ \u001b[1mb\u001b[22m │","├───────────┼───┤","│ 1         │ 2 │","├───────────┼───┤","│ long cell │ x │","└───────────┴───┘"]],
  ["| a | b |\n|---|---|\n| 1 | 2 |\n| long cell | x |",24,["┌───────────┬───┐","│ \u001b[1ma        \u001b[22m │ \u001b[1mb\u001b[22m │","├───────────┼───┤","│ 1         │ 2 │","├───────────┼───┤","│ long cell │ x │","└───────────┴───┘"]],
  ["text\n# H\ntext",40,["text","","\u001b[31m\u001b[1m\u001b[4mH\u001b[24m\u001b[22m\u001b[39m","","text"]],
  ["text\n# H\ntext",24,["text","","\u001b[31m\u001b[1m\u001b[4mH\u001b[24m\u001b[22m\u001b[39m","","text"]],
  ["- a\n\n  para\n- b",40,["\u001b[33m- \u001b[39ma","","  para","","\u001b[33m- \u001b[39mb"]],
  ["- a\n\n  para\n- b",24,["\u001b[33m- \u001b[39ma","","  para","","\u001b[33m- \u001b[39mb"]],
  ["- [ ] todo\n- [x] done",40,["\u001b[33m- [ ] \u001b[39mtodo","\u001b[33m- [x] \u001b[39mdone"]],
  ["- [ ] todo\n- [x] done",24,["\u001b[33m- [ ] \u001b[39mtodo","\u001b[33m- [x] \u001b[39mdone"]],
  ["http://auto.link and <http://x.y>",40,["\u001b[32m\u001b[4mhttp://auto.link\u001b[24m\u001b[39m and \u001b[32m\u001b[4mhttp://x.y\u001b[24m\u001b[39m"]],
  ["http://auto.link and <http://x.y>",24,["\u001b[32m\u001b[4mhttp://auto.link\u001b[24m\u001b[39m and","\u001b[32m\u001b[4mhttp://x.y\u001b[24m\u001b[39m"]],
  ["[http://x](http://x)",40,["\u001b[32m\u001b[4mhttp://x\u001b[24m\u001b[39m"]],
  ["[http://x](http://x)",24,["\u001b[32m\u001b[4mhttp://x\u001b[24m\u001b[39m"]],
  ["![img](http://i)",40,["img"]],
  ["![img](http://i)",24,["img"]],
  ["a\\*b",40,["a*b"]],
  ["a\\*b",24,["a*b"]],
  ["1. a\n   - b\n   - c\n2. d",40,["\u001b[33m1. \u001b[39ma","    \u001b[33m- \u001b[39mb","    \u001b[33m- \u001b[39mc","\u001b[33m2. \u001b[39md"]],
  ["1. a\n   - b\n   - c\n2. d",24,["\u001b[33m1. \u001b[39ma","    \u001b[33m- \u001b[39mb","    \u001b[33m- \u001b[39mc","\u001b[33m2. \u001b[39md"]],
  ["# H\n\npara\n\n- l\n\n```\nc\n```\n\nend",40,["\u001b[31m\u001b[1m\u001b[4mH\u001b[24m\u001b[22m\u001b[39m","","para","","\u001b[33m- \u001b[39ml","","\u001b[36m```\u001b[39m","  \u001b[35mc\u001b[39m","\u001b[36m```\u001b[39m","","end"]],
  ["# H\n\npara\n\n- l\n\n```\nc\n```\n\nend",24,["\u001b[31m\u001b[1m\u001b[4mH\u001b[24m\u001b[22m\u001b[39m","","para","","\u001b[33m- \u001b[39ml","","\u001b[36m```\u001b[39m","  \u001b[35mc\u001b[39m","\u001b[36m```\u001b[39m","","end"]],
  ["> - a\n> - b",40,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3m\u001b[33m- \u001b[39ma\u001b[23m\u001b[39m","\u001b[31m│ \u001b[39m\u001b[37m\u001b[3m\u001b[33m- \u001b[39mb\u001b[23m\u001b[39m"]],
  ["> - a\n> - b",24,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3m\u001b[33m- \u001b[39ma\u001b[23m\u001b[39m","\u001b[31m│ \u001b[39m\u001b[37m\u001b[3m\u001b[33m- \u001b[39mb\u001b[23m\u001b[39m"]],
  ["`` a`b ``",40,["\u001b[34ma`b\u001b[39m"]],
  ["`` a`b ``",24,["\u001b[34ma`b\u001b[39m"]],
  ["**bold *nested* x**",40,["\u001b[1mbold \u001b[3mnested\u001b[23m x\u001b[22m"]],
  ["**bold *nested* x**",24,["\u001b[1mbold \u001b[3mnested\u001b[23m x\u001b[22m"]],
  ["",40,[]],
  ["",24,[]],
  ["  ",40,[]],
  ["  ",24,[]],
  ["a very long paragraph that needs to wrap because it is longer than the width of the screen",40,["a very long paragraph that needs to wrap","because it is longer than the width of","the screen"]],
  ["a very long paragraph that needs to wrap because it is longer than the width of the screen",24,["a very long paragraph","that needs to wrap","because it is longer","than the width of the","screen"]],
  ["- a very long item that needs to wrap because it is longer than the width of the screen",40,["\u001b[33m- \u001b[39ma very long item that needs to wrap","  because it is longer than the width of","  the screen"]],
  ["- a very long item that needs to wrap because it is longer than the width of the screen",24,["\u001b[33m- \u001b[39ma very long item that","  needs to wrap because","  it is longer than the","  width of the screen"]],
  ["> a very long quote that needs to wrap because it is longer than the width of the screen",40,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3ma very long quote that needs to wrap","\u001b[31m│ \u001b[39m\u001b[3;37mbecause it is longer than the width of","\u001b[31m│ \u001b[39m\u001b[3;37mthe screen\u001b[23m\u001b[39m"]],
  ["> a very long quote that needs to wrap because it is longer than the width of the screen",24,["\u001b[31m│ \u001b[39m\u001b[37m\u001b[3ma very long quote that","\u001b[31m│ \u001b[39m\u001b[3;37mneeds to wrap because","\u001b[31m│ \u001b[39m\u001b[3;37mit is longer than the","\u001b[31m│ \u001b[39m\u001b[3;37mwidth of the screen\u001b[23m\u001b[39m"]],
  ["a<br>b",40,["a<br>b"]],
  ["a<br>b",24,["a<br>b"]],
  ["<div>html</div>\n\nx",40,["<div>html</div>","","x"]],
  ["<div>html</div>\n\nx",24,["<div>html</div>","","x"]],
  ["x &amp; y &lt;",40,["x &amp; y &lt;"]],
  ["x &amp; y &lt;",24,["x &amp; y &lt;"]],
  ["Setext\n===\n\nS2\n---",40,["\u001b[31m\u001b[1m\u001b[4mSetext\u001b[24m\u001b[22m\u001b[39m","","\u001b[31m\u001b[1mS2\u001b[22m\u001b[39m"]],
  ["Setext\n===\n\nS2\n---",24,["\u001b[31m\u001b[1m\u001b[4mSetext\u001b[24m\u001b[22m\u001b[39m","","\u001b[31m\u001b[1mS2\u001b[22m\u001b[39m"]],
  ["foo@bar.com",40,["\u001b[32m\u001b[4mfoo@bar.com\u001b[24m\u001b[39m"]],
  ["foo@bar.com",24,["\u001b[32m\u001b[4mfoo@bar.com\u001b[24m\u001b[39m"]],
  ["$x^2$ and \\alpha",40,["x² and \\alpha"]],
  ["$x^2$ and \\alpha",24,["x² and \\alpha"]],
  ["1) x\n2) y",40,["\u001b[33m1. \u001b[39mx","\u001b[33m2. \u001b[39my"]],
  ["1) x\n2) y",24,["\u001b[33m1. \u001b[39mx","\u001b[33m2. \u001b[39my"]],
  ["+ p",40,["\u001b[33m- \u001b[39mp"]],
  ["+ p",24,["\u001b[33m- \u001b[39mp"]],
  ["- ```js\n  x\n  ```",40,["\u001b[33m- \u001b[39m\u001b[36m```js\u001b[39m","    \u001b[35mx\u001b[39m","  \u001b[36m```\u001b[39m"]],
  ["- ```js\n  x\n  ```",24,["\u001b[33m- \u001b[39m\u001b[36m```js\u001b[39m","    \u001b[35mx\u001b[39m","  \u001b[36m```\u001b[39m"]],
  ["[ref][r]\n\n[r]: http://z",40,["\u001b[32m\u001b[4mref\u001b[24m\u001b[39m\u001b[33m (http://z)\u001b[39m",""]],
  ["[ref][r]\n\n[r]: http://z",24,["\u001b[32m\u001b[4mref\u001b[24m\u001b[39m\u001b[33m (http://z)\u001b[39m",""]],
  ["a_b_c",40,["a_b_c"]],
  ["a_b_c",24,["a_b_c"]],
  ["**a**b",40,["\u001b[1ma\u001b[22mb"]],
  ["**a**b",24,["\u001b[1ma\u001b[22mb"]],
  ["*a*\n\n\n\n*b*",40,["\u001b[3ma\u001b[23m","","\u001b[3mb\u001b[23m"]],
  ["*a*\n\n\n\n*b*",24,["\u001b[3ma\u001b[23m","","\u001b[3mb\u001b[23m"]],
  ["***both***",40,["\u001b[3m\u001b[1mboth\u001b[22m\u001b[23m"]],
  ["***both***",24,["\u001b[3m\u001b[1mboth\u001b[22m\u001b[23m"]],
  ["| a | b |\n|:--|--:|\n| some long text that will need wrapping | other long text here too |",40,["┌───────────────────────┬──────────────┐","│ \u001b[1ma                    \u001b[22m │ \u001b[1mb           \u001b[22m │","├───────────────────────┼──────────────┤","│ some long text that\u001b[22;23;24;25;27;28;29;39m   │ other long\u001b[22;23;24;25;27;28;29;39m   │","│ will need wrapping    │ text here\u001b[22;23;24;25;27;28;29;39m    │","│                       │ too          │","└───────────────────────┴──────────────┘"]],
];

setCapabilities({ images: null, trueColor: true, hyperlinks: false });
for (const [text, width, lines] of RENDERED) same(new Markdown(text, 0, 0, theme).render(width).map((line) => line.trimEnd()), lines, `Markdown ${JSON.stringify(text)} at ${width}`);
same(new Markdown("hi", 2, 1, theme).render(8), ["        ", "  hi    ", "        "], "padding");
const changing = new Markdown("a", 0, 0, theme);
same(changing.render(3), ["a  "], "before setText");
changing.setText("b");
same(changing.render(3), ["b  "], "after setText");
setCapabilities({ images: null, trueColor: true, hyperlinks: true });
same(new Markdown("[l](http://x)", 0, 0, theme).render(4), ["\x1b]8;;http://x\x1b\\\x1b[32m\x1b[4ml\x1b[24m\x1b[39m\x1b]8;;\x1b\\   "], "a link");
same(new Marked().lexer("# a\n\nb").map((token) => token.type), ["heading", "space", "paragraph"], "tokens");
// Hostile nesting ends, and quickly.
new Markdown(">".repeat(400) + " x", 0, 0, theme).render(40);
new Markdown("*".repeat(3000), 0, 0, theme).render(40);
new Markdown("[".repeat(2000), 0, 0, theme).render(40);
new Markdown("- ".repeat(1500), 0, 0, theme).render(40);
if (failures > 0) throw new Error(`${failures} checks failed, see the log`);
