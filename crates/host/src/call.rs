//! The path of a call, from a face to an extension and back. Read this file and you know what happens to a tool call.

mod command;

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallError, CallId, Content, ErrorCode, ExtensionId, HookCall, Need, Power, Resource, ToolResult, Wire, redact_text,
    redact_value,
};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::face::Peer;
pub use command::CommandOutcome;

use crate::gate::CallContext;
use crate::hooks::HookOutcome;
use crate::host::{ActiveCall, Inner, Wanted};
use crate::registry::{Snapshot, ToolEntry};
use crate::schema::coerce_object;

use jackfield_ledger::{Begin, Evidence, Kind};
use jackfield_policy::{Caller, Permit, Subject};

/// How long a tool may take when neither the caller nor its manifest says.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How many tool calls may stand within each other.
const MAX_DEPTH: usize = 4;

/// A request to call a tool.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolCall {
    /// Public or qualified name.
    pub tool: String,
    /// An object; `null` stands for an empty one.
    pub args: Value,
    /// The caller that policy judges.
    pub caller: Caller,
    /// The most it may take; the extension's own limit otherwise.
    pub timeout: Option<Duration>,
    /// Resolves when the caller gives up.
    pub cancel: CancellationToken,
    /// The arguments as the caller wrote them, where that matters.
    pub wire: Option<Wire>,
    /// What goes with the call beside its arguments, for extensions that speak MCP.
    pub meta: Arc<Map<String, Value>>,
    /// The connection of the caller, where a face can ask and tell it something meanwhile.
    pub peer: Option<Arc<dyn Peer>>,
}

impl ToolCall {
    /// A call by this caller, with the extension's own limit.
    pub fn by(caller: Caller, tool: impl Into<String>, args: Value) -> Self {
        Self {
            tool: tool.into(),
            args,
            caller,
            timeout: None,
            cancel: CancellationToken::new(),
            wire: None,
            meta: Arc::default(),
            peer: None,
        }
    }

    /// A call by an agent on behalf of a model, with the extension's own limit. In strict mode policy allows such a call
    /// only for tools that are listed or granted.
    pub fn by_agent(tool: impl Into<String>, args: Value) -> Self {
        Self::by(Caller::Agent, tool, args)
    }

    /// A call by a person, with the extension's own limit.
    pub fn by_person(tool: impl Into<String>, args: Value) -> Self {
        Self::by(Caller::Person, tool, args)
    }
}

/// What came of a tool call.
#[derive(Debug)]
#[non_exhaustive]
pub struct ToolOutcome {
    /// The ledger's name for it.
    pub call_id: CallId,
    /// The name of the tool as the caller gave it.
    pub tool: String,
    /// The extension that owns the tool, if the host found one.
    pub extension: Option<ExtensionId>,
    /// The time from the request to the answer.
    pub duration: Duration,
    /// The answer, or why there is none.
    pub result: Result<ToolResult, CallError>,
}

/// What is handed to an extension, and until when.
struct Dispatch {
    args: Arc<Value>,
    wire: Option<Wire>,
    meta: Arc<Map<String, Value>>,
    deadline: Instant,
    cancel: CancellationToken,
}

/// By what right a tool is called.
pub(crate) enum CallRight {
    /// A face's caller; policy judges it after the hooks.
    Caller(Caller),
    /// An extension whose host call the gate has permitted, within one of its own calls or not.
    Extension { permit: Permit, parent: Option<CallId> },
}

impl Inner {
    /// The whole path. Every ask is recorded, whatever becomes of it, and answered only after the record is written.
    pub(crate) async fn call_tool(self: &Arc<Self>, mut call: ToolCall, right: CallRight) -> ToolOutcome {
        let started = Instant::now();
        let call_id = self.next_call_id();
        let span = tracing::debug_span!("tool_call", %call_id, tool = %call.tool);
        let (extension, result) = self.recorded_tool_call(&call_id, &mut call, right).instrument(span.clone()).await;
        span.in_scope(|| {
            let error = result.as_ref().err().map(|error| error.code.as_str());
            tracing::debug!(extension = ?extension, duration = ?started.elapsed(), error, "answered");
        });
        let result = match result {
            Ok(result) if result.is_error => Ok(self.clean_failure(result)),
            Ok(result) => Ok(result),
            Err(error) => Err(self.clean_error(match &extension {
                Some(extension) => error.of(extension),
                None => error,
            })),
        };
        ToolOutcome { call_id, tool: call.tool, extension, duration: started.elapsed(), result }
    }

