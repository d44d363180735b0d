//! The runtime for WASM components of the world `jackfield:extension`: compiles them in a process of their own, keeps the
//! native code sealed, and runs them with limits on time, memory, stack and output.
//!
//! A component reaches nothing but the host calls that it imports, and each of them goes through `HostApi`. There is no
//! WASI file system, network or environment. This crate restarts no extension, decides nothing, and never maps native code
//! that it did not make.

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
