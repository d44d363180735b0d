//! Checking the whole chain.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use jackfield_files::{LockKind, lock_within};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::chain::LOCK_WAIT;
use super::line::{self, ChainLink, GENESIS, Hash};
use super::record::Newline;
use super::segments;

/// After so many problems the rest are only counted.
const MAX_PROBLEMS: usize = 100;

/// What [`verify`] found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// How many files there are.
    pub segments: usize,
    /// How many records there are.
    pub records: u64,
    /// Whether nothing was changed, removed or put in between.
    pub ok: bool,
    /// What is wrong: the first hundred of it.
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    pub further_problems: u64,
    /// How many lines were cut short and have been accounted for by a repair.
    pub repairs: u64,
    /// The size of a last line that was cut short; the next append accounts for it.
    pub torn_tail_bytes: Option<u64>,
    /// Calls that began and did not end: still running, or cut off when their host was killed.
    pub open_calls: Vec<String>,
    /// The hash of the last record. Kept elsewhere, it proves later that nothing before it has changed.
    pub head: String,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file of the segment that holds it.
    pub file: PathBuf,
    /// The line in it, or 0 for the file as a whole.
    pub line: u64,
    /// What is wrong.
    pub message: String,
}

/// Checks every record of the ledger in `dir` while others may go on writing to it. What cannot be read is a problem, not
/// an error; a folder that does not exist is an empty ledger.
pub fn verify(dir: &Path) -> VerifyReport {
    let mut check = Check::default();
    match segments::list(dir) {
        Ok(numbers) => {
            let last = numbers.last().copied();
            for (expected, number) in (1..).zip(numbers) {
                let path = segments::path(dir, number);
                if number != expected + check.skipped {
                    check.problem(&path, 0, format!("the segment before it, {:06}, is missing", number - 1));
                    check.skipped = number - expected;
                }
                if let Err(error) = check.segment(&path, Some(number) == last) {
                    check.problem(&path, 0, format!("cannot be read: {error}"));
                }
                check.segments += 1;
            }
        }
        Err(error) => check.problem(dir, 0, format!("cannot be read: {error}")),
    }
    check.report()
}

struct Check {
    segments: usize,
    skipped: u64,
    records: u64,
    problems: Vec<Problem>,
    further_problems: u64,
    repairs: u64,
    torn_tail_bytes: Option<u64>,
    seq: u64,
    hash: Hash,
    open: HashMap<[String; 4], Open>,
}

/// A call that has begun, and perhaps others of the same id.
struct Open {
    since: u64,
    times: u64,
}

impl Default for Check {
    fn default() -> Self {
        Self {
            segments: 0,
            skipped: 0,
            records: 0,
            problems: Vec::new(),
            further_problems: 0,
            repairs: 0,
            torn_tail_bytes: None,
            seq: 0,
            hash: GENESIS,
            open: HashMap::new(),
        }
    }
}

/// Lines that are no records, until the record that accounts for them.
struct Torn {
    first_line: u64,
    bytes: Vec<u8>,
}

impl Check {
    fn segment(&mut self, path: &Path, is_last: bool) -> io::Result<()> {
        let file = File::open(path)?;
        // Under the lock nobody is in the middle of a line; what is appended afterwards is not looked at.
        lock_within(&file, LockKind::Shared, LOCK_WAIT)?;
        let size = file.metadata()?.len();
        file.unlock()?;
        let mut reader = BufReader::with_capacity(64 * 1024, file.take(size));
        let mut line = Vec::new();
        let mut number = 0;
        let mut torn: Option<Torn> = None;
        loop {
            line.clear();
            if reader.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            number += 1;
            let text = line.strip_suffix(b"\n");
            let parts = line::split(text.unwrap_or(&line));
            match (parts, text) {
                (Some((body, link)), Some(_)) => self.record(path, number, body, link, torn.take()),
                // Only the newline is missing, if the hash says so.
                (Some((body, link)), None) if line::hash_of(&link.prev, body) == link.hash => {
                    self.record(path, number, body, link, torn.take());
                }
                _ => {
                    let torn = torn.get_or_insert_with(|| Torn { first_line: number, bytes: Vec::new() });
                    torn.bytes.extend_from_slice(&line);
                }
            }
        }
        if let Some(torn) = torn {
            self.unaccounted(path, torn, is_last);
        }
        Ok(())
    }