    /// The extension that owns the tool, and the registry that says so. First waits for never-seen extensions that could
    /// be guards or own the tool's name, until the caller gives up.
    async fn find_tool(
        self: &Arc<Self>,
        call: &ToolCall,
        right: &CallRight,
    ) -> Result<(Arc<Snapshot>, Option<Arc<ToolEntry>>), CallError> {
        let asking = match right {
            CallRight::Extension { permit, .. } => Some(permit.extension()),
            CallRight::Caller(_) => None,
        };
        tokio::select! {
            biased;
            () = self.meet(Wanted::Tool(&call.tool), asking) => {}
            () = call.cancel.cancelled() => {
                let message = format!("tool {} was cancelled while it waited for extensions to start", call.tool);
                return Err(CallError::new(ErrorCode::Cancelled, message));
            }
        }
        let mut snapshot = Arc::clone(&self.snapshot());
        let mut entry = snapshot.tool(&call.tool).cloned();
        if entry.is_none() && self.meet_server(call).await {
            snapshot = Arc::clone(&self.snapshot());
            entry = snapshot.tool(&call.tool).cloned();
        }
        Ok((snapshot, entry))
    }

    /// What a tool says about its failure is an error like any other: without secrets. Answers are left as they are.
    fn clean_failure(&self, mut result: ToolResult) -> ToolResult {
        for block in &mut result.content {
            if let Content::Text { text, .. } = block {
                *text = redact_text(text, &self.authority.secrets.now());
            }
        }
        if let Some(details) = &mut result.details {
            redact_value(details, &self.authority.secrets.now());
        }
        result.wire = result
            .wire
            .filter(|wire| !self.authority.secrets.now().iter().any(|secret| wire.as_str().contains(secret)));
        result
    }

    /// Records the call before anything starts or runs for it, and its end before it is answered. The record of the start
    /// names the owner that is known by then, the record of the end the owner that was found.
    async fn recorded_tool_call(
        self: &Arc<Self>,
        call_id: &CallId,
        call: &mut ToolCall,
        right: CallRight,
    ) -> (Option<ExtensionId>, Result<ToolResult, CallError>) {
        let known = self.snapshot().tool(&call.tool).cloned();
        let parent = match &right {
            CallRight::Extension { parent, .. } => parent.clone(),
            CallRight::Caller(_) => None,
        };
        let begun = self.begin_recording(Begin {
            caller: Some(right.name()),
            parent: parent.as_ref().map(CallId::as_str),
            timeout_ms: Some(self.tool_timeout(known.as_deref(), call).as_millis() as u64),
            ..Begin::new(
                Kind::ToolCall,
                call_id.as_str(),
                known.as_ref().map_or("-", |entry| entry.extension.as_str()),
                &call.tool,
                &call.args,
            )
        });
        let mut recording = match begun {
            Ok(recording) => recording,
            Err(error) => return (known.map(|entry| entry.extension.clone()), Err(error)),
        };
        let (snapshot, entry) = match self.find_tool(call, &right).await {
            Ok((snapshot, Some(entry))) => (snapshot, entry),
            Ok((snapshot, None)) => return (None, recording.end(Err(self.no_such_tool(&snapshot, &call.tool)))),
            Err(error) => return (None, recording.end(Err(error))),
        };
        recording.is_of(&entry.extension);
        tracing::trace!(extension = %entry.extension, "the owner is known");
        let result = match self.enter(call_id, &entry, parent, call.peer.clone()) {
            Err(refused) => Err(refused),
            Ok(active) => {
                let deadline = Instant::now() + self.tool_timeout(Some(&entry), call);
                let evidence = &mut recording.evidence;
                let done = self.run_tool_call(&snapshot, &entry, call_id, call, right, deadline, evidence).await;
                drop(active);
                done
            }
        };
        let is_error = result.as_ref().map_or(true, |result| result.is_error);
        let result = recording.end_with(result.as_ref().err(), is_error).and(result);
        (Some(entry.extension.clone()), result)
    }

