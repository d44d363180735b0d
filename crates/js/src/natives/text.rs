//! Encodings.

use base64::Engine as _;
use rquickjs::{Ctx, IntoJs as _, Result, TypedArray, Value as Js};

use crate::values::bytes_of;

/// Answers if `name` is one of these.
pub(super) fn call<'js>(cx: &Ctx<'js>, name: &str, args: &[Js<'js>]) -> Option<Result<Js<'js>>> {
    let text = || args.first().and_then(|value| value.as_string()).and_then(|text| text.to_string().ok()).unwrap_or_default();
    let bytes = || args.first().and_then(bytes_of).unwrap_or_default();
    let array = |bytes: Vec<u8>| TypedArray::new(cx.clone(), bytes).map(TypedArray::into_value);
    Some(match name {
        "utf8_encode" => array(text().into_bytes()),
        "utf8_decode" => String::from_utf8_lossy(&bytes()).into_owned().into_js(cx),
        "base64_encode" => base64::engine::general_purpose::STANDARD.encode(bytes()).into_js(cx),
        _ => return None,
    })
}
