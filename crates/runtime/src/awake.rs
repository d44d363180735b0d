//! Staying awake for a moment: to fall asleep and be woken costs more than a quick answer takes.
//!
//! Whoever looks also steps aside for other processes each time, because the one that is waited for may be on the same core.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long somebody who is expected back at once is waited for.
const MOMENT: Duration = Duration::from_micros(200);
/// Visits that are further apart are no conversation.
const APART: Duration = Duration::from_micros(400);

/// Looks until `done` or `until`. Other tasks and other processes run in between.
pub async fn look_busily(done: impl Fn() -> bool, until: Instant) {
    while !done() && Instant::now() < until {
        std::thread::yield_now();
        tokio::task::yield_now().await;
    }
}

/// Keeps an async runtime from falling asleep between the messages of somebody who sends the next one as soon as the last one
/// is answered. One visit alone keeps nobody awake.
#[derive(Debug, Clone)]
pub struct Awake {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    began: Instant,
    /// In microseconds since `began`.
    last: AtomicU64,
    until: AtomicU64,
    looking: AtomicBool,
}

impl Default for Awake {
    fn default() -> Self {
        let inner = Inner {
            began: Instant::now(),
            last: AtomicU64::new(0),
            until: AtomicU64::new(0),
            looking: AtomicBool::new(false),
        };
        Self { inner: Arc::new(inner) }
    }
}

impl Inner {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Awake {
    /// Somebody has sent something. To be called within the runtime that is to stay awake.
    pub fn visited(&self) {
        let now = self.inner.now();
        let last = self.inner.last.swap(now, Ordering::Relaxed);
        if u128::from(now.saturating_sub(last)) > APART.as_micros() {
            return;
        }
        self.inner.until.store(now + MOMENT.as_micros() as u64, Ordering::Relaxed);
        if self.inner.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            while inner.now() < inner.until.load(Ordering::Relaxed) {
                std::thread::yield_now();
                tokio::task::yield_now().await;
            }
            inner.looking.store(false, Ordering::Relaxed);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn looking_ends_when_it_is_found_and_when_it_is_time() {
        let found = AtomicBool::new(false);
        let later = Instant::now() + Duration::from_secs(600);
        tokio::join!(look_busily(|| found.load(Ordering::Relaxed), later), async {
            tokio::task::yield_now().await;
            found.store(true, Ordering::Relaxed);
        });
        look_busily(|| false, Instant::now() + MOMENT).await;
    }

    #[tokio::test]
    async fn only_a_conversation_keeps_awake_and_not_for_long() {
        let awake = Awake::default();
        awake.inner.last.store(0, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(1)).await;
        awake.visited();
        assert!(!awake.inner.looking.load(Ordering::Relaxed), "one visit");
        while !awake.inner.looking.load(Ordering::Relaxed) {
            // Two within a moment, whenever the machine lets us.
            awake.visited();
        }
        while awake.inner.looking.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
