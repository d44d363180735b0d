//! What extensions say to faces: made plain, and held to a rate so that a flood of one extension hides no other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, ExtensionId, Notice, NoticeLevel, Panel, plain_text, redact_text, redact_value};

use crate::event_bus::Emits;
use crate::host::{HostEvent, Inner};

/// Notices per extension and window; what is more is counted and reported once the window is over.
const NOTICES_PER_WINDOW: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);
/// The longest text of a notice, in characters.
const LONGEST_TEXT: usize = 16_384;
/// The most that the texts of a notice may take together, in bytes.
const LARGEST_NOTICE: usize = 64 * 1024;
/// The longest id of a panel, in characters.
const LONGEST_ID: usize = 256;

/// Counts what each extension says.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    counts: Mutex<HashMap<ExtensionId, Count>>,
    /// What extensions say to one another is counted apart.
    pub(crate) emits: Emits,
}

#[derive(Debug)]
struct Count {
    since: Instant,
    said: u32,
    dropped: u64,
}

/// What becomes of a notice.
#[derive(Debug, PartialEq)]
pub(crate) struct Admitted {
    /// What may be passed on: the notice, nothing, or also a note that others were dropped.
    pub(crate) passed: Vec<Notice>,
    /// This one is the first to be dropped in its window: someone must come back for the count.
    pub(crate) began_dropping: bool,
}

impl Flood {
    /// Decides on a notice.
    pub(crate) fn admit(&self, extension: &ExtensionId, notice: Notice, now: Instant) -> Admitted {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(extension.clone()).or_insert_with(|| Count { since: now, said: 0, dropped: 0 });
        let mut out = Vec::new();
        if now.duration_since(count.since) >= WINDOW {
            out.extend(count.report());
            *count = Count { since: now, said: 0, dropped: 0 };
        }
        if count.said < NOTICES_PER_WINDOW {
            count.said += 1;
            out.push(notice);
        } else {
            count.dropped += 1;
        }
        Admitted { passed: out, began_dropping: count.dropped == 1 }
    }

    /// How many were dropped since the last word on it, for an extension that has fallen silent.
    pub(crate) fn report(&self, extension: &ExtensionId) -> Option<Notice> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get_mut(extension)?.report()
    }
}

impl Count {
    fn report(&mut self) -> Option<Notice> {
        let dropped = std::mem::take(&mut self.dropped);
        let message = format!("{dropped} notices of this extension were dropped: too many at once");
        (dropped > 0).then_some(Notice::Notify { level: NoticeLevel::Warn, message })
    }
}

impl Inner {
    /// Passes on what an extension says, made plain and held to a rate.
    pub(crate) fn notice(self: &Arc<Self>, extension: &ExtensionId, notice: Notice) {
        if let Some(peer) = self.peer_of(extension, &notice) {
            peer.tell(&plain(notice.clone(), &self.authority.secrets.now()));
            if matches!(notice, Notice::Mcp { .. }) {
                return;
            }
        }
        let admitted = self.faces.flood.admit(extension, notice, Instant::now());
        for notice in admitted.passed {
            let notice = plain(notice, &self.authority.secrets.now());
            self.publish(HostEvent::Notice { extension: extension.clone(), notice });
        }
        if admitted.began_dropping
            && let Ok(tasks) = tokio::runtime::Handle::try_current()
        {
            // The extension may never speak again, and what was dropped must not stay a secret.
            let (host, extension) = (Arc::downgrade(self), extension.clone());
            tasks.spawn(async move {
                tokio::time::sleep(WINDOW).await;
                if let Some(host) = host.upgrade()
                    && let Some(notice) = host.faces.flood.report(&extension)
                {
                    host.publish(HostEvent::Notice { extension, notice });
                }
            });
        }
    }

    /// Makes what comes from an extension fit to be told: no control sequences, no secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        redact_text(&plain_text(text), &self.authority.secrets.now())
    }

    /// An error quotes extensions, and what they quote may be a secret.
    pub(crate) fn clean_error(&self, mut error: CallError) -> CallError {
        error.message = self.clean(&error.message);
        if let Some(details) = &mut error.details {
            redact_value(details, &self.authority.secrets.now());
        }
        error
    }
}

