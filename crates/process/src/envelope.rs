//! The envelope dialect: `{id, version, type, payload}`, checked strictly.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use jackfield_protocol::envelope::{Envelope, Message, Register};
use jackfield_protocol::frames::CommandResponse;
use jackfield_protocol::{
    CallError, CapabilityManifest, CommandAction, CommandReply, CommandSpec, Contributions, ErrorCode, Event,
    HookPoint, HostCall, ToolResult, ToolSpec,
};
use jackfield_runtime::{CallCx, ExtensionCall, Registrations, Reply, StartError};
use serde_json::{Map, Value, json};

use crate::core::{Core, Question, lock, to_line};
use crate::dialect::{HandshakeReader, bad_handshake, too_late};
use crate::frames::result_parts;
use crate::host_calls::{Demand, serve};
use crate::pending::{DialectAnswer, QuestionKind, read_id};
use crate::{content, records};

mod hooks;

#[derive(Default)]
pub(crate) struct Envelopes {
    registered: Mutex<Registered>,
}

#[derive(Default)]
struct Registered {
    contributions: Contributions,
    /// The name under which the extension registered each hook.
    hook_names: Vec<(HookPoint, String)>,
}

impl Envelopes {
    pub(crate) async fn handshake(
        &self,
        core: &Arc<Core>,
        reader: &mut HandshakeReader,
    ) -> Result<Contributions, StartError> {
        let deadline = Instant::now() + core.spec.start_timeout;
        loop {
            let Some(line) = reader.next_line(core, deadline, "register").await? else {
                return Err(too_late(core, "register"));
            };
            if !matches!(serde_json::from_slice(&line), Ok(Value::Object(_))) {
                core.noise(&line);
                continue;
            }
            let envelope = Envelope::parse(&line)
                .map_err(|reason| bad_handshake(format!("the first message is not an envelope: {reason}")))?;
            let Message::Register(register) = envelope.message else {
                return Err(bad_handshake(format!(
                    "first message must be register (got {:?})",
                    kind(&envelope.message)
                )));
            };
            let registered = read_register(register)?;
            let contributions = registered.contributions.clone();
            *lock(&self.registered) = registered;
            return Ok(contributions);
        }
    }

    pub(crate) fn line(&self, core: &Arc<Core>, line: &[u8]) {
        match Envelope::parse(line) {
            Ok(envelope) => message(core, envelope),
            Err(reason) => match serde_json::from_slice(line) {
                Ok(Value::Object(object)) => malformed(core, &object, &reason),
                _ => core.noise(line),
            },
        }
    }

    pub(crate) async fn call(&self, core: &Arc<Core>, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        let extension = core.id.as_str();
        match call {
            ExtensionCall::Tool { call_id, name, args, meta, .. } => {
                let what = format!("tool {name}");
                let tool = name.clone();
                let question = Question { asked: QuestionKind::Tool, what: &what, call_id: Some(call_id), id: None };
                let input = if args.is_null() { json!({}) } else { Arc::unwrap_or_clone(args) };
                let message = |id: u64| {
                    let call =
                        Message::ToolCall { call_id: id.to_string(), name, input, context: Arc::unwrap_or_clone(meta) };
                    to_line(&Envelope::new(id.to_string(), call))
                };
                match answer(core.ask(question, &cx, message, |_| {}).await?) {
                    Some(Message::ToolResult { output, is_error, .. }) => {
                        let mut result = content::free_result(extension, &tool, output);
                        result.is_error |= is_error;
                        Ok(Reply::Tool(result))
                    }
                    Some(Message::Error { code, message, details }) => {
                        let details = Some(json!({ "code": code, "details": details }));
                        Ok(Reply::Tool(ToolResult { details, ..ToolResult::error(format!("{code}: {message}")) }))
                    }
                    _ => Err(mixed_up(core)),
                }
            }
            ExtensionCall::Command { call_id, name, args } => {
                let what = format!("command /{name}");
                let question = Question { asked: QuestionKind::Command, what: &what, call_id: Some(call_id), id: None };
                let message = |id: u64| {
                    let args = args.split_whitespace().map(str::to_owned).collect();
                    to_line(&Envelope::new(id.to_string(), Message::SlashCommand { name, args, input: Map::new() }))
                };
                match answer(core.ask(question, &cx, message, |_| {}).await?) {
                    Some(Message::SlashResult { output, is_error }) => Ok(Reply::Command(slash(output, is_error))),
                    Some(Message::Error { code, message, .. }) => {
                        Ok(Reply::Command(failed(format!("{code}: {message}"))))
                    }
                    _ => Err(mixed_up(core)),
                }
            }
            ExtensionCall::Hook { call_id, hook } => {
                let point = hook.point();
                let name =
                    lock(&self.registered).hook_names.iter().find(|(at, _)| *at == point).map(|(_, name)| name.clone());
                let Some(event) = name else {
                    return Err(core.error(
                        ErrorCode::Unsupported,
                        format_args!("cannot be asked about {}: it did not register for it", point.as_str()),
                    ));
                };
                let what = format!("hook {event}");
                let question = Question { asked: QuestionKind::Hook, what: &what, call_id: Some(call_id), id: None };
                let message = |id: u64| {
                    let data = hooks::question(hook);
                    to_line(&Envelope::new(id.to_string(), Message::EventHook { event, data }))
                };
                match answer(core.ask(question, &cx, message, |_| {}).await?) {
                    Some(Message::EventHook { data, .. }) => hooks::verdict(core, point, data).map(Reply::Hook),
                    Some(Message::Error { code, message, .. }) => {
                        Err(core.error(ErrorCode::Io, format_args!("answered {what} with {code}: {message}")))
                    }
                    _ => Err(mixed_up(core)),
                }
            }
            _ => Err(core.error(ErrorCode::Unsupported, "cannot do this: its dialect has no words for it")),
        }
    }