    fn record(&mut self, path: &Path, number: u64, body: &[u8], link: ChainLink, torn: Option<Torn>) {
        self.records += 1;
        if line::hash_of(&link.prev, body) != link.hash {
            self.problem(path, number, "was changed after it was written: its hash is not that of its content");
        }
        if link.prev != self.hash {
            self.problem(
                path,
                number,
                "does not follow the record before it: records were removed, put in or exchanged here",
            );
        }
        let due = self.seq.wrapping_add(1);
        if link.seq != due {
            self.problem(path, number, format!("has number {}, but {due} is due", link.seq));
        }
        // Going on from what the line says, so that one problem is not reported for each line after it.
        (self.seq, self.hash) = (link.seq, link.hash);

        let mut json = body.to_vec();
        json.push(b'}');
        let seen: Option<RecordView<'_>> = serde_json::from_slice(&json).ok();
        if seen.is_none() {
            self.problem(path, number, "is not a record of pi.ext.log.v1");
        }
        if let Some(torn) = torn {
            match seen.as_ref().and_then(RecordView::repair) {
                Some(repair) if repair.accounts_for(&torn) => self.repairs += 1,
                _ => self.problem(path, torn.first_line, "is not a record, and no repair accounts for it"),
            }
        }
        if let Some(seen) = seen {
            self.follow_call(&seen);
        }
    }

    /// Bytes at the end of a segment that are not a record.
    fn unaccounted(&mut self, path: &Path, torn: Torn, is_last: bool) {
        if is_last && !torn.bytes.ends_with(b"\n") && was_cut_short(&torn.bytes) {
            self.torn_tail_bytes = Some(torn.bytes.len() as u64);
        } else {
            self.problem(path, torn.first_line, "is not a record, and no repair accounts for it");
        }
    }

    fn follow_call(&mut self, seen: &RecordView<'_>) {
        let Some((kind, phase)) = seen.event.rsplit_once('.') else { return };
        let ids = &seen.correlation;
        let id = match kind {
            "tool_call" => &ids.tool_call_id,
            "slash_command" => &ids.slash_command_id,
            "event_hook" | "channel_message" => &ids.event_id,
            "host_call" => &ids.host_call_id,
            _ => return,
        };
        let text = |id: &Option<Cow<'_, str>>| id.as_deref().unwrap_or_default().to_owned();
        // Extensions number their host calls themselves, so that an id alone does not name one. The host numbers all other
        // calls, and the start of one may not know the extension yet.
        let extension = if kind == "host_call" { ids.extension_id.to_string() } else { String::new() };
        let key = [text(id), kind.to_owned(), extension, text(&ids.run_id)];
        match phase {
            "start" => {
                let open = self.open.entry(key).or_insert(Open { since: self.seq, times: 0 });
                open.times += 1;
            }
            "end" => {
                if let Some(open) = self.open.get_mut(&key) {
                    open.times -= 1;
                    if open.times == 0 {
                        self.open.remove(&key);
                    }
                }
            }
            _ => {}
        }
    }

    fn problem(&mut self, file: &Path, line: u64, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { file: file.to_owned(), line, message: message.into() });
        } else {
            self.further_problems += 1;
        }
    }

    fn report(self) -> VerifyReport {
        let mut open: Vec<_> = self.open.into_iter().map(|([id, ..], open)| (open.since, id)).collect();
        open.sort_unstable();
        VerifyReport {
            segments: self.segments,
            records: self.records,
            ok: self.problems.is_empty(),
            problems: self.problems,
            further_problems: self.further_problems,
            repairs: self.repairs,
            torn_tail_bytes: self.torn_tail_bytes,
            open_calls: open.into_iter().map(|(_, id)| id).collect(),
            head: line::text(&self.hash).to_owned(),
        }
    }
}

/// What is looked at in a record.
#[derive(Deserialize)]
struct RecordView<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    #[serde(borrow)]
    correlation: RecordIds<'a>,
    #[serde(borrow, default)]
    data: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct RecordIds<'a> {
    #[serde(borrow)]
    extension_id: Cow<'a, str>,
    #[serde(borrow, default)]
    run_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    slash_command_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    event_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    host_call_id: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Repair {
    torn_sha256: String,
    torn_bytes: u64,
    newline: Newline,
}

impl RecordView<'_> {
    fn repair(&self) -> Option<Repair> {
        (self.event == "ledger.repair").then_some(())?;
        serde_json::from_str(self.data?.get()).ok()
    }
}

/// Whether a kill or a loss of power can have left these bytes at the end of a file. A kill leaves the beginning of one
/// line, or of one and of its repair; a loss of power leaves zeros where blocks were not written. Anything else was changed by somebody.
fn was_cut_short(bytes: &[u8]) -> bool {
    bytes.contains(&0) || !bytes.split(|byte| *byte == b'\n').any(line::holds_link)
}

impl Repair {
    fn accounts_for(&self, torn: &Torn) -> bool {
        // The last newline is not part of what was cut short.
        let bytes = torn.bytes.strip_suffix(b"\n").unwrap_or(&torn.bytes);
        let plausible = match self.newline {
            Newline::Added => was_cut_short(bytes),
            Newline::Found => bytes.contains(&0),
        };
        plausible
            && self.torn_bytes == bytes.len() as u64
            && self.torn_sha256 == line::hex_text(Sha256::digest(bytes).as_slice())
    }
}
