//! Runs pi's TypeScript and JavaScript extensions without Node: QuickJS for the language, oxc for the types, and our own
//! JavaScript (`lib/`) for Node's modules, the web's globals and pi's API.
//!
//! Each extension has an engine of its own, on its own thread or in a child process of our own binary. An engine reaches
//! nothing by itself: everything outside is a host call, judged and recorded by the host like any other runtime's.

pub mod artifact;
mod code;
mod deep_stack;
mod engine_client;
mod event_loop;
mod fork;
mod guard;
mod instance;
mod isolate;
mod library;
mod messages;
mod natives;
mod process;
mod raw;
mod resolve;
pub mod scan;
mod server;
mod stack;
mod thread;
mod transform;
mod values;

pub use code::CodeCache;
pub use instance::{JsOptions, JsRuntime};
pub use library::Library;
pub use server::child;

/// Whether a text is TypeScript that a script's engine would take.
///
/// # Errors
/// The first thing that is wrong with it, with line and column.
pub fn check_syntax(path: &std::path::Path, source: &str) -> Result<(), String> {
    transform::transform(path, source).map(drop)
}

/// Bytes of stack of an engine's thread.
pub(crate) const STACK: usize = 4 * 1024 * 1024;
