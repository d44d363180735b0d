//! The signals that end a verb that stays.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Resolves when the program is asked to end. It listens in a task of its own: whoever waits here beside serving somebody is
/// looked at with every message, and the signals need not be.
pub(crate) async fn ended() {
    let mut listening = Listening(tokio::spawn(asked()));
    if (&mut listening.0).await.is_err() {
        std::future::pending().await
    }
}

/// A task that ends with whoever holds it.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(unix)]
async fn asked() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

#[cfg(not(unix))]
async fn asked() {
    // Without a signal handler the platform ends the program itself.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Asked once, what is under way is finished (`stop`); asked again, it is not waited for (`hurry`).
pub(crate) struct Signals {
    pub(crate) stop: CancellationToken,
    pub(crate) hurry: CancellationToken,
    _listening: Listening,
}

impl Signals {
    /// Listens from now on, as long as this lives.
    pub(crate) fn listen() -> Self {
        let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
        let (once, twice) = (stop.clone(), hurry.clone());
        let listening = tokio::spawn(async move {
            asked().await;
            once.cancel();
            asked().await;
            twice.cancel();
        });
        Self { stop, hurry, _listening: Listening(listening) }
    }
}
