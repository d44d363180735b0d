//! Streamable HTTP, in both eras: with sessions, a stream of news and replay up to 2025-11-25; every request on its own
//! from 2026-07-28, where a closed connection is a request given up.

mod checks;
mod streams;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt as _;
use jackfield_mcp::envelope::{INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, RpcError};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::client::{Client, Taken, Waiting};
use super::exchange::{HEADER_MISMATCH, MISSING_CAPABILITY, Params, UNSUPPORTED_VERSION, VERSION, modern};
use super::out::{self, Message, Outgoing, RpcResponse};
use super::{LEGACY, MODERN, McpFace, lock, notifications, wire};
use streams::{Stream, body_of, pump};

/// The longest message that is read.
const LONGEST: usize = 16 * 1024 * 1024;
/// How many sessions there may be; whoever was quiet longest goes for the next one.
const MOST_SESSIONS: usize = 1024;
/// A session from which nothing was heard for so long is removed.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_secs(3600);
/// How long the first message may take before a stream is opened for what will come.
const FIRST_ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

const SESSION: &str = "mcp-session-id";
const PROTOCOL: &str = "mcp-protocol-version";

/// How the face is reached over HTTP.
#[derive(Debug, Clone, Default)]
pub struct HttpOptions {
    /// The names under which this host may be addressed, beside those that a machine has for itself.
    pub allowed_hosts: Vec<String>,
    /// What clients must give as a bearer token. Nothing where somebody else checks that, or nobody does.
    pub token: Option<String>,
    /// Somebody else has looked at where requests were sent to and from.
    pub any_host: bool,
}

struct Http {
    face: McpFace,
    options: HttpOptions,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

/// A client that shook hands.
struct Session {
    client: Arc<Client>,
    /// News, and one stream for each request that is under way or lately was.
    streams: Mutex<HashMap<u64, Arc<Stream>>>,
    general: Arc<Stream>,
    heard: Mutex<Instant>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.client.leave();
        notifications::forget(&self.client.face, std::mem::take(&mut *lock(&self.client.subscriptions)));
    }
}

/// The routes of `/mcp`.
pub fn mcp_router(face: McpFace, options: HttpOptions) -> Router {
    let http = Arc::new(Http { face, options, sessions: Mutex::default() });
    Router::new().route("/mcp", post(posted).get(streamed).delete(ended)).with_state(http)
}

/// Serves a router on a socket until `over` is cancelled. What is under way then is given up.
///
/// # Errors
/// The socket cannot be used any more.
pub async fn serve_http(listener: TcpListener, router: Router, over: CancellationToken) -> std::io::Result<()> {
    // Answers are small and wanted at once.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    tokio::select! {
        served = async { axum::serve(listener, router).await } => served,
        () = over.cancelled() => Ok(()),
    }
}

/// A token that nobody can guess.
pub fn new_token() -> String {
    wire::unguessable()
}

async fn posted(State(http): State<Arc<Http>>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = checks::admit(&parts.headers, &http.options) {
        return refusal;
    }
    if !checks::is_json(&parts.headers) {
        let message = "Content-Type must be application/json";
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, None, INVALID_REQUEST, message);
    }
    let Ok(bytes) = to_bytes(body, LONGEST).await else {
        let message = "the message is longer than 16 MiB, or did not arrive";
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, message);
    };
    let Ok(text) = std::str::from_utf8(&bytes) else {
        return refuse(StatusCode::BAD_REQUEST, None, PARSE_ERROR, "the message is not UTF-8");
    };
    http.message(&parts.headers, text).await
}

impl Http {
    async fn message(&self, headers: &HeaderMap, text: &str) -> Response {
        let head = MessageHead::of(text);
        if head.is_modern(headers) {
            return self.modern(headers, text, &head).await;
        }
        let session = match checks::text(headers, SESSION) {
            Some(id) => match self.session(id, headers) {
                Some(session) => session,
                None => {
                    return refuse(
                        StatusCode::NOT_FOUND,
                        head.id(),
                        INVALID_REQUEST,
                        "no such session; initialize anew",
                    );
                }
            },
            None if head.method.as_deref() == Some("initialize") => return self.greet(headers, text).await,
            None => {
                // Whatever is wrong with the message itself is said first.
                if let Taken::Refused(refusal) = self.passing(headers).take(text) {
                    let (id, error) = *refusal;
                    return answered(StatusCode::BAD_REQUEST, RpcResponse::of(id.as_ref(), &Err(error)));
                }
                let message = "Mcp-Session-Id is missing: initialize first, or speak MCP 2026-07-28";
                return refuse(StatusCode::BAD_REQUEST, head.id(), INVALID_REQUEST, message);
            }
        };
        if let Some(version) = checks::text(headers, PROTOCOL)
            && !LEGACY.contains(&version)
        {
            let message = format!("unsupported protocol version {version:?}");
            return refuse(StatusCode::BAD_REQUEST, head.id(), INVALID_REQUEST, &message);
        }
        *lock(&session.heard) = Instant::now();
        match session.client.take(text) {
            Taken::Request(waiting) => session.run(waiting, checks::accepts_stream(headers)).await,
            Taken::Refused(refusal) => {
                let (id, error) = *refusal;
                answered(StatusCode::BAD_REQUEST, RpcResponse::of(id.as_ref(), &Err(error)))
            }
            Taken::Done => StatusCode::ACCEPTED.into_response(),
        }
    }

