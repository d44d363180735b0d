//! What extensions say to faces: made plain, and held to a rate so that a flood drowns nobody.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{ExtensionId, Notice, NoticeLevel, Panel, plain_text, redact_text};

/// Notices per extension and window; what is more is counted and reported once the window is over.
const PER_WINDOW: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// The longest text of a notice, in characters.
const LONGEST: usize = 16_384;

/// Counts what each extension says.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    counts: Mutex<HashMap<ExtensionId, Count>>,
}

#[derive(Debug)]
struct Count {
    since: Instant,
    said: u32,
    dropped: u64,
}

impl Flood {
    /// What may be passed on: the notice, nothing, or also a note that others were dropped.
    pub(crate) fn admit(&self, extension: &ExtensionId, notice: Notice, now: Instant) -> Vec<Notice> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(extension.clone()).or_insert_with(|| Count { since: now, said: 0, dropped: 0 });
        let mut out = Vec::new();
        if now.duration_since(count.since) >= WINDOW {
            if count.dropped > 0 {
                let message = format!("{} notices of this extension were dropped: too many at once", count.dropped);
                out.push(Notice::Notify { level: NoticeLevel::Warn, message });
            }
            *count = Count { since: now, said: 0, dropped: 0 };
        }
        if count.said < PER_WINDOW {
            count.said += 1;
            out.push(notice);
        } else {
            count.dropped += 1;
        }
        out
    }
}

/// Takes control sequences and secrets out of a notice and bounds its length.
pub(crate) fn plain(notice: Notice, secrets: &[String]) -> Notice {
    let clean = |text: String| {
        let cut: String = text.chars().take(LONGEST).collect();
        redact_text(&plain_text(&cut), secrets)
    };
    let panel = |panel: Panel| Panel {
        id: panel.id,
        title: clean(panel.title),
        lines: panel.lines.into_iter().take(1_000).map(clean).collect(),
        footer: clean(panel.footer),
    };
    match notice {
        Notice::Notify { level, message } => Notice::Notify { level, message: clean(message) },
        Notice::Progress { call_id, message } => Notice::Progress { call_id, message: clean(message) },
        Notice::Submit { text } => Notice::Submit { text: clean(text) },
        Notice::SubmitSlash { text } => Notice::SubmitSlash { text: clean(text) },
        Notice::OpenPanel { panel: old } => Notice::OpenPanel { panel: panel(old) },
        Notice::RenderPanel { panel: old } => Notice::RenderPanel { panel: panel(old) },
        Notice::ClearNotes | Notice::ClosePanel { .. } => notice,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(message: &str) -> Notice {
        Notice::Notify { level: NoticeLevel::Info, message: message.to_owned() }
    }

    #[test]
    fn a_flood_is_cut_and_counted() {
        let flood = Flood::default();
        let id = ExtensionId::from("loud");
        let now = Instant::now();
        let passed: usize = (0..10_000).map(|_| flood.admit(&id, note("x"), now).len()).sum();
        assert_eq!(passed, 100);
        let other = flood.admit(&ExtensionId::from("quiet"), note("y"), now);
        assert_eq!(other, [note("y")], "others are not held back");
        let later = flood.admit(&id, note("z"), now + WINDOW);
        let message = "9900 notices of this extension were dropped: too many at once".to_owned();
        assert_eq!(later, [Notice::Notify { level: NoticeLevel::Warn, message }, note("z")]);
    }

    #[test]
    fn notices_carry_no_control_sequences_and_no_secrets() {
        let secrets = vec!["hunter2hunter2".to_owned()];
        assert_eq!(plain(note("\u{1b}[31mpw hunter2hunter2"), &secrets), note("pw [REDACTED]"));
    }
}
