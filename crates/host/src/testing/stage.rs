//! A host over a temporary home and project with fake extensions.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_files::Home;
use jackfield_policy::{Caller, Mode};
use jackfield_protocol::{CallError, Event, ExtensionId, Format, HostCall, Launch, Manifest, RuntimeKind, ToolResult};
use jackfield_runtime::{Exit, ExtensionCall, HostApi, HostCallCx, Runtime};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fake_extension::{FakeExtension, Form};
use super::fake_runtime::{FakeRuntime, StartedInstance, Theatre, summary};
use super::people::ScriptedApprover;
use super::{lock, soon};
use crate::approver::Answer;
use crate::attach::Attached;
use crate::call::{ToolCall, ToolOutcome};
use crate::face::{Agent, Face};
use crate::host::{Host, HostOptions};
use crate::reload::{Reloaded, Which};
use crate::supervisor::{State, Supervised};

/// A host that is not open yet.
pub(crate) struct StageBuilder {
    extensions: Vec<FakeExtension>,
    mode: Mode,
    config: String,
    answers: Vec<Answer>,
    face: Option<Arc<dyn Face>>,
    agent: Option<Arc<dyn Agent>>,
}

impl StageBuilder {
    /// The mode of the policy; permissive otherwise.
    pub(crate) fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The text of `config.toml`.
    pub(crate) fn config(self, text: &str) -> Self {
        Self { config: text.to_owned(), ..self }
    }

    /// What the person answers to questions of permission, in turn.
    pub(crate) fn person_answers(self, answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: answers.into_iter().collect(), ..self }
    }

    pub(crate) fn face(self, face: impl Face + 'static) -> Self {
        Self { face: Some(Arc::new(face)), ..self }
    }

    pub(crate) fn agent(self, agent: impl Agent + 'static) -> Self {
        Self { agent: Some(Arc::new(agent)), ..self }
    }

    /// Opens the host. It has met none of the extensions, as when a face opens a host and calls at once.
    pub(crate) fn open(self) -> Stage {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a real path");
        let home = Home::at(root.join("home"));
        for folder in ["project", "home/extensions/tools", "flags"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        std::fs::write(home.config(), self.config).expect("a configuration");
        let theatre = Theatre::new(home.clone());
        let files = Files { root };
        for extension in &self.extensions {
            files.write(extension, 1);
            lock(&theatre.extensions).insert(extension.id.clone(), extension.clone());
        }
        let approver = Arc::new(ScriptedApprover::new(self.answers));
        let host = Host::open(HostOptions {
            mode: Some(self.mode),
            env: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
            runtimes: [RuntimeKind::Process, RuntimeKind::Js, RuntimeKind::Mcp]
                .map(|kind| Arc::new(FakeRuntime { kind, theatre: Arc::clone(&theatre) }) as Arc<dyn Runtime>)
                .into(),
            approver: Arc::clone(&approver) as _,
            ext: self.extensions.iter().filter(|one| one.named_by_flag).map(|one| files.folder(one)).collect(),
            face: self.face.unwrap_or_else(|| Arc::new(crate::face::NoFace)),
            agent: self.agent.unwrap_or_else(|| Arc::new(crate::face::NoAgent)),
            ..HostOptions::new(home, files.root.join("project"))
        });
        Stage { _dir: dir, files, host: host.expect("a host"), approver, theatre, revision: 1 }
    }

    /// Opens the host and starts every extension once.
    pub(crate) async fn started(self) -> Stage {
        let stage = self.open();
        stage.host.learn(Duration::from_secs(60)).await;
        stage
    }
}

/// The files of the extensions.
struct Files {
    root: PathBuf,
}

impl Files {
    /// The folder of an extension with a manifest.
    fn folder(&self, extension: &FakeExtension) -> PathBuf {
        let parent = if extension.named_by_flag { "flags" } else { "home/extensions" };
        self.root.join(parent).join(&extension.id)
    }

    fn python_file(&self, id: &str) -> PathBuf {
        let name = id.strip_prefix("tools.").expect("the id of a Python file");
        self.root.join("home/extensions/tools").join(format!("{name}.py"))
    }

