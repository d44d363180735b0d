//! What a server offers: its lists, fetched page by page within bounds, and what the host makes of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{Contributions, ToolSpec, Wire};
use jackfield_runtime::{CallCx, Registrations};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::envelope::METHOD_NOT_FOUND;
use crate::handshake::HandshakeResult;
use crate::session::{Ask, Session};

/// Pages that one list may have.
const MOST_PAGES: usize = 100;
/// Entries that one list may have.
const MOST_ITEMS: usize = 2048;
/// What the entries of one list may take together, in bytes.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The largest definition of a tool, in bytes.
const MAX_TOOL_BYTES: usize = 1024 * 1024;
/// The longest mark of a page, in bytes.
const LONGEST_CURSOR: usize = 64 * 1024;
/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 1024;
/// How long one list may take.
const LIST_TIME: Duration = Duration::from_secs(30);

/// The lists that servers have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Tools,
    Prompts,
    Resources,
    Templates,
}

impl List {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }
}

/// What a server offered when it was last asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offers {
    pub(crate) tools: Fetched,
    pub(crate) prompts: Fetched,
    pub(crate) resources: Fetched,
    pub(crate) templates: Fetched,
}

/// One list that a server offers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fetched {
    items: Vec<Wire>,
    warnings: Vec<String>,
}

/// Fetches a list; the error says what was wrong.
pub(crate) async fn fetch(session: &Arc<Session>, list: List, most: Duration) -> Result<Fetched, String> {
    let cx = CallCx::within(most.min(LIST_TIME));
    let declared = session.met.get().is_some_and(|met| met.can(list.capability()));
    if !declared && list != List::Tools {
        return Ok(Fetched::default());
    }
    let method = list.method();
    let mut fetched = Fetched::default();
    let (mut cursor, mut bytes): (Option<String>, usize) = (None, 0);
    for _ in 0..MOST_PAGES {
        let meta = session.meta(&Map::new(), None);
        let params = |_: u64| {
            let cursor = cursor.as_ref().map(|cursor| format!("\"cursor\":{}", Value::from(cursor.as_str())));
            let meta = meta.map(|meta| format!("\"_meta\":{meta}"));
            format!("{{{}}}", cursor.into_iter().chain(meta).collect::<Vec<_>>().join(","))
        };
        let page = match session.request(Ask::own(method), params, &cx).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) if error.code == METHOD_NOT_FOUND && (!declared || list == List::Templates) => break,
            Ok(Err(error)) => return Err(session.refusal(method, &error).message),
            Err(error) => return Err(error.message),
        };
        let members: HashMap<String, &RawValue> = serde_json::from_str(page.as_str())
            .map_err(|error| format!("the answer to {method} is no object: {error}"))?;
        let items = members.get(list.key()).map(|items| serde_json::from_str::<Vec<&RawValue>>(items.get()));
        let items = match items {
            Some(Ok(items)) => items,
            Some(Err(_)) | None => return Err(format!("the answer to {method} has no list of {}", list.key())),
        };
        for item in items {
            bytes += item.get().len();
            if fetched.items.len() >= MOST_ITEMS || bytes > MOST_BYTES {
                fetched.warnings.push(format!(
                    "{method} was cut: a server may offer {MOST_ITEMS} {} in {} MiB",
                    list.key(),
                    MOST_BYTES / 1024 / 1024
                ));
                return Ok(fetched);
            }
            match session.server.fault(item.get()).filter(|_| list == List::Tools) {
                Some(why) => fetched.warnings.push(format!("a tool was left out: {why}")),
                None => fetched.items.push(Wire::new(item.get())),
            }
        }
        let next =
            members.get("nextCursor").and_then(|next| serde_json::from_str::<Option<String>>(next.get()).ok()?);
        match next {
            None => return Ok(fetched),
            Some(next) if next.len() > LONGEST_CURSOR || Some(&next) == cursor.as_ref() => {
                fetched
                    .warnings
                    .push(format!("{method} was cut: the mark of its next page is too long, or the same again"));
                return Ok(fetched);
            }
            next => cursor = next,
        }
    }
    if cursor.is_some() {
        fetched.warnings.push(format!("{method} was cut after {MOST_PAGES} pages"));
    }
    Ok(fetched)
}

