//! JSON lines: a host that stays and speaks one request, answer or event per line.
//!
//! Requests are `{"id"?, "type", …}`; answers `{"type":"response","id","command","success","data"|"error"}`. Requests
//! overlap. Events come in between as `ext_notify`, `ext_display`, `ext_state` and the like. A host also listens on a
//! socket of its own in the home, for its owner only; `control` is how other processes of the owner find it.

mod answer;
mod calls;
mod connection;
mod control;
mod events;
mod listeners;
mod offers;
mod outgoing;
mod request;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_host::Host;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use crate::api::Tokens;

pub use control::ask_running_hosts;
pub use events::event_json;
pub use listeners::Listeners;

/// How long requests may take to notice that their listener has gone.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Serves a listener on `input` and `output`, and others on the host's socket. Ends when the listener goes, when a
/// listener asks the host to end, or when `ended` resolves. Does not shut the host down.
///
/// The host must have been opened with the face of these `listeners`. `learn` is how long a listing of the tools waits for
/// extensions that were never seen.
pub async fn serve(
    host: &Host,
    listeners: Listeners,
    learn: Duration,
    (input, output): (impl AsyncBufRead + Unpin, impl AsyncWrite + Unpin + Send + 'static),
    ended: impl Future<Output = ()>,
) {
    let (over, met) = (CancellationToken::new(), CancellationToken::new());
    let face = Arc::new(LinesFace { host: host.clone(), listeners, over, met, learn, gateway: None });
    let _socket = Attended { socket: listen(&face) };
    let starting = tokio::spawn({
        let (host, met) = (host.clone(), face.met.clone());
        async move {
            host.learn(learn).await;
            met.cancel();
            host.start_listeners(learn).await;
        }
    });
    let talking = connection::serve(Arc::clone(&face), input, output);
    tokio::pin!(talking);
    tokio::select! {
        () = &mut talking => {}
        () = ended => {
            face.over.cancel();
            // Bounded: a listener that does not read must not keep the host.
            tokio::time::timeout(CANCEL_GRACE * 2, talking).await.ok();
        }
    }
    face.over.cancel();
    starting.abort();
}

/// The socket of a host that does something else, so that other processes find it, for instance for a reload. The socket
/// goes when this is dropped.
pub struct Attended {
    socket: Option<PathBuf>,
}

impl Drop for Attended {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            std::fs::remove_file(socket).ok();
        }
    }
}

/// Listens on the socket of this host until the guard is dropped. `over` is cancelled when a listener asks the host to end.
pub fn attend(host: &Host, learn: Duration, over: CancellationToken, gateway: Option<RunningGateway>) -> Attended {
    let met = CancellationToken::new();
    met.cancel();
    let face = LinesFace { host: host.clone(), listeners: Listeners::default(), over, met, learn, gateway };
    Attended { socket: listen(&Arc::new(face)) }
}

/// The HTTP gateway of a host, for other processes of the same user.
pub struct RunningGateway {
    /// The address of the gateway, with `http://`.
    pub address: String,
    /// The tokens that the gateway accepts.
    pub tokens: Arc<Tokens>,
}

/// What all listeners of a host share.
struct LinesFace {
    host: Host,
    listeners: Listeners,
    /// Cancelled when the host is to end. Listeners then get the answers they are owed, and no more lines are read.
    over: CancellationToken,
    /// Cancelled once every extension that was never seen before has had its chance to start.
    met: CancellationToken,
    /// How long a listing of the tools waits for extensions that were never seen.
    learn: Duration,
    gateway: Option<RunningGateway>,
}

/// Serves further listeners on the host's socket.
#[cfg(unix)]
fn listen(face: &Arc<LinesFace>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let path = control::socket(face.host.home(), std::process::id());
    std::fs::remove_file(&path).ok();
    let listener = tokio::net::UnixListener::bind(&path).ok()?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).ok()?;
    let face = Arc::clone(face);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (input, output) = stream.into_split();
            tokio::spawn(connection::serve(Arc::clone(&face), tokio::io::BufReader::new(input), output));
        }
    });
    Some(path)
}

#[cfg(not(unix))]
fn listen(_face: &Arc<LinesFace>) -> Option<PathBuf> {
    None
}