    /// Writes what discovery reads. Another revision has another content hash.
    fn write(&self, extension: &FakeExtension, revision: u32) {
        match extension.form {
            Form::Program | Form::Script => {
                let folder = self.folder(extension);
                std::fs::create_dir_all(&folder).expect("a folder");
                let mut manifest = json!({
                    "schema": "pi.ext.manifest.v1",
                    "id": extension.id,
                    "version": revision.to_string(),
                    "enabled": extension.enabled,
                    "priority": extension.priority,
                    "limits": extension.limits,
                    "capabilities": extension.capabilities,
                });
                if let Some(rule) = extension.on_failure {
                    manifest["on_timeout"] = json!(rule);
                }
                if extension.form == Form::Script {
                    manifest["entry"] = json!("index.ts");
                    std::fs::write(folder.join("index.ts"), format!("// {revision}\n")).expect("a script");
                } else {
                    manifest["exec"] = json!("./program");
                }
                std::fs::write(folder.join("extension.json"), manifest.to_string()).expect("a manifest");
            }
            Form::Server => {
                let file = self.root.join("home/mcp.json");
                let text = std::fs::read_to_string(&file).unwrap_or_else(|_| r#"{"mcpServers":{}}"#.to_owned());
                let mut servers: Value = serde_json::from_str(&text).expect("JSON");
                servers["mcpServers"][&extension.id] = json!({ "url": format!("https://localhost/{revision}") });
                std::fs::write(file, servers.to_string()).expect("servers");
            }
            Form::PythonFile => {
                std::fs::write(self.python_file(&extension.id), format!("# {revision}\n")).expect("a Python file");
            }
        }
    }

    fn remove(&self, extension: &FakeExtension) {
        match extension.form {
            Form::Program | Form::Script => std::fs::remove_dir_all(self.folder(extension)).expect("it was there"),
            Form::Server => std::fs::remove_file(self.root.join("home/mcp.json")).expect("it was there"),
            Form::PythonFile => std::fs::remove_file(self.python_file(&extension.id)).expect("it was there"),
        }
    }
}

/// An open host with fake extensions, and what the test needs to see of both.
pub(crate) struct Stage {
    _dir: TempDir,
    files: Files,
    pub(crate) host: Host,
    pub(crate) approver: Arc<ScriptedApprover>,
    theatre: Arc<Theatre>,
    revision: u32,
}

impl Stage {
    /// A host of these extensions.
    pub(crate) fn of(extensions: impl IntoIterator<Item = FakeExtension>) -> StageBuilder {
        StageBuilder {
            extensions: extensions.into_iter().collect(),
            mode: Mode::Permissive,
            config: String::new(),
            answers: Vec::new(),
            face: None,
            agent: None,
        }
    }

    /// Calls a tool as a person does.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> Result<ToolResult, CallError> {
        self.outcome(ToolCall::by_person(tool, args)).await.result
    }

    /// Calls a tool as an agent does.
    pub(crate) async fn call_by_agent(&self, tool: &str) -> Result<ToolResult, CallError> {
        self.outcome(ToolCall::by(Caller::Agent, tool, json!({}))).await.result
    }

    pub(crate) async fn outcome(&self, call: ToolCall) -> ToolOutcome {
        soon(self.host.call_tool(call)).await
    }

    /// Calls a tool in a task of its own.
    pub(crate) fn spawn(&self, call: ToolCall) -> tokio::task::JoinHandle<ToolOutcome> {
        let host = self.host.clone();
        tokio::spawn(async move { host.call_tool(call).await })
    }

    /// Makes a host call as the newest instance of the extension does.
    pub(crate) async fn host_call(&self, id: &str, method: &str, params: Value) -> Result<Value, CallError> {
        self.host_call_with(id, method, params, HostCallCx::default()).await
    }

    pub(crate) async fn host_call_with(
        &self,
        id: &str,
        method: &str,
        params: Value,
        cx: HostCallCx,
    ) -> Result<Value, CallError> {
        soon(self.door(id).call(HostCall::parse(method, params)?, cx)).await
    }

    /// The door of the newest instance of the extension.
    pub(crate) fn door(&self, id: &str) -> Arc<dyn HostApi> {
        self.instance(id).door.expect("it was started by a runtime")
    }

    fn instance(&self, id: &str) -> StartedInstance {
        let journal = lock(&self.theatre.journal);
        journal.instances.get(id).and_then(|started| started.last()).cloned().expect("it was started")
    }

    /// How many starts of the extension the host has begun.
    pub(crate) fn starts(&self, id: &str) -> usize {
        self.theatre.starting.borrow().iter().filter(|begun| *begun == id).count()
    }

    /// Makes the newest instance of the extension exit by itself.
    pub(crate) fn kill(&self, id: &str, reason: &str) {
        self.instance(id).dies(reason);
    }

    /// How the instance of that start ended, counted from zero. Waits for its end.
    pub(crate) async fn end_of(&self, id: &str, start: usize) -> Exit {
        let instance = lock(&self.theatre.journal).instances[id][start].clone();
        soon(instance.exited()).await
    }

    /// Every call that reached an extension, in order, for instance `guard: guards work`.
    pub(crate) fn delivered(&self) -> Vec<String> {
        lock(&self.theatre.journal).calls.iter().map(|(id, call)| format!("{id}: {}", summary(call))).collect()
    }

    /// Every call that reached an extension, in order.
    pub(crate) fn calls(&self) -> Vec<ExtensionCall> {
        lock(&self.theatre.journal).calls.iter().map(|(_, call)| call.clone()).collect()
    }

    /// Every event that extensions were told, in order.
    pub(crate) fn told(&self) -> Vec<(String, Event)> {
        lock(&self.theatre.journal).events.clone()
    }

    /// Waits until so many calls have reached extensions.
    pub(crate) async fn until_delivered(&self, calls: usize) {
        let mut delivered = self.theatre.delivered.subscribe();
        soon(delivered.wait_for(|so_far| *so_far >= calls)).await.expect("the stage is there");
    }