    /// A client of which nothing is remembered.
    fn passing(&self, headers: &HeaderMap) -> Arc<Client> {
        let (general, _) = out::queue();
        Client::new(&self.face.shared, self.face.shared.options.expose.clone(), checks::principal(headers), general)
    }

    /// The session that a request names, if it is its own.
    fn session(&self, id: &str, headers: &HeaderMap) -> Option<Arc<Session>> {
        let principal = checks::principal(headers);
        lock(&self.sessions).get(id).filter(|session| session.client.principal == principal).cloned()
    }

    /// Begins a session.
    async fn greet(&self, headers: &HeaderMap, text: &str) -> Response {
        let (general, outgoing) = out::queue();
        let shared = &self.face.shared;
        let client = Client::new(shared, shared.options.expose.clone(), checks::principal(headers), general);
        let waiting = match client.take(text) {
            Taken::Request(waiting) => waiting,
            Taken::Refused(refusal) => {
                let (id, error) = *refusal;
                return answered(StatusCode::BAD_REQUEST, RpcResponse::of(id.as_ref(), &Err(error)));
            }
            Taken::Done => return refuse(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, "initialize is a request"),
        };
        let news = Arc::new(Stream::new(0));
        let session = Arc::new(Session {
            client,
            streams: Mutex::new(HashMap::from([(0, Arc::clone(&news))])),
            general: Arc::clone(&news),
            heard: Mutex::new(Instant::now()),
        });
        tokio::spawn(pump(outgoing, news));
        let mut response = session.run(waiting, checks::accepts_stream(headers)).await;
        if session.client.legacy().is_some() {
            let id = wire::unguessable();
            if let Ok(value) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(SESSION, value);
                self.remember(id, session);
            }
        }
        response
    }

    fn remember(&self, id: String, session: Arc<Session>) {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|_, session| session.is_used() || lock(&session.heard).elapsed() < SESSION_IDLE_TIMEOUT);
        if sessions.len() >= MOST_SESSIONS
            && let Some(oldest) = sessions.iter().min_by_key(|(_, it)| *lock(&it.heard)).map(|(id, _)| id.clone())
        {
            sessions.remove(&oldest);
        }
        sessions.insert(id, session);
    }

    /// A request that stands for itself.
    async fn modern(&self, headers: &HeaderMap, text: &str, head: &MessageHead) -> Response {
        let id = head.id();
        if let Err(problem) = checks::headers_match(headers, head, || self.face.shared.host.snapshot()) {
            return refuse(StatusCode::BAD_REQUEST, id, HEADER_MISMATCH, &problem);
        }
        if let (Some(_), Err(error)) = (id, modern(&head.meta)) {
            return answered(StatusCode::BAD_REQUEST, RpcResponse::of(id, &Err(error)));
        }
        let waiting = match self.passing(headers).take(text) {
            Taken::Request(waiting) => waiting,
            Taken::Refused(refusal) => {
                let (id, error) = *refusal;
                return answered(StatusCode::BAD_REQUEST, RpcResponse::of(id.as_ref(), &Err(error)));
            }
            Taken::Done if head.method.is_some() => return StatusCode::ACCEPTED.into_response(),
            Taken::Done => {
                let message = "answers have no place here since 2026-07-28; put them into inputResponses";
                return refuse(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, message);
            }
        };
        // A connection that closes gives the request up.
        let given_up = waiting.cancel.clone().drop_guard();
        let cancel = waiting.cancel.clone();
        let mut outgoing = begin(waiting);
        match first(&mut outgoing, checks::accepts_stream(headers)).await {
            First::Answer(message) => {
                given_up.disarm();
                answered(status(message.code), RpcResponse { text: message.text, code: message.code })
            }
            First::Stream(message) => {
                given_up.disarm();
                stream_response(streams::direct(message, outgoing, cancel))
            }
            First::Nothing => StatusCode::NO_CONTENT.into_response(),
        }
    }
}

