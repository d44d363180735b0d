//! Calls beside extensions that were never seen.

use jackfield_protocol::{ErrorCode, HookPoint, HookVerdict};
use serde_json::json;

use super::*;
use crate::call::ToolCall;
use crate::supervisor::State;
use crate::testing::{FakeExtension, Latch, Stage, Start, contents, soon};

/// Offers the tool `work`.
fn script(id: &str) -> FakeExtension {
    FakeExtension::script(id).tool("work")
}

/// Blocks every call.
fn guard() -> FakeExtension {
    FakeExtension::script("guard").guards(|_| HookVerdict::Block { reason: "no".to_owned() })
}

fn work() -> ToolCall {
    ToolCall::by_person("work", json!({}))
}

#[tokio::test]
async fn a_guard_that_nobody_has_met_is_asked() {
    let stage = Stage::of([script("good"), guard()]).open();
    let error = stage.outcome(work()).await.result.expect_err("blocked");
    assert_eq!((error.code, stage.delivered()), (ErrorCode::Denied, vec!["guard: guards work".to_owned()]));
}

/// The start of the guard ends only after the call was made: the call waits for it.
#[tokio::test]
async fn a_guard_that_a_reload_brings_is_asked() {
    let mut stage = Stage::of([script("good")]).open();
    assert_eq!(contents(stage.outcome(work()).await.result), "good");
    let latch = Latch::default();
    stage.edit(guard().starts(Start::After(latch.clone())));
    let reloading = async { stage.reload().await };
    let calling = async {
        stage.until_starting("guard").await;
        let calling = stage.spawn(work());
        latch.open();
        soon(calling).await.expect("no panic").result
    };
    let (_, answer) = tokio::join!(reloading, calling);
    assert_eq!(answer.expect_err("blocked").code, ErrorCode::Denied);
}

/// The silent ones never start, and their starts have no limit here: a call that waited for them would not end.
#[tokio::test]
async fn an_extension_that_cannot_matter_is_not_waited_for() {
    let silent = [FakeExtension::server("silent"), FakeExtension::python_file("z-silent")];
    let silent = silent.map(|extension| extension.starts(Start::Never));
    let stage = Stage::of(silent.into_iter().chain([script("good")])).open();
    // The host knows the owner of the tool. A Python file after it in the order cannot take the name.
    stage.host.start(&"good".into(), Duration::from_secs(60)).await.expect("it starts");
    assert_eq!(contents(stage.outcome(work()).await.result), "good");
    for id in ["silent", "tools.z-silent"] {
        let extension = stage.extension(id);
        assert!(extension.is_stranger() && extension.state() == State::Idle, "the host did not start {id}");
    }
}

/// It could own the name of the tool, so the call waits for it, and says so, but not for long.
#[tokio::test]
async fn an_extension_that_is_no_guard_is_waited_for_once_and_not_for_long() {
    let silent = FakeExtension::python_file("silent").starts(Start::Never);
    let stage = Stage::of([silent, script("z-good")]).open();
    let mut events = stage.host.events();
    assert_eq!(contents(stage.outcome(work()).await.result), "z-good");
    let mut waited = Vec::new();
    while let Ok(event) = events.try_recv() {
        if let HostEvent::Waiting { extensions } = event {
            waited.extend(extensions);
        }
    }
    assert_eq!(waited, [ExtensionId::from("tools.silent")]);
    assert!(!stage.extension("tools.silent").is_stranger(), "the next call does not wait again");
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_get_past_a_guard() {
    let silent = FakeExtension::script("silent").hooks(HookPoint::BeforeToolCall).starts(Start::Never);
    let stage = Stage::of([script("good"), silent]).open();
    let call = work();
    let cancel = call.cancel.clone();
    let calling = stage.spawn(call);
    cancel.cancel();
    let error = soon(calling).await.expect("no panic").result.expect_err("cancelled");
    assert_eq!((error.code, stage.delivered()), (ErrorCode::Cancelled, Vec::<String>::new()));
    assert_eq!(stage.record_names(), ["tool_call.start", "tool_call.end"], "it is recorded all the same");
}

/// The silent one never starts: the call still waits for it when the test reads the ledger.
#[tokio::test]
async fn a_call_is_on_record_before_anything_starts_for_it() {
    let stage = Stage::of([script("silent").starts(Start::Never)]).open();
    let call = work();
    let cancel = call.cancel.clone();
    let calling = stage.spawn(call);
    stage.until_starting("silent").await;
    assert_eq!(stage.record_names(), ["tool_call.start"]);
    cancel.cancel();
    soon(calling).await.expect("no panic").result.expect_err("cancelled");
}

#[tokio::test]
async fn the_record_of_the_end_names_the_owner_that_was_found() {
    let stage = Stage::of([script("good")]).open();
    contents(stage.outcome(work()).await.result);
    let owner = |event: &str| stage.evidence(event)[0]["extension"].clone();
    assert_eq!((owner("tool_call.start"), owner("tool_call.end")), (json!("-"), json!("good")));
    let verified = jackfield_ledger::verify(&stage.host.home().ledger());
    assert_eq!(verified.open_calls, Vec::<String>::new(), "the end closes the start");
}
