//! The log file of one extension: its standard error and what the host notes about it, rotated, without control sequences
//! and secrets. The last lines are kept in memory for error messages.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_protocol::{plain_text, redact_text};
use jackfield_runtime::Secrets;
use tokio::io::AsyncRead;

use crate::lines::{Line, Lines};
use crate::os;

/// The longest line of standard error that is kept whole.
const LONGEST: usize = 64 * 1024;
const TAIL_LINES: usize = 20;
const TAIL_BYTES: usize = 4 * 1024;
/// Old files beside the current one.
const OLD_FILES: u32 = 2;

pub(crate) struct ExtensionLog {
    path: PathBuf,
    limit: u64,
    secrets: Secrets,
    inner: Mutex<Inner>,
}

struct Inner {
    file: Option<File>,
    size: u64,
    tail: VecDeque<String>,
    tail_bytes: usize,
}

impl ExtensionLog {
    /// Opens the file. An extension runs without a log rather than not at all; the error says why there is none.
    pub(crate) fn open(path: &Path, limit: u64, secrets: Secrets) -> (Self, Option<io::Error>) {
        let (file, error) = match os::private_file(path) {
            Ok(file) => (Some(file), None),
            Err(error) => (None, Some(error)),
        };
        let size = file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        let inner = Inner { file, size, tail: VecDeque::new(), tail_bytes: 0 };
        (Self { path: path.to_owned(), limit, secrets, inner: Mutex::new(inner) }, error)
    }

    /// Makes text safe to show: no control sequences, no secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        redact_text(&plain_text(text), &self.secrets.now())
    }

    /// A line of the host about the extension.
    pub(crate) fn note(&self, text: &str) {
        let text = self.clean(text).replace('\n', " ");
        self.append(&format!("[jackfield] {text}"));
    }

    /// The last lines of standard error.
    pub(crate) fn tail(&self) -> String {
        let inner = self.lock();
        let lines: Vec<&str> = inner.tail.iter().map(String::as_str).collect();
        lines.join("\n")
    }

    /// Copies standard error until it ends.
    pub(crate) async fn follow(&self, stderr: impl AsyncRead + Unpin) {
        let mut lines = Lines::new(stderr, LONGEST);
        loop {
            match lines.next().await {
                Ok(Some(Line::Whole(line))) => self.said(&String::from_utf8_lossy(line)),
                Ok(Some(Line::TooLong(line))) => self.said(&format!("{} [cut]", String::from_utf8_lossy(line))),
                Ok(None) => return,
                Err(error) => return self.note(&format!("standard error cannot be read: {error}")),
            }
        }
    }

    fn said(&self, line: &str) {
        let line = self.clean(line);
        self.append(&line);
        self.lock().remember(line);
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere cannot leave this half changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(&self, line: &str) {
        let mut inner = self.lock();
        if inner.size >= self.limit {
            self.rotate(&mut inner);
        }
        let Some(file) = inner.file.as_mut() else { return };
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        // A full disk must not hurt the extension: the line is lost, the tail in memory stays.
        if file.write_all(&bytes).is_ok() {
            inner.size += bytes.len() as u64;
        }
    }

    fn rotate(&self, inner: &mut Inner) {
        let on_disk = std::fs::metadata(&self.path).map_or(0, |meta| meta.len());
        // During a reload two instances share the file; the other one may have rotated it already.
        if on_disk >= self.limit {
            for number in (1..OLD_FILES).rev() {
                // The older file need not be there.
                std::fs::rename(self.old(number), self.old(number + 1)).ok();
            }
            if std::fs::rename(&self.path, self.old(1)).is_err() {
                // Better an empty log than one without bounds.
                std::fs::remove_file(&self.path).ok();
            }
        }
        inner.file = os::private_file(&self.path).ok();
        inner.size = inner.file.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
    }

    fn old(&self, number: u32) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }
}

impl Inner {
    fn remember(&mut self, mut line: String) {
        if line.len() > TAIL_BYTES {
            let mut end = TAIL_BYTES;
            while !line.is_char_boundary(end) {
                end -= 1;
            }
            line.truncate(end);
        }
        self.tail_bytes += line.len();
        self.tail.push_back(line);
        while self.tail.len() > TAIL_LINES || self.tail_bytes > TAIL_BYTES {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_log_is_clean_bounded_and_rotated() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ext-x.log");
        let (log, error) = ExtensionLog::open(&path, 100, Secrets::of(vec!["hunter2hunter2".to_owned()]));
        assert!(error.is_none());
        log.note("starting");
        let mut said = b"\x1b[31mred\x1b[0m hunter2hunter2\n\xff\xfe\n".to_vec();
        for number in 0..40 {
            said.extend_from_slice(format!("line {number}\n").as_bytes());
        }
        log.follow(said.as_slice()).await;
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).expect("a log");
        assert!(read("ext-x.log.2").starts_with("line"), "the first lines have gone");
        for name in ["ext-x.log", "ext-x.log.1", "ext-x.log.2"] {
            assert!(read(name).len() < 120, "{name} is bounded");
        }
        assert!(!dir.path().join("ext-x.log.3").exists());
        let expected: Vec<String> = (20..40).map(|number| format!("line {number}")).collect();
        assert_eq!(log.tail(), expected.join("\n"));
    }

    #[tokio::test]
    async fn secrets_and_sequences_stay_out() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("ext-x.log");
        let (log, _) = ExtensionLog::open(&path, 1 << 20, Secrets::of(vec!["hunter2hunter2".to_owned()]));
        log.note("a\nb");
        log.follow(&b"\x1b[31mred\x1b[0m hunter2hunter2\r\nlast"[..]).await;
        let text = std::fs::read_to_string(&path).expect("a log");
        assert_eq!(text, "[jackfield] a b\nred [REDACTED]\nlast\n");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).expect("a log").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }

    #[tokio::test]
    async fn one_long_line_is_cut() {
        let dir = tempfile::tempdir().expect("a folder");
        let (log, _) = ExtensionLog::open(&dir.path().join("l"), 1 << 20, Secrets::default());
        let long = vec![b'x'; 10 * LONGEST];
        log.follow(long.as_slice()).await;
        assert_eq!(std::fs::metadata(dir.path().join("l")).expect("a log").len(), LONGEST as u64 + 7);
        assert_eq!(log.tail().len(), TAIL_BYTES);
    }
}
