//! The tools as other programs see them, and a number that changes whenever they do.

use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_host::{Host, HostEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;

/// A tool.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolShown {
    /// Unique; calls go to this.
    pub(crate) name: String,
    /// For the model.
    pub(crate) description: String,
    /// A JSON Schema of the arguments.
    pub(crate) parameters: Value,
    /// Unique and the same whatever else is installed; calls may go to this, too.
    pub(crate) qualified_name: String,
    /// For people, where the extension gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    /// Always false: every tool is offered.
    pub(crate) optional: bool,
}

/// The tools of one extension.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ToolGroup {
    /// The extension's id.
    pub(crate) extension: String,
    /// The same, under the name that clients of pi-gateway look for.
    pub(crate) plugin: String,
    /// What the extension says about itself.
    pub(crate) description: String,
    /// In order of the names.
    pub(crate) tools: Vec<ToolShown>,
}

/// All tools.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ToolList {
    /// Changes whenever the tools do, also from one run to the next.
    pub(crate) revision: u64,
    /// The tools, grouped by extension.
    pub(crate) tools: Vec<ToolGroup>,
}

/// Whether the tools have changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ToolChanges {
    /// The number to ask with the next time.
    pub(crate) revision: u64,
    /// Whether it is another than the one that was asked with.
    pub(crate) changed: bool,
    /// All tools, if they have changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<ToolGroup>>,
}

/// The tools by extension. Those whose schema is unusable are left out.
pub(crate) fn groups(host: &Host) -> Vec<ToolGroup> {
    let (report, attached) = (host.report(), host.attached());
    let found = report.extensions.iter().filter(|found| found.is_active()).map(|found| &found.manifest);
    let mut about: BTreeMap<&str, &str> = BTreeMap::new();
    for manifest in found.chain(&attached) {
        about.insert(manifest.id.as_str(), manifest.description.as_deref().unwrap_or_default());
    }
    let mut groups: BTreeMap<String, ToolGroup> = BTreeMap::new();
    for tool in host.snapshot().tools().filter(|tool| tool.quarantine().is_none()) {
        let id = tool.extension.to_string();
        let group = groups.entry(id.clone()).or_insert_with(|| ToolGroup {
            description: about.get(id.as_str()).copied().unwrap_or_default().to_owned(),
            extension: id.clone(),
            plugin: id,
            tools: Vec::new(),
        });
        group.tools.push(ToolShown {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters().clone(),
            qualified_name: tool.qualified_name.clone(),
            label: tool.spec.label.clone(),
            optional: false,
        });
    }
    groups.into_values().collect()
}

fn digest(host: &Host) -> [u8; 32] {
    // Only compared within one run.
    Sha256::digest(serde_json::to_vec(&groups(host)).unwrap_or_default()).into()
}

/// The number of the tools as they are, from now on.
pub(crate) fn revisions(host: &Host) -> watch::Receiver<u64> {
    // Another number than any of an earlier run, so that whoever asks with one of those learns of a change.
    let start = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let (sender, receiver) = watch::channel(start);
    let mut events = host.events();
    let mut shown = digest(host);
    let host = host.clone();
    tokio::spawn(async move {
        loop {
            let changed = tokio::select! {
                event = events.recv() => match event {
                    Ok(HostEvent::RegistryChanged) | Err(RecvError::Lagged(_)) => true,
                    Ok(_) => false,
                    Err(RecvError::Closed) => return,
                },
                () = sender.closed() => return,
            };
            if changed {
                let now = digest(&host);
                if now != shown {
                    shown = now;
                    sender.send_modify(|revision| *revision += 1);
                }
            }
        }
    });
    receiver
}
