//! Properties of globs, canonical JSON and redaction, checked with random inputs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use jackfield_protocol::{canonical_json, glob_matches, is_secret_name, redact_text, redact_value};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Number, Value};

/// The definition of a glob, by recursion. Takes exponential time, so the inputs stay short.
fn reference_glob(pattern: &[char], text: &[char], at_segment_start: bool) -> bool {
    match pattern {
        [] => text.is_empty(),
        ['*', '*', '/', rest @ ..] if at_segment_start => {
            let after_slash = (1..=text.len()).filter(|end| text[end - 1] == '/');
            std::iter::once(0).chain(after_slash).any(|end| reference_glob(rest, &text[end..], true))
        }
        ['*', '*', rest @ ..] => (0..=text.len()).any(|end| reference_glob(rest, &text[end..], false)),
        ['*', rest @ ..] => {
            let longest = text.iter().position(|c| *c == '/').unwrap_or(text.len());
            (0..=longest).any(|end| reference_glob(rest, &text[end..], false))
        }
        ['?', rest @ ..] => text.first().is_some_and(|c| *c != '/') && reference_glob(rest, &text[1..], false),
        [c, rest @ ..] => text.first() == Some(c) && reference_glob(rest, &text[1..], *c == '/'),
    }
}

/// Any JSON value. Integers beyond 64 bits do not fit into a [`Value`].
fn json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|float| Number::from_f64(float).map_or(Value::Null, Value::Number)),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((any::<String>(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with the members of every object in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let reversed: Map<String, Value> =
                members.iter().rev().map(|(key, value)| (key.clone(), reversed(value))).collect();
            Value::Object(reversed)
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        scalar => scalar.clone(),
    }
}

fn contains(value: &Value, secret: &str) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| key.contains(secret) || contains(value, secret)),
        Value::Array(items) => items.iter().any(|item| contains(item, secret)),
        Value::String(text) => text.contains(secret),
        _ => false,
    }
}

/// A JSON value whose texts and keys are made of the secrets and of other words.
fn json_with(secrets: Vec<String>) -> impl Strategy<Value = Value> {
    let text = text_with(secrets);
    text.clone().prop_map(Value::from).prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((text.clone(), inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn text_with(secrets: Vec<String>) -> impl Strategy<Value = String> + Clone {
    let word = prop_oneof![proptest::sample::select(secrets), "[a-z =:\"\n]{0,8}"];
    vec(word, 0..5).prop_map(|words| words.concat())
}

/// Up to three secrets. The alphabet is small, so that secrets overlap and begin alike.
fn secrets() -> impl Strategy<Value = Vec<String>> {
    vec("[abc-]{6,9}", 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn globs_match_what_the_definition_says(pattern in "[a/*?é]{0,9}", text in "[a/é]{0,9}") {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        let expected = reference_glob(&chars(&pattern), &chars(&text), true);
        prop_assert_eq!(glob_matches(&pattern, &text), expected);
    }

    #[test]
    fn globs_take_any_input(pattern in any::<String>(), text in any::<String>()) {
        glob_matches(&pattern, &text);
        prop_assert!(glob_matches("**", &text));
    }

    #[test]
    fn canonical_json_reads_back(value in json()) {
        let text = canonical_json(&value);
        let back: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&back, &value);
        prop_assert_eq!(canonical_json(&back), text);
    }

    #[test]
    fn canonical_json_ignores_the_order_of_members(value in json()) {
        prop_assert_eq!(canonical_json(&reversed(&value)), canonical_json(&value));
    }

    #[test]
    fn no_known_secret_survives(
        (secrets, text, value) in secrets().prop_flat_map(|secrets| {
            (Just(secrets.clone()), text_with(secrets.clone()), json_with(secrets))
        })
    ) {
        let mut redacted = value;
        redact_value(&mut redacted, &secrets);
        let text = redact_text(&text, &secrets);
        for secret in &secrets {
            prop_assert!(!text.contains(secret.as_str()), "{secret} is in {text:?}");
            prop_assert!(!contains(&redacted, secret), "{secret} is in {redacted}");
        }
    }

    #[test]
    fn redacting_twice_is_redacting_once(
        (secrets, text) in secrets().prop_flat_map(|secrets| (Just(secrets.clone()), text_with(secrets)))
    ) {
        let once = redact_text(&text, &secrets);
        prop_assert_eq!(redact_text(&once, &secrets), once);
    }

    /// The words hold no name of a secret and begin like none; the known secret is made of digits.
    #[test]
    fn text_without_secrets_stays(text in "([b-h]{1,6}[ =:\n\"{}é]){0,8}", secret in "[0-9]{6,12}") {
        prop_assert_eq!(redact_text(&text, &[secret]), text);
    }

    /// A token of a well-known kind goes wherever it stands as a word.
    #[test]
    fn what_begins_like_a_token_goes(
        prefix in select(vec!["sk-", "sk_live_", "ghp_", "github_pat_", "glpat-", "xoxb-", "AKIA", "AIza", "eyJ"]),
        rest in "[A-Za-z0-9_.-]{12,40}",
        before in "([a-zé]{0,8}[ =:\"'(\n]){0,4}",
        after in "([ ,;\"')\n][a-zé]{0,8}){0,4}",
    ) {
        let token = format!("{prefix}{rest}");
        let text = format!("{before}{token}{after}");
        prop_assert!(!redact_text(&text, &[]).contains(&token), "{}", text);
        let mut value = Value::from(vec![text]);
        redact_value(&mut value, &[]);
        prop_assert!(!contains(&value, &token), "{}", value);
    }

    /// What stands under a secret name goes whole, however deep; `null` and booleans are no secrets.
    #[test]
    fn the_value_of_a_secret_name_goes(
        name in "(X-)?(api[_-]key|Token|AUTHORIZATION|set-cookie|db_password|client_secret|ssh_key)",
        value in json(),
        depth in 0_usize..4,
    ) {
        prop_assert!(is_secret_name(&name));
        let is_plain = value.is_null() || value.is_boolean();
        let expected = if is_plain { value.clone() } else { Value::from("[REDACTED]") };
        let wrapped = |inner: Value| (0..depth).fold(inner, |inner, _| serde_json::json!([{ "a": inner }]));
        let mut found = wrapped(serde_json::json!({ &name: value }));
        redact_value(&mut found, &[]);
        prop_assert_eq!(found, wrapped(serde_json::json!({ name: expected })));
    }
}
