//! JSON with comments and trailing commas: one entry is put in or taken out, and every other byte stays.
//!
//! The library reads the text and says where everything stands. The edit itself is a splice: the library's own editing
//! breaks objects of one line into several, and such bytes belong to the person.

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// The longest configuration that is edited. Claude Code keeps its history in one, so megabytes are usual.
const MAX_CONFIG_BYTES: usize = 32 * 1024 * 1024;

/// A text that was read. The library refuses nesting beyond 512 levels.
struct Document<'t> {
    text: &'t str,
    root: Node<'t>,
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Document<'t> {
    fn read(text: &'t str) -> Result<Self, String> {
        if text.len() > MAX_CONFIG_BYTES {
            return Err(format!("it is longer than {} MiB", MAX_CONFIG_BYTES >> 20));
        }
        let collect = CollectOptions { comments: CommentCollectionStrategy::Off, tokens: true };
        let read = parse_to_ast(text, &collect, &strict())
            .map_err(|error| format!("line {}: {}", error.line_display(), error.kind()))?;
        let root = read.value.ok_or("it holds no JSON object")?;
        Ok(Self { text, root, tokens: read.tokens.unwrap_or_default() })
    }

    fn value(&self) -> Value {
        self.root.clone().into()
    }

    /// Where the comma after a member stands.
    fn comma_after(&self, member: &ObjectProp<'_>) -> Option<usize> {
        let next = self.tokens.partition_point(|token| token.range.start < member.range.end);
        self.tokens.get(next).filter(|token| token.token == Token::Comma).map(|token| token.range.start)
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

/// Editors on Windows put a byte order mark in front.
fn without_mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

/// The text with `entry` as `container.name`, in place of what is there under that name.
pub(crate) fn put(text: &str, container: &str, name: &str, entry: &Value) -> Result<String, String> {
    let (mark, text) = without_mark(text);
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let inner = || Value::Object(Map::from_iter([(name.to_owned(), entry.clone())]));
    if text.trim().is_empty() {
        let outer = Value::Object(Map::from_iter([(container.to_owned(), inner())]));
        return Ok(format!("{mark}{}{newline}", written(&outer, "", "  ", newline)));
    }
    let document = Document::read(text)?;
    let root = document.root.as_object().ok_or("it holds no JSON object")?;
    let style = Style { unit: unit_of(text, root), newline };
    let made = match only(root, container)? {
        None => style.insert(&document, root, container, &inner()),
        Some(found) => {
            let place = found.value.as_object().ok_or_else(|| format!("{container:?} is no object"))?;
            match only(place, name)? {
                Some(old) if Value::from(old.value.clone()) == *entry => return Ok(format!("{mark}{text}")),
                Some(old) => {
                    let indent = indent_of(text, old.range.start);
                    let (start, end) = span(&old.value);
                    splice(text, start, end, &written(entry, &indent, &style.unit, newline))
                }
                None => style.insert(&document, place, name, entry),
            }
        }
    };
    // The result must read as what was there with the entry in it, whatever the text looks like.
    let mut wanted = document.value();
    let place = wanted.as_object_mut().map(|root| root.entry(container).or_insert_with(|| Value::Object(Map::new())));
    if let Some(Value::Object(place)) = place {
        place.insert(name.to_owned(), entry.clone());
    }
    agreed(&made, &wanted)?;
    Ok(format!("{mark}{made}"))
}

/// The text without `container.name`; nothing where it is not there.
pub(crate) fn remove(text: &str, container: &str, name: &str) -> Result<Option<String>, String> {
    let (mark, text) = without_mark(text);
    let document = Document::read(text)?;
    let Some(root) = document.root.as_object() else { return Ok(None) };
    let Some(found) = only(root, container)? else { return Ok(None) };
    let Some(place) = found.value.as_object() else { return Ok(None) };
    let Some(old) = only(place, name)? else { return Ok(None) };
    let comma = document.comma_after(old);
    // Its own line goes with it.
    let start = trimmed_end(text.get(..old.range.start).unwrap_or_default());
    let mut made = splice(text, start, comma.map_or(old.range.end, |comma| comma + 1), "");
    let before = place.properties.iter().rfind(|member| member.range.start < old.range.start);
    if comma.is_none()
        && let Some(comma) = before.and_then(|before| document.comma_after(before))
    {
        made = splice(&made, comma, comma + 1, "");
    }
    let mut wanted = document.value();
    if let Some(Value::Object(place)) = wanted.get_mut(container) {
        place.shift_remove(name);
    }
    agreed(&made, &wanted)?;
    Ok(Some(format!("{mark}{made}")))
}

fn agreed(text: &str, wanted: &Value) -> Result<(), String> {
    match Document::read(text) {
        Ok(read) if read.value() == *wanted => Ok(()),
        _ => Err("its form is one that cannot be edited safely".to_owned()),
    }
}

fn span(node: &Node<'_>) -> (usize, usize) {
    use jsonc_parser::common::Ranged as _;
    (node.start(), node.end())
}

fn only<'m, 't>(object: &'m Object<'t>, key: &str) -> Result<Option<&'m ObjectProp<'t>>, String> {
    let mut found = object.properties.iter().filter(|member| member.name.as_str() == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(format!("{key:?} stands there twice")),
        None => Ok(first),
    }
}

/// How the person writes.
struct Style<'t> {
    unit: String,
    newline: &'t str,
}

