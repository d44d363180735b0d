//! The routes, one function each.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures_util::stream;
use jackfield_protocol::ErrorCode;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Api;
use super::approvals::{ApprovalShown, Said};
use super::call::{CallBody, Listening};
use super::catalog::{self, ToolChanges, ToolList};
use super::error::ApiError;
use super::extensions::{self, ExtensionList};
use super::guard::Sender;
use super::tokens::{NewToken, TokenShown};

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a long poll waits unless its client says, in milliseconds.
const DEFAULT_POLL_MS: u64 = 25_000;
/// And at most.
pub(crate) const LONGEST_POLL: u64 = 60_000;
/// The largest revision that is taken: what JSON's readers keep exactly.
pub(crate) const LONGEST_REVISION: u64 = (1 << 53) - 1;

type JsonResult<T> = Result<Json<T>, ApiError>;

/// Whether the gateway runs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Health {
    /// `ok`, or `closing`.
    status: String,
    /// The version of jackfield.
    version: String,
}

pub(crate) async fn health(State(api): State<Arc<Api>>) -> Json<Health> {
    let status = if api.closing.is_cancelled() { "closing" } else { "ok" };
    Json(Health { status: status.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
}

pub(crate) async fn metrics(State(api): State<Arc<Api>>, Extension(sender): Extension<Sender>) -> Response {
    match sender.owner() {
        Ok(_) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            (kind, api.metrics.text(&api.host)).into_response()
        }
        Err(refusal) => refusal.into_response(),
    }
}

pub(crate) async fn tools(State(api): State<Arc<Api>>, Extension(sender): Extension<Sender>) -> JsonResult<ToolList> {
    sender.anyone()?;
    api.met.cancelled().await;
    let revision = *api.revisions.borrow();
    Ok(Json(ToolList { revision, tools: catalog::groups(&api.host) }))
}

pub(crate) async fn changes(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    RawQuery(query): RawQuery,
) -> JsonResult<ToolChanges> {
    let holder = sender.anyone()?;
    let query = query_of(query.as_deref())?;
    let number = |key: &str| match query.get(key) {
        None => Ok(None),
        Some(text) => match text.parse::<u64>() {
            Ok(number) if number <= LONGEST_REVISION && !text.starts_with('+') => Ok(Some(number)),
            Ok(_) | Err(_) => Err(ApiError::bad_request(format!("`{key}` must be a whole number of at least 0"))),
        },
    };
    let since = number("since")?.ok_or_else(|| ApiError::bad_request("`since` is required: the revision you know"))?;
    let timeout = number("timeoutMs")?.unwrap_or(DEFAULT_POLL_MS);
    if timeout > LONGEST_POLL {
        return Err(ApiError::bad_request("`timeoutMs` may be at most 60000"));
    }
    let mut revisions = api.revisions.clone();
    tokio::select! {
        // An error means that the host has gone; the answer is what there was last.
        _ = revisions.wait_for(|revision| *revision != since) => {}
        () = tokio::time::sleep(Duration::from_millis(timeout)) => {}
        () = api.closing.cancelled() => return Err(ApiError::closing()),
        () = holder.revoked.cancelled() => return Err(ApiError::unauthorized()),
    }
    let revision = *revisions.borrow();
    let changed = revision != since;
    Ok(Json(ToolChanges { revision, changed, tools: changed.then(|| catalog::groups(&api.host)) }))
}

pub(crate) async fn call(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let streamed = wants_events(&headers);
    let wanted = async {
        let bytes = read(&api, &headers, body).await?;
        // Whoever does not say who they are is not told what is wrong with the rest.
        let body = CallBody::read(&bytes).map_err(|error| sender.anyone().err().unwrap_or(error))?;
        body.check(&api, sender.0)
    };
    let wanted = match wanted.await {
        Ok(wanted) => wanted,
        Err(refusal) => return refusal.into_response(),
    };
    if !streamed {
        return match api.call(wanted, None).await {
            Ok(answer) => Json(answer).into_response(),
            Err(refusal) => refusal.into_response(),
        };
    }
    let (peer, notices) = Listening::new();
    let calling = Box::pin(async move { api.call(wanted, Some(peer)).await });
    let events = stream::unfold(Some((calling, notices)), |state| async move {
        let (mut calling, mut notices) = state?;
        tokio::select! {
            biased;
            Some(notice) = notices.recv() => {
                let name = notice.get("type").and_then(Value::as_str).unwrap_or("notice").to_owned();
                let event = Event::default().event(name).data(notice.to_string());
                Some((Ok::<_, Infallible>(event), Some((calling, notices))))
            }
            outcome = &mut calling => {
                let event = match outcome {
                    Ok(answer) => Event::default().event("result").data(json!(answer).to_string()),
                    Err(refusal) => {
                        let mut body = json!(*refusal.refusal);
                        if let Some(body) = body.as_object_mut() {
                            body.insert("status".to_owned(), json!(refusal.status.as_u16()));
                        }
                        Event::default().event("error").data(body.to_string())
                    }
                };
                Some((Ok(event), None))
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

pub(crate) async fn extensions(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
) -> JsonResult<ExtensionList> {
    sender.anyone()?;
    Ok(Json(ExtensionList { extensions: extensions::rows(&api.host) }))
}

/// The questions that wait.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ApprovalList {
    approvals: Vec<ApprovalShown>,
}

pub(crate) async fn approvals(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
) -> JsonResult<ApprovalList> {
    sender.owner()?;
    Ok(Json(ApprovalList { approvals: api.approvals.list() }))
}

/// The answer to a question.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApprovalAnswer {
    /// The question's.
    id: String,
    /// What a person says.
    answer: Said,
}

/// It is done.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Done {
    /// Always true.
    ok: bool,
}

pub(crate) async fn answer(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    headers: HeaderMap,
    body: Body,
) -> JsonResult<Done> {
    sender.owner()?;
    let given: ApprovalAnswer = json_body(&api, &headers, body).await?;
    match api.approvals.answer(&given.id, given.answer) {
        true => Ok(Json(Done { ok: true })),
        false => Err(ApiError::not_found("no such question waits; it may have been answered or given up")),
    }
}

/// The tokens that are valid, without themselves.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TokenList {
    tokens: Vec<TokenShown>,
}

pub(crate) async fn tokens(State(api): State<Arc<Api>>, Extension(sender): Extension<Sender>) -> JsonResult<TokenList> {
    sender.owner()?;
    Ok(Json(TokenList { tokens: api.tokens.list() }))
}

pub(crate) async fn make_token(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, ApiError> {
    sender.owner()?;
    let wish: NewToken = json_body(&api, &headers, body).await?;
    let made = api.tokens.make(wish).map_err(|error| match error.code {
        ErrorCode::InvalidRequest => ApiError::bad_request(error.message),
        ErrorCode::Unavailable => ApiError::too_many(error.message, 60),
        _ => ApiError::of_call(error, None),
    })?;
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

pub(crate) async fn revoke_token(
    State(api): State<Arc<Api>>,
    Extension(sender): Extension<Sender>,
    id: Result<Path<String>, PathRejection>,
) -> JsonResult<Done> {
    let owner = sender.owner()?;
    let Path(id) = id.map_err(|_| ApiError::not_found("no token of that id"))?;
    if owner.id == id {
        return Err(ApiError::forbidden("the owner's token ends with `jackfield serve`"));
    }
    match api.tokens.revoke(&id) {
        true => Ok(Json(Done { ok: true })),
        false => Err(ApiError::not_found("no token of that id")),
    }
}

pub(crate) async fn nothing() -> ApiError {
    ApiError::not_found("no such route; see /openapi.json")
}

pub(crate) async fn wrong_method() -> ApiError {
    let error = "this route does not take this method; see /openapi.json";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", error)
}

/// Reads a JSON body of a known form.
async fn json_body<T: DeserializeOwned>(api: &Api, headers: &HeaderMap, body: Body) -> Result<T, ApiError> {
    let bytes = read(api, headers, body).await?;
    // A list would be taken for the fields in their order.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(ApiError::bad_request("the body must be a JSON object; see /openapi.json"));
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let what = if error.is_data() { "the body does not fit" } else { "the body is not JSON" };
        let place = format!("line {}, column {}", error.line(), error.column());
        ApiError::bad_request(format!("{what} ({place}); see /openapi.json"))
    })
}

/// Reads a body within its bounds.
async fn read(api: &Api, headers: &HeaderMap, body: Body) -> Result<Bytes, ApiError> {
    if let Some(kind) = headers.get(header::CONTENT_TYPE) {
        let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if kind != "application/json" {
            let error = "the body must be JSON; send `Content-Type: application/json`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", error));
        }
    }
    let limit = api.body_limit;
    let too_large =
        || ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("a body may have at most {limit} bytes"));
    let said = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIMEOUT, axum::body::to_bytes(body, limit)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => match std::error::Error::source(&error) {
            Some(source) if source.to_string().contains("length limit") => Err(too_large()),
            _ => Err(ApiError::bad_request("the body broke off")),
        },
        Err(_) => {
            let error = format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs());
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", error))
        }
    }
}

fn wants_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| kind.trim().starts_with("text/event-stream"))
}

/// The query of a request; each key once.
fn query_of(query: Option<&str>) -> Result<HashMap<String, String>, ApiError> {
    let text = format!("/?{}", query.unwrap_or_default());
    let bad = || ApiError::bad_request("the query cannot be read");
    let uri: axum::http::Uri = text.parse().map_err(|_| bad())?;
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(&uri).map_err(|_| bad())?;
    let mut query = HashMap::new();
    for (key, value) in pairs {
        if query.insert(key, value).is_some() {
            return Err(ApiError::bad_request("a key of the query stands there twice"));
        }
    }
    Ok(query)
}