    #[expect(clippy::too_many_arguments, reason = "one step of the path, split off only to keep the record around it")]
    async fn run_tool_call(
        self: &Arc<Self>,
        snapshot: &Snapshot,
        entry: &Arc<ToolEntry>,
        call_id: &CallId,
        call: &mut ToolCall,
        right: CallRight,
        deadline: Instant,
        evidence: &mut Evidence,
    ) -> Result<ToolResult, CallError> {
        if entry.spec.interactive && !self.faces.interactive {
            let message = format!("tool {} waits for a person and this host has none", entry.name);
            return Err(CallError::new(ErrorCode::Unsupported, message));
        }
        let args = coerce_object(std::mem::take(&mut call.args)).map_err(|problem| invalid(entry, &problem))?;
        self.emit(snapshot, "tool_call", || json!({ "tool_id": call_id, "tool_name": entry.name, "tool_args": args }));

        // Hooks may replace the arguments or stop the call.
        let guarded = !snapshot.hooks(jackfield_protocol::HookPoint::BeforeToolCall).is_empty();
        let (given, mut wire) =
            (if guarded && call.wire.is_some() { args.clone() } else { Value::Null }, call.wire.take());
        let args = self.hooks_before(snapshot, entry, call_id, args).await?;
        if guarded && given != args {
            wire = None;
        }

        if let Some(why) = entry.held() {
            let message = format!("tool {} is quarantined: {why}", entry.name);
            return Err(CallError::new(ErrorCode::Denied, message));
        }
        // What is validated is what will run.
        match entry.validator() {
            // Such a runtime prepares and coerces arguments first, and validates the result.
            Ok(_) if entry.owner.traits().validates_arguments => {}
            Ok(validator) => validator.check(&args).map_err(|problem| {
                invalid(entry, &problem).with_details(json!({ "paths": validator.places(&args) }))
            })?,
            Err(problem) => {
                let message = format!("tool {} is quarantined: {problem}", entry.name);
                return Err(CallError::new(ErrorCode::Unavailable, message));
            }
        }

        let permit = match right {
            CallRight::Extension { permit, .. } => permit,
            CallRight::Caller(caller) => {
                let context = CallContext { call_id, within: None, tool: Some(&entry.name), act: None };
                let resource = Resource::Tool(entry.name.clone());
                let need = Need { power: Power::Tool, method: "tool", resource };
                self.authorize(&entry.extension, Subject::Caller(caller), need, context, evidence).await?
            }
        };

        let ran = Instant::now();
        if ran >= deadline {
            let message =
                format!("tool {} was not run: its hooks (or the wait for a person) took all of the time", entry.name);
            return Err(CallError::new(ErrorCode::Timeout, message));
        }
        let asks_after = !snapshot.hooks(jackfield_protocol::HookPoint::AfterToolCall).is_empty();
        let ran_with = if asks_after { args.clone() } else { Value::Null };
        if entry.owner.found().manifest.context_passthrough {
            Arc::make_mut(&mut call.meta).extend(self.meta_for_context());
        }
        let (args, meta) = (Arc::new(args), Arc::clone(&call.meta));
        let delivery = Dispatch { args, wire, meta, deadline, cancel: call.cancel.clone() };
        let answer = self.run_tool(&permit, entry, call_id, delivery).await;
        self.emit(snapshot, "tool_result", || {
            let status = match &answer {
                Ok(result) if result.is_error => "failed",
                Ok(_) => "completed",
                Err(error) if error.code == ErrorCode::Timeout => "timed_out",
                Err(error) if error.code == ErrorCode::Cancelled => "cancelled",
                Err(_) => "failed",
            };
            json!({ "tool_id": call_id, "tool_name": entry.name, "status": status, "executed": true })
        });
        if !asks_after {
            return answer;
        }
        self.hooks_after(snapshot, entry, call_id, ran_with, ran.elapsed(), answer).await
    }

    /// Hands the call to the extension. Takes a permit: nothing runs without one.
    async fn run_tool(
        &self,
        permit: &Permit,
        entry: &ToolEntry,
        call_id: &CallId,
        delivery: Dispatch,
    ) -> Result<ToolResult, CallError> {
        if !matches!(&permit.need().resource, Resource::Tool(name) if *name == entry.name) {
            let message = format!("a permit for {} does not run tool {}", permit.need(), entry.name);
            return Err(CallError::new(ErrorCode::Internal, message));
        }
        let call = ExtensionCall::Tool {
            call_id: call_id.clone(),
            name: entry.spec.name.clone(),
            args: delivery.args,
            wire: delivery.wire,
            meta: delivery.meta,
        };
        let cx = CallCx { deadline: delivery.deadline, cancel: delivery.cancel };
        match entry.owner.deliver(permit, call, cx).await? {
            Reply::Tool(result) => Ok(result),
            other => Err(CallError::new(ErrorCode::Protocol, format!("answered a tool call with {other:?}"))),
        }
    }

    /// Who calls, for extensions that want to know.
    fn meta_for_context(&self) -> [(String, Value); 2] {
        [("agent_id".to_owned(), json!("jackfield")), ("session_id".to_owned(), json!(self.evidence.session_id))]
    }

