//! Extensions that rest: files that only serve calls. They end after a while without a call, and the next call starts them
//! again.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jackfield_discovery::catalog::Failure;
use jackfield_protocol::Contributions;
use jackfield_runtime::bounded;

use super::{Known, Running, State, Supervised, lock};

impl Supervised {
    /// How long its start may take, where its manifest says so.
    pub(crate) fn start_timeout(&self) -> Duration {
        Duration::from_millis(self.found.load().manifest.limits.start_timeout_ms.unwrap_or_default())
    }

    /// Resolves when the instance has served no call for as long as the configuration says.
    pub(super) async fn unused(&self, running: &Running) {
        let rests = self.traits().rests_when_idle;
        let limit = self.host.upgrade().map(|host| host.python_idle()).filter(|limit| rests && !limit.is_zero());
        let Some(limit) = limit else { return std::future::pending().await };
        loop {
            let quiet = lock(&running.last_used).elapsed();
            let busy = running.in_flight.load(Ordering::SeqCst) > 0;
            if !busy && quiet >= limit {
                return;
            }
            let wait = if busy { limit } else { limit.saturating_sub(quiet) };
            tokio::time::sleep(wait.max(Duration::from_millis(1))).await;
        }
    }

    /// Ends an unused instance. A call that comes in this moment goes to the next one.
    pub(super) async fn rest(&self, running: &Arc<Running>, epoch: u64) {
        if self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        self.running.store(None);
        self.set_state(epoch, State::Idle);
        // One that took it before it was out of sight is waited for.
        running.drained().await;
        running.instance.stop(self.stop_grace()).await;
    }

    /// What it contributes is known without its having run. The caller builds the next snapshot.
    pub(crate) fn learnt(&self, hash: String, contributions: Contributions) {
        let known = Known { hash, contributions: bounded(contributions) };
        if let Some(host) = self.host.upgrade() {
            host.extensions.catalog.save(&self.found(), &known);
        }
        self.known.store(Some(Arc::new(known)));
        self.failure.store(None);
    }

    /// It does not load, as was learnt without starting it.
    pub(crate) fn learnt_to_fail(&self, reason: &str) {
        let reason = self.fit_to_tell(reason);
        let epoch = self.epoch.load(Ordering::Acquire);
        if self.state() == State::Idle {
            self.fail(epoch, reason);
        } else {
            self.failure.store(Some(Arc::new(Failure::now(&reason))));
        }
    }

    /// A short pause for files that change faster than anybody reads, instead of no reload at all.
    pub(crate) async fn pause_if_hurried(&self, now: Instant) {
        if lock(&self.reloads).is_hurried(now) {
            tokio::time::sleep(HURRIED_RELOAD_PAUSE).await;
        }
    }
}

/// How long a reload waits when there were many before it.
const HURRIED_RELOAD_PAUSE: Duration = Duration::from_millis(250);
