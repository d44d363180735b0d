// node:querystring, node:string_decoder and node:punycode. What each line must give was obtained from Node itself.
import { inspect } from "node:util";
import { Buffer } from "node:buffer";
import punycode from "node:punycode";
import querystring from "node:querystring";
import { StringDecoder } from "node:string_decoder";

const failures = [];
let number = 0;
async function check(work, expected) {
  number += 1;
  let got;
  try {
    const value = await work();
    got = typeof value === "string" ? value : inspect(value, { depth: 6 });
  } catch (error) {
    got = `THROW ${error.name} ${error.code ?? "-"} ${error.message}`;
  }
  if (got !== expected) failures.push(`check ${number}\n  expected ${JSON.stringify(expected)}\n  got      ${JSON.stringify(got)}`);
}

function pieces(encoding, size, text) {
  const decoder = new StringDecoder(encoding);
  const source = Buffer.from(text, encoding === "utf16le" ? "utf16le" : "utf8");
  let out = "";
  for (let i = 0; i < source.length; i += size) out += decoder.write(source.subarray(i, i + size));
  return out + decoder.end();
}
function bytes(encoding, ...chunks) {
  const decoder = new StringDecoder(encoding);
  return [...chunks.map((chunk) => decoder.write(Buffer.from(chunk))), decoder.end()];
}

