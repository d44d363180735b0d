//! The four parts of a host's state. Each part has one subject, and none knows another.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use jackfield_discovery::catalog::Catalog;
use jackfield_discovery::grants::Grants;
use jackfield_discovery::{Diagnostic, Report};
use jackfield_ledger::Ledger;
use jackfield_policy::{Grant, Policy};
use jackfield_protocol::{CallId, ExtensionId};
use jackfield_runtime::{Runtime, Secrets};
use jackfield_services::Services;
use tokio::sync::{Semaphore, broadcast};

use super::inner::ActiveCall;
use super::{HostEvent, LogLine};
use crate::approver::Approver;
use crate::config::{PythonSettings, ScriptSettings};
use crate::face::{Agent, Face};
use crate::log_sink::LogSink;
use crate::parts::AfterLearn;
use crate::pins::Pins;
use crate::registry::LiveRegistry;
use crate::secrets::SecretSource;
use crate::supervisor::{RestartRule, Supervised};
use crate::ui_messages::Flood;

/// The extensions: which there are, what they contribute, and how they are started.
pub(crate) struct Extensions {
    /// Extensions that a flag names.
    pub(crate) named: Vec<PathBuf>,
    /// Whether there are no others.
    pub(crate) only_named: bool,
    pub(crate) runtimes: Vec<Arc<dyn Runtime>>,
    pub(crate) catalog: Catalog,
    pub(crate) pins: Pins,
    pub(crate) report: ArcSwap<Report>,
    /// Faults of the configuration, for every report.
    pub(crate) warnings: Vec<Diagnostic>,
    pub(crate) all: ArcSwap<BTreeMap<ExtensionId, Arc<Supervised>>>,
    pub(crate) registry: LiveRegistry,
    /// Held while the set of extensions is changed.
    pub(crate) rebuilding: Mutex<()>,
    pub(crate) reloading: tokio::sync::Mutex<()>,
    /// Held while the host asks the runtimes what extensions contribute.
    pub(crate) describing: tokio::sync::Mutex<()>,
    /// Called at the end of every `learn`.
    pub(crate) after_learn: Mutex<Vec<AfterLearn>>,
    pub(crate) restarts: RestartRule,
    /// Where scripts run, and within which bounds.
    pub(crate) scripts: ScriptSettings,
    pub(crate) python: PythonSettings,
    /// Limits how many start at the same time.
    pub(crate) starting: Semaphore,
    /// Numbers the starts.
    pub(crate) starts: AtomicU64,
    /// The folder of each extension that was started.
    pub(crate) own_folders: Mutex<HashMap<ExtensionId, PathBuf>>,
    /// Extensions whose data folders exist.
    pub(crate) with_folders: Mutex<HashSet<ExtensionId>>,
    /// Whether changes of the project are vouched for as they are noticed.
    pub(crate) follows_project: AtomicBool,
}

/// Authority: who may do what, and what a permit buys.
pub(crate) struct Authority {
    pub(crate) policy: Policy,
    pub(crate) grants: Grants,
    /// Grants for this run only.
    pub(crate) run_grants: Mutex<Vec<Grant>>,
    /// What a person refused in this run: hashes over the extension, its need and the whole act.
    pub(crate) refused: Mutex<HashSet<String>>,
    pub(crate) approver: Arc<dyn Approver>,
    /// Held while a person is asked.
    pub(crate) asking: Arc<tokio::sync::Mutex<()>>,
    /// Values that must not reach a log, the ledger or an error.
    pub(crate) secrets: Secrets,
    pub(crate) secret_source: SecretSource,
    pub(crate) services: Services,
}

/// Evidence: the ledger, the log, and the calls that are under way.
pub(crate) struct Records {
    pub(crate) ledger: Ledger,
    pub(crate) log: LogSink,
    pub(crate) run_id: String,
    pub(crate) session_id: String,
    pub(crate) next_call: AtomicU64,
    pub(crate) active: Mutex<HashMap<CallId, ActiveCall>>,
    /// Numbers the events of a session.
    pub(crate) sequence: Mutex<u64>,
    /// Whether the session has begun.
    pub(crate) begun: AtomicBool,
}

/// Faces: the people and agents in front of the host, and how they hear from it.
pub(crate) struct Faces {
    pub(crate) face: Arc<dyn Face>,
    pub(crate) agent: Arc<dyn Agent>,
    /// Whether a person is there to answer.
    pub(crate) interactive: bool,
    pub(crate) events: broadcast::Sender<HostEvent>,
    pub(crate) log_lines: broadcast::Sender<LogLine>,
    /// How many events faces were told.
    pub(crate) published: Mutex<u64>,
    pub(crate) flood: Flood,
}
