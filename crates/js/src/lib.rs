//! Runs pi's TypeScript and JavaScript extensions without Node. QuickJS runs the language, oxc strips the types, and our own
//! JavaScript (`lib/`) stands for Node's modules, the web's globals and pi's API.
//!
//! Each extension has an engine of its own. By default the engine is a process that the engine server forks; a trusted
//! extension may have a thread instead. An engine reaches nothing by itself: everything outside is a host call, which the
//! host judges and records. This crate restarts nothing and decides no permission.
//!
//! Modules in reading order:
//! - `instance`: [`JsRuntime`] starts an extension and talks to it. `engine_client` holds the calls that wait for answers.
//! - `messages`: what the host and an engine say to each other.
//! - `server`, `fork`, `process`: the engine server, and an engine in a forked process. `thread`: an engine on a thread.
//! - `isolate`, `event_loop`: one engine, its modules and its tasks. `guard`: ends script that does not yield.
//! - `library`, `natives`: our JavaScript, and the functions behind it that do not leave the process.
//! - `resolve`, `transform`, `code`, `artifact`: from a file's name to bytecode, and the sealed cache of it.
//! - `scan`: what `jackfield check` finds. `stack`, `deep_stack`, `values`, `raw`: the engine's stack and values.

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
