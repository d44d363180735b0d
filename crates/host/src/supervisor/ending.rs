//! How the host ends an extension: after a removal, at a stop, when it may not run any more.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use jackfield_discovery::Found;

use super::{State, Supervised, lock};

impl Supervised {
    /// It is not there any more: lets it finish what it does, then ends it.
    pub(crate) async fn retire(&self, drain_timeout: Duration) {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        let running = self.running.swap(None);
        self.set_state(epoch, State::Shutdown);
        if let Some(running) = running {
            let drained = tokio::time::timeout(drain_timeout, running.drained()).await;
            running.instance.stop(if drained.is_ok() { self.stop_grace() } else { Duration::ZERO }).await;
        }
    }

    /// Lets go of the extension at once: dropping its instance kills it. For a host that goes without a goodbye.
    pub(crate) fn abandon(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        self.running.store(None);
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }

    /// It may not run any more: stops what runs and keeps only what is said about it.
    pub(crate) async fn stand_down(&self, found: Found) {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.found.store(Arc::new(found));
        // What it contributed is no longer offered, but still explains why it is missing.
        if let Some(known) = self.known.swap(None) {
            self.previous.store(Some(known));
        }
        let running = self.running.swap(None);
        self.set_state(epoch, State::Idle);
        if let Some(running) = running {
            running.instance.stop(self.stop_grace()).await;
        }
    }

    /// Stops it for good.
    pub(crate) async fn shutdown(&self) {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        let running = self.running.swap(None);
        self.set_state(epoch, State::Shutdown);
        if let Some(running) = running {
            running.instance.stop(self.stop_grace()).await;
        }
    }
}
