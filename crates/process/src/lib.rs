//! The runtime for extensions that are child processes. It speaks three dialects: frames (zot's JSON lines, extended),
//! JSON-RPC (nexo's) and envelope (pi's).
//!
//! The runtime starts a child with exactly the environment that it is given. It carries calls both ways within fixed
//! bounds, writes the child's stderr to a rotated log, and ends the whole process tree. [`SupervisedChild`] is a child
//! without a dialect, for runtimes that speak their own.
//!
//! It refuses to decide about policy, to restart a child, and to send a call again that the child may have read. It
//! does not confine a child: the child has the user's own powers, and only its host calls are judged.
//!
//! Modules, in reading order:
//!
//! - `options`: what the program that embeds this crate decides about children.
//! - `instance`: starts a child, runs it and ends it; [`ProcessRuntime`].
//! - `supervised_child`: a child with its pipes as lines, its log and its end.
//! - `spawn`: finds the program of an extension and starts it.
//! - `core`: the part that all dialects share: calls, liveness, the kill.
//! - `pending`: calls that wait for their answers.
//! - `outbox`: the bounded queue to the child's stdin, and the count of what the child has read.
//! - `lines`: reads lines of bounded length.
//! - `dialect`: selects one of the three dialects, and reads lines during the handshake.
//! - `frames`: the dialect of zot, extended.
//! - `jsonrpc`: the dialect of nexo.
//! - `envelope`: the dialect of pi.
//! - `content`: turns the answers of all dialects into tool results.
//! - `host_calls`: host calls of a child that are not answered yet.
//! - `records`: log records that a child sends through the protocol.
//! - `log`: the log file of one extension.
//! - `python`: Python files as extensions: the interpreter and the worker.
//! - `keeper`: the small process that ends an extension's tree when the host dies.
//! - `notes`: run notes, by which the next host ends children that were left behind.
//! - `os`: groups, signals, the process table and pidfds.

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
