//! Extensions in TypeScript: what an engine costs, what loading costs beside real pi, what a call costs beside a bare call of
//! the engine, and how much memory each takes.

mod calls;
mod engine;
pub(crate) mod load;
pub(crate) mod memory;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_host::{Home, Host, HostOptions, Mode, YesToAll};
use jackfield_js::{JsOptions, JsRuntime};
use jackfield_protocol::Isolation;

/// First arguments that make this program a part of itself.
pub(crate) const LOAD: &str = "__load";
pub(crate) const MEMORY: &str = "__memory";
pub(crate) const ENGINE: &str = "__js";

type Part = (&'static str, fn() -> anyhow::Result<()>);

/// `cargo xtask bench js PART` measures one of these.
const PARTS: [Part; 4] =
    [("engine", engine::measure), ("calls", calls::measure), ("memory", memory::measure), ("load", load::measure)];

pub(crate) fn measure() -> anyhow::Result<()> {
    let only: Vec<String> = std::env::args().skip(2).collect();
    let wanted = |name: &str| only.is_empty() || only.iter().any(|word| word == name);
    for (name, measure) in PARTS {
        if wanted(name) {
            measure()?;
        }
    }
    Ok(())
}

/// Starts every extension, whether it is known what it contributes or not, and says how many came up.
async fn start_all(host: &Host) -> usize {
    let mut starts = tokio::task::JoinSet::new();
    for found in &host.report().extensions {
        let (host, id) = (host.clone(), found.manifest.id.clone());
        starts.spawn(async move { host.start(&id, std::time::Duration::from_secs(120)).await });
    }
    starts.join_all().await.into_iter().filter(Result::is_ok).count()
}

/// A host with these scripts and nothing else, put together as the binary does it.
fn open(home: &Path, scripts: Vec<PathBuf>, isolation: Isolation) -> anyhow::Result<Host> {
    fs::create_dir_all(home)?;
    let this = std::env::current_exe()?;
    let runtime = JsRuntime::new(JsOptions {
        cache: Some(home.join("code")),
        isolation,
        child: this.to_str().map(|program| vec![program.to_owned(), ENGINE.to_owned()]),
        ..JsOptions::default()
    });
    let env: BTreeMap<String, String> = std::env::vars().filter(|(name, _)| name == "PATH" || name == "HOME").collect();
    Ok(Host::open(HostOptions {
        ext: scripts,
        mode: Some(Mode::Prompt),
        env,
        runtimes: vec![Arc::new(runtime)],
        approver: Arc::new(YesToAll),
        only_ext: true,
        ..HostOptions::new(Home::at(home), home.to_path_buf())
    })?)
}
