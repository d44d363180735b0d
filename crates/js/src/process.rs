//! An engine in a child process of our own binary: the same messages, as lines of JSON on its pipes.
//!
//! The child ends itself when its input ends, so it does not outlive the host, whatever its script does.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use jackfield_runtime::{HostApi, LogFile, StartError, StartSpec};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};

use crate::guard::Guard;
use crate::hub::Hub;
use crate::instance::{Engine, Killer};
use crate::isolate::{self, START, Setup};
use crate::messages::{ToHost, ToJs};
use crate::{CodeCache, STACK};

/// The first line that a child reads.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    setup: Setup,
    cache: Option<PathBuf>,
    slice_ms: u64,
}

/// Kills the process of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Kill(tokio_util::sync::CancellationToken);

impl Kill {
    pub(crate) fn now(&self) {
        self.0.cancel();
    }
}

/// Starts an engine in a child.
pub(crate) fn start(
    command: &[String],
    setup: &Setup,
    cache: Option<&Path>,
    slice: Duration,
    spec: &StartSpec,
    host: Arc<dyn HostApi>,
    log: LogFile,
) -> Result<Engine, StartError> {
    let refused = |text: String| StartError::NotRunnable(format!("extension {}: {text}", spec.manifest.id));
    let (program, args) = command.split_first().ok_or_else(|| refused("no program for its engine".to_owned()))?;
    let mut child = tokio::process::Command::new(program)
        .args(args)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| refused(format!("cannot start {program} for its engine: {error}")))?;
    let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(refused("its engine's process has no pipes".to_owned()));
    };
    let (sender, mut outbound) = tokio::sync::mpsc::unbounded_channel::<ToJs>();
    let hub = Hub::new(spec.manifest.id.clone(), host, log, move |message| sender.send(message).is_ok());
    let started = hub.expect(START);
    let kill = Kill(tokio_util::sync::CancellationToken::new());
    let pid = child.id();
    let order = Order {
        setup: setup.clone(),
        cache: cache.map(Path::to_path_buf),
        slice_ms: u64::try_from(slice.as_millis()).unwrap_or(u64::MAX),
    };
    let mut first =
        serde_json::to_vec(&order).map_err(|error| refused(format!("its order cannot be written: {error}")))?;
    first.push(b'\n');
    tokio::spawn(async move {
        if stdin.write_all(&first).await.is_err() {
            return;
        }
        while let Some(message) = outbound.recv().await {
            let Ok(mut line) = serde_json::to_vec(&message) else { continue };
            line.push(b'\n');
            if stdin.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    let (reader, wanted) = (Arc::clone(&hub), kill.clone());
    tokio::spawn(async move {
        let mut lines = tokio::io::BufReader::with_capacity(64 * 1024, stdout);
        let mut line = Vec::new();
        let mut said = None;
        loop {
            line.clear();
            let read = tokio::select! {
                read = lines.read_until(b'\n', &mut line) => read,
                () = wanted.0.cancelled() => break,
            };
            match read {
                Ok(0) | Err(_) => break,
                // Only our own binary writes here; what it did not write whole is of no use.
                Ok(_) => match serde_json::from_slice::<ToHost>(&line) {
                    Ok(ToHost::Gone { reason }) => said = Some(reason),
                    Ok(message) => reader.take(message),
                    Err(_) => continue,
                },
            }
        }
        child.start_kill().ok();
        let status = child.wait().await;
        let mut tail = Vec::new();
        stderr.read_to_end(&mut tail).await.ok();
        reader.log.said("error", &String::from_utf8_lossy(&tail));
        let reason = match (said, wanted.0.is_cancelled()) {
            (Some(reason), _) => reason,
            (None, true) => "killed by the host".to_owned(),
            (None, false) => match status {
                Ok(status) => format!("its engine's process went: {status}"),
                Err(error) => format!("its engine's process went: {error}"),
            },
        };
        reader.gone(&reason, false);
    });
    Ok(Engine { hub, killer: Killer::Process(kill), pid, started })
}

/// What the child does: reads its order from standard input, runs the engine, and returns when it is over.
pub fn child() {
    let mut input = std::io::stdin().lock();
    let mut first = String::new();
    if input.read_line(&mut first).is_err() {
        return;
    }
    let Ok(order) = serde_json::from_str::<Order>(&first) else { return };
    drop(input);
    let (sender, mail) = mpsc::channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if let Ok(message) = serde_json::from_str::<ToJs>(&line) {
                // An engine that has ended says so itself.
                sender.send(message).ok();
            }
        }
        // The host has gone: nobody is left to work for.
        std::process::exit(0);
    });
    let cache = Arc::new(order.cache.as_deref().map(CodeCache::at).unwrap_or_default());
    let guard = Arc::new(Guard::new(Duration::from_millis(order.slice_ms)));
    let watched = Arc::clone(&guard);
    std::thread::spawn(move || {
        while !watched.is_stuck() {
            std::thread::sleep(watched.look_every());
        }
        say(&ToHost::Gone { reason: watched.stuck() });
        std::process::exit(0);
    });
    let work = move || {
        let gone = |reason| {
            say(&ToHost::Gone { reason });
            // The memory goes with the process.
            std::process::exit(0);
        };
        match isolate::Prepared::new(&order.setup.library, cache) {
            Ok(prepared) => {
                isolate::run(prepared, &order.setup, guard, mail, Rc::new(|message| say(&message)), gone);
            }
            Err(why) => gone(why),
        }
    };
    if let Ok(engine) = std::thread::Builder::new().name("js".to_owned()).stack_size(STACK).spawn(work) {
        engine.join().ok();
    }
}

/// Writes a message to the host.
fn say(message: &ToHost) {
    let Ok(mut line) = serde_json::to_vec(message) else { return };
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).ok();
}
