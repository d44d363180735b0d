//! `mcp`: a host as an MCP server, on standard input and output or over HTTP.

mod stdio;

use std::sync::Arc;
use std::time::Duration;

use jackfield_gateway::{
    Attached, Expose, HttpOptions, McpFace, McpOptions, McpSocket, attach, mcp_router, new_token, serve, serve_http,
    socket_path,
};
use jackfield_host::{Host, NoAgent, NoFace, Watching};
use jackfield_protocol::{CallError, ErrorCode, plain_text};
use serde_json::json;
use tokio::io::BufReader;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::LEARN_TIMEOUT;
use crate::approve::approver;
use crate::args::{Global, McpArgs};
use crate::compose::{self, Frontend, Scope};
use crate::exit;
use crate::output::{self, note};

pub(crate) async fn mcp(global: &Global, args: McpArgs) -> anyhow::Result<u8> {
    // What is said for this run alone is not said to a host that others use, too.
    let shares = global.ext.is_empty() && global.policy.is_none() && !global.yes && !args.alone && !args.watch;
    if shares && args.http.is_none() {
        let path = socket_path(&compose::home(global)?, &compose::project(global)?);
        if attach(&path, &args.expose, stdio::input(), stdio::output()).await == Attached::Over {
            return Ok(exit::FINE);
        }
    }
    let listener = bind(&args).await?;
    let frontend = Frontend {
        face: Arc::new(NoFace),
        agent: Arc::new(NoAgent),
        session_file: None,
        // Standard input belongs to the client, so nobody can be asked there.
        approver: Some(approver(global.yes)),
    };
    let host = compose::open_for(global, Scope::All, frontend)?;
    let watching = watch(&host, args.watch)?;
    let met = CancellationToken::new();
    let expose = Expose::parse(args.expose.iter().map(String::as_str));
    let face = McpFace::new(host.clone(), McpOptions { expose, met: met.clone(), ..McpOptions::default() });
    let starting = tokio::spawn({
        let host = host.clone();
        async move {
            host.learn(LEARN_TIMEOUT).await;
            met.cancel();
            host.start_listeners(LEARN_TIMEOUT).await;
        }
    });
    let served = match listener {
        None => {
            tokio::select! {
                () = serve(face, None, BufReader::with_capacity(64 * 1024, stdio::input()), stdio::output()) => {}
                () = crate::signals::ended() => {}
            }
            Ok(())
        }
        Some(listener) => listen(global, &args, &host, face, listener).await,
    };
    starting.abort();
    drop(watching);
    host.shutdown().await;
    served.map(|()| exit::FINE)
}

/// Takes the address before anything is started, so that a mistake costs nothing.
async fn bind(args: &McpArgs) -> anyhow::Result<Option<TcpListener>> {
    let Some(address) = args.http else { return Ok(None) };
    if !address.ip().is_loopback() {
        let message =
            format!("--http {address}: only addresses of this machine alone are served, for instance 127.0.0.1:0");
        return Err(CallError::new(ErrorCode::InvalidRequest, message).into());
    }
    let bound = TcpListener::bind(address).await;
    bound
        .map(Some)
        .map_err(|error| CallError::new(ErrorCode::Io, format!("cannot listen on {address}: {error}")).into())
}

/// Serves clients over HTTP until the program is told to end.
async fn listen(
    global: &Global,
    args: &McpArgs,
    host: &Host,
    face: McpFace,
    listener: TcpListener,
) -> anyhow::Result<()> {
    // Agents that know nothing of HTTP attach to this host, too, unless another one serves them already.
    let over = CancellationToken::new();
    let path = socket_path(host.home(), host.project());
    let socket = McpSocket::bind(path).await.inspect_err(unattached).ok();
    let socket = socket.map(|socket| tokio::spawn(socket.serve(face.clone(), over.clone())));
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let token = if args.no_token { None } else { Some(args.token.clone().unwrap_or_else(new_token)) };
    if global.json {
        output::json(&json!({ "url": url, "token": token }))?;
    } else {
        output::line(&format!("MCP at {url}"))?;
        match (&token, &args.token) {
            (Some(token), None) => output::line(&format!("Authorization: Bearer {token}"))?,
            (Some(_), Some(_)) => {}
            (None, _) => note!("warn: every program of this machine may use it: --no-token"),
        }
    }
    let router = mcp_router(face, HttpOptions { token, ..HttpOptions::default() });
    let served = tokio::select! {
        served = serve_http(listener, router, over.clone()) => served.map_err(Into::into),
        () = crate::signals::ended() => Ok(()),
    };
    over.cancel();
    if let Some(socket) = socket {
        // Takes its file away.
        socket.await.ok();
    }
    served
}

/// Says why agents that start `jackfield mcp` do not come to this host.
pub(crate) fn unattached(error: &std::io::Error) {
    note!("warn: agents cannot attach, each has a host of its own: {}", plain_text(&error.to_string()));
}

fn watch(host: &Host, wanted: bool) -> anyhow::Result<Option<Watching>> {
    let settings = host.report().settings.clone();
    if !wanted && !settings.watch.enabled {
        return Ok(None);
    }
    let debounce = Duration::from_millis(settings.watch.debounce_ms);
    let watching = host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?;
    for (path, why) in watching.unwatched() {
        let place = plain_text(&path.to_string_lossy());
        note!("warn: changes in {place} are not noticed, reload by hand: {}", plain_text(&why));
    }
    Ok(Some(watching))
}
