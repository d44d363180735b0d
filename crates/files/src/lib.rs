//! jackfield's files: the layout of its home, bounded reads, atomic writes and file locks.
//!
//! This crate knows no format: it reads and writes bytes and text. It judges no access; `services` and `policy` do.
//!
//! Modules in reading order:
//! - `home`: where the host keeps which file.
//! - `read`: reads a regular file up to a size limit and never blocks on a pipe or device.
//! - `write`: replaces a file in one step.
//! - `paths`: real paths, and files to which no link leads.
//! - `lock`: locks a file and gives up after a time limit.

mod home;
mod lock;
mod paths;
mod read;
mod write;

pub use home::Home;
pub use lock::{LockKind, lock_within, open_locked};
pub use paths::{read_plain, real_path};
pub use read::{MAX_TEXT, ReadError, open_regular, read_bytes, read_text};
pub use write::{Durability, TEMPORARY_PREFIX, WriteOptions, private_folder, temporary_name, write_atomic};
