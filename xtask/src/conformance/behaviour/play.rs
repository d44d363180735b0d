//! jackfield plays a script: `jackfield rpc` with the example, a person who answers from the script, and an agent that
//! records.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

use super::Script;
use super::oracle::{add, places, tidied};
use super::project::Project;

/// How long a step may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long records that pi gave are waited for after the step has ended.
const LATE: Duration = Duration::from_secs(5);

/// What the agent is asked to do; what it is merely asked about is left out.
const DEEDS: [&str; 13] = [
    "send_message",
    "send_user_message",
    "set_model",
    "set_thinking",
    "compact",
    "abort",
    "shutdown",
    "new_session",
    "fork",
    "navigate",
    "switch",
    "reload",
    "complete",
];

/// A host that listens.
struct Host {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Value>,
    records: Vec<Value>,
    answers: std::vec::IntoIter<Value>,
    cwd: PathBuf,
    /// As listed at the start.
    tools: Vec<Value>,
}

impl Drop for Host {
    fn drop(&mut self) {
        // It may have ended already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Plays a script; what was seen, comparable.
pub(super) fn play(jackfield: &Path, example: &Path, script: &Script, expected: &Value) -> anyhow::Result<Value> {
    let project = Project::new(script, "jackfield")?;
    let mut host = Host::start(jackfield, example, script, &project)?;
    let mut greeted = json!({ "start": true });
    if let (Some(greeted), Some(start)) = (greeted.as_object_mut(), script.content.get("start")) {
        greeted.extend(without(start.clone(), &[]));
    }
    let mut steps = Vec::new();
    for (at, step) in std::iter::once(&greeted).chain(script.steps()).enumerate() {
        let given = expected.get("steps").and_then(|steps| steps.get(at)).and_then(|step| step.get("records"));
        let given = given.and_then(Value::as_array).map_or(0, Vec::len);
        host.answers = step.get("answers").and_then(Value::as_array).cloned().unwrap_or_default().into_iter();
        let result = host.step(at, step).with_context(|| format!("step {at}: {step}"))?;
        host.wait_for_records(given)?;
        steps.push(json!({ "result": result, "records": std::mem::take(&mut host.records) }));
    }
    host.end()?;
    let mut seen = json!({ "steps": steps });
    project.finish(script, &mut seen)?;
    let examples =
        if example.ends_with("index.ts") { example.parent().and_then(Path::parent) } else { example.parent() };
    Ok(places(&project, examples.unwrap_or(example)).value(&tidied(seen)))
}

impl Host {
    fn start(jackfield: &Path, example: &Path, script: &Script, project: &Project) -> anyhow::Result<Self> {
        let mut command = project.command(jackfield);
        command.args(["--policy", "permissive", "--home"]).arg(project.aside("state")).arg("-e").arg(example);
        command.args(["rpc", "--record-agent"]);
        if let Some(file) = project.session_file() {
            command.arg("--session").arg(file);
        }
        if let Some(answers) = script.content.get("agent").and_then(Value::as_object) {
            let file = project.aside("answers.json");
            std::fs::write(&file, agent_answers(answers).to_string())?;
            command.arg("--agent-answers").arg(file);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().with_context(|| format!("cannot start {}", jackfield.display()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { bail!("no pipes") };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "type": "garbage", "line": line }));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            input,
            lines,
            records: Vec::new(),
            answers: Vec::new().into_iter(),
            cwd: project.dir(),
            tools: Vec::new(),
        })
    }

    fn send(&mut self, line: &Value) -> anyhow::Result<()> {
        writeln!(self.input, "{line}").context("jackfield no longer reads")
    }