    pub(crate) fn notify(&self, core: &Arc<Core>, event: &Event) {
        if !lock(&self.registered).contributions.wants_event(&event.event) {
            return;
        }
        let mut data = event.data.clone();
        data.insert("sequence".to_owned(), event.sequence.into());
        let told =
            Envelope::new(core.pending.fresh_id().to_string(), Message::EventHook { event: event.event.clone(), data });
        let sent =
            to_line(&told).and_then(|line| core.outbox.send_if_half_empty(line).map_err(|why| core.not_sent(why)));
        if let Err(error) = sent {
            core.event_dropped(&event.event, &error);
        }
    }

    /// This protocol has no word for the end; an event says it, and the closed input.
    pub(crate) fn farewell(&self, core: &Arc<Core>) {
        let event = Message::EventHook { event: "shutdown".to_owned(), data: Map::new() };
        core.send_or_note(&Envelope::new(core.pending.fresh_id().to_string(), event));
    }
}

fn answer(answer: DialectAnswer) -> Option<Message> {
    match answer {
        DialectAnswer::Envelope(message) => Some(message),
        DialectAnswer::Frame(_) | DialectAnswer::Rpc(_) => None,
    }
}

/// Cannot happen: an answer is handed only to whoever asked for its kind.
fn mixed_up(core: &Core) -> CallError {
    core.error(ErrorCode::Internal, "was answered for another kind of call inside the host")
}

fn kind(message: &Message) -> &'static str {
    match message {
        Message::Register(_) => "register",
        Message::ToolCall { .. } => "tool_call",
        Message::ToolResult { .. } => "tool_result",
        Message::SlashCommand { .. } => "slash_command",
        Message::SlashResult { .. } => "slash_result",
        Message::EventHook { .. } => "event_hook",
        Message::HostCall { .. } => "host_call",
        Message::HostResult { .. } => "host_result",
        Message::Log(_) => "log",
        Message::Error { .. } => "error",
    }
}

fn read_register(register: Register) -> Result<Registered, StartError> {
    if register.name.is_empty() {
        return Err(bad_handshake("register must carry a name that is not empty"));
    }
    if register.api_version.split('.').next() != Some("1") {
        return Err(bad_handshake(format!(
            "register asks for api_version {:?}; this host speaks version 1",
            register.api_version
        )));
    }
    let mut registrations = Registrations::default();
    registrations.contributions.version = Some(register.version).filter(|version| !version.is_empty());
    for tool in register.tools {
        let Value::Object(mut tool) = tool else {
            registrations.warn("a tool that is not an object was left out".to_owned());
            continue;
        };
        let (name, description) = (take_text(&mut tool, "name"), take_text(&mut tool, "description"));
        let label = Some(take_text(&mut tool, "label")).filter(|label| !label.is_empty());
        let schema = ["parameters", "input_schema"].iter().find_map(|key| tool.remove(*key)).filter(|it| !it.is_null());
        let output_schema = tool.remove("output_schema").filter(|schema| !schema.is_null());
        let parameters = schema.unwrap_or_else(|| json!({ "type": "object" }));
        registrations.tool(ToolSpec {
            label,
            description,
            parameters,
            output_schema,
            extra: tool,
            ..ToolSpec::open(name)
        });
    }
    for command in register.slash_commands {
        let Value::Object(mut command) = command else {
            registrations.warn("a slash command that is not an object was left out".to_owned());
            continue;
        };
        let name = take_text(&mut command, "name");
        let name = name.strip_prefix('/').map(str::to_owned).unwrap_or(name);
        registrations.command(CommandSpec { name, description: take_text(&mut command, "description") });
    }
    let mut hook_names = Vec::new();
    for event in register.event_hooks {
        match hooks::point(&event) {
            Some(point) => {
                registrations.hook(point);
                if !hook_names.iter().any(|(known, _)| *known == point) {
                    hook_names.push((point, event));
                }
            }
            None => registrations.event(event),
        }
    }
    if let Some(manifest) = register.capability_manifest {
        if manifest.schema == CapabilityManifest::SCHEMA {
            registrations.contributions.capabilities = manifest.capabilities;
        } else {
            let schema = manifest.schema;
            registrations.warn(format!("capability_manifest was left out: its schema {schema:?} is unknown"));
        }
    }
    Ok(Registered { contributions: registrations.finish(), hook_names })
}

