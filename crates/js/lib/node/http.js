// node:http. The client goes through the host's `http` call (see internal/http/client.js for when it does not), the
// server has its own reader of HTTP/1.1 over node:net. Not covered: pooled sockets of an Agent as objects.
import { METHODS, STATUS_CODES, validateHeaderName, validateHeaderValue } from "jackfield:node/internal/http/words";
import { Agent } from "jackfield:node/internal/http/agent";
import { ClientRequest } from "jackfield:node/internal/http/client";
import { IncomingMessage } from "jackfield:node/internal/http/incoming";
import { OutgoingMessage } from "jackfield:node/internal/http/outgoing";
import { Server, ServerResponse } from "jackfield:node/internal/http/server";

let agent = null;
const globalAgent = new Proxy({}, {
  get(_, key) { agent ??= new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5000 }); return Reflect.get(agent, key, agent); },
  set(_, key, value) { agent ??= new Agent({ keepAlive: true }); return Reflect.set(agent, key, value, agent); },
  getPrototypeOf: () => Agent.prototype,
});

function request(url, options, callback) {
  return new ClientRequest(url, options, callback, { protocol: "http:", agent: () => undefined });
}

function get(url, options, callback) {
  const call = request(url, options, callback);
  call.end();
  return call;
}

function createServer(options, listener) {
  return new Server(options, listener);
}

const maxHeaderSize = 16 * 1024;
const setMaxIdleHTTPParsers = () => {};

export {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, Server, ServerResponse, createServer, get, globalAgent, maxHeaderSize,
  request, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
};

// Members are looked up when asked for, and can be replaced, as some packages do with `request`.
const http = { createServer, get, globalAgent, maxHeaderSize, request, setMaxIdleHTTPParsers };
for (const [name, look] of Object.entries({
  Agent: () => Agent, ClientRequest: () => ClientRequest, IncomingMessage: () => IncomingMessage, METHODS: () => METHODS, OutgoingMessage: () => OutgoingMessage,
  STATUS_CODES: () => STATUS_CODES, Server: () => Server, ServerResponse: () => ServerResponse, validateHeaderName: () => validateHeaderName,
  validateHeaderValue: () => validateHeaderValue,
})) {
  Object.defineProperty(http, name, {
    get: look, enumerable: true, configurable: true,
    set(value) { Object.defineProperty(http, name, { value, writable: true, enumerable: true, configurable: true }); },
  });
}
export default http;
