//! What jackfield's tests share: a sandbox that drives the built binary, a client of its RPC, extensions that
//! misbehave on command, and WASM components made of text.
//!
//! Tests talk to the binary as a user or a program would. Nothing here looks inside a host, nothing waits for a fixed
//! time: whatever takes time is polled against a deadline.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "tests are its only users, and fail by panicking")]

mod child;
mod component;
pub mod conformance;
mod http;
mod rpc;
mod sandbox;
mod terminal;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use child::{JsonLines, KilledOnDrop};
pub use component::{assemble, guest};
pub use http::HttpRequest;
pub use rpc::Rpc;
pub use sandbox::{Output, Sandbox};
pub use terminal::at_terminal;

/// How long a test waits for something that should happen soon. Generous: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The repository.
pub fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_path_buf()
}

/// A bundled example.
pub fn example(name: &str) -> PathBuf {
    repository().join("examples").join(name)
}

/// The source of an extension that misbehaves on command.
pub fn misbehaving(file: &str) -> PathBuf {
    repository().join("crates/test-support/extensions").join(file)
}

/// The keys of an object, sorted, in one line: what a script may rely on.
///
/// # Panics
/// When it is no object.
#[track_caller]
pub fn keys(value: &serde_json::Value) -> String {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    let mut keys: Vec<&str> = object.keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys.join(" ")
}

/// The first text of a tool's answer.
///
/// # Panics
/// When it has none.
#[track_caller]
pub fn text(answer: &serde_json::Value) -> &str {
    answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {answer:#}"))
}

/// Writes a file as editors do: it appears at once and whole.
///
/// # Panics
/// When it cannot.
pub fn save(file: &Path, text: &str) {
    let draft = file.with_extension("draft~");
    std::fs::write(&draft, text).expect("a draft");
    std::fs::rename(&draft, file).expect("saved");
}

/// Waits until `condition` holds.
///
/// # Panics
/// When it does not hold in time; `what` says what was waited for.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What a call to an extension that is dead or quarantined may take.
pub const AT_ONCE: Duration = Duration::from_millis(100);

/// Does something until it took less than [`AT_ONCE`], at most five times; gives what came of it the last time. Other work on
/// the machine may delay any one of them, but hardly all five. `attempt` is given the number of the attempt and must check
/// what comes of each.
///
/// # Panics
/// When all five took longer.
#[track_caller]
pub fn at_once<T>(mut attempt: impl FnMut(usize) -> T) -> T {
    let mut took = Vec::new();
    for number in 0..5 {
        let began = Instant::now();
        let outcome = attempt(number);
        took.push(began.elapsed());
        if began.elapsed() < AT_ONCE {
            return outcome;
        }
    }
    panic!("not once in less than {AT_ONCE:?}: {took:?}");
}

/// Whether a process of this number exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => !stat.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z'),
        Err(_) => false,
    }
}

/// The living processes whose command line holds `text`, for instance the path of a sandbox.
pub fn processes_mentioning(text: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).contains(text) && is_alive(*pid)
        })
        .collect()
}

/// How often a storm does its work: `short` in the tests, `long` in `cargo xtask soak`.
pub fn rounds(short: usize, long: usize) -> usize {
    if std::env::var_os("JACKFIELD_SOAK").is_some() { long } else { short }
}