    /// One step, until it is answered.
    fn step(&mut self, at: usize, step: &Value) -> anyhow::Result<Value> {
        let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
        let data = |key: &str| step.get(key).cloned().unwrap_or_else(|| json!({}));
        let mut request = if step.get("event").is_some() {
            json!({ "type": "ask", "event": text("event"), "data": self.event_data(text("event"), data("data")) })
        } else if step.get("tool").is_some() {
            json!({ "type": "call_tool", "tool": self.offered(text("tool")), "args": data("input") })
        } else if step.get("command").is_some() {
            json!({ "type": "run_command", "command": text("command"), "args": text("args") })
        } else if step.get("shortcut").is_some() {
            json!({ "type": "shortcut", "key": text("shortcut") })
        } else if step.get("bus").is_some() {
            json!({ "type": "emit", "event": format!("bus:{}", text("bus")), "data": { "data": data("data") } })
        } else {
            json!({ "type": "tools" })
        };
        if let Some(request) = request.as_object_mut() {
            request.insert("id".to_owned(), json!(at));
        }
        self.send(&request)?;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let line = self.next(deadline)?.context("no answer in time")?;
            if line.get("type") == Some(&json!("response")) && line.get("id") == Some(&json!(at)) {
                if step.get("start").is_some() {
                    let tools = line.pointer("/data/tools").and_then(Value::as_array);
                    self.tools = tools.cloned().unwrap_or_default();
                    return Ok(json!({}));
                }
                return Ok(result_of(step, &line));
            }
            self.take(line)?;
        }
    }

    /// An event with what pi itself adds to it.
    fn event_data(&self, event: &str, data: Value) -> Value {
        let added = match event {
            "tool_call" | "tool_result" => json!({ "toolCallId": "call-1" }),
            "user_bash" => json!({ "excludeFromContext": false, "cwd": self.cwd }),
            "input" => json!({ "source": "interactive" }),
            "before_agent_start" => json!({ "messageType": "user" }),
            "project_trust" => json!({ "cwd": self.cwd }),
            _ => json!({}),
        };
        let mut whole = without(added, &[]);
        whole.extend(without(data, &[]));
        Value::Object(whole)
    }

    /// The name under which a tool is offered: one that the host has too gets a longer one here, while it replaces the
    /// host's in pi.
    fn offered(&self, tool: &str) -> String {
        let names = self.tools.iter().filter_map(|tool| tool.get("name")?.as_str());
        let longer = format!("_{tool}");
        let found = names.clone().find(|name| *name == tool);
        found.or_else(|| names.clone().find(|name| name.ends_with(&longer))).unwrap_or(tool).to_owned()
    }

    /// Records that pi gave may come after the answer here; a record that is missing costs the whole wait.
    fn wait_for_records(&mut self, given: usize) -> anyhow::Result<()> {
        let deadline = Instant::now() + LATE;
        while self.records.len() < given {
            let Some(line) = self.next(deadline)? else { return Ok(()) };
            self.take(line)?;
        }
        Ok(())
    }

    fn next(&self, deadline: Instant) -> anyhow::Result<Option<Value>> {
        match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => Ok(Some(line)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("jackfield ended"),
        }
    }

    fn take(&mut self, line: Value) -> anyhow::Result<()> {
        let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
        let op = line.get("op").and_then(Value::as_str).unwrap_or_default();
        match kind {
            "extension_ui_request" => {
                let question = line.get("id").cloned();
                let mut fields = without(line, &["type", "id", "extension"]);
                let method = fields.remove("method").unwrap_or_default();
                self.records.push(record("ui", method, fields));
                if let Some(id) = question {
                    let answer = match self.answers.next().unwrap_or(Value::Null) {
                        Value::Bool(confirmed) => json!({ "confirmed": confirmed }),
                        Value::String(value) => json!({ "value": value }),
                        _ => json!({ "cancelled": true }),
                    };
                    let mut response = without(answer, &[]);
                    response.insert("type".to_owned(), json!("extension_ui_response"));
                    response.insert("id".to_owned(), id);
                    self.send(&Value::Object(response))?;
                }
            }
            "ext_notify" => self.records.push(json!({
                "ui": "notify", "message": line.get("message"), "notifyType": pi_level(&line),
            })),
            "session_entry" => {
                let entry = line.get("entry").cloned().unwrap_or_default();
                self.records.push(json!({ "entry": without(entry, &["id", "parentId", "timestamp"]) }));
            }
            "active_tools" => self.records.push(json!({ "active_tools": line.get("tools") })),
            "agent_call" if DEEDS.contains(&op) => {
                let params = without(line.get("params").cloned().unwrap_or_default(), &["op"]);
                self.records.push(record("agent", json!(op), params));
            }
            "ext_progress" => add(&mut self.records, json!({ "progress": line.get("message") })),
            "garbage" | "ext_hook_failed" | "events_missed" => self.records.push(line),
            _ => {}
        }
        Ok(())
    }

    /// Ends the host and looks at what it still had to say.
    fn end(&mut self) -> anyhow::Result<()> {
        self.send(&json!({ "type": "shutdown", "id": "end" }))?;
        let deadline = Instant::now() + PATIENCE;
        while let Ok(Some(line)) = self.next(deadline) {
            self.take(line)?;
        }
        Ok(())
    }
}

