// node:dns/promises: lookup, resolve4, resolve6 and resolve for addresses; other records are refused.
import { OTHERS, codes, lookup, other, resolve, resolve4, resolve6 } from "jackfield:node/internal/net/dns";

const [resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse, lookupService] =
  OTHERS.map((name) => other(name));
let order = "verbatim";
const setDefaultResultOrder = (value) => { order = value; };
const getDefaultResultOrder = () => order;
const getServers = () => [];
const setServers = () => {};

class Resolver {
  cancel() {}
  getServers() { return []; }
  setServers() {}
  setLocalAddress() {}
}
Object.assign(Resolver.prototype, { resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse });

export {
  Resolver, getDefaultResultOrder, getServers, lookup, lookupService, resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx,
  resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse, setDefaultResultOrder, setServers,
};
export default {
  Resolver, getDefaultResultOrder, getServers, lookup, lookupService, resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx,
  resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse, setDefaultResultOrder, setServers, ...codes,
};
