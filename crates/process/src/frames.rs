//! The frames dialect: zot's JSON lines, extended.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use jackfield_protocol::frames::{FromExtension, NotAFrame, PROTOCOL_VERSION, RegisterTool, ToExtension, ToolAnswer};
use jackfield_protocol::{
    CallError, ChannelSpec, CommandSpec, ContributionChange, Contributions, ErrorCode, Event, HookPoint, Launch,
    ToolSpec, plain_text,
};
use jackfield_runtime::{CallCx, ExtensionCall, Registrations, Reply, StartError};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::content;
use crate::core::{Core, Killer, Question, lock, to_line};
use crate::dialect::{HandshakeReader, bad_handshake, too_late};
use crate::pending::{DialectAnswer, QuestionKind, read_id};

mod channels;
mod demand;
mod hooks;

pub(crate) use demand::parts as result_parts;

/// Silence after which an extension that never says `ready` counts as ready.
const READY_SILENCE: Duration = Duration::from_millis(250);
/// The longest that registrations are waited for after `hello`.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a call that was given up may take to end, where the extension says that it ends such calls.
const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How often it is looked whether other calls have finished.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// What this host can do beyond zot's first protocol.
const HOST_CAPABILITIES: [&str; 6] = ["call_tool", "tool_cancel", "host_call", "progress", "log", "channels"];
const EXPOSURES: [&str; 4] = ["direct", "codemode", "deferred", "model-only"];

#[derive(Default)]
pub(crate) struct Frames {
    registrations: Mutex<Registrations>,
    /// It said that it understands `tool_cancel`.
    can_cancel: AtomicBool,
    /// It said that it answers a call that was given up, too: one that it does not end must be ended.
    answers_cancelled: AtomicBool,
    /// Calls that were given up and not answered yet.
    given_up: Arc<Mutex<HashSet<u64>>>,
    interpreter: OnceLock<String>,
}

impl Frames {
    pub(crate) async fn handshake(
        &self,
        core: &Arc<Core>,
        reader: &mut HandshakeReader,
    ) -> Result<Contributions, StartError> {
        let deadline = Instant::now() + core.spec.start_timeout;
        let (version, capabilities) = loop {
            let Some(line) = reader.next_line(core, deadline, "hello").await? else {
                return Err(too_late(core, "hello"));
            };
            if let Some(hello) = read_hello(core, &line)? {
                if let Some(interpreter) = interpreter_in(core, &line) {
                    // Said once; a second hello is ignored anyway.
                    self.interpreter.set(interpreter).ok();
                }
                break hello;
            }
        };
        let can = |what: &str| capabilities.iter().any(|name| name == what);
        self.can_cancel.store(can("tool_cancel"), Ordering::Release);
        self.answers_cancelled.store(can("tool_cancel") && can("cancel_answered"), Ordering::Release);
        lock(&self.registrations).contributions.version = Some(version).filter(|version| !version.is_empty());
        core.send_or_note(&acknowledgement(core));

        let cap = Instant::now() + REGISTRATION_TIMEOUT;
        let mut quiet = Instant::now() + READY_SILENCE;
        loop {
            let Some(line) = reader.next_line(core, quiet.min(cap), "ready").await? else {
                core.log.note(if Instant::now() >= cap {
                    "no ready frame 3 s after hello; going on with what is registered"
                } else {
                    "no ready frame; taken as ready after 250 ms of silence"
                });
                break;
            };
            match FromExtension::parse(&line) {
                Ok(FromExtension::Ready) => break,
                Ok(frame) => {
                    self.frame(core, frame);
                    quiet = Instant::now() + READY_SILENCE;
                }
                Err(why) => self.not_a_frame(core, &line, why),
            }
        }
        Ok(lock(&self.registrations).finish())
    }

    pub(crate) fn line(&self, core: &Arc<Core>, line: &[u8]) {
        match FromExtension::parse(line) {
            Ok(frame) => self.frame(core, frame),
            Err(why) => self.not_a_frame(core, line, why),
        }
    }

