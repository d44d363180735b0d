// Names to addresses through the host's `lookup`, which asks the system. Other records than addresses are not to be
// had that way and are refused.
import { op } from "jackfield:host";
import { isIP } from "jackfield:node/internal/net/address";
import { callError, codeOf, fromHost, invalidArgType, invalidArgValue, unsupported } from "jackfield:node/internal/io_errors";

export const codes = {
  NODATA: "ENODATA", FORMERR: "EFORMERR", SERVFAIL: "ESERVFAIL", NOTFOUND: "ENOTFOUND", NOTIMP: "ENOTIMP", REFUSED: "EREFUSED", BADQUERY: "EBADQUERY",
  BADNAME: "EBADNAME", BADFAMILY: "EBADFAMILY", BADRESP: "EBADRESP", CONNREFUSED: "ECONNREFUSED", TIMEOUT: "ETIMEOUT", EOF: "EOF", FILE: "EFILE",
  NOMEM: "ENOMEM", DESTRUCTION: "EDESTRUCTION", BADSTR: "EBADSTR", BADFLAGS: "EBADFLAGS", NONAME: "ENONAME", BADHINTS: "EBADHINTS",
  NOTINITIALIZED: "ENOTINITIALIZED", LOADIPHLPAPI: "ELOADIPHLPAPI", ADDRGETNETWORKPARAMS: "EADDRGETNETWORKPARAMS", CANCELLED: "ECANCELLED",
};
export const hints = { ADDRCONFIG: 32, V4MAPPED: 8, ALL: 16 };

async function addresses(host, family, syscall) {
  const params = { op: "lookup", host };
  if (family) params.family = family;
  try {
    return (await op("net", params)).addresses;
  } catch (error) {
    if (error?.code === "denied" || error?.code === "unsupported") throw fromHost(error, syscall, host);
    const code = codeOf(error);
    throw callError(code === "ENOENT" || code === "EIO" ? "ENOTFOUND" : code, syscall, host, { hostname: host });
  }
}

function toFamily(value) {
  if (value === undefined || value === null || value === 0) return 0;
  if (value === 4 || value === "IPv4") return 4;
  if (value === 6 || value === "IPv6") return 6;
  throw invalidArgValue("family", value, "must be one of: 0, 4, 6");
}

export async function lookup(hostname, options) {
  const settings = typeof options === "number" ? { family: options } : options ?? {};
  const family = toFamily(settings.family);
  if (hostname && typeof hostname !== "string") throw invalidArgType("hostname", "of type string", hostname);
  if (!hostname) return settings.all ? [] : { address: null, family: family === 6 ? 6 : 4 };
  const own = isIP(hostname);
  let found = own ? [{ address: hostname, family: own }] : await addresses(hostname, family, "getaddrinfo");
  if (family) found = found.filter((entry) => entry.family === family);
  if (found.length === 0) throw callError("ENOTFOUND", "getaddrinfo", hostname, { hostname });
  const order = settings.order ?? (settings.verbatim === false ? "ipv4first" : "verbatim");
  if (order !== "verbatim") {
    const first = order === "ipv6first" ? 6 : 4;
    found = [...found.filter((entry) => entry.family === first), ...found.filter((entry) => entry.family !== first)];
  }
  return settings.all ? found.map(({ address, family: kind }) => ({ address, family: kind })) : { address: found[0].address, family: found[0].family };
}

async function records(hostname, family, options) {
  if (typeof hostname !== "string") throw invalidArgType("name", "of type string", hostname);
  const syscall = family === 6 ? "queryAaaa" : "queryA";
  const found = (await addresses(hostname, family, syscall)).filter((entry) => entry.family === family);
  if (found.length === 0) throw callError("ENODATA", syscall, hostname, { hostname });
  // The system does not tell how long an answer holds.
  return found.map(({ address }) => (options?.ttl ? { address, ttl: 0 } : address));
}

export const resolve4 = (hostname, options) => records(hostname, 4, options);
export const resolve6 = (hostname, options) => records(hostname, 6, options);

export async function resolve(hostname, type = "A") {
  if (type === "A") return resolve4(hostname);
  if (type === "AAAA") return resolve6(hostname);
  throw unsupported(`dns.resolve for ${type} records`, "the host looks up addresses only");
}

export const other = (name) => async () => {
  throw unsupported(`dns.${name}`, "the host looks up addresses only");
};

export const OTHERS = [
  "resolveAny", "resolveCaa", "resolveCname", "resolveMx", "resolveNaptr", "resolveNs", "resolvePtr", "resolveSoa", "resolveSrv", "resolveTxt", "reverse",
  "lookupService",
];
