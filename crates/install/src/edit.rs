//! Switching on and off by editing what a person wrote: only the words that say so change.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use jackfield_discovery::settings;
use jackfield_files::{self as files, ReadError};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_yaml_ng::{Mapping, Value};

use super::InstallError;

/// Sets `enabled` in a manifest of JSON or TOML. Every other byte stays.
pub(super) fn set_enabled(manifest: &Path, on: bool) -> Result<(), InstallError> {
    let failed = |reason: String| InstallError::Edit { file: manifest.to_owned(), reason };
    let text = files::read_text(manifest, files::MAX_TEXT).map_err(|error| failed(error.to_string()))?;
    let is_json = manifest.extension().is_some_and(|extension| extension == "json");
    let edited = if is_json { edit_json(&text, on) } else { edit_toml(&text, on) }.map_err(failed)?;
    if edited != text {
        replace(manifest, &edited)?;
    }
    Ok(())
}

fn edit_json(text: &str, on: bool) -> Result<String, String> {
    let members: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let span = |value: &RawValue| -> Range<usize> {
        // The value is a part of the text, so its place is the distance between the two.
        let start = (value.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        start..start + value.get().len()
    };
    if let Some(value) = members.get("enabled") {
        return replaced(text, span(value), &on.to_string());
    }
    if on {
        return Ok(text.to_owned());
    }
    let open = text.find('{').ok_or("it is not an object")? + 1;
    let indent: String = text
        .chars()
        .skip(text.get(..open).map_or(0, |head| head.chars().count()))
        .take_while(|c| c.is_whitespace())
        .collect();
    match members.values().map(|value| span(value).end).max() {
        Some(end) => replaced(text, end..end, &format!(",{indent}\"enabled\": false")),
        None => replaced(text, open..open, "\"enabled\": false"),
    }
}

#[derive(Deserialize)]
struct TomlEnabled {
    enabled: Option<toml::Spanned<bool>>,
}

fn edit_toml(text: &str, on: bool) -> Result<String, String> {
    let parsed: TomlEnabled = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    if let Some(enabled) = parsed.enabled {
        return replaced(text, enabled.span(), &on.to_string());
    }
    if on {
        return Ok(text.to_owned());
    }
    // Below the comment at the top is above every table, so it is a key of the document.
    let at: usize = text
        .split_inclusive('\n')
        .take_while(|line| line.ends_with('\n') && (line.trim().is_empty() || line.trim_start().starts_with('#')))
        .map(str::len)
        .sum();
    replaced(text, at..at, "enabled = false\n")
}

fn replaced(text: &str, span: Range<usize>, by: &str) -> Result<String, String> {
    match (text.get(..span.start), text.get(span.end..)) {
        (Some(before), Some(after)) => Ok(format!("{before}{by}{after}")),
        _ => Err("the place to edit cannot be found".to_owned()),
    }
}

/// Makes `disabled` in the settings name `id`, or not. Keeps what a person wrote where the list is written in a usual way.
pub(super) fn set_disabled(yaml: &Path, id: &str, disabled: bool) -> Result<(), InstallError> {
    let failed = |reason: String| InstallError::Edit { file: yaml.to_owned(), reason };
    let text = match files::read_text(yaml, files::MAX_TEXT) {
        Ok(text) => text,
        Err(ReadError::Missing) if !disabled => return Ok(()),
        Err(ReadError::Missing) => String::new(),
        Err(error) => return Err(failed(error.to_string())),
    };
    let before = settings::document(&text, yaml).map_err(failed)?;
    let after = with_disabled(before.clone(), id, disabled).map_err(failed)?;
    if after == before {
        return Ok(());
    }
    let says_the_same = |text: &String| serde_yaml_ng::from_str::<Value>(text).is_ok_and(|value| value == after);
    let edited = match edit_yaml_line(&text, &after).filter(says_the_same) {
        Some(edited) => edited,
        None => serde_yaml_ng::to_string(&after).map_err(|error| failed(error.to_string()))?,
    };
    replace(yaml, &edited)
}

fn with_disabled(document: Value, id: &str, disabled: bool) -> Result<Value, String> {
    let mut document = match document {
        Value::Null => Mapping::new(),
        Value::Mapping(mapping) => mapping,
        _ => return Err("it is not a mapping".to_owned()),
    };
    let absent = |value: Option<&Value>| value.is_none_or(Value::is_null);
    if absent(document.get("extensions")) {
        if !disabled {
            return Ok(Value::Mapping(document));
        }
        document.insert("extensions".into(), Value::Mapping(Mapping::new()));
    }
    let Some(Value::Mapping(extensions)) = document.get_mut("extensions") else {
        return Err("`extensions` is not a mapping".to_owned());
    };
    if absent(extensions.get("disabled")) {
        if !disabled {
            return Ok(Value::Mapping(document));
        }
        extensions.insert("disabled".into(), Value::Sequence(Vec::new()));
    }
    let Some(Value::Sequence(list)) = extensions.get_mut("disabled") else {
        return Err("`extensions.disabled` is not a list".to_owned());
    };
    let named = list.iter().any(|entry| entry.as_str() == Some(id));
    if disabled && !named {
        list.push(id.into());
    } else if !disabled {
        list.retain(|entry| entry.as_str() != Some(id));
    }
    Ok(Value::Mapping(document))
}

/// Writes the new list into the line that holds it, or below `extensions:`. Whether that was right is for the caller to
/// check: the text may be written in a way that this does not understand.
fn edit_yaml_line(text: &str, after: &Value) -> Option<String> {
    let list = after.get("extensions")?.get("disabled")?.as_sequence()?;
    let names: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
    let written = format!("disabled: [{}]", names?.join(", "));
    if text.trim().is_empty() {
        return Some(format!("{text}extensions:\n  {written}\n"));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let top = lines.iter().position(|line| line.trim_end() == "extensions:")?;
    let is_inside = |line: &&&str| line.starts_with([' ', '#', '\n', '\r']) || line.trim().is_empty();
    let inside = lines.iter().skip(top + 1).take_while(is_inside).count();
    let held = (top + 1..=top + inside).find(|at| {
        lines.get(*at).is_some_and(|line| {
            let entry = line.trim();
            entry.starts_with("disabled:") && (entry.contains(']') || entry == "disabled:")
        })
    });
    let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
    match held {
        Some(at) => {
            let line = lines.get_mut(at)?;
            let indent = line.len() - line.trim_start().len();
            let tail = line.split_once(']').map_or("\n", |(_, tail)| tail).to_owned();
            *line = format!("{}{written}{tail}", " ".repeat(indent));
            // A list in lines of its own gives way to the new one.
            let items = lines.iter().skip(at + 1).take_while(|line| line.trim_start().starts_with("- ")).count();
            lines.drain(at + 1..at + 1 + items);
        }
        None => {
            let indent = lines.get(top + 1).map_or(0, |line| line.len() - line.trim_start().len());
            let indent = if indent == 0 || inside == 0 { 2 } else { indent };
            lines.insert(top + 1, format!("{}{written}\n", " ".repeat(indent)));
        }
    }
    Some(lines.concat())
}

/// Replaces the file that `path` leads to, so that a link stays a link.
fn replace(path: &Path, text: &str) -> Result<(), InstallError> {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    files::write_atomic(&real, text.as_bytes(), files::WriteOptions::durable(mode(&real)))
        .map(drop)
        .map_err(InstallError::io("write", path))
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o777)
}

#[cfg(not(unix))]
fn mode(_path: &Path) -> u32 {
    0
}

#[cfg(test)]
mod tests;