    fn not_a_frame(&self, core: &Arc<Core>, line: &[u8], why: NotAFrame) {
        match why {
            NotAFrame::Noise => match channels::mended(line) {
                Some(frame) => self.frame(core, frame),
                None => core.noise(line),
            },
            NotAFrame::Unknown(kind) => core.log.note(&format!("ignored a frame of unknown type {kind:?}")),
            NotAFrame::Invalid { kind, reason } => {
                core.log.note(&format!("ignored a broken {kind} frame: {reason}"));
                // If it was meant as an answer, nothing better will come: whoever waits learns it now.
                let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return };
                let kinds: &[QuestionKind] = match kind.as_str() {
                    "tool_result" => &[QuestionKind::Tool],
                    "channel_result" => &[QuestionKind::Channel],
                    "command_response" => &[QuestionKind::Command],
                    "event_intercept_response" => &[QuestionKind::Hook],
                    _ => return,
                };
                if let Some(id) = object.get("id").and_then(Value::as_str).and_then(read_id) {
                    let error =
                        core.error(ErrorCode::Protocol, format_args!("answered with a broken {kind}: {reason}"));
                    core.pending.resolve(id, kinds, Err(error));
                }
            }
        }
    }

    /// The interpreter that it runs in, if it said so.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        self.interpreter.get().map(String::as_str)
    }

    /// A registration that came by another way than a running child.
    pub(crate) fn registered(&self, frame: FromExtension) {
        match frame {
            FromExtension::RegisterTool(tool) => self.register_tool(*tool),
            FromExtension::RegisterChannel { name, description } => {
                lock(&self.registrations).channel(ChannelSpec { name, description });
            }
            _ => {}
        }
    }

    /// All that was registered.
    pub(crate) fn finish(&self) -> Contributions {
        lock(&self.registrations).finish()
    }

    fn frame(&self, core: &Arc<Core>, frame: FromExtension) {
        match frame {
            FromExtension::ToolResult(ToolAnswer { ref id, .. })
                if read_id(id).is_some_and(|id| lock(&self.given_up).remove(&id)) => {}
            FromExtension::CannotStart { .. } => core.log.note("ignored cannot_start after hello"),
            FromExtension::RegisterTool(tool) => self.register_tool(*tool),
            FromExtension::RegisterCommand { name, description } => {
                let name = name.strip_prefix('/').map(str::to_owned).unwrap_or(name);
                lock(&self.registrations).command(CommandSpec { name, description });
            }
            FromExtension::RegisterChannel { name, description } => {
                lock(&self.registrations).channel(ChannelSpec { name, description });
            }
            FromExtension::Subscribe { events, intercept } => self.subscribe(events, intercept),
            FromExtension::ToolResult(ToolAnswer { ref id, .. }) => answer(core, id.clone(), QuestionKind::Tool, frame),
            FromExtension::ChannelResult(ref result) => answer(core, result.id.clone(), QuestionKind::Channel, frame),
            FromExtension::CommandResponse(ref response) => {
                answer(core, response.id.clone(), QuestionKind::Command, frame)
            }
            FromExtension::EventInterceptResponse { ref id, .. } => answer(core, id.clone(), QuestionKind::Hook, frame),
            FromExtension::Hello { .. } => core.log.note("ignored a second hello"),
            FromExtension::Ready | FromExtension::ShutdownAck => {}
            other => demand::demand(core, other),
        }
    }

    fn register_tool(&self, tool: RegisterTool) {
        let mut registrations = lock(&self.registrations);
        let exposure = tool.extra.get("exposure").filter(|exposure| !exposure.is_null());
        if let Some(exposure) = exposure
            && !exposure.as_str().is_some_and(|exposure| EXPOSURES.contains(&exposure))
        {
            let known = EXPOSURES.join(", ");
            return registrations
                .warn(format!("tool {:?} was left out: exposure {exposure} is none of {known}", tool.name));
        }
        let mut extra = tool.extra;
        extra.remove("type");
        // What was odd about the tool, for whoever lists it.
        if let Some(Value::Array(warnings)) = extra.remove("warnings") {
            warnings.iter().filter_map(Value::as_str).for_each(|warning| registrations.warn(plain_text(warning)));
        }
        registrations.tool(ToolSpec {
            name: tool.name,
            label: None,
            description: tool.description,
            parameters: tool.schema.unwrap_or_else(|| json!({ "type": "object" })),
            output_schema: tool.output_schema,
            interactive: tool.interactive,
            extra,
            wire: None,
        });
    }

    fn subscribe(&self, events: Vec<String>, intercept: Vec<String>) {
        let mut registrations = lock(&self.registrations);
        for event in events {
            registrations.event(event);
        }
        for name in intercept {
            match name.as_str() {
                "tool_call" => registrations.hook(HookPoint::BeforeToolCall),
                "turn_start" => registrations.hook(HookPoint::TurnStart),
                "assistant_message" => registrations.hook(HookPoint::AssistantMessage),
                "before_agent_start" => registrations.hook(HookPoint::BeforeAgentStart),
                _ => registrations.warn(format!(
                    "intercept {name:?} was left out: there are tool_call, turn_start, assistant_message and \
                     before_agent_start"
                )),
            }
        }
    }

    /// Ends a child that does not answer a call that was given up. Other calls may finish first.
    fn end_unless_answered(&self, core: &Arc<Core>, id: u64) {
        lock(&self.given_up).insert(id);
        let (core, given_up) = (Arc::clone(core), Arc::clone(&self.given_up));
        let tasks = core.tasks.clone();
        tasks.spawn(async move {
            let mut patience = CANCEL_GRACE;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(patience) => {}
                    () = core.gone.cancelled() => return,
                }
                if !lock(&given_up).contains(&id) {
                    return;
                }
                if core.pending.count() == 0 {
                    return core.kill(Killer::Rule("it did not end a call that was given up"));
                }
                patience = POLL_INTERVAL;
            }
        });
    }

    /// Registrations that came after the handshake go to the host together.
    pub(crate) fn settled(&self, core: &Arc<Core>) {
        let news = lock(&self.registrations).news();
        if let Some(contributions) = news {
            core.host.contribute(ContributionChange::All(contributions));
        }
    }

    pub(crate) async fn call(&self, core: &Arc<Core>, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        match call {
            ExtensionCall::Tool { call_id, name, args, .. } => {
                let what = format!("tool {name}");
                let question = Question { asked: QuestionKind::Tool, what: &what, call_id: Some(call_id), id: None };
                let args = if args.is_null() { json!({}) } else { Arc::unwrap_or_clone(args) };
                let tool = name.clone();
                let message = |id: u64| to_line(&ToExtension::ToolCall { id: id.to_string(), name, args });
                let abandoned = |id: u64| {
                    if self.can_cancel.load(Ordering::Acquire) {
                        if self.answers_cancelled.load(Ordering::Acquire) {
                            self.end_unless_answered(core, id);
                        }
                        core.send_or_note(&ToExtension::ToolCancel { id: id.to_string() });
                    }
                };
                match core.ask(question, &cx, message, abandoned).await? {
                    DialectAnswer::Frame(FromExtension::ToolResult(ToolAnswer {
                        content,
                        is_error,
                        structured_content,
                        ..
                    })) => {
                        let details = structured_content.filter(|details| !details.is_null());
                        let result = content::tool_result(core.id.as_str(), &tool, content, is_error, details);
                        Ok(Reply::Tool(result))
                    }
                    _ => Err(mixed_up(core)),
                }
            }
            ExtensionCall::Command { call_id, name, args } => {
                let what = format!("command /{name}");
                let question = Question { asked: QuestionKind::Command, what: &what, call_id: Some(call_id), id: None };
                let args = args.trim().to_owned();
                let message = |id: u64| to_line(&ToExtension::CommandInvoked { id: id.to_string(), name, args });
                match core.ask(question, &cx, message, |_| {}).await? {
                    DialectAnswer::Frame(FromExtension::CommandResponse(response)) => {
                        Ok(Reply::Command(content::command_reply(*response)))
                    }
                    _ => Err(mixed_up(core)),
                }
            }
            ExtensionCall::Hook { call_id, hook } => {
                let point = hook.point();
                let Some((event, data)) = hooks::question(hook) else {
                    return Err(core.error(
                        ErrorCode::Unsupported,
                        format_args!("cannot be asked about {}: its dialect has no such hook", point.as_str()),
                    ));
                };
                let what = format!("hook {event}");
                let question = Question { asked: QuestionKind::Hook, what: &what, call_id: Some(call_id), id: None };
                let event = event.to_owned();
                let message = |id: u64| to_line(&ToExtension::EventIntercept { id: id.to_string(), event, data });
                match core.ask(question, &cx, message, |_| {}).await? {
                    DialectAnswer::Frame(frame) => hooks::verdict(core, point, frame).map(Reply::Hook),
                    _ => Err(mixed_up(core)),
                }
            }
            ExtensionCall::Channel { call_id, name, op } => {
                let can_cancel = self.can_cancel.load(Ordering::Acquire);
                channels::call(core, can_cancel, call_id, name, op, cx).await
            }
            ExtensionCall::PanelKey { panel_id, key, text } => {
                if key == "close" {
                    core.send(&ToExtension::PanelClose { panel_id })?;
                } else {
                    core.send(&ToExtension::PanelKey { panel_id, key, text })?;
                }
                Ok(Reply::Done)
            }
            _ => Err(core.error(ErrorCode::Unsupported, "cannot do this: its dialect has no words for it")),
        }
    }

    pub(crate) fn notify(&self, core: &Arc<Core>, event: &Event) {
        if !lock(&self.registrations).contributions.wants_event(&event.event) {
            return;
        }
        #[derive(Serialize)]
        struct Told<'a> {
            #[serde(rename = "type")]
            kind: &'static str,
            event: &'a str,
            sequence: u64,
            #[serde(flatten)]
            data: &'a Map<String, Value>,
        }
        const OWN: [&str; 3] = ["type", "event", "sequence"];
        let mut told = Told { kind: "event", event: &event.event, sequence: event.sequence, data: &event.data };
        let without;
        if OWN.iter().any(|key| event.data.contains_key(*key)) {
            let keep = |(key, _): &(&String, &Value)| !OWN.contains(&key.as_str());
            without = event.data.iter().filter(keep).map(|(key, value)| (key.clone(), value.clone())).collect();
            told.data = &without;
        }
        let sent =
            to_line(&told).and_then(|line| core.outbox.send_if_half_empty(line).map_err(|why| core.not_sent(why)));
        if let Err(error) = sent {
            core.event_dropped(&event.event, &error);
        }
    }

    pub(crate) fn farewell(&self, core: &Arc<Core>) {
        // When the queue is full the closed input has to say it.
        core.send_or_note(&ToExtension::Shutdown);
    }
}

