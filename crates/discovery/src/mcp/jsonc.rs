//! JSON as people write it in settings: with comments, and with a comma after the last entry.

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde::de::DeserializeSeed as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::parse::Strict;

/// The deepest nesting. `serde_json` reads no more either, and a manifest is read again from what it writes.
const MAX_NESTING: usize = 127;

/// Reads an object. A key that stands twice is not an error, because one entry must not cost the others; the second part
/// of the answer names it, and the last one counts.
pub(super) fn object(text: &str) -> Result<(Map<String, Value>, Option<String>), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (value, doubled) = match parse_to_serde_value::<Unique>(text, &strict()) {
        Ok(Unique(value)) => (value, None),
        Err(error) => match parse_to_serde_value::<Value>(text, &strict()) {
            Ok(value) => (value, Some(error.to_string())),
            Err(_) => return Err(error.to_string()),
        },
    };
    match value {
        _ if is_deeper(&value, MAX_NESTING) => Err(format!("it is nested more than {MAX_NESTING} levels deep")),
        Value::Object(object) => Ok((object, doubled)),
        _ => Err("expected an object".to_owned()),
    }
}

/// A value in which no object names a key twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Strict.deserialize(deserializer).map(Self)
    }
}

/// JSON, and nothing more than comments and trailing commas.
fn strict() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The library refuses more than 512 levels, so this recursion is bounded.
fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(object) => levels == 0 || object.values().any(|value| is_deeper(value, levels - 1)),
        Value::Array(items) => levels == 0 || items.iter().any(|value| is_deeper(value, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_go() {
        let text =
            "\u{feff}// a\n{ /* b\n */ \"a//b\": \"c /* \\\" , ] \", // d\n \"x\": [1, 2, /* e */ ], \"y\": {},\n}";
        for text in [text.to_owned(), text.replace('\n', "\r\n")] {
            let (object, doubled) = object(&text).expect("an object");
            assert_eq!(Value::Object(object).to_string(), r#"{"a//b":"c /* \" , ] ","x":[1,2],"y":{}}"#);
            assert_eq!(doubled, None);
        }
    }

    #[test]
    fn errors_keep_their_line() {
        let error = object("{\n// x\n\"a\": ?,\n}").expect_err("no value");
        assert!(error.contains("line 3"), "{error}");
        let (twice, doubled) = object(r#"{"a":1,"a":2}"#).expect("an object");
        assert_eq!(twice["a"].as_u64(), Some(2));
        assert!(doubled.is_some_and(|said| said.contains("duplicate key `a`")));
    }

    #[test]
    fn only_json_counts() {
        for text in [
            "[]",
            "",
            "/*",
            "// only a comment",
            "{} {}",
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": 0x1}",
            "{\"a\": +1}",
            "{\"a\": .5}",
            "{\"a\": NaN}",
            "{\"a\": 1e999}",
            "{\"a\": \"\\x41\"}",
            "{\"a\": \"\\ud800\"}",
            "{\"a\",}",
            "{,}",
        ] {
            assert!(object(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hostile_texts_stay_bounded() {
        let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
        assert!(object(&deep(MAX_NESTING)).is_ok());
        for levels in [MAX_NESTING + 1, 512, 513, 100_000] {
            assert!(object(&deep(levels)).is_err(), "{levels}");
            let lists = format!("{{\"a\":{}1{}}}", "[".repeat(levels), "]".repeat(levels));
            assert!(object(&lists).is_err(), "{levels}");
            assert!(object(&"[/**/".repeat(levels)).is_err() && object(&"{\"a\":".repeat(levels)).is_err());
        }
        let twice = format!("{{{}}}", "\"a\":1,".repeat(200_000));
        assert!(object(&twice).expect("an object").1.is_some());
        let comments = format!("{}{{{}}}", "/* * */".repeat(100_000), "// x\n".repeat(100_000));
        assert!(object(&comments).expect("an object").0.is_empty());
    }
}
