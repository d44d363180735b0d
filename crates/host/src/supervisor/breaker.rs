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
    round: Round,
}

/// Which calls an outcome speaks for. A new round begins when the breaker opens, closes or forgets; the outcomes of calls
/// from earlier rounds do not count, so a late one is not taken for the end of a probe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Round(u64);

#[derive(Debug)]
enum State {
    Closed { failures: u32 },
    Open { until: Instant },
    HalfOpen { successes: u32, probing: bool },
}

impl Default for Breaker {
    fn default() -> Self {
        Self { state: State::Closed { failures: 0 }, pause: FIRST_PAUSE, round: Round::default() }
    }
}

impl Breaker {
    /// Admits a call to the round that runs, or says how long it stays open. While half open, one call at a time is let
    /// through to try.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<Round, Duration> {
        match &mut self.state {
            State::Closed { .. } => Ok(self.round),
            State::Open { until } if now < *until => Err(until.duration_since(now)),
            State::Open { .. } => {
                self.state = State::HalfOpen { successes: 0, probing: true };
                Ok(self.round)
            }
            State::HalfOpen { probing, .. } if *probing => Err(Duration::from_secs(1)),
            State::HalfOpen { probing, .. } => {
                *probing = true;
                Ok(self.round)
            }
        }
    }

    /// The transport worked for a call of that round, whatever the tool said.
    pub(crate) fn worked(&mut self, round: Round) {
        match &mut self.state {
            _ if round != self.round => {}
            State::Closed { failures } => *failures = 0,
            State::HalfOpen { successes, probing } => {
                *successes += 1;
                *probing = false;
                if *successes >= SUCCESSES_TO_CLOSE {
                    self.forget();
                }
            }
            State::Open { .. } => {}
        }
    }

    /// The transport failed for a call of that round.
    pub(crate) fn failed(&mut self, round: Round, now: Instant) {
        match &mut self.state {
            _ if round != self.round => {}
            State::Closed { failures } => {
                *failures += 1;
                if *failures >= FAILURES_TO_OPEN {
                    self.open(now);
                }
            }
            State::HalfOpen { .. } => {
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                self.open(now);
            }
            State::Open { .. } => {}
        }
    }

    fn open(&mut self, now: Instant) {
        self.state = State::Open { until: now + self.pause };
        self.round = self.round.next();
    }

    /// The caller gave up a call of that round: says nothing about the transport.
    pub(crate) fn abandoned(&mut self, round: Round) {
        if let State::HalfOpen { probing, .. } = &mut self.state
            && round == self.round
        {
            *probing = false;
        }
    }

    /// A fresh instance starts with a clean record.
    pub(crate) fn forget(&mut self) {
        *self = Self { round: self.round.next(), ..Self::default() };
    }
}

impl Round {
    fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests;
