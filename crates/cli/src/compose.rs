//! Opens hosts as the command line describes them. The facade composes them; this module knows the flags.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield::{Children, OpenError};
use jackfield_host::{Agent, Approver, Face, Home, Host, NoAgent, SecretPlaces};
use jackfield_protocol::{CallError, ErrorCode};
use jackfield_wasm::WasmRuntime;

use crate::approve::approver;
use crate::args::Global;
use crate::dialog::face;

/// Which extensions a host looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All that discovery finds.
    All,
    /// Only those named with `-e`.
    Named,
}

/// Who uses a host, and who is asked questions.
pub(crate) struct Frontend {
    pub(crate) face: Arc<dyn Face>,
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) session_file: Option<PathBuf>,
    /// Who is asked for permission, if not whoever the command line says.
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

/// Opens a host as the command line describes it, with the person at the terminal if there is one.
pub(crate) fn open(global: &Global, scope: Scope) -> anyhow::Result<Host> {
    open_for(global, scope, Frontend { face: face(), agent: Arc::new(NoAgent), session_file: None, approver: None })
}

/// Opens a host for a front end.
pub(crate) fn open_for(global: &Global, scope: Scope, frontend: Frontend) -> anyhow::Result<Host> {
    let Frontend { face, agent, session_file, approver: own_approver } = frontend;
    let mut builder = jackfield::Host::builder()
        .home(home(global)?.root())
        .project(project(global)?)
        .approver(own_approver.unwrap_or_else(|| approver(global.yes)))
        .face(face)
        .agent(agent);
    for path in &global.ext {
        builder = builder.extension(path);
    }
    if let Some(mode) = global.policy {
        builder = builder.policy(mode);
    }
    if let Some(file) = session_file {
        builder = builder.session_file(file);
    }
    if scope == Scope::Named {
        builder = builder.only_named_extensions();
    }
    Ok(builder.open().map_err(not_opened)?.into_inner())
}

/// The facade's error, with the flag that helps and the exit code that scripts rely on.
fn not_opened(error: OpenError) -> anyhow::Error {
    let message = error.to_string();
    let (code, message) = match error {
        OpenError::Config(_) => (ErrorCode::InvalidConfig, message),
        OpenError::Home { .. } => (ErrorCode::Io, format!("{message}; choose another place with --home")),
        OpenError::Ledger(_) => (ErrorCode::Io, message),
        OpenError::Project { .. } => (ErrorCode::NotFound, message),
        OpenError::NoHome => {
            return anyhow::anyhow!("no home directory is set; name one with --home DIR or JACKFIELD_HOME");
        }
        OpenError::NoProject(error) => {
            return anyhow::Error::new(error).context("the current directory is gone; name one with --project");
        }
        error => return error.into(),
    };
    CallError::new(code, message).into()
}

/// The names of the person's secrets. The use of a secret says what is wrong with its value.
pub(crate) fn secret_names(home: &Home, project: &Path) -> BTreeSet<String> {
    SecretPlaces::of(home, Some(project)).names().unwrap_or_default().into_keys().collect()
}

/// The runtime for WASM components, as a host has it.
pub(crate) fn components(home: &Home) -> WasmRuntime {
    WasmRuntime::new(jackfield::runtimes::wasm_options(home, &Children::default()))
}

/// `--home`, else the platform's place for application state.
pub(crate) fn home(global: &Global) -> anyhow::Result<Home> {
    match &global.home {
        Some(home) => Ok(Home::at(std::path::absolute(home)?)),
        None => jackfield::default_home().map_err(not_opened),
    }
}

/// `--project`, else the current directory.
pub(crate) fn project(global: &Global) -> anyhow::Result<PathBuf> {
    jackfield::project_dir(global.project.as_deref()).map_err(not_opened)
}