/// Everything a server offers. Only tools must be there; what else cannot be listed is left out with a word.
pub(crate) async fn fetch_all(session: &Arc<Session>, most: Duration) -> Result<Offers, String> {
    let (tools, prompts, resources, templates) = tokio::join!(
        fetch(session, List::Tools, most),
        fetch(session, List::Prompts, most),
        fetch(session, List::Resources, most),
        fetch(session, List::Templates, most),
    );
    Ok(Offers {
        tools: tools?,
        prompts: prompts.unwrap_or_else(Fetched::failed),
        resources: resources.unwrap_or_else(Fetched::failed),
        templates: templates.unwrap_or_else(Fetched::failed),
    })
}

impl Fetched {
    pub(crate) fn failed(error: String) -> Self {
        Self { items: Vec::new(), warnings: vec![error] }
    }

    fn texts(&self) -> Vec<&str> {
        self.items.iter().map(Wire::as_str).collect()
    }
}

impl Offers {
    /// What the host is told.
    pub(crate) fn contributions(&self, met: &HandshakeResult, warnings: &[String]) -> Contributions {
        let mut registrations = Registrations::default();
        let lists = [&self.tools, &self.prompts, &self.resources, &self.templates];
        for warning in warnings.iter().chain(lists.into_iter().flat_map(|list| &list.warnings)) {
            registrations.warn(warning.clone());
        }
        for tool in &self.tools.items {
            match tool_spec(tool) {
                Ok(spec) => registrations.tool(spec),
                Err(warning) => registrations.warn(warning),
            }
        }
        let mut contributions = registrations.finish();
        contributions.version = met.server_version();
        let mcp = json!({
            "server_info": met.info,
            "instructions": met.instructions,
            "capabilities": met.capabilities,
            "protocol_version": met.version,
            "prompts": self.prompts.texts(),
            "resources": self.resources.texts(),
            "resource_templates": self.templates.texts(),
        });
        contributions.extra.insert("mcp".to_owned(), mcp);
        contributions
    }
}

/// A tool as the host knows it; the definition goes along as it was written.
fn tool_spec(wire: &Wire) -> Result<ToolSpec, String> {
    let text = wire.as_str();
    let shown = || text.chars().take(100).collect::<String>();
    if text.len() > MAX_TOOL_BYTES {
        return Err(format!("a tool was left out: its definition is larger than 1 MiB: {}…", shown()));
    }
    let Ok(Value::Object(mut tool)) = serde_json::from_str(text) else {
        return Err(format!("a tool was left out: {} is not an object, or too deep", shown()));
    };
    let mut word = |key: &str| match tool.shift_remove(key) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let Some(name) = word("name").filter(|name| !name.trim().is_empty() && name.len() <= LONGEST_NAME) else {
        return Err(format!("a tool was left out: it has no name of 1 to {LONGEST_NAME} bytes: {}", shown()));
    };
    let (title, description) = (word("title"), word("description").unwrap_or_default());
    let annotations = tool.shift_remove("annotations").filter(Value::is_object);
    let titled = || Some(annotations.as_ref()?.get("title")?.as_str()?.to_owned());
    let label = title.or_else(titled);
    Ok(ToolSpec {
        label,
        description,
        parameters: tool.shift_remove("inputSchema").unwrap_or_else(|| json!({ "type": "object" })),
        output_schema: tool.shift_remove("outputSchema").filter(|schema| !schema.is_null()),
        extra: annotations.map(|annotations| ("annotations".to_owned(), annotations)).into_iter().collect(),
        wire: Some(wire.clone()),
        ..ToolSpec::open(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_read_and_kept() {
        let text = r#"{"name":"a b","x":1,"inputSchema":{"type":"object","z":1,"a":2},"annotations":{"title":"T","readOnlyHint":true},"description":null}"#;
        let spec = tool_spec(&Wire::new(text)).expect("a tool");
        assert_eq!((spec.name.as_str(), spec.label.as_deref(), spec.description.as_str()), ("a b", Some("T"), ""));
        assert_eq!(spec.parameters.to_string(), r#"{"type":"object","z":1,"a":2}"#);
        assert_eq!(spec.extra["annotations"]["readOnlyHint"], true);
        assert_eq!(spec.wire.expect("kept").as_str(), text);
        for text in ["7", "{}", r#"{"name":" "}"#, r#"{"name":7}"#] {
            assert!(tool_spec(&Wire::new(text)).is_err(), "{text}");
        }
    }
}
