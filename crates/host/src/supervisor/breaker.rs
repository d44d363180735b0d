//! The circuit breaker of one extension: after a run of transport failures, calls fail at once for a while. Pure: the
//! caller brings the time. Errors that a tool answers never count.

use std::time::{Duration, Instant};

const FAILURES_TO_OPEN: u32 = 5;
const SUCCESSES_TO_CLOSE: u32 = 2;
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Lets calls through, or says for how long not.
#[derive(Debug)]
pub(crate) struct Breaker {
    state: State,
    pause: Duration,
}

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { successes: u32, probing: bool },
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed { failures: 0 }, pause: FIRST_PAUSE }
    }
}

impl Breaker {
    /// Admits a call, or says how long it stays open. While half open, one call at a time is let through to try.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match &mut self.state {
            State::Closed { .. } => Ok(()),
            State::Open { until } if now < *until => Err(until.duration_since(now)),
            State::Open { .. } => {
                self.state = State::HalfOpen { successes: 0, probing: true };
                Ok(())
            }
            State::HalfOpen { probing, .. } if *probing => Err(Duration::from_secs(1)),
            State::HalfOpen { probing, .. } => {
                *probing = true;
                Ok(())
            }
        }
    }

    /// The transport worked, whatever the tool said.
    pub(crate) fn worked(&mut self) {
        match &mut self.state {
            State::Closed { failures } => *failures = 0,
            State::HalfOpen { successes, probing } => {
                *successes += 1;
                *probing = false;
                if *successes >= SUCCESSES_TO_CLOSE {
                    *self = Self::default();
                }
            }
            State::Open { .. } => {}
        }
    }

    /// The transport failed.
    pub(crate) fn failed(&mut self, now: Instant) {
        match &mut self.state {
            State::Closed { failures } => {
                *failures += 1;
                if *failures >= FAILURES_TO_OPEN {
                    self.state = State::Open { until: now + self.pause };
                }
            }
            State::HalfOpen { .. } => {
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.state = State::Open { until: now + self.pause };
            }
            State::Open { .. } => {}
        }
    }

    /// The caller gave up: says nothing about the transport.
    pub(crate) fn abandoned(&mut self) {
        if let State::HalfOpen { probing, .. } = &mut self.state {
            *probing = false;
        }
    }

    /// A fresh instance starts with a clean record.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_after_five_in_a_row_and_closes_after_two_probes() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        for _ in 0..4 {
            breaker.failed(now);
        }
        breaker.worked();
        for _ in 0..4 {
            breaker.failed(now);
        }
        assert_eq!(breaker.admit(now), Ok(()), "a success in between starts the count anew");
        breaker.failed(now);
        assert_eq!(breaker.admit(now), Err(Duration::from_secs(10)));
        let later = now + Duration::from_secs(10);
        assert_eq!(breaker.admit(later), Ok(()));
        assert!(breaker.admit(later).is_err(), "one probe at a time");
        breaker.worked();
        assert_eq!(breaker.admit(later), Ok(()));
        breaker.worked();
        assert_eq!((breaker.admit(later), breaker.admit(later)), (Ok(()), Ok(())), "closed again");
    }

    #[test]
    fn a_failed_probe_doubles_the_pause_up_to_two_minutes() {
        let mut breaker = Breaker::default();
        let mut now = Instant::now();
        (0..5).for_each(|_| breaker.failed(now));
        let mut pauses = Vec::new();
        for _ in 0..5 {
            let pause = breaker.admit(now).expect_err("open");
            pauses.push(pause.as_secs());
            now += pause;
            breaker.admit(now).expect("a probe");
            breaker.failed(now);
        }
        assert_eq!(pauses, [10, 20, 40, 80, 120]);
    }

    #[test]
    fn an_abandoned_probe_lets_the_next_one_try() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        (0..5).for_each(|_| breaker.failed(now));
        let later = now + Duration::from_secs(10);
        breaker.admit(later).expect("a probe");
        breaker.abandoned();
        assert_eq!(breaker.admit(later), Ok(()));
    }
}
