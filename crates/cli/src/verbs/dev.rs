//! `dev`: one screen to work on extensions. Watches their files, says what became of each save, shows what they log, and
//! calls tools that are typed in.

use std::path::PathBuf;
use std::time::Duration;

use jackfield_gateway::lines;
use jackfield_host::{Host, HostEvent, State, ToolCall, Which};
use jackfield_protocol::{CallError, plain_text};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{LEARN_TIMEOUT, call, inspect, reload};
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};

/// Quiet after which a save is complete. Shorter than in a host that runs unattended: somebody waits.
const DEBOUNCE: Duration = Duration::from_millis(50);

const HELP: &str = "TOOL KEY=VALUE… calls a tool; `tools` lists them, `reload` loads everything anew, `quit` ends";

pub(crate) async fn dev(global: &Global, path: Option<PathBuf>) -> anyhow::Result<u8> {
    let mut global = global.clone();
    if let Some(path) = path {
        inspect::exists(&path)?;
        global.ext.push(path);
    }
    let host = compose::open(&global, Scope::All)?;
    host.follow_project();
    let mut events = host.events();
    let mut logged = host.log_lines();
    let watching = host.watch(DEBOUNCE).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?;
    for (path, why) in watching.unwatched() {
        note!("warn: changes in {} are not noticed: {}", plain_text(&path.to_string_lossy()), plain_text(&why));
    }
    let asked_to_end = CancellationToken::new();
    let attended = lines::attend(&host, LEARN_TIMEOUT, asked_to_end.clone(), None);
    host.learn(LEARN_TIMEOUT).await;
    let screen = Screen { global: &global, host: &host };
    screen.begin()?;
    let mut typed = BufReader::new(tokio::io::stdin()).lines();
    let mut reads = true;
    let mut calls: JoinSet<jackfield_host::ToolOutcome> = JoinSet::new();
    let over = crate::signals::ended();
    tokio::pin!(over);
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Ok(event) => screen.event(&event)?,
                Err(RecvError::Lagged(count)) => note!("warn: {count} events were not shown"),
                Err(RecvError::Closed) => break,
            },
            line = logged.recv() => if let Ok(line) = line {
                screen.logged(&line)?;
            },
            line = next(&mut typed), if reads => match line {
                Some(line) => {
                    if screen.typed(&line, &mut calls).await? {
                        break;
                    }
                }
                // Nobody types; saves still matter.
                None => reads = false,
            },
            Some(done) = calls.join_next() => if let Ok(outcome) = done {
                call::show(&global, &outcome)?;
            },
            () = &mut over => break,
            () = asked_to_end.cancelled() => break,
        }
    }
    drop((watching, attended));
    calls.abort_all();
    host.shutdown().await;
    Ok(exit::FINE)
}

async fn next(typed: &mut Lines<BufReader<Stdin>>) -> Option<String> {
    typed.next_line().await.ok().flatten()
}

struct Screen<'a> {
    global: &'a Global,
    host: &'a Host,
}

impl Screen<'_> {
    /// What there is, and what is wrong with it.
    fn begin(&self) -> anyhow::Result<()> {
        if self.global.json {
            let tools: Vec<String> = self.host.snapshot().tools().map(|tool| tool.name.clone()).collect();
            return output::json(&json!({ "type": "ready", "tools": tools }));
        }
        for diagnostic in &self.host.report().diagnostics {
            note!("warn: {}: {}", plain_text(&diagnostic.path.to_string_lossy()), diagnostic.message);
        }
        for found in &self.host.report().extensions {
            if let Some(trouble) = self.host.trouble(&found.manifest.id) {
                note!("error: {}: {}", found.manifest.id, plain_text(&trouble));
            }
        }
        self.tools()?;
        note!("watching; {HELP}");
        Ok(())
    }

    fn tools(&self) -> anyhow::Result<()> {
        for tool in self.host.snapshot().tools() {
            output::plain(&format!("tool {}  {}", tool.name, output::brief(&tool.description, 90)))?;
        }
        Ok(())
    }

    fn event(&self, event: &HostEvent) -> anyhow::Result<()> {
        if self.global.json {
            return output::json(&lines::event_json(event));
        }
        match event {
            HostEvent::Reloaded(reloaded) => output::plain(&reload::sentence(&json!(reloaded))),
            HostEvent::State { extension, state: State::Failed { reason } | State::Restarting { reason, .. } } => {
                output::plain(&format!("{extension}: {}", plain_text(reason)))
            }
            event => {
                call::tell(event);
                Ok(())
            }
        }
    }

    fn logged(&self, line: &jackfield_host::LogLine) -> anyhow::Result<()> {
        if self.global.json {
            return output::json(&json!({ "type": "ext_log", "line": line }));
        }
        let level = json!(line.level);
        let text = format!("{}: {}", level.as_str().unwrap_or("info"), line.message);
        note!("{}", output::said_by(line.extension.as_str(), &text));
        Ok(())
    }

    /// Does what was typed; true when it is time to go.
    async fn typed(&self, line: &str, calls: &mut JoinSet<jackfield_host::ToolOutcome>) -> anyhow::Result<bool> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        match words.split_first() {
            None => {}
            Some((word, [])) if word == "quit" || word == "exit" => return Ok(true),
            Some((word, [])) if word == "help" => note!("{HELP}"),
            Some((word, [])) if word == "tools" => self.tools()?,
            Some((word, [])) if word == "reload" => drop(self.host.reload(Which::All).await),
            Some((word, [tool, pairs @ ..])) if word == "call" => self.call(tool, pairs, line, calls),
            Some((tool, pairs)) => self.call(tool, pairs, line, calls),
        }
        Ok(false)
    }

    fn call(&self, tool: &str, pairs: &[String], line: &str, calls: &mut JoinSet<jackfield_host::ToolOutcome>) {
        // Everything after the name may be one JSON object.
        let object = line.find('{').and_then(|at| serde_json::from_str::<Value>(line.get(at..)?).ok());
        let args = match object.filter(Value::is_object).map_or_else(|| call::from_pairs(pairs), Ok) {
            Ok(args) => args,
            Err(error) => {
                let message =
                    error.downcast_ref::<CallError>().map_or_else(|| error.to_string(), |e| e.message.clone());
                return note!("error: {}", plain_text(&message));
            }
        };
        let call = ToolCall::by_person(tool, args);
        let host = self.host.clone();
        calls.spawn(async move { host.call_tool(call).await });
    }
}