/// Reads the first frame; `None` for noise, which is tolerated.
fn read_hello(core: &Core, line: &[u8]) -> Result<Option<(String, Vec<String>)>, StartError> {
    let first = |kind: &str| bad_handshake(format!("first frame must be hello (got {kind:?})"));
    match FromExtension::parse(line) {
        Ok(FromExtension::Hello { name, .. }) if name.is_empty() => {
            Err(bad_handshake("hello must carry a name that is not empty"))
        }
        Ok(FromExtension::Hello { version, capabilities, .. }) => Ok(Some((version, capabilities))),
        Ok(FromExtension::CannotStart { message }) => {
            let message = plain_text(&message);
            Err(bad_handshake(if message.trim().is_empty() { "it says that it cannot start" } else { message.trim() }))
        }
        Err(NotAFrame::Invalid { kind, reason }) if kind == "hello" => {
            Err(bad_handshake(format!("parse hello: {reason}")))
        }
        Err(NotAFrame::Invalid { kind, .. }) => Err(first(&kind)),
        Err(NotAFrame::Unknown(kind)) if !kind.is_empty() => Err(first(&kind)),
        Err(NotAFrame::Unknown(_) | NotAFrame::Noise) => {
            core.noise(line);
            Ok(None)
        }
        Ok(_) => {
            let kind = serde_json::from_slice::<Value>(line).ok();
            let kind = kind.as_ref().and_then(|frame| frame.get("type")).and_then(Value::as_str);
            Err(first(kind.unwrap_or_default()))
        }
    }
}

