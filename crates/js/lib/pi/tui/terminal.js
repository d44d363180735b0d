// The terminal an extension would write to. An extension of this host has none:
// output goes nowhere, no input ever arrives, the size is a usual one. The class
// exists so that code written for a terminal runs to its end.

/** Is this Apple's Terminal. Never here. */
export function isAppleTerminalSession() {
  return false;
}

/** The system clipboard; there is none. */
export function getNativeClipboard() {
  return undefined;
}

/** A terminal's answer about its colours: "dark", "light" or undefined. */
export function parseTerminalColorSchemeReport(data) {
  const match = /^\x1b\[\?997;([12])n$/.exec(data);
  return match ? (match[1] === "1" ? "dark" : "light") : undefined;
}

/** The sequence that tells a terminal what the program is doing. */
export function formatProgramStatus(status) {
  const fields = typeof status === "object" && status !== null ? status : { state: undefined };
  const parts = Object.entries({ state: undefined, ...fields }).map(([key, value]) => `${key}=${value}`);
  return `\x1b]7501;${parts.join(";")}\x1b\\`;
}

/** See the file comment. */
export class ProcessTerminal {
  get kittyProtocolActive() {
    return false;
  }

  get modifyOtherKeysActive() {
    return false;
  }

  get columns() {
    return 80;
  }

  get rows() {
    return 24;
  }

  start(_onInput, _onResize) {}

  stop() {}

  async drainInput(_maxMs, _idleMs) {}

  write(_data) {}

  moveBy(_lines) {}

  hideCursor() {}

  showCursor() {}

  clearLine() {}

  clearFromCursor() {}

  clearScreen() {}

  setTitle(_title) {}

  setProgramStatus(_status) {}

  setProgress(_active) {}
}
