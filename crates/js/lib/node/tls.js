// node:tls as a client: the host does the handshake and checks the certificate against the system's roots. Not
// covered, with a clear error: servers, own certificates and keys, own roots, and switching the check off.
import { Socket, connectArguments } from "jackfield:node/internal/net/socket";
import { unsupported } from "jackfield:node/internal/io_errors";

const REFUSED = ["ca", "cert", "key", "pfx", "crl", "checkServerIdentity", "pskCallback", "secureContext"];

class TLSSocket extends Socket {
  constructor(socket, options) {
    if (socket && typeof socket.write === "function") throw unsupported("TLS over a socket that is already open");
    super(options);
    this.encrypted = true;
    this.authorized = false;
    this.authorizationError = null;
    this.alpnProtocol = false;
    this.servername = options?.servername ?? options?.host;
    this.once("connect", () => {
      this.authorized = true;
      this.emit("secureConnect");
      this.emit("secure");
    });
  }
  getPeerCertificate() { return {}; }
  getCertificate() { return {}; }
  getProtocol() { return this.connecting ? null : "TLSv1.3"; }
  getCipher() { return { name: "", standardName: "", version: "TLSv1.3" }; }
  getSession() { return undefined; }
  isSessionReused() { return false; }
  setServername(name) { this.servername = name; }
  setMaxSendFragment() { return true; }
  disableRenegotiation() {}
  enableTrace() {}
}

function connect(...args) {
  const [first, callback] = connectArguments(args);
  const extra = args.find((arg, index) => index > 0 && arg !== null && typeof arg === "object");
  const options = { ...first, ...extra };
  if (options.socket) throw unsupported("TLS over a socket that is already open");
  for (const name of REFUSED) {
    if (options[name] !== undefined) throw unsupported(`the option ${name} of tls.connect`, "the host checks certificates against the system's roots");
  }
  if (options.rejectUnauthorized === false) throw unsupported("rejectUnauthorized: false", "certificates are always checked");
  const socket = new TLSSocket(undefined, options);
  if (callback) socket.once("secureConnect", callback);
  if (options.timeout) socket.setTimeout(options.timeout);
  socket.connect({ host: options.host ?? "localhost", port: options.port, path: options.path, tls: true, servername: options.servername });
  return socket;
}

function createServer() {
  throw unsupported("tls.createServer");
}
class Server {
  constructor() {
    throw unsupported("tls.Server");
  }
}
const createSecureContext = (options = {}) => {
  for (const name of REFUSED) if (options[name] !== undefined) throw unsupported(`the option ${name} of tls.createSecureContext`);
  return { context: {} };
};
const checkServerIdentity = () => undefined;
const getCiphers = () => ["tls_aes_128_gcm_sha256", "tls_aes_256_gcm_sha384", "tls_chacha20_poly1305_sha256"];
const rootCertificates = Object.freeze([]);
const DEFAULT_MIN_VERSION = "TLSv1.2";
const DEFAULT_MAX_VERSION = "TLSv1.3";
const DEFAULT_ECDH_CURVE = "auto";
const DEFAULT_CIPHERS = "";

export {
  DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, DEFAULT_MAX_VERSION, DEFAULT_MIN_VERSION, Server, TLSSocket, checkServerIdentity, connect, createSecureContext,
  createServer, getCiphers, rootCertificates,
};
export default {
  DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, DEFAULT_MAX_VERSION, DEFAULT_MIN_VERSION, Server, TLSSocket, checkServerIdentity, connect, createSecureContext,
  createServer, getCiphers, rootCertificates,
};
