//! Where extensions' structured log records go: one file of JSON lines per session. Diagnostics, not evidence.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jackfield_protocol::{Correlation, ExtensionId, Level, LogRecord, Source, plain_text, redact_text, redact_value};
use jackfield_runtime::Secrets;
use serde_json::Value;

use jackfield_files::Home;

/// The most one session may log; later records are dropped.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// The file of one session, made when the first record comes.
pub(crate) struct LogSink {
    file: PathBuf,
    session_id: String,
    run_id: String,
    secrets: Secrets,
    open: Mutex<Option<(File, u64)>>,
}

impl LogSink {
    pub(crate) fn new(home: &Home, session_id: &str, run_id: &str, secrets: Secrets) -> Self {
        Self {
            file: home.logs().join("extensions").join(format!("{session_id}.jsonl")),
            session_id: session_id.to_owned(),
            run_id: run_id.to_owned(),
            secrets,
            open: Mutex::default(),
        }
    }

    /// Writes one record, redacted and without control sequences.
    pub(crate) fn write(
        &self,
        extension: &ExtensionId,
        level: Level,
        message: &str,
        mut data: Value,
    ) -> std::io::Result<()> {
        redact_value(&mut data, &self.secrets.now());
        let record = LogRecord {
            schema: LogRecord::SCHEMA.to_owned(),
            ts: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
            level,
            event: "extension.log".to_owned(),
            message: redact_text(&plain_text(message), &self.secrets.now()),
            correlation: Correlation {
                extension_id: extension.to_string(),
                scenario_id: "runtime".to_owned(),
                session_id: Some(self.session_id.clone()),
                run_id: Some(self.run_id.clone()),
                ..Correlation::default()
            },
            source: Some(Source { component: "extension".to_owned(), host: None, pid: Some(std::process::id()) }),
            data: data.as_object().cloned().unwrap_or_default(),
        };
        let mut line = serde_json::to_vec(&record)?;
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            if let Some(folder) = self.file.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut options = OpenOptions::new();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            *open = Some((options.open(&self.file)?, 0));
        }
        if let Some((file, written)) = open.as_mut()
            && *written < MOST_BYTES
        {
            file.write_all(&line)?;
            *written += line.len() as u64;
        }
        Ok(())
    }
}
