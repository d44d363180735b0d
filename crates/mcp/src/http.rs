//! Streamable HTTP: every message is a POST; answers come as JSON or as a stream of events.
//!
//! In the legacy era a session may be named by the server, messages that nobody asked for come on a stream of their own, and
//! streams that drop are resumed. In the modern era each request stands alone, and closing its stream gives it up.

mod annotations;
mod connection;
mod errors;
mod events;
mod response;
mod stream;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::{BoxFuture, LogFile, Secrets};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Response, StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::oauth::{Challenge, Oauth};
use crate::transport::{IncomingMessage, Outgoing, Transport};
use annotations::Annotations;
pub(crate) use connection::{HttpTarget, connect};
pub(crate) use errors::{brief, described, refused};
use response::Posted;

/// The longest body and the longest event that is read.
pub(crate) const LONGEST: usize = 16 * 1024 * 1024;
/// How long it may take to reach a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server may say nothing at all while somebody waits for it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long sending a request waits to learn whether the server took it. What goes wrong later comes as its answer.
const ACCEPT_TIMEOUT: Duration = Duration::from_millis(250);
/// The same for what has no answer.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the stream of what nobody asked for may take to open before the first request goes out.
const OPEN_TIMEOUT: Duration = Duration::from_secs(1);
const MOST_REDIRECTS: usize = 5;
/// How often one message is sent again after its credentials were refused.
const MOST_LOGINS: usize = 3;
/// How long the end of a session may take.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

/// How an HTTP server is reached.
pub(crate) struct HttpServer {
    /// The name of the server in messages.
    pub(crate) name: String,
    /// The address of the server's endpoint.
    pub(crate) url: String,
    /// Sent with every request.
    pub(crate) headers: BTreeMap<String, String>,
    /// Who logs in.
    pub(crate) oauth: Option<Oauth>,
    /// Where notes about it go.
    pub(crate) log: Option<LogFile>,
    /// What must not be shown.
    pub(crate) secrets: Secrets,
}

/// The way to one HTTP server.
pub(crate) struct HttpTransport {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    name: String,
    url: Url,
    client: reqwest::Client,
    headers: HeaderMap,
    oauth: Option<Oauth>,
    incoming: mpsc::Sender<IncomingMessage>,
    session: Mutex<Session>,
    under_way: Mutex<HashMap<String, CancellationToken>>,
    annotations: Mutex<Annotations>,
    log: Option<LogFile>,
    secrets: Secrets,
    /// No stream outlives it.
    closed: CancellationToken,
    /// Why the way is gone, once it is, and whether we wanted it to be.
    end: Mutex<Option<(String, bool)>>,
    lost: CancellationToken,
}

/// What a handshake of the legacy era agreed on.
#[derive(Debug, Clone, Default)]
struct Session {
    version: Option<HeaderValue>,
    id: Option<HeaderValue>,
    listening: bool,
}

/// Locks what no code can panic in.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpTransport {
    /// Prepares the way; nothing is sent.
    ///
    /// # Errors
    /// The address or a header is invalid.
    pub(crate) fn new(server: HttpServer, incoming: mpsc::Sender<IncomingMessage>) -> Result<Self, CallError> {
        let HttpServer { name, url, headers, oauth, log, secrets } = server;
        let invalid = |what: String| CallError::new(ErrorCode::InvalidConfig, what);
        let parsed = Url::parse(&url).map_err(|error| {
            invalid(format!("the url of MCP server {name} is invalid: {error}; correct it in mcp.json"))
        })?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(invalid(format!("the url of MCP server {name} begins neither with http:// nor https://")));
        }
        let mut all = HeaderMap::new();
        for (key, value) in headers {
            let key = HeaderName::try_from(&key)
                .map_err(|_| invalid(format!("MCP server {name}: {key:?} is no name of a header")))?;
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| invalid(format!("MCP server {name}: the value of the header {key} cannot be sent")))?;
            value.set_sensitive(true);
            all.insert(key, value);
        }
        // Whoever sets the header logs in by hand.
        let oauth = oauth.filter(|_| !all.contains_key(AUTHORIZATION));
        let inner = Inner {
            name,
            url: parsed,
            client: client()?,
            headers: all,
            oauth,
            incoming,
            session: Mutex::default(),
            under_way: Mutex::default(),
            annotations: Mutex::default(),
            log,
            secrets,
            closed: CancellationToken::new(),
            end: Mutex::default(),
            lost: CancellationToken::new(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}

/// A client that follows nothing by itself.
///
/// # Errors
/// The TLS library cannot be set up.
pub(crate) fn client() -> Result<reqwest::Client, CallError> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(Duration::from_secs(60))
        .user_agent(concat!("jackfield/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| CallError::new(ErrorCode::Internal, format!("cannot set up HTTP: {}", described(&error))))
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        self.inner.leave("nobody uses it any more");
    }
}

impl Transport for HttpTransport {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move {
            let inner = Arc::clone(&self.inner);
            let (known, outcome) = oneshot::channel();
            let given_up = inner.closed.child_token();
            let key = message.request.as_ref().map(Value::to_string);
            if let Some(key) = &key {
                lock(&inner.under_way).insert(key.clone(), given_up.clone());
            }
            let patience = if key.is_some() { ACCEPT_TIMEOUT } else { NOTIFICATION_TIMEOUT };
            tokio::spawn(async move {
                tokio::select! {
                    () = given_up.cancelled() => {}
                    () = inner.deliver(&message, known) => {}
                }
                if let Some(key) = &key {
                    lock(&inner.under_way).remove(key);
                }
            });
            match tokio::time::timeout(patience, outcome).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => Err(CallError::new(ErrorCode::Cancelled, "the request was given up")),
                Err(_) => Ok(()),
            }
        })
    }

    fn forget(&self, request: &Value) {
        if let Some(given_up) = lock(&self.inner.under_way).remove(&request.to_string()) {
            given_up.cancel();
        }
    }
}

