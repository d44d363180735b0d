//! `net`: sockets. A call lives as long as its connection, or its listener with all that connected to it; what is given up
//! is closed.

mod listen;
mod pump;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode, Need, NetOp, Power, Resource};
use jackfield_runtime::{CallInput, HostCallCx};
use serde_json::{Value, json};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::mpsc;

use super::fs::{self, Root};
use super::{Until, demand, errno};
use crate::Authorize;

/// Puts the real path of a socket in the file system into the call.
pub(super) fn resolve(root: &Root, op: &mut NetOp) -> Result<(), CallError> {
    let last = if matches!(op, NetOp::Listen { .. }) { fs::Last::Keep } else { fs::Last::Follow };
    if let Some(path) = op.path_mut() {
        *path = root.resolve(path, last)?;
    }
    Ok(())
}

/// Serves one operation.
pub(super) async fn perform(
    root: &Root,
    op: &NetOp,
    connect_timeout: Duration,
    authorize: &dyn Authorize,
    cx: &HostCallCx,
    until: &Until,
) -> Result<Value, CallError> {
    if let NetOp::Lookup { host, family } = op {
        return until.run(&format!("lookup of {host}"), lookup(host, *family)).await?;
    }
    let (Some(chunks), Some(input)) = (&cx.chunks, cx.input.as_ref().and_then(CallInput::take)) else {
        let message = "net: a connection is a stream in both directions, and this call takes none";
        return Err(CallError::new(ErrorCode::InvalidRequest, message));
    };
    match op {
        NetOp::Connect { path: Some(path), .. } => {
            let held = root.hold_socket(fs::checked(path)?)?;
            let what = format!("connect to {path:?}");
            let connecting = tokio::time::timeout(connect_timeout, UnixStream::connect(&held.at));
            let stream = timely(&what, until.run(&what, connecting).await?)?;
            tell(chunks, json!({ "open": { "local": {}, "remote": { "path": path } } })).await;
            talk(until, &what, stream, chunks, input).await
        }
        NetOp::Connect { host, port, tls, server_name, .. } => {
            let host = host.as_deref().unwrap_or("localhost");
            let port = port.filter(|port| *port > 0).ok_or_else(|| {
                CallError::new(
                    ErrorCode::InvalidRequest,
                    format!("connect to {host}: a port from 1 to 65535 is missing"),
                )
            })?;
            let what = format!("connect to {host}:{port}");
            let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
            if let Some(name) = server_name.as_deref().filter(|name| *tls && !name.eq_ignore_ascii_case(bare)) {
                // Behind one address may stand many: the one that is asked for is judged too.
                let resource = Resource::Host(format!("{}:{port}", name.to_ascii_lowercase()));
                demand(authorize, Need { power: Power::Http, method: "net", resource }).await?;
            }
            let connecting = tokio::time::timeout(connect_timeout, TcpStream::connect((bare, port)));
            let stream = timely(&what, until.run(&what, connecting).await?)?;
            // Small messages must not wait for larger ones; one that cannot be told so still works.
            let _ = stream.set_nodelay(true);
            let open = json!({ "open": { "local": end(stream.local_addr()), "remote": end(stream.peer_addr()) } });
            if *tls {
                let name = server_name.as_deref().unwrap_or(bare);
                let greeting = tokio::time::timeout(connect_timeout, tls::greet(stream, name));
                let stream = timely(&what, until.run(&what, greeting).await?)?;
                tell(chunks, open).await;
                talk(until, &what, stream, chunks, input).await
            } else {
                tell(chunks, open).await;
                talk(until, &what, stream, chunks, input).await
            }
        }
        NetOp::Listen { host, port, path } => {
            let place = match path {
                Some(path) => listen::ListenAddress::Path(root, path),
                None => {
                    listen::ListenAddress::Address(host.as_deref().unwrap_or("127.0.0.1"), port.unwrap_or_default())
                }
            };
            listen::serve(place, chunks, input, until).await
        }
        NetOp::Lookup { .. } => Ok(json!({})),
    }
}

/// Carries bytes both ways until both sides have ended, or the call is given up.
async fn talk(
    until: &Until,
    what: &str,
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite,
    chunks: &mpsc::Sender<Value>,
    input: mpsc::Receiver<Value>,
) -> Result<Value, CallError> {
    let listener = pump::Listener { chunks: chunks.clone(), conn: None };
    let carrying = pump::pump(stream, pump::Source::Call(input), &listener);
    match until.run(what, carrying).await? {
        Ok(()) => Ok(json!({})),
        Err(error) => Err(errno::failure(what, &error)),
    }
}

async fn tell(chunks: &mpsc::Sender<Value>, piece: Value) {
    // Whoever has gone is noticed when the connection is served.
    let _ = chunks.send(piece).await;
}

/// What came of something that has its own limit of time.
fn timely<T>(what: &str, outcome: Result<std::io::Result<T>, tokio::time::error::Elapsed>) -> Result<T, CallError> {
    match outcome {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) if error.to_string().contains("lookup address") => {
            Err(errno::as_errno("ENOTFOUND", format!("{what}: {error}")))
        }
        Ok(Err(error)) => Err(errno::failure(what, &error)),
        Err(_) => Err(errno::as_errno("ETIMEDOUT", format!("{what}: nobody answers"))),
    }
}

/// One end of a connection.
fn end(address: std::io::Result<SocketAddr>) -> Value {
    match address {
        Ok(address) => {
            json!({ "address": address.ip().to_string(), "port": address.port(), "family": family(address.ip()) })
        }
        Err(_) => json!({}),
    }
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 4 } else { 6 }
}

async fn lookup(host: &str, wanted: Option<u8>) -> Result<Value, CallError> {
    let unknown = |why: String| errno::as_errno("ENOTFOUND", format!("lookup of {host}: {why}"));
    let found = tokio::net::lookup_host((host, 0)).await.map_err(|error| unknown(error.to_string()))?;
    let mut seen = BTreeSet::new();
    let addresses: Vec<Value> = found
        .map(|address| address.ip())
        .filter(|ip| wanted.is_none_or(|wanted| wanted == 0 || wanted == family(*ip)) && seen.insert(*ip))
        .map(|ip| json!({ "address": ip.to_string(), "family": family(ip) }))
        .collect();
    if addresses.is_empty() {
        Err(unknown("it has no such address".to_owned()))
    } else {
        Ok(json!({ "addresses": addresses }))
    }
}
