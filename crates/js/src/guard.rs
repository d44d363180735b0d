//! Ends script that does not end by itself: a deadline for each stretch of work, and a kill from outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const NO_DEADLINE: u64 = u64::MAX;
/// How long after its time an engine may take to notice.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// Shared between an engine's thread and whoever watches it.
#[derive(Debug)]
pub(crate) struct Guard {
    base: Instant,
    slice: Duration,
    deadline: AtomicU64,
    stopped: AtomicBool,
    why: Mutex<Option<String>>,
}

impl Guard {
    /// Work may go on for `slice` before it yields.
    pub(crate) fn new(slice: Duration) -> Self {
        Self {
            base: Instant::now(),
            slice,
            deadline: AtomicU64::new(NO_DEADLINE),
            stopped: AtomicBool::new(false),
            why: Mutex::new(None),
        }
    }

    /// A stretch of work begins.
    pub(crate) fn begin(&self) {
        self.deadline.store(self.now().saturating_add(self.slice.as_micros() as u64), Ordering::Relaxed);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        self.deadline.store(NO_DEADLINE, Ordering::Relaxed);
    }

    /// Script waits for the host, which is not its own time. Gives what [`Guard::resume`] needs.
    pub(crate) fn pause(&self) -> Option<u64> {
        let deadline = self.deadline.swap(NO_DEADLINE, Ordering::Relaxed);
        (deadline != NO_DEADLINE).then(|| deadline.saturating_sub(self.now()))
    }

    /// It goes on with the time that it had left.
    pub(crate) fn resume(&self, left: Option<u64>) {
        if let Some(left) = left {
            self.deadline.store(self.now().saturating_add(left), Ordering::Relaxed);
        }
    }

    /// Whether the time was over so long ago that the engine does not ask any more: it is in a builtin that takes no steps.
    pub(crate) fn is_stuck(&self) -> bool {
        let deadline = self.deadline.load(Ordering::Relaxed);
        deadline != NO_DEADLINE && self.now() > deadline.saturating_add(STUCK_AFTER.as_micros() as u64)
    }

    /// When to look again whether it is.
    pub(crate) fn look_every(&self) -> Duration {
        (self.slice + STUCK_AFTER) / 4
    }

    /// What is said of such an engine.
    pub(crate) fn stuck(&self) -> String {
        let most = self.slice.as_millis();
        format!("stopped: it ran for more than {most} ms in a builtin that cannot be interrupted")
    }

    /// Ends the script at its next step. The first reason stays.
    pub(crate) fn stop(&self, why: impl Into<String>) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why.into());
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether the script has to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Why the script has to end, if it has to.
    pub(crate) fn stopped(&self) -> Option<String> {
        if !self.stopped.load(Ordering::Acquire) {
            return None;
        }
        self.why.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Asked by the engine every few thousand steps.
    pub(crate) fn is_over(&self) -> bool {
        if self.stopped.load(Ordering::Acquire) {
            return true;
        }
        if self.now() > self.deadline.load(Ordering::Relaxed) {
            self.stop(format!("interrupted: it ran for more than {} ms without a pause", self.slice.as_millis()));
            return true;
        }
        false
    }

    fn now(&self) -> u64 {
        self.base.elapsed().as_micros() as u64
    }
}
