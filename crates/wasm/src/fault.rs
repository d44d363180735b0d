//! Why a component did not do what it was asked, in words.

use std::time::Duration;

use wasmtime::{Trap, WasmBacktrace};

/// Frames of a backtrace that are told.
const MAX_FRAMES: usize = 12;

/// An end that the host brought about. Travels through wasmtime as the error of a host function or of the clock.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum Halt {
    /// It computed for too long.
    #[error("it computed for more than its {} ms in one call", .0.as_millis())]
    Budget(Duration),
    /// It called the host without end.
    #[error("it made more than {0} host calls in one call")]
    HostCalls(u32),
    /// It asked for what no component gets.
    #[error("{0}")]
    Refused(String),
}

/// What ended a guest, for people: the reason, and the guest's functions from the innermost on.
pub(crate) fn in_words(error: &wasmtime::Error, out_of_memory: Option<u64>) -> String {
    let mut text = match (error.downcast_ref::<Halt>(), error.downcast_ref::<Trap>()) {
        (Some(halt), _) => format!("it was ended: {halt}"),
        (None, Some(Trap::StackOverflow)) => "it trapped: its stack overflowed (endless recursion?)".to_owned(),
        (None, Some(Trap::Interrupt)) => "it was interrupted".to_owned(),
        (None, Some(trap)) => {
            let trap = trap.to_string();
            format!("it trapped: {}", trap.strip_prefix("wasm trap: ").unwrap_or(&trap))
        }
        (None, None) => format!("it failed: {}", reason(error)),
    };
    if let Some(limit) = out_of_memory {
        text.push_str(&format!(", after it was refused memory beyond its {} MB", limit / (1024 * 1024)));
    }
    let frames = frames(error);
    if !frames.is_empty() {
        text.push_str(&format!("; it was in {}", frames.join(" < ")));
    }
    text
}

/// The messages of an error without its backtrace.
fn reason(error: &wasmtime::Error) -> String {
    let parts: Vec<String> =
        error.chain().map(ToString::to_string).filter(|part| !part.contains("wasm backtrace")).collect();
    if parts.is_empty() { "for no reason that is known".to_owned() } else { parts.join(": ") }
}

/// The names of the guest's functions that were being executed, the innermost first.
fn frames(error: &wasmtime::Error) -> Vec<String> {
    let Some(backtrace) = error.downcast_ref::<WasmBacktrace>() else { return Vec::new() };
    // What it prints has the names readable; each line is `index: address - module!function`.
    let printed = backtrace.to_string();
    let names = printed.lines().filter_map(|line| line.split_once(" - ")).map(|(_, name)| shown(name.trim()));
    let mut names: Vec<String> = names.collect();
    names.dedup();
    if names.len() > MAX_FRAMES {
        names.truncate(MAX_FRAMES);
        names.push("…".to_owned());
    }
    names
}

/// A function without the name that toolchains give to its module.
fn shown(name: &str) -> String {
    let name = match name.split_once('!') {
        Some((_, function)) => function,
        None => name,
    };
    name.chars().take(200).collect()
}
