//! Between JavaScript and JSON. Bytes stand in JSON as base64 with `"encoding": "base64"` beside them.

mod plain;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rquickjs::{Ctx, Object, Result, TypedArray, Value as Js};
use serde_json::Value;

use crate::isolate::throw;
use crate::raw;

/// Fields that hold bytes where an object says `"encoding": "base64"`.
const BYTE_FIELDS: [&str; 5] = ["content", "data", "body", "stdout", "stderr"];

/// Bytes of JSON that may leave an engine at once.
const MAX_JSON_BYTES: usize = 64 * 1024 * 1024;

/// What script gave, as JSON. Typed arrays of bytes at the top become base64.
pub(crate) fn to_json<'js>(cx: &Ctx<'js>, value: Js<'js>) -> Result<Value> {
    if let Some(json) = plain::json_of(cx, &value)? {
        return Ok(json);
    }
    let value = match value.as_object() {
        Some(object) if !value.is_array() && !value.is_function() => with_bytes(cx, object)?.unwrap_or(value),
        _ => value,
    };
    let Some(text) = cx.json_stringify(value)? else { return Ok(Value::Null) };
    let text = text.to_string()?;
    if text.len() > MAX_JSON_BYTES {
        let (has, most) = (text.len() / (1024 * 1024), MAX_JSON_BYTES / (1024 * 1024));
        return Err(throw(
            cx,
            &format!("{has} MB at once are more than the {most} MB that may leave the engine"),
            "ERR_OUT_OF_RANGE",
        ));
    }
    // The engine wrote it; it is JSON up to lone surrogates, which only JavaScript knows.
    Ok(serde_json::from_str(&text)
        .or_else(|_| serde_json::from_str(&without_lone_surrogates(&text)))
        .unwrap_or(Value::Null))
}

/// JSON text in which an escaped half of a surrogate pair is the replacement character.
fn without_lone_surrogates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let unit = |from: usize| {
            let digits = escape.get(from..from + 6)?.strip_prefix("\\u")?;
            u16::from_str_radix(digits, 16).ok()
        };
        let length = match (unit(0), unit(6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push('\u{fffd}');
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
        let (kept, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
    out
}

fn with_bytes<'js>(cx: &Ctx<'js>, object: &Object<'js>) -> Result<Option<Js<'js>>> {
    let has_bytes = object.values::<Js<'js>>().any(|value| value.is_ok_and(|value| bytes_of(&value).is_some()));
    if !has_bytes {
        return Ok(None);
    }
    let copy = Object::new(cx.clone())?;
    for property in object.props::<String, Js<'js>>() {
        let (name, value) = property?;
        match bytes_of(&value) {
            Some(bytes) => copy.set(name, BASE64.encode(bytes))?,
            None => copy.set(name, value)?,
        }
    }
    copy.set("encoding", "base64")?;
    Ok(Some(copy.into_value()))
}

/// The bytes of a `Uint8Array` (also a `Buffer`).
pub(crate) fn bytes_of(value: &Js<'_>) -> Option<Vec<u8>> {
    let array = value.as_object()?.as_typed_array::<u8>()?;
    Some(raw::bytes(array))
}

/// Bytes as script sees them, in memory that counts as its own.
pub(crate) fn to_bytes<'js>(cx: &Ctx<'js>, bytes: &[u8]) -> Result<TypedArray<'js, u8>> {
    TypedArray::new_copy(cx.clone(), bytes)
}

/// JSON as script sees it.
pub(crate) fn parsed<'js>(cx: &Ctx<'js>, value: &Value) -> Result<Js<'js>> {
    // In one go, where `to_string` of a value would go through a formatter piece by piece.
    cx.json_parse(serde_json::to_string(value).unwrap_or_default())
}

/// JSON as script sees it, with bytes as typed arrays.
pub(crate) fn to_js<'js>(cx: &Ctx<'js>, mut value: Value) -> Result<Js<'js>> {
    let mut held = Vec::new();
    if value.get("encoding").and_then(Value::as_str) == Some("base64")
        && let Some(object) = value.as_object_mut()
    {
        for name in BYTE_FIELDS {
            if let Some(Value::String(text)) = object.get(name)
                && let Ok(bytes) = BASE64.decode(text.trim_end())
            {
                object.insert(name.to_owned(), Value::Null);
                held.push((name, bytes));
            }
        }
    }
    let parsed = parsed(cx, &value)?;
    if let Some(object) = parsed.as_object() {
        for (name, bytes) in held {
            object.set(name, to_bytes(cx, &bytes)?)?;
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_replaced_and_nothing_else_is() {
        let cases = [
            (r#""\ud800""#, "\"\u{fffd}\""),
            (r#""a\udfffb""#, "\"a\u{fffd}b\""),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d\ud83d\ude00""#, "\"\u{fffd}\\ud83d\\ude00\""),
            (r#""\\ud800 \n \u0041""#, r#""\\ud800 \n \u0041""#),
            (r#""\ud800"#, "\"\u{fffd}"),
            (r#""\"#, r#""\"#),
        ];
        for (text, expected) in cases {
            assert_eq!(without_lone_surrogates(text), expected, "{text}");
        }
    }
}
