//! What can be listed: definitions as their authors wrote them, under names that are unique here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use jackfield_host::{Host, Snapshot, Standing, ToolEntry};
use jackfield_protocol::{ExtensionId, Launch};
use serde_json::{Map, Value, json};

use super::search::Index;
use super::wire;

/// Everything that can be listed at one moment.
pub(crate) struct Lists {
    pub(crate) snapshot: Arc<Snapshot>,
    /// In order of the names.
    pub(crate) tools: Vec<Item>,
    /// In order of the names.
    pub(crate) prompts: Vec<Item>,
    /// In order of extensions, then as each of them lists them.
    pub(crate) resources: Vec<Item>,
    /// In order of extensions, then as each of them lists them.
    pub(crate) templates: Vec<Item>,
    pub(crate) prompt_owners: HashMap<String, Owner>,
    pub(crate) resource_owners: HashMap<String, Owner>,
    /// The extension that offers each template.
    pub(crate) template_owners: Vec<(String, ExtensionId)>,
    /// Servers that have resources at all, and the schemes of those that they list.
    pub(crate) resource_servers: Vec<(ExtensionId, HashSet<String>)>,
    index: OnceLock<Index>,
}

/// One line of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    /// Unique within its list.
    pub(crate) name: String,
    /// Its definition as JSON.
    pub(crate) text: String,
}

/// Whose something is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A slash command of that name.
    Command(String),
    /// The log of an extension.
    Log(ExtensionId),
    /// Something of an MCP server, and its name or address there.
    Server(ExtensionId, String),
}

impl Lists {
    /// Looks at everything that is known now.
    pub(crate) fn of(host: &Host, snapshot: Arc<Snapshot>) -> Self {
        let tools = snapshot
            .tools()
            .filter(|tool| tool.known_quarantine().is_none() && !tool.spec.interactive)
            .map(|tool| Item { name: tool.name.clone(), text: definition(tool) })
            .collect();
        let mut lists = Self {
            snapshot,
            tools,
            prompts: Vec::new(),
            resources: Vec::new(),
            templates: Vec::new(),
            prompt_owners: HashMap::new(),
            resource_owners: HashMap::new(),
            template_owners: Vec::new(),
            resource_servers: Vec::new(),
            index: OnceLock::new(),
        };
        lists.add_commands();
        for found in host.report().extensions.iter().filter(|found| found.standing == Standing::Active) {
            let Launch::Mcp(server) = &found.manifest.launch else { continue };
            let Some((contributions, _)) = host.contributions(&found.manifest.id) else { continue };
            let Some(Value::Object(said)) = contributions.extra.get("mcp") else { continue };
            let id = &found.manifest.id;
            let prefix = server.prefix.clone().unwrap_or_else(|| format!("{id}__"));
            lists.add_prompts(id, &prefix, said);
            lists.add_resources(id, said);
        }
        lists.add_logs(host);
        lists.prompts.sort_by(|a, b| a.name.cmp(&b.name));
        lists
    }

    /// For finding tools.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::of(self.snapshot.tools().filter(|tool| tool.known_quarantine().is_none())))
    }

    fn add_commands(&mut self) {
        let snapshot = Arc::clone(&self.snapshot);
        for command in snapshot.commands() {
            let text = json!({
                "name": command.name,
                "description": command.spec.description,
                "arguments": [{ "name": "args", "description": "What follows the command.", "required": false }],
            });
            self.prompts.push(Item { name: command.name.clone(), text: text.to_string() });
            self.prompt_owners.insert(command.name.clone(), Owner::Command(command.name.clone()));
        }
    }

    fn add_prompts(&mut self, id: &ExtensionId, prefix: &str, said: &Map<String, Value>) {
        for text in texts(said, "prompts") {
            let Some(name) = text_of(text, "name") else { continue };
            let mut public = format!("{prefix}{name}");
            if self.prompt_owners.contains_key(&public) {
                public = format!("{id}__{name}");
            }
            if self.prompt_owners.contains_key(&public) {
                continue;
            }
            self.prompts.push(Item { text: wire::with(text, "name", &json!(public)), name: public.clone() });
            self.prompt_owners.insert(public, Owner::Server(id.clone(), name));
        }
    }

    fn add_resources(&mut self, id: &ExtensionId, said: &Map<String, Value>) {
        let mut schemes = HashSet::new();
        for text in texts(said, "resources") {
            let Some(uri) = text_of(text, "uri") else { continue };
            schemes.insert(scheme(&uri).to_owned());
            let mut public = uri.clone();
            if self.resource_owners.contains_key(&public) {
                // Two servers have the same address; the second one is reached under one of ours.
                public = format!("jackfield://{id}/{}", escaped(&uri));
            }
            if self.resource_owners.contains_key(&public) {
                continue;
            }
            self.resources.push(Item { text: wire::with(text, "uri", &json!(public)), name: public.clone() });
            self.resource_owners.insert(public, Owner::Server(id.clone(), uri));
        }
        for text in texts(said, "resource_templates") {
            let Some(template) = text_of(text, "uriTemplate") else { continue };
            schemes.insert(scheme(&template).to_owned());
            if self.template_owners.iter().all(|(known, _)| *known != template) {
                self.templates.push(Item { text: text.to_owned(), name: template.clone() });
            }
            self.template_owners.push((template, id.clone()));
        }
        let has_resources = said.get("capabilities").is_some_and(|can| can.get("resources").is_some());
        if has_resources || !schemes.is_empty() {
            self.resource_servers.push((id.clone(), schemes));
        }
    }

    /// The log of every extension is a resource.
    fn add_logs(&mut self, host: &Host) {
        let report = host.report();
        for found in report.extensions.iter().filter(|found| found.standing == Standing::Active) {
            let id = &found.manifest.id;
            let uri = format!("jackfield://logs/{}", escaped(id.as_str()));
            let text = json!({
                "uri": uri,
                "name": format!("log of {id}"),
                "description": format!("What the extension {id} wrote to its log, the last part of it."),
                "mimeType": "text/plain",
            });
            self.resources.push(Item { name: uri.clone(), text: text.to_string() });
            self.resource_owners.insert(uri, Owner::Log(id.clone()));
        }
    }
}

