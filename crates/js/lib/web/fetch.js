// fetch over the host's `http` call, which judges every host it goes to. The answer's body arrives as it comes; a
// request body that is a stream is read to its end first, because the call takes it whole. `data:` and `blob:` URLs are
// answered here. A body that comes compressed without having been asked for is unpacked when it is complete. Headers
// that belong to the connection are left out, as browsers leave them out. Failures look like Node's: a TypeError
// "fetch failed" whose `cause` has the system's code; a refusal of the host says so in its message.
import { info, native, stream } from "jackfield:host";
import { Request } from "jackfield:web/request";
import { networkResponse, hasNoBody } from "jackfield:web/response";
import { bodies, drain, Source } from "jackfield:web/body";
import { Headers, headersFrom, freezeHeaders } from "jackfield:web/headers";
import { percentBytes } from "jackfield:web/url";
import { resolveObjectURL } from "jackfield:web/objecturl";
import { concatBytes } from "jackfield:web/bytes";
import { blobBytes } from "jackfield:web/blob";
import { DOMException } from "jackfield:web/domexception";

const OF_CONNECTION = new Set([
  "host", "connection", "proxy-connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer",
  "transfer-encoding", "content-length", "upgrade", "expect", "http2-settings",
]);

export async function fetch(input, init = undefined) {
  if (arguments.length === 0) throw new TypeError("fetch: 1 argument required, but only 0 present.");
  const request = new Request(input, init);
  // The signal that was given, not `request.signal`, which would make one for nothing.
  const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined) ?? null;
  if (signal?.aborted) throw signal.reason;
  const { url } = request;
  const scheme = url.slice(0, url.indexOf(":"));
  if (scheme === "data") return dataResponse(request);
  if (scheme === "blob") return blobResponse(url);
  if (scheme !== "http" && scheme !== "https") {
    throw failed(scheme === "about" || scheme === "file" ? new Error("not implemented... yet...") : new Error("unknown scheme"));
  }
  const held = bodies.held(request);
  let body;
  if (held) {
    if (bodies.unusable(request)) throw new TypeError("fetch: the body was already read");
    body = held.bytes ?? (await abortable(held.source ? held.source.all() : drain(request.body), signal));
    bodies.use(request);
  }
  return send(request, body, signal);
}

function send(request, body, signal) {
  const { url, method, redirect } = request;
  const headers = [];
  for (const pair of request.headers) if (!OF_CONNECTION.has(pair[0])) headers.push(pair);
  if (!request.headers.has("accept")) headers.push(["accept", "*/*"]);
  if (!request.headers.has("user-agent")) headers.push(["user-agent", `jackfield/${info.version}`]);
  const params = { url, method, headers, redirect: redirect === "follow" ? "follow" : "manual" };
  if (body !== undefined) params.body = body;
  return new Promise((resolve, reject) => {
    let source = null;
    let packed = null;
    const call = stream("http", params, (kind, value) => {
      if (kind === "data") {
        if (value.status !== undefined) answer(value);
        else if (value.data !== undefined && source) source.push(value.data);
      } else if (kind === "end") {
        signal?.removeEventListener("abort", onAbort);
        // A host that answers at once gives the head with the end.
        if (!source && value?.status !== undefined) {
          answer(value);
          if (value.body instanceof Uint8Array) source?.push(value.body);
        }
        if (source) source.end();
        else reject(failed(Object.assign(new Error("the host ended the call without an answer"), { code: "UND_ERR_SOCKET" })));
      } else if (kind === "error") {
        signal?.removeEventListener("abort", onAbort);
        const error = signal?.aborted ? signal.reason : source ? terminated(value) : failed(causeOf(value));
        if (source) source.fail(error);
        else reject(error);
      }
    });
    const onAbort = () => {
      call.close();
      if (source) source.fail(signal.reason);
      reject(signal.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });

    function answer(head) {
      const given = headersFrom(head.headers ?? []);
      const moved = [301, 302, 303, 307, 308].includes(head.status);
      if (redirect === "error" && moved) {
        call.close();
        reject(failed(new Error("unexpected redirect")));
        return;
      }
      const gone = () => {
        signal?.removeEventListener("abort", onAbort);
        call.close();
      };
      source = new Source(gone);
      const empty = hasNoBody(head.status) || method === "HEAD";
      packed = empty ? null : packing(given);
      const final = (head.url ?? url).split("#")[0];
      resolve(networkResponse({
        status: head.status,
        statusText: head.status_text ?? "",
        headers: freezeHeaders(given),
        url: final,
        type: "basic",
        redirected: redirect === "follow" && final !== url.split("#")[0],
      }, empty ? null : { source: packed ? unpacking(source, packed) : source, type: null }));
    }
  });
}

