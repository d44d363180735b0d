//! The bridge into pi: a pi extension, written by us, that offers every tool of a host.
//!
//! pi loads extensions as files and ends when one is broken, so a file is checked with a real parser before it is used, the
//! last good one is kept, and none is removed that somebody may have loaded.

mod place;
mod source;

use std::path::Path;

use jackfield_host::Snapshot;
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::{Map, Value, json};

pub use self::place::{BridgeLock, Written};
pub use self::source::source;

/// pi's own tools; an extension's tool of such a name would take their place.
pub const PI_BUILT_IN: [&str; 7] = ["read", "bash", "edit", "write", "grep", "find", "ls"];

/// The variables in which a bridge finds its gateway and its token.
pub const URL_VARIABLE: &str = "JACKFIELD_BRIDGE_URL";
/// See [`URL_VARIABLE`].
pub const TOKEN_VARIABLE: &str = "JACKFIELD_BRIDGE_TOKEN";

/// The longest name that every model provider takes.
const LONGEST_NAME: usize = 64;

/// A tool, as the bridge offers it.
#[derive(Debug, Clone, PartialEq)]
pub struct BridgeTool {
    /// Its public name in the host.
    pub name: String,
    /// For the model.
    pub description: String,
    /// A JSON Schema of type object.
    pub parameters: Value,
}

impl BridgeTool {
    /// A tool with a schema that model providers take: an object with properties, whatever else it says.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: &Value) -> Self {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), json!({}));
        if let Value::Object(parameters) = parameters {
            schema.extend(parameters.clone());
        }
        Self { name: name.into(), description: description.into(), parameters: Value::Object(schema) }
    }

    /// The name that it has in pi, unless another extension of pi has that too.
    pub fn pi_name(&self) -> String {
        let plain: String = self
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' })
            .take(LONGEST_NAME)
            .collect();
        if PI_BUILT_IN.contains(&plain.as_str()) { second_name(&plain) } else { plain }
    }

    /// The names under which pi may come to know it.
    pub fn pi_names(&self) -> [String; 2] {
        let name = self.pi_name();
        let second = second_name(&name);
        [name, second]
    }
}

fn second_name(name: &str) -> String {
    format!("jackfield_{name}").chars().take(LONGEST_NAME).collect()
}

/// The tools that can be called, in order of their names.
pub fn tools(snapshot: &Snapshot) -> Vec<BridgeTool> {
    snapshot
        .tools()
        .filter(|entry| entry.quarantine().is_none())
        .map(|entry| BridgeTool::new(entry.name.clone(), entry.description.clone(), entry.parameters()))
        .collect()
}

/// Says why a text is no TypeScript. The gateway has no parser; whoever puts the program together hands one in.
pub type Validate<'v> = &'v dyn Fn(&str) -> Result<(), String>;

/// Writes the extension into a private folder and gives where it is. A text that does not pass is not written; the last
/// good file is used then.
///
/// # Errors
/// The folder cannot be used, or the text does not pass and there is no file from before.
pub fn write(folder: &Path, text: &str, validate: Validate<'_>) -> Result<Written, CallError> {
    place::private_folder(folder)?;
    match validate(text) {
        Ok(()) => place::keep(folder, text),
        Err(why) => place::last_good(folder, &why).ok_or_else(|| {
            let message = format!(
                "the bridge for pi was not written: its text is not valid TypeScript ({why}), and there is none from \
                 before in {}; call `jackfield tools` to see which tool has an odd name or schema",
                folder.display()
            );
            CallError::new(ErrorCode::Internal, message)
        }),
    }
}

/// Writes the extension into a folder of somebody's choice, which is left as it is otherwise.
///
/// # Errors
/// The folder cannot be used, or the text does not pass.
pub fn write_to(folder: &Path, text: &str, validate: Validate<'_>) -> Result<Written, CallError> {
    validate(text).map_err(|why| {
        let message = format!("the bridge for pi was not written: its text is not valid TypeScript ({why})");
        CallError::new(ErrorCode::Internal, message)
    })?;
    place::put(folder, text)
}

/// Appends the bridge's tools to a list of tools in pi's arguments: pi hides every tool that such a list does not name.
pub fn allow_tools(args: &[String], tools: &[BridgeTool]) -> Vec<String> {
    let names: Vec<String> = tools.iter().flat_map(BridgeTool::pi_names).collect();
    let extended = |list: &str| {
        let given = list.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
        given.chain(names.iter().cloned()).collect::<Vec<_>>().join(",")
    };
    let mut out = Vec::with_capacity(args.len());
    let mut is_list = false;
    let mut is_over = false;
    for arg in args {
        if is_list {
            out.push(extended(arg));
            is_list = false;
            continue;
        }
        is_over |= arg == "--";
        if let Some(list) = arg.strip_prefix("--tools=").filter(|_| !is_over) {
            out.push(format!("--tools={}", extended(list)));
            continue;
        }
        is_list = !is_over && matches!(arg.as_str(), "--tools" | "-t");
        out.push(arg.clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str) -> BridgeTool {
        BridgeTool::new(name, "", &Value::Null)
    }

    #[test]
    fn pis_own_names_stay_pis() {
        for name in PI_BUILT_IN {
            assert_eq!(tool(name).pi_name(), format!("jackfield_{name}"));
        }
        assert_eq!(tool("wörd count").pi_name(), "w_rd_count");
        assert!(tool(&"x".repeat(90)).pi_names().iter().all(|name| name.len() == LONGEST_NAME));
    }

    #[test]
    fn schemas_are_objects() {
        assert_eq!(tool("a").parameters, json!({ "type": "object", "properties": {} }));
        let given = json!({ "required": ["x"], "properties": { "x": {} } });
        let made = BridgeTool::new("a", "", &given).parameters;
        assert_eq!(made, json!({ "type": "object", "properties": { "x": {} }, "required": ["x"] }));
    }

    #[test]
    fn lists_of_tools_are_extended() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let tools = [tool("count")];
        let allowed = allow_tools(&words("-p --tools read,bash hi"), &tools);
        assert_eq!(allowed, words("-p --tools read,bash,count,jackfield_count hi"));
        let allowed = allow_tools(&words("--tools=read -t ls"), &tools);
        assert_eq!(allowed, words("--tools=read,count,jackfield_count -t ls,count,jackfield_count"));
        assert_eq!(allow_tools(&words("-p hi"), &tools), words("-p hi"));
        assert_eq!(allow_tools(&words("-- --tools x"), &tools), words("-- --tools x"));
    }
}
