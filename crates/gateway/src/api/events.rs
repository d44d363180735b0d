//! What happens in the host, as server-sent events.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use jackfield_host::HostEvent;
use serde_json::{Value, json};
use tokio::sync::broadcast::error::RecvError;

use super::Api;
use super::guard::Sender;

pub(crate) async fn events(State(api): State<Arc<Api>>, Extension(sender): Extension<Sender>) -> Response {
    let holder = match sender.owner() {
        Ok(holder) => Arc::clone(holder),
        Err(refusal) => return refusal.into_response(),
    };
    let (host, approvals, mut revisions) = (api.host.events(), api.approvals.news(), api.revisions.clone());
    revisions.mark_unchanged();
    let hello = json!({ "revision": *revisions.borrow(), "approvals": api.approvals.list() });
    let first = stream::once(std::future::ready(Ok::<_, Infallible>(event("hello", &hello))));
    let rest = stream::unfold((api, holder, host, approvals, revisions), |mut state| async move {
        let (api, holder, host, approvals, revisions) = &mut state;
        let told = loop {
            tokio::select! {
                () = api.closing.cancelled() => return None,
                () = holder.revoked.cancelled() => return None,
                heard = host.recv() => match heard {
                    // Told with its number, by the one below.
                    Ok(HostEvent::RegistryChanged) => {}
                    Ok(heard) => {
                        let data = json!(heard);
                        let name = data.get("event").and_then(Value::as_str).unwrap_or("event").to_owned();
                        break event(&name, &data);
                    }
                    Err(RecvError::Lagged(missed)) => break event("lagged", &json!({ "missed": missed })),
                    Err(RecvError::Closed) => return None,
                },
                asked = approvals.recv() => match asked {
                    Ok((name, data)) => break event(name, &data),
                    Err(RecvError::Lagged(missed)) => break event("lagged", &json!({ "missed": missed })),
                    Err(RecvError::Closed) => return None,
                },
                changed = revisions.changed() => match changed {
                    Ok(()) => break event("tools_changed", &json!({ "revision": *revisions.borrow_and_update() })),
                    Err(_) => return None,
                },
            }
        };
        Some((Ok(told), state))
    });
    Sse::new(futures_util::StreamExt::chain(first, rest)).keep_alive(KeepAlive::default()).into_response()
}

fn event(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}
