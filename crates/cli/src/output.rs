//! How answers look: JSON on one line, or plain columns.

use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_gateway::forms::terminal_safe;
use jackfield_protocol::plain_text;
use serde::Serialize;

/// As `eprintln!`, but a reader of stderr that has gone ends nothing.
macro_rules! note {
    ($($what:tt)*) => {
        $crate::output::say(format_args!($($what)*))
    };
}
pub(crate) use note;

/// Prints a line to stderr; one that nobody reads is lost. While a question is open it is held back: what an extension
/// says must not stand where the person looks for the question.
pub(crate) fn say(what: std::fmt::Arguments<'_>) {
    let mut screen = screen();
    if screen.questions > 0 {
        screen.hold(what.to_string());
    } else {
        writeln!(std::io::stderr().lock(), "{what}").ok();
    }
}

/// The most that is held back while a question is open, in lines and bytes.
const HELD_LINES: usize = 1000;
const HELD_BYTES: usize = 1024 * 1024;

/// What is held back while somebody is being asked.
#[derive(Default)]
struct Screen {
    questions: usize,
    held: Vec<String>,
    bytes: usize,
    dropped: usize,
}

impl Screen {
    fn hold(&mut self, line: String) {
        if self.held.len() >= HELD_LINES || self.bytes + line.len() > HELD_BYTES {
            self.dropped += 1;
        } else {
            self.bytes += line.len();
            self.held.push(line);
        }
    }

    /// A question is over; what may be printed now.
    fn release(&mut self) -> Vec<String> {
        self.questions = self.questions.saturating_sub(1);
        if self.questions > 0 {
            return Vec::new();
        }
        let Self { mut held, dropped, .. } = std::mem::take(self);
        if dropped > 0 {
            held.push(format!("({dropped} more were dropped while the question was open)"));
        }
        held
    }
}

/// The program has one terminal.
static SCREEN: Mutex<Screen> = Mutex::new(Screen { questions: 0, held: Vec::new(), bytes: 0, dropped: 0 });

fn screen() -> MutexGuard<'static, Screen> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps the terminal for a question until it is dropped.
pub(crate) struct Hold(());

/// Holds back what is said on stderr.
pub(crate) fn hold() -> Hold {
    screen().questions += 1;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut screen = screen();
        let mut err = std::io::stderr().lock();
        for line in screen.release() {
            writeln!(err, "{line}").ok();
        }
    }
}

/// What an extension says, with its name before each line: no line can pass for one of the host.
pub(crate) fn said_by(extension: &str, text: &str) -> String {
    let text = plain_text(text);
    let lines = text.split(['\n', '\u{2028}', '\u{2029}']).map(|line| format!("[{extension}] {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Prints one JSON value on a line of its own.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&terminal_safe(serde_json::to_string(value)?))
}

/// Prints a line; a reader that has gone is not an error worth telling.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}") {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}

/// Prints what an extension said, without control sequences.
pub(crate) fn plain(text: &str) -> anyhow::Result<()> {
    line(&plain_text(text))
}

/// Prints rows in columns. Every cell is made plain; the last column is not padded.
pub(crate) fn table<const N: usize>(header: [&str; N], rows: &[[String; N]]) -> anyhow::Result<()> {
    let clean = |cell: &str| plain_text(cell).replace(['\n', '\t'], " ");
    let rows: Vec<[String; N]> = rows.iter().map(|row| row.each_ref().map(|cell| clean(cell))).collect();
    let mut widths = header.map(|cell| cell.chars().count());
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let show = |cells: [&str; N]| {
        let mut text = String::new();
        for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
            text.push_str(cell);
            if index + 1 < N {
                text.extend(std::iter::repeat_n(' ', width.saturating_sub(cell.chars().count()) + 2));
            }
        }
        text.trim_end().to_owned()
    };
    line(&show(header))?;
    for row in &rows {
        line(&show(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}

/// The first line of a text, cut to fit a column.
pub(crate) fn brief(text: &str, most: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    if first.chars().count() <= most {
        return first.to_owned();
    }
    let cut: String = first.chars().take(most.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// The first characters of a hash.
pub(crate) fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_names_who_says_it() {
        assert_eq!(said_by("ext", "info: a\n┗ allow?\u{1b}[2J"), "[ext] info: a\n[ext] ┗ allow?");
        assert_eq!(said_by("ext", ""), "[ext] ");
    }

    #[test]
    fn what_is_said_during_a_question_comes_after_it() {
        let mut screen = Screen { questions: 2, ..Screen::default() };
        (0..HELD_LINES + 3).for_each(|number| screen.hold(number.to_string()));
        assert!(screen.release().is_empty(), "another question is open");
        let held = screen.release();
        assert_eq!(held.len(), HELD_LINES + 1);
        assert_eq!(held.last().map(String::as_str), Some("(3 more were dropped while the question was open)"));
        assert_eq!((screen.questions, screen.bytes, screen.dropped), (0, 0, 0));
    }
}
