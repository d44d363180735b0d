//! The runtimes that this build has, and the options that a builder gives them.
//!
//! Take the options of a runtime, change one, and hand the runtime to [`HostBuilder::runtime`](crate::HostBuilder::runtime):
//! it takes the place of the builder's own.

#[cfg(feature = "mcp")]
use std::{collections::BTreeMap, path::Path, sync::Arc};

#[cfg(any(feature = "process", feature = "js", feature = "wasm"))]
use crate::{Children, Home};

#[cfg(feature = "js")]
pub use jackfield_js::{JsOptions, JsRuntime};
#[cfg(feature = "mcp")]
pub use jackfield_mcp::{ClientSetup, Consent, Elsewhere, Logins, McpOptions, McpRuntime, Store};
#[cfg(feature = "process")]
pub use jackfield_process::{Keeper, ProcessOptions, ProcessRuntime, PythonOptions};
#[cfg(feature = "wasm")]
pub use jackfield_wasm::{WasmOptions, WasmRuntime};

/// The options for extensions that are programs or Python files.
///
/// # Errors
/// [`OpenError::Config`](crate::OpenError::Config) when the configuration of the home is wrong: it may name the interpreter.
#[cfg(feature = "process")]
pub fn process_options(home: &Home, children: &Children) -> Result<ProcessOptions, crate::OpenError> {
    let interpreter = jackfield_host::PythonSettings::of(home)?.interpreter;
    let python = Some(PythonOptions { code: home.code(), interpreter });
    Ok(ProcessOptions { python, ..kept_options(home, children) })
}

/// The options for any program: it has a keeper, and a note from which a later host ends it.
#[cfg(feature = "process")]
fn kept_options(home: &Home, children: &Children) -> ProcessOptions {
    let keeper = |program| Keeper { program, args: vec![crate::child::KEEPER_WORD.to_owned()] };
    let keeper = children.program().map(keeper);
    ProcessOptions { keeper, run_dir: Some(home.run()), ..ProcessOptions::default() }
}

/// The options for scripts: each runs in a process of its own, and compiled code is cached in the home.
#[cfg(feature = "js")]
pub fn js_options(home: &Home, children: &Children) -> JsOptions {
    JsOptions {
        cache: Some(home.code()),
        isolation: jackfield_protocol::Isolation::Process,
        child: children.command(crate::child::ENGINE_WORD),
        ..JsOptions::default()
    }
}

/// The options for WASM components: native code is cached in the home.
#[cfg(feature = "wasm")]
pub fn wasm_options(home: &Home, children: &Children) -> WasmOptions {
    WasmOptions {
        cache: Some(home.code()),
        compiler: children.command(crate::child::COMPILER_WORD),
        ..WasmOptions::default()
    }
}

/// The options for MCP servers: credentials are in the home, variables come from `env` and from the person's secrets.
#[cfg(feature = "mcp")]
pub fn mcp_options(home: &Home, project: &Path, env: BTreeMap<String, String>, children: &Children) -> McpOptions {
    McpOptions {
        process: kept_options(home, children),
        env: Arc::new(env),
        elsewhere: mcp_variables(home, project),
        logins: Logins { store: Some(mcp_credentials(home)), ..Logins::default() },
    }
}

/// Where the credentials for MCP servers are.
#[cfg(feature = "mcp")]
pub fn mcp_credentials(home: &Home) -> Store {
    Store::at(home.secret("mcp"))
}

/// The person's secrets, for variables in the settings of MCP servers that the environment does not have.
#[cfg(feature = "mcp")]
pub fn mcp_variables(home: &Home, project: &Path) -> Elsewhere {
    let secrets = jackfield_host::SecretPlaces::of(home, Some(project));
    Elsewhere::new(move |name| secrets.get(name).map_err(|error| error.to_string()))
}
