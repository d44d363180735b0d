//! Extensions that subscribe to events: what they are asked, what they are told, and what they reach through the gate.

use jackfield_protocol::{Contributions, HostCall, Notice};
use jackfield_runtime::{BoxFuture, HostCallCx};

use super::*;
use crate::face::{Agent, AgentCall, Dialog, DialogAnswer, DialogAsk, Face};
use crate::testing::{FakeExtension, Stage};

/// A person who answers everything with the last option, yes, or the title.
struct Agreeable;

impl Face for Agreeable {
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
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

/// A script that contributes this, and leaves its name in every question.
fn actor(id: &'static str, contributions: Contributions) -> FakeExtension {
    FakeExtension::script(id).contributes(contributions).answers(move |call| match call.call {
        ExtensionCall::Ask { event, asked, .. } => signs(id, &event, asked).map(Reply::Asked),
        ExtensionCall::Shortcut { .. } => Ok(Reply::Done),
        other => Err(CallError::new(ErrorCode::Unsupported, format!("{other:?}"))),
    })
}

fn wanting(events: &[&str]) -> Contributions {
    Contributions { events: events.iter().map(|event| (*event).to_owned()).collect(), ..Contributions::default() }
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
    let others = [actor("c", wants()), actor("a", wants()), actor("d", wanting(&["other"]))];
    let stage = Stage::of(others.into_iter().chain([actor("b", wants()).priority(-1)])).started().await;
    let asked = stage.host.ask("context", data(json!({ "path": "" }))).await.unwrap();
    assert_eq!(asked.data["path"], "b a c ", "by priority, then by id");
    assert_eq!(asked.result, json!({ "by": "c", "event": "context" }));
    let unchanged = stage.host.ask("nothing", data(json!({ "x": 1 }))).await.unwrap();
    assert_eq!((unchanged.data, unchanged.result, unchanged.stop), (data(json!({ "x": 1 })), Value::Null, false));
    let ends: Vec<Value> = stage.records().into_iter().filter(|record| record["event"] == "event_hook.end").collect();
    assert_eq!(ends.len(), 3, "each question is recorded");
    assert_eq!((&ends[0]["data"]["hook"], &ends[0]["data"]["verdict"]), (&json!("context"), &json!("replace")));
}

#[tokio::test]
async fn one_that_stops_or_fails() {
    let wants = || wanting(&["*"]);
    let [stopper, last] = [actor("stopper", wants()).priority(1), actor("z", wants()).priority(2)];
    let stage = Stage::of([actor("broken", wants()), stopper, last]).started().await;
    let mut events = stage.host.events();
    let asked = stage.host.ask("input", Map::new()).await.unwrap();
    assert_eq!((&asked.data["path"], asked.stop), (&json!("stopper "), true), "the one that failed is passed over");
    let failed = std::iter::from_fn(|| events.try_recv().ok())
        .find_map(|event| match event {
            HostEvent::AskFailed { extension, event, reason } => Some((extension.to_string(), event, reason)),
            _ => None,
        })
        .expect("it is told");
    assert_eq!(failed, ("broken".to_owned(), "input".to_owned(), "it threw: no".to_owned()));
    for event in FAIL_CLOSED {
        let asked = stage.host.ask(event, Map::new()).await.unwrap();
        assert!(asked.stop && asked.result["block"] == true, "{asked:?}");
        assert!(asked.result["reason"].as_str().unwrap().contains("broken"));
    }
}

#[tokio::test]
async fn shortcuts_find_their_extension() {
    let with = |key: &str| Contributions { shortcuts: vec![json!({ "shortcut": key })], ..Contributions::default() };
    let stage = Stage::of([actor("a", with("ctrl+x")), actor("b", with("ctrl+x"))]).started().await;
    stage.host.press("Ctrl+X").await.unwrap();
    assert_eq!(stage.delivered(), ["a: shortcut ctrl+x"]);
    assert_eq!(stage.host.press("f1").await.unwrap_err().code, ErrorCode::NotFound);
}

#[tokio::test]
async fn the_bus_reaches_its_listeners() {
    let bus = |channels: &[&str]| Contributions {
        bus: channels.iter().map(|channel| (*channel).to_owned()).collect(),
        ..Contributions::default()
    };
    let listeners = [actor("a", bus(&["deploy"])), actor("b", bus(&["*"])), actor("c", bus(&["other"]))];
    let stage = Stage::of(listeners.into_iter().chain([actor("d", wanting(&["deploy"]))])).started().await;
    let emit = json!({ "op": "emit", "event": "deploy", "data": { "to": "x" } });
    stage.host_call("c", "events", emit).await.unwrap();
    let told: Vec<String> = stage.told().iter().map(|(id, event)| format!("{id}: {}", event.event)).collect();
    assert_eq!(told, ["d: deploy", "a: bus:deploy", "b: bus:deploy"]);
    let event = stage.told()[1].1.clone();
    assert_eq!((&event.data["data"], &event.data["origin_extension"]), (&json!({ "to": "x" }), &json!("c")));
    // What one says on the bus does not come back to it.
    stage.host_call("b", "events", json!({ "op": "emit", "event": "other", "data": null })).await.unwrap();
    let last: Vec<String> = stage.told().iter().skip(3).map(|(id, _)| id.clone()).collect();
    assert_eq!(last, ["c"]);
    let forged = json!({ "op": "emit", "event": "bus:deploy", "data": null });
    assert_eq!(stage.host_call("c", "events", forged).await.unwrap_err().code, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn the_person_is_asked_through_the_face() {
    let stage = Stage::of([actor("a", Contributions::default())]).face(Agreeable).started().await;
    let mut events = stage.host.events();
    let ui = |params: Value| stage.host_call("a", "ui", params);
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
    // A question without an answer is over when its time is, or when the extension takes it back.
    let door = stage.door("a");
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
    let one = Stage::of([actor("a", Contributions::default())]).agent(Echo).started().await;
    let answer = one.host_call("a", "agent", json!({ "op": "set_model", "model": "m" })).await.unwrap();
    assert_eq!(answer, json!({ "op": "set_model", "params": { "model": "m" }, "from": "a" }));
    let none = Stage::of([actor("a", Contributions::default())]).started().await;
    let error = none.host_call("a", "agent", json!({ "op": "set_model" })).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Unsupported);
    assert!(error.message.contains("set_model") && error.message.contains("no agent"), "{error}");
}

#[tokio::test]
async fn the_session_is_shared_and_tells_of_tools() {
    let tool =
        jackfield_protocol::ToolSpec { label: Some("Greet".into()), ..jackfield_protocol::ToolSpec::open("greet") };
    let command = jackfield_protocol::CommandSpec { name: "hi".into(), description: "d".into() };
    let offering = Contributions { tools: vec![tool], commands: vec![command], ..Contributions::default() };
    let stage = Stage::of([actor("a", offering), actor("b", wanting(&["session_info_changed"]))]).started().await;
    let mut events = stage.host.events();
    let entry = json!({ "type": "custom", "customType": "t", "data": 7 });
    let id = stage.host_call("a", "session", json!({ "op": "append", "entry": entry })).await.unwrap()["id"].clone();
    let seen = stage.host_call("b", "session", json!({ "op": "entries" })).await.unwrap();
    assert_eq!((&seen["entries"][0]["id"], &seen["entries"][0]["data"]), (&id, &json!(7)));
    let told = std::iter::from_fn(|| events.try_recv().ok()).any(|event| {
        matches!(event, HostEvent::SessionEntry { extension: Some(by), entry } if by.as_str() == "a" && entry["id"] == id)
    });
    assert!(told);
    stage.host_call("a", "session", json!({ "op": "set_name", "name": "n" })).await.unwrap();
    let told = stage.told().iter().any(|(id, event)| id == "b" && event.event == "session_info_changed");
    assert!(told, "a name is told");
    let tools = stage.host_call("b", "session", json!({ "op": "tools" })).await.unwrap();
    let names = |value: &Value| -> Vec<String> { serde_json::from_value(value.clone()).unwrap() };
    assert!(
        names(&tools["active"]).contains(&"greet".to_owned()) && names(&tools["active"]).contains(&"bash".to_owned())
    );
    let greet = tools["all"].as_array().unwrap().iter().find(|tool| tool["name"] == "greet").unwrap();
    assert_eq!((&greet["label"], &greet["extension"]), (&json!("Greet"), &json!("a")));
    stage.host_call("b", "session", json!({ "op": "set_tools", "names": ["greet", "unknown"] })).await.unwrap();
    let tools = stage.host_call("a", "session", json!({ "op": "tools" })).await.unwrap();
    assert_eq!(names(&tools["active"]), ["greet"], "only what is there");
    let commands = stage.host_call("b", "session", json!({ "op": "commands" })).await.unwrap();
    assert_eq!(commands["commands"][0]["name"], "hi");
}

#[tokio::test]
async fn a_permit_for_one_kind_of_call_or_extension_delivers_no_other() {
    let stage = Stage::of(["a", "b"].map(|id| actor(id, Contributions::default()))).started().await;
    let inner = &stage.host.inner;
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
    assert_eq!(stage.delivered(), Vec::<String>::new());
    let own = inner.permit_delivery(&"a".into(), Delivery::Shortcut("ctrl+a")).unwrap();
    deliver(own).await.unwrap();
    assert_eq!(stage.delivered(), ["a: shortcut ctrl+a"]);
}