/// The interpreter that a worker of ours names; nobody else's word counts.
fn interpreter_in(core: &Core, line: &[u8]) -> Option<String> {
    if !matches!(core.spec.manifest.launch, Launch::Python { .. }) {
        return None;
    }
    let hello: Value = serde_json::from_slice(line).ok()?;
    hello.get("interpreter")?.as_str().map(str::to_owned)
}

fn acknowledgement(core: &Core) -> ToExtension {
    let path = |path: &std::path::Path| path.to_string_lossy().into_owned();
    ToExtension::HelloAck {
        protocol_version: PROTOCOL_VERSION,
        zot_version: env!("CARGO_PKG_VERSION").to_owned(),
        provider: core.spec.provider.clone(),
        model: core.spec.model.clone(),
        cwd: path(&core.spec.project),
        extension_dir: path(&core.spec.dir),
        data_dir: path(&core.spec.data_dir),
        capabilities: HOST_CAPABILITIES.map(str::to_owned).to_vec(),
    }
}

fn answer(core: &Arc<Core>, id: String, asked: QuestionKind, frame: FromExtension) {
    let resolved = read_id(&id).is_some_and(|id| core.pending.resolve(id, &[asked], Ok(DialectAnswer::Frame(frame))));
    if !resolved {
        core.stray(&format!("an answer with the id {:?}", id.get(..64).unwrap_or(&id)));
    }
}

/// Cannot happen: an answer is handed only to whoever asked for its kind.
fn mixed_up(core: &Core) -> CallError {
    core.error(ErrorCode::Internal, "was answered for another kind of call inside the host")
}
