//! Listens, and ends in order: what is open for ever ends at once, calls are waited for, and only then is the rest cut off.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use jackfield_host::Host;
use jackfield_protocol::{CallError, ErrorCode};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::api::{Api, Approvals, Metrics, Tokens};
use crate::mcp::{Expose, HttpOptions, McpFace, McpOptions, McpSocket, mcp_router};
use crate::tasks::Tasks;

/// How many connections may be open.
const MAX_CONNECTIONS: usize = 1024;
/// The most headers of a request, and the most bytes that they may have.
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// How long a stopping server waits for calls, then for connections, then for WebSockets, then for the control socket.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How often a stopping server looks whether calls are still under way.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The pause after a connection could not be accepted, for instance because too many files are open.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// How a gateway is to be.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// Where it listens; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Whether it may listen where other machines can connect.
    pub allow_remote: bool,
    /// The largest body in bytes.
    pub body_limit: usize,
    /// Requests per second and token, twice as many at once; 0 for no limit.
    pub rate: u32,
    /// How long a request's headers may take, and a connection be idle.
    pub header_timeout: Duration,
    /// How long calls under way are waited for at the end.
    pub drain: Duration,
    /// How long a listing waits for extensions that nobody has seen before.
    pub learn: Duration,
    /// Which tools clients of `/mcp` see.
    pub expose: Expose,
    /// Where `jackfield mcp` finds this host, if it is to.
    pub mcp_socket: Option<PathBuf>,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            allow_remote: false,
            body_limit: 1024 * 1024,
            rate: 500,
            header_timeout: Duration::from_secs(10),
            drain: Duration::from_secs(30),
            learn: Duration::from_secs(12),
            expose: Expose::All,
            mcp_socket: None,
        }
    }
}

/// A gateway that listens.
pub struct Gateway {
    api: Arc<Api>,
    listener: TcpListener,
    /// Where agents attach, if they are to.
    socket: Option<std::io::Result<McpSocket>>,
    options: GatewayOptions,
    address: SocketAddr,
}

impl Gateway {
    /// Begins to listen, and gives the token that may do everything. It is shown this once: only its hash is kept.
    ///
    /// # Errors
    /// `denied` for an address that other machines reach and that nobody allowed; `io` when it cannot be used.
    pub async fn open(
        host: Host,
        approvals: Arc<Approvals>,
        options: GatewayOptions,
    ) -> Result<(Self, String), CallError> {
        let listen = options.listen;
        let is_local = listen.ip().is_loopback();
        if !is_local && !options.allow_remote {
            let message = format!(
                "{listen} can be reached from other machines, and the gateway speaks plain HTTP; to listen there all the \
                 same, say --allow-remote"
            );
            return Err(CallError::new(ErrorCode::Denied, message));
        }
        let unusable = |error| CallError::new(ErrorCode::Io, format!("cannot listen on {listen}: {error}"));
        let listener = TcpListener::bind(listen).await.map_err(unusable)?;
        let address = listener.local_addr().map_err(unusable)?;
        let tokens = Arc::new(Tokens::default());
        let owner = tokens.make_owner()?;
        let api = Arc::new(Api {
            revisions: Api::revisions_of(&host),
            host,
            tokens,
            approvals,
            metrics: Metrics::default(),
            calls: Tasks::new(),
            met: CancellationToken::new(),
            closing: CancellationToken::new(),
            ended: CancellationToken::new(),
            sockets: Tasks::new(),
            hurry: CancellationToken::new(),
            is_local,
            rate: options.rate,
            body_limit: options.body_limit,
        });
        // Whoever reads that we listen may attach.
        let socket = match &options.mcp_socket {
            Some(path) => Some(McpSocket::bind(path.clone()).await),
            None => None,
        };
        Ok((Self { api, listener, socket, options, address }, owner))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Why agents cannot attach, where they cannot: each of them has a host of its own then.
    pub fn unattached(&self) -> Option<&std::io::Error> {
        self.socket.as_ref()?.as_ref().err()
    }

    /// Its tokens, for whoever starts programs that are to use it.
    pub fn tokens(&self) -> Arc<Tokens> {
        Arc::clone(&self.api.tokens)
    }

    /// Serves until `stop`, then finishes the calls under way, for as long as the options say or until `hurry`.
    pub async fn run(self, stop: CancellationToken, hurry: CancellationToken) {
        let Self { api, listener, socket, options, .. } = self;
        let starting = tokio::spawn({
            let (api, learn) = (Arc::clone(&api), options.learn);
            async move {
                api.host.learn(learn).await;
                api.met.cancel();
                api.host.start_listeners(learn).await;
            }
        });
        let mcp = McpOptions { expose: options.expose, met: api.met.clone(), ..McpOptions::default() };
        let face = McpFace::new(api.host.clone(), mcp);
        let socket = socket.and_then(Result::ok);
        let socket = socket.map(|socket| tokio::spawn(socket.serve(face.clone(), api.ended.clone())));
        // The guard has looked at names and tokens.
        let router = api.router(mcp_router(face, HttpOptions { any_host: true, ..HttpOptions::default() }));
        let connections = Tasks::new();
        let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => break,
                accepted = async {
                    let slot = Arc::clone(&free).acquire_owned().await;
                    (listener.accept().await, slot)
                } => accepted,
            };
            match accepted {
                (Ok((stream, _)), slot) => {
                    let (api, router, wait) = (Arc::clone(&api), router.clone(), options.header_timeout);
                    connections.spawn(async move {
                        api.metrics.connections.fetch_add(1, Ordering::Relaxed);
                        serve(stream, router, wait, &api).await;
                        api.metrics.connections.fetch_sub(1, Ordering::Relaxed);
                        drop(slot);
                    });
                }
                (Err(_), _) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
            }
        }
        drop(listener);
        // Long polls and event streams end, connections take no more requests.
        api.closing.cancel();
        tokio::select! {
            () = idle(&api) => {}
            () = tokio::time::sleep(options.drain) => {}
            () = hurry.cancelled() => {}
        }
        api.hurry.cancel();
        tokio::time::timeout(SHUTDOWN_GRACE, api.calls.none()).await.ok();
        // Answers are written while those who served them still may.
        tokio::time::timeout(SHUTDOWN_GRACE, connections.none()).await.ok();
        api.ended.cancel();
        tokio::time::timeout(SHUTDOWN_GRACE, api.sockets.none()).await.ok();
        if let Some(socket) = socket {
            // Takes its file away.
            tokio::time::timeout(SHUTDOWN_GRACE, socket).await.ok();
        }
        starting.abort();
    }
}

/// Resolves when no call is under way, whichever face it came through.
async fn idle(api: &Api) {
    api.calls.none().await;
    while api.host.calls_under_way() > 0 {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn serve(stream: TcpStream, router: Router, header_timeout: Duration, api: &Api) {
    // Small answers go out at once; without it, so they do later.
    stream.set_nodelay(true).ok();
    let mut server = http1::Builder::new();
    server
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    let connection = server.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = api.closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // Whatever went wrong is the client's: it went, was too slow, or spoke something else.
    served.ok();
}
