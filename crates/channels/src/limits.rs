//! Rate limits for refused senders, so that they cannot fill the ledger, the log or the channel; and growing pauses.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often one sender gets the same reply, and how many replies all senders get per window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    each: Duration,
    all: u32,
}

/// How often unknown senders are answered.
pub(crate) const STRANGER_RATE: Rate = Rate { each: Duration::from_secs(600), all: 10 };
/// How often allowed senders who write too much are answered.
pub(crate) const ALLOWED_SENDER_RATE: Rate = Rate { each: Duration::from_secs(5), all: 100 };
/// How many refusals are recorded one by one per window; the rest is counted.
const MAX_RECORDS_PER_WINDOW: u32 = 30;
const RECORD_WINDOW: Duration = Duration::from_secs(60);
/// How many senders the limiter remembers.
const MAX_REMEMBERED_SENDERS: usize = 1000;

/// Limits the replies to refused senders and the records of refusals. Pure: the caller brings the time.
#[derive(Debug)]
pub(crate) struct StrangerRateLimiter {
    rate: Rate,
    since: Instant,
    answers: u32,
    records: u32,
    uncounted: u64,
    answered: HashMap<String, Instant>,
}

/// What is to be recorded of a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Recorded {
    /// This one by itself.
    pub(crate) this: bool,
    /// How many before it were only counted.
    pub(crate) more: u64,
}

impl StrangerRateLimiter {
    pub(crate) fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, since: now, answers: 0, records: 0, uncounted: 0, answered: HashMap::new() }
    }

    /// Whether this sender may get a reply now.
    pub(crate) fn answer(&mut self, sender: &str, now: Instant) -> bool {
        self.roll(now);
        self.answered.retain(|_, at| now.duration_since(*at) < self.rate.each);
        let may = self.answers < self.rate.all
            && self.answered.len() < MAX_REMEMBERED_SENDERS
            && !self.answered.contains_key(sender);
        if may {
            self.answers += 1;
            self.answered.insert(sender.to_owned(), now);
        }
        may
    }

    /// Counts a refusal and says how to record it.
    pub(crate) fn refuse(&mut self, now: Instant) -> Recorded {
        self.roll(now);
        if self.records < MAX_RECORDS_PER_WINDOW {
            self.records += 1;
            return Recorded { this: true, more: std::mem::take(&mut self.uncounted) };
        }
        self.uncounted += 1;
        Recorded { this: false, more: 0 }
    }

    /// How many were only counted, at the end.
    pub(crate) fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.uncounted)
    }

    fn roll(&mut self, now: Instant) {
        if now.duration_since(self.since) >= RECORD_WINDOW {
            (self.since, self.answers, self.records) = (now, 0, 0);
        }
    }
}

/// Pauses that grow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backoff {
    next: Duration,
    first: Duration,
    cap: Duration,
}

impl Backoff {
    pub(crate) const fn new(first: Duration, cap: Duration) -> Self {
        Self { next: first, first, cap }
    }

    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.cap);
        pause
    }

    pub(crate) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_strangers_is_mostly_counted() {
        let start = Instant::now();
        let mut limiter = StrangerRateLimiter::new(STRANGER_RATE, start);
        let answered = (0..5000).filter(|number| limiter.answer(&format!("s{number}"), start)).count();
        assert_eq!(answered, STRANGER_RATE.all as usize);
        let recorded = (0..5000).filter(|_| limiter.refuse(start).this).count();
        assert_eq!(recorded, MAX_RECORDS_PER_WINDOW as usize);
        let later = start + RECORD_WINDOW;
        assert_eq!(limiter.refuse(later), Recorded { this: true, more: 5000 - u64::from(MAX_RECORDS_PER_WINDOW) });
        assert!(!limiter.answer("s0", later), "answered a minute ago");
        assert!(limiter.answer("new", later));
        assert!(limiter.answer("s0", start + STRANGER_RATE.each));
        assert_eq!(limiter.rest(), 0);
    }

    #[test]
    fn pauses_grow_to_a_limit() {
        let mut backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(5));
        let pauses: Vec<u64> = (0..4).map(|_| backoff.pause().as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 5]);
        backoff.reset();
        assert_eq!(backoff.pause(), Duration::from_secs(1));
    }
}
