//! Servers that are child processes: a message is a line.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_process::{KeptChild, KeptLine, KeptLines, ProcessOptions};
use jackfield_protocol::{CallError, is_secret_name};
use jackfield_runtime::{BoxFuture, Exit, HostApi, Secrets, StartError, StartSpec};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::life::{Connection, Life};
use crate::link::{Incoming, Link, Outgoing};
use crate::session::lock;
use crate::vars::Vars;

/// Messages that may wait to be looked at; what is more waits in the pipe.
const QUEUE: usize = 16;
/// Requests whose places in the pipe are remembered.
const MOST_PLACES: usize = 4096;

/// What a child is started with, its variables filled in.
pub(crate) struct Order {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) spec: StartSpec,
}

impl Order {
    /// Fills in the variables of a server's settings. Its own variables come on top of the environment of every child.
    ///
    /// # Errors
    /// A variable is not set.
    pub(crate) fn of(
        mut spec: StartSpec,
        vars: &Vars<'_>,
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        cwd: Option<&str>,
    ) -> Result<Self, StartError> {
        let id = spec.manifest.id.clone();
        let fail = |error| StartError::NotRunnable(format!("extension {id}: {error}"));
        let command = vars.fill(command, "command").map_err(fail)?;
        let is_path = command.contains(std::path::is_separator);
        let command = if is_path { spec.dir.join(command).to_string_lossy().into_owned() } else { command };
        let args = args.iter().map(|arg| vars.fill(arg, "args")).collect::<Result<_, _>>().map_err(fail)?;
        let mut secrets = Vec::new();
        for (name, value) in env {
            let filled = vars.fill(value, &format!("env.{name}")).map_err(fail)?;
            if filled.contains('\0') || name.is_empty() || name.contains(['=', '\0']) {
                return Err(fail(format!("env.{name} cannot be a variable")));
            }
            // What was filled in came from the host's environment, and what is called like a secret is one.
            if (is_secret_name(name) || *value != filled) && filled.chars().count() >= 8 {
                secrets.push(filled.clone());
            }
            spec.env.retain(|(known, _)| known != name);
            spec.env.push((name.clone(), filled));
        }
        if !secrets.is_empty() {
            secrets.extend(spec.secrets.now().iter().cloned());
            spec.secrets = Secrets::of(secrets);
        }
        if let Some(cwd) = cwd {
            let cwd = vars.fill(cwd, "cwd").map_err(fail)?;
            spec.dir = spec.dir.join(Path::new(&cwd));
            if !spec.dir.is_dir() {
                return Err(fail(format!("its working directory {} is not there", spec.dir.display())));
            }
            if let Some((_, pwd)) = spec.env.iter_mut().find(|(name, _)| name == "PWD") {
                *pwd = spec.dir.to_string_lossy().into_owned();
            }
        }
        Ok(Self { command, args, spec })
    }
}

/// Starts the child.
///
/// # Errors
/// The program is not there, cannot be run, or the system refused to start it.
pub(crate) fn connect(
    options: &ProcessOptions,
    order: &Order,
    host: Arc<dyn HostApi>,
) -> Result<Connection, StartError> {
    let (child, lines) = KeptChild::start(options, order.spec.clone(), host, &order.command, &order.args)?;
    let warnings = child.warnings().to_vec();
    let child = Arc::new(Stdio { child, places: Mutex::default() });
    let (sender, incoming) = mpsc::channel(QUEUE);
    tokio::spawn(read_on(Arc::clone(&child), lines, sender));
    Ok(Connection { link: Arc::clone(&child) as Arc<dyn Link>, incoming, life: child, warnings })
}

async fn read_on(child: Arc<Stdio>, mut lines: KeptLines, sender: mpsc::Sender<Incoming>) {
    let longest = lines.longest() as u64;
    while let Some(line) = lines.next().await {
        let message = match line {
            // A byte that is no text spoils its character, not the message.
            KeptLine::Whole(line) => Incoming::Message(String::from_utf8_lossy(line).into_owned()),
            KeptLine::TooLong => Incoming::TooLong(longest),
        };
        if sender.send(message).await.is_err() {
            return;
        }
    }
    let exit = child.child.exited().await;
    let tail = if exit.stderr.is_empty() { String::new() } else { format!("; stderr ends: {}", exit.stderr) };
    // Nobody may be left to hear it.
    sender.send(Incoming::Closed(format!("{}{tail}", exit.reason))).await.ok();
}

/// A child as a link.
struct Stdio {
    child: KeptChild,
    /// Where requests begin in all that was sent, while they are waited for.
    places: Mutex<BTreeMap<u64, u64>>,
}

impl Link for Stdio {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move {
            let mut line = message.text.into_bytes();
            line.push(b'\n');
            let place = self.child.send(line).await?;
            if let Some(request) = message.request.as_ref().and_then(Value::as_u64) {
                let mut places = lock(&self.places);
                places.insert(request, place);
                while places.len() > MOST_PLACES {
                    places.pop_first();
                }
            }
            Ok(())
        })
    }

    fn forget(&self, request: &Value) {
        if let Some(request) = request.as_u64() {
            lock(&self.places).remove(&request);
        }
    }
}

impl Life for Stdio {
    fn note(&self, text: &str) {
        self.child.note(text);
    }

    fn clean(&self, text: &str) -> String {
        self.child.clean(text)
    }

    fn tail(&self) -> String {
        self.child.tail()
    }

    fn pid(&self) -> Option<u32> {
        Some(self.child.pid())
    }

    fn never_got(&self, request: &Value) -> bool {
        let place = request.as_u64().and_then(|request| lock(&self.places).get(&request).copied());
        place.is_some_and(|place| self.child.never_got(place))
    }

    fn has_read_all(&self) -> Option<bool> {
        self.child.has_read_all()
    }

    fn settled(&self) {
        self.child.watch_vitals();
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(self.child.stop(grace))
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.child.kill())
    }

    fn abandon(&self) {
        self.child.abandon();
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.child.exited())
    }
}
