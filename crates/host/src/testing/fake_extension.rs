//! The description of one fake extension: its manifest, what it contributes, how it starts and how it answers.

use std::future::Future;
use std::sync::Arc;

use jackfield_files::Home;
use jackfield_ledger::{Filter, read};
use jackfield_protocol::{
    CallError, CallId, Capability, Contributions, ErrorCode, HookCall, HookPoint, HookVerdict, HostCall, OnFailure,
    Power, ToolResult, ToolSpec, Wire,
};
use jackfield_runtime::{BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Reply, Traits};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Holds tasks back until the test opens it.
#[derive(Clone, Default)]
pub(crate) struct Latch(CancellationToken);

impl Latch {
    pub(crate) fn open(&self) {
        self.0.cancel();
    }

    pub(crate) async fn opened(&self) {
        self.0.cancelled().await;
    }
}

/// How an extension starts.
#[derive(Clone)]
pub(crate) enum Start {
    AtOnce,
    /// It fails with this message.
    Fails(&'static str),
    /// Its handshake never ends.
    Never,
    /// Its handshake ends when the latch opens.
    After(Latch),
}

/// The form of its manifest, and with it its runtime.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// pi's `extension.json` with a program.
    Program,
    /// pi's `extension.json` with a script.
    Script,
    /// An entry of `mcp.json`.
    Server,
    /// A Python file. Its id begins with `tools.`.
    PythonFile,
}

/// A call that reached an instance.
pub(crate) struct FakeCall {
    pub(crate) call: ExtensionCall,
    pub(crate) cx: CallCx,
    /// The door of the instance. An attached instance has none.
    pub(crate) door: Option<Arc<dyn HostApi>>,
    pub(super) extension: String,
    pub(super) home: Home,
}

type AnswerFuture = BoxFuture<'static, Result<Reply, CallError>>;
type Answer = Arc<dyn Fn(FakeCall) -> AnswerFuture + Send + Sync>;

impl FakeCall {
    /// The arguments of a tool call; `null` for any other call.
    pub(crate) fn args(&self) -> Value {
        match &self.call {
            ExtensionCall::Tool { args, .. } => (**args).clone(),
            _ => Value::Null,
        }
    }

    /// The host's id for this call, where the host gave one.
    pub(crate) fn id(&self) -> Option<CallId> {
        match &self.call {
            ExtensionCall::Tool { call_id, .. }
            | ExtensionCall::Mcp { call_id, .. }
            | ExtensionCall::Command { call_id, .. }
            | ExtensionCall::Hook { call_id, .. }
            | ExtensionCall::Ask { call_id, .. }
            | ExtensionCall::Shortcut { call_id, .. }
            | ExtensionCall::Channel { call_id, .. } => Some(call_id.clone()),
            _ => None,
        }
    }

    /// Makes a host call that serves this call.
    pub(crate) async fn host_call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let cx = HostCallCx { within: self.id(), ..HostCallCx::default() };
        let door = self.door.as_ref().expect("a started instance has a door");
        door.call(HostCall::parse(method, params)?, cx).await
    }

    /// The names of the records that the ledger holds at this moment.
    pub(crate) fn ledger(&self) -> Vec<String> {
        let records = read(&self.home.ledger(), Filter::default()).expect("a readable ledger");
        records.iter().filter_map(|record| record["event"].as_str().map(str::to_owned)).collect()
    }

    /// What an extension answers if the test says nothing.
    fn default_answer(self) -> Result<Reply, CallError> {
        match self.call {
            ExtensionCall::Tool { .. } => Ok(Reply::Tool(ToolResult::text(self.extension))),
            ExtensionCall::Hook { .. } => Ok(Reply::Hook(HookVerdict::Continue)),
            ExtensionCall::Ask { asked, .. } => Ok(Reply::Asked(asked)),
            ExtensionCall::Shortcut { .. } => Ok(Reply::Done),
            ExtensionCall::Channel { .. } => Ok(Reply::Channel(None)),
            ExtensionCall::Mcp { params, .. } => Ok(Reply::Mcp(params)),
            other => Err(CallError::new(ErrorCode::Unsupported, format!("{other:?}"))),
        }
    }
}

/// The description of an extension. The start of an instance copies it, so an edit changes only later starts.
#[derive(Clone)]
pub(crate) struct FakeExtension {
    pub(super) id: String,
    pub(super) form: Form,
    pub(super) named_by_flag: bool,
    pub(super) enabled: bool,
    pub(super) traits: Traits,
    pub(super) contributions: Contributions,
    pub(super) capabilities: Vec<Capability>,
    pub(super) priority: i32,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) limits: Value,
    pub(super) start: Start,
    pub(super) answer: Answer,
}

impl FakeExtension {
    /// A program of the person's home that contributes nothing.
    pub(crate) fn new(id: &str) -> Self {
        Self::of(id, Form::Program)
    }

    /// A script of the person's home that contributes nothing.
    pub(crate) fn script(id: &str) -> Self {
        Self::of(id, Form::Script)
    }

