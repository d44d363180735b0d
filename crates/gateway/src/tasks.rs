//! Counts what is under way, so that the end can wait for it.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What is under way.
#[derive(Clone)]
pub(crate) struct Tasks(Arc<watch::Sender<usize>>);

/// Something that is under way as long as this is.
pub(crate) struct Counted(Arc<watch::Sender<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }

    /// Counts one more.
    pub(crate) fn enter(&self) -> Counted {
        self.0.send_modify(|count| *count += 1);
        Counted(Arc::clone(&self.0))
    }

    /// Starts a task and counts it.
    pub(crate) fn spawn<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let counted = self.enter();
        tokio::spawn(async move {
            let _counted = counted;
            task.await
        })
    }

    /// Resolves when nothing is under way.
    pub(crate) async fn none(&self) {
        // The sender is held here, so that waiting cannot fail.
        self.0.subscribe().wait_for(|count| *count == 0).await.ok();
    }
}
