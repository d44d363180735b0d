//! The snapshot in force. A change only says that there was one, and who looks next builds the snapshot: a hundred extensions
//! that start together are not put in order a hundred times.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::{ArcSwap, Guard};

use super::Snapshot;
use crate::host::{HostEvent, Inner};
use crate::pins::Pins;
use crate::supervisor::Supervised;

#[derive(Default)]
pub(crate) struct LiveRegistry {
    snapshot: ArcSwap<Snapshot>,
    /// How many changes there were.
    changes: AtomicU64,
    /// How many of them the snapshot knows.
    known: AtomicU64,
    building: Mutex<()>,
}

impl LiveRegistry {
    /// The next look builds the snapshot anew.
    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// The snapshot with all changes so far.
    fn load(&self, extensions: impl FnOnce() -> Vec<Arc<Supervised>>, pins: &Pins) -> Guard<Arc<Snapshot>> {
        if self.known.load(Ordering::Acquire) != self.changes.load(Ordering::Acquire) {
            let _one_at_a_time = self.building.lock().unwrap_or_else(PoisonError::into_inner);
            // Another task may have built it meanwhile. What changes from here on counts again.
            let changes = self.changes.load(Ordering::Acquire);
            if self.known.load(Ordering::Acquire) != changes {
                let before = self.snapshot.load();
                self.snapshot.store(Arc::new(Snapshot::build(extensions(), &before, pins)));
                self.known.store(changes, Ordering::Release);
            }
        }
        self.snapshot.load()
    }
}

impl Inner {
    /// The registry as it is now.
    pub(crate) fn snapshot(&self) -> Guard<Arc<Snapshot>> {
        self.extensions.registry.load(|| self.extensions.all.load().values().cloned().collect(), &self.extensions.pins)
    }

    /// The set of extensions has changed. The caller calls [`Self::rebuild`] when it is complete.
    pub(crate) fn rebuild_quietly(&self) {
        self.extensions.registry.changed();
    }

    /// A contribution has changed. The next look at the registry shows it, and faces are told.
    pub(crate) fn rebuild(&self) {
        self.extensions.registry.changed();
        self.publish(HostEvent::RegistryChanged);
    }
}
