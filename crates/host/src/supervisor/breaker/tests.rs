//! The breaker under runs of outcomes, also of calls that end late.

use proptest::prelude::*;

use super::*;

impl Breaker {
    /// One call that is let through and fails.
    pub(in crate::supervisor) fn fails_once(&mut self, now: Instant) {
        let round = self.admit(now).expect("not open");
        self.failed(round, now);
    }

    fn works_once(&mut self, now: Instant) {
        let round = self.admit(now).expect("not open");
        self.worked(round);
    }

    fn opened(now: Instant) -> Self {
        let mut breaker = Self::default();
        (0..FAILURES_TO_OPEN).for_each(|_| breaker.fails_once(now));
        breaker
    }
}

#[test]
fn opens_after_five_in_a_row_and_closes_after_two_probes() {
    let mut breaker = Breaker::default();
    let now = Instant::now();
    (0..4).for_each(|_| breaker.fails_once(now));
    breaker.works_once(now);
    (0..5).for_each(|_| breaker.fails_once(now));
    assert_eq!(breaker.admit(now), Err(Duration::from_secs(10)), "a success in between starts the count anew");
    let later = now + Duration::from_secs(10);
    let probe = breaker.admit(later).expect("a probe");
    assert!(breaker.admit(later).is_err(), "one probe at a time");
    breaker.worked(probe);
    breaker.works_once(later);
    assert!(breaker.admit(later).is_ok() && breaker.admit(later).is_ok(), "closed again");
}

#[test]
fn a_failed_probe_doubles_the_pause_up_to_two_minutes() {
    let mut now = Instant::now();
    let mut breaker = Breaker::opened(now);
    let mut pauses = Vec::new();
    for _ in 0..5 {
        let pause = breaker.admit(now).expect_err("open");
        pauses.push(pause.as_secs());
        now += pause;
        breaker.fails_once(now);
    }
    assert_eq!(pauses, [10, 20, 40, 80, 120]);
}

#[test]
fn an_abandoned_probe_lets_the_next_one_try() {
    let now = Instant::now();
    let mut breaker = Breaker::opened(now);
    let later = now + Duration::from_secs(10);
    let probe = breaker.admit(later).expect("a probe");
    breaker.abandoned(probe);
    assert!(breaker.admit(later).is_ok());
}

#[test]
fn a_call_from_before_a_restart_says_nothing_about_the_new_instance() {
    let mut breaker = Breaker::default();
    let now = Instant::now();
    let old: Vec<Round> = (0..5).map(|_| breaker.admit(now).expect("closed")).collect();
    breaker.forget();
    old.into_iter().for_each(|round| breaker.failed(round, now));
    assert!(breaker.admit(now).is_ok());
}

/// What happens to a breaker.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A call asks to be let through.
    Admit,
    /// One of the calls under way ends so.
    Ends(Outcome, usize),
    /// Seconds pass.
    Wait(u64),
}

#[derive(Debug, Clone, Copy)]
enum Outcome {
    Worked,
    Failed,
    Abandoned,
}

fn step() -> impl Strategy<Value = Step> {
    let outcome = prop_oneof![1 => Just(Outcome::Worked), 4 => Just(Outcome::Failed), 1 => Just(Outcome::Abandoned)];
    prop_oneof![
        3 => Just(Step::Admit),
        3 => (outcome, any::<usize>()).prop_map(|(outcome, which)| Step::Ends(outcome, which)),
        1 => (0..150_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Calls end in any order, some long after the breaker has opened.
    #[test]
    fn an_open_breaker_admits_no_call_and_a_half_open_one_a_single_probe(
        steps in proptest::collection::vec(step(), 0..300),
    ) {
        let mut breaker = Breaker::default();
        let mut now = Instant::now();
        let mut under_way: Vec<(Round, bool)> = Vec::new();
        for step in steps {
            match step {
                Step::Wait(seconds) => now += Duration::from_secs(seconds),
                Step::Admit => {
                    let open_until = match breaker.state {
                        State::Open { until } => Some(until),
                        State::Closed { .. } | State::HalfOpen { .. } => None,
                    };
                    let probes = under_way.iter().filter(|(round, probe)| *probe && *round == breaker.round).count();
                    match breaker.admit(now) {
                        Ok(round) => {
                            prop_assert!(open_until.is_none_or(|until| now >= until), "it is open");
                            let probe = matches!(breaker.state, State::HalfOpen { .. });
                            prop_assert!(!probe || probes == 0, "one probe at a time");
                            under_way.push((round, probe));
                        }
                        Err(wait) => prop_assert!(!wait.is_zero() && wait <= LONGEST_PAUSE, "{wait:?}"),
                    }
                }
                Step::Ends(..) if under_way.is_empty() => {}
                Step::Ends(outcome, which) => {
                    let (round, _) = under_way.swap_remove(which % under_way.len());
                    match outcome {
                        Outcome::Worked => breaker.worked(round),
                        Outcome::Failed => breaker.failed(round, now),
                        Outcome::Abandoned => breaker.abandoned(round),
                    }
                }
            }
        }
    }

    #[test]
    fn it_opens_after_five_failures_in_a_row_and_never_before(
        outcomes in proptest::collection::vec(any::<bool>(), 0..100),
    ) {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        let mut in_a_row = 0;
        for works in outcomes {
            let admitted = breaker.admit(now);
            prop_assert_eq!(admitted.is_ok(), in_a_row < FAILURES_TO_OPEN);
            let Ok(round) = admitted else { break };
            if works {
                breaker.worked(round);
                in_a_row = 0;
            } else {
                breaker.failed(round, now);
                in_a_row += 1;
            }
        }
    }
}
