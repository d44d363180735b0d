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
    use proptest::prelude::*;

    use super::*;

    /// What happens to a breaker, some seconds after what happened before.
    #[derive(Debug, Clone, Copy)]
    enum Step {
        /// A call asks to be let through.
        Admit,
        /// The oldest call under way ends.
        Worked,
        Failed,
        Abandoned,
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => Just(Step::Admit),
            1 => Just(Step::Worked),
            4 => Just(Step::Failed),
            1 => Just(Step::Abandoned),
            2 => (0..150_u64).prop_map(Step::Wait),
        ]
    }

    proptest! {
        #[test]
        fn no_call_passes_an_open_breaker(steps in proptest::collection::vec(step(), 0..200)) {
            let mut breaker = Breaker::default();
            let mut now = Instant::now();
            let mut under_way = 0_u32;
            let mut refused_until = now;
            for step in steps {
                match step {
                    Step::Wait(seconds) => now += Duration::from_secs(seconds),
                    Step::Admit => match breaker.admit(now) {
                        Ok(()) => {
                            prop_assert!(now >= refused_until, "it said that it stays open for longer");
                            under_way += 1;
                        }
                        Err(wait) => {
                            prop_assert!(!wait.is_zero() && wait <= LONGEST_PAUSE, "{wait:?}");
                            if matches!(breaker.state, State::Open { .. }) {
                                refused_until = now + wait;
                            }
                        }
                    },
                    _ if under_way == 0 => {}
                    Step::Worked | Step::Failed | Step::Abandoned => {
                        under_way -= 1;
                        match step {
                            Step::Worked => breaker.worked(),
                            Step::Failed => breaker.failed(now),
                            _ => breaker.abandoned(),
                        }
                    }
                }
            }
        }

        /// Calls come one at a time, so each outcome belongs to the last call that was let through.
        #[test]
        fn it_opens_after_five_failures_in_a_row_and_never_before(outcomes in proptest::collection::vec(any::<bool>(), 0..100)) {
            let mut breaker = Breaker::default();
            let now = Instant::now();
            let mut in_a_row = 0;
            for works in outcomes {
                prop_assert_eq!(breaker.admit(now).is_ok(), in_a_row < FAILURES_TO_OPEN);
                if in_a_row == FAILURES_TO_OPEN {
                    break;
                }
                if works {
                    breaker.worked();
                    in_a_row = 0;
                } else {
                    breaker.failed(now);
                    in_a_row += 1;
                }
            }
        }

        /// However the probes of a half-open breaker end, the next one waits for the end of the one before.
        #[test]
        fn one_probe_at_a_time(works in any::<bool>(), tries in 1..20_usize) {
            let mut breaker = Breaker::default();
            let mut now = Instant::now();
            (0..FAILURES_TO_OPEN).for_each(|_| breaker.failed(now));
            now += LONGEST_PAUSE;
            prop_assert_eq!(breaker.admit(now), Ok(()));
            for _ in 0..tries {
                prop_assert!(breaker.admit(now).is_err());
            }
            if works { breaker.worked() } else { breaker.abandoned() }
            prop_assert_eq!(breaker.admit(now), Ok(()));
            prop_assert!(breaker.admit(now).is_err());
        }
    }

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
