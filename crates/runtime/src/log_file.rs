//! The log file of an extension that runs within the host: what it writes, without control sequences and secrets.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use jackfield_protocol::{plain_text, redact_text};

use crate::Secrets;

/// Bytes after which a file is put aside.
const LIMIT: u64 = 4 * 1024 * 1024;
const TAIL_LINES: usize = 20;
const LONGEST: usize = 64 * 1024;

/// The log file of one extension, put aside when it has grown, with its last lines at hand.
pub struct LogFile {
    path: PathBuf,
    secrets: Secrets,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Whether the file was looked for.
    begun: bool,
    file: Option<File>,
    size: u64,
    tail: VecDeque<String>,
}

impl LogFile {
    /// A log in this file, which is made with the first line. An extension runs without a log rather than not at all.
    pub fn at(path: &Path, secrets: Secrets) -> Self {
        Self { path: path.to_owned(), secrets, open: Mutex::default() }
    }

    /// Takes what the extension wrote.
    pub fn said(&self, level: &str, text: &str) {
        let text = redact_text(&plain_text(text), &self.secrets.now());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines() {
            let end = line.char_indices().nth(LONGEST).map_or(line.len(), |(at, _)| at);
            let line = line.get(..end).unwrap_or(line);
            let line = if matches!(level, "warn" | "error") { format!("[{level}] {line}") } else { line.to_owned() };
            open.append(&self.path, &line);
        }
    }

    /// The last lines.
    pub fn tail(&self) -> String {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.tail.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Open {
    fn append(&mut self, path: &Path, line: &str) {
        if self.tail.len() == TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back(line.to_owned());
        if !self.begun {
            self.begun = true;
            self.file = open(path);
            self.size = self.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        }
        if self.size > LIMIT {
            let old = path.with_extension("log.1");
            std::fs::rename(path, old).ok();
            self.file = open(path);
            self.size = 0;
        }
        if let Some(file) = &mut self.file
            && writeln!(file, "{line}").is_ok()
        {
            self.size += line.len() as u64 + 1;
        }
    }
}

fn open(path: &Path) -> Option<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).ok()
}
