//! Changes to JSON text that leave the rest of it as it was written, and the seal on what passes through a client.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The members of an object in the order in which they were written, as far as their names.
pub(crate) struct Members<'a>(pub(crate) Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an object; nothing for anything else.
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// A member's text; the first of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.get())
    }
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Members<'de>, M::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry::<String, &'de RawValue>()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// The object with another value for one of its members, and every other byte as it was. An object without it gets it.
pub(crate) fn with(object: &str, name: &str, value: &Value) -> String {
    let Some(members) = Members::of(object) else { return object.to_owned() };
    let Some(old) = members.get(name) else { return with_first(object, name, value) };
    // The member is a part of the text, so that the distance is its place.
    let start = (old.as_ptr() as usize).saturating_sub(object.as_ptr() as usize);
    match (object.get(..start), object.get(start + old.len()..)) {
        (Some(before), Some(after)) => format!("{before}{value}{after}"),
        _ => object.to_owned(),
    }
}

/// The object with one more member in front, unless it has one of that name.
pub(crate) fn with_missing(object: &str, name: &str, value: &Value) -> String {
    match Members::of(object) {
        Some(members) if members.get(name).is_none() => with_first(object, name, value),
        _ => object.to_owned(),
    }
}

fn with_first(object: &str, name: &str, value: &Value) -> String {
    let Some((before, after)) = object.split_once('{') else { return object.to_owned() };
    let comma = if after.trim_start().starts_with('}') { "" } else { "," };
    format!("{before}{{{}:{value}{comma}{after}", Value::from(name))
}

/// The object without one of its members.
pub(crate) fn without(object: &str, names: &[&str]) -> String {
    let Some(members) = Members::of(object) else { return object.to_owned() };
    if !members.0.iter().any(|(key, _)| names.contains(&key.as_str())) {
        return object.to_owned();
    }
    let kept = members.0.iter().filter(|(key, _)| !names.contains(&key.as_str()));
    let kept: Vec<String> = kept.map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), value.get())).collect();
    format!("{{{}}}", kept.join(","))
}

/// Seals what a client carries for us and hands back.
pub(crate) struct Seal {
    key: [u8; 32],
}

impl Seal {
    /// With a key that nobody else has.
    pub(crate) fn new() -> Self {
        let mut key = [0; 32];
        if getrandom::fill(&mut key).is_err() {
            // Without randomness nothing can be sealed; a key that changes with every bit of this process must do.
            let seed =
                format!("{:?}{:?}{}", std::time::Instant::now(), std::thread::current().id(), std::process::id());
            key = Sha256::digest(seed).into();
        }
        Self { key }
    }

    /// The text with its seal.
    pub(crate) fn close(&self, payload: &Value) -> String {
        let payload = URL_SAFE_NO_PAD.encode(payload.to_string());
        let mac = URL_SAFE_NO_PAD.encode(self.mac(payload.as_bytes()));
        format!("{payload}.{mac}")
    }

    /// What was sealed; nothing if a single letter of it has changed.
    pub(crate) fn open(&self, text: &str) -> Option<Value> {
        let (payload, mac) = text.split_once('.')?;
        let given = URL_SAFE_NO_PAD.decode(mac).ok()?;
        let ours = self.mac(payload.as_bytes());
        let differ = given.iter().zip(ours).fold(given.len() ^ ours.len(), |sum, (a, b)| sum | usize::from(a ^ b));
        if differ != 0 {
            return None;
        }
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
    }

    /// HMAC-SHA-256 (RFC 2104); the key is half a block.
    fn mac(&self, text: &[u8]) -> [u8; 32] {
        let block = |pad: u8| {
            let mut block = [pad; 64];
            block.iter_mut().zip(self.key).for_each(|(byte, key)| *byte ^= key);
            block
        };
        let inner = Sha256::new().chain_update(block(0x36)).chain_update(text).finalize();
        Sha256::new().chain_update(block(0x5c)).chain_update(inner).finalize().into()
    }
}

/// A short name of something, the same for the same text.
pub(crate) fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    URL_SAFE_NO_PAD.encode(hash.finalize())
}

/// A name that nobody can guess.
pub(crate) fn unguessable() -> String {
    let seal = Seal::new();
    URL_SAFE_NO_PAD.encode(seal.key)
}

/// The cursor after an item.
pub(crate) fn cursor(name: &str) -> String {
    URL_SAFE_NO_PAD.encode(json!({ "after": name }).to_string())
}

/// The item that a cursor stands after.
pub(crate) fn after(cursor: &str) -> Option<String> {
    let place: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    place.get("after")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_changes_and_nothing_else() {
        let text = r#"{ "z":12345678901234567890123, "name" : "a" ,"x":{"name":"in"}}"#;
        assert_eq!(
            with(text, "name", &json!("p__a")),
            r#"{ "z":12345678901234567890123, "name" : "p__a" ,"x":{"name":"in"}}"#
        );
        assert_eq!(with_missing("{}", "a", &json!(1)), r#"{"a":1}"#);
        assert_eq!(with_missing(" { \"b\":2}", "a", &json!(1)), r#" {"a":1, "b":2}"#);
        assert_eq!(with_missing(r#"{"a":2}"#, "a", &json!(1)), r#"{"a":2}"#);
        assert_eq!(without(r#"{"a":1, "b": [1.0]}"#, &["a"]), r#"{"b":[1.0]}"#);
        assert_eq!(with("[]", "a", &json!(1)), "[]");
    }

    #[test]
    fn a_seal_holds_every_letter() {
        let seal = Seal::new();
        let text = seal.close(&json!({ "h": "x" }));
        assert_eq!(seal.open(&text), Some(json!({ "h": "x" })));
        assert_eq!(seal.open(&format!("{text}-TAMPERED")), None);
        assert_eq!(seal.open(&text.replacen('e', "f", 1)), None);
        assert_eq!(Seal::new().open(&text), None);
        assert_eq!(after(&cursor("a b")), Some("a b".to_owned()));
        assert_eq!(after("?"), None);
    }

    #[test]
    fn the_mac_is_the_published_one() {
        // RFC 4231, test case 2, whose key is shorter than ours: padded with zeros it is the same key.
        let mut key = [0; 32];
        key.iter_mut().zip(b"Jefe").for_each(|(byte, letter)| *byte = *letter);
        let mac = Seal { key }.mac(b"what do ya want for nothing?");
        let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