/// What HTTP says of an error.
fn status(code: Option<i64>) -> StatusCode {
    match code {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Runs a request; what belongs to it comes out of the queue, the answer last.
fn begin(waiting: Waiting) -> Outgoing {
    let (out, outgoing) = out::queue();
    tokio::spawn(waiting.serve(out));
    outgoing
}

enum First {
    /// The answer came before anything else.
    Answer(Message),
    /// Something else did, or nothing came at once.
    Stream(Option<Message>),
    /// There is no answer.
    Nothing,
}

async fn first(outgoing: &mut Outgoing, may_stream: bool) -> First {
    loop {
        let next = match may_stream {
            true => match tokio::time::timeout(FIRST_ANSWER_TIMEOUT, outgoing.next()).await {
                Ok(next) => next,
                Err(_) => return First::Stream(None),
            },
            false => outgoing.next().await,
        };
        match next {
            None => return First::Nothing,
            Some(message) if message.last => return First::Answer(message),
            Some(message) if may_stream => return First::Stream(Some(message)),
            // Whoever wants one JSON object gets no notifications.
            Some(_) => {}
        }
    }
}

impl Session {
    fn is_used(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1 || self.general.is_read()
    }

    /// Answers a request of this session.
    async fn run(self: &Arc<Self>, waiting: Waiting, may_stream: bool) -> Response {
        let mut outgoing = begin(waiting);
        let message = match first(&mut outgoing, may_stream).await {
            First::Answer(message) => return answered(StatusCode::OK, RpcResponse { text: message.text, code: None }),
            First::Nothing => return StatusCode::ACCEPTED.into_response(),
            First::Stream(message) => message,
        };
        let stream = Arc::new(Stream::new(self.client.face.number()));
        {
            let mut streams = lock(&self.streams);
            streams.retain(|id, stream| *id == 0 || !stream.is_stale());
            streams.insert(stream.id, Arc::clone(&stream));
        }
        if let Some(message) = message {
            stream.push(message.text).await;
        }
        tokio::spawn(pump(outgoing, Arc::clone(&stream)));
        // From 2025-11-25 a client can come back for a stream that broke before its first event.
        let primed = self.client.legacy().is_some_and(|legacy| legacy.version >= LEGACY[0]);
        stream_response(body_of(stream, 0, primed))
    }
}

/// News, or the rest of a stream that broke.
async fn streamed(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = checks::admit(&headers, &http.options) {
        return refusal;
    }
    let Some(id) = checks::text(&headers, SESSION) else {
        // Nothing of this kind exists without a session.
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response();
    };
    let Some(session) = http.session(id, &headers) else {
        return refuse(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "no such session; initialize anew");
    };
    if !checks::accepts_stream(&headers) {
        return refuse(StatusCode::NOT_ACCEPTABLE, None, INVALID_REQUEST, "Accept must include text/event-stream");
    }
    *lock(&session.heard) = Instant::now();
    let (stream, after) = match checks::text(&headers, "last-event-id").map(streams::place) {
        Some(Some((stream, after))) => match lock(&session.streams).get(&stream).cloned() {
            Some(stream) => (stream, after),
            None => return refuse(StatusCode::NOT_FOUND, None, INVALID_PARAMS, "that stream is over"),
        },
        Some(None) => return refuse(StatusCode::BAD_REQUEST, None, INVALID_PARAMS, "Last-Event-ID is none of ours"),
        None => (Arc::clone(&session.general), session.general.unread_from()),
    };
    stream_response(body_of(stream, after, false))
}

/// The client is done with its session.
async fn ended(State(http): State<Arc<Http>>, headers: HeaderMap) -> Response {
    if let Err(refusal) = checks::admit(&headers, &http.options) {
        return refusal;
    }
    let Some(id) = checks::text(&headers, SESSION) else {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "POST")]).into_response();
    };
    match http.session(id, &headers) {
        Some(session) => {
            lock(&http.sessions).remove(id);
            session.client.leave();
            lock(&session.streams).values().for_each(|stream| stream.end());
            StatusCode::NO_CONTENT.into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// A message, read as far as is needed to decide how it is dealt with.
struct MessageHead {
    id: Option<Value>,
    method: Option<String>,
    name: Option<String>,
    uri: Option<String>,
    arguments: Option<Value>,
    meta: serde_json::Map<String, Value>,
}

impl MessageHead {
    fn of(text: &str) -> Self {
        use jackfield_mcp::envelope::{Envelope, Kind};
        let (id, method, params) = match Envelope::read(text) {
            Ok(Kind::Request { id, method, params }) => (Some(id), Some(method), params),
            Ok(Kind::Notification { method, params }) => (None, Some(method), params),
            _ => (None, None, None),
        };
        let params = params.and_then(|params| Params::read(params.get()).ok()).unwrap_or_default();
        let arguments = params.arguments.and_then(|arguments| serde_json::from_str(arguments.get()).ok());
        Self { id, method, name: params.name, uri: params.uri, arguments, meta: params.meta.unwrap_or_default() }
    }

    fn id(&self) -> Option<&Value> {
        self.id.as_ref()
    }

    /// Whether the message stands for itself: it says so, or its headers do.
    fn is_modern(&self, headers: &HeaderMap) -> bool {
        self.meta.contains_key(VERSION) || checks::text(headers, PROTOCOL) == Some(MODERN)
    }
}

fn answered(status: StatusCode, answer: RpcResponse) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], answer.text).into_response()
}

fn refuse(status: StatusCode, id: Option<&Value>, code: i64, message: &str) -> Response {
    answered(status, RpcResponse::of(id, &Err(RpcError::new(code, message))))
}

fn stream_response(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform")),
        (header::HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no")),
    ];
    (StatusCode::OK, headers, body).into_response()
}
