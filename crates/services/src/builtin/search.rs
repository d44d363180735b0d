//! `find` and `grep`: walks below the root that follow no link.

use std::path::{Path, PathBuf};

use jackfield_protocol::{CallError, ErrorCode, ToolResult, glob_matches};

use crate::Stop;
use crate::fs::{Kind, Root};

/// Folders that hold what nobody wrote by hand.
const SKIPPED: [&str; 3] = [".git", "node_modules", "target"];
/// The most files that `find` names.
const MAX_FOUND: usize = 1_000;
/// The most lines that `grep` shows.
const MAX_LINES: usize = 200;
/// Files beyond this size are not searched.
const MAX_SEARCHED: usize = 1024 * 1024;
/// The most bytes that `grep` shows of a line.
const MAX_LINE: usize = 500;
/// The most entries that one walk looks at, and that it reads of one folder.
const MAX_VISITED: usize = 200_000;
/// How deep it goes.
const MAX_DEPTH: usize = 100;
/// As far as a NUL byte is looked for to tell what is binary.
const SNIFFED: usize = 8 * 1024;

/// Whether a walk goes on.
enum Step {
    On,
    Enough,
}

/// Calls `visit` with every entry below `start`, by name, with its path from the root. Returns whether it saw them all.
fn walk(
    root: &Root,
    start: &Path,
    stop: &Stop,
    mut visit: impl FnMut(&Path, Kind) -> Result<Step, CallError>,
) -> Result<bool, CallError> {
    let mut visited = 0;
    let mut complete = true;
    // Reversed, so that the last is the next; depth stands beside each because paths have no bound of their own.
    let mut todo: Vec<(PathBuf, Kind, usize)> = vec![(start.to_owned(), Kind::Folder, 0)];
    while let Some((path, kind, depth)) = todo.pop() {
        stop.check()?;
        if depth > 0
            && let Step::Enough = visit(&path, kind)?
        {
            return Ok(false);
        }
        if kind != Kind::Folder {
            continue;
        }
        if depth > 0 && path.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped)) {
            continue;
        }
        if depth > MAX_DEPTH {
            complete = false;
            continue;
        }
        let (entries, truncated) = match root.list(&path, MAX_VISITED - visited, stop) {
            Ok(listing) => listing,
            Err(error) if depth == 0 || error.code == ErrorCode::Cancelled => return Err(error),
            // A folder that went away or may not be read hides only itself.
            Err(_) => continue,
        };
        visited += entries.len();
        complete &= !truncated;
        for entry in entries.into_iter().rev() {
            let path = if path == Path::new(".") { PathBuf::from(&entry.name) } else { path.join(&entry.name) };
            todo.push((path, entry.kind, depth + 1));
        }
    }
    Ok(complete)
}

/// Files whose path below `start`, or whose name where the pattern has no slash, matches.
pub(super) fn find(root: &Root, start: &Path, pattern: &str, stop: &Stop) -> Result<ToolResult, CallError> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let by_name = !pattern.contains('/');
    let mut found = Vec::new();
    let complete = walk(root, start, stop, |path, kind| {
        let below = path.strip_prefix(start).unwrap_or(path);
        let text = if by_name { path.file_name().unwrap_or_default() } else { below.as_os_str() };
        if glob_matches(pattern, &text.to_string_lossy()) {
            if found.len() == MAX_FOUND {
                return Ok(Step::Enough);
            }
            let mark = if kind == Kind::Folder { "/" } else { "" };
            found.push(format!("{}{mark}", path.to_string_lossy()));
        }
        Ok(Step::On)
    })?;
    if found.is_empty() {
        found.push(format!("no file matches {pattern:?}"));
    }
    if !complete {
        found.push("[there is more than was looked at or can be shown; narrow the search]".to_owned());
    }
    Ok(ToolResult::text(found.join("\n")))
}

/// Lines that hold `pattern`, as `path:line: text`.
pub(super) fn grep(
    root: &Root,
    start: &Path,
    pattern: &str,
    ignore_case: bool,
    stop: &Stop,
) -> Result<ToolResult, CallError> {
    if pattern.is_empty() {
        return Ok(ToolResult::error("the pattern is empty; give the text to look for"));
    }
    let wanted = if ignore_case { pattern.to_lowercase() } else { pattern.to_owned() };
    let mut lines = Vec::new();
    let mut search = |path: &Path| {
        // What is too big, gone or unreadable is not searched.
        let Ok(bytes) = root.read(path, MAX_SEARCHED) else { return Step::On };
        if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
            return Step::On;
        }
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text.lines().enumerate() {
            let holds = if ignore_case { line.to_lowercase().contains(&wanted) } else { line.contains(&wanted) };
            if !holds {
                continue;
            }
            if lines.len() == MAX_LINES {
                return Step::Enough;
            }
            let shown = line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or_default();
            let more = if shown.len() < line.len() { "…" } else { "" };
            lines.push(format!("{}:{}: {shown}{more}", path.to_string_lossy(), number + 1));
        }
        Step::On
    };
    let complete = match root.kind_of(start)? {
        Kind::File => matches!(search(start), Step::On),
        _ => walk(root, start, stop, |path, kind| Ok(if kind == Kind::File { search(path) } else { Step::On }))?,
    };
    if lines.is_empty() {
        lines.push(format!("no line holds {pattern:?}"));
    }
    if !complete {
        lines.push("[there is more than was looked at or can be shown; narrow the search]".to_owned());
    }
    Ok(ToolResult::text(lines.join("\n")))
}
