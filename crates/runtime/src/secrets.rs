//! Values that must not be shown. Whoever writes something down asks for them each time: more may be learnt while it runs.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

/// What logs, errors and evidence are kept free of. A handle: all that were cloned from one know the same values.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Arc<RwLock<Arc<Vec<String>>>>,
}

impl Secrets {
    /// The least that a value has of characters: a shorter one is part of ordinary words.
    pub const SHORTEST: usize = 8;

    /// These values and no others.
    pub fn of(values: Vec<String>) -> Self {
        Self { values: Arc::new(RwLock::new(Arc::new(sorted(values)))) }
    }

    /// All that are known now, longest first.
    pub fn now(&self) -> Arc<Vec<String>> {
        Arc::clone(&self.values.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds what was learnt since; what is too short to be told from a word is left out. Lines of a value that has several
    /// count each by itself, because logs have lines.
    pub fn learn<'a>(&self, more: impl IntoIterator<Item = &'a str>) {
        let known = self.now();
        let parts = more.into_iter().flat_map(|value| std::iter::once(value).chain(value.lines().map(str::trim)));
        let fresh: Vec<String> = parts
            .filter(|value| value.chars().count() >= Self::SHORTEST && !known.iter().any(|known| known == value))
            .map(str::to_owned)
            .collect();
        if fresh.is_empty() {
            return;
        }
        let mut values = self.values.write().unwrap_or_else(PoisonError::into_inner);
        *values = Arc::new(sorted(values.iter().cloned().chain(fresh).collect()));
    }
}

/// Longest first, so that one that is part of another does not leave the rest of it.
fn sorted(mut values: Vec<String>) -> Vec<String> {
    values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    values.dedup();
    values
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.now().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_handles_learn_and_none_shows_what() {
        let one = Secrets::of(vec!["hunter2hunter2".to_owned()]);
        let other = one.clone();
        other.learn(["short", "hunter2hunter2", "begin-of-key\n  end-of-the-key"]);
        let known = one.now();
        assert_eq!(
            known.iter().map(String::as_str).collect::<Vec<_>>(),
            ["begin-of-key\n  end-of-the-key", "end-of-the-key", "hunter2hunter2", "begin-of-key"]
        );
        assert_eq!(format!("{one:?}"), "Secrets(4)");
    }
}