    async fn hooks_before(
        &self,
        snapshot: &Snapshot,
        entry: &ToolEntry,
        call_id: &CallId,
        arguments: Value,
    ) -> Result<Value, CallError> {
        if snapshot.hooks(jackfield_protocol::HookPoint::BeforeToolCall).is_empty() {
            return Ok(arguments);
        }
        let question = HookCall::BeforeToolCall { call_id: call_id.clone(), tool: entry.name.clone(), arguments };
        match self.ask_hooks(snapshot, question).await? {
            HookOutcome::Continue(HookCall::BeforeToolCall { arguments, .. }) => Ok(arguments),
            HookOutcome::Continue(_) => Err(CallError::new(ErrorCode::Internal, "a hook changed its own kind")),
            HookOutcome::Block { extension, reason } => {
                let reason = if reason.trim().is_empty() { "(no reason)" } else { reason.as_str() };
                let message = format!("tool `{}` blocked by extension `{extension}`: {reason}", entry.name);
                Err(CallError::new(ErrorCode::Denied, message))
            }
        }
    }

    async fn hooks_after(
        &self,
        snapshot: &Snapshot,
        entry: &ToolEntry,
        call_id: &CallId,
        arguments: Value,
        took: Duration,
        answer: Result<ToolResult, CallError>,
    ) -> Result<ToolResult, CallError> {
        let question = HookCall::AfterToolCall {
            call_id: call_id.clone(),
            tool: entry.name.clone(),
            arguments,
            duration_ms: took.as_millis() as u64,
            result: answer.as_ref().cloned().unwrap_or_default(),
            error: answer.as_ref().err().map(ToString::to_string),
        };
        let outcome = self.ask_hooks(snapshot, question).await?;
        match (answer, outcome) {
            (Ok(_), HookOutcome::Continue(HookCall::AfterToolCall { result, .. })) => Ok(result),
            (answer, _) => answer,
        }
    }

    fn tool_timeout(&self, entry: Option<&ToolEntry>, call: &ToolCall) -> Duration {
        let own = entry.and_then(|entry| entry.owner.found().manifest.limits.call_timeout_ms);
        call.timeout.or(own.map(Duration::from_millis)).unwrap_or(CALL_TIMEOUT)
    }

    /// Notes that a tool call is under way, so that its host calls can be joined to it and loops be refused.
    fn enter(
        self: &Arc<Self>,
        call_id: &CallId,
        entry: &ToolEntry,
        parent: Option<CallId>,
        peer: Option<Arc<dyn Peer>>,
    ) -> Result<ActiveCallGuard, CallError> {
        let active = self.active();
        let mut depth = 1;
        let mut above = parent.clone();
        while let Some(call) = above.as_ref().and_then(|id| active.get(id)) {
            if call.tool == entry.name {
                let message = format!("tool {} would call itself through {}", entry.name, call.extension);
                return Err(CallError::new(ErrorCode::InvalidRequest, message));
            }
            depth += 1;
            above.clone_from(&call.parent);
        }
        if depth > MAX_DEPTH {
            let message = format!("tool {} would be {depth} calls deep; the most is {MAX_DEPTH}", entry.name);
            return Err(CallError::new(ErrorCode::InvalidRequest, message));
        }
        let call = ActiveCall { extension: entry.extension.clone(), tool: entry.name.clone(), parent, peer };
        drop(active);
        Ok(self.note_active(call_id, call))
    }

    /// Puts a call on the list of those under way, for as long as the guard lives.
    pub(crate) fn note_active(self: &Arc<Self>, call_id: &CallId, call: ActiveCall) -> ActiveCallGuard {
        self.active().insert(call_id.clone(), call);
        ActiveCallGuard { host: Arc::clone(self), call_id: call_id.clone() }
    }
}

impl CallRight {
    fn name(&self) -> &'static str {
        match self {
            Self::Caller(caller) => caller.as_str(),
            Self::Extension { .. } => "extension",
        }
    }
}

fn invalid(entry: &ToolEntry, problem: &str) -> CallError {
    let message = format!("bad arguments for tool {}: {problem}", entry.name);
    CallError::new(ErrorCode::InvalidRequest, message)
}

/// Takes the call off the list when it is over, however that came about.
pub(crate) struct ActiveCallGuard {
    host: Arc<Inner>,
    call_id: CallId,
}

impl Drop for ActiveCallGuard {
    fn drop(&mut self) {
        self.host.active().remove(&self.call_id);
    }
}

#[cfg(test)]
mod tests;
