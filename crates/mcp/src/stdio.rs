//! Servers that are child processes: a message is a line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_process::{ChildLine, ChildLines, ProcessOptions, SupervisedChild};
use jackfield_protocol::{CallError, is_secret_name};
use jackfield_runtime::{BoxFuture, Exit, HostApi, Secrets, StartError, StartSpec};
use serde_json::Value;

use crate::server_handle::{Connection, Incoming, ServerHandle};
use crate::session::lock;
use crate::transport::{Outgoing, Sending, Transport};
use crate::vars::Vars;

/// Requests whose places in the pipe are remembered.
const MOST_PLACES: usize = 4096;

/// What a child is started with, its variables filled in.
pub(crate) struct LaunchPlan {
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) spec: StartSpec,
}

impl LaunchPlan {
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
    plan: &LaunchPlan,
    host: Arc<dyn HostApi>,
) -> Result<Connection, StartError> {
    let (child, lines) = SupervisedChild::start(options, plan.spec.clone(), host, &plan.command, &plan.args)?;
    let warnings = child.warnings().to_vec();
    let child = Arc::new(Stdio { child, places: Mutex::default() });
    let incoming = Incoming::Child(ChildFeed { child: Arc::clone(&child), lines });
    Ok(Connection { transport: Arc::clone(&child) as Arc<dyn Transport>, incoming, server: child, warnings })
}

/// What a child says, line by line.
pub(crate) struct ChildFeed {
    child: Arc<Stdio>,
    lines: ChildLines,
}

/// One thing that it says.
pub(crate) enum ChildOutput<'a> {
    /// A message as it was written. A byte that is no text spoils its character, not the message.
    Message(Cow<'a, str>),
    /// A message of this many bytes was too long to be read.
    TooLong(u64),
    /// It says no more, and why.
    Closed(String),
}

impl ChildFeed {
    /// The next thing.
    pub(crate) async fn next(&mut self) -> ChildOutput<'_> {
        let longest = self.lines.longest() as u64;
        match self.lines.next().await {
            Some(ChildLine::Whole(line)) => ChildOutput::Message(String::from_utf8_lossy(line)),
            Some(ChildLine::TooLong) => ChildOutput::TooLong(longest),
            None => {
                let exit = self.child.child.exited().await;
                let tail =
                    if exit.stderr.is_empty() { String::new() } else { format!("; stderr ends: {}", exit.stderr) };
                ChildOutput::Closed(format!("{}{tail}", exit.reason))
            }
        }
    }
}

/// A child as a transport.
pub(crate) struct Stdio {
    child: SupervisedChild,
    /// Where requests begin in all that was sent, while they are waited for.
    places: Mutex<BTreeMap<u64, u64>>,
}

impl Stdio {
    fn remember(&self, request: u64, place: u64) {
        let mut places = lock(&self.places);
        places.insert(request, place);
        while places.len() > MOST_PLACES {
            places.pop_first();
        }
    }
}

fn as_line(text: String) -> Vec<u8> {
    let mut line = text.into_bytes();
    line.push(b'\n');
    line
}

impl Transport for Stdio {
    fn send(&self, message: Outgoing) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move {
            let place = self.child.send(as_line(message.text)).await?;
            if let Some(request) = message.request.as_ref().and_then(Value::as_u64) {
                self.remember(request, place);
            }
            Ok(())
        })
    }

    fn hand(&self, request: u64, text: String, _method: &str, _subject: Option<&str>) -> Sending<'_> {
        match self.child.send_now(as_line(text)) {
            Some(sent) => Sending::Done(sent.map(|place| self.remember(request, place))),
            None => Sending::Later(Box::pin(async move { Err(self.child.why_closed().await) })),
        }
    }

    fn forget(&self, request: &Value) {
        if let Some(request) = request.as_u64() {
            lock(&self.places).remove(&request);
        }
    }
}

impl ServerHandle for Stdio {
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

    fn is_gone(&self) -> bool {
        self.child.is_gone()
    }
}
