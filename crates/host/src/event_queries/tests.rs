//! Extensions of a made-up engine: what they are asked, what they are told, and what they reach through the gate.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jackfield_discovery::{Found, Origin, Standing};
use jackfield_files::Home;
use jackfield_policy::Mode;
use jackfield_protocol::{Contributions, Event, ExtensionId, Format, HostCall, Launch, Manifest, Notice, RuntimeKind};
use jackfield_runtime::{
    BoxFuture, Confinement, Exit, HostApi, HostCallCx, Instance, Limits, Runtime, StartError, StartSpec, Started,
    Traits,
};
use tempfile::TempDir;

use super::*;
use crate::face::{Agent, AgentCall, Dialog, DialogAnswer, Face, NoAgent};
use crate::host::{Host, HostOptions};

type Answer = fn(&str, &str, Asked) -> Result<Asked, CallError>;

/// What all made-up extensions share.
#[derive(Default)]
struct Stage {
    doors: Mutex<HashMap<String, Arc<dyn HostApi>>>,
    told: Mutex<Vec<(String, Event)>>,
    pressed: Mutex<Vec<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Engine {
    stage: Arc<Stage>,
    contributions: HashMap<String, Contributions>,
    answer: Answer,
}

impl Runtime for Engine {
    fn kind(&self) -> RuntimeKind {
        RuntimeKind::Js
    }

    fn traits(&self, _manifest: &Manifest) -> Traits {
        Traits { confinement: Confinement::Sandboxed, limits: Limits::Scripts, ..Traits::default() }
    }

    fn start(&self, spec: StartSpec, host: Arc<dyn HostApi>) -> BoxFuture<'_, Result<Started, StartError>> {
        let id = spec.manifest.id.to_string();
        lock(&self.stage.doors).insert(id.clone(), host);
        let contributions = self.contributions.get(&id).cloned().unwrap_or_default();
        let instance = Arc::new(Actor { id, stage: Arc::clone(&self.stage), answer: self.answer });
        Box::pin(async { Ok(Started { instance, contributions }) })
    }
}

struct Actor {
    id: String,
    stage: Arc<Stage>,
    answer: Answer,
}

impl Instance for Actor {
    fn call(&self, call: ExtensionCall, _cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            match call {
                ExtensionCall::Ask { event, asked, .. } => (self.answer)(&self.id, &event, asked).map(Reply::Asked),
                ExtensionCall::Shortcut { key, .. } => {
                    lock(&self.stage.pressed).push(format!("{} {key}", self.id));
                    Ok(Reply::Done)
                }
                other => Err(CallError::new(ErrorCode::Unsupported, format!("{other:?}"))),
            }
        })
    }

    fn notify(&self, event: &Event) {
        lock(&self.stage.told).push((self.id.clone(), event.clone()));
    }

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async { Exit::default() })
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }
}

struct Theatre {
    _dir: TempDir,
    host: Host,
    stage: Arc<Stage>,
}

/// A person who answers everything with the last option, yes, or the title.
struct Agreeable;

impl Face for Agreeable {
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
        use crate::face::DialogAsk;
        Box::pin(async move {
            match dialog.ask {
                DialogAsk::Select { options, .. } => DialogAnswer::Value(options.last().cloned().unwrap_or_default()),
                DialogAsk::Confirm { .. } => DialogAnswer::Confirmed(true),
                DialogAsk::Input { title, .. } => DialogAnswer::Value(title),
                DialogAsk::Editor { .. } => std::future::pending().await,
            }
        })
    }
}

async fn theatre(actors: &[(&str, i32, Contributions)], answer: Answer, agent: Arc<dyn Agent>) -> Theatre {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("project")).unwrap();
    let stage = Arc::new(Stage::default());
    let contributions = actors.iter().map(|(id, _, what)| ((*id).to_owned(), what.clone())).collect();
    let engine = Engine { stage: Arc::clone(&stage), contributions, answer };
    let host = Host::open(HostOptions {
        mode: Some(Mode::Permissive),
        env: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
        runtimes: vec![Arc::new(engine)],
        face: Arc::new(Agreeable),
        agent,
        only_ext: true,
        ..HostOptions::new(Home::at(dir.path().join("home")), dir.path().join("project"))
    })
    .unwrap();
    let supervised = actors.iter().map(|(id, priority, _)| {
        let folder = dir.path().join(id);
        std::fs::create_dir(&folder).unwrap();
        (ExtensionId::from(*id), host.inner.supervised(found(id, *priority, folder)))
    });
    host.inner.extensions.all.store(Arc::new(supervised.collect()));
    host.learn(Duration::from_secs(10)).await;
    Theatre { _dir: dir, host, stage }
}

