// node:net over the host's `net` streams. Covered: Socket, connect, Server, unix sockets, the address functions.
// Not covered: options of the socket itself (no delay, keep alive are accepted and have no effect), passing of
// handles, and listening on all interfaces by default (see internal/net/server.js).
import { Socket, connectArguments } from "jackfield:node/internal/net/socket";
import { Server } from "jackfield:node/internal/net/server";
import { BlockList, SocketAddress, isIP, isIPv4, isIPv6 } from "jackfield:node/internal/net/address";

function connect(...args) {
  const [options] = connectArguments(args);
  const socket = new Socket(options);
  if (options.timeout) socket.setTimeout(options.timeout);
  return socket.connect(...args);
}

function createServer(options, listener) {
  return new Server(options, listener);
}

let autoSelect = true;
let autoSelectTimeout = 250;
const getDefaultAutoSelectFamily = () => autoSelect;
const setDefaultAutoSelectFamily = (value) => { autoSelect = !!value; };
const getDefaultAutoSelectFamilyAttemptTimeout = () => autoSelectTimeout;
const setDefaultAutoSelectFamilyAttemptTimeout = (value) => { autoSelectTimeout = value; };

export {
  BlockList, Server, Socket, SocketAddress, Socket as Stream, connect, connect as createConnection, createServer, isIP, isIPv4, isIPv6,
  getDefaultAutoSelectFamily, setDefaultAutoSelectFamily, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout,
};
export default {
  get BlockList() { return BlockList; }, get Server() { return Server; }, get Socket() { return Socket; }, get SocketAddress() { return SocketAddress; },
  get Stream() { return Socket; }, get isIP() { return isIP; }, get isIPv4() { return isIPv4; }, get isIPv6() { return isIPv6; },
  connect, createConnection: connect, createServer,
  getDefaultAutoSelectFamily, setDefaultAutoSelectFamily, getDefaultAutoSelectFamilyAttemptTimeout, setDefaultAutoSelectFamilyAttemptTimeout,
};
