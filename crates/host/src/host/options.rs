//! What a host is made of, why it does not open, and what it tells.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_files::Home;
use jackfield_ledger::LedgerError;
use jackfield_policy::Mode;
use jackfield_protocol::{ExtensionId, HookPoint, Level, Notice};
use jackfield_runtime::Runtime;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::approver::{Approver, NoApprover};
use crate::face::{Agent, Face, NoAgent, NoFace};
use crate::supervisor::State;

/// What a host is made of. Put together by the composition root.
pub struct HostOptions {
    /// Where the host keeps its files.
    pub home: Home,
    /// The project it works on.
    pub project: PathBuf,
    /// Extensions named on the command line, first wins.
    pub ext: Vec<PathBuf>,
    /// Overrides the configured policy mode.
    pub mode: Option<Mode>,
    /// The environment, read once by the composition root.
    pub env: BTreeMap<String, String>,
    /// One per kind.
    pub runtimes: Vec<Arc<dyn Runtime>>,
    /// Asks a person when policy cannot decide alone.
    pub approver: Arc<dyn Approver>,
    /// Puts the questions of extensions to the person.
    pub face: Arc<dyn Face>,
    /// The agent that leads the conversation.
    pub agent: Arc<dyn Agent>,
    /// Where the session's entries are kept; in memory only without it.
    pub session_file: Option<PathBuf>,
    /// Whether a person can serve interactive tools.
    pub interactive: bool,
    /// Leave out everything that is not named by `ext`.
    pub only_ext: bool,
    /// The program that stands between the host and what `exec` runs, so that a killed host leaves nothing behind.
    pub keeper: Option<PathBuf>,
}

impl HostOptions {
    /// A host of a home and a project without a person, an agent or a runtime. The caller adds what else there is.
    pub fn new(home: Home, project: PathBuf) -> Self {
        Self {
            home,
            project,
            ext: Vec::new(),
            mode: None,
            env: BTreeMap::new(),
            runtimes: Vec::new(),
            approver: Arc::new(NoApprover),
            face: Arc::new(NoFace),
            agent: Arc::new(NoAgent),
            session_file: None,
            interactive: false,
            only_ext: false,
            keeper: None,
        }
    }
}

/// Why a host did not open.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A configuration file is wrong.
    #[error("{0}")]
    Config(String),
    /// A directory or file of the home cannot be used.
    #[error("cannot use {path}: {source}")]
    Home {
        /// The directory or file.
        path: PathBuf,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The ledger cannot be written, and without evidence nothing runs.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Makes the folders of a home that are not there.
pub(super) fn prepare_home(home: &Home) -> Result<(), OpenError> {
    for path in [home.root().to_path_buf(), home.logs(), home.catalog(), home.run(), home.extensions()] {
        std::fs::create_dir_all(&path).map_err(|source| OpenError::Home { path, source })?;
    }
    Ok(())
}

/// A line that an extension logged, for faces that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LogLine {
    /// The extension that logged.
    pub extension: ExtensionId,
    /// How bad it is.
    pub level: Level,
    /// The text, without control sequences and secrets.
    pub message: String,
}

/// What faces are told.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum HostEvent {
    /// An extension says something.
    Notice {
        /// The extension that says it.
        extension: ExtensionId,
        /// What it says.
        #[serde(flatten)]
        notice: Notice,
    },
    /// An extension changed its state.
    State {
        /// The extension whose state is new.
        extension: ExtensionId,
        /// The new state.
        #[serde(flatten)]
        state: State,
    },
    /// Tools, commands or hooks have changed.
    RegistryChanged,
    /// A hook did not answer as it should.
    HookFailed {
        /// The extension that has the hook.
        extension: ExtensionId,
        /// The moment at which the host asked.
        hook: HookPoint,
        /// What went wrong.
        reason: String,
    },
    /// An extension did not answer a question about an event as it should.
    AskFailed {
        /// The extension that was asked.
        extension: ExtensionId,
        /// The name of the event. The field is serialised as `about`, because `event` is the tag.
        #[serde(rename = "about")]
        event: String,
        /// What went wrong.
        reason: String,
    },
    /// The session has one more entry.
    SessionEntry {
        /// The extension that added it; nothing where the agent did.
        extension: Option<ExtensionId>,
        /// The entry.
        entry: Map<String, Value>,
    },
    /// An extension said which tools the agent may use.
    ActiveTools {
        /// The extension that chose the tools.
        extension: ExtensionId,
        /// The names of the tools.
        tools: Vec<String>,
    },
    /// A call waits for extensions that were never seen: they may be guards, or own the name of the tool.
    Waiting {
        /// The extensions that have not answered yet.
        extensions: Vec<ExtensionId>,
    },
    /// A version was put in place of another, or was not.
    Reloaded(crate::reload::Reloaded),
}
