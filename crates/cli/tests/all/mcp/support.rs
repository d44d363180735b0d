//! What these tests share.

use std::path::{Path, PathBuf};

use jackfield_test_support::{Sandbox, misbehaving};
use serde_json::{Value, json};

pub(crate) use crate::sandbox;

/// An entry for the server that misbehaves on command.
pub fn entry(modes: &[&str]) -> Value {
    let mut args = vec![misbehaving("mcp_server.py").display().to_string()];
    args.extend(modes.iter().map(|mode| (*mode).to_owned()));
    json!({ "command": "python3", "args": args })
}

/// Writes servers into a file.
pub fn write(sandbox: &Sandbox, file: &Path, servers: Value) {
    sandbox.write(file, &json!({ "mcpServers": servers }).to_string());
}

/// The user's own file.
pub fn own_file(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join("mcp.json")
}

/// A sandbox with one server, `odd`.
pub fn with(modes: &[&str]) -> Sandbox {
    let sandbox = sandbox();
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(modes) }));
    sandbox
}

/// Calls a tool and gives its text; fails unless it works.
#[track_caller]
pub fn called(sandbox: &Sandbox, tool: &str, args: &Value) -> String {
    sandbox.called(&["call", tool, &args.to_string()])
}

/// The names of all tools, and what is said beside them.
#[track_caller]
pub fn tools(sandbox: &Sandbox) -> (Vec<String>, String) {
    let (_, listing) = sandbox.json(&["tools"]);
    let names = listing["tools"].as_array().unwrap_or_else(|| panic!("{listing:#}"));
    let names = names.iter().filter_map(|tool| Some(tool["name"].as_str()?.to_owned())).collect();
    (names, listing["diagnostics"].to_string())
}