await check(() => querystring.parse("a=1&b=2"), "[Object: null prototype] { a: '1', b: '2' }");
await check(() => querystring.parse("a=1&a=2&a=3"), "[Object: null prototype] { a: [ '1', '2', '3' ] }");
await check(() => querystring.parse("a"), "[Object: null prototype] { a: '' }");
await check(() => querystring.parse("=b"), "[Object: null prototype] { '': 'b' }");
await check(() => querystring.parse("a="), "[Object: null prototype] { a: '' }");
await check(() => querystring.parse("&&a=1&"), "[Object: null prototype] { a: '1' }");
await check(() => querystring.parse("a=b=c"), "[Object: null prototype] { a: 'b=c' }");
await check(() => querystring.parse("a+b=c+d"), "[Object: null prototype] { 'a b': 'c d' }");
await check(() => querystring.parse("a=%zz"), "[Object: null prototype] { a: '%zz' }");
await check(() => querystring.parse("a=%E4%BD%A0"), "[Object: null prototype] { a: '你' }");
await check(() => querystring.parse("a=%E4"), "[Object: null prototype] { a: '�' }");
await check(() => querystring.parse("%"), "[Object: null prototype] { '%': '' }");
await check(() => querystring.parse("a[]=1"), "[Object: null prototype] { 'a[]': '1' }");
await check(() => querystring.parse('a:1;b:2', ';', ':'), "[Object: null prototype] { a: '1', b: '2' }");
await check(() => querystring.parse('a=1&b=2&c=3', null, null, { maxKeys: 2 }), "[Object: null prototype] { a: '1', b: '2' }");
await check(() => querystring.stringify({ a: 1, b: 'x y', c: [1, '2', true], d: null, e: undefined, f: NaN, g: 'é😀', h: 10n }), "a=1&b=x%20y&c=1&c=2&c=true&d=&e=&f=&g=%C3%A9%F0%9F%98%80&h=10");
await check(() => querystring.stringify({ a: 1, b: 2 }, ';', ':'), "a:1;b:2");
await check(() => querystring.stringify('x'), "");
await check(() => querystring.escape('a b&c'), "a%20b%26c");
await check(() => querystring.unescape('%41%zz'), "A%zz");
await check(() => pieces("utf8", 1, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("utf8", 2, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("utf8", 5, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("utf16le", 1, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("utf16le", 2, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("utf16le", 5, "héllo 日本語 😀 end"), "héllo 日本語 😀 end");
await check(() => pieces("base64", 1, "héllo 日本語 😀 end"), "aMOpbGxvIOaXpeacrOiqniDwn5iAIGVuZA==");
await check(() => pieces("base64", 2, "héllo 日本語 😀 end"), "aMOpbGxvIOaXpeacrOiqniDwn5iAIGVuZA==");
await check(() => pieces("base64", 5, "héllo 日本語 😀 end"), "aMOpbGxvIOaXpeacrOiqniDwn5iAIGVuZA==");
await check(() => pieces("hex", 1, "héllo 日本語 😀 end"), "68c3a96c6c6f20e697a5e69cace8aa9e20f09f988020656e64");
await check(() => pieces("hex", 2, "héllo 日本語 😀 end"), "68c3a96c6c6f20e697a5e69cace8aa9e20f09f988020656e64");
await check(() => pieces("hex", 5, "héllo 日本語 😀 end"), "68c3a96c6c6f20e697a5e69cace8aa9e20f09f988020656e64");
await check(() => pieces("latin1", 1, "héllo 日本語 😀 end"), "hÃ©llo æ¥æ¬èª ð end");
await check(() => pieces("latin1", 2, "héllo 日本語 😀 end"), "hÃ©llo æ¥æ¬èª ð end");
await check(() => pieces("latin1", 5, "héllo 日本語 😀 end"), "hÃ©llo æ¥æ¬èª ð end");
await check(() => bytes('utf8', [0xe2], [0x82], [0xac]), "[ '', '', '€', '' ]");
await check(() => bytes('utf8', [0xe2], [0x41]), "[ '', '�A', '' ]");
await check(() => bytes('utf8', [0xf0, 0x9f], [0x98]), "[ '', '', '�' ]");
await check(() => bytes('utf8', [0xff, 0xc3], [0xa9]), "[ '�', 'é', '' ]");
await check(() => bytes('base64', [1], [2], [3, 4]), "[ '', '', 'AQID', 'BA==' ]");
await check(() => new StringDecoder('bogus'), "THROW TypeError ERR_UNKNOWN_ENCODING Unknown encoding: bogus");
await check(() => new StringDecoder('utf8').write('text'), "text");
await check(() => new StringDecoder().encoding, "utf8");
await check(() => punycode.encode("münchen"), "mnchen-3ya");
await check(() => punycode.decode(punycode.encode("münchen")), "münchen");
await check(() => punycode.toASCII("mail@" + "münchen" + ".com"), "mail@xn--mnchen-3ya.com");
await check(() => punycode.encode("日本語"), "wgv71a119e");
await check(() => punycode.decode(punycode.encode("日本語")), "日本語");
await check(() => punycode.toASCII("mail@" + "日本語" + ".com"), "mail@xn--wgv71a119e.com");
await check(() => punycode.encode("a"), "a-");
await check(() => punycode.decode(punycode.encode("a")), "a");
await check(() => punycode.toASCII("mail@" + "a" + ".com"), "mail@a.com");
await check(() => punycode.encode(""), "");
await check(() => punycode.decode(punycode.encode("")), "");
await check(() => punycode.toASCII("mail@" + "" + ".com"), "mail@.com");
await check(() => punycode.encode("ünïcödé-x"), "ncd-x-dsa3b7c8b");
await check(() => punycode.decode(punycode.encode("ünïcödé-x")), "ünïcödé-x");
await check(() => punycode.toASCII("mail@" + "ünïcödé-x" + ".com"), "mail@xn--ncd-x-dsa3b7c8b.com");
await check(() => punycode.toUnicode('xn--mnchen-3ya.de'), "münchen.de");
await check(() => punycode.ucs2.decode('a😀'), "[ 97, 128512 ]");
await check(() => punycode.ucs2.encode([97, 0x1f600]), "a😀");
await check(() => punycode.decode('bad!'), "THROW RangeError - Invalid input");

if (failures.length > 0) throw new Error(`${failures.length} differ from Node:\n${failures.join("\n")}`);
