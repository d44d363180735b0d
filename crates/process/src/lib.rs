//! The runtime for extensions that are child processes, in three dialects: frames (zot's JSON lines, extended), JSON-RPC
//! (nexo's) and envelope (pi's).
//!
//! It starts a child with exactly the environment it is given, carries calls both ways within bounds that hold whatever
//! the child does, keeps its stderr in a rotated log, and ends the whole process tree. It decides nothing about policy,
//! restarts nothing and knows no registry. [`SupervisedChild`] is a child without a dialect, for runtimes that speak their own. A child runs with the user's own powers; only its host calls are judged.

#![allow(clippy::result_large_err, reason = "CallError is the contract's error; the good way out is as large")]

mod content;
mod core;
mod dialect;
mod envelope;
mod frames;
mod host_calls;
mod instance;
mod jsonrpc;
mod keeper;
mod lines;
mod log;
mod notes;
mod options;
mod os;
mod outbox;
mod pending;
mod python;
mod records;
mod spawn;
mod supervised_child;

pub use instance::ProcessRuntime;
pub use keeper::keeper_main;
pub use notes::reap_leftovers;
pub use options::{Keeper, ProcessOptions};
pub use python::PythonOptions;
pub use supervised_child::{ChildLine, ChildLines, SupervisedChild};
