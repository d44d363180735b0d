//! Names of things: extensions, calls, sessions, and the rule that shortens tool names.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        // Shared when cloned: every step of a call has one.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(transparent))]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(with = "String"))] Arc<str>);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::new)
            }
        }

        impl $name {
            /// Wraps `value` as it is; whoever reads a manifest has validated it.
            pub fn new(value: impl Into<String>) -> Self {
                Self(value.into().into())
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(value: &str) -> Self {
                Self(value.into())
            }
        }
    };
}

string_id! {
    /// The name by which the host knows an extension: unique within one host, safe as a file name.
    ExtensionId
}
string_id! {
    /// One ask of the host: a tool call, a command, a hook or a host call.
    CallId
}
string_id! {
    /// One conversation of an agent.
    SessionId
}

impl CallId {
    /// The call of this number in the run of this name.
    pub fn numbered(run: &str, number: u64) -> Self {
        Self(format!("{run}-{number}").into())
    }
}

impl ExtensionId {
    /// Makes an id that is safe in a path, a log line and a tool name out of whatever a foreign manifest calls itself.
    /// Letters, digits, `.`, `_` and `-` stay; everything else becomes `-`; leading dots and dashes go.
    pub fn sanitized(name: &str) -> Option<Self> {
        let cleaned: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
            .take(64)
            .collect();
        let trimmed = cleaned.trim_start_matches(['.', '-']).trim_end_matches(['.', '-']);
        (!trimmed.is_empty()).then(|| Self(trimmed.into()))
    }
}

/// The longest tool name that every model provider accepts.
const MAX_TOOL_NAME: usize = 64;

/// The public name `ext_{id}_{tool}`, shortened to 64 bytes with the six hex digits that `hash6` gives for the bytes
/// `id NUL tool`. The caller brings the hash so that this crate needs none.
pub fn short_tool_name(id: &str, tool: &str, hash6: impl Fn(&[u8]) -> String) -> String {
    let full = format!("ext_{id}_{tool}");
    if full.len() <= MAX_TOOL_NAME {
        return full;
    }
    let mut material = id.as_bytes().to_vec();
    material.push(0);
    material.extend_from_slice(tool.as_bytes());
    let hash = hash6(&material);
    let fixed = "ext_".len() + id.len() + 1 + 1 + hash.len();
    if fixed <= MAX_TOOL_NAME {
        let kept: String = take_bytes(tool, MAX_TOOL_NAME - fixed);
        format!("ext_{id}_{kept}_{hash}")
    } else {
        let kept: String = take_bytes(id, MAX_TOOL_NAME - "ext_".len() - 1 - hash.len());
        format!("ext_{kept}_{hash}")
    }
}

fn take_bytes(text: &str, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_like_names_become_harmless() {
        let check = |name: &str, id: Option<&str>| {
            assert_eq!(ExtensionId::sanitized(name).as_ref().map(ExtensionId::as_str), id, "{name:?}");
        };
        check("hello-py", Some("hello-py"));
        check("x/../../../pwn", Some("x-..-..-..-pwn"));
        check("../..", None);
        check("", None);
        check("a\u{1b}[31mb", Some("a--31mb"));
    }

    #[test]
    fn short_names_stay_and_long_ones_fit() {
        let hash = |_: &[u8]| "abcdef".to_owned();
        assert_eq!(short_tool_name("weather", "get_forecast", hash), "ext_weather_get_forecast");
        assert_eq!(short_tool_name("mybot", &"very_long_tool_name_".repeat(10), hash).len(), 64);
        assert_eq!(short_tool_name(&"x".repeat(60), "t", hash), format!("ext_{}_abcdef", "x".repeat(53)));
    }
}
