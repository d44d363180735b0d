//! What a component is asked, and what it asks.

use jackfield_protocol::{
    Asked, CallId, CommandAction, CommandReply, ErrorCode, HookPoint, HookVerdict, HostCall, Notice, Power, ToolResult,
};
use jackfield_runtime::{ExtensionCall, Reply};
use jackfield_wasm::WasmOptions;
use serde_json::{Map, Value, json};

use crate::support::{Bed, actor_bytes, event, eventually, failure, result, text, text_of, tool, verdict, within};

#[tokio::test]
async fn what_it_describes_is_what_it_contributes() {
    let (_instance, contributions) = Bed::actor().start().await;
    let echo = &contributions.tools[0];
    assert_eq!((echo.name.as_str(), echo.label.as_deref()), ("echo", Some("Echo")));
    assert_eq!(echo.parameters["properties"]["text"]["type"], "string");
    assert_eq!(echo.output_schema, Some(json!({"type": "object"})));
    assert_eq!(contributions.tools[1].parameters, json!({"type": "object"}), "any object without a schema");
    assert_eq!(contributions.version.as_deref(), Some("1.2.3"));
    assert_eq!(contributions.commands[0].name, "hi");
    assert_eq!(contributions.hooks, [HookPoint::BeforeToolCall]);
    assert_eq!(contributions.events, ["session_start", "question"]);
    assert_eq!(contributions.shortcuts, [json!({"key": "ctrl+g", "description": "greets"})]);
    let asked: Vec<Power> = contributions.capabilities.iter().map(|capability| capability.power).collect();
    assert_eq!(asked, [Power::Env, Power::Read, Power::Session, Power::Ui, Power::Write]);
    assert_eq!(contributions.capabilities[0].scope.env, ["ACTOR_*"]);
    assert_eq!(contributions.capabilities[1].scope.paths, ["notes/**"]);
    assert_eq!(contributions.capabilities[0].reason.as_deref(), Some("to greet by name"));
    assert_eq!(contributions.warnings.len(), 1, "{:?}", contributions.warnings);
    assert!(contributions.warnings[0].contains("magic"));
}

#[tokio::test]
async fn tools_answer_or_say_that_they_failed() {
    let (instance, _) = Bed::actor().start().await;
    assert_eq!(text(&instance, "echo", json!({"text": "hä?"})).await, r#"{"text":"hä?"}"#);
    let failed = result(&instance, "fail", json!({})).await;
    assert_eq!(failed, ToolResult::error("it did not work out"));
    let error = result(&instance, "error", json!({})).await;
    assert!(error.is_error);
    assert_eq!(text_of(&error), "there is no such thing");
    assert_eq!(error.details, Some(json!({"code": "not_found"})));
}

#[tokio::test]
async fn host_calls_go_to_the_host_within_their_call() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    let answer: Value = serde_json::from_str(&text(&instance, "env", json!({"name": "HOME"})).await).expect("JSON");
    assert_eq!(answer, json!({"value": "value of HOME"}));
    {
        let calls = bed.host.calls.lock().expect("no panic");
        assert!(matches!(&calls[0].0, HostCall::Env(env) if env.name == "HOME"));
        assert_eq!(calls[0].1.within, Some(CallId::new("call-1")));
    }
    let denied = result(&instance, "env", json!({"name": "DENIED"})).await;
    assert!(denied.is_error);
    assert_eq!(text_of(&denied), "env DENIED is not granted");
    let odd = result(&instance, "env", json!({"nome": "HOME"})).await;
    assert!(odd.is_error && text_of(&odd).contains("bad parameters for host call env"), "{odd:?}");
    let unknown = result(&instance, "levitate", json!({})).await;
    assert!(unknown.is_error && text_of(&unknown).contains("unknown host call method"), "{unknown:?}");
}

#[tokio::test]
async fn hooks_judge_the_tools_that_they_named() {
    let (instance, _) = Bed::actor().start().await;
    let ask = |args: Value| verdict(&instance, "echo", args);
    assert_eq!(ask(json!({"text": "x"})).await, Ok(HookVerdict::Continue));
    let blocked = HookVerdict::Block { reason: "the actor says no".to_owned() };
    assert_eq!(ask(json!({"text": "stopme"})).await, Ok(blocked));
    let replaced = HookVerdict::Replace { value: json!({"text": "swapped"}) };
    assert_eq!(ask(json!({"text": "swapme"})).await, Ok(replaced));
    let broken = ask(json!({"text": "crashme"})).await.expect_err("a trap");
    assert!(broken.message.contains("the_innermost"), "{}", broken.message);
    assert_eq!(ask(json!({"text": "x"})).await, Ok(HookVerdict::Continue), "a new instance");
    // It did not ask about this tool, so it is not even woken.
    assert_eq!(verdict(&instance, "other", json!({"text": "crashme"})).await, Ok(HookVerdict::Continue));
}

