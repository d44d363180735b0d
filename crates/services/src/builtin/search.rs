//! `find` and `grep`. A walk lists what is below a folder and follows no link; the policy then judges each entry; only
//! entries that it allows are matched, read and named.

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

/// What a walk saw.
pub(super) struct Walked {
    /// Paths from the root, by name, a folder before what is in it.
    pub(super) entries: Vec<(String, Kind)>,
    /// Whether the walk saw everything.
    pub(super) complete: bool,
}

/// Lists everything below `start`. A `start` that is no folder is the only entry.
pub(super) fn walk(root: &Root, start: &Path, stop: &Stop) -> Result<Walked, CallError> {
    let mut walked = Walked { entries: Vec::new(), complete: true };
    let kind = root.kind_of(start)?;
    if kind == Kind::File {
        walked.entries.push((start.to_string_lossy().into_owned(), kind));
        return Ok(walked);
    }
    let mut visited = 0;
    // Reversed, so that the last is the next; depth stands beside each because paths have no bound of their own.
    let mut todo: Vec<(PathBuf, Kind, usize)> = vec![(start.to_owned(), Kind::Folder, 0)];
    while let Some((path, kind, depth)) = todo.pop() {
        stop.check()?;
        if depth > 0 {
            match path.to_str() {
                Some(text) => walked.entries.push((text.to_owned(), kind)),
                // A name that is not UTF-8 cannot be judged.
                None => {
                    walked.complete = false;
                    continue;
                }
            }
        }
        if kind != Kind::Folder {
            continue;
        }
        if depth > 0 && path.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped)) {
            continue;
        }
        if depth > MAX_DEPTH {
            walked.complete = false;
            continue;
        }
        let (entries, truncated) = match root.list(&path, MAX_VISITED - visited, stop) {
            Ok(listing) => listing,
            Err(error) if depth == 0 || error.code == ErrorCode::Cancelled => return Err(error),
            // A folder that went away or may not be read hides only itself.
            Err(_) => continue,
        };
        visited += entries.len();
        walked.complete &= !truncated;
        for entry in entries.into_iter().rev() {
            let path = if path == Path::new(".") { PathBuf::from(&entry.name) } else { path.join(&entry.name) };
            todo.push((path, entry.kind, depth + 1));
        }
    }
    Ok(walked)
}

/// Files whose path below `start`, or whose name where the pattern has no slash, matches.
pub(super) fn find(walked: &Walked, start: &Path, pattern: &str) -> ToolResult {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let by_name = !pattern.contains('/');
    let mut found = Vec::new();
    let mut complete = walked.complete;
    for (path, kind) in &walked.entries {
        let path = Path::new(path);
        let below = path.strip_prefix(start).unwrap_or(path);
        let text = if by_name { path.file_name().unwrap_or_default() } else { below.as_os_str() };
        if glob_matches(pattern, &text.to_string_lossy()) {
            if found.len() == MAX_FOUND {
                complete = false;
                break;
            }
            let mark = if *kind == Kind::Folder { "/" } else { "" };
            found.push(format!("{}{mark}", path.to_string_lossy()));
        }
    }
    if found.is_empty() {
        found.push(format!("no file matches {pattern:?}"));
    }
    if !complete {
        found.push("[there is more than was looked at or can be shown; narrow the search]".to_owned());
    }
    ToolResult::text(found.join("\n"))
}

/// Lines that hold `pattern`, as `path:line: text`, in the files that the walk saw.
pub(super) fn grep(
    root: &Root,
    walked: &Walked,
    pattern: &str,
    ignore_case: bool,
    stop: &Stop,
) -> Result<ToolResult, CallError> {
    let wanted = if ignore_case { pattern.to_lowercase() } else { pattern.to_owned() };
    let holds = |line: &str| if ignore_case { line.to_lowercase().contains(&wanted) } else { line.contains(&wanted) };
    let mut lines = Vec::new();
    let mut complete = walked.complete;
    'files: for (path, kind) in &walked.entries {
        stop.check()?;
        if *kind != Kind::File {
            continue;
        }
        // What is too big, gone or unreadable is not searched.
        let Ok(bytes) = root.read(Path::new(path), MAX_SEARCHED) else { continue };
        if bytes.iter().take(SNIFFED).any(|byte| *byte == 0) {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        for (number, line) in text.lines().enumerate().filter(|(_, line)| holds(line)) {
            if lines.len() == MAX_LINES {
                complete = false;
                break 'files;
            }
            let shown = line.get(..line.floor_char_boundary(MAX_LINE)).unwrap_or_default();
            let more = if shown.len() < line.len() { "…" } else { "" };
            lines.push(format!("{path}:{}: {shown}{more}", number + 1));
        }
    }
    if lines.is_empty() {
        lines.push(format!("no line holds {pattern:?}"));
    }
    if !complete {
        lines.push("[there is more than was looked at or can be shown; narrow the search]".to_owned());
    }
    Ok(ToolResult::text(lines.join("\n")))
}
