//! Reading records back.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::LedgerError;
use super::segments::{self, Backwards};

/// Which records are wanted; nothing set means all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Only so many, the last ones.
    pub last: Option<usize>,
    /// Only those of this call, and of what happened in its course.
    pub call_id: Option<String>,
    /// Only those of this extension.
    pub extension: Option<String>,
    /// Only those whose event begins like this, for instance `tool_call.`.
    pub event_prefix: Option<String>,
}

impl Filter {
    fn accept(&self, line: &[u8]) -> Option<Value> {
        let text = std::str::from_utf8(line).ok()?;
        // Ids are made of characters that JSON does not escape; those that are not are found below all the same.
        let plain = |id: &&String| id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte));
        let wanted = [&self.call_id, &self.extension, &self.event_prefix].into_iter().flatten();
        if wanted.filter(plain).any(|id| !text.contains(id.as_str())) {
            return None;
        }
        let record: Value = serde_json::from_str(text).ok()?;
        let ids = record.get("correlation")?;
        let is = |key: &str, wanted: &str| ids.get(key).and_then(Value::as_str) == Some(wanted);
        let of_call = |wanted: &String| {
            ["tool_call_id", "slash_command_id", "event_id", "host_call_id", "rpc_id", "trace_id", "span_id"]
                .iter()
                .any(|key| is(key, wanted))
        };
        let event = record.get("event").and_then(Value::as_str).unwrap_or_default();
        let accepted = self.call_id.as_ref().is_none_or(of_call)
            && self.extension.as_ref().is_none_or(|wanted| is("extension_id", wanted))
            && self.event_prefix.as_ref().is_none_or(|prefix| event.starts_with(prefix.as_str()));
        accepted.then_some(record)
    }
}

/// The records that `filter` wants, the oldest first. Reads line by line, and for the last ones from the end; lines that
/// are not records are passed over, since they are for [`super::verify`] to report.
///
/// # Errors
/// When a file cannot be read. A folder that does not exist holds no records.
pub fn read(dir: &Path, filter: Filter) -> Result<Vec<Value>, LedgerError> {
    let failed = |file: &Path, source| LedgerError::Io { action: "read", file: file.to_owned(), source };
    let numbers = segments::list(dir).map_err(|error| failed(dir, error))?;
    let mut records = Vec::new();
    let Some(last) = filter.last else {
        for number in numbers {
            let path = segments::path(dir, number);
            forwards(&path, &filter, &mut records).map_err(|error| failed(&path, error))?;
        }
        return Ok(records);
    };
    for number in numbers.into_iter().rev() {
        if records.len() >= last {
            break;
        }
        let path = segments::path(dir, number);
        backwards(&path, &filter, last, &mut records).map_err(|error| failed(&path, error))?;
    }
    records.reverse();
    Ok(records)
}

fn forwards(path: &Path, filter: &Filter, records: &mut Vec<Value>) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(64 * 1024, File::open(path)?);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        records.extend(filter.accept(&line));
        line.clear();
    }
    Ok(())
}

fn backwards(path: &Path, filter: &Filter, last: usize, records: &mut Vec<Value>) -> io::Result<()> {
    let file = File::open(path)?;
    let mut lines = Backwards::new(&file, file.metadata()?.len(), 64 * 1024);
    while records.len() < last {
        let Some(line) = lines.previous()? else { break };
        records.extend(filter.accept(&line.bytes));
    }
    Ok(())
}
