//! What the composition root decides about child processes.

use std::path::PathBuf;

use crate::PythonOptions;

/// Options of a [`ProcessRuntime`](crate::ProcessRuntime).
#[derive(Debug, Clone)]
pub struct ProcessOptions {
    /// Stands between the host and each child and ends the child's tree when the host dies. Without one the children of a
    /// killed host see their input end, and nothing more.
    pub keeper: Option<Keeper>,
    /// Where run notes are kept for [`reap_leftovers`](crate::reap_leftovers).
    pub run_dir: Option<PathBuf>,
    /// The longest line that a child may send.
    pub max_line: usize,
    /// The most that may wait for a child that does not read, in bytes.
    pub outbox_bytes: usize,
    /// The most that may wait for a child that does not read, in messages.
    pub outbox_frames: usize,
    /// The size at which a log file is rotated; two old ones are kept.
    pub log_limit: u64,
    /// How Python files are run; without it they are not.
    pub python: Option<PythonOptions>,
}

impl Default for ProcessOptions {
    fn default() -> Self {
        Self {
            keeper: None,
            run_dir: None,
            max_line: 4 * 1024 * 1024,
            outbox_bytes: 16 * 1024 * 1024,
            outbox_frames: 256,
            log_limit: 5 * 1024 * 1024,
            python: None,
        }
    }
}

/// A program that calls [`keeper_main`](crate::keeper_main); usually the host's own with one argument.
#[derive(Debug, Clone)]
pub struct Keeper {
    /// The program, as an absolute path.
    pub program: PathBuf,
    /// What stands before the keeper's own arguments.
    pub args: Vec<String>,
}
