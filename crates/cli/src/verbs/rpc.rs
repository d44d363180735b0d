//! `rpc`: a host that stays and speaks JSON lines, one request or event per line.
//!
//! Requests are `{"id"?, "type", …}`; answers `{"type":"response","id","command","success","data"|"error"}`. Requests
//! overlap. What happens meanwhile is told as `ext_notify`, `ext_display`, `ext_state` and the like.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::{NewToken, ToolOffer, ToolResponse};
use jackfield_host::{Agent, Caller, Host, NoAgent, ToolCall, Which};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId, plain_text};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite, BufReader};
use tokio_util::sync::CancellationToken;

use super::{LEARN, control, list, run};
use crate::args::Global;
use crate::compose::{self, Company, Reach};
use crate::exit;
use crate::output::note;

mod calls;
pub(super) mod events;
mod listeners;
mod offers;
mod outgoing;

use calls::Calls;
use events::pass_on;
use listeners::{Answered, Listeners, Recorder, RpcFace};
use offers::Offers;

/// The longest line that is read.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How long requests may take to notice that their listener has gone.
const GIVING_UP: Duration = Duration::from_secs(1);

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Request {
    Ping,
    List,
    Tools,
    CallTool {
        #[serde(alias = "name")]
        tool: String,
        #[serde(default, alias = "params")]
        args: Value,
        timeout_ms: Option<u64>,
        #[serde(default)]
        caller: Who,
    },
    /// Gives up the request of that id.
    Cancel {
        target: Value,
    },
    RunCommand {
        #[serde(alias = "name")]
        command: String,
        #[serde(default)]
        args: String,
    },
    Reload {
        extension: Option<String>,
    },
    /// Asks the subscribers of an event.
    Ask {
        event: String,
        #[serde(default)]
        data: Map<String, Value>,
    },
    /// Tells the subscribers of an event.
    Emit {
        event: String,
        #[serde(default)]
        data: Map<String, Value>,
    },
    Shortcut {
        key: String,
    },
    /// Offers a tool for as long as the listener is there.
    RegisterTool {
        tool: ToolOffer,
    },
    UnregisterTool {
        name: String,
    },
    /// Answers a `tool_call_request`.
    ToolCallResponse(ToolResponse),
    ToolCallProgress {
        id: String,
        #[serde(default)]
        message: String,
    },
    /// Where the gateway of this host is, if it has one.
    Gateway,
    /// Makes a token for the gateway.
    CreateToken(NewToken),
    RevokeToken {
        token: String,
    },
    /// Answers a question of an extension.
    ExtensionUiResponse(Answered),
    Shutdown,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Who {
    #[default]
    Agent,
    Person,
}

/// How a host that stays is to be.
pub(crate) struct Stay {
    pub(crate) watch: bool,
    pub(crate) session: Option<PathBuf>,
    pub(crate) record_agent: bool,
    pub(crate) agent_answers: Option<PathBuf>,
}

pub(crate) async fn rpc(global: &Global, stay: Stay) -> anyhow::Result<u8> {
    let Stay { watch, session, record_agent, agent_answers } = stay;
    let listeners = Arc::new(Listeners::default());
    let agent: Arc<dyn Agent> = match record_agent {
        true => Arc::new(Recorder::new(Arc::clone(&listeners), agent_answers.as_deref())?),
        false => Arc::new(NoAgent),
    };
    let face = Arc::new(RpcFace(Arc::clone(&listeners)));
    let host = compose::open_for(global, Reach::All, Company { face, agent, session_file: session, approver: None })?;
    let settings = host.report().settings.clone();
    let watching = if watch || settings.watch.enabled {
        let debounce = Duration::from_millis(settings.watch.debounce_ms);
        let watching = host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?;
        for (path, why) in watching.unwatched() {
            let place = plain_text(&path.to_string_lossy());
            note!("warn: changes in {place} are not noticed, reload by hand: {}", plain_text(&why));
        }
        Some(watching)
    } else {
        None
    };
    let (over, met) = (CancellationToken::new(), CancellationToken::new());
    let face = Arc::new(Face { host: host.clone(), listeners, over, met, door: None });
    let socket = listen(&face);
    let starting = tokio::spawn({
        let (host, met) = (host.clone(), face.met.clone());
        async move {
            host.learn(LEARN).await;
            met.cancel();
            host.start_listeners(LEARN).await;
        }
    });
    let talking = serve(Arc::clone(&face), BufReader::new(tokio::io::stdin()), tokio::io::stdout());
    tokio::pin!(talking);
    tokio::select! {
        () = &mut talking => {}
        () = crate::signals::ended() => {
            face.over.cancel();
            // Bounded: a listener that does not read must not keep the host.
            tokio::time::timeout(GIVING_UP * 2, talking).await.ok();
        }
    }
    face.over.cancel();
    starting.abort();
    drop(watching);
    if let Some(socket) = socket {
        std::fs::remove_file(socket).ok();
    }
    host.shutdown().await;
    Ok(exit::FINE)
}

/// A host that does something else, and that other verbs find all the same, for instance `reload`.
pub(crate) struct Attended {
    socket: Option<PathBuf>,
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            std::fs::remove_file(socket).ok();
        }
    }
}

