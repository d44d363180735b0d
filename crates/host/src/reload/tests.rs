//! Reloads of fake extensions whose files were edited.

use jackfield_protocol::{ChannelSpec, CommandSpec, ErrorCode, HookPoint, HookVerdict, ToolSpec};
use serde_json::Value;

use super::*;
use crate::call::ToolCall;
use crate::testing::{FakeExtension, Latch, Stage, Start, contents, soon};

/// One extension in a reload: its id, and what is different or why the old version stays.
type Outcome = (String, Result<Vec<String>, String>);

fn changed(id: &str, changes: &[&str]) -> Outcome {
    (id.to_owned(), Ok(changes.iter().map(|change| (*change).to_owned()).collect()))
}

fn not_reloaded(id: &str, why: &str) -> Outcome {
    (id.to_owned(), Err(why.to_owned()))
}

fn x() -> FakeExtension {
    FakeExtension::new("x").tool("work")
}

fn work() -> ToolCall {
    ToolCall::by_person("work", json!({}))
}

async fn answer(stage: &Stage) -> String {
    contents(stage.call("work", json!({})).await)
}

#[tokio::test]
async fn a_changed_extension_is_replaced_and_the_old_one_finishes_its_call() {
    let latch = Latch::default();
    let mut stage = Stage::of([x().says_after(&latch, "one")]).started().await;
    let calling = stage.spawn(work());
    stage.until_delivered(1).await;
    stage.edit(x().tool("more").says("two"));
    assert_eq!(stage.reload().await, [changed("x", &["tool more added"])]);
    assert_eq!(answer(&stage).await, "two");
    assert!(!calling.is_finished(), "the old one still works");
    latch.open();
    assert_eq!(contents(soon(calling).await.expect("no panic").result), "one");
    let end = stage.end_of("x", 0).await;
    assert_eq!((end.reason.as_str(), end.wanted), ("stopped", true));
    assert_eq!(stage.messages("extension.reloaded"), ["the files as they are now count"]);
}

#[tokio::test]
async fn the_old_version_serves_until_the_new_one_is_ready() {
    let latch = Latch::default();
    let mut stage = Stage::of([x().says("one")]).started().await;
    stage.edit(x().says("two").starts(Start::After(latch.clone())));
    let serving = async {
        stage.until_starts("x", 2).await;
        let before = answer(&stage).await;
        latch.open();
        before
    };
    let (reloaded, before) = tokio::join!(stage.reload(), serving);
    assert_eq!((reloaded, before.as_str()), (vec![changed("x", &[])], "one"));
    assert_eq!(answer(&stage).await, "two");
}

#[tokio::test]
async fn a_version_that_does_not_start_leaves_the_old_one_serving_and_says_why() {
    let mut stage = Stage::of([x().says("one")]).started().await;
    stage.edit(x().starts(Start::Fails("line 3: unexpected }")));
    assert_eq!(stage.reload().await, [not_reloaded("x", "line 3: unexpected }")]);
    assert_eq!(answer(&stage).await, "one");
    assert_eq!(stage.messages("extension.not_reloaded"), ["line 3: unexpected }"]);
    assert_eq!(stage.reload().await, [], "the same version is not tried again");
    stage.edit(x().says("three"));
    assert_eq!(stage.reload().await, [changed("x", &[])]);
    assert_eq!(answer(&stage).await, "three");
}

#[tokio::test]
async fn a_manifest_that_cannot_be_read_stops_nothing() {
    let stage = Stage::of([x().says("one")]).started().await;
    stage.break_manifest("x");
    let outcomes = stage.reload().await;
    let [(id, Err(error))] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    assert!(id == "x" && error.contains("parse manifest"), "{outcomes:?}");
    assert_eq!(answer(&stage).await, "one");
}

#[tokio::test]
async fn a_removed_extension_finishes_its_call_and_ends() {
    let latch = Latch::default();
    let stage = Stage::of([x().says_after(&latch, "one")]).started().await;
    let calling = stage.spawn(work());
    stage.until_delivered(1).await;
    stage.remove("x");
    assert_eq!(stage.reload().await, [changed("x", &["removed"])]);
    let error = stage.outcome(work()).await.result.expect_err("it is not offered any more");
    assert_eq!(error.code, ErrorCode::NotFound);
    latch.open();
    assert_eq!(contents(soon(calling).await.expect("no panic").result), "one");
    assert!(stage.end_of("x", 0).await.wanted);
}