fn record(kind: &str, what: Value, fields: Map<String, Value>) -> Value {
    let mut record = Map::new();
    record.insert(kind.to_owned(), what);
    record.extend(fields);
    Value::Object(record)
}

fn without(value: Value, keys: &[&str]) -> Map<String, Value> {
    let Value::Object(mut fields) = value else { return Map::new() };
    fields.retain(|key, _| !keys.contains(&key.as_str()));
    fields
}

/// The answer to a step in the form in which the other side has it.
fn result_of(step: &Value, line: &Value) -> Value {
    if line.get("success") != Some(&json!(true)) {
        let message = line.get("error").and_then(|error| error.get("message")).cloned();
        return match step.get("tool") {
            Some(_) => json!({ "content": [{ "type": "text", "text": message }], "isError": true }),
            None => json!({ "error": message }),
        };
    }
    let answer = line.get("data").cloned().unwrap_or_default();
    let of = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
    if step.get("tool").is_some() {
        let content: Vec<Value> = of(&answer, "content").as_array().into_iter().flatten().map(pi_block).collect();
        return json!({ "content": content, "details": answer.get("details"), "isError": answer.get("is_error") });
    }
    let Some(event) = step.get("event").and_then(Value::as_str) else { return json!({ "error": answer.get("error") }) };
    let (data, result) = (of(&answer, "data"), of(&answer, "result"));
    match event {
        "tool_call" => json!({ "result": result, "input": data.get("input") }),
        "context" => json!({ "messages": data.get("messages") }),
        "before_agent_start" => json!({
            "messages": result.get("messages").cloned().unwrap_or_else(|| json!([])),
            "systemPrompt": data.get("systemPrompt"),
            "sections": data.get("systemPromptOptions").map(|options| of(options, "sections")),
        }),
        "message_end" => json!({ "message": result.get("message") }),
        "before_provider_request" => json!({ "payload": data.get("payload") }),
        "resources_discover" => {
            let list = |key: &str| result.get(key).cloned().unwrap_or_else(|| json!([]));
            json!({ "skillPaths": list("skillPaths"), "promptPaths": list("promptPaths"), "themePaths": list("themePaths") })
        }
        "turn_end" => json!({
            "entries": data.get("entries").cloned().unwrap_or_else(|| json!([])),
            "continue": data.get("continue").cloned().unwrap_or_else(|| json!(false)),
        }),
        _ => json!({ "result": result }),
    }
}

/// pi's word for the level of a note.
fn pi_level(line: &Value) -> Option<&str> {
    match line.get("level").and_then(Value::as_str) {
        Some("warn") => Some("warning"),
        level => level,
    }
}

fn pi_block(block: &Value) -> Value {
    let mut fields = without(block.clone(), &["mime_type"]);
    if let Some(kind) = block.get("mime_type") {
        fields.insert("mimeType".to_owned(), kind.clone());
    }
    Value::Object(fields)
}

/// The script's answers in the form in which the runtime asks the agent.
fn agent_answers(answers: &Map<String, Value>) -> Value {
    let wrapped = |op: &str, answer: &Value| match op {
        "model" => json!({ "model": answer }),
        "models" => json!({ "models": answer }),
        "thinking" => json!({ "level": answer }),
        "context_usage" => json!({ "usage": answer }),
        "system_prompt" => json!({ "prompt": answer }),
        "is_idle" => json!({ "idle": answer }),
        "complete" => json!({ "message": answer }),
        "set_model" => json!({ "ok": answer }),
        "auth_status" => json!({ "status": answer }),
        "settings" => json!({ "settings": answer }),
        _ => answer.clone(),
    };
    let all = answers.iter().map(|(op, answer)| {
        let answer = match answer {
            Value::Array(list) if op != "models" => list.iter().map(|one| wrapped(op, one)).collect(),
            one => json!([wrapped(op, one)]),
        };
        (op.clone(), answer)
    });
    Value::Object(all.collect())
}