/// Listens on the socket of this host until the guard is dropped; `over` is cancelled when somebody asks the host to end.
pub(crate) fn attend(host: &Host, over: CancellationToken, door: Option<Door>) -> Attended {
    let met = CancellationToken::new();
    met.cancel();
    Attended { socket: listen(&Arc::new(Face { host: host.clone(), listeners: Arc::default(), over, met, door })) }
}

/// The gateway of a host, for other verbs of the same user.
pub(crate) struct Door {
    /// With `http://`.
    pub(crate) address: String,
    pub(crate) tokens: Arc<jackfield_gateway::Tokens>,
}

struct Face {
    host: Host,
    listeners: Arc<Listeners>,
    /// Cancelled when the host is to end: listeners are answered what they are owed, and nothing more is read.
    over: CancellationToken,
    /// Cancelled once every extension that nobody had seen before has had its chance to start.
    met: CancellationToken,
    /// Its gateway, if it has one.
    door: Option<Door>,
}

/// Serves further listeners on the host's socket, for `jackfield reload` and the like.
#[cfg(unix)]
fn listen(face: &Arc<Face>) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = control::socket(face.host.home(), std::process::id());
    std::fs::remove_file(&path).ok();
    let listener = tokio::net::UnixListener::bind(&path).ok()?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).ok()?;
    let face = Arc::clone(face);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (input, output) = stream.into_split();
            tokio::spawn(serve(Arc::clone(&face), BufReader::new(input), output));
        }
    });
    Some(path)
}

#[cfg(not(unix))]
fn listen(_face: &Arc<Face>) -> Option<std::path::PathBuf> {
    None
}

/// Talks with one listener until it goes. Requests that are still under way are given up then.
async fn serve(
    face: Arc<Face>,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let host = face.host.clone();
    let (out, owed, way, queue) = outgoing::queue(Arc::new(move || host.events_published()));
    let writer = tokio::spawn(queue.write_to(output));
    let events = tokio::spawn(pass_on(face.host.clone(), way, owed));
    let listening = face.listeners.add(out.clone());
    let calls = Arc::new(Calls::default());
    let mut offers = Offers::new(face.host.clone(), out.clone());
    let mut requests = tokio::task::JoinSet::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut input).take(LONGEST);
        let read_line = tokio::select! {
            read = bounded.read_until(b'\n', &mut line) => read,
            () = face.over.cancelled() => break,
        };
        match read_line {
            Ok(0) | Err(_) => break,
            Ok(read) if read as u64 == LONGEST && line.last() != Some(&b'\n') => {
                let error = CallError::new(ErrorCode::InvalidRequest, "a line is longer than 16 MiB");
                out.answer(failure(&Value::Null, "", &error)).await;
                if !skip_line(&mut input).await {
                    break;
                }
                continue;
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => continue,
            Ok(_) => {}
        }
        let (id, kind, request) = match read(&line) {
            Ok(parts) => parts,
            Err(bad) => {
                let (id, error) = *bad;
                out.answer(failure(&id, "", &error)).await;
                continue;
            }
        };
        if let Request::ExtensionUiResponse(answer) = request {
            let question = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            if !face.listeners.answered(&question, answer) {
                let error = CallError::new(ErrorCode::NotFound, format!("no question {question:?} is open"));
                out.answer(failure(&id, &kind, &error)).await;
            }
            continue;
        }
        let request = match offers.take(request) {
            Err(other) => *other,
            // An answer to a tool's call is answered only if something is wrong with it.
            Ok(Ok(None)) => continue,
            Ok(Ok(Some(data))) => {
                out.answer(success(&id, &kind, data)).await;
                continue;
            }
            Ok(Err(error)) => {
                out.answer(failure(&id, &kind, &error)).await;
                continue;
            }
        };
        // Before the next line is read, so that a cancellation on it finds the call.
        let cancel = match request {
            Request::CallTool { .. } => calls.begin(&id),
            _ => CancellationToken::new(),
        };
        let (face, calls, out) = (Arc::clone(&face), Arc::clone(&calls), out.clone());
        requests.spawn(async move {
            let answer = match face.answer(&id, request, &calls, cancel).await {
                Ok(data) => success(&id, &kind, data),
                Err(error) => failure(&id, &kind, &error),
            };
            out.answer(answer).await;
        });
        while requests.try_join_next().is_some() {}
    }
    drop(listening);
    drop(offers);
    calls.cancel_all();
    let given_up = async { while requests.join_next().await.is_some() {} };
    if tokio::time::timeout(GIVING_UP, given_up).await.is_err() {
        // What waits for an extension to start is not worth waiting for; the ledger calls it abandoned.
        requests.shutdown().await;
    }
    // Ends when all that is owed has been passed on.
    drop(out);
    events.await.ok();
    writer.await.ok();
}

