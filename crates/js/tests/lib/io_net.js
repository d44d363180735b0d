// node:net on this machine: connections both ways, ends, errors, addresses.
import assert from "node:assert";
import { Buffer } from "node:buffer";
import dns from "node:dns";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const listen = (server, ...where) => new Promise((resolve, reject) => {
  server.once("error", reject);
  server.listen(...(where.length ? where : [0, "127.0.0.1"]), () => resolve(server.address()));
});
const closed = (emitter) => new Promise((resolve) => emitter.on("close", resolve));
const stop = (server) => new Promise((resolve) => server.close(resolve));

// There and back again.
{
  const server = net.createServer((socket) => socket.pipe(socket));
  const where = await listen(server);
  assert.deepStrictEqual([where.family, where.address, server.listening], ["IPv4", "127.0.0.1", true]);
  const client = net.connect(where.port, "127.0.0.1");
  const order = [];
  for (const name of ["connect", "ready", "finish", "end", "close"]) client.on(name, () => order.push(name));
  assert.deepStrictEqual([client.connecting, client.readyState], [true, "opening"]);
  let got = "";
  client.on("data", (chunk) => {
    got += chunk;
    if (got === "hello") client.end();
  });
  client.on("connect", () => assert.deepStrictEqual([client.remoteAddress, client.remotePort, client.remoteFamily], ["127.0.0.1", where.port, "IPv4"]));
  client.write("hel");
  client.write("lo");
  await closed(client);
  assert.deepStrictEqual(order, ["connect", "ready", "finish", "end", "close"]);
  assert.deepStrictEqual([got, client.bytesRead, client.bytesWritten, client.destroyed], ["hello", 5, 5, true]);
  await stop(server);
  assert.deepStrictEqual([server.listening, server.address()], [false, null]);
}
// Much, with the other side half closed.
{
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    let size = 0;
    socket.on("data", (chunk) => { size += chunk.length; });
    socket.on("end", () => socket.end(String(size)));
  });
  const { port } = await listen(server);
  const client = net.connect(port, "127.0.0.1");
  let got = "";
  client.on("data", (chunk) => { got += chunk; });
  for (let i = 0; i < 50; i++) client.write(Buffer.alloc(50000));
  client.end();
  await closed(client);
  assert.strictEqual(got, "2500000");
  await stop(server);
}
// Nobody there, a port in use, a server that is not running.
{
  const gone = net.createServer();
  const { port } = await listen(gone);
  const second = net.createServer();
  await assert.rejects(listen(second, port, "127.0.0.1"), { code: "EADDRINUSE", syscall: "listen", port, address: "127.0.0.1", message: `listen EADDRINUSE: address already in use 127.0.0.1:${port}` });
  await stop(gone);
  const client = net.connect(port, "127.0.0.1");
  const error = await new Promise((resolve) => client.on("error", resolve));
  assert.deepStrictEqual([error.message, error.code, error.syscall, error.port], [`connect ECONNREFUSED 127.0.0.1:${port}`, "ECONNREFUSED", "connect", port]);
  assert.strictEqual((await new Promise((resolve) => gone.close(resolve))).code, "ERR_SERVER_NOT_RUNNING");
  assert.throws(() => net.connect(99999), { code: "ERR_SOCKET_BAD_PORT" });
  assert.throws(() => net.connect({}), { code: "ERR_MISSING_ARGS" });
}
// A server that says goodbye, a client that leaves, a silent one.
{
  const server = net.createServer((socket) => {
    socket.on("error", () => {});
    socket.end("bye");
  });
  const { port } = await listen(server);
  const client = net.connect(port, "127.0.0.1");
  let got = "";
  client.setEncoding("utf8").on("data", (text) => { got += text; });
  await closed(client);
  assert.strictEqual(got, "bye");
  await stop(server);
  const silent = net.createServer((socket) => socket.on("error", () => {}).resume());
  const other = await listen(silent);
  const waiting = net.connect(other.port, "127.0.0.1");
  waiting.setTimeout(20, () => waiting.destroy());
  await closed(waiting);
  await stop(silent);
}
// A socket in the file system.
{
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "jf-net-"));
  const where = path.join(folder, "s.sock");
  const server = net.createServer((socket) => socket.end("u"));
  await listen(server, where);
  assert.strictEqual(server.address(), where);
  const client = net.connect(where);
  let got = "";
  client.on("data", (chunk) => { got += chunk; });
  await closed(client);
  assert.strictEqual(got, "u");
  await stop(server);
  const lost = net.connect(path.join(folder, "no.sock"));
  assert.strictEqual((await new Promise((resolve) => lost.on("error", resolve))).code, "ENOENT");
  fs.rmSync(folder, { recursive: true, force: true });
}
// Addresses.
for (const [text, kind] of [
  ["1.2.3.4", 4], ["1.2.3", 0], ["256.1.1.1", 0], ["01.2.3.4", 0], ["::1", 6], ["::", 6], ["1::", 6], ["2001:db8::1", 6], ["1:2:3:4:5:6:7:8", 6],
  ["1:2:3:4:5:6:7:8:9", 0], ["::ffff:1.2.3.4", 6], ["fe80::1%eth0", 6], ["g::1", 0], ["", 0], ["1::2::3", 0], [":::", 0], [undefined, 0], [5, 0],
]) assert.deepStrictEqual([net.isIP(text), net.isIPv4(text), net.isIPv6(text)], [kind, kind === 4, kind === 6], String(text));
{
  const list = new net.BlockList();
  list.addAddress("1.2.3.4");
  list.addRange("10.0.0.1", "10.0.0.9");
  list.addSubnet("8592:757c:efae:4e45::", 64, "ipv6");
  assert.deepStrictEqual([list.check("1.2.3.4"), list.check("10.0.0.5"), list.check("10.0.0.10"), list.check("8592:757c:efae:4e45::9", "ipv6"), list.check("::ffff:1.2.3.4", "ipv6")],
    [true, true, false, true, true]);
  assert.deepStrictEqual(await promisify(dns.lookup)("127.0.0.1"), { address: "127.0.0.1", family: 4 });
  assert.deepStrictEqual(await dns.promises.lookup("::1", { all: true }), [{ address: "::1", family: 6 }]);
  await assert.rejects(dns.promises.resolveMx("localhost"), { code: "ERR_JACKFIELD_UNSUPPORTED" });
}
