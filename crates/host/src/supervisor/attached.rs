//! One that was not started here: its instance is there from the beginning, and is never started again.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use arc_swap::ArcSwap;
use jackfield_discovery::Found;
use jackfield_discovery::catalog::Memory;
use jackfield_protocol::Contributions;
use jackfield_runtime::{Instance, bounded};
use tokio::sync::Notify;

use super::{RestartRule, Running, State, Supervised};
use crate::host::Inner;

impl Supervised {
    /// One whose instance runs already.
    pub(crate) fn attached(
        found: Found,
        instance: Arc<dyn Instance>,
        contributions: Contributions,
        rule: RestartRule,
        host: Weak<Inner>,
    ) -> Arc<Self> {
        let contributions = bounded(contributions);
        let running = Running {
            instance,
            contributions: ArcSwap::from_pointee(contributions.clone()),
            hash: String::new(),
            start: 0,
            greeted: AtomicBool::new(true),
            in_flight: AtomicUsize::new(0),
            idle: Notify::new(),
            last_used: Mutex::new(Instant::now()),
        };
        let memory = Memory { known: Some(running.known(contributions)), ..Memory::default() };
        let extension = Self::new(found, memory, rule, host);
        extension.running.store(Some(Arc::new(running)));
        extension.set_state(0, State::Ready);
        extension
    }

    /// It has gone by itself; what waits for it is told so.
    pub(crate) fn leave(&self) {
        let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
        self.running.store(None);
        self.set_state(epoch, State::Shutdown);
    }
}
