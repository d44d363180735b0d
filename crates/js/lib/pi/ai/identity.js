// How requests say who sends them.
import { PI_AI_VERSION, PI_ATTRIBUTION } from "jackfield:pi/ai/constants";

/** The version of the program that sends, pi's library by default. */
export function getClientVersion(identity) {
  return identity?.version ?? PI_AI_VERSION;
}

/** The user agent of a version. */
export function formatUserAgent(identity) {
  return `pi/${typeof identity === "string" ? identity : getClientVersion(identity)} (${process.platform}; node/${process.version}; ${process.arch})`;
}

/** Identities in one; later ones win. */
export function mergeClientIdentity(...identities) {
  const out = {};
  for (const identity of identities) {
    if (identity?.version !== undefined) out.version = identity.version;
    if (identity?.attribution !== undefined) out.attribution = identity.attribution;
  }
  return out;
}

/** The headers that name the sender. */
export function getIdentityHeaders(_model, identity) {
  return { "User-Agent": formatUserAgent(identity ?? {}) };
}

/** The headers by which OpenRouter counts programs; none for others. */
export function getAttributionHeaders(model, identity) {
  const attribution = identity?.attribution;
  if (!attribution || !/openrouter/.test(`${model?.provider} ${model?.baseUrl}`)) return {};
  return { "HTTP-Referer": attribution.url ?? PI_ATTRIBUTION.url, "X-Title": attribution.name ?? PI_ATTRIBUTION.name };
}

/** The session header of OpenCode; undefined for others. */
export function getOpenCodeSessionHeaders(model, sessionId) {
  return sessionId && /^opencode/.test(model?.provider ?? "") ? { "x-opencode-session": sessionId } : undefined;
}

/** Stream options that carry an identity. */
export function withClientIdentity(options, identity) {
  return { ...options, identity: mergeClientIdentity(identity, options?.identity) };
}
