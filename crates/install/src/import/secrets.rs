//! Secrets that stand in agents' files: found, and a variable put in the place of each.

use jackfield_protocol::{is_secret_name, redact_text};
use serde_json::{Map, Value};

/// A secret that was found.
pub(super) struct Moved {
    place: String,
    variable: String,
}

impl Moved {
    /// What its owner should know.
    pub(super) fn warning(&self, copied: bool) -> String {
        let Self { place, variable } = self;
        if copied {
            return format!("{place} is a secret; it was copied, and the file is for you alone");
        }
        format!(
            "{place} is a secret and was not copied: set the variable {variable}, or import again with --with-secrets"
        )
    }
}

/// Puts variables in the place of secrets.
pub(super) fn hide(server: &str, entry: &mut Map<String, Value>) -> Vec<Moved> {
    let mut moved = Vec::new();
    if let Some(Value::Object(env)) = entry.get_mut("env") {
        for (name, value) in env.iter_mut() {
            if let Value::String(text) = value
                && is_secret(name, text)
            {
                *text = format!("${{{name}}}");
                moved.push(Moved { place: format!("env.{name}"), variable: name.clone() });
            }
        }
    }
    if let Some(Value::Object(headers)) = entry.get_mut("headers") {
        for (name, value) in headers.iter_mut() {
            if let Value::String(text) = value
                && is_secret(name, text)
            {
                let variable = variable_name(&[server, name]);
                let scheme = text.split_once(' ').map(|(scheme, _)| scheme);
                let scheme =
                    scheme.filter(|scheme| ["bearer", "basic"].contains(&scheme.to_ascii_lowercase().as_str()));
                *text = scheme.map_or_else(|| format!("${{{variable}}}"), |scheme| format!("{scheme} ${{{variable}}}"));
                moved.push(Moved { place: format!("the header {name}"), variable });
            }
        }
    }
    if let Some(Value::Array(args)) = entry.get_mut("args") {
        let mut before = String::new();
        for (index, value) in args.iter_mut().enumerate() {
            let Value::String(text) = value else { continue };
            let word = text.clone();
            let option = std::mem::take(&mut before);
            let named = option.starts_with('-') && is_secret(&option, text) && !text.starts_with('-');
            if named || is_token(text) {
                let variable = variable_name(&[server, option.trim_start_matches('-')]);
                *text = format!("${{{variable}}}");
                moved.push(Moved { place: format!("argument {}", index + 1), variable });
            } else if let Some((key, _)) = word.split_once('=').filter(|(key, given)| is_secret(key, given)) {
                let variable = variable_name(&[server, key.trim_start_matches('-')]);
                *text = format!("{key}=${{{variable}}}");
                moved.push(Moved { place: format!("argument {}", index + 1), variable });
            }
            before = word;
        }
    }
    if let Some(Value::String(url)) = entry.get_mut("url") {
        moved.extend(hide_in_url(server, url));
    }
    moved
}

/// The name or the looks of a text give it away; one that only names a variable is none.
fn is_secret(name: &str, text: &str) -> bool {
    let plain = !text.is_empty() && !text.contains("${");
    plain && (is_token(text) || (is_secret_name(name) && !is_harmless(text)))
}

/// Whether a text looks like a well-known kind of secret.
fn is_token(text: &str) -> bool {
    !text.contains("${") && redact_text(text, &[]) != text
}

fn is_harmless(text: &str) -> bool {
    ["true", "false", "0", "1", "none", "null"].contains(&text.to_ascii_lowercase().as_str())
}

fn hide_in_url(server: &str, url: &mut String) -> Vec<Moved> {
    let mut moved = Vec::new();
    let Some((base, query)) = url.split_once('?') else { return moved };
    let mut pairs = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some((key, value)) if is_secret(key, value) => {
                let variable = variable_name(&[server, key]);
                pairs.push(format!("{key}=${{{variable}}}"));
                moved.push(Moved { place: format!("{key} in its address"), variable });
            }
            _ => pairs.push(pair.to_owned()),
        }
    }
    *url = format!("{base}?{}", pairs.join("&"));
    moved
}

/// A variable called after these words.
pub(super) fn variable_name(words: &[&str]) -> String {
    let clean = |char: char| if char.is_ascii_alphanumeric() { char.to_ascii_uppercase() } else { '_' };
    let words: Vec<&str> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    let name: String = words.join("_").chars().map(clean).collect();
    if name.starts_with(|char: char| char.is_ascii_digit()) { format!("_{name}") } else { name }
}
