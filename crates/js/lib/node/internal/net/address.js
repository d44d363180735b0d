// Internet addresses as text: isIP, isIPv4, isIPv6, BlockList and SocketAddress.
import { invalidArgType, invalidArgValue } from "jackfield:node/internal/io_errors";

const V4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

export function isIPv4(text) {
  return V4.test(`${text}`);
}

/** The eight groups of an IPv6 address, or null. */
function groups(text) {
  let address = `${text}`;
  const zone = address.indexOf("%");
  if (zone !== -1) {
    if (!/^%[0-9a-zA-Z-.:]+$/.test(address.slice(zone))) return null;
    address = address.slice(0, zone);
  }
  const last = address.lastIndexOf(":");
  if (last !== -1 && address.includes(".", last)) {
    const tail = address.slice(last + 1);
    if (!isIPv4(tail)) return null;
    const [a, b, c, d] = tail.split(".").map(Number);
    address = `${address.slice(0, last + 1)}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const halves = address.split("::");
  if (halves.length > 2) return null;
  const parse = (half) => (half === "" ? [] : half.split(":"));
  const head = parse(halves[0]);
  const tail = halves.length === 2 ? parse(halves[1]) : [];
  if (![...head, ...tail].every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return null;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  return [...head, ...Array(missing).fill("0"), ...tail].map((group) => Number.parseInt(group, 16));
}

export function isIPv6(text) {
  return typeof text === "string" && groups(text) !== null;
}

export function isIP(text) {
  if (isIPv4(text)) return 4;
  return isIPv6(text) ? 6 : 0;
}

function toNumber(address, family) {
  if (family === "ipv4") return address.split(".").reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  return groups(address).reduce((sum, part) => (sum << 16n) | BigInt(part), 0n);
}

export class SocketAddress {
  constructor(options = {}) {
    this.family = `${options.family ?? "ipv4"}`.toLowerCase();
    if (this.family !== "ipv4" && this.family !== "ipv6") throw invalidArgValue("options.family", options.family);
    this.address = options.address ?? (this.family === "ipv4" ? "127.0.0.1" : "::");
    if (isIP(this.address) !== (this.family === "ipv4" ? 4 : 6)) throw invalidArgValue("options.address", this.address);
    this.port = options.port ?? 0;
    this.flowlabel = options.flowlabel ?? 0;
  }
}

/** Which addresses are blocked; only a question, nothing enforces it. */
export class BlockList {
  #ranges = [];
  #rules = [];

  #put(family, low, high, rule) {
    this.#ranges.push({ family, low, high });
    this.#rules.unshift(rule);
  }

  #read(address, family) {
    if (address instanceof SocketAddress) return [address.address, address.family];
    const kind = `${family}`.toLowerCase();
    if (typeof address !== "string") throw invalidArgType("address", "of type string", address);
    if (isIP(address) !== (kind === "ipv6" ? 6 : 4)) throw invalidArgValue("address", address);
    return [address, kind];
  }

  addAddress(address, family = "ipv4") {
    const [text, kind] = this.#read(address, family);
    const value = toNumber(text, kind);
    this.#put(kind, value, value, `Address: ${kind === "ipv4" ? "IPv4" : "IPv6"} ${text}`);
  }

  addRange(start, end, family = "ipv4") {
    const [first, kind] = this.#read(start, family);
    const [last] = this.#read(end, family);
    const [low, high] = [toNumber(first, kind), toNumber(last, kind)];
    if (low > high) throw invalidArgValue("start", start, `must come before ${last}`);
    this.#put(kind, low, high, `Range: ${kind === "ipv4" ? "IPv4" : "IPv6"} ${first}-${last}`);
  }

  addSubnet(network, prefix, family = "ipv4") {
    const [text, kind] = this.#read(network, family);
    const bits = kind === "ipv4" ? 32n : 128n;
    if (!Number.isInteger(prefix) || prefix < 0 || BigInt(prefix) > bits) throw invalidArgValue("prefix", prefix);
    const shift = bits - BigInt(prefix);
    const low = (toNumber(text, kind) >> shift) << shift;
    this.#put(kind, low, low + (1n << shift) - 1n, `Subnet: ${kind === "ipv4" ? "IPv4" : "IPv6"} ${text}/${prefix}`);
  }

  check(address, family = "ipv4") {
    let text;
    let kind;
    try {
      [text, kind] = this.#read(address, family);
    } catch (error) {
      if (error.code === "ERR_INVALID_ARG_VALUE") return false;
      throw error;
    }
    const mapped = kind === "ipv6" ? /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(text) : null;
    if (mapped) [text, kind] = [mapped[1], "ipv4"];
    const value = toNumber(text, kind);
    return this.#ranges.some((range) => range.family === kind && value >= range.low && value <= range.high);
  }

  get rules() {
    return [...this.#rules];
  }
}
