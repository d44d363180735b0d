//! The JSON-RPC dialect of nexo's extensions, with the child request `host/call` added.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use jackfield_protocol::jsonrpc::{
    FromExtension, INVALID_PARAMS, InitializeResult, METHOD_NOT_FOUND, Request, RpcError, ToolDescriptor,
};
use jackfield_protocol::{
    CallError, CallId, CapabilityManifest, Content, Contributions, ErrorCode, HookPoint, ToolResult, ToolSpec,
};
use jackfield_runtime::{CallCx, ExtensionCall, Registrations, Reply, StartError};
use serde_json::{Map, Value, json};

use crate::content;
use crate::core::{Core, Question, to_line};
use crate::dialect::{HandshakeReader, bad_handshake, too_late};
use crate::pending::{DialectAnswer, QuestionKind};

mod demand;
mod hooks;

/// `initialize` and `shutdown` share this id, as in the peers' own host.
const CONTROL_ID: u64 = 0;
/// The longest name that every model provider accepts.
const LONGEST_NAME: usize = 256;

/// How this child wants its tools called. Found out by the first call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Style {
    Unknown = 0,
    /// `tools/call` with name and arguments.
    Call = 1,
    /// `tools/<name>` with the arguments alone, as the peers' documentation has it.
    Direct = 2,
}

#[derive(Default)]
pub(crate) struct JsonRpc {
    style: AtomicU8,
}

impl JsonRpc {
    pub(crate) async fn handshake(
        &self,
        core: &Arc<Core>,
        reader: &mut HandshakeReader,
    ) -> Result<Contributions, StartError> {
        const AWAITED: &str = "answer to initialize";
        let deadline = Instant::now() + core.spec.start_timeout;
        let params =
            json!({ "agent_version": jackfield_protocol::jsonrpc::AGENT_VERSION, "extension_id": core.id.as_str() });
        core.send_or_note(&Request::new(CONTROL_ID, "initialize", params));
        let outcome = loop {
            let Some(line) = reader.next_line(core, deadline, AWAITED).await? else {
                return Err(too_late(core, AWAITED));
            };
            match FromExtension::parse(&line) {
                Some(FromExtension::Answer { id: CONTROL_ID, outcome }) => break outcome,
                Some(message) => self.message(core, message),
                None => core.noise(&line),
            }
        };
        match outcome {
            Ok(result) => Ok(read_handshake(result)),
            Err(RpcError { code, message, .. }) => {
                Err(bad_handshake(format!("initialize failed: code {code}: {message}")))
            }
        }
    }

    pub(crate) fn line(&self, core: &Arc<Core>, line: &[u8]) {
        match FromExtension::parse(line) {
            Some(message) => self.message(core, message),
            None => core.noise(line),
        }
    }

    fn message(&self, core: &Arc<Core>, message: FromExtension) {
        const ALL: [QuestionKind; 3] = [QuestionKind::Tool, QuestionKind::Hook, QuestionKind::Control];
        match message {
            FromExtension::Answer { id, outcome } => {
                if !core.pending.resolve(id, &ALL, Ok(DialectAnswer::Rpc(outcome))) {
                    core.stray(&format!("an answer with the id {id}"));
                }
            }
            FromExtension::Request { id, method, params } => demand::request(core, id, &method, params),
            FromExtension::Notification { method, params } => demand::notification(core, &method, params),
        }
    }

