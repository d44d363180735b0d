//! What a tool answered, in the words of every other runtime. The answer as it was written goes along.

use jackfield_protocol::{Content, ToolResult, Wire};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::params::Members;

/// The most of a block of an unknown kind that is shown, in bytes.
const MAX_SHOWN_BYTES: usize = 2000;

/// Lowers the result of `tools/call`.
pub(crate) fn tool_result(wire: Wire) -> ToolResult {
    let mut result = plain(wire.as_str()).unwrap_or_else(|| any(wire.as_str()));
    result.wire = Some(wire);
    result
}

fn any(wire: &str) -> ToolResult {
    let mut result = match Members::read(wire) {
        Ok(members) => of_members(&members),
        Err(_) => ToolResult::text(shorten(wire)),
    };
    if result.content.is_empty() {
        let text = result.details.as_ref().map(Value::to_string).unwrap_or_default();
        result.content.push(Content::text(text));
    }
    result
}

/// What nearly every tool answers: texts and nothing else. Nothing if there is anything about it that takes a closer look.
fn plain(text: &str) -> Option<ToolResult> {
    // A list would do for a structure, too.
    if !text.starts_with('{') {
        return None;
    }
    let Plain { content, is_error } = serde_json::from_str(text).ok()?;
    let content: Vec<Content> = content.into_iter().map(|PlainText(text)| Content::text(text)).collect();
    (!content.is_empty()).then(|| ToolResult { content, is_error, ..ToolResult::default() })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Plain {
    content: Vec<PlainText>,
    #[serde(default)]
    is_error: bool,
}

/// A block of text without anything else in it.
struct PlainText(String);

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Member {
    Type,
    Text,
}

impl<'de> Deserialize<'de> for PlainText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = PlainText;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<PlainText, A::Error> {
                let (mut is_text, mut text) = (None, None);
                while let Some(member) = access.next_key()? {
                    match member {
                        Member::Type if is_text.is_none() => is_text = Some(access.next_value::<&str>()? == "text"),
                        Member::Text if text.is_none() => text = Some(access.next_value()?),
                        Member::Type | Member::Text => return Err(A::Error::custom("something stands twice")),
                    }
                }
                text.filter(|_| is_text == Some(true)).map(PlainText).ok_or_else(|| A::Error::custom("something else"))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

fn of_members(members: &Members<'_>) -> ToolResult {
    let mut result = ToolResult::default();
    if let Some(content) = members.get("content") {
        match serde_json::from_str::<Vec<&RawValue>>(content.get()) {
            Ok(blocks) => result.content = blocks.into_iter().map(block).collect(),
            // Not what MCP says, and still an answer.
            Err(_) => result.content.push(Content::text(shorten(content.get()))),
        }
    }
    result.is_error = members.get("isError").is_some_and(|flag| flag.get() == "true");
    let structured = members.get("structuredContent").filter(|value| value.get() != "null");
    result.details = structured.and_then(|value| serde_json::from_str(value.get()).ok());
    if members.get("content").is_none()
        && structured.is_none()
        && let Some(old) = members.get("toolResult")
    {
        // The form of the first drafts.
        result.content.push(Content::text(shorten(old.get())));
    }
    result
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    #[serde(default, rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    description: Option<String>,
    resource: Option<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(default)]
    uri: String,
    mime_type: Option<String>,
    text: Option<String>,
    blob: Option<String>,
}

fn block(raw: &RawValue) -> Content {
    let unknown = || Content::text(format!("[content that jackfield does not know: {}]", shorten(raw.get())));
    let Ok(block) = serde_json::from_str::<Block>(raw.get()) else { return unknown() };
    let mime = |mime: Option<String>| mime.unwrap_or_else(|| "of an unnamed type".to_owned());
    match block.kind.as_str() {
        "text" => block.text.map_or_else(unknown, Content::text),
        "image" => match block.data {
            Some(data) => Content::Image { mime_type: block.mime_type.unwrap_or_default(), data },
            None => unknown(),
        },
        "audio" => {
            let size = block.data.as_deref().map_or(0, |data| data.len() / 4 * 3);
            Content::text(format!("[audio {}, {size} bytes]", mime(block.mime_type)))
        }
        "resource" => match block.resource {
            Some(Resource { uri, text: Some(text), mime_type, .. }) => {
                Content::text(format!("[resource {uri} {}]\n{text}", mime(mime_type)))
            }
            Some(Resource { uri, mime_type, blob, .. }) => {
                let size = blob.as_deref().map_or(0, |data| data.len() / 4 * 3);
                Content::text(format!("[resource {uri} {}, {size} bytes]", mime(mime_type)))
            }
            None => unknown(),
        },
        "resource_link" => {
            let words = [block.name, block.uri, block.mime_type, block.description];
            let words: Vec<String> = words.into_iter().flatten().collect();
            Content::text(format!("[link to a resource: {}]", words.join(" ")))
        }
        _ => unknown(),
    }
}

fn shorten(text: &str) -> String {
    if text.len() <= MAX_SHOWN_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_SHOWN_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(result: &ToolResult) -> Vec<String> {
        let text = |block: &Content| match block {
            Content::Text { text, .. } => text.clone(),
            Content::Image { mime_type, data } => format!("<{mime_type} {data}>"),
        };
        result.content.iter().map(text).collect()
    }

    #[test]
    fn every_kind_of_block_says_what_it_is() {
        let wire = r#"{"x":1,"content":[{"type":"text","text":"a"},{"type":"image","data":"QQ==","mimeType":"image/png"},
            {"type":"audio","data":"QUFB","mimeType":"audio/wav"},
            {"type":"resource","resource":{"uri":"f:///a","mimeType":"text/plain","text":"hi"}},
            {"type":"resource","resource":{"uri":"f:///b","blob":"QUFB"}},
            {"type":"resource_link","uri":"f:///c","name":"c"},
            {"type":"hologram","depth":3}, 7],"isError":true,"structuredContent":{"n":[1]}}"#;
        let result = tool_result(Wire::new(wire));
        assert_eq!(
            texts(&result),
            [
                "a",
                "<image/png QQ==>",
                "[audio audio/wav, 3 bytes]",
                "[resource f:///a text/plain]\nhi",
                "[resource f:///b of an unnamed type, 3 bytes]",
                "[link to a resource: c f:///c]",
                r#"[content that jackfield does not know: {"type":"hologram","depth":3}]"#,
                "[content that jackfield does not know: 7]",
            ]
        );
        assert!(result.is_error);
        assert_eq!(result.details, Some(json!({ "n": [1] })));
        assert_eq!(result.wire.expect("kept").as_str(), wire);
    }

    #[test]
    fn plain_answers_are_what_a_closer_look_finds() {
        let is_plain = |wire: &str| {
            let plain = plain(wire);
            assert!(plain.is_none() || plain == Some(any(wire)), "{wire}: {plain:?}");
            plain.is_some()
        };
        for wire in [
            r#"{"content":[{"type":"text","text":"pong \u00e9\n"}]}"#,
            r#"{"isError":true, "content":[{"text":"a","type":"text"},{"type":"text","text":""}]}"#,
            r#"{"content":[{"type":"text","text":"x"}],"isError":false}"#,
        ] {
            assert!(is_plain(wire), "{wire}");
        }
        for wire in [
            "{}",
            "7",
            r#"{"content":[]}"#,
            r#"{"content":[["text","x"]]}"#,
            r#"[[{"type":"text","text":"x"}],true]"#,
            r#"{"content":[{"type":"text","text":"x"}],"isError":null}"#,
            r#"{"content":[{"type":"text","text":"x"}],"isError":"true"}"#,
            r#"{"content":[{"type":"text","text":"x"}],"_meta":{}}"#,
            r#"{"content":[{"type":"text","text":"x"}],"content":[{"type":"text","text":"y"}]}"#,
            r#"{"content":[{"type":"text","text":"x","annotations":{}}]}"#,
            r#"{"content":[{"type":"text","text":"x","text":"y"}]}"#,
            r#"{"content":[{"type":"text","type":"text","text":"y"}]}"#,
            r#"{"content":[{"type":"image","type":"text","text":"y"}]}"#,
            r#"{"content":[{"type":"text","text":null}]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"content":[{"type":"text"}]}"#,
            r#"{"content":[{"text":"x"}]}"#,
            r#"{"content":[{"type":"text","text":"x"},{"type":"image","data":"","mimeType":""}]}"#,
        ] {
            assert!(!is_plain(wire), "{wire}");
        }
    }

    #[test]
    fn odd_answers_are_answers() {
        for (wire, text) in [
            ("{}", ""),
            (r#"{"structuredContent":{"a":1}}"#, r#"{"a":1}"#),
            (r#"{"toolResult":{"a":1}}"#, r#"{"a":1}"#),
            (r#"{"content":"x"}"#, r#""x""#),
            ("7", "7"),
        ] {
            assert_eq!(texts(&tool_result(Wire::new(wire))), [text], "{wire}");
        }
        let long = format!(r#"{{"content":[{{"type":"x","d":"{}"}}]}}"#, "é".repeat(5000));
        assert!(texts(&tool_result(Wire::new(long)))[0].len() < 2200);
    }
}