fn take_text(object: &mut Map<String, Value>, key: &str) -> String {
    match object.remove(key) {
        Some(Value::String(text)) => text,
        _ => String::new(),
    }
}

fn message(core: &Arc<Core>, envelope: Envelope) {
    let Envelope { id, message, .. } = envelope;
    match message {
        Message::ToolResult { ref call_id, .. } => {
            let by = call_id.clone();
            resolve(core, &by, &[QuestionKind::Tool], message);
        }
        Message::SlashResult { .. } => resolve(core, &id, &[QuestionKind::Command], message),
        Message::EventHook { .. } => resolve(core, &id, &[QuestionKind::Hook], message),
        Message::Error { ref code, message: ref text, .. } => {
            core.log.note(&format!("error {code}: {text}"));
            if let Some(asked) = read_id(&id).and_then(|id| core.pending.asked(id)) {
                resolve(core, &id, &[asked], message);
            }
        }
        Message::Log(mut record) => {
            let (level, text) = (take_text(&mut record, "level"), take_text(&mut record, "message"));
            let event = take_text(&mut record, "event");
            let data = match record.remove("data") {
                Some(Value::Object(data)) => data,
                _ => Map::new(),
            };
            let mut record = records::from_extension(core, &level, &text, data);
            if !event.is_empty() {
                record.event = core.log.clean(&event);
            }
            core.host.log(record);
        }
        Message::HostCall { call_id, capability, method, params, timeout_ms, context: _ } => {
            let demand = Demand {
                key: format!("host_call {call_id}"),
                call: HostCall::parse(&method, params),
                within: None,
                claimed: Some(capability),
                timeout_ms,
            };
            serve(core, demand, move |part| {
                let (output, error, chunk) = result_parts(part);
                let is_error = error.is_some();
                let result = Message::HostResult { call_id: call_id.clone(), output, is_error, error, chunk };
                to_line(&Envelope::new(id.clone(), result))
            });
        }
        other => refuse(core, id, &format!("{} does not go from an extension to the host here", kind(&other))),
    }
}

fn resolve(core: &Arc<Core>, id: &str, kinds: &[QuestionKind], message: Message) {
    let resolved = read_id(id).is_some_and(|id| core.pending.resolve(id, kinds, Ok(DialectAnswer::Envelope(message))));
    if !resolved {
        core.stray(&format!("an answer with the id {:?}", id.get(..64).unwrap_or(id)));
    }
}

fn malformed(core: &Arc<Core>, object: &Map<String, Value>, reason: &str) {
    let id = object.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    // If it was meant as an answer, nothing better will come: whoever waits learns it now.
    let payload_id = object.get("payload").and_then(|payload| payload.get("call_id")).and_then(Value::as_str);
    for id in [payload_id.unwrap_or_default(), &id] {
        if let Some(id) = read_id(id)
            && let Some(asked) = core.pending.asked(id)
        {
            let error = core.error(ErrorCode::Protocol, format_args!("answered with a malformed envelope: {reason}"));
            core.pending.resolve(id, &[asked], Err(error));
        }
    }
    refuse(core, id, reason);
}

fn refuse(core: &Arc<Core>, id: String, reason: &str) {
    core.log.note(&format!("ignored a malformed envelope: {reason}"));
    let error = Message::Error { code: "invalid_request".to_owned(), message: reason.to_owned(), details: None };
    core.send_or_note(&Envelope::new(id, error));
}

/// Reads the fields of a `command_response` where the output has them, and shows anything else.
fn slash(output: Value, is_error: bool) -> CommandReply {
    let show = |text: String| {
        if is_error {
            failed(text)
        } else if text.is_empty() {
            CommandReply { action: CommandAction::Noop, error: None }
        } else {
            CommandReply { action: CommandAction::Display { display: text }, error: None }
        }
    };
    match output {
        Value::Null => show(if is_error { "the command failed".to_owned() } else { String::new() }),
        Value::String(text) => show(text),
        Value::Object(object) if object.contains_key("action") || object.contains_key("error") => {
            match serde_json::from_value::<CommandResponse>(Value::Object(object)) {
                Ok(response) => {
                    let mut reply = content::command_reply(response);
                    if is_error {
                        reply.error.get_or_insert_with(|| "the command failed".to_owned());
                    }
                    reply
                }
                Err(error) => failed(format!("the command's output cannot be read: {error}")),
            }
        }
        Value::Object(mut object) if object.get("display").is_some_and(Value::is_string) => {
            show(take_text(&mut object, "display"))
        }
        other => show(other.to_string()),
    }
}

fn failed(text: String) -> CommandReply {
    CommandReply { action: CommandAction::Noop, error: Some(text) }
}
