//! What a schema may ask of the host.

use std::collections::HashMap;

use serde_json::Value;

/// The largest schema, as compact JSON.
const MAX_BYTES: usize = 1024 * 1024;

/// The deepest nesting of its JSON.
const MAX_DEPTH: usize = 64;

/// How many schemas may apply to one value. Definitions that refer to the next one twice double this each time.
const MAX_WORK: u64 = 10_000;

/// How many references may lead from one to the next for one value.
const MAX_HOPS: usize = 128;

pub(super) fn check_size(text: &str) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err(format!("the schema has {} bytes, more than the {MAX_BYTES} that are allowed", text.len()));
    }
    Ok(())
}

/// Without recursion, so that depth is found before it hurts.
pub(super) fn check_depth(schema: &Value) -> Result<(), String> {
    each_value(schema, |_, depth| {
        if depth > MAX_DEPTH {
            return Err(format!("the schema is nested more than {MAX_DEPTH} levels deep"));
        }
        Ok(())
    })
}

/// Refuses schemas that would keep the host busy whatever the arguments are.
pub(super) fn check_work(schema: &Value) -> Result<(), String> {
    let mut anchors = HashMap::new();
    each_value(schema, |value, _| {
        for key in ["$anchor", "$dynamicAnchor", "$id"] {
            if let Some(name) = value.get(key).and_then(Value::as_str) {
                anchors.insert(name.trim_start_matches('#'), value);
            }
        }
        Ok(())
    })?;
    let mut work = Work { root: schema, anchors, known: HashMap::new() };
    each_value(schema, |value, _| match work.of(value, 0)? {
        0..=MAX_WORK => Ok(()),
        _ => Err(format!("the schema applies more than {MAX_WORK} schemas to one value through its references")),
    })
}

/// How many schemas apply to the same value as a given one.
struct Work<'a> {
    root: &'a Value,
    anchors: HashMap<&'a str, &'a Value>,
    /// By address; nothing while it is being counted, which is how a circle is noticed.
    known: HashMap<usize, Option<u64>>,
}

impl<'a> Work<'a> {
    fn of(&mut self, schema: &'a Value, hops: usize) -> Result<u64, String> {
        let Some(keywords) = schema.as_object() else { return Ok(1) };
        let address = std::ptr::from_ref(schema).addr();
        match self.known.get(&address) {
            Some(Some(known)) => return Ok(*known),
            // A circle for the same value is entered once only.
            Some(None) => return Ok(1),
            None => {}
        }
        if hops > MAX_HOPS {
            return Err(format!("the schema leads through more than {MAX_HOPS} references in a row"));
        }
        self.known.insert(address, None);
        let mut sum = 1_u64;
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                    for item in list {
                        sum = sum.saturating_add(self.of(item, hops + 1)?);
                    }
                }
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    for item in schemas.values() {
                        sum = sum.saturating_add(self.of(item, hops + 1)?);
                    }
                }
                ("not" | "if" | "then" | "else", item) => sum = sum.saturating_add(self.of(item, hops + 1)?),
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(target)) => {
                    if let Some(target) = self.target(target) {
                        sum = sum.saturating_add(self.of(target, hops + 1)?);
                    }
                }
                _ => {}
            }
        }
        self.known.insert(address, Some(sum));
        Ok(sum)
    }

    /// What a reference means. What is not found here the compiler refuses, for nothing is fetched.
    fn target(&self, reference: &str) -> Option<&'a Value> {
        match reference.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(pointer).or_else(|| self.root.pointer(&percent_decoded(pointer)))
            }
            Some(anchor) => self.anchors.get(anchor).copied(),
            None => self.anchors.get(reference).copied(),
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let decoded = (*first == b'%')
            .then(|| tail.get(..2).and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok()))
            .flatten();
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn each_value<'a>(
    root: &'a Value,
    mut visit: impl FnMut(&'a Value, usize) -> Result<(), String>,
) -> Result<(), String> {
    let mut pending = vec![(root, 1)];
    while let Some((value, depth)) = pending.pop() {
        visit(value, depth)?;
        match value {
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => pending.extend(members.values().map(|member| (member, depth + 1))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}
