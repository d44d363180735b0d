// node:https: the client of node:http with TLS, which the host does. A server would need keys and is refused.
import { HttpsAgent as Agent } from "jackfield:node/internal/http/agent";
import { ClientRequest } from "jackfield:node/internal/http/client";
import { unsupported } from "jackfield:node/internal/io_errors";

let agent = null;
const globalAgent = new Proxy({}, {
  get(_, key) { agent ??= new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5000 }); return Reflect.get(agent, key, agent); },
  set(_, key, value) { agent ??= new Agent({ keepAlive: true }); return Reflect.set(agent, key, value, agent); },
  getPrototypeOf: () => Agent.prototype,
});

function request(url, options, callback) {
  const settings = typeof options === "object" && options !== null ? options : typeof url === "object" && url !== null ? url : {};
  if (settings.rejectUnauthorized === false) throw unsupported("rejectUnauthorized: false", "certificates are always checked");
  return new ClientRequest(url, options, callback, { protocol: "https:", agent: () => undefined });
}

function get(url, options, callback) {
  const call = request(url, options, callback);
  call.end();
  return call;
}

function createServer() {
  throw unsupported("https.createServer", "use http.createServer on this machine");
}
class Server {
  constructor() {
    throw unsupported("https.Server", "use http.createServer on this machine");
  }
}

export { Agent, Server, createServer, get, globalAgent, request };
export default { get Agent() { return Agent; }, Server, createServer, get, globalAgent, request };
