//! Slash commands of extensions.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ledger::{Begin, Kind};
use jackfield_policy::Delivery;
use jackfield_protocol::{CallError, CallId, CommandReply, ErrorCode, ExtensionId, redact_text};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::json;

use crate::host::{Inner, Wanted};

/// How long a slash command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long one may take that can ask the person.
const TALKING_COMMAND_TIMEOUT: Duration = Duration::from_secs(3600);

/// What came of a slash command.
#[derive(Debug)]
#[non_exhaustive]
pub struct CommandOutcome {
    /// The ledger's name for it.
    pub call_id: CallId,
    /// Its registered spelling.
    pub command: String,
    /// The extension that owns the command, if the host found one.
    pub extension: Option<ExtensionId>,
    /// The answer, or why there is none.
    pub result: Result<CommandReply, CallError>,
}

impl Inner {
    /// Runs a slash command of an extension.
    pub(crate) async fn run_command(self: &Arc<Self>, name: &str, args: &str) -> CommandOutcome {
        self.meet(Wanted::Command(name), None).await;
        let snapshot = Arc::clone(&self.snapshot());
        let call_id = self.next_call_id();
        let Some(entry) = snapshot.command(name).cloned() else {
            let result = Err(self.no_such_command(name));
            return CommandOutcome { call_id, command: name.to_owned(), extension: None, result };
        };
        let result = async {
            let params = json!({ "args": args });
            let extension = entry.extension.as_str();
            let asks_person = entry.owner.traits().asks_person;
            let timeout = if asks_person { TALKING_COMMAND_TIMEOUT } else { COMMAND_TIMEOUT };
            let recording = self.begin_recording(Begin {
                timeout_ms: Some(timeout.as_millis() as u64),
                ..Begin::new(Kind::SlashCommand, call_id.as_str(), extension, &entry.name, &params)
            })?;
            let deadline = Instant::now() + timeout;
            let answer = async {
                let permit = self.permit_delivery(&entry.extension, Delivery::Command(&entry.name))?;
                let call = ExtensionCall::Command {
                    call_id: call_id.clone(),
                    name: entry.spec.name.clone(),
                    args: args.trim().to_owned(),
                };
                let cx = CallCx { deadline, cancel: self.cancel.child_token() };
                match entry.owner.deliver(&permit, call, cx).await? {
                    Reply::Command(reply) => Ok(reply),
                    other => Err(CallError::new(ErrorCode::Protocol, format!("answered a command with {other:?}"))),
                }
            };
            let answer = answer.await;
            recording.end(answer)
        }
        .await;
        let result =
            result.map_err(|error: CallError| self.clean_error(error.of(&entry.extension))).map(|mut reply| {
                reply.error = reply.error.map(|error| redact_text(&error, &self.authority.secrets.now()));
                reply
            });
        CommandOutcome { call_id, command: entry.name.clone(), extension: Some(entry.extension.clone()), result }
    }
}
