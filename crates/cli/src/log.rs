//! `JACKFIELD_LOG` and `--verbose`: says on stderr what is done. Off by default, and never on stdout.
//!
//! Only jackfield's own crates are heard. Libraries below may log headers and bodies, and secrets with them.

use std::io;

use jackfield_protocol::plain_text;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::output::note;

/// All crates of jackfield begin with it.
const OURS: &str = "jackfield";

/// Starts logging, if it is wanted.
pub(crate) fn start(verbose: bool) {
    let wanted = std::env::var("JACKFIELD_LOG").unwrap_or_default();
    let (targets, refused) = match wanted.trim() {
        "" if verbose => directives("debug"),
        "" => return,
        wanted => directives(wanted),
    };
    for part in refused {
        note!(
            "warn: JACKFIELD_LOG: {:?} was ignored; say LEVEL or jackfield_CRATE=LEVEL, with off, error, warn, info, debug or trace",
            plain_text(&part)
        );
    }
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| Notes);
    // A second start in one process keeps the first.
    tracing_subscriber::registry().with(layer).with(targets).try_init().ok();
}

/// What is heard, and the parts that were not understood.
fn directives(text: &str) -> (Targets, Vec<String>) {
    let mut refused = Vec::new();
    let mut targets = Targets::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (target, level) = part.split_once('=').unwrap_or((OURS, part));
        match level.trim().parse::<LevelFilter>() {
            Ok(level) if target.starts_with(OURS) => targets = targets.with_target(target.trim(), level),
            _ => refused.push(part.to_owned()),
        }
    }
    (targets, refused)
}

/// Stderr as the rest of the program uses it: lines are held back while a question is open.
struct Notes;

impl io::Write for Notes {
    /// The layer writes an event at once.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        note!("{}", plain_text(String::from_utf8_lossy(bytes).trim_end_matches('\n')));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracing::Level;

    use super::*;

    #[test]
    fn only_our_own_crates_are_heard() {
        let (targets, refused) = directives("info, jackfield_mcp=trace,hyper=trace,loud,");
        assert_eq!(refused, ["hyper=trace", "loud"]);
        assert!(targets.would_enable("jackfield::verbs", &Level::INFO));
        assert!(!targets.would_enable("jackfield_host", &Level::DEBUG));
        assert!(targets.would_enable("jackfield_mcp::oauth", &Level::TRACE));
        assert!(!targets.would_enable("hyper", &Level::ERROR));
        assert!(!directives("off").0.would_enable("jackfield", &Level::ERROR));
    }
}
