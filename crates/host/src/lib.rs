//! jackfield's host: finds extensions, starts them in the runtime that fits, watches over them, judges and records what
//! they ask for, and offers what they contribute to any face.
//!
//! The host runs no extension code and speaks no wire format: runtimes do. It opens no socket and draws nothing: faces do.
//! Start at [`Host`], then read `call.rs`: it is the whole path of a tool call.

mod approver;
mod call;
mod catalog;
mod discovery;
mod gate;
mod grants;
mod home;
mod hooks;
mod install;
mod ledger;
mod policy;
mod registry;
mod schema;
mod services;
mod supervisor;
mod trust;
mod watch;

pub use discovery::{
    AGENT_VERSION, Diagnostic, DiagnosticLevel, DiscoveryInput, DiscoverySettings, Found, Origin, Report, Standing,
    WatchSettings, check_one, child_env, content_hash, discover, discover_cached, known_secrets, load_one, quick_stamp,
};
pub use home::Home;
pub use install::{InstallError, InstallOptions, Installed, Installer};
pub use trust::{Trust, TrustError, TrustState};
