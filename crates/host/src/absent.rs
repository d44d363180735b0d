//! What is said about a tool or command that nobody offers: that there is none, or that its extension does not run and why.

use jackfield_protocol::{CallError, Contributions, ErrorCode};

use crate::host::Inner;
use crate::registry::{Snapshot, qualified_name};
use crate::supervisor::{State, Supervised};

impl Inner {
    pub(crate) fn no_such_tool(&self, snapshot: &Snapshot, name: &str) -> CallError {
        let offered = |extension: &Supervised, earlier: &Contributions| {
            earlier.tools.iter().any(|tool| tool.name == name || qualified_name(&extension.id, &tool.name) == name)
        };
        if let Some(error) = self.fallen(&offered, &|id| name.starts_with(&qualified_name(&id.id, ""))) {
            return error;
        }
        let near: Vec<&str> = snapshot
            .tools()
            .map(|entry| entry.name.as_str())
            .filter(|other| other.contains(name) || name.contains(other))
            .take(3)
            .collect();
        let hint = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        CallError::new(ErrorCode::NotFound, format!("no tool named {name:?}{hint} (see `jackfield tools`)"))
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
        let extensions = self.extensions.load();
        extensions.values().find_map(|extension| {
            let reason = fault(extension)?;
            let earlier = extension.known_or_previous();
            let its_own = earlier.is_some_and(|known| offered(extension, &known.contributions)) || named(extension);
            its_own.then(|| {
                let id = &extension.id;
                let message =
                    format!("extension {id} is not available: {reason} (try again with `jackfield reload {id}`)");
                CallError::new(ErrorCode::Unavailable, message).of(id)
            })
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
