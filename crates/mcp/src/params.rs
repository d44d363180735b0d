//! The parameters of requests: what the caller wrote stays as it is, only `_meta` is ours to change.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Which era of MCP a server is spoken to in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// The version that is offered in a handshake.
pub(crate) const LEGACY_VERSION: &str = "2025-11-25";
/// Versions with a handshake that are spoken.
pub(crate) const LEGACY_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The version without a handshake.
pub(crate) const MODERN_VERSION: &str = "2026-07-28";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
const SUBSCRIPTION_KEY: &str = "io.modelcontextprotocol/subscriptionId";
const TOKEN_KEY: &str = "progressToken";
/// What describes the way that a request takes.
const DESCRIBING: [&str; 5] = [VERSION_KEY, CAPABILITIES_KEY, INFO_KEY, LEVEL_KEY, SUBSCRIPTION_KEY];

/// What is said to servers that the host can do. Whether somebody is there to answer shows when one asks.
pub(crate) const CAPABILITIES: &str = r#"{"roots":{"listChanged":false},"sampling":{},"elicitation":{"form":{}}}"#;
/// As [`CAPABILITIES`], where lists do not change by themselves.
const MODERN_CAPABILITIES: &str = r#"{"roots":{},"sampling":{},"elicitation":{"form":{}}}"#;

/// Who the client is.
pub(crate) fn client_info() -> String {
    format!(r#"{{"name":"jackfield","title":"jackfield","version":"{}"}}"#, env!("CARGO_PKG_VERSION"))
}

/// An object with its members as they were written, in order.
#[derive(Debug, Default)]
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = access.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Reader).map(Members)
    }
}

impl<'a> Members<'a> {
    /// Reads an object; `null` counts as an empty one.
    pub(crate) fn read(text: &'a str) -> Result<Self, String> {
        if text.trim() == "null" {
            return Ok(Self::default());
        }
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// A member, the last one where it stands twice.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// `_meta` as values.
    pub(crate) fn meta(&self) -> Map<String, Value> {
        self.get("_meta").and_then(|meta| serde_json::from_str(meta.get()).ok()).unwrap_or_default()
    }

    /// The object again, without the members named in `except`, and with `more` at the end.
    pub(crate) fn write(&self, except: &[&str], more: &[(&str, &str)]) -> String {
        let mut text = String::from("{");
        let kept = self.0.iter().filter(|(key, _)| !except.contains(&key.as_str()));
        let kept = kept.map(|(key, value)| (Value::from(key.as_str()).to_string(), value.get()));
        let more = more.iter().map(|(key, value)| (Value::from(*key).to_string(), *value));
        for (index, (key, value)) in kept.chain(more).enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{}{key}:{value}", if index > 0 { "," } else { "" });
        }
        text.push('}');
        text
    }
}

/// The progress token that a caller gave, taken out of its `_meta`.
pub(crate) fn take_token(meta: &mut Arc<Map<String, Value>>) -> Option<Value> {
    if !meta.contains_key(TOKEN_KEY) {
        return None;
    }
    Arc::make_mut(meta).shift_remove(TOKEN_KEY).filter(|token| token.is_string() || token.is_number())
}

/// `_meta` of a request: what the caller wrote, without what describes its own way to us, and with what describes ours.
/// `None` where there is nothing to say.
pub(crate) fn meta(era: Era, callers: &Map<String, Value>, token: Option<u64>, level: Option<&str>) -> Option<String> {
    if era == Era::Legacy && callers.keys().all(|key| DESCRIBING.contains(&key.as_str())) {
        return token.map(|token| format!("{{\"progressToken\":{token}}}"));
    }
    let mut callers = callers.clone();
    if era == Era::Legacy {
        for key in DESCRIBING {
            callers.shift_remove(key);
        }
        callers.extend(token.map(|token| (TOKEN_KEY.to_owned(), Value::from(token))));
        return (!callers.is_empty()).then(|| Value::Object(callers).to_string());
    }
    for key in [VERSION_KEY, INFO_KEY, SUBSCRIPTION_KEY] {
        callers.shift_remove(key);
    }
    let can = callers.shift_remove(CAPABILITIES_KEY).filter(Value::is_object);
    let can = can.map_or_else(|| MODERN_CAPABILITIES.to_owned(), |can| can.to_string());
    if let Some(level) = level {
        callers.entry(LEVEL_KEY).or_insert_with(|| level.into());
    }
    callers.extend(token.map(|token| (TOKEN_KEY.to_owned(), Value::from(token))));
    let rest = if callers.is_empty() { String::new() } else { Value::Object(callers).to_string() };
    let rest = rest.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let comma = if rest.is_empty() { "" } else { "," };
    let info = client_info();
    Some(format!(
        r#"{{{rest}{comma}"{VERSION_KEY}":"{MODERN_VERSION}","{CAPABILITIES_KEY}":{can},"{INFO_KEY}":{info}}}"#
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_caller_wrote_stays_as_it_is() {
        let text = r#"{"z":12345678901234567890123,"a": {"y":1, "x":2},"_meta":{"k":1},"z2":null}"#;
        let members = Members::read(text).expect("an object");
        assert_eq!(members.meta(), *json!({ "k": 1 }).as_object().expect("an object"));
        assert_eq!(
            members.write(&["_meta"], &[("_meta", "{}")]),
            r#"{"z":12345678901234567890123,"a":{"y":1, "x":2},"z2":null,"_meta":{}}"#
        );
        assert_eq!(Members::read("null").expect("nothing").write(&[], &[]), "{}");
        assert!(Members::read("[]").is_err());
    }

    #[test]
    fn meta_describes_our_own_way() {
        let callers = |value: Value| value.as_object().cloned().expect("an object");
        assert_eq!(meta(Era::Legacy, &Map::new(), None, None), None);
        assert_eq!(meta(Era::Legacy, &Map::new(), Some(7), None).as_deref(), Some(r#"{"progressToken":7}"#));
        let given = callers(
            json!({ VERSION_KEY: "x", INFO_KEY: {}, "traceparent": "t", CAPABILITIES_KEY: { "sampling": {} } }),
        );
        assert_eq!(meta(Era::Legacy, &given, None, None).as_deref(), Some(r#"{"traceparent":"t"}"#));
        let modern = meta(Era::Modern, &given, Some(1), Some("info")).expect("always");
        let modern: Value = serde_json::from_str(&modern).expect("JSON");
        assert_eq!(modern[VERSION_KEY], MODERN_VERSION);
        assert_eq!(modern[CAPABILITIES_KEY], json!({ "sampling": {} }));
        assert_eq!((&modern[LEVEL_KEY], &modern[TOKEN_KEY]), (&json!("info"), &json!(1)));
        assert_eq!((&modern["traceparent"], &modern[INFO_KEY]["name"]), (&json!("t"), &json!("jackfield")));
        let only = callers(json!({ VERSION_KEY: "x", LEVEL_KEY: "info" }));
        assert_eq!(meta(Era::Legacy, &only, Some(7), None).as_deref(), Some(r#"{"progressToken":7}"#));
        assert_eq!(meta(Era::Legacy, &only, None, None), None);
        let mut given = Arc::new(callers(json!({ TOKEN_KEY: "mine" })));
        assert_eq!((take_token(&mut given), given.len()), (Some(json!("mine")), 0));
    }
}