impl Style<'_> {
    /// The text with a new last member in an object.
    fn insert(&self, document: &Document<'_>, object: &Object<'_>, key: &str, value: &Value) -> String {
        let Self { unit, newline } = self;
        let text = document.text;
        let key = Value::String(key.to_owned());
        let (start, close) = (object.range.start, object.range.end - 1);
        let Some((first, last)) = object.properties.first().zip(object.properties.last()) else {
            let outer = indent_of(text, start);
            let indent = format!("{outer}{unit}");
            let member = format!("{newline}{indent}{key}: {}", written(value, &indent, unit, newline));
            // A comment in an object that is otherwise empty stays.
            let inside = trimmed_end(text.get(start + 1..close).unwrap_or_default());
            return splice(text, start + 1 + inside, close, &format!("{member}{newline}{outer}"));
        };
        let is_one_line = !text.get(start..close).unwrap_or_default().contains('\n');
        let after_all = text.get(..close).map_or(close, trimmed_end);
        let (lead, value) = if is_one_line {
            (" ".to_owned(), value.to_string())
        } else {
            let indent = indent_of(text, first.range.start);
            (format!("{newline}{indent}"), written(value, &indent, unit, newline))
        };
        let comma = document.comma_after(last);
        let end = if comma.is_some() { "," } else { "" };
        let mut made = splice(text, after_all, after_all, &format!("{lead}{key}: {value}{end}"));
        if comma.is_none() {
            made = splice(&made, last.range.end, last.range.end, ",");
        }
        made
    }
}

fn splice(text: &str, start: usize, end: usize, with: &str) -> String {
    let (head, tail) = (text.get(..start).unwrap_or_default(), text.get(end..).unwrap_or_default());
    [head, with, tail].concat()
}

/// A value over several lines.
fn written(value: &Value, indent: &str, unit: &str, newline: &str) -> String {
    match value {
        Value::Object(object) if !object.is_empty() => {
            let deeper = format!("{indent}{unit}");
            let members: Vec<String> = object
                .iter()
                .map(|(key, value)| {
                    let key = Value::String(key.clone());
                    format!("{deeper}{key}: {}", written(value, &deeper, unit, newline))
                })
                .collect();
            format!("{{{newline}{}{newline}{indent}}}", members.join(&format!(",{newline}")))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(ToString::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// Where the white space at the end of a text begins. White space that JSON does not know can only belong to a comment.
fn trimmed_end(text: &str) -> usize {
    text.trim_end_matches([' ', '\t', '\r', '\n']).len()
}

/// What stands before the first word of the line.
fn indent_of(text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn unit_of(text: &str, root: &Object<'_>) -> String {
    let indent = root.properties.first().map(|first| indent_of(text, first.range.start)).unwrap_or_default();
    if indent.is_empty() { "  ".to_owned() } else { indent }
}

#[cfg(test)]
mod tests;
