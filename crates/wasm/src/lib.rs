//! The runtime for WASM components of the world `jackfield:extension`. It compiles a component in a process of its
//! own, seals the native code on disk, and runs it with limits on time, memory, stack and output.
//!
//! A component reaches nothing but the host calls that it imports. Each of them goes through `HostApi`.
//!
//! It refuses WASI's file system, network and environment. It never maps native code that it did not compile itself.
//! It restarts no extension and decides nothing about policy.
//!
//! Modules, in reading order:
//!
//! - `instance`: the contract with the host: [`WasmRuntime`] and a running extension.
//! - `scan`: reads what a file imports and exports, without running it.
//! - `code`: loads native code from the sealed cache, or compiles it.
//! - `compile`: compiles in a child process.
//! - `raw`: the only `unsafe` module: makes compiled code runnable.
//! - `engine`: the engine, and the clock that interrupts components.
//! - `pool`: the instances of one extension: one per call, replaced when they break.
//! - `guest`: one instance and its exported functions.
//! - `state`: what one instance has used and what it may use.
//! - `imports`: one host call per imported function.
//! - `wasi`: the stubs for WASI functions that toolchains always import.
//! - `registration`: turns a component's registration into contributions.
//! - `describe`: asks a component for its registration without starting it.
//! - `fault`: puts traps and exhausted limits into words.
//! - `strip`: removes debug information from a component.
//! - `bindings`: Rust types, generated from `wit/`.

mod bindings;
mod code;
mod compile;
mod describe;
mod engine;
mod fault;
mod guest;
mod imports;
mod instance;
mod pool;
mod raw;
mod registration;
mod scan;
mod state;
mod strip;
mod wasi;

use std::path::PathBuf;
use std::time::Duration;

pub use code::{Built, ENGINE, build};
pub use compile::child;
pub use instance::WasmRuntime;
pub use scan::{Facts, MAX_COMPONENT, WORLD, read_component, scan};
pub use strip::strip;

/// How components are run.
#[derive(Debug, Clone)]
pub struct WasmOptions {
    /// Where native code is kept; nowhere means that every start compiles.
    pub cache: Option<PathBuf>,
    /// The program and its first arguments that run [`child`]; without it components are compiled within this process.
    pub compiler: Option<Vec<String>>,
    /// How long a component may compute in one call; waiting for the host does not count.
    pub budget: Duration,
    /// Megabytes of memory for all that one extension has under way.
    pub memory_mb: u64,
    /// Calls of one extension that may be under way at once; further ones wait.
    pub overlap: usize,
}

impl Default for WasmOptions {
    fn default() -> Self {
        Self { cache: None, compiler: None, budget: Duration::from_secs(10), memory_mb: 256, overlap: 32 }
    }
}