#[tokio::test]
async fn commands_events_questions_and_shortcuts_reach_it() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    let command = |name: &str| ExtensionCall::Command {
        call_id: CallId::new("c"),
        name: name.to_owned(),
        args: "there".to_owned(),
    };
    let reply = instance.call(command("hi"), within(5000)).await.expect("a reply");
    let hello = CommandAction::Display { display: "hello from a component".to_owned() };
    assert_eq!(reply, Reply::Command(CommandReply { action: hello, error: None }));
    let reply = instance.call(command("oops"), within(5000)).await.expect("a reply");
    let said = Some("it does not do that".to_owned());
    assert_eq!(reply, Reply::Command(CommandReply { action: CommandAction::Noop, error: said }));

    instance.notify(&event("session_start"));
    instance.notify(&event("not_wanted"));
    eventually("it was told", || bed.host.said("session_start")).await;
    let shortcut = ExtensionCall::Shortcut { call_id: CallId::new("s"), key: "ctrl+g".to_owned() };
    assert_eq!(instance.call(shortcut, within(5000)).await, Ok(Reply::Done));
    eventually("it was pressed", || bed.host.said("shortcut")).await;
    assert!(!bed.host.said("not_wanted"));

    let asked = Asked { data: Map::new(), result: Value::Null, stop: false };
    let ask =
        |event: &str| ExtensionCall::Ask { call_id: CallId::new("q"), event: event.to_owned(), asked: asked.clone() };
    let answered = Asked { data: Map::new(), result: json!({"answer": 42}), stop: true };
    assert_eq!(instance.call(ask("question"), within(5000)).await, Ok(Reply::Asked(answered)));
    assert_eq!(instance.call(ask("other"), within(5000)).await, Ok(Reply::Asked(asked.clone())));
}

#[tokio::test]
async fn progress_and_changed_offers_are_told() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    text(&instance, "progress", json!({})).await;
    let told = bed.host.notices.lock().expect("no panic").clone();
    assert_eq!(told, [Notice::Progress { call_id: "call-1".to_owned(), message: "half way".to_owned() }]);
    text(&instance, "offer", json!({})).await;
    let changes = bed.host.changes.lock().expect("no panic").clone();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].tools[0].name, "second");
}

#[tokio::test]
async fn calls_overlap_and_state_is_kept_between_those_that_do_not() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    assert_eq!(text(&instance, "count", json!({})).await, "1");
    assert_eq!(text(&instance, "count", json!({})).await, "2");
    let began = std::time::Instant::now();
    let pause = || result(&instance, "env", json!({"name": "PAUSE"}));
    let (one, two, three) = tokio::join!(pause(), pause(), pause());
    assert!([one, two, three].iter().all(|result| text_of(result).contains("rested")));
    assert!(began.elapsed().as_millis() < 1400, "they waited for each other: {:?}", began.elapsed());
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_for_their_turn_and_none_is_forgotten() {
    let bed = Bed::with(actor_bytes(), WasmOptions { overlap: 1, ..WasmOptions::default() });
    let (instance, _) = bed.start().await;
    assert_eq!(text(&instance, "count", json!({})).await, "1");
    let count = || text(&instance, "count", json!({}));
    let pause = result(&instance, "env", json!({"name": "PAUSE"}));
    let (_, impatient, two, three) = tokio::join!(pause, failure(&instance, "count", 50), count(), count());
    assert_eq!(impatient.code, ErrorCode::Timeout, "{}", impatient.message);
    assert_eq!([two, three], ["2", "3"], "those who waited were served, by the one instance that there may be");
    // What is given up on another thread leaves its room to those who wait.
    let (spun, anew) = tokio::join!(failure(&instance, "spin", 50), count());
    assert_eq!((spun.code, anew.as_str()), (ErrorCode::Timeout, "1"), "{}", spun.message);
    let (trapped, anew) = tokio::join!(failure(&instance, "trap", 5000), count());
    assert_eq!((trapped.code, anew.as_str()), (ErrorCode::Unavailable, "1"), "{}", trapped.message);
    assert_eq!(count().await, "2");
}

#[tokio::test]
async fn what_is_given_up_on_another_thread_leaves_its_memory_too() {
    // What it is given has it take a megabyte more: one such instance fits, two do not.
    let bed = Bed::with(actor_bytes(), WasmOptions { overlap: 1, memory_mb: 2, ..WasmOptions::default() });
    let (instance, _) = bed.start().await;
    let large = json!({ "text": "x".repeat(300_000) });
    for _ in 0..5 {
        // The second waits for the first one's room and takes it at once.
        let spins = instance.call(tool("spin", large.clone()), within(50));
        let (spun, anew) = tokio::join!(spins, text(&instance, "count", large.clone()));
        assert_eq!(spun.expect_err("it never ends").code, ErrorCode::Timeout);
        assert_eq!(anew, "1", "a new one had room");
    }
}

#[tokio::test]
async fn storage_is_files_of_its_own_through_the_host() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    text(&instance, "save", json!({"a": 1})).await;
    let calls = bed.host.calls.lock().expect("no panic").clone();
    let Some((HostCall::Fs(op), _)) = calls.last() else { panic!("no file was written: {calls:?}") };
    let expected = bed.dir.path().join("storage/all/kept%20value");
    assert_eq!(op.path(), expected.to_str().expect("UTF-8"));
}
