//! What the host says about a tool or command that no extension offers: that there is none, or that its extension does not run and why.

use std::time::Instant;

use jackfield_protocol::{CallError, Contributions, ErrorCode};

use crate::call::ToolCall;
use crate::host::Inner;
use crate::registry::{Snapshot, is_servers, qualified_name};
use crate::supervisor::{State, Supervised};

impl Inner {
    pub(crate) fn no_such_tool(&self, snapshot: &Snapshot, name: &str) -> CallError {
        let offered = |extension: &Supervised, earlier: &Contributions| {
            earlier.tools.iter().any(|tool| tool.name == name || qualified_name(&extension.id, &tool.name) == name)
        };
        let named = |extension: &Supervised| {
            let declared = &extension.found().manifest.declared_tools;
            let is_declared = |tool: &String| tool == name || qualified_name(&extension.id, tool) == name;
            name.starts_with(&qualified_name(&extension.id, ""))
                || declared.iter().any(is_declared)
                || is_servers(&extension.found().manifest, name)
        };
        if let Some(error) = self.fallen(&offered, &named) {
            return error;
        }
        let near: Vec<&str> = snapshot
            .tools()
            .map(|entry| entry.name.as_str())
            .filter(|other| other.contains(name) || name.contains(other))
            .take(3)
            .collect();
        let mut hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        let extensions = self.extensions.all.load();
        let broken: Vec<&str> =
            extensions.values().filter(|e| fault(e).is_some()).map(|e| e.id.as_str()).take(3).collect();
        if !broken.is_empty() {
            hint.push_str(&format!("; these extensions did not start: {}", broken.join(", ")));
        }
        CallError::new(ErrorCode::NotFound, format!("no tool named {name:?}{hint} (see `jackfield tools`)"))
    }

    /// Waits for the MCP server that a tool would be of, if it has not started yet: some take long to start, and a call can wait
    /// where a listing does not. True if it is worth looking again.
    pub(crate) async fn meet_server(&self, call: &ToolCall) -> bool {
        let extensions = self.extensions.all.load_full();
        let mut servers = extensions.values().filter(|extension| is_servers(&extension.found().manifest, &call.tool));
        let Some(server) = servers.find(|server| server.known().is_none() && fault(server).is_none()) else {
            return false;
        };
        let most = call.timeout.map_or_else(|| server.start_timeout(), |timeout| timeout.min(server.start_timeout()));
        tokio::select! {
            met = server.ready(Instant::now() + most) => met.is_ok(),
            () = call.cancel.cancelled() => false,
        }
    }

    pub(crate) fn no_such_command(&self, name: &str) -> CallError {
        let bare = name.strip_prefix('/').unwrap_or(name);
        let offered = |_: &Supervised, earlier: &Contributions| {
            earlier.commands.iter().any(|command| command.name.eq_ignore_ascii_case(bare))
        };
        let named = |extension: &Supervised| bare.split_once(':').is_some_and(|(id, _)| id == extension.id.as_str());
        self.fallen(&offered, &named).unwrap_or_else(|| {
            CallError::new(ErrorCode::NotFound, format!("no command named {name:?} (see `jackfield list`)"))
        })
    }

    /// The failure of an extension that offered it when it last ran, or whose name stands in what is asked for.
    fn fallen(
        &self,
        offered: &dyn Fn(&Supervised, &Contributions) -> bool,
        named: &dyn Fn(&Supervised) -> bool,
    ) -> Option<CallError> {
        let extensions = self.extensions.all.load();
        extensions.values().find_map(|extension| {
            let earlier = extension.known_or_previous();
            let its_own = earlier.is_some_and(|known| offered(extension, &known.contributions)) || named(extension);
            if !its_own {
                return None;
            }
            let id = &extension.id;
            match fault(extension) {
                Some(reason) => {
                    let message =
                        format!("extension {id} is not available: {reason} (try again with `jackfield reload {id}`)");
                    Some(CallError::new(ErrorCode::Unavailable, message).of(id))
                }
                // Switched off, not trusted, or without what it needs.
                None => extension.may_run().err(),
            }
        })
    }
}

/// How the extension failed, in this run or an earlier one.
fn fault(extension: &Supervised) -> Option<String> {
    match extension.state() {
        State::Failed { reason } => Some(reason),
        State::Idle => extension.failure().map(|failure| failure.reason.clone()),
        State::Spawning | State::Ready | State::Restarting { .. } | State::Shutdown => None,
    }
}