    pub(crate) fn extension(&self, id: &str) -> Arc<Supervised> {
        self.host.inner.extension(&ExtensionId::from(id)).expect("an extension of this id")
    }

    /// Waits until the host has begun to start the extension.
    pub(crate) async fn until_starting(&self, id: &str) {
        self.until_starts(id, 1).await;
    }

    /// Waits until the host has begun so many starts of the extension.
    pub(crate) async fn until_starts(&self, id: &str, starts: usize) {
        let mut begun = self.theatre.starting.subscribe();
        let enough = |ids: &Vec<String>| ids.iter().filter(|begun| *begun == id).count() >= starts;
        soon(begun.wait_for(enough)).await.expect("the stage is there");
    }

    pub(crate) fn state(&self, id: &str) -> State {
        self.extension(id).state()
    }

    /// Waits until the extension is in a state that `wanted` accepts, and gives it.
    pub(crate) async fn until_state(&self, id: &str, wanted: impl Fn(&State) -> bool) -> State {
        let mut states = self.extension(id).states();
        soon(states.wait_for(wanted)).await.expect("the extension is there").clone()
    }

    /// Every record of the ledger.
    pub(crate) fn records(&self) -> Vec<Value> {
        jackfield_ledger::read(&self.host.home().ledger(), jackfield_ledger::Filter::default()).expect("a ledger")
    }

    /// The names of all records, in order.
    pub(crate) fn record_names(&self) -> Vec<String> {
        self.records().iter().filter_map(|record| record["event"].as_str().map(str::to_owned)).collect()
    }

    /// The messages of the records of this name, in order.
    pub(crate) fn messages(&self, event: &str) -> Vec<String> {
        let records = self.records().into_iter().filter(|record| record["event"] == event);
        records.filter_map(|record| record["message"].as_str().map(str::to_owned)).collect()
    }

    /// The records of this name, without what differs from run to run.
    pub(crate) fn evidence(&self, event: &str) -> Vec<Value> {
        let records = self.records().into_iter().filter(|record| record["event"] == event);
        let stable = |record: Value| {
            let mut data = record["data"].clone();
            for changing in ["duration_ms", "duration_us", "params_hash", "timeout_ms"] {
                data.as_object_mut().expect("an object").shift_remove(changing);
            }
            data["extension"] = record["correlation"]["extension_id"].clone();
            data
        };
        records.map(stable).collect()
    }

    /// The files of the ledger as text.
    pub(crate) fn ledger_text(&self) -> String {
        let records = self.records().into_iter().map(|record| record.to_string());
        records.collect::<Vec<_>>().join("\n")
    }

    /// A file of the project.
    pub(crate) fn project_file(&self, name: &str) -> PathBuf {
        self.files.root.join("project").join(name)
    }

    /// Writes a new version of an extension, or a new extension. The host does not look by itself.
    pub(crate) fn edit(&mut self, extension: FakeExtension) {
        self.revision += 1;
        self.files.write(&extension, self.revision);
        lock(&self.theatre.extensions).insert(extension.id.clone(), extension);
    }

    /// Puts something in place of the manifest that is none.
    pub(crate) fn break_manifest(&self, id: &str) {
        let extension = lock(&self.theatre.extensions)[id].clone();
        std::fs::write(self.files.folder(&extension).join("extension.json"), "{").expect("it was there");
    }

    /// Removes the files of an extension. The host does not look by itself.
    pub(crate) fn remove(&self, id: &str) {
        let extension = lock(&self.theatre.extensions).remove(id).expect("it was there");
        self.files.remove(&extension);
    }

    /// Reloads what has changed on disk. Gives the ids with the changes or the error, because hashes say nothing here.
    pub(crate) async fn reload(&self) -> Vec<(String, Result<Vec<String>, String>)> {
        let short =
            |Reloaded { extension, changes, error, .. }| (extension.to_string(), error.map_or(Ok(changes), Err));
        soon(self.host.reload(Which::Changed)).await.into_iter().map(short).collect()
    }

    /// Attaches an instance that runs already, as a client of a face does.
    pub(crate) fn attach(&self, extension: FakeExtension) -> Attached {
        let launch = Launch::Unsupported { reason: "it runs already".to_owned() };
        let manifest = Manifest::plain(&extension.id, Format::Native, RuntimeKind::Client, launch);
        let contributions = extension.contributions.clone();
        let instance = self.theatre.instance(extension, None);
        self.host.attach(manifest, instance, contributions).expect("attached")
    }
}

/// The text of a result.
#[track_caller]
pub(crate) fn contents(result: Result<ToolResult, CallError>) -> String {
    let content = result.expect("an answer").content;
    let texts = content.into_iter().map(|block| match block {
        jackfield_protocol::Content::Text { text, .. } => text,
        jackfield_protocol::Content::Image { .. } => "(image)".to_owned(),
    });
    texts.collect::<Vec<_>>().join("\n")
}
