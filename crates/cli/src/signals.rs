//! The signals that end a verb that stays.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Resolves when the program is asked to end.
#[cfg(unix)]
pub(crate) async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
    }
}

/// Resolves when the program is asked to end.
#[cfg(not(unix))]
pub(crate) async fn ended() {
    // Without a signal handler the platform ends the program itself.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Asked once, what is under way is finished (`stop`); asked again, it is not waited for (`hurry`).
pub(crate) struct Signals {
    pub(crate) stop: CancellationToken,
    pub(crate) hurry: CancellationToken,
    listening: JoinHandle<()>,
}

impl Signals {
    /// Listens from now on, as long as this lives.
    pub(crate) fn listen() -> Self {
        let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
        let (once, twice) = (stop.clone(), hurry.clone());
        let listening = tokio::spawn(async move {
            ended().await;
            once.cancel();
            ended().await;
            twice.cancel();
        });
        Self { stop, hurry, listening }
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listening.abort();
    }
}
