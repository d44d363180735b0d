//! The layout of the host's home directory.

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

    /// What an extension keeps for a while.
    pub fn temporary(&self, id: &ExtensionId) -> PathBuf {
        self.root.join("tmp").join(id.as_str())
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

    /// The MCP servers of this user.
    pub fn mcp_servers(&self) -> PathBuf {
        self.root.join("mcp.json")
    }

    /// What persons have granted.
    pub fn grants(&self) -> PathBuf {
        self.root.join("grants.json")
    }

    /// What is installed, as it was accepted.
    pub fn lock(&self) -> PathBuf {
        self.root.join("jackfield.lock")
    }

    /// Which projects are trusted.
    pub fn trust(&self) -> PathBuf {
        self.root.join("trust.json")
    }

    /// Where compiled code of extensions is kept; belongs to the user alone.
    pub fn code(&self) -> PathBuf {
        self.root.join("code")
    }

    /// What the tools of MCP servers were when they were first used.
    pub fn pins(&self) -> PathBuf {
        self.root.join("pins")
    }

    /// What the host keeps of all channels.
    pub fn channels(&self) -> PathBuf {
        self.root.join("channels")
    }

    /// What the host keeps of one channel. Names are the extensions' to choose, so that only letters, digits, `_` and `-`
    /// stand for themselves.
    pub fn channel(&self, name: &str) -> PathBuf {
        let mut folder = String::new();
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') {
                folder.push(char::from(byte));
            } else {
                folder.push_str(&format!("%{byte:02X}"));
            }
        }
        self.channels().join(folder)
    }

    /// What a person keeps for extensions, and the host's own; for their owner alone.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets")
    }

    /// One secret.
    pub fn secret(&self, name: &str) -> PathBuf {
        self.secrets().join(name)
    }

    /// The extensions that pi loads to reach the host; belongs to the user alone.
    pub fn bridge(&self) -> PathBuf {
        self.root.join("bridge")
    }

    /// What other agents' configurations were before they were told of jackfield.
    pub fn connect(&self) -> PathBuf {
        self.root.join("connect")
    }

    /// Notes of running hosts: sockets, and the processes they started.
    pub fn run(&self) -> PathBuf {
        self.root.join("run")
    }
}
