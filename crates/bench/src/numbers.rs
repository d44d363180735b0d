//! Samples and how they are shown.

use std::time::Duration;

/// Durations of one kind.
#[derive(Default)]
pub(crate) struct Samples {
    all: Vec<Duration>,
}

impl Samples {
    pub(crate) const fn new() -> Self {
        Self { all: Vec::new() }
    }

    pub(crate) fn add(&mut self, sample: Duration) {
        self.all.push(sample);
    }

    /// The value that `share` of the samples do not exceed.
    pub(crate) fn percentile(&self, share: f64) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let index = ((last as f64) * share).round() as usize;
        sorted.get(index).copied().unwrap_or_default()
    }

    /// `p50 12.3 µs  p95 20.1 µs  (5000)`.
    pub(crate) fn line(&self) -> String {
        format!(
            "p50 {:>9}  p95 {:>9}  ({} samples)",
            show(self.percentile(0.5)),
            show(self.percentile(0.95)),
            self.all.len()
        )
    }
}

/// A duration in the unit that fits.
pub(crate) fn show(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 1_000.0 { format!("{micros:.1} µs") } else { format!("{:.2} ms", micros / 1_000.0) }
}

/// `a` over `b`.
pub(crate) fn ratio(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64().max(f64::MIN_POSITIVE)
}
