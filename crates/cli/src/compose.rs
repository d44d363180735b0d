//! The composition root: the only place that builds a host and hands it its runtimes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use jackfield_channels::Channels;
use jackfield_host::{
    Agent, Approver, Face, Home, Host, HostOptions, NoAgent, OpenError, PythonSettings, SecretPlaces,
};
use jackfield_js::{JsOptions, JsRuntime};
use jackfield_mcp::{Elsewhere, Logins, McpOptions, McpRuntime, Store};
use jackfield_process::{Keeper, ProcessOptions, ProcessRuntime, PythonOptions, reap_leftovers};
use jackfield_protocol::{CallError, ErrorCode, Isolation};
use jackfield_wasm::{WasmOptions, WasmRuntime};

use crate::approve::approver;
use crate::args::Global;
use crate::dialog::face;

/// The hidden first argument that makes this binary a keeper of one child process.
pub(crate) const KEEPER_WORD: &str = "__keep";

/// The hidden first argument that makes this binary the engine of one JavaScript extension.
pub(crate) const ENGINE_WORD: &str = "__js";

/// The hidden first argument that makes this binary the compiler of one WASM component.
pub(crate) const COMPILER_WORD: &str = "__compile";

/// Which extensions a host looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// All that discovery finds.
    All,
    /// Only those named with `-e`.
    Named,
}

/// Who is at the other end of a host.
pub(crate) struct Company {
    pub(crate) face: Arc<dyn Face>,
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) session_file: Option<PathBuf>,
    /// Who is asked for permission, if not whoever the command line says.
    pub(crate) approver: Option<Arc<dyn Approver>>,
}

/// Opens a host as the command line describes it, with the person at the terminal if there is one.
pub(crate) fn open(global: &Global, reach: Reach) -> anyhow::Result<Host> {
    open_for(global, reach, Company { face: face(), agent: Arc::new(NoAgent), session_file: None, approver: None })
}

/// Opens a host for somebody.
pub(crate) fn open_for(global: &Global, reach: Reach, company: Company) -> anyhow::Result<Host> {
    let Company { face, agent, session_file, approver: own_approver } = company;
    let (home, project) = (home(global)?, project(global)?);
    reap_leftovers(&home.run());
    let runtime = ProcessRuntime::new(ProcessOptions {
        keeper: keeper(),
        run_dir: Some(home.run()),
        python: Some(PythonOptions { code: home.code(), interpreter: python(&home)?.interpreter }),
        ..ProcessOptions::default()
    });
    let servers = McpRuntime::new(McpOptions {
        process: ProcessOptions { keeper: keeper(), run_dir: Some(home.run()), ..ProcessOptions::default() },
        env: Arc::new(environment()),
        elsewhere: elsewhere(&home, &project),
        logins: Logins { store: Some(logins(&home)), ..Logins::default() },
    });
    let scripts = JsRuntime::new(JsOptions {
        cache: Some(home.code()),
        isolation: Isolation::Process,
        child: ourselves(ENGINE_WORD),
        ..JsOptions::default()
    });
    let options = HostOptions {
        project,
        ext: global.ext.clone(),
        mode: global.policy,
        env: environment(),
        runtimes: vec![Arc::new(runtime), Arc::new(scripts), Arc::new(components(&home)), Arc::new(servers)],
        approver: own_approver.unwrap_or_else(|| approver(global.yes)),
        face,
        agent,
        session_file,
        interactive: false,
        only_ext: reach == Reach::Named,
        keeper: std::env::current_exe().ok(),
        home,
    };
    let host = Host::open(options).map_err(not_opened)?;
    if reach != Reach::Named {
        Channels::new(&host).offer_tools();
    }
    Ok(host)
}

fn not_opened(error: OpenError) -> anyhow::Error {
    match error {
        OpenError::Config(message) => CallError::new(ErrorCode::InvalidConfig, message).into(),
        OpenError::Home { .. } => CallError::new(ErrorCode::Io, error.to_string()).into(),
        OpenError::Ledger(error) => CallError::new(ErrorCode::Io, error.to_string()).into(),
    }
}

/// What the configuration says about Python. The file is read here and once more by the host; it is small.
fn python(home: &Home) -> anyhow::Result<PythonSettings> {
    PythonSettings::of(home).map_err(not_opened)
}

/// Where credentials for MCP servers are kept.
pub(crate) fn logins(home: &Home) -> Store {
    Store::at(home.secret("mcp"))
}

/// What a person keeps, for the variables of MCP servers.
pub(crate) fn elsewhere(home: &Home, project: &Path) -> Elsewhere {
    let secrets = SecretPlaces::of(home, Some(project));
    Elsewhere::new(move |name| secrets.get(name).map_err(|error| error.to_string()))
}

/// The names of what a person keeps. Whoever wants the value of one is told what is wrong with it.
pub(crate) fn secret_names(home: &Home, project: &Path) -> BTreeSet<String> {
    SecretPlaces::of(home, Some(project)).names().unwrap_or_default().into_keys().collect()
}

/// The runtime for WASM components.
pub(crate) fn components(home: &Home) -> WasmRuntime {
    WasmRuntime::new(WasmOptions {
        cache: Some(home.code()),
        compiler: ourselves(COMPILER_WORD),
        ..WasmOptions::default()
    })
}

/// This binary with a hidden word before its arguments.
fn ourselves(word: &str) -> Option<Vec<String>> {
    let program = std::env::current_exe().ok()?;
    Some(vec![program.to_str()?.to_owned(), word.to_owned()])
}

fn keeper() -> Option<Keeper> {
    let program = std::env::current_exe().ok()?;
    Some(Keeper { program, args: vec![KEEPER_WORD.to_owned()] })
}

/// Variables whose names and values are text; others cannot be passed on faithfully and are left out.
pub(crate) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// `--home`, else the platform's place for application state.
pub(crate) fn home(global: &Global) -> anyhow::Result<Home> {
    if let Some(home) = &global.home {
        return Ok(Home::at(std::path::absolute(home)?));
    }
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = variable("HOME").or_else(|| variable("USERPROFILE"));
    let place = if cfg!(target_os = "macos") {
        user.map(|user| user.join("Library/Application Support/jackfield"))
    } else if cfg!(windows) {
        variable("LOCALAPPDATA").map(|data| data.join("jackfield"))
    } else {
        variable("XDG_STATE_HOME")
            .map(|state| state.join("jackfield"))
            .or_else(|| user.map(|user| user.join(".local/state/jackfield")))
    };
    let place = place.context("no home directory is set; name one with --home DIR or JACKFIELD_HOME")?;
    Ok(Home::at(place))
}

/// `--project`, else the current directory.
pub(crate) fn project(global: &Global) -> anyhow::Result<PathBuf> {
    let project = match &global.project {
        Some(project) => project.clone(),
        None => std::env::current_dir().context("the current directory is gone; name one with --project")?,
    };
    project.canonicalize().map_err(|error| {
        let message = format!("cannot use the project directory {}: {error}", project.display());
        CallError::new(ErrorCode::NotFound, message).into()
    })
}
