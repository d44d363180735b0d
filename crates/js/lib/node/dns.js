// node:dns: the callback forms of dns/promises.
import { nextTick } from "node:process";
import promises from "node:dns/promises";
import { codes, hints } from "jackfield:node/internal/net/dns";
import { needFunction } from "jackfield:node/internal/io_errors";

function form(name) {
  const call = (...args) => {
    const callback = needFunction(args.pop(), "callback");
    promises[name](...args).then((value) => nextTick(callback, null, value), (error) => nextTick(callback, error));
    return {};
  };
  Object.defineProperty(call, "name", { value: name });
  return call;
}

function lookup(hostname, options, callback) {
  if (typeof options === "function") {
    callback = options;
    options = undefined;
  }
  needFunction(callback, "callback");
  promises.lookup(hostname, options).then(
    (found) => (Array.isArray(found) ? nextTick(callback, null, found) : nextTick(callback, null, found.address, found.family)),
    (error) => nextTick(callback, error),
  );
  return {};
}
Object.defineProperty(lookup, Symbol.for("nodejs.util.promisify.custom"), { value: (hostname, options) => promises.lookup(hostname, options) });

const resolve = form("resolve");
const resolve4 = form("resolve4");
const resolve6 = form("resolve6");
const resolveAny = form("resolveAny");
const resolveCaa = form("resolveCaa");
const resolveCname = form("resolveCname");
const resolveMx = form("resolveMx");
const resolveNaptr = form("resolveNaptr");
const resolveNs = form("resolveNs");
const resolvePtr = form("resolvePtr");
const resolveSoa = form("resolveSoa");
const resolveSrv = form("resolveSrv");
const resolveTxt = form("resolveTxt");
const reverse = form("reverse");
const lookupService = form("lookupService");
const getServers = () => [];
const setServers = () => {};
let order = "verbatim";
const setDefaultResultOrder = (value) => { order = value; };
const getDefaultResultOrder = () => order;

class Resolver {
  cancel() {}
  getServers() { return []; }
  setServers() {}
  setLocalAddress() {}
}
const queries = { resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa, resolveSrv, resolveTxt, reverse };
Object.assign(Resolver.prototype, queries);
const { ADDRCONFIG, V4MAPPED, ALL } = hints;
const { NODATA, NOTFOUND, SERVFAIL, REFUSED, TIMEOUT, CONNREFUSED, CANCELLED } = codes;

export {
  ADDRCONFIG, ALL, CANCELLED, CONNREFUSED, NODATA, NOTFOUND, REFUSED, Resolver, SERVFAIL, TIMEOUT, V4MAPPED, getDefaultResultOrder, getServers, lookup,
  lookupService, promises, resolve, resolve4, resolve6, resolveAny, resolveCaa, resolveCname, resolveMx, resolveNaptr, resolveNs, resolvePtr, resolveSoa,
  resolveSrv, resolveTxt, reverse, setDefaultResultOrder, setServers,
};
export default {
  ...codes, ADDRCONFIG, V4MAPPED, ALL, Resolver, getDefaultResultOrder, getServers, lookup, lookupService, ...queries, setDefaultResultOrder, setServers,
  get promises() { return promises; },
};
