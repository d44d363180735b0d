//! How often and how fast a dead extension is started again. Pure: the caller brings the time.

use std::time::{Duration, Instant};

/// The numbers of the restart rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RestartRule {
    /// How many restarts there are before it is left alone.
    pub(crate) max_attempts: u32,
    /// Deaths further apart than this start a new count.
    pub(crate) window: Duration,
    /// The pause before the first restart; it doubles with each.
    pub(crate) base: Duration,
    /// The longest pause.
    pub(crate) cap: Duration,
}

impl Default for RestartRule {
    fn default() -> Self {
        Self {
            max_attempts: 5,
            window: Duration::from_secs(300),
            base: Duration::from_secs(1),
            cap: Duration::from_secs(16),
        }
    }
}

/// What to do after a death.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterDeath {
    /// Start again after a pause.
    Restart { attempt: u32, after: Duration },
    /// It died too often: leave it.
    GiveUp { attempts: u32 },
}

/// Counts restarts within the window.
#[derive(Debug)]
pub(crate) struct RestartCount {
    rule: RestartRule,
    attempts: u32,
    last: Option<Instant>,
}

impl RestartCount {
    /// None so far.
    pub(crate) fn of(rule: RestartRule) -> Self {
        Self { rule, attempts: 0, last: None }
    }

    /// Notes a death at `now` and says what to do. Deaths further apart than the window start a new count.
    pub(crate) fn died(&mut self, now: Instant) -> AfterDeath {
        if self.last.is_some_and(|last| now.duration_since(last) > self.rule.window) {
            self.attempts = 0;
        }
        self.last = Some(now);
        if self.attempts >= self.rule.max_attempts {
            return AfterDeath::GiveUp { attempts: self.attempts };
        }
        self.attempts += 1;
        let after = self.rule.base.saturating_mul(1 << (self.attempts - 1).min(16)).min(self.rule.cap);
        AfterDeath::Restart { attempt: self.attempts, after }
    }

    /// A person asked for a fresh start.
    pub(crate) fn forget(&mut self) {
        self.attempts = 0;
        self.last = None;
    }
}

/// Whether an extension may be reloaded because its files changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reloads {
    Fine,
    /// This one is the first too many.
    JustTooMany,
    TooMany,
}

/// Reloads that file changes caused, within a minute.
#[derive(Debug, Default)]
pub(crate) struct ReloadCount {
    times: Vec<Instant>,
}

impl ReloadCount {
    const WINDOW: Duration = Duration::from_secs(60);
    const MOST: usize = 20;

    /// Notes a reload at `now`; true if there were many lately.
    pub(crate) fn is_hurried(&mut self, now: Instant) -> bool {
        self.times.retain(|time| now.duration_since(*time) < Self::WINDOW);
        if self.times.len() <= Self::MOST {
            self.times.push(now);
        }
        self.times.len() > Self::MOST
    }

    pub(crate) fn count(&mut self, now: Instant) -> Reloads {
        self.times.retain(|time| now.duration_since(*time) < Self::WINDOW);
        let so_far = self.times.len();
        if so_far <= Self::MOST {
            self.times.push(now);
        }
        match so_far {
            n if n < Self::MOST => Reloads::Fine,
            n if n == Self::MOST => Reloads::JustTooMany,
            _ => Reloads::TooMany,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Moments in order, some seconds apart.
    fn moments() -> impl Strategy<Value = Vec<Instant>> {
        let start = Instant::now();
        let gap = prop_oneof![4 => 0..4_u64, 1 => 0..200_u64];
        proptest::collection::vec(gap, 0..100).prop_map(move |gaps| {
            let seconds = gaps.into_iter().scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            });
            seconds.map(|seconds| start + Duration::from_secs(seconds)).collect()
        })
    }

    proptest! {
        #[test]
        fn no_window_has_more_restarts_than_the_rule(
            deaths in moments(),
            max_attempts in 0..8_u32,
            window in 0..400_u64,
            base in 0..40_u64,
        ) {
            let window = Duration::from_secs(window);
            let cap = Duration::from_secs(16);
            let rule = RestartRule { max_attempts, window, base: Duration::from_secs(base), cap };
            let mut count = RestartCount::of(rule);
            let mut restarts: Vec<Instant> = Vec::new();
            for moment in deaths {
                match count.died(moment) {
                    AfterDeath::Restart { attempt, after } => {
                        prop_assert!((1..=max_attempts).contains(&attempt) && after <= cap);
                        restarts.push(moment);
                    }
                    AfterDeath::GiveUp { attempts } => prop_assert_eq!(attempts, max_attempts),
                }
                let lately = restarts.iter().filter(|time| moment.duration_since(**time) <= window).count();
                prop_assert!(lately <= max_attempts as usize, "{lately} restarts within {window:?}");
            }
        }

        #[test]
        fn no_minute_has_more_reloads_than_the_most(changes in moments()) {
            let mut count = ReloadCount::default();
            let mut reloads: Vec<Instant> = Vec::new();
            for moment in changes {
                if count.count(moment) == Reloads::Fine {
                    reloads.push(moment);
                }
                let lately = reloads.iter().filter(|time| moment.duration_since(**time) < ReloadCount::WINDOW).count();
                prop_assert!(lately <= ReloadCount::MOST, "{lately} reloads");
            }
        }
    }

    #[test]
    fn doubles_up_to_the_cap_then_gives_up() {
        let mut count = RestartCount::of(RestartRule::default());
        let now = Instant::now();
        let pauses: Vec<_> = (0..6).map(|_| count.died(now)).collect();
        let restart = |attempt, secs| AfterDeath::Restart { attempt, after: Duration::from_secs(secs) };
        assert_eq!(
            pauses,
            [
                restart(1, 1),
                restart(2, 2),
                restart(3, 4),
                restart(4, 8),
                restart(5, 16),
                AfterDeath::GiveUp { attempts: 5 }
            ]
        );
    }

    #[test]
    fn a_quiet_window_starts_a_new_count() {
        let mut count = RestartCount::of(RestartRule::default());
        let start = Instant::now();
        for _ in 0..5 {
            count.died(start);
        }
        let later = start + Duration::from_secs(301);
        assert_eq!(count.died(later), AfterDeath::Restart { attempt: 1, after: Duration::from_secs(1) });
    }

    #[test]
    fn reloads_are_counted_within_a_minute() {
        let mut count = ReloadCount::default();
        let start = Instant::now();
        assert!((0..20).all(|_| count.count(start) == Reloads::Fine));
        assert_eq!((count.count(start), count.count(start)), (Reloads::JustTooMany, Reloads::TooMany));
        assert_eq!(count.count(start + Duration::from_secs(60)), Reloads::Fine);
    }
}
