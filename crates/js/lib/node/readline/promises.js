// node:readline/promises.
import { Interface as Base } from "jackfield:node/internal/readline/interface";
import { Readline } from "jackfield:node/internal/readline/cursor";
import { abortError, nodeError } from "jackfield:node/internal/io_errors";

class Interface extends Base {
  question(query, options) {
    return new Promise((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted) {
        reject(abortError(signal));
        return;
      }
      if (this.closed) {
        reject(nodeError(Error, "ERR_USE_AFTER_CLOSE", "readline was closed"));
        return;
      }
      const abort = () => {
        this._question = null;
        this.setPrompt(this._oldPrompt ?? this._prompt);
        reject(abortError(signal));
      };
      signal?.addEventListener("abort", abort, { once: true });
      this._ask(query, (answer) => {
        signal?.removeEventListener("abort", abort);
        resolve(answer);
      });
    });
  }
}

function createInterface(input, output, completer, terminal) {
  return new Interface(input, output, completer, terminal);
}

export { Interface, Readline, createInterface };
export default { Interface, get Readline() { return Readline; }, createInterface };
