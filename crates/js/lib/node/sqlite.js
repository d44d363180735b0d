// node:sqlite cannot be given: there is no database in the engine. The names exist; using one says so.
import { unsupported } from "jackfield:node/internal/io_errors";

const why = "keep state with pi's session entries or in a JSON file";
class DatabaseSync {
  constructor() {
    throw unsupported("node:sqlite (DatabaseSync)", why);
  }
}
class StatementSync {
  constructor() {
    throw unsupported("node:sqlite (StatementSync)", why);
  }
}
async function backup() {
  throw unsupported("node:sqlite (backup)", why);
}
const constants = Object.freeze({ SQLITE_CHANGESET_OMIT: 0, SQLITE_CHANGESET_REPLACE: 1, SQLITE_CHANGESET_ABORT: 2 });

export { DatabaseSync, StatementSync, backup, constants };
export default { DatabaseSync, StatementSync, backup, constants };
