//! Redaction: nothing that looks like a secret reaches a log, a ledger or an error.

use std::borrow::Cow;

use serde_json::Value;

/// What stands in place of a secret.
pub const REDACTED: &str = "[REDACTED]";

/// Keys whose values are always secret, compared without case and with `-` read as `_`.
const SECRET_KEYS: [&str; 10] = [
    "api_key",
    "apikey",
    "token",
    "authorization",
    "cookie",
    "password",
    "secret",
    "private_key",
    "credential",
    "bearer",
];

/// Words that stand between a header's name and its secret.
const SCHEMES: [&str; 3] = ["bearer", "basic", "digest"];

/// How well-known secrets begin.
const SECRET_PREFIXES: [&str; 12] =
    ["sk-", "sk_live_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "AIza", "eyJ"];

/// Whether a variable, header or field of this name holds a secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    SECRET_KEYS.iter().any(|key| name.contains(key))
        || ["passwd", "passphrase"].iter().any(|key| name.contains(key))
        || ["_key", "_pat", "_auth", "_session", "_pwd"].iter().any(|end| name.ends_with(end))
}

/// Redacts a JSON value in place: the values of secret keys whole, secrets inside other strings by [`redact_text`]. A key
/// loses the `known` secrets in it.
pub fn redact_value(value: &mut Value, known: &[String]) {
    match value {
        Value::Object(object) => {
            if object.keys().any(|key| matches!(without_known(key, known), Cow::Owned(_))) {
                let members = std::mem::take(object).into_iter();
                *object = members.map(|(key, value)| (without_known(&key, known).into_owned(), value)).collect();
            }
            for (key, value) in object.iter_mut() {
                if is_secret_name(key) && !value.is_null() && !value.is_boolean() && !is_count(key, value) {
                    *value = Value::String(REDACTED.to_owned());
                } else {
                    redact_value(value, known);
                }
            }
        }
        Value::Array(array) => array.iter_mut().for_each(|value| redact_value(value, known)),
        Value::String(text) => *text = redact_text(text, known),
        _ => {}
    }
}

/// How many tokens a model took is no secret.
fn is_count(key: &str, value: &Value) -> bool {
    value.is_number() && key.to_ascii_lowercase().ends_with("tokens")
}

/// Redacts free text: the `known` secret values, `name=value` and `name: value` of secret names, `Bearer …`, and words
/// that begin as well-known tokens do.
pub fn redact_text(text: &str, known: &[String]) -> String {
    redacted(text, known).into_owned()
}

/// The same, without a copy of what needs no redaction.
pub fn redacted<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let out = without_known(text, known);
    if might_hold_secret(&out) { Cow::Owned(redact_words(&out)) } else { out }
}

fn without_known<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let mut out = Cow::Borrowed(text);
    for secret in known {
        if secret.len() >= 6 && out.contains(secret.as_str()) {
            out = Cow::Owned(out.replace(secret.as_str(), REDACTED));
        }
    }
    out
}

fn redact_words(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    // Words are runs of what tokens are made of; what stands between them is kept as it is.
    let mut after_secret_name = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let (word, tail) = rest.split_at(end);
        if word.is_empty() {
            if c == '\n' {
                after_secret_name = false;
            }
            result.push(c);
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        // A path names a file, whatever the file is called.
        let is_name = !word.contains('/') && is_secret_name(word) && introduces_value(tail);
        let is_token = word.len() >= 12 && SECRET_PREFIXES.iter().any(|prefix| word.starts_with(prefix));
        if is_name {
            result.push_str(word);
            after_secret_name = true;
        } else if after_secret_name && SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme)) {
            result.push_str(word);
        } else if is_token || after_secret_name {
            result.push_str(REDACTED);
            after_secret_name = false;
        } else {
            result.push_str(word);
        }
        rest = tail;
    }
    result
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '~' | '$' | '!' | '%')
}

/// A name introduces a value when `=`, `:` or, for `Bearer`, a space follows it, quotes between them allowed.
fn introduces_value(tail: &str) -> bool {
    let tail = tail.trim_start_matches(['"', '\'', '\\']);
    let mut chars = tail.trim_start_matches([' ', '\t']).chars();
    match chars.next() {
        Some('=' | ':') => true,
        Some(c) => {
            tail.starts_with(' ') && is_word(c) && c.is_ascii_alphanumeric() && tail.len() > 12 && {
                let word: String = tail.trim_start().chars().take_while(|c| is_word(*c)).collect();
                word.len() >= 12 && word.chars().any(|c| c.is_ascii_digit())
            }
        }
        None => false,
    }
}

fn might_hold_secret(text: &str) -> bool {
    // A single word names no value, so it is a secret only if it begins like one. Most ids and names are single words.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if text.bytes().all(plain) || text.chars().all(is_word) {
        return SECRET_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
    }
    let lower = text.to_ascii_lowercase();
    SECRET_KEYS.iter().any(|key| lower.contains(key))
        || ["passwd", "passphrase", "_key", "-key", "_pat", "_auth", "_session", "_pwd"]
            .iter()
            .any(|k| lower.contains(k))
        || SECRET_PREFIXES.iter().any(|prefix| text.contains(prefix))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys() {
        for name in ["API_KEY", "api-key", "X-Auth-Token", "AWS_ACCESS_KEY", "Set-Cookie", "DB_PASSWORD", "dbPasswd"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "HOME", "keyboard", "author", "monkey", "city"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn values() {
        let mut value = json!({"city": "Berlin", "token": "abc", "nested": [{"Authorization": "Bearer x"}], "password": null,
            "text": "use sk-abcdefghijklmnop now", "maxTokens": 5, "tokens": "a b", "token_pin": 7});
        redact_value(&mut value, &[]);
        assert_eq!(
            value,
            json!({"city": "Berlin", "token": "[REDACTED]", "nested": [{"Authorization": "[REDACTED]"}], "password": null,
                "text": "use [REDACTED] now", "maxTokens": 5, "tokens": "[REDACTED]", "token_pin": "[REDACTED]"})
        );
    }

    #[test]
    fn texts() {
        let known = vec!["hunter2hunter2".to_owned()];
        let check = |text: &str, redacted: &str| assert_eq!(redact_text(text, &known), redacted, "{text}");
        check("all is well", "all is well");
        check("login with hunter2hunter2!", "login with [REDACTED]!");
        check("token=abc123 rest", "token=[REDACTED] rest");
        check("\"password\": \"p w\"", "\"password\": \"[REDACTED] w\"");
        check("Authorization: Bearer abc.def123", "Authorization: Bearer [REDACTED]");
        check("API_KEY=zzz\nnext line", "API_KEY=[REDACTED]\nnext line");
        check("the token of the realm", "the token of the realm");
        check("key ghp_0123456789abcdef", "key [REDACTED]");
        check("secret\nsecond", "secret\nsecond");
        check("secret/b.txt: read it", "secret/b.txt: read it");
        check("get_forecast", "get_forecast");
        check("api_key", "api_key");
        check("ghp_0123456789abcdef", "[REDACTED]");
    }
}
