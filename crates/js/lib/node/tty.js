// node:tty. No extension has a terminal, so nothing is one; the stream classes exist for `instanceof` and refuse to open.
import { unsupported } from "jackfield:node/internal/errors";

const why = "an extension has no terminal; ask the user through the agent's user interface";
export const isatty = () => false;
export class ReadStream {
  constructor() { throw unsupported("tty", "ReadStream", why); }
}
export class WriteStream {
  constructor() { throw unsupported("tty", "WriteStream", why); }
}
export default { isatty, ReadStream, WriteStream };
