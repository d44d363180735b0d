//! Headers that repeat what a message says: the subject of a request, and arguments that a tool's schema asks for with
//! `x-mcp-header`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The arguments of one tool that are repeated as headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mirrored {
    path: Vec<String>,
    header: String,
}

/// What the tools of a server ask for, as far as they have been listed.
#[derive(Debug, Default)]
pub(crate) struct Annotations {
    tools: BTreeMap<String, Result<Vec<Mirrored>, String>>,
}

#[derive(Deserialize)]
struct Listed<'a> {
    #[serde(default, borrow)]
    tools: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
struct Definition {
    name: String,
    #[serde(default, rename = "inputSchema")]
    schema: Value,
}

/// No schema that a person wrote is deeper.
const MAX_NESTING: usize = 64;
/// A server that asks for more than this is not one that can be called.
const MOST_HEADERS: usize = 100;

impl Annotations {
    /// Learns from the result of `tools/list`.
    pub(crate) fn learn(&mut self, result: &str) {
        let Ok(listed) = serde_json::from_str::<Listed<'_>>(result) else { return };
        for text in listed.tools {
            // Most tools have none, and need not be read.
            if !text.get().contains("x-mcp-header") {
                if let Ok(definition) = serde_json::from_str::<Definition>(text.get()) {
                    self.tools.remove(&definition.name);
                }
                continue;
            }
            if let Ok(definition) = serde_json::from_str::<Definition>(text.get()) {
                self.tools.insert(definition.name, mirrored(&definition.schema));
            }
        }
    }

    /// The headers for a call. `arguments` is JSON text.
    pub(crate) fn headers(&self, tool: &str, arguments: Option<&str>) -> Result<Vec<(String, String)>, String> {
        let Some(asked) = self.tools.get(tool) else { return Ok(Vec::new()) };
        let asked = asked.as_ref().map_err(Clone::clone)?;
        let arguments: Value = arguments.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let mut headers = Vec::new();
        for one in asked {
            if let Some(text) = text_at(&arguments, &one.path) {
                headers.push((format!("mcp-param-{}", one.header.to_ascii_lowercase()), encoded(&text).into_owned()));
            }
        }
        Ok(headers)
    }
}

/// What is wrong with the headers that a tool asks for, given its definition as JSON text. Such a tool must not be offered.
pub(crate) fn fault(definition: &str) -> Option<String> {
    if !definition.contains("x-mcp-header") {
        return None;
    }
    let definition: Definition = serde_json::from_str(definition).ok()?;
    mirrored(&definition.schema).err()
}

fn mirrored(schema: &Value) -> Result<Vec<Mirrored>, String> {
    let mut found = Vec::new();
    collect(schema, &mut Vec::new(), &mut found)?;
    let mut seen = BTreeSet::new();
    for one in &found {
        if !seen.insert(one.header.to_ascii_lowercase()) {
            return Err(format!("two of its parameters have the x-mcp-header {:?}", one.header));
        }
    }
    if found.len() > MOST_HEADERS {
        return Err(format!("it asks for {} headers; {MOST_HEADERS} is the most", found.len()));
    }
    Ok(found)
}

fn collect(schema: &Value, path: &mut Vec<String>, found: &mut Vec<Mirrored>) -> Result<(), String> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Ok(()) };
    if path.len() >= MAX_NESTING {
        return Ok(());
    }
    for (name, property) in properties {
        path.push(name.clone());
        if let Some(header) = property.get("x-mcp-header") {
            let header = header.as_str().filter(|header| is_token(header));
            let Some(header) = header else {
                return Err(format!("the x-mcp-header of its parameter {name:?} is no name of a header"));
            };
            if !matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean")) {
                return Err(format!("its parameter {name:?} has an x-mcp-header and is no text, integer or boolean"));
            }
            found.push(Mirrored { path: path.clone(), header: header.to_owned() });
        }
        collect(property, path, found)?;
        path.pop();
    }
    Ok(())
}

fn is_token(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// The argument at a path as the text of a header; nothing for null, objects and arrays.
fn text_at(arguments: &Value, path: &[String]) -> Option<String> {
    let value = path.iter().try_fold(arguments, |value, step| value.get(step))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A text as the value of a header: as it is where that is safe, else in base64 with a mark around it.
pub(crate) fn encoded(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| (0x20..=0x7E).contains(&byte));
    let framed = text.starts_with(' ') || text.ends_with(' ') || text.starts_with("=?base64?");
    if plain && !framed { Cow::Borrowed(text) } else { Cow::Owned(format!("=?base64?{}?=", STANDARD.encode(text))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_become_headers_where_the_schema_asks() {
        let mut known = Annotations::default();
        known.learn(
            r#"{"tools":[{"name":"plain","inputSchema":{}},{"name":"t","inputSchema":{"type":"object","properties":{
                "region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},
                "off":{"type":"boolean","x-mcp-header":"Off"},"none":{"type":"string","x-mcp-header":"None"},
                "in":{"type":"object","properties":{"deep":{"type":"string","x-mcp-header":"Deep"}}}}}}]}"#,
        );
        let headers = known
            .headers("t", Some(r#"{"region":" wést","n":9007199254740993,"off":false,"none":null,"in":{"deep":"x"}}"#));
        let expected = [
            ("mcp-param-region", "=?base64?IHfDqXN0?="),
            ("mcp-param-n", "9007199254740993"),
            ("mcp-param-off", "false"),
            ("mcp-param-deep", "x"),
        ];
        assert_eq!(headers, Ok(expected.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()));
        assert_eq!(known.headers("plain", Some("{}")), Ok(vec![]));
        assert_eq!(known.headers("t", None), Ok(vec![]));
        known.learn(r#"{"tools":[{"name":"t","inputSchema":{}}]}"#);
        assert_eq!(known.headers("t", Some(r#"{"region":"a"}"#)), Ok(vec![]), "the tool changed");
    }

    #[test]
    fn tools_that_ask_for_nonsense_are_refused() {
        let tool = |properties: &str| format!(r#"{{"name":"t","inputSchema":{{"properties":{{{properties}}}}}}}"#);
        for properties in [
            r#""a":{"type":"string","x-mcp-header":""}"#,
            r#""a":{"type":"string","x-mcp-header":"a b"}"#,
            r#""a":{"type":"string","x-mcp-header":"a\nb"}"#,
            r#""a":{"type":"string","x-mcp-header":"Région"}"#,
            r#""a":{"type":"string","x-mcp-header":7}"#,
            r#""a":{"type":"number","x-mcp-header":"A"}"#,
            r#""a":{"type":"object","x-mcp-header":"A"}"#,
            r#""a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}"#,
        ] {
            let definition = tool(properties);
            assert!(fault(&definition).is_some(), "{definition}");
            let mut known = Annotations::default();
            known.learn(&format!("{{\"tools\":[{definition}]}}"));
            assert!(known.headers("t", None).is_err());
        }
        assert_eq!(fault(&tool(r#""a":{"type":"string","x-mcp-header":"A"}"#)), None);
        assert_eq!(encoded("us west"), "us west");
        assert_eq!(encoded("=?base64?x"), "=?base64?PT9iYXNlNjQ/eA==?=");
        assert_eq!(encoded("a\r\nb: c"), "=?base64?YQ0KYjogYw==?=");
    }
}
