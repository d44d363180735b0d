//! How answers look: JSON on one line, or plain columns.

use std::io::Write;

use jackfield_protocol::plain_text;
use serde::Serialize;

/// As `eprintln!`, but a reader of stderr that has gone ends nothing.
macro_rules! note {
    ($($what:tt)*) => {
        $crate::output::say(format_args!($($what)*))
    };
}
pub(crate) use note;

/// Prints a line to stderr; one that nobody reads is lost.
pub(crate) fn say(what: std::fmt::Arguments<'_>) {
    let mut err = std::io::stderr().lock();
    writeln!(err, "{what}").ok();
}

/// Prints one JSON value on a line of its own.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&terminal_safe(serde_json::to_string(value)?))
}

/// JSON leaves some control characters as they are, and a terminal obeys them: they are written as escapes. They stand
/// only within strings, so the value stays the same.
fn terminal_safe(text: String) -> String {
    let unsafe_here = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(unsafe_here) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if unsafe_here(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
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
