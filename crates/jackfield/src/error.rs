//! Why a host does not open.

use std::path::PathBuf;

use jackfield_host::LedgerError;

/// Why a host did not open.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The builder names no home, and the system names no place for application state.
    #[error("no home is set, and the system names no directory of the user to put one in")]
    NoHome,
    /// A directory or file of the home cannot be used.
    #[error("cannot use {path}: {source}")]
    Home {
        /// The directory or file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The project directory cannot be used.
    #[error("cannot use the project directory {path}: {source}")]
    Project {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The builder names no project, and the current directory is gone.
    #[error("no project is set, and the current directory cannot be used: {0}")]
    NoProject(std::io::Error),
    /// A configuration file is wrong.
    #[error("{0}")]
    Config(String),
    /// The ledger cannot be written, and without evidence nothing runs.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The host would start this program as a child, and the program would start all over again.
    #[error(
        "this program cannot be started as a child of the host: call jackfield::child_main() first thing in a plain \
         `fn main`, before the async runtime, or choose other children with HostBuilder::children"
    )]
    NoChildMain,
    /// A host needs a tokio runtime, and `open` was called outside of one.
    #[error("a host opens only within a tokio runtime")]
    NoAsyncRuntime,
}

impl From<jackfield_host::OpenError> for OpenError {
    fn from(error: jackfield_host::OpenError) -> Self {
        match error {
            jackfield_host::OpenError::Config(message) => Self::Config(message),
            jackfield_host::OpenError::Home { path, source } => Self::Home { path, source },
            jackfield_host::OpenError::Ledger(error) => Self::Ledger(error),
        }
    }
}
