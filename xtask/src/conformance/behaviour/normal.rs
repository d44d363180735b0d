//! Makes what was seen comparable: paths, ids, times and colours differ from run to run and from machine to machine, and
//! what is absent may be said in several ways.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

/// Texts that stand for places of this run.
pub(super) struct Places(Vec<(String, &'static str)>);

impl Places {
    /// The longer path first, so that what is inside of another is told apart from it.
    pub(super) fn new(mut places: Vec<(PathBuf, &'static str)>) -> Self {
        places.sort_by_key(|(path, _)| std::cmp::Reverse(path.as_os_str().len()));
        Self(places.into_iter().map(|(path, name)| (path.to_string_lossy().into_owned(), name)).collect())
    }

    fn text(&self, text: &str) -> String {
        let mut text = without_colours(text);
        for (path, name) in &self.0 {
            text = text.replace(path.as_str(), name);
        }
        without_random(&text.split("$TMP/").enumerate().map(temporary).collect::<Vec<_>>().join("$TMP/"))
    }

    /// The comparable form of a value.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter().filter(|(_, field)| !field.is_null());
                Value::Object(fields.map(|(key, field)| (self.text(key), self.value(field))).collect::<Map<_, _>>())
            }
            Value::Number(number) if number.as_f64().is_some_and(is_time) => json!("$TIME"),
            // 1 and 1.0 are one number in JavaScript.
            Value::Number(number) => match number.as_f64() {
                Some(float) if float.fract() == 0.0 && float.abs() < 9e15 => json!(float as i64),
                _ => value.clone(),
            },
            Value::Null | Value::Bool(_) => value.clone(),
        }
    }
}

/// Milliseconds between the years 2020 and 2096.
fn is_time(number: f64) -> bool {
    (1.58e12..4e12).contains(&number)
}

/// Leaves out control sequences of terminals.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let sequence = after.strip_prefix('[').unwrap_or(after);
        let end = sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(sequence.len(), |at| at + 1);
        rest = sequence.get(end..).unwrap_or_default();
    }
    plain + rest
}

/// The first name below a place for temporary files ends with something random.
fn temporary((at, text): (usize, &str)) -> String {
    let (name, rest) = text.split_once('/').unwrap_or((text, ""));
    match name.rsplit_once('-') {
        Some((stem, _)) if at > 0 && text.contains('/') => format!("{stem}-*/{rest}"),
        _ => text.to_owned(),
    }
}

/// Puts names in place of times, UUIDs and the random ends of temporary names.
fn without_random(text: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.' | '_') {
            word.push(c);
        } else {
            out.push_str(&named(&word));
            word.clear();
            out.push(c);
        }
    }
    out + &named(&word)
}

fn named(word: &str) -> String {
    if word.len() == 36 && shape(word) == "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" {
        return "$UUID".to_owned();
    }
    let (stem, last) = word.rsplit_once('-').map_or(("", word), |(stem, last)| (stem, last));
    if last.len() == 13 && last.parse::<f64>().is_ok_and(is_time) {
        return if stem.is_empty() { "$TIME".to_owned() } else { format!("{stem}-$TIME") };
    }
    word.to_owned()
}

fn shape(word: &str) -> String {
    word.chars().map(|c| if c.is_ascii_hexdigit() { 'x' } else { c }).collect()
}

/// Where what was seen is not what was expected, as lines.
pub(super) fn differences(expected: &Value, seen: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", expected, seen, &mut lines);
    lines
}

fn compare(at: &str, expected: &Value, seen: &Value, lines: &mut Vec<String>) {
    match (expected, seen) {
        (Value::Object(expected), Value::Object(seen)) => {
            let keys: std::collections::BTreeSet<&String> = expected.keys().chain(seen.keys()).collect();
            for key in keys {
                let (one, other) = (expected.get(key), seen.get(key));
                compare(&format!("{at}.{key}"), one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null), lines);
            }
        }
        (Value::Array(expected), Value::Array(seen)) => {
            for at_most in 0..expected.len().max(seen.len()) {
                let (one, other) = (expected.get(at_most), seen.get(at_most));
                compare(&format!("{at}[{at_most}]"), one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null), lines);
            }
        }
        _ if expected == seen => {}
        _ => lines.push(format!("{at}: pi {expected} · jackfield {seen}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_has_a_name() {
        let places = Places::new(vec![
            ("/t/1".into(), "$PLACE"),
            ("/t/1/project".into(), "$PROJECT"),
            ("/tmp/x".into(), "$TMP"),
        ]);
        let seen = json!({
            "in": "\u{1b}[38;2;1;2;3mread\u{1b}[39m /t/1/project/a, /t/1/b", "gone": null, "at": 1_767_225_600_123.0_f64,
            "note": "bookmark-1767225600123 of 0198c0de-0000-7000-8000-0123456789ab", "n": 2.0, "small": 12.5,
            "kept": "saved to /tmp/x/pi-rg-AbC123/output.txt", "list": [null, true],
        });
        let expected = json!({
            "in": "read $PROJECT/a, $PLACE/b", "at": "$TIME", "note": "bookmark-$TIME of $UUID", "n": 2, "small": 12.5,
            "kept": "saved to $TMP/pi-rg-*/output.txt", "list": [null, true],
        });
        assert_eq!(places.value(&seen), expected);
    }

    #[test]
    fn differences_name_the_place() {
        let one = json!({ "steps": [{ "records": [1, 2] }] });
        assert_eq!(differences(&one, &one), Vec::<String>::new());
        let other = json!({ "steps": [{ "records": [1], "more": "x" }] });
        let found = [".steps[0].more: pi null · jackfield \"x\"", ".steps[0].records[1]: pi 2 · jackfield null"];
        assert_eq!(differences(&one, &other), found);
    }
}
