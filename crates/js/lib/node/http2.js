// node:http2 cannot be given: the host speaks to other machines through `http`, and its streams of bytes carry
// HTTP/1.1 only. The names exist so that packages which only look at them load; using one says so.
import { unsupported } from "jackfield:node/internal/io_errors";

const refuse = (name) => () => {
  throw unsupported(`http2.${name}`, "use node:https, node:http or fetch");
};
const connect = refuse("connect");
const createServer = refuse("createServer");
const createSecureServer = refuse("createSecureServer");
const getDefaultSettings = refuse("getDefaultSettings");
const getPackedSettings = refuse("getPackedSettings");
const getUnpackedSettings = refuse("getUnpackedSettings");
const performServerHandshake = refuse("performServerHandshake");
class Http2ServerRequest { constructor() { refuse("Http2ServerRequest")(); } }
class Http2ServerResponse { constructor() { refuse("Http2ServerResponse")(); } }
const sensitiveHeaders = Symbol("nodejs.http2.sensitiveHeaders");
const constants = Object.freeze({
  HTTP2_HEADER_STATUS: ":status", HTTP2_HEADER_METHOD: ":method", HTTP2_HEADER_AUTHORITY: ":authority", HTTP2_HEADER_SCHEME: ":scheme",
  HTTP2_HEADER_PATH: ":path", HTTP2_HEADER_CONTENT_TYPE: "content-type", HTTP2_HEADER_CONTENT_LENGTH: "content-length", NGHTTP2_NO_ERROR: 0, NGHTTP2_CANCEL: 8,
});

export {
  Http2ServerRequest, Http2ServerResponse, connect, constants, createSecureServer, createServer, getDefaultSettings, getPackedSettings, getUnpackedSettings,
  performServerHandshake, sensitiveHeaders,
};
export default {
  Http2ServerRequest, Http2ServerResponse, connect, constants, createSecureServer, createServer, getDefaultSettings, getPackedSettings, getUnpackedSettings,
  performServerHandshake, sensitiveHeaders,
};
