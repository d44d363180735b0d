// node:domain: an abandoned module of Node that this runtime does not have.
import { refusedClass, refusedFunction } from "jackfield:node/internal/refused";

const why = "domains do not exist in this runtime; use try/catch, promises or AsyncLocalStorage";
export const create = refusedFunction("domain", "create", why);
export const createDomain = refusedFunction("domain", "createDomain", why);
export const Domain = refusedClass("domain", "Domain", why);
export const active = null;

export default { create, createDomain, Domain, active };
