// node:readline: lines out of a stream, questions, the sequences of a terminal and keypress events. Not covered:
// editing of a line in a terminal, history and completion.
import { Interface } from "jackfield:node/internal/readline/interface";
import { clearLine, clearScreenDown, cursorTo, moveCursor } from "jackfield:node/internal/readline/cursor";
import { emitKeypressEvents } from "jackfield:node/internal/readline/keys";
import promises from "node:readline/promises";

function createInterface(input, output, completer, terminal) {
  return new Interface(input, output, completer, terminal);
}

export { Interface, clearLine, clearScreenDown, createInterface, cursorTo, emitKeypressEvents, moveCursor, promises };
export default {
  get Interface() { return Interface; }, get clearLine() { return clearLine; }, get clearScreenDown() { return clearScreenDown; }, createInterface,
  get cursorTo() { return cursorTo; }, get emitKeypressEvents() { return emitKeypressEvents; }, get moveCursor() { return moveCursor; },
  get promises() { return promises; },
};
