//! `ext accept` for MCP servers: their tools as they are now, beside what they were when they were first used.

use jackfield_host::ToolChange;
use jackfield_protocol::{CallError, ErrorCode, ExtensionId};
use serde_json::{Value, json};

use super::confirm;
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output;

/// Accepts the tools of a server; nothing for what is no MCP server.
pub(super) fn accept(global: &Global, name: &str) -> anyhow::Result<Option<u8>> {
    let Some(id) = ExtensionId::sanitized(name) else { return Ok(None) };
    let host = compose::open(global, Scope::All)?;
    let Some(server) = host.pinned(&id) else { return Ok(None) };
    let (changes, damaged) = match server.changes {
        Ok(changes) => (changes, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    if changes.is_empty() && damaged.is_none() {
        if global.json {
            output::json(&json!({ "ok": true, "action": "none", "name": id, "changes": [] }))?;
        } else {
            output::plain(&format!("the tools of {id} are what was accepted, as far as they are known"))?;
        }
        return Ok(Some(exit::FINE));
    }
    if !global.json {
        for line in damaged.iter().cloned().chain(changes.iter().flat_map(lines)) {
            output::plain(&line)?;
        }
    }
    if !global.yes && !confirm(&format!("accept the tools of {id} as they are?"))? {
        output::line("not accepted")?;
        return Ok(Some(exit::FINE));
    }
    host.accept_tools(&id)
        .map_err(|error| CallError::new(ErrorCode::Io, format!("cannot record the tools of {id}: {error}")))?;
    if global.json {
        let changes: Vec<Value> = changes.iter().map(form).collect();
        output::json(&json!({ "ok": true, "action": "accepted", "name": id, "changes": changes }))?;
    } else {
        output::plain(&format!("accepted; hosts that run take it with `jackfield reload {id}`"))?;
    }
    Ok(Some(exit::FINE))
}

fn lines(change: &ToolChange) -> Vec<String> {
    let differences = change.differences.iter().map(|difference| format!("    {difference}"));
    std::iter::once(format!("tool {}:", change.tool)).chain(differences).collect()
}

fn form(change: &ToolChange) -> Value {
    json!({ "tool": change.tool, "differences": change.differences })
}
