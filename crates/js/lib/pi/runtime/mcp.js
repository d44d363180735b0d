// Checks of the MCP servers that an extension registers, with pi's wording, because the message is what its author sees.

const EXPOSURES = ["codemode", "deferred", "direct", "hidden"];
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

export function mcpNamespace(server) {
  return `mcp__${server.replaceAll("-", "_")}`;
}

const isRecord = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const isText = (value) => value === undefined || typeof value === "string";
const isTextMap = (value) => value === undefined || (isRecord(value) && Object.values(value).every((one) => typeof one === "string"));
const current = (exposure) => (exposure === "codemode-deferred" ? "codemode" : exposure);

function parsed(text) {
  try {
    return typeof text === "string" ? new URL(text) : undefined;
  } catch {
    return undefined;
  }
}

const isSecure = (url) => url.protocol === "https:" || (url.protocol === "http:" && LOOPBACK.has(url.hostname));

function callbackProblem(oauth) {
  const port = oauth.callbackPort;
  if (port !== undefined && !(Number.isInteger(port) && port >= 1 && port <= 65535)) return "oauth.callbackPort must be a port number";
  if (oauth.callbackUrl === undefined) return undefined;
  const url = parsed(oauth.callbackUrl);
  if (!url || url.protocol !== "http:" || !LOOPBACK.has(url.hostname) || url.search !== "" || url.hash !== "") {
    return "oauth.callbackUrl must be an http URI on localhost, 127.0.0.1, or [::1] without query or fragment";
  }
  if (url.port && port !== undefined && Number(url.port) !== port) return "oauth.callbackUrl and oauth.callbackPort name different ports";
  return undefined;
}

function registrationProblem(oauth) {
  const how = oauth.clientRegistration;
  if (how === undefined || how === "auto" || how === "dcr") return undefined;
  if (how !== "cimd") return 'oauth.clientRegistration must be "auto", "dcr", or "cimd"';
  if (oauth.clientId !== undefined || oauth.clientName !== undefined) {
    return 'oauth.clientRegistration "cimd" cannot be combined with oauth.clientId or oauth.clientName';
  }
  const url = parsed(oauth.callbackUrl);
  if (url && (url.hostname === "[::1]" || url.pathname !== "/callback")) {
    return 'oauth.clientRegistration "cimd" requires oauth.callbackUrl on localhost or 127.0.0.1 with path /callback';
  }
  return undefined;
}

function oauthProblem(oauth) {
  if (oauth === undefined) return undefined;
  if (!isRecord(oauth)) return "oauth must be an object";
  for (const name of ["clientId", "clientSecret"]) if (!isText(oauth[name])) return `oauth.${name} must be a string`;
  const callback = callbackProblem(oauth);
  if (callback) return callback;
  if (!isText(oauth.scope)) return "oauth.scope must be a string";
  if (oauth.clientName !== undefined && !(typeof oauth.clientName === "string" && oauth.clientName.trim())) {
    return "oauth.clientName must be a non-empty string";
  }
  const registration = registrationProblem(oauth);
  if (registration) return registration;
  if (oauth.authServerMetadataUrl !== undefined) {
    const url = parsed(oauth.authServerMetadataUrl);
    if (!url || !isSecure(url)) return "oauth.authServerMetadataUrl must be an https URL, or http on localhost, 127.0.0.1, or [::1]";
  }
  return undefined;
}

function httpProblem(config) {
  const url = parsed(config.url);
  if (!url || !/^https?:$/.test(url.protocol)) return "url must be an http or https URL";
  if (!isTextMap(config.headers)) return "headers must map names to strings";
  const oauth = oauthProblem(config.oauth);
  if (oauth || config.auth === undefined) return oauth;
  if (!isRecord(config.auth) || typeof config.auth.provider !== "string" || !config.auth.provider) return "auth.provider must be a provider name";
  return isSecure(url) || LOOPBACK.has(url.hostname) ? undefined : "auth requires an https URL, or http on localhost, 127.0.0.1, or [::1]";
}

function stdioProblem(config) {
  const { args } = config;
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === "string"))) return "args must be an array of strings";
  if (!isTextMap(config.env)) return "env must map names to strings";
  return isText(config.cwd) ? undefined : "cwd must be a string";
}

function generalProblem(config) {
  const list = EXPOSURES.map((name) => `"${name}"`).join(", ");
  if (config.exposure !== undefined && !EXPOSURES.includes(config.exposure)) return `exposure must be one of ${list}`;
  if (config.toolExposure !== undefined) {
    if (!isRecord(config.toolExposure)) return "toolExposure must map tool names to exposures";
    for (const [tool, value] of Object.entries(config.toolExposure)) {
      if (!EXPOSURES.includes(value)) return `toolExposure "${tool}" must be one of ${list}`;
    }
  }
  if (config.enabled !== undefined && typeof config.enabled !== "boolean") return "enabled must be a boolean";
  if (!isText(config.description)) return "description must be a string";
  if (config.timeout !== undefined && !(typeof config.timeout === "number" && config.timeout > 0)) return "timeout must be a positive number of seconds";
  if (config.type === "sse") return "legacy SSE transport is not supported; use the streamable HTTP URL";
  return undefined;
}

/** The configuration with today's names, or what is wrong with it. */
export function validateMcpServer(name, raw) {
  if (!/^[A-Za-z0-9_-]+$/.test(name)) return `invalid server name "${name}" (use letters, digits, "_" and "-")`;
  if (!isRecord(raw)) return `server "${name}" must be an object`;
  const config = { ...raw };
  if (config.exposure !== undefined) config.exposure = current(config.exposure);
  if (isRecord(config.toolExposure)) {
    config.toolExposure = Object.fromEntries(Object.entries(config.toolExposure).map(([tool, value]) => [tool, current(value)]));
  }
  let problem = generalProblem(config);
  if (problem) return `server "${name}": ${problem}`;
  const { type } = config;
  const http = typeof config.url === "string" && (type === undefined || type === "http" || type === "streamable-http");
  const stdio = !http && typeof config.command === "string" && (type === undefined || type === "stdio");
  if (!http && !stdio) return `server "${name}" needs either "command" (stdio) or "url" (streamable HTTP)`;
  problem = http ? httpProblem(config) : stdioProblem(config);
  return problem ? `server "${name}": ${problem}` : config;
}