/// What a message says about itself, as far as headers repeat it.
#[derive(Deserialize)]
struct Peek<'a> {
    #[serde(default, borrow)]
    params: Option<PeekParams<'a>>,
}

#[derive(Deserialize)]
struct PeekParams<'a> {
    #[serde(default, rename = "_meta")]
    meta: Option<PeekMeta>,
    #[serde(default, borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct PeekMeta {
    #[serde(default, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl Inner {
    async fn deliver(self: &Arc<Self>, message: &Outgoing, known: oneshot::Sender<Result<(), CallError>>) {
        match self.post(message).await {
            Ok(posted) => {
                // Nobody waits any more where it took long; the answer says it all.
                known.send(Ok(())).ok();
                if let Err(error) = self.answered(message, posted).await {
                    self.fail(message, error).await;
                }
            }
            Err(error) => {
                if let Err(Err(error)) = known.send(Err(error)) {
                    self.fail(message, error).await;
                }
            }
        }
    }

    /// The headers of a message, and whether it is one of the modern era.
    fn headers_of(&self, message: &Outgoing) -> Result<(HeaderMap, bool), CallError> {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let method = message.method.as_deref();
        if method == Some("initialize") {
            *lock(&self.session) = Session::default();
            return Ok((headers, false));
        }
        let session = lock(&self.session).clone();
        if let Some(version) = session.version {
            headers.insert(VERSION, version);
            session.id.map(|id| headers.insert(SESSION, id));
            return Ok((headers, false));
        }
        let peek = serde_json::from_str::<Peek<'_>>(&message.text).ok().and_then(|peek| peek.params);
        let version = peek.as_ref().and_then(|params| params.meta.as_ref()?.version.as_deref());
        let Some(version) = version.and_then(|version| HeaderValue::try_from(version).ok()) else {
            return Ok((headers, false));
        };
        headers.insert(VERSION, version);
        let put = |headers: &mut HeaderMap, name: &str, value: &str| {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                headers.insert(name, value);
            }
        };
        if let Some(method) = method {
            put(&mut headers, "mcp-method", method);
        }
        if let Some(subject) = &message.subject {
            put(&mut headers, "mcp-name", &annotations::encoded(subject));
            if method == Some("tools/call") {
                let arguments = peek.as_ref().and_then(|params| params.arguments).map(RawValue::get);
                let mirrored = lock(&self.annotations).headers(subject, arguments).map_err(|why| {
                    let text =
                        format!("tool {subject:?} of MCP server {} cannot be called over HTTP: {why}", self.name);
                    CallError::new(ErrorCode::InvalidRequest, text)
                })?;
                mirrored.iter().for_each(|(name, value)| put(&mut headers, name, value));
            }
        }
        Ok((headers, true))
    }

    /// Sends a message until the server takes it: follows redirects within the origin and renews credentials.
    async fn post(self: &Arc<Self>, message: &Outgoing) -> Result<Posted, CallError> {
        let (headers, modern) = self.headers_of(message)?;
        if modern && message.request.is_none() && message.method.as_deref() == Some("notifications/cancelled") {
            // The modern era has no such message on HTTP: closing the stream says it.
            return Ok(Posted::Nothing);
        }
        let named = headers.contains_key(SESSION);
        let mut url = self.url.clone();
        let (mut redirects, mut logins) = (0, 0);
        loop {
            let mut headers = headers.clone();
            let bearer = self.authorize(&mut headers).await?;
            let request = self.client.post(url.clone()).headers(headers).body(message.text.clone());
            let response = match tokio::time::timeout(IDLE_TIMEOUT, request.send()).await {
                Ok(response) => response.map_err(|error| self.unreachable(&error))?,
                Err(_) => return Err(self.silent()),
            };
            let status = response.status();
            match status {
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT if redirects < MOST_REDIRECTS => {
                    url = self.redirected(&url, &response)?;
                    redirects += 1;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                    logins += 1;
                    self.renew(&response, bearer.as_deref(), logins).await?;
                }
                StatusCode::NOT_FOUND if named => {
                    let why = format!("MCP server {} does not know the session any more (404)", self.name);
                    // Whoever sent this hears of it first, and can send it again on another session.
                    let (inner, reason) = (Arc::clone(self), why.clone());
                    tokio::spawn(async move { inner.lose(&reason, false).await });
                    return Err(CallError::new(ErrorCode::Unavailable, why).undelivered());
                }
                _ if status.is_success() => {
                    self.took(message, &response).await;
                    return Ok(Posted::Response { response, modern });
                }
                _ if status.is_redirection() => {
                    return Err(self.redirected(&url, &response).err().unwrap_or_else(|| {
                        let text =
                            format!("MCP server {} redirects ({status}) where messages cannot follow", self.name);
                        CallError::new(ErrorCode::Protocol, text)
                    }));
                }
                _ => return self.complaint(message, response).await,
            }
        }
    }

    /// Puts the credentials in, and gives them.
    async fn authorize(&self, headers: &mut HeaderMap) -> Result<Option<String>, CallError> {
        let Some(oauth) = &self.oauth else { return Ok(None) };
        let bearer = oauth.bearer().await?;
        if let Some(bearer) = &bearer
            && let Ok(mut value) = HeaderValue::try_from(format!("Bearer {bearer}"))
        {
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(bearer)
    }

    /// Tries to get credentials that the server accepts.
    async fn renew(&self, response: &Response, bearer: Option<&str>, logins: usize) -> Result<(), CallError> {
        let challenge = Challenge::of(response.status().as_u16(), response.headers());
        match &self.oauth {
            Some(oauth) if logins <= MOST_LOGINS => oauth.renew(&challenge, bearer).await,
            _ => Err(refused(&self.name, &challenge, self.headers.contains_key(AUTHORIZATION))),
        }
    }

    /// Notes what the server said with the headers of its answer.
    async fn took(self: &Arc<Self>, message: &Outgoing, response: &Response) {
        match message.method.as_deref() {
            Some("initialize") => lock(&self.session).id = response.headers().get(SESSION).cloned(),
            Some("notifications/initialized") => {
                let begins = {
                    let mut session = lock(&self.session);
                    session.version.is_some() && !std::mem::replace(&mut session.listening, true)
                };
                if begins {
                    // What a server says to a stream that is not there yet is lost, a question within a call for instance.
                    tokio::time::timeout(OPEN_TIMEOUT, self.listen()).await.ok();
                }
            }
            _ => {}
        }
    }

    /// Where a redirect leads, if that is within the origin.
    fn redirected(&self, from: &Url, response: &Response) -> Result<Url, CallError> {
        let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        let to = location.and_then(|location| from.join(location).ok());
        match to {
            Some(to) if to.origin() == self.url.origin() => Ok(to),
            other => {
                let origin = other.map_or_else(|| "nowhere".to_owned(), |url| url.origin().ascii_serialization());
                let text = format!(
                    "MCP server {} redirects to {origin}, which is not where it was said to be; if you trust that \
                     address, write it into mcp.json",
                    self.name
                );
                Err(CallError::new(ErrorCode::Protocol, text))
            }
        }
    }

    /// The end of the session, if there is one to end.
    fn farewell(&self) -> Option<impl Future<Output = ()> + Send + use<>> {
        let session = std::mem::take(&mut *lock(&self.session));
        let (id, version) = (session.id?, session.version);
        let mut headers = self.headers.clone();
        headers.insert(SESSION, id);
        version.map(|version| headers.insert(VERSION, version));
        let bearer = self.oauth.as_ref().and_then(Oauth::known_bearer);
        if let Some(bearer) = bearer.and_then(|bearer| HeaderValue::try_from(format!("Bearer {bearer}")).ok()) {
            headers.insert(AUTHORIZATION, bearer);
        }
        let request = self.client.delete(self.url.clone()).headers(headers).timeout(CLOSE_TIMEOUT);
        // A server may refuse, and one that is gone needs no farewell.
        Some(async move { drop(request.send().await) })
    }
}

#[cfg(test)]
mod tests;
