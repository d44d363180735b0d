//! What extensions there are and how they stand.

use jackfield_host::{Host, Standing};
use jackfield_protocol::{Contributions, Manifest, plain_text};
use schemars::JsonSchema;
use serde::Serialize;

/// An extension.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExtensionRow {
    /// Unique among those that take part.
    pub(crate) id: String,
    /// As its author wrote it.
    pub(crate) name: String,
    /// As its author wrote it.
    pub(crate) version: Option<String>,
    /// As its author wrote it.
    pub(crate) description: Option<String>,
    /// The form of its manifest.
    pub(crate) format: String,
    /// What runs it.
    pub(crate) runtime: String,
    /// Where it was found: `flag`, `project`, `global`, or `attached` for a client.
    pub(crate) scope: String,
    /// `ready`, `idle`, `failed` and so on; for one that does not take part, why.
    pub(crate) state: &'static str,
    /// Its own names of its tools, as far as they are known.
    pub(crate) tools: Vec<String>,
    /// What is wrong, if anything is.
    pub(crate) error: Option<String>,
}

/// All of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ExtensionList {
    pub(crate) extensions: Vec<ExtensionRow>,
}

pub(crate) fn rows(host: &Host) -> Vec<ExtensionRow> {
    let report = host.report();
    let found = report.extensions.iter().map(|found| {
        let serves = found.standing == Standing::Active;
        let state = match host.state(&found.manifest.id) {
            Some(state) if serves => state.name(),
            _ => found.standing.name(),
        };
        let error = if serves { host.trouble(&found.manifest.id) } else { found.standing.why_not() };
        // One that another hides has the same id.
        let known = if serves { host.contributions(&found.manifest.id) } else { None };
        row(&found.manifest, found.origin.as_str(), state, known.map(|known| known.0), error)
    });
    let attached = host.attached();
    let clients = attached.iter().map(|manifest| {
        let state = host.state(&manifest.id).map_or("shutdown", |state| state.name());
        row(manifest, "attached", state, host.contributions(&manifest.id).map(|known| known.0), None)
    });
    found.chain(clients).collect()
}

fn row(
    manifest: &Manifest,
    scope: &str,
    state: &'static str,
    known: Option<Contributions>,
    error: Option<String>,
) -> ExtensionRow {
    let tools = match known {
        Some(contributions) => contributions.tools.into_iter().map(|tool| tool.name).collect(),
        None => manifest.declared_tools.clone(),
    };
    ExtensionRow {
        id: manifest.id.to_string(),
        name: manifest.name.clone(),
        version: manifest.version.clone(),
        description: manifest.description.clone(),
        format: manifest.format.as_str().to_owned(),
        runtime: manifest.runtime.as_str().to_owned(),
        scope: scope.to_owned(),
        state,
        tools,
        error: error.as_deref().map(plain_text),
    }
}