    pub(crate) async fn call(&self, core: &Arc<Core>, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        match call {
            ExtensionCall::Tool { call_id, name, args, meta, .. } => {
                let outcome =
                    self.call_tool(core, call_id, &name, with_meta(Arc::unwrap_or_clone(args), &meta), &cx).await?;
                Ok(Reply::Tool(match outcome {
                    Ok(value) => content::free_result(core.id.as_str(), &name, value),
                    Err(error) => refusal(error),
                }))
            }
            ExtensionCall::Hook { call_id, hook } => {
                let point = hook.point();
                let Some((method, params)) = hooks::question(hook) else {
                    return Err(core.error(
                        ErrorCode::Unsupported,
                        format_args!("cannot be asked about {}: its dialect has no such hook", point.as_str()),
                    ));
                };
                match self.request(core, QuestionKind::Hook, call_id, method, params, &cx).await? {
                    Ok(value) => hooks::verdict(core, point, value).map(Reply::Hook),
                    Err(RpcError { code, message, data }) => {
                        let text = format!("answered {method} with code {code}: {message}");
                        Err(core.error(ErrorCode::Io, text).with_details(json!({ "code": code, "data": data })))
                    }
                }
            }
            _ => Err(core.error(ErrorCode::Unsupported, "cannot do this: its dialect has only tools and hooks")),
        }
    }

    async fn call_tool(
        &self,
        core: &Arc<Core>,
        call_id: CallId,
        name: &str,
        arguments: Value,
        cx: &CallCx,
    ) -> Result<Result<Value, RpcError>, CallError> {
        let direct = format!("tools/{name}");
        let style = self.style.load(Ordering::Relaxed);
        if style == Style::Direct as u8 {
            return self.request(core, QuestionKind::Tool, call_id, &direct, arguments, cx).await;
        }
        // A second copy is needed only until the style is known.
        let spare = (style == Style::Unknown as u8).then(|| arguments.clone());
        let params = json!({ "name": name, "arguments": arguments });
        let first = self.request(core, QuestionKind::Tool, call_id.clone(), "tools/call", params, cx).await?;
        match (&first, spare) {
            (Err(error), Some(arguments)) if error.code == METHOD_NOT_FOUND => {
                let second = self.request(core, QuestionKind::Tool, call_id, &direct, arguments, cx).await?;
                if matches!(&second, Err(error) if error.code == METHOD_NOT_FOUND) {
                    return Ok(first);
                }
                self.style.store(Style::Direct as u8, Ordering::Relaxed);
                Ok(second)
            }
            _ => {
                self.style.store(Style::Call as u8, Ordering::Relaxed);
                Ok(first)
            }
        }
    }

    async fn request(
        &self,
        core: &Arc<Core>,
        asked: QuestionKind,
        call_id: CallId,
        method: &str,
        params: Value,
        cx: &CallCx,
    ) -> Result<Result<Value, RpcError>, CallError> {
        let question = Question { asked, what: method, call_id: Some(call_id), id: None };
        match core.ask(question, cx, |id| to_line(&Request::new(id, method, params)), |_| {}).await? {
            DialectAnswer::Rpc(outcome) => Ok(outcome),
            DialectAnswer::Frame(_) | DialectAnswer::Envelope(_) => {
                Err(core.error(ErrorCode::Internal, "was answered in another dialect inside the host"))
            }
        }
    }

    /// Asks for the end and waits for the answer; the caller bounds it all.
    pub(crate) async fn farewell(&self, core: &Arc<Core>, grace: Duration) {
        let question = Question { asked: QuestionKind::Control, what: "shutdown", call_id: None, id: Some(CONTROL_ID) };
        let request = Request::new(CONTROL_ID, "shutdown", json!({ "reason": "the host stops this extension" }));
        // Whatever comes of it, the input is closed next.
        core.ask(question, &CallCx::within(grace), |_| to_line(&request), |_| {}).await.ok();
    }
}

