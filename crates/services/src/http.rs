//! `http`: one request to a host that was judged. Redirects are followed by hand, so that every further host is judged too.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::error::Error as _;
use std::sync::OnceLock;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{
    CallError, ErrorCode, HttpParams, Need, Power, Redirect, Resource, is_secret_name, redact_text,
};
use reqwest::header::{HOST, HeaderMap, HeaderName, HeaderValue, LOCATION};
use reqwest::{Method, Response, StatusCode, Url};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::errno;
use super::fs::{self, text_or_base64};
use crate::Authorize;

/// As many redirects as are followed.
const MAX_REDIRECTS: usize = 5;

/// Headers that belong to the connection, not to the request, or that would say another host than the one judged.
const REFUSED_HEADERS: [&str; 13] = [
    "host",
    "connection",
    "proxy-connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "content-length",
    "upgrade",
    "expect",
    "http2-settings",
];

/// The connections of one host, made when first needed.
#[derive(Debug)]
pub(super) struct Client {
    connect_timeout: Duration,
    client: OnceLock<reqwest::Client>,
}

/// A request that is well-formed and goes where it says.
struct Request {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
    /// Header values that must not stand in an error.
    secrets: Vec<String>,
}

impl Client {
    pub(super) fn new(connect_timeout: Duration) -> Self {
        Self { connect_timeout, client: OnceLock::new() }
    }

    fn client(&self) -> Result<&reqwest::Client, CallError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        // No proxy: the host that was judged is the one that is spoken to.
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(self.connect_timeout)
            .user_agent(concat!("jackfield/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                CallError::new(ErrorCode::Internal, format!("the http client cannot be set up: {}", chain(&error)))
            })?;
        Ok(self.client.get_or_init(|| client))
    }

    /// Makes the request. The caller bounds the time. Whoever takes pieces gets the body in pieces, however long it is.
    pub(super) async fn perform(
        &self,
        params: &HttpParams,
        max_body: usize,
        authorize: &dyn Authorize,
        chunks: Option<&mpsc::Sender<Value>>,
    ) -> Result<Value, CallError> {
        let mut request = Request::new(params)?;
        let client = self.client()?;
        for _ in 0..=MAX_REDIRECTS {
            let response = request.send(client).await?;
            match (redirect(&response), params.redirect.unwrap_or_default()) {
                (Some(next), Redirect::Follow) => request.follow(response.status(), &next, authorize).await?,
                (Some(_), Redirect::Error) => {
                    let message = format!("http to {}: it was redirected, and the call forbids that", params.host());
                    return Err(CallError::new(ErrorCode::Io, message));
                }
                _ => {
                    return match chunks {
                        Some(chunks) => pieces(response, &request, chunks).await,
                        None => answer(response, &request, params.raw, max_body).await,
                    };
                }
            }
        }
        Err(CallError::new(
            ErrorCode::Io,
            format!("http to {}: more than {MAX_REDIRECTS} redirects in a row", params.host()),
        ))
    }
}

impl Request {
    fn new(params: &HttpParams) -> Result<Self, CallError> {
        let judged = params.host();
        let invalid = |why: &str| Err(CallError::new(ErrorCode::InvalidRequest, format!("http to {judged}: {why}")));
        let Ok(url) = Url::parse(&params.url) else { return invalid("the url is malformed") };
        if let Err(why) = check_url(&url) {
            return invalid(why);
        }
        if host_port(&url) != judged {
            return invalid(&format!("the url really leads to {}; write its host in that form", host_port(&url)));
        }
        let method = params.method.as_deref().unwrap_or("GET").to_ascii_uppercase();
        let method = match Method::from_bytes(method.as_bytes()) {
            Ok(method) if method != Method::CONNECT && method != Method::TRACE => method,
            _ => return invalid(&format!("the method {method:?} cannot be used")),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in params.headers.iter() {
            let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
                return invalid(&format!("{name:?} is not a header name"));
            };
            if REFUSED_HEADERS.contains(&header.as_str()) {
                // Scripts write what their libraries think of; the same host as in the url says nothing new.
                if params.raw && (header != HOST || is_same_host(value, &url)) {
                    continue;
                }
                return invalid(&format!("the header {header} is the host's to set"));
            }
            let Ok(value) = HeaderValue::from_str(value) else {
                return invalid(&format!("the value of the header {header} holds characters that a header cannot"));
            };
            headers.append(header, value);
        }
        let secrets =
            params.headers.iter().filter(|(_, value)| value.len() >= 6).map(|(_, value)| value.to_owned()).collect();
        let body = match &params.body {
            Some(body) => Some(fs::decode(body, params.encoding.as_deref(), &format!("http to {judged}: body"))?),
            None => None,
        };
        Ok(Self { method, url, headers, body, secrets })
    }

    async fn send(&self, client: &reqwest::Client) -> Result<Response, CallError> {
        let mut builder = client.request(self.method.clone(), self.url.clone()).headers(self.headers.clone());
        if let Some(body) = &self.body {
            builder = builder.body(body.clone());
        }
        builder.send().await.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: reqwest::Error) -> CallError {
        let errno = errno_of(&error);
        // Neither the url, whose query may hold a secret, nor a header stands in the message.
        let why = redact_text(&chain(&error.without_url()), &self.secrets);
        let message = format!("http {} to {}: {why}", self.method, host_port(&self.url));
        match errno {
            Some(errno) => errno::as_errno(errno, message),
            None => CallError::new(ErrorCode::Io, message),
        }
    }

