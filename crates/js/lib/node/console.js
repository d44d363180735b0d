// node:console: the global console and its class.
import { Console, console } from "jackfield:web/console";

export const {
  log, info, debug, warn, error, trace, dir, dirxml, table, group, groupCollapsed, groupEnd, time, timeEnd, timeLog, timeStamp,
  count, countReset, assert, clear, profile, profileEnd,
} = console;
export { Console, console, console as default };
