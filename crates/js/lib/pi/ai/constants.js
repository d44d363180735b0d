// Names and numbers of pi's model library.

/** pi's model library whose API this is. */
export const PI_AI_VERSION = "1.5.0";
/** The longest wait between two tries of an agent. */
export const DEFAULT_MAX_AGENT_RETRY_DELAY_MS = 60000;
/** How pi names itself to providers. */
export const PI_ATTRIBUTION = { name: "pi", url: "https://pi.dev", categories: ["cli-agent"] };
/** The spans and metrics that requests would report; this host reports none. */
export const AI_TELEMETRY_SCHEMA = { version: 1, spans: {}, metrics: {} };

/** Environment variable of the Anthropic key. */
export const ANTHROPIC_API_KEY_ENV = "ANTHROPIC_API_KEY";
/** Environment variable of the Anthropic bearer token. */
export const ANTHROPIC_AUTH_TOKEN_ENV = "ANTHROPIC_AUTH_TOKEN";
/** Environment variable of the Anthropic federation rule. */
export const ANTHROPIC_FEDERATION_RULE_ID_ENV = "ANTHROPIC_FEDERATION_RULE_ID";
/** Environment variable of the Anthropic identity token file. */
export const ANTHROPIC_IDENTITY_TOKEN_FILE_ENV = "ANTHROPIC_IDENTITY_TOKEN_FILE";
/** Environment variable of the Anthropic OAuth token. */
export const ANTHROPIC_OAUTH_TOKEN_ENV = "ANTHROPIC_OAUTH_TOKEN";
/** Environment variable of the Anthropic organization. */
export const ANTHROPIC_ORGANIZATION_ID_ENV = "ANTHROPIC_ORGANIZATION_ID";
/** Environment variable of the Anthropic service account. */
export const ANTHROPIC_SERVICE_ACCOUNT_ID_ENV = "ANTHROPIC_SERVICE_ACCOUNT_ID";
/** Environment variable of the Anthropic workspace. */
export const ANTHROPIC_WORKSPACE_ID_ENV = "ANTHROPIC_WORKSPACE_ID";