/// Passes over the rest of a line without keeping it; false at the end of input.
async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> bool {
    loop {
        let (skip, found) = match input.fill_buf().await {
            Ok([]) | Err(_) => return false,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(skip);
        if found {
            return true;
        }
    }
}

fn read(line: &[u8]) -> Result<(Value, String, Request), Box<(Value, CallError)>> {
    let bad = |id: Value, message: String| Box::new((id, CallError::new(ErrorCode::InvalidRequest, message)));
    let value: Value = serde_json::from_slice(line).map_err(|error| bad(Value::Null, format!("not JSON: {error}")))?;
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    match serde_json::from_value(value) {
        Ok(request) => Ok((id, kind, request)),
        Err(error) => Err(bad(id, format!("bad request {kind:?}: {error}"))),
    }
}

fn success(id: &Value, kind: &str, data: Value) -> String {
    json!({ "type": "response", "id": id, "command": kind, "success": true, "data": data }).to_string()
}

fn failure(id: &Value, kind: &str, error: &CallError) -> String {
    json!({ "type": "response", "id": id, "command": kind, "success": false, "error": exit::error_json(error) })
        .to_string()
}

impl Face {
    fn door(&self) -> Result<&Door, CallError> {
        let none =
            || CallError::new(ErrorCode::Unsupported, "this host has no gateway; start one with `jackfield serve`");
        self.door.as_ref().ok_or_else(none)
    }

    async fn answer(
        &self,
        id: &Value,
        request: Request,
        calls: &Calls,
        cancel: CancellationToken,
    ) -> Result<Value, CallError> {
        match request {
            Request::Ping => Ok(json!({ "pid": std::process::id(), "version": env!("CARGO_PKG_VERSION") })),
            Request::List => Ok(list::listing(&self.host)),
            Request::Tools => {
                self.host.learn(LEARN).await;
                Ok(list::tool_listing(&self.host))
            }
            Request::CallTool { tool, args, timeout_ms, caller } => {
                let caller = match caller {
                    Who::Agent => Caller::Agent,
                    Who::Person => Caller::Person,
                };
                let timeout = timeout_ms.map(Duration::from_millis);
                let outcome =
                    self.host.call_tool(ToolCall { timeout, cancel, ..ToolCall::by(caller, tool, args) }).await;
                calls.end(id);
                match &outcome.result {
                    Ok(_) => Ok(super::call::outcome_json(&outcome)),
                    Err(error) => Err(error.clone()),
                }
            }
            Request::Cancel { target } => Ok(json!({ "cancelled": calls.cancel(&target) })),
            Request::RunCommand { command, args } => {
                let (outcome, notes) = run::run_command(&self.host, &command, &args).await;
                match &outcome.result {
                    Ok(_) => Ok(run::outcome_json(&outcome, &notes)),
                    Err(error) => Err(error.clone()),
                }
            }
            Request::Reload { extension } => {
                let reloaded = match extension {
                    None => self.host.reload(Which::Changed).await,
                    Some(name) => {
                        let id = ExtensionId::new(name);
                        if self.host.state(&id).is_none() {
                            return Err(CallError::new(ErrorCode::NotFound, format!("no extension named {id}")));
                        }
                        self.host.reload(Which::One(&id)).await
                    }
                };
                Ok(json!({ "reloaded": reloaded }))
            }
            Request::Ask { event, data } => Ok(json!(self.host.ask(&event, data).await?)),
            Request::Emit { event, data } => {
                self.met.cancelled().await;
                self.host.emit(&event, data);
                Ok(json!({}))
            }
            Request::Shortcut { key } => {
                self.met.cancelled().await;
                self.host.press(&key).await?;
                Ok(json!({}))
            }
            Request::Gateway => {
                let door = self.door()?;
                Ok(json!({ "address": door.address, "pid": std::process::id(), "project": self.host.project() }))
            }
            Request::CreateToken(wish) => Ok(json!(self.door()?.tokens.make(wish)?)),
            Request::RevokeToken { token } => Ok(json!({ "revoked": self.door()?.tokens.revoke(&token) })),
            // Taken as soon as they are read.
            Request::ExtensionUiResponse(_)
            | Request::RegisterTool { .. }
            | Request::UnregisterTool { .. }
            | Request::ToolCallResponse(_)
            | Request::ToolCallProgress { .. } => Ok(json!({})),
            Request::Shutdown => {
                self.over.cancel();
                Ok(json!({}))
            }
        }
    }
}
