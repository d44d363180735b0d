//! Every file of `tests/lib` in the real engine, with the real services of a host behind it. A file fails by throwing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_host::{Home, Host, HostOptions, Mode, YesToAll};
use jackfield_js::{JsOptions, JsRuntime};
use jackfield_protocol::{Contributions, Manifest, RuntimeKind};
use jackfield_runtime::{
    BoxFuture, CallCx, Exit, ExtensionCall, HostApi, Instance, Reply, Runtime, StartError, StartSpec, Started, Traits,
};
use libtest_mimic::{Arguments, Failed, Trial};

/// What one file may take; the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each has a host, an engine and perhaps servers of its own.
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

fn trials() -> Vec<Trial> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lib");
    let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => {
            let message = format!("{}: {error}", folder.display());
            return vec![Trial::test("the tests are there", move || Err(message.into()))];
        }
    };
    files.retain(|file| file.extension().is_some_and(|ending| ending == "js"));
    files.sort();
    let name = |file: &Path| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    files.into_iter().map(|file| Trial::test(name(&file), move || run(&file))).collect()
}

fn run(file: &Path) -> Result<(), Failed> {
    let tasks = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = tasks.block_on(run_in_a_host(file));
    // A file that failed may have left something that waits.
    tasks.shutdown_timeout(Duration::from_secs(1));
    outcome.map_err(Failed::from)
}

async fn run_in_a_host(file: &Path) -> Result<(), String> {
    let words = |error: std::io::Error| error.to_string();
    let place = tempfile::Builder::new().prefix("jackfield-lib").tempdir().map_err(words)?;
    let place = place.path().canonicalize().map_err(words).map(|path| (place, path))?;
    let (project, user) = (place.1.join("project"), place.1.join("user"));
    for folder in [&project, &user] {
        std::fs::create_dir(folder).map_err(words)?;
    }
    let files = Arc::new(Files { engine: JsRuntime::new(JsOptions::default()), outcome: Mutex::new(None) });
    let mut env: BTreeMap<String, String> =
        std::env::vars().filter(|(name, _)| name == "PATH" || name == "LANG").collect();
    env.insert("HOME".to_owned(), user.to_string_lossy().into_owned());
    let host = Host::open(HostOptions {
        ext: vec![file.to_path_buf()],
        mode: Some(Mode::Permissive),
        env,
        runtimes: vec![Arc::clone(&files) as Arc<dyn Runtime>],
        approver: Arc::new(YesToAll),
        only_ext: true,
        ..HostOptions::new(Home::at(place.1.join("home")), project)
    })
    .map_err(|error| error.to_string())?;
    let found = host.report().extensions.first().map(|found| found.manifest.id.clone());
    let found = found.ok_or_else(|| format!("{} is not an extension", file.display()))?;
    let started = host.start(&found, PATIENCE).await;
    let outcome = files.outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
    host.shutdown().await;
    match outcome {
        Some(outcome) => outcome,
        None => Err(started.err().map_or_else(|| "it was not run".to_owned(), |error| error.message)),
    }
}

/// Runs files as the engine does for an extension, without pi's API around them.
struct Files {
    engine: JsRuntime,
    outcome: Mutex<Option<Result<(), String>>>,
}

impl Runtime for Files {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Js
    }

    fn traits(&self, manifest: &Manifest) -> Traits {
        self.engine.traits(manifest)
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        Box::pin(async move {
            let ran = tokio::time::timeout(PATIENCE, self.engine.run_file(spec, host)).await;
            let ran = ran.unwrap_or_else(|_| Err(format!("it did not end within {PATIENCE:?}")));
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(ran);
            Ok(Started { instance: Arc::new(Ran), contributions: Contributions::default() })
        })
    }
}

/// A file that has run is over.
struct Ran;

impl Instance for Ran {
    fn call(&self, _call: ExtensionCall, _cx: CallCx) -> BoxFuture<'_, Result<Reply, jackfield_protocol::CallError>> {
        Box::pin(async { Ok(Reply::Done) })
    }

    fn notify(&self, _event: &jackfield_protocol::Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async { Exit { wanted: true, ..Exit::default() } })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }

    fn pid(&self) -> Option<u32> {
        None
    }
}
