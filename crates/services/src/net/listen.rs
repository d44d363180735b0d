//! Waiting for others to connect, and serving all of them in one call.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_protocol::{CallError, ErrorCode};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::pump::{self, Sent, Source, named};
use super::{end, family};
use crate::fs::{self, HeldSocket, Root};
use crate::{Until, errno};

/// The most connections at a time; one more is closed at once.
const MAX_CONNECTIONS: usize = 1024;
/// The most bytes that may wait for somebody who does not read; a connection with more is closed.
const MAX_UNREAD_BYTES: usize = 16 * 1024 * 1024;

/// Where is listened.
pub(super) enum ListenAddress<'a> {
    Address(&'a str, u16),
    Path(&'a Root, &'a str),
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, HeldSocket),
}

/// Anything that carries bytes.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Listener {
    async fn open(address: ListenAddress<'_>) -> Result<(Self, Value), CallError> {
        match address {
            ListenAddress::Path(root, path) => {
                let what = format!("listen at {path:?}");
                let held = root.hold_place(fs::checked(path)?)?;
                let listener = UnixListener::bind(&held.at).map_err(|error| errno::failure(&what, &error))?;
                Ok((Self::Unix(listener, held), json!({ "path": root.absolute(path).to_string_lossy() })))
            }
            ListenAddress::Address(host, port) => {
                let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
                let what = format!("listen at {host}:{port}");
                let failed = |error: std::io::Error| errno::failure(&what, &error);
                let listener = TcpListener::bind((bare, port)).await.map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                // A name was judged; what it stands for is known only now.
                if bare.eq_ignore_ascii_case("localhost") && !address.ip().is_loopback() {
                    let message = format!("{what}: the name stands for {}, which others can reach", address.ip());
                    return Err(CallError::new(ErrorCode::Denied, message));
                }
                let ip = address.ip();
                Ok((
                    Self::Tcp(listener),
                    json!({ "address": ip.to_string(), "port": address.port(), "family": family(ip) }),
                ))
            }
        }
    }

    async fn accept(&self) -> std::io::Result<(Box<dyn Stream>, Value)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, remote) = listener.accept().await?;
                // One that cannot be told so still works.
                let _ = stream.set_nodelay(true);
                let open = json!({ "local": end(stream.local_addr()), "remote": end(Ok(remote)) });
                Ok((Box::new(stream), open))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Box::new(stream), json!({ "local": {}, "remote": {} })))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, held) = self {
            held.remove();
        }
    }
}

/// A connection that is served.
struct Guest {
    send: mpsc::UnboundedSender<Sent>,
    waiting: Arc<AtomicUsize>,
    task: AbortHandle,
}

/// Serves until the extension closes the listener and every connection is over, or gives the call up.
pub(super) async fn serve(
    address: ListenAddress<'_>,
    chunks: &mpsc::Sender<Value>,
    mut input: mpsc::Receiver<Value>,
    until: &Until,
) -> Result<Value, CallError> {
    let (listener, listening) = Listener::open(address).await?;
    let mut listener = Some(listener);
    let mut guests = Guests { all: HashMap::new(), tasks: JoinSet::new(), next: 1 };
    let work = async {
        if chunks.send(json!({ "listening": listening })).await.is_err() {
            return;
        }
        let mut open = true;
        while listener.is_some() || !guests.tasks.is_empty() {
            tokio::select! {
                () = chunks.closed() => return,
                accepted = accept(listener.as_ref()), if listener.is_some() => match accepted {
                    Ok((stream, facts)) => guests.welcome(stream, facts, chunks),
                    // Too many open files pass; a listener that spins on them does not help.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
                },
                Some(ended) = guests.tasks.join_next(), if !guests.tasks.is_empty() => {
                    if let Ok(number) = ended {
                        guests.all.remove(&number);
                    }
                }
                message = input.recv(), if open => match message {
                    None => {
                        open = false;
                        listener = None;
                    }
                    Some(message) => {
                        let closed = match message.get("conn").and_then(Value::as_u64) {
                            Some(number) => guests.pass(number, &message),
                            None => {
                                let close = message.get("close").and_then(Value::as_bool) == Some(true);
                                // Said only when it is so: from then on nobody can connect.
                                (close && listener.take().is_some()).then(|| json!({ "closed": true }))
                            }
                        };
                        if let Some(closed) = closed
                            && chunks.send(closed).await.is_err()
                        {
                            return;
                        }
                    }
                },
            }
        }
    };
    until.run("listen", work).await?;
    Ok(json!({}))
}

async fn accept(listener: Option<&Listener>) -> std::io::Result<(Box<dyn Stream>, Value)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

struct Guests {
    all: HashMap<u64, Guest>,
    /// Aborted when dropped, so nobody is served beyond the call.
    tasks: JoinSet<u64>,
    next: u64,
}

impl Guests {
    fn welcome(&mut self, stream: Box<dyn Stream>, facts: Value, chunks: &mpsc::Sender<Value>) {
        if self.all.len() >= MAX_CONNECTIONS {
            return;
        }
        let number = self.next;
        self.next += 1;
        let (send, queue) = mpsc::unbounded_channel::<Sent>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let listener = pump::Listener { chunks: chunks.clone(), conn: Some(number) };
        let source = Source::Shared { queue, waiting: Arc::clone(&waiting), last: 0 };
        let task = self.tasks.spawn(async move {
            if !listener.tell(json!({ "open": facts })).await {
                return number;
            }
            let outcome = pump::pump(stream, source, &listener).await;
            let mut closed = json!({ "closed": true });
            if let (Err(error), Some(closed)) = (outcome, closed.as_object_mut()) {
                let failure = errno::failure("connection", &error);
                closed.insert("error".to_owned(), json!({ "message": failure.message, "details": failure.details }));
            }
            listener.tell(closed).await;
            number
        });
        self.all.insert(number, Guest { send, waiting, task });
    }

    /// Gives a message to its connection. A connection that is closed here is said so in return.
    fn pass(&mut self, number: u64, message: &Value) -> Option<Value> {
        let guest = self.all.get(&number)?;
        let wants_close = message.get("close").and_then(Value::as_bool) == Some(true);
        let sent = Sent::read(message);
        let waiting = guest.waiting.fetch_add(sent.bytes.len(), Ordering::Relaxed) + sent.bytes.len();
        if !wants_close && waiting <= MAX_UNREAD_BYTES {
            // One that is just ending takes nothing more.
            let _ = guest.send.send(sent);
            return None;
        }
        guest.task.abort();
        self.all.remove(&number);
        Some(named(number, json!({ "closed": true })))
    }
}