/// Takes control sequences and secrets out of a notice and bounds its size.
pub(crate) fn plain(notice: Notice, secrets: &[String]) -> Notice {
    let mut room = LARGEST_NOTICE;
    let mut clean = |text: String| {
        let cut: String = text.chars().take(LONGEST_TEXT).collect();
        let mut text = redact_text(&plain_text(&cut), secrets);
        text.truncate(text.floor_char_boundary(room));
        room -= text.len();
        text
    };
    let mut panel = |panel: Panel| {
        let (title, footer) = (clean(panel.title), clean(panel.footer));
        let lines = panel.lines.into_iter().take(1_000).map(&mut clean).collect();
        Panel { id: panel_id(&panel.id), title, lines, footer }
    };
    match notice {
        Notice::Notify { level, message } => Notice::Notify { level, message: clean(message) },
        Notice::Mcp { call_id, method, mut params } => {
            redact_value(&mut params, secrets);
            Notice::Mcp { call_id, method: clean(method), params }
        }
        Notice::Progress { call_id, message } => Notice::Progress { call_id, message: clean(message) },
        Notice::Submit { text } => Notice::Submit { text: clean(text) },
        Notice::SubmitSlash { text } => Notice::SubmitSlash { text: clean(text) },
        Notice::OpenPanel { panel: old } => Notice::OpenPanel { panel: panel(old) },
        Notice::RenderPanel { panel: old } => Notice::RenderPanel { panel: panel(old) },
        Notice::ClosePanel { id } => Notice::ClosePanel { id: panel_id(&id) },
        Notice::SetStatus { key, text } => Notice::SetStatus { key: panel_id(&key), text: text.map(clean) },
        Notice::SetWidget { key, lines, placement } => Notice::SetWidget {
            key: panel_id(&key),
            lines: lines.map(|lines| lines.into_iter().take(1_000).map(clean).collect()),
            placement: placement.as_deref().map(panel_id),
        },
        Notice::SetTitle { title } => Notice::SetTitle { title: panel_id(&title) },
        Notice::SetEditorText { text } => Notice::SetEditorText { text: clean(text) },
        Notice::ClearNotes => notice,
    }
}

/// The id of a panel as faces get it: the same wherever the extension says the same.
fn panel_id(id: &str) -> String {
    let cut: String = id.chars().take(LONGEST_ID).collect();
    plain_text(&cut).replace(['\n', '\t'], " ")
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
        let admitted: Vec<Admitted> = (0..10_000).map(|_| flood.admit(&id, note("x"), now)).collect();
        assert_eq!(admitted.iter().map(|one| one.passed.len()).sum::<usize>(), 100);
        assert_eq!(admitted.iter().filter(|one| one.began_dropping).count(), 1, "one reminder is enough");
        let other = flood.admit(&ExtensionId::from("quiet"), note("y"), now);
        assert_eq!(other.passed, [note("y")], "others are not held back");
        let later = flood.admit(&id, note("z"), now + WINDOW);
        let message = "9900 notices of this extension were dropped: too many at once".to_owned();
        assert_eq!(later.passed, [Notice::Notify { level: NoticeLevel::Warn, message }, note("z")]);
        assert_eq!(flood.report(&id), None, "said once");
    }

    #[test]
    fn the_count_of_one_that_falls_silent_can_be_had() {
        let flood = Flood::default();
        let id = ExtensionId::from("loud");
        let now = Instant::now();
        (0..103).for_each(|_| drop(flood.admit(&id, note("x"), now)));
        let message = "3 notices of this extension were dropped: too many at once".to_owned();
        assert_eq!(flood.report(&id), Some(Notice::Notify { level: NoticeLevel::Warn, message }));
        assert_eq!(flood.report(&id), None);
    }

    #[test]
    fn notices_carry_no_control_sequences_and_no_secrets() {
        let secrets = vec!["hunter2hunter2".to_owned()];
        assert_eq!(plain(note("\u{1b}[31mpw hunter2hunter2"), &secrets), note("pw [REDACTED]"));
    }

    #[test]
    fn a_notice_as_a_whole_is_bounded() {
        let lines = vec!["é".repeat(1_000); 1_000];
        let panel = Panel { id: "\u{1b}[2Jp".repeat(300), title: "t".into(), lines, footer: "f".into() };
        let Notice::OpenPanel { panel } = plain(Notice::OpenPanel { panel }, &[]) else { panic!("a panel") };
        let texts = panel.lines.iter().chain([&panel.title, &panel.footer]);
        let total: usize = texts.map(String::len).sum();
        assert!((LARGEST_NOTICE - 1..=LARGEST_NOTICE).contains(&total), "{total}");
        assert_eq!((panel.title.as_str(), panel.footer.as_str()), ("t", "f"), "lines give way first");
        assert!(panel.id.chars().all(|c| c == 'p') && panel.id.len() <= LONGEST_ID, "{}", panel.id);
        let close = plain(Notice::ClosePanel { id: "\u{1b}[2Jp".repeat(300) }, &[]);
        assert_eq!(close, Notice::ClosePanel { id: panel.id }, "the same id names the same panel");
    }
}
