//! Between JavaScript and JSON. Bytes stand in JSON as base64 with `"encoding": "base64"` beside them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rquickjs::{Ctx, Object, Result, TypedArray, Value as Js};
use serde_json::Value;

use crate::raw;

/// Fields that hold bytes where an object says `"encoding": "base64"`.
const BYTES: [&str; 5] = ["content", "data", "body", "stdout", "stderr"];

/// What script gave, as JSON. Typed arrays of bytes at the top become base64.
pub(crate) fn to_json<'js>(cx: &Ctx<'js>, value: Js<'js>) -> Result<Value> {
    let value = match value.as_object() {
        Some(object) if !value.is_array() && !value.is_function() => with_bytes(cx, object)?.unwrap_or(value),
        _ => value,
    };
    let Some(text) = cx.json_stringify(value)? else { return Ok(Value::Null) };
    let text = text.to_string()?;
    // The engine wrote it; it is JSON up to lone surrogates, which become replacement characters above.
    Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
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

/// JSON as script sees it, with bytes as typed arrays.
pub(crate) fn to_js<'js>(cx: &Ctx<'js>, mut value: Value) -> Result<Js<'js>> {
    let mut held = Vec::new();
    if value.get("encoding").and_then(Value::as_str) == Some("base64")
        && let Some(object) = value.as_object_mut()
    {
        for name in BYTES {
            if let Some(Value::String(text)) = object.get(name)
                && let Ok(bytes) = BASE64.decode(text.trim_end())
            {
                object.insert(name.to_owned(), Value::Null);
                held.push((name, bytes));
            }
        }
    }
    let parsed = cx.json_parse(value.to_string())?;
    if let Some(object) = parsed.as_object() {
        for (name, bytes) in held {
            object.set(name, to_bytes(cx, &bytes)?)?;
        }
    }
    Ok(parsed)
}