/// Everything in the result of `initialize` may be missing or odd; only what is odd is left out.
fn read_handshake(result: Value) -> Contributions {
    let mut registrations = Registrations::default();
    let Value::Object(mut object) = result else {
        registrations.warn("the answer to initialize is not an object; nothing is registered".to_owned());
        return registrations.finish();
    };
    let mut list = |key: &str| match object.remove(key) {
        Some(Value::Array(items)) => Ok(items),
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(_) => Err(format!("{key} in the answer to initialize is not an array and was left out")),
    };
    let (tools, hooks) = (list("tools"), list("hooks"));
    let rest: InitializeResult = serde_json::from_value(Value::Object(object)).unwrap_or_default();
    registrations.contributions.version = rest.server_version;
    match tools {
        Ok(tools) => tools.into_iter().for_each(|tool| register_tool(&mut registrations, tool)),
        Err(warning) => registrations.warn(warning),
    }
    match hooks {
        Ok(hooks) => hooks.into_iter().for_each(|hook| register_hook(&mut registrations, &hook)),
        Err(warning) => registrations.warn(warning),
    }
    match rest.capability_manifest.map(serde_json::from_value::<CapabilityManifest>) {
        Some(Ok(manifest)) => registrations.contributions.capabilities = manifest.capabilities,
        Some(Err(error)) => registrations.warn(format!("capability_manifest was left out: {error}")),
        None => {}
    }
    registrations.finish()
}

fn register_tool(registrations: &mut Registrations, tool: Value) {
    let (name, description, schema) = match serde_json::from_value(tool).unwrap_or(ToolDescriptor::Other(Value::Null)) {
        ToolDescriptor::Name(name) => (name, String::new(), None),
        ToolDescriptor::Full { name, description, input_schema } => (name, description, input_schema),
        ToolDescriptor::Other(value) => {
            let shown: String = value.to_string().chars().take(100).collect();
            return registrations
                .warn(format!("a tool was left out: {shown} is neither a name nor an object with one"));
        }
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(allowed) {
        let shown: String = name.chars().take(100).collect();
        return registrations.warn(format!(
            "tool {shown:?} was left out: a name has 1 to {LONGEST_NAME} letters, digits, underscores and dashes"
        ));
    }
    let mut spec = ToolSpec { description, ..ToolSpec::open(name) };
    // `{}` is what the peers write for "anything"; models want to see an object.
    if let Some(schema) = schema.filter(|schema| schema.as_object().is_none_or(|object| !object.is_empty())) {
        spec.parameters = schema;
    }
    registrations.tool(spec);
}

fn register_hook(registrations: &mut Registrations, hook: &Value) {
    match hook.as_str() {
        Some("before_message") => registrations.hook(HookPoint::BeforeMessage),
        Some("after_message") => registrations.hook(HookPoint::AfterMessage),
        Some("before_tool_call") => registrations.hook(HookPoint::BeforeToolCall),
        Some("after_tool_call") => registrations.hook(HookPoint::AfterToolCall),
        _ => {
            let shown: String = hook.to_string().chars().take(100).collect();
            registrations.warn(format!(
                "hook {shown} was left out: there are before_message, after_message, before_tool_call and after_tool_call"
            ));
        }
    }
}

/// Adds `_meta` after the arguments were checked against their schema, which knows nothing of it.
fn with_meta(args: Value, meta: &Map<String, Value>) -> Value {
    match args {
        Value::Object(mut args) if !meta.is_empty() => {
            args.insert("_meta".to_owned(), Value::Object(meta.clone()));
            Value::Object(args)
        }
        Value::Null => json!({}),
        args => args,
    }
}

/// An error with a code is an answer of a working extension, not a failure of its transport.
fn refusal(error: RpcError) -> ToolResult {
    let RpcError { code, message, data } = error;
    let mut details = Map::from_iter([("code".to_owned(), json!(code))]);
    if let Some(data) = data {
        details.insert("data".to_owned(), data);
    }
    let content = vec![Content::text(format!("code {code}: {message}"))];
    ToolResult { content, is_error: true, details: Some(Value::Object(details)), wire: None }
}

/// The code that stands for an error of the host.
fn host_code(error: &CallError) -> i64 {
    match error.code {
        ErrorCode::Denied => jackfield_protocol::jsonrpc::NOT_GRANTED,
        ErrorCode::InvalidRequest | ErrorCode::NotFound | ErrorCode::Unsupported => INVALID_PARAMS,
        _ => -32000,
    }
}

#[cfg(test)]
mod tests;
