//! JSON with comments and trailing commas, read with its places, so that one entry can be put in or taken out and every
//! other byte stays.

use serde_json::{Map, Value};

/// Deeper than any settings file.
const DEEPEST: usize = 128;

/// A value and where it stands.
#[derive(Debug)]
struct Node {
    start: usize,
    end: usize,
    what: What,
}

#[derive(Debug)]
enum What {
    Object(Vec<Member>),
    /// Anything else, as it is.
    Plain(Value),
}

#[derive(Debug)]
struct Member {
    key: String,
    /// Where the key begins.
    start: usize,
    value: Node,
    /// Where the comma after it stands.
    comma: Option<usize>,
}

impl Node {
    fn value(&self) -> Value {
        match &self.what {
            What::Plain(value) => value.clone(),
            What::Object(members) => {
                Value::Object(members.iter().map(|member| (member.key.clone(), member.value.value())).collect())
            }
        }
    }
}

/// Reads a whole text as a value.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    Reader::new(text).document().map(|node| node.value())
}

/// The text with `entry` as `container.name`, in place of what is there under that name.
pub(crate) fn put(text: &str, container: &str, name: &str, entry: &Value) -> Result<String, String> {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        let mut inner = Map::new();
        inner.insert(name.to_owned(), entry.clone());
        let mut outer = Map::new();
        outer.insert(container.to_owned(), Value::Object(inner));
        return Ok(format!("{}{newline}", written(&Value::Object(outer), "", "  ", newline)));
    }
    let root = Reader::new(text).document()?;
    let What::Object(members) = &root.what else { return Err("it holds no JSON object".to_owned()) };
    let unit = unit_of(text, members);
    let made = match only(members, container)? {
        None => {
            let mut inner = Map::new();
            inner.insert(name.to_owned(), entry.clone());
            insert(text, &root, members, container, &Value::Object(inner), &unit, newline)
        }
        Some(found) => {
            let What::Object(inner) = &found.value.what else { return Err(format!("{container:?} is no object")) };
            match only(inner, name)? {
                Some(old) if old.value.value() == *entry => return Ok(text.to_owned()),
                Some(old) => {
                    let indent = indent_of(text, old.start);
                    splice(text, old.value.start, old.value.end, &written(entry, &indent, &unit, newline))
                }
                None => insert(text, &found.value, inner, name, entry, &unit, newline),
            }
        }
    };
    // What was written must read as what was there with the entry in it, whatever the text looks like.
    let mut wanted = root.value();
    let place = wanted.as_object_mut().map(|root| root.entry(container).or_insert_with(|| Value::Object(Map::new())));
    if let Some(Value::Object(place)) = place {
        place.insert(name.to_owned(), entry.clone());
    }
    agreed(made, &wanted)
}

/// The text without `container.name`; nothing where it is not there.
pub(crate) fn remove(text: &str, container: &str, name: &str) -> Result<Option<String>, String> {
    let root = Reader::new(text).document()?;
    let What::Object(members) = &root.what else { return Ok(None) };
    let Some(found) = only(members, container)? else { return Ok(None) };
    let What::Object(inner) = &found.value.what else { return Ok(None) };
    let Some(old) = only(inner, name)? else { return Ok(None) };
    let before = inner.iter().rfind(|member| member.start < old.start);
    // Its own line goes with it.
    let blank = text.get(..old.start).map_or(0, |head| head.len() - head.trim_end().len());
    let start = old.start - blank;
    let end = old.comma.map_or(old.value.end, |comma| comma + 1);
    let mut made = splice(text, start, end, "");
    if old.comma.is_none()
        && let Some(comma) = before.and_then(|before| before.comma)
    {
        made = splice(&made, comma, comma + 1, "");
    }
    let mut wanted = root.value();
    if let Some(Value::Object(place)) = wanted.get_mut(container) {
        place.shift_remove(name);
    }
    agreed(made, &wanted).map(Some)
}

fn agreed(text: String, wanted: &Value) -> Result<String, String> {
    match parse(&text) {
        Ok(read) if read == *wanted => Ok(text),
        _ => Err("its form is one that cannot be edited safely".to_owned()),
    }
}

fn only<'m>(members: &'m [Member], key: &str) -> Result<Option<&'m Member>, String> {
    let mut found = members.iter().filter(|member| member.key == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(format!("{key:?} stands there twice")),
        None => Ok(first),
    }
}

