//! Where the host keeps its files. One layout, known here only.

use std::path::{Path, PathBuf};

use jackfield_protocol::ExtensionId;

/// The host's own directory, `--home` on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// A home at `root`; nothing is created.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Installed extensions, one directory each.
    pub fn extensions(&self) -> PathBuf {
        self.root.join("extensions")
    }

    /// Discovery settings for this user.
    pub fn extensions_yaml(&self) -> PathBuf {
        self.root.join("extensions.yaml")
    }

    /// Policy and other settings.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// What an extension keeps for itself.
    pub fn data(&self, id: &ExtensionId) -> PathBuf {
        self.root.join("data").join(id.as_str())
    }

    /// All log files.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The stderr of one extension.
    pub fn log_file(&self, id: &ExtensionId) -> PathBuf {
        self.logs().join(format!("ext-{id}.log"))
    }

    /// The evidence.
    pub fn ledger(&self) -> PathBuf {
        self.root.join("ledger")
    }

    /// What extensions contributed when they last ran.
    pub fn catalog(&self) -> PathBuf {
        self.root.join("catalog")
    }

    /// What persons have granted.
    pub fn grants(&self) -> PathBuf {
        self.root.join("grants.json")
    }

    /// Which projects are trusted.
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }

    /// Notes of running hosts: sockets, and the processes they started.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }
}
