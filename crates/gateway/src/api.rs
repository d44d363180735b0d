//! The HTTP API. `docs/gateway.md` says what its routes take and answer; `/openapi.json` says it to programs.

mod approvals;
mod call;
mod catalog;
mod error;
mod events;
mod extensions;
mod guard;
mod metrics;
mod openapi;
mod routes;
mod tokens;
mod ws;

use std::sync::Arc;

use axum::Router;
use axum::routing::{any, delete, get, post};
use jackfield_host::Host;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use approvals::Approvals;
pub(crate) use metrics::Metrics;
pub use tokens::{NewToken, TokenMade, Tokens};

use crate::tasks::Tasks;

/// What all requests share.
pub(crate) struct Api {
    pub(crate) host: Host,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) approvals: Arc<Approvals>,
    pub(crate) metrics: Metrics,
    pub(crate) revisions: watch::Receiver<u64>,
    /// Calls under way, so that the end can wait for them.
    pub(crate) calls: Tasks,
    /// Cancelled once every extension that nobody had seen before has had its chance to start.
    pub(crate) met: CancellationToken,
    /// Cancelled when nothing new is served: what would stay open for ever ends.
    pub(crate) closing: CancellationToken,
    /// Cancelled when all calls have ended, so that nobody needs those who serve them any more.
    pub(crate) ended: CancellationToken,
    /// WebSockets that are open.
    pub(crate) sockets: Tasks,
    /// Cancelled when calls are not waited for any more.
    pub(crate) hurry: CancellationToken,
    /// Whether only this machine can connect.
    pub(crate) is_local: bool,
    /// Requests per second and token; 0 for no limit.
    pub(crate) rate: u32,
    /// The largest body in bytes.
    pub(crate) body_limit: usize,
}

impl Api {
    /// The numbers of the tools as they change, from now on.
    pub(crate) fn revisions_of(host: &Host) -> watch::Receiver<u64> {
        catalog::revisions(host)
    }

    /// All routes behind the guard, and those of `others` too.
    pub(crate) fn router(self: &Arc<Self>, others: Router) -> Router {
        Router::new()
            .route("/health", get(routes::health))
            .route("/metrics", get(routes::metrics))
            .route("/openapi.json", get(openapi::document))
            .route("/api/tools", get(routes::tools))
            .route("/api/tools/call", post(routes::call))
            .route("/api/tools/changes", get(routes::changes))
            .route("/api/extensions", get(routes::extensions))
            .route("/api/events", get(events::events))
            .route("/api/approvals", get(routes::approvals).post(routes::answer))
            .route("/api/tokens", get(routes::tokens).post(routes::make_token))
            .route("/api/tokens/{id}", delete(routes::revoke_token))
            .route("/ws", any(ws::connect))
            .with_state(Arc::clone(self))
            .merge(others)
            .fallback(routes::nothing)
            .method_not_allowed_fallback(routes::wrong_method)
            .layer(axum::middleware::from_fn_with_state(Arc::clone(self), guard::guard))
    }
}
