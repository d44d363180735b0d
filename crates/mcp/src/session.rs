//! One conversation with a server, whatever the way to it: requests find their answers, notifications find their call, and
//! whatever else comes is counted and passed over.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use jackfield_protocol::{CallError, ErrorCode, ExtensionId, Notice, Wire};
use jackfield_runtime::{CallCx, HostApi};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::changes::Changes;
use crate::envelope::{self, Envelope, Kind, RpcError};
use crate::handshake::HandshakeResult;
use crate::params::{self, Era};
use crate::server_handle::{Incoming, ServerHandle};
use crate::stdio::ChildOutput;
use crate::table::{Call, RpcAnswer, Table, UnderWay};
use crate::transport::{IncomingMessage, Outgoing, Sending, Transport};

/// The most of a line that is no message that is noted.
const MAX_NOTED_BYTES: usize = 512;

/// A session. The task that reads what comes in holds one, too; [`ServerHandle::abandon`] ends it.
pub(crate) struct Session {
    pub(crate) id: ExtensionId,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) server: Arc<dyn ServerHandle>,
    pub(crate) host: Arc<dyn HostApi>,
    pub(crate) table: Table,
    /// Who the server is; known after the handshake.
    pub(crate) met: OnceLock<HandshakeResult>,
    pub(crate) changes: Changes,
    /// Requests of the server that are being answered.
    pub(crate) demands: Mutex<HashMap<String, CancellationToken>>,
    /// The level that callers want log messages from, where servers are told with each request.
    pub(crate) level: Mutex<Option<String>>,
    /// Cancelled when the way to the server is gone.
    pub(crate) over: CancellationToken,
    pub(crate) tasks: Handle,
    strays: AtomicU64,
    junk: AtomicU64,
}

/// What is asked of a server.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    /// The tool, prompt or resource that it is about.
    pub(crate) subject: Option<&'a str>,
    pub(crate) call: Option<Call>,
}

impl<'a> Ask<'a> {
    /// Something that no call of the host wants.
    pub(crate) fn own(method: &'a str) -> Self {
        Self { method, subject: None, call: None }
    }
}

