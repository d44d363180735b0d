//! Encodings, segments, widths and differences of text.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::json;
use similar::{ChangeTag, TextDiff};
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use super::args::Args;
use super::{Native, NativeValue};

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const DECODER: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);

/// Answers if `name` is one of these.
pub(super) fn call(name: &str, args: &Args<'_, '_>) -> Native {
    Some(Ok(match name {
        "utf8_encode" => NativeValue::Bytes(args.text(0).into_bytes()),
        "utf8_decode" => {
            let bytes = args.bytes(0);
            let body = if args.flag(2) { &bytes[..] } else { bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes) };
            match (std::str::from_utf8(body), args.flag(1)) {
                (Ok(text), _) => NativeValue::Text(text.to_owned()),
                (Err(_), true) => {
                    return Some(Err((
                        "The encoded data was not valid for encoding utf-8".to_owned(),
                        "ERR_ENCODING_INVALID_ENCODED_DATA",
                    )));
                }
                (Err(_), false) => NativeValue::Text(String::from_utf8_lossy(body).into_owned()),
            }
        }
        "latin1_decode" => NativeValue::Text(args.bytes(0).iter().map(|byte| char::from(*byte)).collect()),
        "latin1_encode" => NativeValue::Bytes(args.text(0).encode_utf16().map(|unit| unit as u8).collect()),
        "base64_encode" => {
            let engine = if args.flag(1) {
                &base64::engine::general_purpose::URL_SAFE_NO_PAD
            } else {
                &base64::engine::general_purpose::STANDARD
            };
            NativeValue::Text(engine.encode(args.bytes(0)))
        }
        "base64_decode" => NativeValue::Bytes(base64(&args.text(0))),
        "hex_encode" => {
            let bytes = args.bytes(0);
            let mut text = String::with_capacity(bytes.len() * 2);
            for byte in bytes {
                let _ = write!(text, "{byte:02x}");
            }
            NativeValue::Text(text)
        }
        "hex_decode" => NativeValue::Bytes(hex(&args.text(0))),
        "graphemes" => NativeValue::Json(json!(args.text(0).graphemes(true).collect::<Vec<_>>())),
        "words" => {
            let text = args.text(0);
            let words = text
                .split_word_bounds()
                .map(|word| json!({ "segment": word, "isWordLike": word.chars().any(char::is_alphanumeric) }));
            NativeValue::Json(words.collect())
        }
        "width" => NativeValue::Number(args.text(0).width() as f64),
        "diff_lines" => {
            let (old, new) = (args.text(0), args.text(1));
            let diff = TextDiff::from_lines(&old, &new);
            let changes = diff.iter_all_changes().map(|change| {
                let kind = match change.tag() {
                    ChangeTag::Equal => "=",
                    ChangeTag::Delete => "-",
                    ChangeTag::Insert => "+",
                };
                json!({ "kind": kind, "text": change.value() })
            });
            NativeValue::Json(changes.collect())
        }
        _ => return None,
    }))
}

/// As Node reads it: both alphabets, up to the first thing that is neither, white space skipped.
fn base64(text: &str) -> Vec<u8> {
    let mut plain: Vec<u8> = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'-' => plain.push(b'+'),
            b'_' => plain.push(b'/'),
            b'+' | b'/' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => plain.push(byte),
            b'=' => break,
            _ => {}
        }
    }
    // A lone last character holds no byte.
    if plain.len() % 4 == 1 {
        plain.pop();
    }
    DECODER.decode(plain).unwrap_or_default()
}

/// Up to the first pair that is not hexadecimal.
fn hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16);
    text.as_bytes()
        .chunks_exact(2)
        .map_while(|pair| match pair {
            [high, low] => Some((digit(*high)? * 16 + digit(*low)?) as u8),
            _ => None,
        })
        .collect()
}