    /// An MCP server. Its tools have names that begin with its id; it is never a guard.
    pub(crate) fn server(id: &str) -> Self {
        Self::of(id, Form::Server)
    }

    /// A Python file. Its tools have any name; it is never a guard.
    pub(crate) fn python_file(name: &str) -> Self {
        Self::of(&format!("tools.{name}"), Form::PythonFile)
    }

    fn of(id: &str, form: Form) -> Self {
        Self {
            id: id.to_owned(),
            form,
            named_by_flag: false,
            enabled: true,
            traits: Traits::default(),
            contributions: Contributions::default(),
            capabilities: Vec::new(),
            priority: 0,
            on_failure: None,
            limits: json!({}),
            start: Start::AtOnce,
            answer: Arc::new(|call| Box::pin(async { call.default_answer() })),
        }
    }

    /// Named on the command line, before the extensions of the home.
    pub(crate) fn named_by_flag(self) -> Self {
        Self { named_by_flag: true, ..self }
    }

    /// Its manifest switches it off.
    pub(crate) fn disabled(self) -> Self {
        Self { enabled: false, ..self }
    }

    pub(crate) fn traits(self, traits: Traits) -> Self {
        Self { traits, ..self }
    }

    pub(crate) fn contributes(self, contributions: Contributions) -> Self {
        Self { contributions, ..self }
    }

    /// Contributes a tool that takes any object.
    pub(crate) fn tool(self, name: &str) -> Self {
        self.tool_spec(ToolSpec::open(name))
    }

    /// Contributes a tool that takes an object with the integer `count`.
    pub(crate) fn counting_tool(self, name: &str) -> Self {
        let parameters = json!({ "type": "object", "properties": { "count": { "type": "integer" } } });
        self.tool_spec(ToolSpec { parameters, ..ToolSpec::open(name) })
    }

    pub(crate) fn tool_spec(mut self, spec: ToolSpec) -> Self {
        self.contributions.tools.push(spec);
        self
    }

    pub(crate) fn hooks(mut self, point: HookPoint) -> Self {
        self.contributions.hooks.push(point);
        self
    }

    /// Is asked before every tool call, and answers this.
    pub(crate) fn guards(self, verdict: impl Fn(&HookCall) -> HookVerdict + Send + Sync + 'static) -> Self {
        self.hooks(HookPoint::BeforeToolCall).answers(move |call| match &call.call {
            ExtensionCall::Hook { hook, .. } => Ok(Reply::Hook(verdict(hook))),
            _ => call.default_answer(),
        })
    }

    /// Its manifest declares this power without limits.
    pub(crate) fn declares(mut self, power: Power) -> Self {
        self.capabilities.push(Capability::unlimited(power));
        self
    }

    pub(crate) fn priority(self, priority: i32) -> Self {
        Self { priority, ..self }
    }

    pub(crate) fn on_failure(self, rule: OnFailure) -> Self {
        Self { on_failure: Some(rule), ..self }
    }

    /// A limit of its manifest, for instance `hook_timeout_ms`.
    pub(crate) fn limit(mut self, name: &str, value: u64) -> Self {
        self.limits[name] = json!(value);
        self
    }

    pub(crate) fn starts(self, start: Start) -> Self {
        Self { start, ..self }
    }

    /// Answers every call with what `answer` gives.
    pub(crate) fn answers(self, answer: impl Fn(FakeCall) -> Result<Reply, CallError> + Send + Sync + 'static) -> Self {
        let answer: Answer = Arc::new(move |call| Box::pin(std::future::ready(answer(call))));
        Self { answer, ..self }
    }

    /// The same for an answer that takes a while, for instance because it makes host calls.
    pub(crate) fn answers_later<F>(self, answer: impl Fn(FakeCall) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Reply, CallError>> + Send + 'static,
    {
        let answer: Answer = Arc::new(move |call| Box::pin(answer(call)));
        Self { answer, ..self }
    }

    /// Answers every tool call with its arguments.
    pub(crate) fn echoes(self) -> Self {
        self.answers(|call| Ok(text(call.args().to_string())))
    }

    /// Answers every tool call with this text.
    pub(crate) fn says(self, words: &'static str) -> Self {
        self.answers(move |_| Ok(text(words)))
    }

    /// Answers every call with this text when the latch has opened.
    pub(crate) fn says_after(self, latch: &Latch, words: &'static str) -> Self {
        let latch = latch.clone();
        self.answers_later(move |_| {
            let latch = latch.clone();
            async move {
                latch.opened().await;
                Ok(text(words))
            }
        })
    }

    /// Fails every call with this error.
    pub(crate) fn fails(self, error: CallError) -> Self {
        self.answers(move |_| Err(error.clone()))
    }

    /// Answers a request in MCP's words with this JSON.
    pub(crate) fn answers_mcp(self, result: &'static str) -> Self {
        self.answers(move |_| Ok(Reply::Mcp(Wire::new(result))))
    }
}

/// A reply to a tool call.
pub(crate) fn text(words: impl Into<String>) -> Reply {
    Reply::Tool(ToolResult::text(words))
}
