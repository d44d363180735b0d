//! What discovery says: what there is, how each of it stands, and what was wrong on the way.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_protocol::{Manifest, plain_text};
use serde::{Deserialize, Serialize};

use super::{js, mcp, python, wasm, wire};

/// Where an extension was found. Earlier ones win over later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Named on the command line.
    Flag,
    /// In the project; needs the project to be trusted.
    Project,
    /// In the user's own directory.
    Global,
    /// Nowhere: it connected by itself, and goes with its connection.
    Attached,
}

impl Origin {
    /// The name as it appears in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flag => "flag",
            Self::Project => "project",
            Self::Global => "global",
            Self::Attached => "attached",
        }
    }
}

/// Whether an extension takes part, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "standing", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// It takes part.
    Active,
    /// Its manifest or the settings switch it off.
    Disabled {
        /// What says so.
        reason: String,
    },
    /// It lies in a project that nobody has trusted, or that has changed since.
    Untrusted,
    /// It is installed, and is not what was accepted when it was.
    Changed {
        /// What differs, and what to do.
        reason: String,
    },
    /// Another extension of the same id comes first.
    Shadowed {
        /// The directory of the other one.
        #[serde(with = "wire::path")]
        by: PathBuf,
    },
    /// Something that its manifest asks for is not there.
    MissingRequirements {
        /// Programs.
        bins: Vec<String>,
        /// Variables.
        env: Vec<String>,
    },
    /// No runtime of this build can run it.
    Unsupported {
        /// Why.
        reason: String,
    },
    /// Its manifest cannot be used.
    Invalid {
        /// What is wrong with it.
        error: String,
    },
}

/// Which files are an extension's own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// All in its directory.
    #[default]
    Directory,
    /// Its script, and what that imports by relative paths: its directory holds other things, too.
    Entry,
}

/// An extension that discovery came across.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// Its manifest. Of an invalid one only the id (from the directory's name) and the format are known.
    #[serde(with = "wire::shared")]
    pub manifest: Arc<Manifest>,
    /// Where it lives.
    #[serde(with = "wire::path")]
    pub dir: PathBuf,
    /// The file that was read.
    #[serde(with = "wire::path")]
    pub manifest_path: PathBuf,
    /// Where it was found.
    pub origin: Origin,
    /// Whether it takes part.
    pub standing: Standing,
    /// Which files are its own.
    #[serde(default)]
    pub extent: Extent,
}

impl Found {
    /// What tells two extensions apart, whatever they are called: the directory, and the script or component where
    /// it has one.
    pub fn place(&self) -> PathBuf {
        let file = js::entry_of(self).or_else(|| python::entry_of(self)).or_else(|| wasm::component_of(self));
        let file = file.or_else(|| mcp::entry_of(self));
        file.unwrap_or_else(|| self.dir.clone())
    }

    /// Whether it takes part.
    pub fn is_active(&self) -> bool {
        self.standing == Standing::Active
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DiagnosticLevel {
    /// Worth knowing; nothing is lost.
    Warn,
    /// Something does not work.
    Error,
}

/// Something a person should know about a file or a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// How bad it is.
    pub level: DiagnosticLevel,
    /// What it is about.
    #[serde(with = "wire::path")]
    pub path: PathBuf,
    /// What is the matter, free of control sequences.
    pub message: String,
}

impl Diagnostic {
    /// Worth knowing.
    pub fn warn(path: &Path, message: impl AsRef<str>) -> Self {
        Self { level: DiagnosticLevel::Warn, path: path.to_owned(), message: plain_text(message.as_ref()) }
    }

    /// Something does not work.
    pub fn error(path: &Path, message: impl AsRef<str>) -> Self {
        Self { level: DiagnosticLevel::Error, path: path.to_owned(), message: plain_text(message.as_ref()) }
    }
}

/// Settings for the watcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchSettings {
    /// Whether changes reload by themselves.
    pub enabled: bool,
    /// How long it must be quiet first.
    pub debounce_ms: u64,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self { enabled: false, debounce_ms: 500 }
    }
}

/// What the settings files say beyond which extensions there are. A project's word counts only when it is trusted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoverySettings {
    /// For the watcher.
    pub watch: WatchSettings,
    /// The directories that were searched and exist, for the watcher.
    #[serde(with = "wire::paths")]
    pub roots: Vec<PathBuf>,
}

/// What discovery says.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// Everything that was come across, also what does not take part: flags in their order, then the project's, then the
    /// global ones, each by search directory and id.
    pub extensions: Vec<Found>,
    /// What a person should know, by path and message.
    pub diagnostics: Vec<Diagnostic>,
    /// What the settings say.
    pub settings: DiscoverySettings,
}
