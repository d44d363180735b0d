//! What all manifest readers share: strict JSON, TOML errors with their line, capabilities, limits, unknown keys.

use std::fmt;

use jackfield_protocol::{Capability, CapabilityManifest, Limits, Manifest, Power};
use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

/// A manifest, and what is odd about it.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) manifest: Manifest,
    pub(crate) warnings: Vec<String>,
}

/// JSON in which no object names a key twice.
pub(super) struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(value) = access.next_element_seed(Strict)? {
            array.push(value);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            object.insert(key, access.next_value_seed(Strict)?);
        }
        Ok(Value::Object(object))
    }
}

/// Reads a JSON object; a key that stands twice is an error, because peers disagree about which one counts.
pub(crate) fn json_object(text: &str) -> Result<Map<String, Value>, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    match value {
        Value::Object(object) => Ok(object),
        other => Err(format!("expected an object, found {}", kind(&other))),
    }
}

/// Reads `object` as `T`; `text` is where it came from, read again only to say in which line the mistake is.
pub(crate) fn json_typed<T: DeserializeOwned>(object: &Map<String, Value>, text: &str) -> Result<T, String> {
    T::deserialize(object).map_err(|error| match serde_json::from_str::<T>(text) {
        Err(placed) => placed.to_string(),
        Ok(_) => error.to_string(),
    })
}

/// Reads a TOML document as `T`, and also as an object for those who look for unknown keys.
pub(crate) fn toml_typed<T: DeserializeOwned>(text: &str) -> Result<(T, Map<String, Value>), String> {
    let object: Map<String, Value> = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
    let typed = T::deserialize(&object).map_err(|error| match toml::from_str::<T>(text) {
        Err(placed) => toml_error(text, &placed),
        Ok(_) => error.to_string(),
    })?;
    Ok((typed, object))
}

fn toml_error(text: &str, error: &toml::de::Error) -> String {
    let message = error.message().replace('\n', ", ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message,
    }
}

/// What a value is, in words.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Notes the keys of `object` that nobody knows. `place` is empty for the top, else the table's name and a dot.
pub(crate) fn unknown_keys(object: &Map<String, Value>, place: &str, known: &[&str], warnings: &mut Vec<String>) {
    for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
        warnings.push(format!("unknown key `{place}{key}` is ignored"));
    }
}

/// The same for the table `name` of `object`, where there is one.
pub(crate) fn unknown_keys_in(object: &Map<String, Value>, name: &str, known: &[&str], warnings: &mut Vec<String>) {
    if let Some(Value::Object(table)) = object.get(name) {
        unknown_keys(table, &format!("{name}."), known, warnings);
    }
}

/// A `pi.ext.cap.v1` document.
pub(crate) fn capability_manifest(
    document: &Map<String, Value>,
    place: &str,
    warnings: &mut Vec<String>,
) -> Result<Vec<Capability>, String> {
    match document.get("schema").and_then(Value::as_str) {
        Some(CapabilityManifest::SCHEMA) => {}
        other => {
            return Err(format!(
                "{place}.schema must be `{}`, found `{}`",
                CapabilityManifest::SCHEMA,
                other.unwrap_or("nothing")
            ));
        }
    }
    match document.get("capabilities") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => capabilities(list, &format!("{place}.capabilities"), warnings),
        Some(other) => Err(format!("{place}.capabilities must be an array, found {}", kind(other))),
    }
}

/// A list of capabilities, each an object or only its name. A power that this host does not know cannot be granted, so it
/// is noted and left out.
pub(crate) fn capabilities(list: &[Value], place: &str, warnings: &mut Vec<String>) -> Result<Vec<Capability>, String> {
    let mut capabilities = Vec::with_capacity(list.len());
    for (index, value) in list.iter().enumerate() {
        let name = match value {
            Value::String(name) => name.as_str(),
            Value::Object(object) => object
                .get("capability")
                .and_then(Value::as_str)
                .ok_or_else(|| format!("{place}[{index}].capability must be a string"))?,
            other => return Err(format!("{place}[{index}] must be an object or a string, found {}", kind(other))),
        };
        let Some(power) = Power::parse(name) else {
            warnings.push(format!("unknown capability `{name}` in {place}[{index}] is ignored"));
            continue;
        };
        if let Value::Object(object) = value {
            unknown_keys(
                object,
                &format!("{place}[{index}]."),
                &["capability", "methods", "scope", "reason"],
                warnings,
            );
            if let Some(Value::Object(scope)) = object.get("scope") {
                let known = ["paths", "hosts", "env", "tools", "programs"];
                // A limit that nobody understands must not turn into no limit at all.
                if let Some(key) = scope.keys().find(|key| !known.contains(&key.as_str())) {
                    return Err(format!("{place}[{index}].scope has the unknown limit `{key}`"));
                }
            }
            let capability = Capability::deserialize(value).map_err(|error| format!("{place}[{index}]: {error}"))?;
            capabilities.push(capability);
        } else {
            capabilities.push(Capability::unlimited(power));
        }
    }
    Ok(capabilities)
}

/// The longest that a manifest may ask for.
const MAX_LIMIT_MS: u64 = 24 * 60 * 60 * 1000;

/// The keys of a `limits` table.
pub(crate) const LIMIT_KEYS: [&str; 4] = ["call_timeout_ms", "start_timeout_ms", "hook_timeout_ms", "stop_grace_ms"];

/// Refuses limits that would mean never or for ever.
pub(crate) fn check_limits(limits: &Limits) -> Result<(), String> {
    let values = [limits.call_timeout_ms, limits.start_timeout_ms, limits.hook_timeout_ms, limits.stop_grace_ms];
    for (key, value) in LIMIT_KEYS.iter().zip(values) {
        if value.is_some_and(|value| value == 0 || value > MAX_LIMIT_MS) {
            return Err(format!("limits.{key} must be between 1 and {MAX_LIMIT_MS}"));
        }
    }
    Ok(())
}

/// `limits`, with what the format says where the manifest is silent.
pub(crate) fn limits_or(limits: Limits, defaults: Limits) -> Limits {
    Limits {
        call_timeout_ms: limits.call_timeout_ms.or(defaults.call_timeout_ms),
        start_timeout_ms: limits.start_timeout_ms.or(defaults.start_timeout_ms),
        hook_timeout_ms: limits.hook_timeout_ms.or(defaults.hook_timeout_ms),
        stop_grace_ms: limits.stop_grace_ms.or(defaults.stop_grace_ms),
    }
}