/// Locks what cannot be left half changed by a panic elsewhere.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    pub(crate) fn new(
        id: ExtensionId,
        transport: Arc<dyn Transport>,
        server: Arc<dyn ServerHandle>,
        host: Arc<dyn HostApi>,
    ) -> Arc<Self> {
        Arc::new(Self {
            id,
            transport,
            server,
            host,
            table: Table::default(),
            met: OnceLock::new(),
            changes: Changes::default(),
            demands: Mutex::default(),
            level: Mutex::default(),
            over: CancellationToken::new(),
            tasks: Handle::current(),
            strays: AtomicU64::new(0),
            junk: AtomicU64::new(0),
        })
    }

    /// The era that was agreed on; the older one until then.
    pub(crate) fn era(&self) -> Era {
        self.met.get().map_or(Era::Legacy, |met| met.era)
    }

    /// An error of this server.
    pub(crate) fn error(&self, code: ErrorCode, text: impl std::fmt::Display) -> CallError {
        CallError::new(code, format!("extension {} {text}", self.id)).of(&self.id)
    }

    /// What a server answered as an error, as an error of ours. The transport is not to blame.
    pub(crate) fn refusal(&self, what: &str, error: &RpcError) -> CallError {
        let code = match error.code {
            envelope::INVALID_PARAMS | envelope::INVALID_REQUEST => ErrorCode::InvalidRequest,
            envelope::METHOD_NOT_FOUND => ErrorCode::Unsupported,
            _ => ErrorCode::Io,
        };
        let text = format!("answered {what} with an error: {} (code {})", error.message, error.code);
        let mut rpc =
            Map::from_iter([("code".to_owned(), json!(error.code)), ("message".to_owned(), json!(error.message))]);
        rpc.extend(error.data.clone().map(|data| ("data".to_owned(), data)));
        self.error(code, text).with_details(json!({ "rpc": rpc }))
    }

    /// Sends a request and waits for the answer, the deadline, the caller's change of mind or the server's end. A request
    /// that is not waited for any more is taken back. `params` gets the number of the request.
    pub(crate) async fn request(
        self: &Arc<Self>,
        ask: Ask<'_>,
        params: impl FnOnce(u64) -> String,
        cx: &CallCx,
    ) -> RpcAnswer {
        self.request_written(ask, 0, |id, line| line.push_str(&params(id)), cx).await
    }

    /// The same, with parameters that are written where they belong, for which there is `room`.
    pub(crate) async fn request_written(
        self: &Arc<Self>,
        ask: Ask<'_>,
        room: usize,
        params: impl FnOnce(u64, &mut String),
        cx: &CallCx,
    ) -> RpcAnswer {
        let began = Instant::now();
        if cx.cancel.is_cancelled() {
            return Err(self.given_up(&ask));
        }
        let (id, mut receiver) = self.table.open(ask.call.clone())?;
        let mut waiting = Waiting { session: self, id, method: ask.method, sent: false };
        let text = envelope::request_written(id, ask.method, room, |line| params(id, line));
        match self.transport.hand(id, text, ask.method, ask.subject) {
            Sending::Done(sent) => sent?,
            Sending::Later(sending) => tokio::select! {
                biased;
                sent = sending => sent?,
                () = cx.cancel.cancelled() => return Err(self.given_up(&ask)),
                () = tokio::time::sleep_until(cx.deadline.into()) => return Err(self.too_late(&ask, began, cx)),
            },
        }
        waiting.sent = true;
        tokio::select! {
            biased;
            answer = &mut receiver => answer
                .unwrap_or_else(|_| Err(self.error(ErrorCode::Internal, "lost its answer inside the host"))),
            () = cx.cancel.cancelled() => Err(self.given_up(&ask)),
            () = tokio::time::sleep_until(cx.deadline.into()) => Err(self.too_late(&ask, began, cx)),
        }
    }

    fn given_up(&self, ask: &Ask<'_>) -> CallError {
        let text = format!("the caller gave up {} of extension {}", what(ask), self.id);
        CallError::new(ErrorCode::Cancelled, text).of(&self.id)
    }

    fn too_late(&self, ask: &Ask<'_>, began: Instant, cx: &CallCx) -> CallError {
        let waited = cx.deadline.saturating_duration_since(began).as_nanos().div_ceil(1_000_000);
        self.error(ErrorCode::Timeout, format_args!("did not answer {} within {waited} ms", what(ask)))
    }

    /// Sends what nobody answers, in a task of its own.
    pub(crate) fn send_later(self: &Arc<Self>, text: String, method: Option<&str>) {
        let session = Arc::clone(self);
        let message = Outgoing { text, request: None, method: method.map(str::to_owned), subject: None };
        self.tasks.spawn(async move {
            if let Err(error) = session.transport.send(message).await
                && !session.over.is_cancelled()
            {
                session.server.note(&format!("a message was not sent: {error}"));
            }
        });
    }

    /// Reads what comes in until the way to the server is gone. Never waits for anything else.
    pub(crate) async fn listen(self: Arc<Self>, incoming: Incoming) {
        let why = match incoming {
            Incoming::Queue(incoming) => self.take_from(incoming).await,
            Incoming::Child(mut child) => loop {
                match child.next().await {
                    ChildOutput::Message(text) => self.message(&text),
                    ChildOutput::TooLong(bytes) => self.too_long(bytes),
                    ChildOutput::Closed(reason) => break reason,
                }
            },
        };
        let error = self.error(ErrorCode::Unavailable, format_args!("is gone ({why})"));
        self.table.close(&error, |id| self.server.never_got(&Value::from(id)));
        self.over.cancel();
        for (_, demand) in lock(&self.demands).drain() {
            demand.cancel();
        }
    }

    async fn take_from(self: &Arc<Self>, mut incoming: mpsc::Receiver<IncomingMessage>) -> String {
        while let Some(message) = incoming.recv().await {
            match message {
                IncomingMessage::Message(text) => self.message(&text),
                IncomingMessage::Failed { request, error } => {
                    let known =
                        request.as_u64().is_some_and(|number| self.table.resolve(number, Err(error.of(&self.id))));
                    if !known {
                        self.stray("a failure");
                    }
                }
                IncomingMessage::TooLong(bytes) => self.too_long(bytes),
                IncomingMessage::Closed(reason) => return reason,
            }
        }
        "the way to it ended".to_owned()
    }

    /// A message that was too long to be read: an answer may be lost in it, so all that waits fails instead of hanging.
    fn too_long(&self, bytes: u64) {
        let mebibytes = bytes.div_ceil(1024 * 1024);
        let text = format!("sent a message of more than {mebibytes} MiB, which is not read; ask it for less at a time");
        let failed = self.table.fail_all(|_| self.error(ErrorCode::Protocol, &text));
        self.server.note(&format!("{text}; {failed} requests failed"));
    }

    fn message(self: &Arc<Self>, text: &str) {
        if text.trim_start().starts_with('[') {
            // Older versions allow several messages in one.
            match serde_json::from_str::<Vec<&RawValue>>(text) {
                Ok(batch) => batch.iter().for_each(|message| self.one(message.get())),
                Err(_) => self.noise(text),
            }
            return;
        }
        self.one(text);
    }

    fn one(self: &Arc<Self>, text: &str) {
        match Envelope::read(text) {
            Ok(Kind::Answer { id, result }) => self.answered(id, result),
            Ok(Kind::Notification { method, params }) => self.notified(&method, params),
            Ok(Kind::Request { id, method, params }) => self.demanded(id, method, params),
            Err(_) => self.noise(text),
        }
    }

    fn answered(&self, id: Option<Value>, result: Result<&RawValue, RpcError>) {
        let number = match &id {
            Some(id) => id.as_u64(),
            // Whoever cannot read a message cannot say which one it was.
            None => self.table.only(),
        };
        let known = number.is_some_and(|number| {
            let answer = result.map(|result| Wire::new(result.get()));
            self.table.resolve(number, Ok(answer))
        });
        if !known {
            let id = id.map_or_else(|| "no id".to_owned(), |id| format!("the id {id}"));
            self.stray(&format!("an answer with {id}"));
        }
    }

    fn notified(self: &Arc<Self>, method: &str, params: Option<&RawValue>) {
        let values =
            || params.and_then(|params| serde_json::from_str::<Value>(params.get()).ok()).unwrap_or(Value::Null);
        match method {
            "notifications/progress" => self.progress(method, values()),
            "notifications/message" => {
                let call_id = match self.table.under_way() {
                    UnderWay::One(call) => Some(call.as_str().to_owned()),
                    UnderWay::None | UnderWay::Several(_) => None,
                };
                self.host.tell(Notice::Mcp { call_id, method: method.to_owned(), params: values() });
            }
            "notifications/tools/list_changed" => self.changes.tools(),
            "notifications/prompts/list_changed" => self.changes.prompts(),
            "notifications/resources/list_changed" => self.changes.resources(),
            "notifications/cancelled" => {
                if let Some(id) = values().get("requestId")
                    && let Some(demand) = lock(&self.demands).get(&id.to_string())
                {
                    demand.cancel();
                }
            }
            "notifications/subscriptions/acknowledged" => {}
            _ => self.host.tell(Notice::Mcp { call_id: None, method: method.to_owned(), params: values() }),
        }
    }

    /// Progress goes to the call that it is about, under the name that its caller gave it; what comes too late is not
    /// passed on.
    fn progress(&self, method: &str, mut params: Value) {
        let token = params.get("progressToken").and_then(Value::as_u64);
        let Some(call) = token.and_then(|token| self.table.call_of(token)) else {
            return self.stray("progress");
        };
        if let (Some(token), Some(params)) = (call.token, params.as_object_mut()) {
            params.insert("progressToken".to_owned(), token);
        }
        let call_id = Some(call.id.as_str().to_owned());
        self.host.tell(Notice::Mcp { call_id, method: method.to_owned(), params });
    }

    /// Something that nobody waits for: counted, and noted once per hundred.
    pub(crate) fn stray(&self, what: &str) {
        let count = self.strays.fetch_add(1, Ordering::Relaxed) + 1;
        if count % 100 == 1 {
            self.server.note(&format!("ignored {what} that nobody waits for ({count} so far)"));
        }
    }

    /// A line that is no message: counted; the first ones, and then one per hundred, are noted.
    fn noise(&self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        let count = self.junk.fetch_add(1, Ordering::Relaxed) + 1;
        if count > 20 && count % 100 != 1 {
            return;
        }
        let mut end = line.len().min(MAX_NOTED_BYTES);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let cut = if line.len() > MAX_NOTED_BYTES { "…" } else { "" };
        let line = line.get(..end).unwrap_or_default();
        self.server.note(&format!("stdout ({count} lines that are no messages so far): {line}{cut}"));
    }

    /// `_meta` for a request to this server.
    pub(crate) fn meta(&self, callers: &Map<String, Value>, token: Option<u64>) -> Option<String> {
        let level = lock(&self.level).clone();
        params::meta(self.era(), callers, token, level.as_deref())
    }
}

fn what(ask: &Ask<'_>) -> String {
    match ask.subject {
        Some(subject) => format!("{} {subject:?}", ask.method),
        None => ask.method.to_owned(),
    }
}

/// Stops waiting when dropped, however the request ends, and takes back what was sent and not answered.
struct Waiting<'a> {
    session: &'a Arc<Session>,
    id: u64,
    method: &'a str,
    sent: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.session.table.forget(self.id) {
            return;
        }
        let number = Value::from(self.id);
        self.session.transport.forget(&number);
        // The handshake cannot be taken back.
        if self.sent && !matches!(self.method, "initialize" | "server/discover") && !self.session.over.is_cancelled() {
            const METHOD: &str = "notifications/cancelled";
            let params = json!({ "requestId": number, "reason": "nobody waits for the answer any more" });
            let text = envelope::notification(METHOD, Some(&params.to_string()));
            self.session.send_later(text, Some(METHOD));
        }
    }
}
