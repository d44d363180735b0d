//! What every request passes first: where it was sent to and from, whose token it carries, and at what rate.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::Api;
use super::error::ApiError;
use super::tokens::{Holder, random};

const REQUEST_ID: &str = "x-request-id";
/// The longest request id that is taken over.
const LONGEST_ID: usize = 64;

/// Who sent a request; nobody where the body may still say.
#[derive(Clone)]
pub(crate) struct Sender(pub(crate) Option<Arc<Holder>>);

impl Sender {
    /// Whoever it is.
    pub(crate) fn anyone(&self) -> Result<&Arc<Holder>, ApiError> {
        self.0.as_ref().ok_or_else(ApiError::unauthorized)
    }

    /// The owner of the gateway, for what concerns all sessions.
    pub(crate) fn owner(&self) -> Result<&Arc<Holder>, ApiError> {
        let holder = self.anyone()?;
        match holder.is_owner {
            true => Ok(holder),
            false => Err(ApiError::forbidden("only the token that `jackfield serve` printed may do this")),
        }
    }
}

pub(crate) async fn guard(State(api): State<Arc<Api>>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let mut response = match admit(&api, &request) {
        Ok(sender) => {
            request.extensions_mut().insert(sender);
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    api.metrics.answered(response.status().as_u16());
    tracing::debug!(request = %id, status = response.status().as_u16(), "answered");
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn admit(api: &Api, request: &Request) -> Result<Sender, ApiError> {
    let headers = request.headers();
    // A page on another site can make a browser send requests here, under a name of its own that leads to this machine.
    let host = host_of(request);
    if api.is_local && !host.as_deref().is_some_and(is_local_name) {
        return Err(ApiError::forbidden("the Host header names another machine; use 127.0.0.1 or localhost"));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
        if origin.is_none() || origin.map(str::to_ascii_lowercase) != host.map(|host| host.to_ascii_lowercase()) {
            return Err(ApiError::forbidden("requests from web pages of other origins are not served"));
        }
    }
    let path = request.uri().path();
    if path == "/health" {
        return Ok(Sender(None));
    }
    match bearer(headers) {
        Some(token) => {
            let holder = api.tokens.holder(token).ok_or_else(ApiError::unauthorized)?;
            api.admit(&holder)?;
            Ok(Sender(Some(holder)))
        }
        // There the token may be in the body.
        None if path == "/api/tools/call" && request.method() == Method::POST => {
            if headers.contains_key(header::AUTHORIZATION) {
                return Err(ApiError::unauthorized());
            }
            Ok(Sender(None))
        }
        None => Err(ApiError::unauthorized()),
    }
}

impl Api {
    /// Holds a token to its rate.
    pub(crate) fn admit(&self, holder: &Holder) -> Result<(), ApiError> {
        holder.admit(self.rate, Instant::now()).map_err(|seconds| {
            let rate = self.rate;
            ApiError::too_many(
                format!("this token makes more than {rate} requests a second; wait {seconds} s"),
                seconds,
            )
        })
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(header::AUTHORIZATION).iter();
    let value = all.next()?;
    if all.next().is_some() {
        return None;
    }
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The machine and port that a request was sent to.
fn host_of(request: &Request) -> Option<String> {
    if let Some(authority) = request.uri().authority() {
        return Some(authority.to_string());
    }
    let mut all = request.headers().get_all(header::HOST).iter();
    let host = all.next()?.to_str().ok()?;
    all.next().is_none().then(|| host.to_owned())
}

/// Whether a `host[:port]` is this machine under one of its own names.
fn is_local_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || is_port(port) => name,
            _ => return false,
        },
        None => match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn is_port(text: &str) -> bool {
    text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The caller's own id for the request if it is a plain one, else a new one.
fn request_id(headers: &HeaderMap) -> String {
    let plain = |id: &&str| {
        !id.is_empty()
            && id.len() <= LONGEST_ID
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
    };
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).filter(plain);
    given.map(str::to_owned).unwrap_or_else(|| random::<8>().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        for name in ["localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:7000", "127.9.9.9:1", "[::1]", "[::1]:80"] {
            assert!(is_local_name(name), "{name}");
        }
        for name in
            ["", "evil.example", "localhost.evil.example:80", "10.0.0.1", "[::2]:80", "[::1]x", "127.0.0.1:x", "::1"]
        {
            assert!(!is_local_name(name), "{name}");
        }
    }

    #[test]
    fn ids_that_are_not_plain_are_replaced() {
        let id = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(value).expect("a header"));
            request_id(&headers)
        };
        assert_eq!(id("abc-1"), "abc-1");
        assert_ne!(id("a b"), "a b");
        assert_eq!(id(&"x".repeat(65)).len(), 16);
    }
}
