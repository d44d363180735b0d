// node:dgram cannot be given: the host has no datagrams. The names exist; using one says so.
import { unsupported } from "jackfield:node/internal/io_errors";

function createSocket() {
  throw unsupported("dgram.createSocket", "the host has no datagrams; use node:net");
}
class Socket {
  constructor() {
    throw unsupported("dgram.Socket", "the host has no datagrams; use node:net");
  }
}

export { Socket, createSocket };
export default { Socket, createSocket };
