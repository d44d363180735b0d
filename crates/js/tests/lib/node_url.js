// node:url. What each line must give was obtained from Node itself.
import { inspect } from "node:util";
import url from "node:url";

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

await check(() => ({ ...url.parse("http://user:pa%20ss@host:8080/p/a/t/h?query=string#hash") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: 'user:pa ss',\n  host: 'host:8080',\n  port: '8080',\n  hostname: 'host',\n  hash: '#hash',\n  search: '?query=string',\n  query: 'query=string',\n  pathname: '/p/a/t/h',\n  path: '/p/a/t/h?query=string',\n  href: 'http://user:pa%20ss@host:8080/p/a/t/h?query=string#hash'\n}");
await check(() => url.format("http://user:pa%20ss@host:8080/p/a/t/h?query=string#hash"), "http://user:pa%20ss@host:8080/p/a/t/h?query=string#hash");
await check(() => ({ ...url.parse("HTTP://A.COM") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: 'a.com',\n  port: null,\n  hostname: 'a.com',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/',\n  path: '/',\n  href: 'http://a.com/'\n}");
await check(() => url.format("HTTP://A.COM"), "http://a.com/");
await check(() => ({ ...url.parse("/a/b?x=1") }), "{\n  protocol: null,\n  slashes: null,\n  auth: null,\n  host: null,\n  port: null,\n  hostname: null,\n  hash: null,\n  search: '?x=1',\n  query: 'x=1',\n  pathname: '/a/b',\n  path: '/a/b?x=1',\n  href: '/a/b?x=1'\n}");
await check(() => url.format("/a/b?x=1"), "/a/b?x=1");
await check(() => ({ ...url.parse("a/b") }), "{\n  protocol: null,\n  slashes: null,\n  auth: null,\n  host: null,\n  port: null,\n  hostname: null,\n  hash: null,\n  search: null,\n  query: null,\n  pathname: 'a/b',\n  path: 'a/b',\n  href: 'a/b'\n}");
await check(() => url.format("a/b"), "a/b");
await check(() => ({ ...url.parse("//host/path") }), "{\n  protocol: null,\n  slashes: null,\n  auth: null,\n  host: null,\n  port: null,\n  hostname: null,\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '//host/path',\n  path: '//host/path',\n  href: '//host/path'\n}");
await check(() => url.format("//host/path"), "//host/path");
await check(() => ({ ...url.parse("mailto:a@b.c") }), "{\n  protocol: 'mailto:',\n  slashes: null,\n  auth: 'a',\n  host: 'b.c',\n  port: null,\n  hostname: 'b.c',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: null,\n  path: null,\n  href: 'mailto:a@b.c'\n}");
await check(() => url.format("mailto:a@b.c"), "mailto:a@b.c");
await check(() => ({ ...url.parse("javascript:alert(1)") }), "{\n  protocol: 'javascript:',\n  slashes: null,\n  auth: null,\n  host: null,\n  port: null,\n  hostname: null,\n  hash: null,\n  search: null,\n  query: null,\n  pathname: 'alert(1)',\n  path: 'alert(1)',\n  href: 'javascript:alert(1)'\n}");
await check(() => url.format("javascript:alert(1)"), "javascript:alert(1)");
await check(() => ({ ...url.parse("http://a.com?x=1") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: 'a.com',\n  port: null,\n  hostname: 'a.com',\n  hash: null,\n  search: '?x=1',\n  query: 'x=1',\n  pathname: '/',\n  path: '/?x=1',\n  href: 'http://a.com/?x=1'\n}");
await check(() => url.format("http://a.com?x=1"), "http://a.com/?x=1");
await check(() => ({ ...url.parse("http://[::1]:80/x") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: '[::1]:80',\n  port: '80',\n  hostname: '::1',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/x',\n  path: '/x',\n  href: 'http://[::1]:80/x'\n}");
await check(() => url.format("http://[::1]:80/x"), "http://[::1]:80/x");
await check(() => ({ ...url.parse("file:///etc/passwd") }), "{\n  protocol: 'file:',\n  slashes: true,\n  auth: null,\n  host: '',\n  port: null,\n  hostname: '',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/etc/passwd',\n  path: '/etc/passwd',\n  href: 'file:///etc/passwd'\n}");
await check(() => url.format("file:///etc/passwd"), "file:///etc/passwd");
await check(() => ({ ...url.parse("http://a.com/a b") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: 'a.com',\n  port: null,\n  hostname: 'a.com',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/a%20b',\n  path: '/a%20b',\n  href: 'http://a.com/a%20b'\n}");
await check(() => url.format("http://a.com/a b"), "http://a.com/a%20b");
await check(() => ({ ...url.parse("http://münchen.de/ä") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: 'xn--mnchen-3ya.de',\n  port: null,\n  hostname: 'xn--mnchen-3ya.de',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/ä',\n  path: '/ä',\n  href: 'http://xn--mnchen-3ya.de/ä'\n}");
await check(() => url.format("http://münchen.de/ä"), "http://xn--mnchen-3ya.de/ä");
await check(() => ({ ...url.parse("http:\\\\a.com\\b") }), "{\n  protocol: 'http:',\n  slashes: true,\n  auth: null,\n  host: 'a.com',\n  port: null,\n  hostname: 'a.com',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/b',\n  path: '/b',\n  href: 'http://a.com/b'\n}");
await check(() => url.format("http:\\\\a.com\\b"), "http://a.com/b");
await check(() => ({ ...url.parse("data:text/plain,hi") }), "{\n  protocol: 'data:',\n  slashes: null,\n  auth: null,\n  host: 'text',\n  port: null,\n  hostname: 'text',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/plain,hi',\n  path: '/plain,hi',\n  href: 'data:text/plain,hi'\n}");
await check(() => url.format("data:text/plain,hi"), "data:text/plain,hi");
await check(() => ({ ...url.parse("localhost:3000/x") }), "{\n  protocol: 'localhost:',\n  slashes: null,\n  auth: null,\n  host: '3000',\n  port: null,\n  hostname: '3000',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/x',\n  path: '/x',\n  href: 'localhost:3000/x'\n}");
await check(() => url.format("localhost:3000/x"), "localhost:3000/x");
await check(() => ({ ...url.parse("git+ssh://git@github.com:u/r.git") }), "{\n  protocol: 'git+ssh:',\n  slashes: true,\n  auth: 'git',\n  host: 'github.com',\n  port: null,\n  hostname: 'github.com',\n  hash: null,\n  search: null,\n  query: null,\n  pathname: '/:u/r.git',\n  path: '/:u/r.git',\n  href: 'git+ssh://git@github.com/:u/r.git'\n}");
await check(() => url.format("git+ssh://git@github.com:u/r.git"), "git+ssh://git@github.com/:u/r.git");
await check(() => url.parse('/a?b=1&c=2', true).query, "[Object: null prototype] { b: '1', c: '2' }");
await check(() => url.parse('//host/x', false, true).host, "host");
await check(() => url.parse(5), "THROW TypeError ERR_INVALID_ARG_TYPE The \"url\" argument must be of type string. Received type number (5)");
await check(() => url.resolve("/one/two/three", "four"), "/one/two/four");
await check(() => url.resolve("http://example.com/", "/one"), "http://example.com/one");
await check(() => url.resolve("http://a/b/c/d", "../g"), "http://a/b/g");
await check(() => url.resolve("http://a/b/c/d", "?y"), "http://a/b/c/d?y");
await check(() => url.resolve("http://a/b/c/d?x", "#s"), "http://a/b/c/d?x#s");
await check(() => url.resolve("http://a/b/c/d", "../../../g"), "http://a/g");
await check(() => url.resolve("http://a/b", "//c/d"), "http://c/d");
await check(() => url.resolve("http://a/b", "https://x/y"), "https://x/y");
await check(() => url.resolve("a/b", "../../c"), "../c");
await check(() => url.resolve("http://a", "b"), "http://a/b");
await check(() => url.resolve("http://a/b/c/d", "."), "http://a/b/c/");
await check(() => url.format({"protocol":"http","host":"a.com","pathname":"x"}), "http://a.com/x");
await check(() => url.format({"protocol":"http:","hostname":"a.com","port":80,"pathname":"/x","query":{"a":1,"b":[1,2]}}), "http://a.com:80/x?a=1&b=1&b=2");
await check(() => url.format({"pathname":"/a?b","search":"c","hash":"d"}), "/a%3Fb?c#d");
await check(() => url.format({"hostname":"::1","protocol":"http"}), "http://[::1]");
await check(() => url.format({}), "");
await check(() => url.fileURLToPath("file:///a/b"), "/a/b");
await check(() => url.fileURLToPath("file:///a%20b"), "/a b");
await check(() => url.fileURLToPath("http://a"), "THROW TypeError ERR_INVALID_URL_SCHEME The URL must be of scheme file");
await check(() => url.fileURLToPath("file:///a%2fb"), "THROW TypeError ERR_INVALID_FILE_URL_PATH File URL path must not include encoded / characters");
await check(() => url.fileURLToPath("file:///%E4%BD%A0"), "/你");
await check(() => url.fileURLToPath(5), "THROW TypeError ERR_INVALID_ARG_TYPE The \"path\" argument must be of type string or an instance of URL. Received type number (5)");
await check(() => url.fileURLToPath(new url.URL('file:///x y')), "/x y");
await check(() => url.pathToFileURL("/a/b").href, "file:///a/b");
await check(() => url.pathToFileURL("/a b").href, "file:///a%20b");
await check(() => url.pathToFileURL("/a%b").href, "file:///a%25b");
await check(() => url.pathToFileURL("/a#b?c").href, "file:///a%23b%3Fc");
await check(() => url.pathToFileURL("/a\\b").href, "file:///a%5Cb");
await check(() => url.pathToFileURL("/a/").href, "file:///a/");
await check(() => url.pathToFileURL("/你").href, "file:///%E4%BD%A0");
await check(() => url.pathToFileURL("/a\nb").href, "file:///a%0Ab");
await check(() => url.pathToFileURL("/").href, "file:///");
await check(() => (({ protocol, hostname, path, port, auth, href }) => ({ protocol, hostname, path, port, auth, href }))(url.urlToHttpOptions(new url.URL('http://user:pw@h.com:81/p?q#h'))), "{\n  protocol: 'http:',\n  hostname: 'h.com',\n  path: '/p?q',\n  port: 81,\n  auth: 'user:pw',\n  href: 'http://user:pw@h.com:81/p?q#h'\n}");
await check(() => url.format(new url.URL('http://u:p@xn--mnchen-3ya.de:81/p?q#h'), { auth: false, fragment: false, search: false, unicode: true }), "http://münchen.de:81/p");
await check(() => url.domainToASCII('español.com'), "xn--espaol-zwa.com");
await check(() => url.domainToUnicode('xn--espaol-zwa.com'), "español.com");
await check(() => url.domainToASCII('xn--iñvalid.com'), "");
await check(() => new url.URLSearchParams('a=1').get('a'), "1");
await check(() => url.URL === URL, "true");

if (failures.length > 0) throw new Error(`${failures.length} differ from Node:\n${failures.join("\n")}`);