fn found(id: &str, priority: i32, dir: PathBuf) -> Found {
    let launch = Launch::Js { entry: "index.ts".to_owned() };
    let manifest = Manifest { priority, ..Manifest::plain(id, Format::Pi, RuntimeKind::Js, launch) };
    let manifest_path = dir.join("package.json");
    Found {
        manifest: Arc::new(manifest),
        dir,
        manifest_path,
        origin: Origin::Flag,
        standing: Standing::Active,
        extent: jackfield_discovery::Extent::Directory,
    }
}

fn wanting(events: &[&str]) -> Contributions {
    Contributions { events: events.iter().map(|event| (*event).to_owned()).collect(), ..Contributions::default() }
}

impl Theatre {
    async fn call(&self, id: &str, method: &str, params: Value) -> Result<Value, CallError> {
        let door = Arc::clone(lock(&self.stage.doors).get(id).expect("started"));
        door.call(HostCall::parse(method, params)?, HostCallCx::default()).await
    }

    fn records(&self) -> Vec<Value> {
        let ledger = self.host.home().ledger();
        jackfield_ledger::read(&ledger, jackfield_ledger::Filter::default()).unwrap()
    }
}

fn data(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// Leaves its name in the question; `stopper` stops, `broken` fails.
fn signs(id: &str, event: &str, mut asked: Asked) -> Result<Asked, CallError> {
    if id == "broken" {
        return Err(CallError::new(ErrorCode::Protocol, "it threw: \u{1b}[31mno"));
    }
    let path = asked.data.get("path").and_then(Value::as_str).unwrap_or_default();
    asked.data.insert("path".to_owned(), json!(format!("{path}{id} ")));
    asked.result = json!({ "by": id, "event": event });
    asked.stop = id == "stopper";
    Ok(asked)
}

#[tokio::test]
async fn a_question_goes_from_one_to_the_next() {
    let wants = || wanting(&["context"]);
    let actors = [("c", 0, wants()), ("a", 0, wants()), ("b", -1, wants()), ("d", 0, wanting(&["other"]))];
    let theatre = theatre(&actors, signs, Arc::new(NoAgent)).await;
    let asked = theatre.host.ask("context", data(json!({ "path": "" }))).await.unwrap();
    assert_eq!(asked.data["path"], "b a c ", "by priority, then by id");
    assert_eq!(asked.result, json!({ "by": "c", "event": "context" }));
    let nobody = theatre.host.ask("nothing", data(json!({ "x": 1 }))).await.unwrap();
    assert_eq!((nobody.data, nobody.result, nobody.stop), (data(json!({ "x": 1 })), Value::Null, false));
    let ends: Vec<Value> = theatre.records().into_iter().filter(|record| record["event"] == "event_hook.end").collect();
    assert_eq!(ends.len(), 3, "each question is recorded");
    assert_eq!((&ends[0]["data"]["hook"], &ends[0]["data"]["verdict"]), (&json!("context"), &json!("replace")));
}

#[tokio::test]
async fn one_that_stops_or_fails() {
    let wants = || wanting(&["*"]);
    let actors = [("broken", 0, wants()), ("stopper", 1, wants()), ("z", 2, wants())];
    let theatre = theatre(&actors, signs, Arc::new(NoAgent)).await;
    let mut events = theatre.host.events();
    let asked = theatre.host.ask("input", Map::new()).await.unwrap();
    assert_eq!((&asked.data["path"], asked.stop), (&json!("stopper "), true), "the one that failed is passed over");
    let failed = std::iter::from_fn(|| events.try_recv().ok())
        .find_map(|event| match event {
            HostEvent::AskFailed { extension, event, reason } => Some((extension.to_string(), event, reason)),
            _ => None,
        })
        .expect("it is told");
    assert_eq!(failed, ("broken".to_owned(), "input".to_owned(), "it threw: no".to_owned()));
    for event in FAIL_CLOSED {
        let asked = theatre.host.ask(event, Map::new()).await.unwrap();
        assert!(asked.stop && asked.result["block"] == true, "{asked:?}");
        assert!(asked.result["reason"].as_str().unwrap().contains("broken"));
    }
}

#[tokio::test]
async fn shortcuts_find_their_extension() {
    let with = |key: &str| Contributions { shortcuts: vec![json!({ "shortcut": key })], ..Contributions::default() };
    let theatre = theatre(&[("a", 0, with("ctrl+x")), ("b", 0, with("ctrl+x"))], signs, Arc::new(NoAgent)).await;
    theatre.host.press("Ctrl+X").await.unwrap();
    assert_eq!(*lock(&theatre.stage.pressed), ["a ctrl+x"]);
    assert_eq!(theatre.host.press("f1").await.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn the_bus_reaches_its_listeners() {
    let bus = |channels: &[&str]| Contributions {
        bus: channels.iter().map(|channel| (*channel).to_owned()).collect(),
        ..Contributions::default()
    };
    let actors =
        [("a", 0, bus(&["deploy"])), ("b", 0, bus(&["*"])), ("c", 0, bus(&["other"])), ("d", 0, wanting(&["deploy"]))];
    let theatre = theatre(&actors, signs, Arc::new(NoAgent)).await;
    let emit = json!({ "op": "emit", "event": "deploy", "data": { "to": "x" } });
    theatre.call("c", "events", emit).await.unwrap();
    let told: Vec<(String, String)> =
        lock(&theatre.stage.told).iter().map(|(id, event)| (id.clone(), event.event.clone())).collect();
    let pair = |id: &str, event: &str| (id.to_owned(), event.to_owned());
    assert_eq!(told, [pair("d", "deploy"), pair("a", "bus:deploy"), pair("b", "bus:deploy")]);
    let event = lock(&theatre.stage.told)[1].1.clone();
    assert_eq!((&event.data["data"], &event.data["origin_extension"]), (&json!({ "to": "x" }), &json!("c")));
    // What one says on the bus does not come back to it.
    theatre.call("b", "events", json!({ "op": "emit", "event": "other", "data": null })).await.unwrap();
    let last: Vec<String> = lock(&theatre.stage.told).iter().skip(3).map(|(id, _)| id.clone()).collect();
    assert_eq!(last, ["c"]);
    let forged = json!({ "op": "emit", "event": "bus:deploy", "data": null });
    assert_eq!(theatre.call("c", "events", forged).await.unwrap_err().code, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn the_person_is_asked_through_the_face() {
    let theatre = theatre(&[("a", 0, Contributions::default())], signs, Arc::new(NoAgent)).await;
    let mut events = theatre.host.events();
    let ui = |params: Value| theatre.call("a", "ui", params);
    let select = json!({ "op": "select", "title": "t", "options": ["x", "\u{1b}[31mred"] });
    assert_eq!(ui(select).await.unwrap(), json!({ "value": "\u{1b}[31mred" }), "as the extension wrote it");
    assert_eq!(ui(json!({ "op": "confirm", "message": "m" })).await.unwrap(), json!({ "confirmed": true }));
    let input = json!({ "op": "input", "title": "a\u{1b}[2Jb" });
    assert_eq!(ui(input).await.unwrap(), json!({ "value": "ab" }), "without control sequences");
    for params in [
        json!({ "op": "set_status", "key": "k", "text": "\u{1b}[1mbusy" }),
        json!({ "op": "set_widget", "key": "k", "lines": ["l"], "placement": "belowEditor" }),
        json!({ "op": "set_widget", "key": "k", "lines": null }),
        json!({ "op": "set_title", "title": "t" }),
        json!({ "op": "set_editor_text", "text": "t" }),
    ] {
        assert_eq!(ui(params).await.unwrap(), json!({}));
    }
    let notices: Vec<Notice> = std::iter::from_fn(|| events.try_recv().ok())
        .filter_map(|event| match event {
            HostEvent::Notice { notice, .. } => Some(notice),
            _ => None,
        })
        .collect();
    assert_eq!(notices[0], Notice::SetStatus { key: "k".into(), text: Some("busy".into()) });
    assert_eq!(notices.len(), 5);
    // A question that nobody answers is over when its time is, or when it is taken back.
    let door = Arc::clone(lock(&theatre.stage.doors).get("a").unwrap());
    let cx = HostCallCx::default();
    let editor = HostCall::parse("ui", json!({ "op": "editor", "title": "t" })).unwrap();
    let (answer, ()) = tokio::join!(door.call(editor, cx.clone()), async { cx.cancel.cancel() });
    assert_eq!(answer.unwrap_err().code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn the_agent_is_asked_or_missed() {
    struct Echo;
    impl Agent for Echo {
        fn serve(&self, call: AgentCall) -> BoxFuture<'_, Result<Value, CallError>> {
            Box::pin(async move { Ok(json!({ "op": call.op, "params": call.params, "from": call.extension })) })
        }
    }
    let one = theatre(&[("a", 0, Contributions::default())], signs, Arc::new(Echo)).await;
    let answer = one.call("a", "agent", json!({ "op": "set_model", "model": "m" })).await.unwrap();
    assert_eq!(answer, json!({ "op": "set_model", "params": { "model": "m" }, "from": "a" }));
    let none = theatre(&[("a", 0, Contributions::default())], signs, Arc::new(NoAgent)).await;
    let error = none.call("a", "agent", json!({ "op": "set_model" })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unsupported);
    assert!(error.message.contains("set_model") && error.message.contains("no agent"), "{error}");
}

#[tokio::test]
async fn the_session_is_shared_and_tells_of_tools() {
    let tool =
        jackfield_protocol::ToolSpec { label: Some("Greet".into()), ..jackfield_protocol::ToolSpec::open("greet") };
    let command = jackfield_protocol::CommandSpec { name: "hi".into(), description: "d".into() };
    let offering = Contributions { tools: vec![tool], commands: vec![command], ..Contributions::default() };
    let theatre =
        theatre(&[("a", 0, offering), ("b", 0, wanting(&["session_info_changed"]))], signs, Arc::new(NoAgent)).await;
    let mut events = theatre.host.events();
    let entry = json!({ "type": "custom", "customType": "t", "data": 7 });
    let id = theatre.call("a", "session", json!({ "op": "append", "entry": entry })).await.unwrap()["id"].clone();
    let seen = theatre.call("b", "session", json!({ "op": "entries" })).await.unwrap();
    assert_eq!((&seen["entries"][0]["id"], &seen["entries"][0]["data"]), (&id, &json!(7)));
    let told = std::iter::from_fn(|| events.try_recv().ok()).any(|event| {
        matches!(event, HostEvent::SessionEntry { extension: Some(by), entry } if by.as_str() == "a" && entry["id"] == id)
    });
    assert!(told);
    theatre.call("a", "session", json!({ "op": "set_name", "name": "n" })).await.unwrap();
    let told = lock(&theatre.stage.told).iter().any(|(id, event)| id == "b" && event.event == "session_info_changed");
    assert!(told, "a name is told");
    let tools = theatre.call("b", "session", json!({ "op": "tools" })).await.unwrap();
    let names = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    assert!(
        names(&tools["active"]).contains(&"greet".to_owned()) && names(&tools["active"]).contains(&"bash".to_owned())
    );
    let greet = tools["all"].as_array().unwrap().iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!((&greet["label"], &greet["extension"]), (&json!("Greet"), &json!("a")));
    theatre.call("b", "session", json!({ "op": "set_tools", "names": ["greet", "nobody"] })).await.unwrap();
    let tools = theatre.call("a", "session", json!({ "op": "tools" })).await.unwrap();
    assert_eq!(names(&tools["active"]), ["greet"], "only what is there");
    let commands = theatre.call("b", "session", json!({ "op": "commands" })).await.unwrap();
    assert_eq!(commands["commands"][0]["name"], "hi");
}

#[tokio::test]
async fn a_permit_for_one_kind_of_call_or_extension_delivers_no_other() {
    let nothing = Contributions::default();
    let theatre =
        theatre(&[("a", 0, nothing.clone()), ("b", 0, nothing)], |_, _, asked| Ok(asked), Arc::new(NoAgent)).await;
    let inner = &theatre.host.inner;
    let owner = inner.extension(&"a".into()).unwrap();
    let deliver = async |permit| {
        let call = ExtensionCall::Shortcut { call_id: "1".into(), key: "ctrl+a".into() };
        let cx = CallCx { deadline: Instant::now() + Duration::from_secs(10), cancel: inner.cancel.child_token() };
        owner.deliver(&permit, call, cx).await
    };
    let event = inner.permit_delivery(&"a".into(), Delivery::Event("ctrl+a")).unwrap();
    assert_eq!(deliver(event).await.unwrap_err().code, ErrorCode::Internal);
    let of_another = inner.permit_delivery(&"b".into(), Delivery::Shortcut("ctrl+a")).unwrap();
    assert_eq!(deliver(of_another).await.unwrap_err().code, ErrorCode::Internal);
    assert!(lock(&theatre.stage.pressed).is_empty());
    let own = inner.permit_delivery(&"a".into(), Delivery::Shortcut("ctrl+a")).unwrap();
    deliver(own).await.unwrap();
    assert_eq!(*lock(&theatre.stage.pressed), ["a ctrl+a"]);
}
