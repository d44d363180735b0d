//! Lowers what extensions answer into [`ToolResult`]s.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_protocol::{CommandAction, CommandReply, Content, ToolResult, frames::CommandResponse};
use serde_json::{Value, json};

/// The most that goes back to an extension that called a tool.
const MOST_FOR_EXTENSION: usize = 256 * 1024;

/// Lowers raw blocks. Nothing an extension sends makes this fail: what cannot be read becomes a text that says so.
pub(crate) fn tool_result(
    extension: &str,
    tool: &str,
    blocks: Vec<Value>,
    is_error: bool,
    details: Option<Value>,
) -> ToolResult {
    let mut result = ToolResult { content: Vec::with_capacity(blocks.len()), is_error, details, wire: None };
    for block in blocks {
        match lower(extension, tool, block) {
            Lowered::Keep(content) => result.content.push(content),
            Lowered::Drop => {}
            Lowered::Broken(text) => {
                result.content.push(Content::text(text));
                result.is_error = true;
            }
        }
    }
    if result.content.is_empty() {
        result.content.push(Content::text("(extension returned no content)"));
    }
    result
}

enum Lowered {
    Keep(Content),
    Drop,
    Broken(String),
}

fn lower(extension: &str, tool: &str, block: Value) -> Lowered {
    let kind = match block.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        _ => String::new(),
    };
    if !matches!(kind.as_str(), "text" | "image") {
        return Lowered::Keep(Content::text(format!("[unknown block type {kind:?} from extension {extension}]")));
    }
    match serde_json::from_value(block) {
        Ok(Content::Text { text, .. }) if text.is_empty() => Lowered::Drop,
        Ok(Content::Image { data, mime_type }) => match STANDARD.decode(&data) {
            Ok(_) => Lowered::Keep(Content::Image { mime_type, data }),
            Err(error) => Lowered::Broken(format!("extension {extension}/{tool} returned undecodable image: {error}")),
        },
        Ok(content) => Lowered::Keep(content),
        Err(error) => Lowered::Broken(format!("extension {extension}/{tool} returned a broken {kind} block: {error}")),
    }
}

/// Lowers an answer of no fixed form: blocks if it has some, a text as it is, anything else as compact JSON beside which
/// the value itself stands.
pub(crate) fn free_result(extension: &str, tool: &str, value: Value) -> ToolResult {
    match value {
        Value::String(text) => ToolResult::text(text),
        Value::Object(mut object) if is_blocks(object.get("content")) => {
            let flag = |key: &str| object.get(key).and_then(Value::as_bool).unwrap_or(false);
            let is_error = flag("is_error") || flag("isError");
            let details = ["structured_content", "structuredContent", "details"]
                .iter()
                .find_map(|key| object.get(*key).filter(|value| !value.is_null()).cloned());
            let blocks = match object.remove("content") {
                Some(Value::Array(blocks)) => blocks,
                _ => Vec::new(),
            };
            tool_result(extension, tool, blocks, is_error, details)
        }
        value => {
            let content = vec![Content::text(value.to_string())];
            ToolResult { content, is_error: false, details: (!value.is_null()).then_some(value), wire: None }
        }
    }
}

/// An array of objects that each name their type; other arrays called `content` are data.
fn is_blocks(content: Option<&Value>) -> bool {
    matches!(content, Some(Value::Array(blocks)) if blocks.iter().all(|block| block.get("type").is_some_and(Value::is_string)))
}

/// The answer to a slash command.
pub(crate) fn command_reply(response: CommandResponse) -> CommandReply {
    let mut error = (!response.error.is_empty()).then_some(response.error);
    let mut unusable = |text: String| {
        error.get_or_insert(text);
        CommandAction::Noop
    };
    let action = match response.action.as_str() {
        "prompt" if response.prompt.trim().is_empty() => CommandAction::Noop,
        "prompt" => CommandAction::Prompt { prompt: response.prompt },
        "insert" => CommandAction::Insert { insert: response.insert },
        "display" => CommandAction::Display { display: response.display },
        "open_panel" => match response.open_panel {
            Some(panel) => CommandAction::OpenPanel { panel },
            None => unusable("action open_panel without a panel".to_owned()),
        },
        "tool_prompt" if response.tool_name.is_empty() => unusable("action tool_prompt without a tool_name".to_owned()),
        "tool_prompt" => CommandAction::ToolPrompt {
            prompt: response.prompt,
            tool_name: response.tool_name,
            tool_args: if response.tool_args.is_null() { json!({}) } else { response.tool_args },
        },
        "noop" | "" => CommandAction::Noop,
        other => unusable(format!("unknown action {other}")),
    };
    CommandReply { action, error }
}

/// Cuts what a tool answered to what an extension may get; true if something was cut.
pub(crate) fn cut(content: Vec<Content>) -> (Vec<Content>, bool) {
    let mut left = MOST_FOR_EXTENSION;
    let mut kept = Vec::with_capacity(content.len());
    let mut was_cut = false;
    for block in content {
        match block {
            Content::Text { mut text, format } => {
                if text.len() > left {
                    was_cut = true;
                    let mut end = left;
                    while !text.is_char_boundary(end) {
                        end -= 1;
                    }
                    text.truncate(end);
                }
                left -= text.len();
                if !(was_cut && text.is_empty()) {
                    kept.push(Content::Text { text, format });
                }
            }
            Content::Image { mime_type, data } => {
                if data.len() > left {
                    was_cut = true;
                } else {
                    left -= data.len();
                    kept.push(Content::Image { mime_type, data });
                }
            }
        }
    }
    (kept, was_cut)
}

#[cfg(test)]
mod tests;
