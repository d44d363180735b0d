// node:http on this machine. Raw answers were taken from Node 20.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import http from "node:http";
import net from "node:net";

const start = (server) => new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server.address().port)));
const stop = (server) => new Promise((resolve) => {
  server.closeAllConnections();
  server.close(resolve);
});
const body = async (message) => {
  let all = "";
  for await (const chunk of message) all += chunk;
  return all;
};
/** Sends pieces as they are and gives what came back until the server closed, or until `done` says so. */
const raw = (port, pieces, { done, half } = {}) => new Promise((resolve) => {
  const socket = net.connect(port, "127.0.0.1");
  let got = "";
  const finish = () => {
    socket.destroy();
    resolve(got.replace(/Date: [^\r]+/g, "Date: X"));
  };
  socket.setEncoding("latin1");
  socket.on("data", (text) => {
    got += text;
    if (done?.(got)) finish();
  });
  socket.on("error", () => {});
  socket.on("close", finish);
  for (const piece of [pieces].flat()) socket.write(piece);
  if (half) socket.end();
});
const GET = "GET / HTTP/1.1\r\nHost: x\r\n";
const LAST = `${GET}Connection: close\r\n\r\n`;

// Framing: known length, chunks, bodiless answers, trailers.
{
  const server = http.createServer((request, response) => {
    if (request.url === "/chunks") {
      response.setHeader("X-A", ["1", "2"]);
      response.write("ab");
      response.end();
    } else if (request.url.startsWith("/status/")) {
      response.statusCode = Number(request.url.slice(8));
      response.end("body");
    } else if (request.url === "/trailers") {
      response.writeHead(200, { Trailer: "X-T" });
      response.write("a");
      response.addTrailers({ "X-T": "1" });
      response.end();
    } else response.end("hi");
  });
  const port = await start(server);
  assert.strictEqual(await raw(port, `${GET}\r\n`, { done: (got) => got.endsWith("hi") }),
    "HTTP/1.1 200 OK\r\nDate: X\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 2\r\n\r\nhi");
  assert.strictEqual(await raw(port, LAST), "HTTP/1.1 200 OK\r\nDate: X\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi");
  const at = (url, method = "GET") => raw(port, `${method} ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  assert.strictEqual(await at("/chunks"), "HTTP/1.1 200 OK\r\nX-A: 1\r\nX-A: 2\r\nDate: X\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n");
  assert.strictEqual(await at("/trailers"), "HTTP/1.1 200 OK\r\nTrailer: X-T\r\nDate: X\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-T: 1\r\n\r\n");
  assert.strictEqual(await at("/status/204"), "HTTP/1.1 204 No Content\r\nDate: X\r\nConnection: close\r\n\r\n");
  assert.strictEqual((await at("/status/599")).split("\r\n")[0], "HTTP/1.1 599 unknown");
  assert.ok((await at("/", "HEAD")).endsWith("\r\n\r\n"));
  // Two at once: answered in order.
  const two = await raw(port, `${GET}\r\n${LAST}`);
  assert.strictEqual(two.match(/HTTP\/1\.1 200 OK/g).length, 2);
  await stop(server);
}
// Requests: headers, bodies in both framings, expectation.
{
  let seen = null;
  const server = http.createServer(async (request, response) => {
    seen = request;
    const text = await body(request);
    response.end(`${text}|${JSON.stringify(request.trailers)}`);
  });
  const port = await start(server);
  await raw(port, "GET /a?b=1 HTTP/1.1\r\nHost: x\r\nX-Y: 1\r\nx-y: 2\r\nCookie: a\r\nCookie: b\r\nAge: 1\r\nAge: 2\r\nConnection: close\r\n\r\n");
  assert.deepStrictEqual([seen.method, seen.url, seen.httpVersion, seen.headers],
    ["GET", "/a?b=1", "1.1", { host: "x", "x-y": "1, 2", cookie: "a; b", age: "1", connection: "close" }]);
  assert.deepStrictEqual(seen.headersDistinct["x-y"], ["1", "2"]);
  assert.deepStrictEqual(seen.rawHeaders.slice(2, 6), ["X-Y", "1", "x-y", "2"]);
  const post = (head, ...rest) => raw(port, [`POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${head}\r\n`, ...rest]);
  assert.ok((await post("Content-Length: 5\r\n", "he", "llo")).endsWith("\r\n\r\nhello|{}"));
  assert.ok((await post("Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n", "2;ext=1\r\nde\r\n0\r\nTr: v\r\n\r\n")).endsWith('abcde|{"tr":"v"}'));
  assert.ok((await post("Expect: 100-continue\r\nContent-Length: 2\r\n", "ok")).startsWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"));
  await stop(server);
}
// What is not HTTP, or only half of it.
{
  let served = 0;
  const server = http.createServer((request, response) => {
    served++;
    request.on("error", () => {});
    response.end();
  });
  const port = await start(server);
  for (const [text, status] of [
    ["\x00\x01\x02garbage\r\n\r\n", 400], ["FOO / HTTP/1.1\r\nHost: x\r\n\r\n", 400], ["GET / HTTP/9.9\r\n\r\n", 400], ["GET / HTTP/1.1\r\nBad Header: x\r\n\r\n", 400],
    ["GET / HTTP/1.1\r\nHost: x\r\n folded: x\r\n\r\n", 400], ["GET / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", 400], ["GET / HTTP/1.1\r\n\r\n", 400],
    ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400], ["GET / HTTP/1.1\nHost: x\n\n", 400],
    ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400], [`GET / HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20000)}\r\n\r\n`, 431],
  ]) assert.strictEqual((await raw(port, text)).split(" ")[1], String(status), JSON.stringify(text.slice(0, 60)));
  assert.strictEqual(served, 0);
  assert.strictEqual((await raw(port, "GET / HT", { half: true })).split(" ")[1], "400");
  await stop(server);
  const problems = [];
  const careful = http.createServer((request, response) => {
    request.on("aborted", () => problems.push("aborted"));
    response.on("close", () => problems.push("closed"));
    request.resume();
  });
  careful.on("clientError", (error, socket) => {
    problems.push(error.code.slice(0, 4));
    socket.end("HTTP/1.1 400 Custom\r\n\r\n");
  });
  const other = await start(careful);
  assert.strictEqual(await raw(other, "junk\r\n\r\n"), "HTTP/1.1 400 Custom\r\n\r\n");
  const quitter = net.connect(other, "127.0.0.1", () => quitter.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc", () => setTimeout(() => quitter.destroy(), 10)));
  // Whether the end of a connection in the middle of a body is a client error too depends on how it ended.
  for (let i = 0; i < 500 && !(problems.includes("aborted") && problems.includes("closed")); i++) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepStrictEqual(problems.filter((problem) => problem === "aborted" || problem === "closed").sort(), ["aborted", "closed"]);
  assert.strictEqual(problems[0], "HPE_");
  await stop(careful);
  const slow = http.createServer({ headersTimeout: 40, requestTimeout: 50 }, () => {});
  assert.strictEqual((await raw(await start(slow), "GET / HTTP/1.1\r\nHo")).split(" ")[1], "408");
  await stop(slow);
}
// The methods of a response.
{
  const server = http.createServer((request, response) => {
    const code = (action) => {
      try {
        return action();
      } catch (error) {
        return error.code;
      }
    };
    assert.strictEqual(code(() => response.setHeader("a b", "1")), "ERR_INVALID_HTTP_TOKEN");
    assert.strictEqual(code(() => response.setHeader("A", "\u0100")), "ERR_INVALID_CHAR");
    assert.strictEqual(code(() => response.setHeader("A", "x\r\ny: z")), "ERR_INVALID_CHAR");
    assert.strictEqual(code(() => response.setHeader("A")), "ERR_HTTP_INVALID_HEADER_VALUE");
    assert.strictEqual(code(() => response.writeHead(9999)), "ERR_HTTP_INVALID_STATUS_CODE");
    response.setHeader("Foo", "1");
    assert.deepStrictEqual([response.getHeader("foo"), response.hasHeader("FOO"), response.getHeaderNames()], ["1", true, ["foo"]]);
    response.removeHeader("foo");
    response.writeHead(200, { Z: "1" });
    assert.strictEqual(response.headersSent, true);
    assert.strictEqual(code(() => response.setHeader("X", "1")), "ERR_HTTP_HEADERS_SENT");
    assert.strictEqual(code(() => response.writeHead(200)), "ERR_HTTP_HEADERS_SENT");
    response.end("fine");
  });
  assert.ok((await raw(await start(server), LAST)).includes("fine"));
  await stop(server);
}
// The client.
{
  const server = http.createServer(async (request, response) => {
    if (request.url === "/slow") return;
    if (request.url === "/redirect") {
      response.writeHead(302, { Location: "/" }).end();
      return;
    }
    const text = await body(request);
    response.setHeader("Set-Cookie", ["c=1", "d=2"]);
    response.statusCode = request.url === "/404" ? 404 : 200;
    response.end(JSON.stringify({ method: request.method, url: request.url, text, test: request.headers["x-test"], auth: request.headers.authorization }));
  });
  const port = await start(server);
  const ask = (options, data) => new Promise((resolve, reject) => {
    const request = http.request({ host: "127.0.0.1", port, ...options }, resolve);
    request.on("error", reject);
    request.end(data);
  });
  const got = await new Promise((resolve, reject) => { http.get(`http://127.0.0.1:${port}/a?b=c`, resolve).on("error", reject); });
  assert.deepStrictEqual([got.statusCode, got.statusMessage, got.headers["set-cookie"], await body(got), got.complete],
    [200, "OK", ["c=1", "d=2"], '{"method":"GET","url":"/a?b=c","text":""}', true]);
  const posted = await ask({ method: "POST", path: "/p", headers: { "X-Test": "1" }, auth: "u:p" }, "body");
  assert.deepStrictEqual(JSON.parse(await body(posted)), { method: "POST", url: "/p", text: "body", test: "1", auth: "Basic dTpw" });
  assert.strictEqual((await ask({ method: "HEAD", path: "/404" })).statusCode, 404);
  const away = await ask({ path: "/redirect" });
  assert.deepStrictEqual([away.statusCode, away.headers.location], [302, "/"]);
  away.resume();
  const late = http.get({ host: "127.0.0.1", port, path: "/slow", timeout: 30 });
  late.on("timeout", () => late.destroy());
  assert.deepStrictEqual(await new Promise((resolve) => late.on("error", (error) => resolve([error.message, error.code]))), ["socket hang up", "ECONNRESET"]);
  const control = new AbortController();
  const aborted = http.get({ host: "127.0.0.1", port, path: "/slow", signal: control.signal });
  setTimeout(() => control.abort(), 10);
  assert.strictEqual((await new Promise((resolve) => aborted.on("error", resolve))).name, "AbortError");
  await stop(server);
  const gone = net.createServer();
  const nobody = await start(gone);
  await new Promise((resolve) => gone.close(resolve));
  assert.strictEqual((await new Promise((resolve) => http.get({ host: "127.0.0.1", port: nobody }).on("error", resolve))).code, "ECONNREFUSED");
  assert.throws(() => http.request("nope"), { code: "ERR_INVALID_URL" });
  assert.throws(() => http.request({ path: "/a b" }), { code: "ERR_UNESCAPED_CHARACTERS" });
  assert.throws(() => http.request("ftp://x/"), { code: "ERR_INVALID_PROTOCOL" });
}
// An agent that connects in its own way.
{
  const server = http.createServer((request, response) => response.end(`via ${request.url}`));
  const port = await start(server);
  class Detour extends http.Agent {
    createConnection() { return net.connect(port, "127.0.0.1"); }
  }
  const answer = await new Promise((resolve, reject) => { http.get({ host: "nowhere.invalid", path: "/z", agent: new Detour() }, resolve).on("error", reject); });
  assert.strictEqual(await body(answer), "via /z");
  await stop(server);
}
// Upgrade on both sides.
{
  const server = http.createServer();
  server.on("upgrade", (request, socket) => {
    socket.write("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\nearly");
    socket.on("data", (chunk) => socket.end(`got ${chunk}`));
  });
  const port = await start(server);
  const request = http.request({ host: "127.0.0.1", port, headers: { Connection: "Upgrade", Upgrade: "foo" } });
  request.end();
  const text = await new Promise((resolve, reject) => {
    request.on("error", reject);
    request.on("upgrade", (response, socket, head) => {
      assert.strictEqual(response.statusCode, 101);
      let all = String(head);
      socket.on("data", (chunk) => { all += chunk; });
      socket.on("end", () => resolve(all));
      socket.write("ping");
    });
  });
  assert.strictEqual(text, "earlygot ping");
  await stop(server);
}
assert.strictEqual(http.STATUS_CODES[404], "Not Found");
assert.ok(http.METHODS.includes("GET") && Buffer.from("x").length === 1);
