//! YAML as JSON, within bounds: an alias counts each time that it is named, so that a small file does not become a large
//! value. Brackets are counted before anything is parsed, because the parser takes quadratic time for nested ones.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a document may hold in all: bytes of text, and a little for each node.
const MAX_DOCUMENT_COST: usize = 4 << 20;
const NODE_COST: usize = 16;
/// The most opening brackets and braces of a document, in texts and comments too.
const MAX_BRACKETS: usize = 4096;

/// Reads one document.
pub(crate) fn read(text: &str) -> Result<Value, serde_yaml_ng::Error> {
    if text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() > MAX_BRACKETS {
        return Err(serde_yaml_ng::Error::custom(format!("it has more than {MAX_BRACKETS} opening brackets")));
    }
    let left = Cell::new(MAX_DOCUMENT_COST);
    Node { left: &left }.deserialize(serde_yaml_ng::Deserializer::from_str(text))
}

#[derive(Clone, Copy)]
struct Node<'a> {
    left: &'a Cell<usize>,
}

impl Node<'_> {
    fn take<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.left.get().checked_sub(NODE_COST + bytes);
        self.left.set(left.ok_or_else(|| E::custom("it holds too much, counting what its aliases stand for"))?);
        Ok(())
    }

    fn leaf<E: serde::de::Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value without a tag")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.leaf(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.leaf(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.leaf(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.leaf(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Neither JSON nor anything that is described here knows infinity.
        self.leaf(Number::from_f64(value).map_or_else(|| Value::String(value.to_string()), Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut object = Map::new();
        while let Some(key) = map.next_key_seed(self)? {
            let key = match key {
                Value::String(text) => text,
                Value::Null | Value::Bool(_) | Value::Number(_) => key.to_string(),
                Value::Array(_) | Value::Object(_) => return Err(A::Error::custom("a key must be a word")),
            };
            let value = map.next_value_seed(self)?;
            if object.insert(key.clone(), value).is_some() {
                return Err(A::Error::custom(format!("duplicate key `{key}`")));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;

    #[test]
    fn documents_become_values() {
        let text = "url: http://x\nheaders: {A: 1, B: true, 3: ~}\nmore: [1.5, -2, .inf, &x y, *x]\n";
        let value = json!({
            "url": "http://x", "headers": {"A": 1, "B": true, "3": null}, "more": [1.5, -2, "inf", "y", "y"],
        });
        assert_eq!(read(text).unwrap(), value);
        assert_eq!(read("").unwrap(), Value::Null);
        for wrong in ["a: 1\na: 2", "[", "a: !tag b", "? [1]\n: 2", "a: 1\n---\nb: 2", "\t", "a: *nobody", "&a [*a]"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert!(read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn aliases_do_not_multiply() {
        let mut nested = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for at in 1..12 {
            let before = at - 1;
            let again = format!("*a{before}, ").repeat(9);
            nested.push_str(&format!("a{at}: &a{at} [{again}]\n"));
        }
        // One long list, named again and again: no depth, and no alias within an alias.
        let flat = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(20_000), "*a,".repeat(20_000));
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), "*a,".repeat(20_000));
        for bomb in [nested, flat, text] {
            let began = Instant::now();
            let error = read(&bomb).expect_err("too much").to_string();
            assert!(error.contains("too much") || error.contains("repetition"), "{error}");
            assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
        }
    }
}