const failed = (cause) => {
  const denied = cause?.code === "EACCES" && cause.capability !== undefined;
  return new TypeError(denied ? `fetch failed: ${cause.message}` : "fetch failed", { cause });
};
const terminated = (error) => new TypeError("terminated", { cause: causeOf(error) });

// Words of a failure when the host gave no errno, so that retry logic which looks at `cause.code` still works.
const WORDS = [
  [/refused/i, "ECONNREFUSED"], [/dns|resolve|lookup|not known|name or service/i, "ENOTFOUND"], [/reset/i, "ECONNRESET"],
  [/certificate|tls|ssl/i, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"], [/unreachable/i, "ENETUNREACH"], [/timed? ?out/i, "UND_ERR_CONNECT_TIMEOUT"],
];
function causeOf(error) {
  const cause = new Error(error?.message ?? "the request failed");
  if (error?.code === "denied") {
    cause.code = "EACCES";
    cause.capability = error.details?.capability ?? "http";
  } else if (error?.details?.errno) {
    cause.code = error.details.errno;
    if (error.details.syscall) cause.syscall = error.details.syscall;
  } else if (error?.code === "timeout") {
    cause.code = "UND_ERR_HEADERS_TIMEOUT";
  } else {
    cause.code = WORDS.find(([words]) => words.test(cause.message))?.[1] ?? "UND_ERR_SOCKET";
  }
  if (error?.details !== undefined) cause.details = error.details;
  return cause;
}

function abortable(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function packing(headers) {
  const codings = (headers.get("content-encoding") ?? "").toLowerCase().split(",").map((each) => each.trim()).filter((each) => each !== "" && each !== "identity");
  return codings.length > 0 && codings.every((each) => ["gzip", "x-gzip", "deflate", "br"].includes(each)) ? codings.reverse() : null;
}

/** Takes the whole body of one source and gives another with it unpacked. What is not packed after all stays as it is. */
function unpacking(source, codings) {
  const target = new Source((reason) => source.cancel(reason));
  source.all().then((bytes) => {
    for (const coding of codings) bytes = unpack(bytes, coding);
    target.push(bytes);
    target.end();
  }).catch((error) => target.fail(error));
  return target;
}

function unpack(bytes, coding) {
  if (bytes.length < 2) return bytes;
  const zlibHead = (bytes[0] & 15) === 8 && (bytes[0] * 256 + bytes[1]) % 31 === 0;
  try {
    if (coding === "br") return native("zlib", "brotli_decompress", bytes, {});
    if (coding === "deflate") return native("zlib", zlibHead ? "inflate" : "inflate_raw", bytes, {});
  } catch {
    return bytes;
  }
  return bytes[0] === 0x1f && bytes[1] === 0x8b ? native("zlib", "gunzip", bytes, {}) : bytes;
}

function dataResponse(request) {
  const rest = request.url.slice(5).split("#")[0];
  const comma = rest.indexOf(",");
  if (comma < 0) throw failed(new Error("invalid data: URL"));
  let type = rest.slice(0, comma).trim();
  let bytes = percentBytes(rest.slice(comma + 1));
  const base64 = /;\s*base64$/i.exec(type);
  if (base64) {
    type = type.slice(0, base64.index);
    const text = native("latin1_decode", bytes).replace(/[\t\n\f\r ]+/g, "");
    if (/[^A-Za-z0-9+/=]/.test(text) || text.replace(/=+$/, "").length % 4 === 1) throw failed(new Error("invalid data: URL"));
    bytes = native("base64_decode", text);
  }
  if (type.startsWith(";")) type = `text/plain${type}`;
  if (!/^[^/;\s]+\/[^/;\s]+/.test(type)) type = "text/plain;charset=US-ASCII";
  const headers = freezeHeaders(new Headers({ "content-type": type }));
  return networkResponse({ status: 200, statusText: "OK", headers, url: request.url, type: "basic" }, { bytes: concatBytes([bytes]), type: null });
}

function blobResponse(url) {
  const blob = resolveObjectURL(url.split("#")[0]);
  if (!blob) throw failed(new DOMException("the object URL was revoked or never made", "NotFoundError"));
  const headers = new Headers({ "content-length": `${blob.size}` });
  if (blob.type) headers.set("content-type", blob.type);
  return networkResponse({ status: 200, statusText: "OK", headers: freezeHeaders(headers), url, type: "basic" }, { bytes: blobBytes(blob), type: null, reusable: true });
}