/// A tool as a client sees it.
pub(crate) fn definition(tool: &ToolEntry) -> String {
    if let Some(text) = &tool.spec.wire {
        return wire::with(text.as_str(), "name", &json!(tool.name));
    }
    let mut definition = Map::new();
    definition.insert("name".to_owned(), json!(tool.name));
    if let Some(title) = &tool.spec.label {
        definition.insert("title".to_owned(), json!(title));
    }
    definition.insert("description".to_owned(), json!(tool.description));
    definition.insert("inputSchema".to_owned(), of_objects(tool.parameters()));
    if let Some(schema) = tool.spec.output_schema.as_ref().filter(|schema| takes_objects(schema)) {
        definition.insert("outputSchema".to_owned(), schema.clone());
    }
    Value::Object(definition).to_string()
}

/// Whether structured results of a tool are passed on: only where its schema of them is.
pub(crate) fn has_output_schema(tool: &ToolEntry) -> bool {
    tool.spec.output_schema.as_ref().is_some_and(takes_objects)
}

fn takes_objects(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// The schema, which clients want to say that it is one of objects.
fn of_objects(schema: &Value) -> Value {
    match schema {
        schema if takes_objects(schema) => schema.clone(),
        Value::Object(members) => {
            let mut whole = Map::new();
            whole.insert("type".to_owned(), json!("object"));
            whole.extend(members.iter().filter(|(name, _)| *name != "type").map(|(k, v)| (k.clone(), v.clone())));
            Value::Object(whole)
        }
        _ => json!({ "type": "object" }),
    }
}

fn texts<'a>(said: &'a Map<String, Value>, list: &str) -> impl Iterator<Item = &'a str> {
    said.get(list).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A text among the members of a definition.
fn text_of(definition: &str, name: &str) -> Option<String> {
    serde_json::from_str(wire::Members::of(definition)?.get(name)?).ok()
}

/// What stands before the colon.
pub(crate) fn scheme(uri: &str) -> &str {
    uri.split_once(':').map_or("", |(scheme, _)| scheme)
}

/// A text as a part of an address.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Which of two states differ.
pub(crate) fn changed(before: &Lists, now: &Lists) -> super::notifications::Changed {
    let same = |a: &[Item], b: &[Item]| a == b;
    super::notifications::Changed {
        tools: !same(&before.tools, &now.tools),
        prompts: !same(&before.prompts, &now.prompts),
        resources: !same(&before.resources, &now.resources) || !same(&before.templates, &now.templates),
    }
}

/// A page of a list: its items, and where the next one begins.
pub(crate) fn page<'a>(
    items: impl Iterator<Item = &'a Item>,
    cursor: Option<&str>,
    size: usize,
) -> Result<(Vec<&'a str>, Option<String>), String> {
    let all: Vec<&Item> = items.collect();
    let from = match cursor {
        None => 0,
        Some(cursor) => {
            let last = wire::after(cursor).ok_or_else(|| format!("the cursor {cursor:?} is none of ours"))?;
            let places: BTreeMap<&str, usize> = all.iter().enumerate().map(|(at, it)| (it.name.as_str(), at)).collect();
            // What the cursor stands after may be gone; then the next one in order is where it goes on.
            places
                .get(last.as_str())
                .map_or_else(|| all.partition_point(|it| it.name.as_str() <= last.as_str()), |at| at + 1)
        }
    };
    let part: Vec<&Item> = all.iter().skip(from).take(size).copied().collect();
    let next = part.last().filter(|_| from + part.len() < all.len()).map(|last| wire::cursor(&last.name));
    Ok((part.into_iter().map(|item| item.text.as_str()).collect(), next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_cover_everything_once() {
        let items: Vec<Item> = (0..7).map(|n| Item { name: format!("t{n}"), text: n.to_string() }).collect();
        let (mut seen, mut cursor) = (Vec::new(), None);
        loop {
            let (texts, next) = page(items.iter(), cursor.as_deref(), 3).expect("a page");
            seen.extend(texts);
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(seen, ["0", "1", "2", "3", "4", "5", "6"]);
        assert!(page(items.iter(), Some("nonsense"), 3).is_err());
        let gone = wire::cursor("t2x");
        assert_eq!(page(items.iter(), Some(&gone), 1).expect("goes on").0, ["3"]);
    }

    #[test]
    fn every_schema_is_one_of_objects() {
        assert_eq!(of_objects(&json!({"properties": {"a": {}}})), json!({"type": "object", "properties": {"a": {}}}));
        assert_eq!(of_objects(&json!(true)), json!({"type": "object"}));
    }
}
