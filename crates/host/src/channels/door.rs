//! Strangers at the door: what they get, and how much of it. They must not be able to fill the ledger, the log or the
//! channel itself.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How often somebody is told the same, and how many answers to all of them go out per window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    each: Duration,
    all: u32,
}

/// For those who are not known.
pub(super) const STRANGERS: Rate = Rate { each: Duration::from_secs(600), all: 10 };
/// For those who may speak and say too much.
pub(super) const KNOWN: Rate = Rate { each: Duration::from_secs(5), all: 100 };
/// How many refusals are recorded one by one per window; the rest is counted.
const RECORDS: u32 = 30;
const WINDOW: Duration = Duration::from_secs(60);
/// How many strangers are remembered.
const MOST: usize = 1000;

/// Holds strangers to a rate. Pure: the caller brings the time.
#[derive(Debug)]
pub(super) struct Door {
    rate: Rate,
    since: Instant,
    answers: u32,
    records: u32,
    uncounted: u64,
    answered: HashMap<String, Instant>,
}

/// What is to be recorded of a refusal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recorded {
    /// This one by itself.
    pub(super) this: bool,
    /// How many before it were only counted.
    pub(super) more: u64,
}

impl Door {
    pub(super) fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, since: now, answers: 0, records: 0, uncounted: 0, answered: HashMap::new() }
    }

    /// Whether somebody may be answered now.
    pub(super) fn answer(&mut self, sender: &str, now: Instant) -> bool {
        self.roll(now);
        self.answered.retain(|_, at| now.duration_since(*at) < self.rate.each);
        let may = self.answers < self.rate.all && self.answered.len() < MOST && !self.answered.contains_key(sender);
        if may {
            self.answers += 1;
            self.answered.insert(sender.to_owned(), now);
        }
        may
    }

    /// Somebody is refused.
    pub(super) fn refuse(&mut self, now: Instant) -> Recorded {
        self.roll(now);
        if self.records < RECORDS {
            self.records += 1;
            return Recorded { this: true, more: std::mem::take(&mut self.uncounted) };
        }
        self.uncounted += 1;
        Recorded { this: false, more: 0 }
    }

    /// How many were only counted, at the end.
    pub(super) fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.uncounted)
    }

    fn roll(&mut self, now: Instant) {
        if now.duration_since(self.since) >= WINDOW {
            (self.since, self.answers, self.records) = (now, 0, 0);
        }
    }
}

/// Pauses that grow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backoff {
    next: Duration,
    first: Duration,
    cap: Duration,
}

impl Backoff {
    pub(super) const fn new(first: Duration, cap: Duration) -> Self {
        Self { next: first, first, cap }
    }

    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.cap);
        pause
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_strangers_is_mostly_counted() {
        let start = Instant::now();
        let mut door = Door::new(STRANGERS, start);
        let answered = (0..5000).filter(|number| door.answer(&format!("s{number}"), start)).count();
        assert_eq!(answered, STRANGERS.all as usize);
        let recorded = (0..5000).filter(|_| door.refuse(start).this).count();
        assert_eq!(recorded, RECORDS as usize);
        let later = start + WINDOW;
        assert_eq!(door.refuse(later), Recorded { this: true, more: 5000 - u64::from(RECORDS) });
        assert!(!door.answer("s0", later), "answered a minute ago");
        assert!(door.answer("new", later));
        assert!(door.answer("s0", start + STRANGERS.each));
        assert_eq!(door.rest(), 0);
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