#[tokio::test]
async fn an_added_extension_serves_and_one_that_does_not_start_costs_only_itself() {
    let mut stage = Stage::of([]).started().await;
    stage.edit(x().says("new"));
    stage.edit(FakeExtension::new("broken").starts(Start::Fails("no such program")));
    let why = "extension broken is not available: no such program";
    assert_eq!(stage.reload().await, [not_reloaded("broken", why), changed("x", &["added"])]);
    assert_eq!(answer(&stage).await, "new");
}

#[tokio::test]
async fn an_extension_that_becomes_a_guard_is_asked_by_the_very_next_call() {
    let mut stage = Stage::of([x(), FakeExtension::new("y")]).started().await;
    assert_eq!(answer(&stage).await, "x");
    stage.edit(FakeExtension::new("y").guards(|_| HookVerdict::Block { reason: "no".to_owned() }));
    assert_eq!(stage.reload().await, [changed("y", &["hooks changed"])]);
    let error = stage.outcome(work()).await.result.expect_err("blocked");
    assert_eq!(error.message, "tool `work` blocked by extension `y`: no");
}

#[tokio::test]
async fn a_disabled_extension_is_stopped_and_comes_back() {
    let mut stage = Stage::of([x()]).started().await;
    stage.edit(x().disabled());
    let why = "stopped: it is switched off: its manifest says that it is not enabled";
    assert_eq!(stage.reload().await, [changed("x", &[why])]);
    assert!(stage.end_of("x", 0).await.wanted);
    stage.outcome(work()).await.result.expect_err("it does not run");
    stage.edit(x());
    assert_eq!(stage.reload().await, [changed("x", &["tool work added"])]);
    assert_eq!(answer(&stage).await, "x");
}

#[tokio::test]
async fn nothing_changed_means_nothing_reloaded() {
    let stage = Stage::of([x()]).started().await;
    assert_eq!(stage.reload().await, []);
    assert_eq!(stage.starts("x"), 1);
    let all = soon(stage.host.reload(Which::All)).await;
    assert_eq!((all.len(), stage.starts("x")), (1, 2), "a person who asks for it gets a fresh start");
}

#[tokio::test]
async fn an_extension_that_changes_all_the_time_is_left_alone() {
    let mut stage = Stage::of([x()]).started().await;
    for _ in 0..20 {
        stage.edit(x());
        assert_eq!(stage.reload().await, [changed("x", &[])]);
    }
    stage.edit(x());
    let why = "it changed too often; run `jackfield reload x` to load it again";
    assert_eq!(stage.reload().await, [not_reloaded("x", why)]);
    stage.edit(x().says("newest"));
    assert_eq!(stage.reload().await, []);
    let id = ExtensionId::from("x");
    let [Reloaded { error, .. }] = &soon(stage.host.reload(Which::One(&id))).await[..] else { panic!("one") };
    assert_eq!((error, answer(&stage).await.as_str()), (&None, "newest"));
}

#[test]
fn differences_are_named_one_by_one() {
    let command = |name: &str| CommandSpec { name: name.to_owned(), description: String::new() };
    let channel = |name: &str| ChannelSpec { name: name.to_owned(), description: String::new() };
    let before = Contributions {
        version: Some("1".to_owned()),
        tools: vec![ToolSpec::open("same"), ToolSpec::open("edited"), ToolSpec::open("old")],
        commands: vec![command("old")],
        channels: vec![channel("old")],
        ..Contributions::default()
    };
    let edited = ToolSpec { description: "more".to_owned(), ..ToolSpec::open("edited") };
    let after = Contributions {
        tools: vec![ToolSpec::open("same"), edited, ToolSpec::open("new")],
        commands: vec![command("new")],
        channels: vec![channel("new")],
        hooks: vec![HookPoint::TurnStart],
        extra: [("unheard".to_owned(), Value::Null)].into_iter().collect(),
        ..Contributions::default()
    };
    let expected = [
        "tool edited changed",
        "tool new added",
        "tool old removed",
        "command /new added",
        "command /old removed",
        "channel new added",
        "channel old removed",
        "hooks changed",
        "version 1 → none",
    ];
    assert_eq!(differences(Some(&before), Some(&after)), expected);
    assert_eq!(differences(None, None), Vec::<String>::new());
}