fn insert(
    text: &str,
    object: &Node,
    members: &[Member],
    key: &str,
    value: &Value,
    unit: &str,
    newline: &str,
) -> String {
    let key = Value::String(key.to_owned());
    let close = object.end - 1;
    let Some((first, last)) = members.first().zip(members.last()) else {
        let outer = indent_of(text, object.start);
        let indent = format!("{outer}{unit}");
        let member = format!("{newline}{indent}{key}: {}", written(value, &indent, unit, newline));
        // A comment in an object that is otherwise empty stays.
        let inside = text.get(object.start + 1..close).unwrap_or_default().trim_end();
        let at = object.start + 1 + inside.len();
        return splice(text, at, close, &format!("{member}{newline}{outer}"));
    };
    let is_one_line = !text.get(object.start..object.end).unwrap_or_default().contains('\n');
    let after_all = text.get(..close).map_or(close, |head| head.trim_end().len());
    let (lead, value) = if is_one_line {
        (" ".to_owned(), value.to_string())
    } else {
        let indent = indent_of(text, first.start);
        (format!("{newline}{indent}"), written(value, &indent, unit, newline))
    };
    let end = if last.comma.is_some() && !is_one_line { "," } else { "" };
    let mut made = splice(text, after_all, after_all, &format!("{lead}{key}: {value}{end}"));
    if last.comma.is_none() {
        made = splice(&made, last.value.end, last.value.end, ",");
    }
    made
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

/// What stands before the first word of the line.
fn indent_of(text: &str, at: usize) -> String {
    let head = text.get(..at).unwrap_or_default();
    let line = head.rsplit('\n').next().unwrap_or_default();
    line.chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

fn unit_of(text: &str, members: &[Member]) -> String {
    let indent = members.first().map(|first| indent_of(text, first.start)).unwrap_or_default();
    if indent.is_empty() { "  ".to_owned() } else { indent }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at }
    }

    fn document(mut self) -> Result<Node, String> {
        let node = self.node(0)?;
        self.skip()?;
        if self.at < self.text.len() { Err(self.odd("something after the end")) } else { Ok(node) }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn odd(&self, what: &str) -> String {
        let line = self.text.get(..self.at).unwrap_or_default().matches('\n').count() + 1;
        format!("line {line}: {what}")
    }

    /// Over blanks and comments.
    fn skip(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
            self.at += blank;
            let rest = self.rest();
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let length = rest.get(2..).and_then(|inside| inside.find("*/"));
                self.at += length.ok_or_else(|| self.odd("a comment that does not end"))? + 4;
            } else if blank == 0 {
                return Ok(());
            }
        }
    }

    fn take(&mut self, c: char) -> bool {
        let is_next = self.rest().starts_with(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    fn node(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(self.odd("it is nested too deeply"));
        }
        self.skip()?;
        let start = self.at;
        let what = match self.rest().chars().next() {
            Some('{') => What::Object(self.members(depth)?),
            Some('[') => What::Plain(self.items(depth)?),
            Some('"') => What::Plain(Value::String(self.string()?)),
            Some(_) => What::Plain(self.word()?),
            None => return Err(self.odd("a value is missing")),
        };
        Ok(Node { start, end: self.at, what })
    }

    fn members(&mut self, depth: usize) -> Result<Vec<Member>, String> {
        self.at += 1;
        let mut members: Vec<Member> = Vec::new();
        loop {
            self.skip()?;
            if self.take('}') {
                return Ok(members);
            }
            if members.last().is_some_and(|last| last.comma.is_none()) {
                return Err(self.odd("a comma is missing"));
            }
            let start = self.at;
            let key = self.string()?;
            self.skip()?;
            if !self.take(':') {
                return Err(self.odd("a colon is missing"));
            }
            let value = self.node(depth + 1)?;
            self.skip()?;
            let at = self.at;
            let comma = self.take(',').then_some(at);
            members.push(Member { key, start, value, comma });
        }
    }

    fn items(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        let mut is_open = true;
        loop {
            self.skip()?;
            if self.take(']') {
                return Ok(Value::Array(items));
            }
            if !is_open {
                return Err(self.odd("a comma is missing"));
            }
            items.push(self.node(depth + 1)?.value());
            self.skip()?;
            is_open = self.take(',');
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let rest = self.rest();
        let mut escaped = false;
        for (place, c) in rest.char_indices().skip(1) {
            match c {
                '\\' if !escaped => escaped = true,
                '"' if !escaped => {
                    let literal = rest.get(..=place).unwrap_or_default();
                    let read = serde_json::from_str(literal).map_err(|_| self.odd("a string that is none"))?;
                    self.at += literal.len();
                    return Ok(read);
                }
                _ => escaped = false,
            }
        }
        Err(self.odd("a string that does not end"))
    }

    fn word(&mut self) -> Result<Value, String> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or_default();
        let value = serde_json::from_str(word).map_err(|_| self.odd("something that is no JSON"))?;
        self.at += end;
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
