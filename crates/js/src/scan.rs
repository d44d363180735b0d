//! The scanner: reads an extension's code and says how well it will run here, and what it will ask for.
//!
//! It looks at the entry and at every file that it reaches by relative imports, never into other people's packages, and runs
//! nothing. What it cannot see (names that are put together, code that is fetched) it says it cannot see. A scan is advice:
//! policy decides what runs, and the ledger shows what did.

mod file;
mod needs;
mod packages;
mod resolve;
mod rules;
mod things;
mod uses;
mod visit;

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use jackfield_protocol::Capability;
use serde::{Deserialize, Serialize};

use file::{Facts, Import};
use needs::Needs;

/// How an extension will run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it does in pi.
    Compatible,
    /// With something that is different or cannot be judged.
    Warning,
    /// Not at all, as it is.
    Blocked,
}

impl Verdict {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Warning => "warning",
            Self::Blocked => "blocked",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Worth knowing; it works.
    Note,
    /// It works in another way, or only in part, or nobody can tell.
    Warning,
    /// The extension cannot be loaded.
    Blocked,
}

impl Level {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Blocked => "blocked",
        }
    }
}

/// One reason, with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub level: Level,
    /// The file, as it was reached from the entry.
    pub file: PathBuf,
    /// The line, counted from one.
    pub line: u32,
    /// The column in characters, counted from one.
    pub column: u32,
    /// What is used: a function, a module, an event.
    pub api: String,
    /// What happens instead, or what to do.
    pub message: String,
}

/// What a scan says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The worst of the findings.
    pub verdict: Verdict,
    /// By file in the order they were reached, then by place.
    pub findings: Vec<Finding>,
    /// What the code seems to need; what can be seen only when it runs is asked for without limits.
    pub capabilities: Vec<Capability>,
    /// The files that were looked at.
    pub files: Vec<PathBuf>,
}

/// Beyond these the rest is not looked at, and a finding says so.
const MAX_FILES: usize = 1_000;
const MAX_FINDINGS: usize = 1_000;

/// Looks at `entry` and all that it reaches by relative imports. `read` gives the text of a file; what it refuses is not
/// there.
pub fn scan(entry: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Report {
    let mut scan = Scan {
        read,
        queue: VecDeque::new(),
        seen: BTreeSet::new(),
        findings: Vec::new(),
        needs: Needs::default(),
        files: Vec::new(),
    };
    match read(entry) {
        Ok(text) => {
            scan.seen.insert(entry.to_owned());
            scan.queue.push_back((entry.to_owned(), text));
        }
        Err(error) => scan.say(Level::Blocked, entry, (1, 1), "entry", format!("cannot be read: {error}")),
    }
    while let Some((path, text)) = scan.queue.pop_front() {
        scan.file(entry, path, &text);
    }
    scan.report()
}

struct Scan<'a> {
    read: &'a dyn Fn(&Path) -> io::Result<String>,
    queue: VecDeque<(PathBuf, String)>,
    seen: BTreeSet<PathBuf>,
    findings: Vec<Finding>,
    needs: Needs,
    files: Vec<PathBuf>,
}

impl Scan<'_> {
    fn say(&mut self, level: Level, file: &Path, (line, column): (u32, u32), api: &str, message: String) {
        let finding = Finding { level, file: file.to_owned(), line, column, api: api.to_owned(), message };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn file(&mut self, entry: &Path, path: PathBuf, text: &str) {
        self.files.push(path.clone());
        if !resolve::is_script(&path) {
            return;
        }
        let Facts { findings, needs, imports, has_factory } = match file::facts(&path, text) {
            Ok(facts) => facts,
            Err((place, message)) => {
                // A broken file that only some path loads breaks that path alone, but nobody can tell which.
                return self.say(Level::Blocked, &path, place, "syntax", message);
            }
        };
        for (level, place, api, message) in findings {
            self.say(level, &path, place, &api, message);
        }
        for need in needs {
            let (line, _) = need.place;
            self.needs.add(need.power, need.value, &path, line);
        }
        if path == entry && !has_factory {
            let message = "no factory: the entry must export a function by default".to_owned();
            self.say(Level::Blocked, &path, (1, 1), "export default", message);
        }
        for import in imports {
            self.import(&path, &import);
        }
        self.findings.sort_by_key(|finding| {
            (self.files.iter().position(|file| *file == finding.file), finding.line, finding.column)
        });
    }

    fn import(&mut self, from: &Path, import: &Import) {
        let Import { specifier, place, at_load } = import;
        let fatal = if *at_load { Level::Blocked } else { Level::Warning };
        if !resolve::is_relative(specifier) {
            if let Some((level, message)) = packages::judge(from, specifier, *at_load, self.read) {
                self.say(level, from, *place, specifier, message);
            }
            return;
        }
        if specifier.ends_with(".node") {
            let message = "native addons cannot be loaded: the engine is not Node".to_owned();
            return self.say(fatal, from, *place, specifier, message);
        }
        match resolve::relative(from, specifier, self.read) {
            Some((path, text)) => {
                if self.seen.len() >= MAX_FILES {
                    let message = format!("only the first {MAX_FILES} files are looked at");
                    return self.say(Level::Warning, from, *place, specifier, message);
                }
                if self.seen.insert(path.clone()) {
                    self.queue.push_back((path, text));
                }
            }
            None => {
                let message = "leads to no file; was the extension built, or is a file missing?".to_owned();
                self.say(fatal, from, *place, specifier, message);
            }
        }
    }

    fn report(mut self) -> Report {
        let worst = self.findings.iter().map(|finding| finding.level).max();
        let verdict = match worst {
            Some(Level::Blocked) => Verdict::Blocked,
            Some(Level::Warning) => Verdict::Warning,
            Some(Level::Note) | None => Verdict::Compatible,
        };
        self.findings.truncate(MAX_FINDINGS);
        Report { verdict, findings: self.findings, capabilities: self.needs.capabilities(), files: self.files }
    }
}

#[cfg(test)]
mod tests;