    /// Turns this request into the one that a redirect asks for.
    async fn follow(
        &mut self,
        status: StatusCode,
        location: &HeaderValue,
        authorize: &dyn Authorize,
    ) -> Result<(), CallError> {
        let from = host_port(&self.url);
        let bad = |why: &str| Err(CallError::new(ErrorCode::Io, format!("http to {from}: the redirect {why}")));
        let Some(next) = location.to_str().ok().and_then(|location| self.url.join(location).ok()) else {
            return bad("leads to no url");
        };
        if let Err(why) = check_url(&next) {
            return bad(&format!("is not followed: {why}"));
        }
        let to = host_port(&next);
        if to != from {
            let need = Need { power: Power::Http, method: "http", resource: Resource::Host(to.clone()) };
            let permit = authorize.authorize(need.clone()).await.map_err(|mut error| {
                error.message = format!("http to {from} was redirected to {to}: {}", error.message);
                error
            })?;
            if *permit.need() != need {
                return Err(CallError::new(
                    ErrorCode::Internal,
                    format!("the permit is for \"{}\" but the redirect needs \"{need}\"", permit.need()),
                ));
            }
        }
        if to != from || next.scheme() != self.url.scheme() {
            // What proves who one is to one host is not shown to another.
            let private: Vec<HeaderName> =
                self.headers.keys().filter(|name| is_secret_name(name.as_str())).cloned().collect();
            for name in private {
                self.headers.remove(name);
            }
        }
        let becomes_get = match status {
            StatusCode::SEE_OTHER => self.method != Method::HEAD,
            StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            self.method = Method::GET;
            self.body = None;
            for name in ["content-type", "content-encoding", "content-language", "content-location"] {
                self.headers.remove(name);
            }
        }
        self.url = next;
        Ok(())
    }
}

/// Where the answer sends us, if it does.
fn redirect(response: &Response) -> Option<HeaderValue> {
    let follows = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    response.headers().get(LOCATION).filter(|_| follows).cloned()
}

/// What comes before the body. Headers are a list, because a name may stand more than once.
fn head(response: &Response, request: &Request) -> Value {
    let headers: Vec<(&str, String)> = response
        .headers()
        .iter()
        .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    json!({
        "status": response.status().as_u16(),
        "status_text": response.status().canonical_reason().unwrap_or_default(),
        "headers": headers,
        "url": request.url.as_str(),
    })
}

/// Hands the answer on piece by piece.
async fn pieces(mut response: Response, request: &Request, chunks: &mpsc::Sender<Value>) -> Result<Value, CallError> {
    let mut next = Some(head(&response, request));
    while let Some(piece) = next {
        if chunks.send(piece).await.is_err() {
            // Nobody takes the rest.
            return Ok(json!({}));
        }
        let chunk = response.chunk().await.map_err(|error| request.failed(error))?;
        next = chunk.map(|bytes| json!({ "data": BASE64.encode(&bytes), "encoding": "base64" }));
    }
    Ok(json!({}))
}

async fn answer(mut response: Response, request: &Request, raw: bool, max_body: usize) -> Result<Value, CallError> {
    let too_big = || {
        CallError::new(
            ErrorCode::Io,
            format!("http to {}: the body is over the limit of {max_body} bytes", host_port(&request.url)),
        )
    };
    let announced = response.content_length().filter(|_| request.method != Method::HEAD);
    if announced.is_some_and(|length| length > max_body as u64) {
        return Err(too_big());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| request.failed(error))? {
        if body.len() + chunk.len() > max_body {
            return Err(too_big());
        }
        body.extend_from_slice(&chunk);
    }
    if raw {
        let mut whole = head(&response, request);
        if let Some(whole) = whole.as_object_mut() {
            whole.insert("body".to_owned(), json!(BASE64.encode(&body)));
            whole.insert("encoding".to_owned(), json!("base64"));
        }
        return Ok(whole);
    }
    let mut headers: BTreeMap<&str, String> = BTreeMap::new();
    for (name, value) in response.headers() {
        let value = String::from_utf8_lossy(value.as_bytes());
        headers
            .entry(name.as_str())
            .and_modify(|all| {
                all.push_str(", ");
                all.push_str(&value);
            })
            .or_insert_with(|| value.into_owned());
    }
    let (body, encoding) = text_or_base64(body);
    Ok(json!({
        "status": response.status().as_u16(),
        "status_text": response.status().canonical_reason().unwrap_or_default(),
        "headers": headers,
        "body": body,
        "encoding": encoding,
        "url": request.url.as_str(),
    }))
}

fn check_url(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("only http and https are spoken");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a url with a name or password in it is refused; use a header");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err("the url names no host");
    }
    Ok(())
}

/// `host:port` in the form in which policy judges it.
fn host_port(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or_default())
}

/// Whether a `host` header says what the url says.
fn is_same_host(value: &str, url: &Url) -> bool {
    let said = value.trim().to_ascii_lowercase();
    said == host_port(url) || url.host_str().is_some_and(|host| said == host && url.port().is_none())
}

/// What the system calls the reason, where it was the system.
fn errno_of(error: &reqwest::Error) -> Option<&'static str> {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && let Some(number) = io.raw_os_error()
        {
            return Some(errno::name(rustix::io::Errno::from_raw_os_error(number)));
        }
        if inner.to_string().contains("dns error") {
            return Some("ENOTFOUND");
        }
        source = inner.source();
    }
    error.is_timeout().then_some("ETIMEDOUT")
}

/// The error with what led to it: reqwest's own words alone say little.
fn chain(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}
