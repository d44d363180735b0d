//! Host calls of fake extensions: what the gate permits, asks, refuses and records.

use jackfield_policy::Mode;
use jackfield_protocol::{Power, Scope};
use jackfield_runtime::Traits;

use super::*;
use crate::testing::{FakeExtension, Latch, ScriptedPeer, Stage, contents, soon, text};

/// A host with the extension `x` that runs, and the project's file `notes.txt`.
async fn stage_in(mode: Mode, answers: &[Answer], extension: FakeExtension) -> Stage {
    let stage = Stage::of([extension]).mode(mode).person_answers(answers.iter().copied()).started().await;
    std::fs::write(stage.project_file("notes.txt"), "milk").expect("a file");
    stage
}

fn x() -> FakeExtension {
    FakeExtension::new("x").tool("work")
}

fn read_notes() -> Value {
    json!({ "op": "read", "path": "notes.txt" })
}

async fn reads_notes(stage: &Stage) -> Result<Value, CallError> {
    stage.host_call("x", "fs", read_notes()).await.map(|answer| answer["content"].clone())
}

/// Stores an answer of the person about the extension `x`.
fn store(stage: &Stage, effect: Effect, capability: Capability) {
    let answer = NewGrant { extension: "x".into(), capability, effect, project: None };
    stage.host.inner.authority.grants.add(answer).expect("stored");
}

fn denied(message: &str, need: Value) -> CallError {
    let details = json!({ "capability": need["power"], "need": need });
    CallError::new(ErrorCode::Denied, message).with_details(details)
}

fn need(power: &str, path: &str) -> Value {
    json!({ "power": power, "method": "fs", "resource": { "kind": "path", "name": path } })
}

#[tokio::test]
async fn what_is_declared_is_served_and_recorded_without_the_parameters() {
    let stage = stage_in(Mode::Permissive, &[], x().declares(Power::Write)).await;
    let params = json!({ "op": "write", "path": "out.txt", "content": "words of the person" });
    stage.host_call("x", "fs", params.clone()).await.expect("permitted");
    assert_eq!(std::fs::read_to_string(stage.project_file("out.txt")).expect("written"), "words of the person");
    let begun = json!({ "method": "fs", "capability": "write", "extension": "x" });
    assert_eq!(stage.evidence("host_call.start"), [begun]);
    let ended = json!({
        "method": "fs", "capability": "write", "is_error": false, "need": "write out.txt", "decision": "mode",
        "extension": "x",
    });
    assert_eq!(stage.evidence("host_call.end"), [ended]);
    let hash = crate::params_hash("fs", &HostCall::parse("fs", params).expect("a host call").params());
    assert!(stage.records().iter().all(|record| record["data"]["params_hash"] == hash));
    assert!(!stage.ledger_text().contains("words of the person"), "the ledger has the hash only");
}

#[tokio::test]
async fn what_is_not_declared_is_refused_whatever_was_granted() {
    let stage = stage_in(Mode::Permissive, &[], x().declares(Power::Write)).await;
    store(&stage, Effect::Allow, Capability::unlimited(Power::Read));
    let message = "read notes.txt denied to extension x: declared; no grant goes beyond what its manifest declares";
    assert_eq!(reads_notes(&stage).await, Err(denied(message, need("read", "notes.txt"))));
    let ended = json!({
        "method": "fs", "capability": "read", "is_error": true, "need": "read notes.txt", "decision": "declared",
        "error": { "code": "denied", "message": message }, "extension": "x",
    });
    assert_eq!(stage.evidence("host_call.end"), [ended]);
    assert_eq!(stage.messages("policy.decision"), ["denied by policy"]);
}

#[tokio::test]
async fn strict_mode_refuses_and_names_the_grant_that_would_help() {
    let stage = stage_in(Mode::Strict, &[], x()).await;
    let message =
        "read notes.txt denied to extension x: mode; to allow it run `jackfield grant x read --path notes.txt`";
    assert_eq!(reads_notes(&stage).await, Err(denied(message, need("read", "notes.txt"))));
    assert_eq!(stage.approver.questions(), Vec::<String>::new());
    let capability = Capability {
        scope: Scope { paths: vec!["notes.txt".to_owned()], ..Scope::default() },
        ..Capability::unlimited(Power::Read)
    };
    store(&stage, Effect::Allow, capability);
    assert_eq!(reads_notes(&stage).await, Ok(json!("milk")), "the advice works");
}

/// The advice of each refusal is one that works.
#[tokio::test]
async fn a_refusal_that_no_grant_lifts_does_not_advise_one() {
    let config = "[policy]\ndeny_caps = [\"exec\"]\ndeny_tools = [\"other\"]\n";
    let stage = Stage::of([x()]).config(config).started().await;
    store(&stage, Effect::Deny, Capability::unlimited(Power::Read));
    let home = stage.host.home().grants().display().to_string();
    let calls = [
        (
            "exec",
            json!({ "command": "true" }),
            "deny_caps; no grant allows it as long as deny_caps in config.toml names it",
        ),
        (
            "tool",
            json!({ "name": "other" }),
            "deny_tools; no grant allows it as long as deny_tools in config.toml names it",
        ),
        ("fs", read_notes(), "deny_grant; to take the denial back run `jackfield revoke x read`"),
        ("fs", json!({ "op": "write", "path": home, "content": "{}" }), "host_files; no grant allows it"),
    ];
    for (method, params, advice) in calls {
        let error = stage.host_call("x", method, params).await.expect_err("refused");
        assert!(error.message.ends_with(&format!("denied to extension x: {advice}")), "{error}");
    }
}

#[tokio::test]
async fn the_question_to_the_person_says_who_wants_what_and_for_which_tool() {
    let extension = x().answers_later(|call| async move {
        call.host_call("fs", read_notes()).await.map(|answer| text(answer["content"].as_str().expect("text")))
    });
    let stage = stage_in(Mode::Prompt, &[Answer::Once], extension).await;
    assert_eq!(contents(stage.call("work", json!({})).await), "milk");
    let Question { extension, need, act, on_behalf_of, reason, grant } = stage.approver.last_question();
    assert_eq!((extension.as_str(), need.to_string().as_str()), ("x", "read notes.txt"));
    assert_eq!(act, None, "the need says it all");
    assert_eq!((on_behalf_of.as_deref(), reason, grant), (Some("work"), None, Capability::exactly(&need)));
    let ended = json!({
        "method": "fs", "capability": "read", "is_error": false, "need": "read notes.txt", "decision": "mode",
        "answer": "Once", "extension": "x",
    });
    assert_eq!(stage.evidence("host_call.end"), [ended]);
    assert_eq!(stage.messages("policy.decision"), ["the answer was yes"]);
    assert_eq!(
        stage.record_names(),
        ["tool_call.start", "host_call.start", "policy.decision", "host_call.end", "tool_call.end"]
    );
}

#[tokio::test]
async fn the_caller_is_asked_for_permission_before_the_person_of_the_host() {
    let reads = || {
        x().answers_later(|call| async move {
            call.host_call("fs", read_notes()).await.map(|answer| text(answer["content"].as_str().expect("text")))
        })
    };
    let call_by = |peer: &Arc<ScriptedPeer>| ToolCall {
        peer: Some(Arc::clone(peer) as _),
        ..ToolCall::by_person("work", json!({}))
    };
    let stage = stage_in(Mode::Prompt, &[Answer::Once], reads()).await;
    let can_answer = Arc::new(ScriptedPeer::permits(Answer::No));
    let error = stage.outcome(call_by(&can_answer)).await.result.expect_err("the caller said no");
    assert_eq!((error.code, stage.approver.questions()), (ErrorCode::Denied, vec![]));
    assert_eq!(can_answer.questions(), [("approve".to_owned(), json!("read notes.txt"))]);
    let cannot_answer = Arc::new(ScriptedPeer::default());
    assert_eq!(contents(stage.outcome(call_by(&cannot_answer)).await.result), "milk");
    assert_eq!((cannot_answer.questions(), stage.approver.questions().len()), (vec![], 1));
}

/// Reads the file twice, and gives the questions that this took and the grants that are stored afterwards.
async fn asked_twice(answers: &[Answer]) -> (Vec<String>, Vec<Grant>) {
    let stage = stage_in(Mode::Prompt, answers, x()).await;
    for _ in 0..2 {
        assert_eq!(reads_notes(&stage).await, Ok(json!("milk")));
    }
    let other = stage.host_call("x", "fs", json!({ "op": "read", "path": "other.txt" })).await;
    assert_eq!(other.expect_err("no answer covers it").code, ErrorCode::Denied);
    (stage.approver.questions(), stage.host.inner.authority.grants.list())
}

#[tokio::test]
async fn an_answer_is_remembered_as_long_as_it_says() {
    let (notes, other) = ("x: read notes.txt".to_owned(), "x: read other.txt".to_owned());
    let once = vec![notes.clone(), notes.clone(), other.clone()];
    assert_eq!(asked_twice(&[Answer::Once, Answer::Once]).await, (once, vec![]));
    assert_eq!(asked_twice(&[Answer::ThisRun]).await, (vec![notes.clone(), other.clone()], vec![]));
    for (answer, in_project) in [(Answer::AlwaysHere, true), (Answer::Always, false)] {
        let (questions, grants) = asked_twice(&[answer]).await;
        assert_eq!(questions, [notes.clone(), other.clone()], "{answer:?}");
        let [Grant { extension, capability, effect, project, .. }] = grants.as_slice() else { panic!("one grant") };
        assert_eq!((extension.as_str(), capability.to_string().as_str()), ("x", "read paths=notes.txt"));
        assert_eq!((*effect, project.is_some()), (Effect::Allow, in_project), "{answer:?}");
    }
}

#[tokio::test]
async fn a_no_lasts_as_long_as_the_host_and_silence_for_one_call() {
    let message = "read notes.txt denied to extension x: no person said yes; \
                   to allow it run `jackfield grant x read --path notes.txt`";
    let refused = Err(denied(message, need("read", "notes.txt")));
    let stage = stage_in(Mode::Prompt, &[Answer::Unanswered, Answer::No, Answer::Once], x()).await;
    for _ in 0..4 {
        assert_eq!(reads_notes(&stage).await, refused);
    }
    assert_eq!(stage.approver.questions().len(), 2, "the host does not ask again after a no");
    store(&stage, Effect::Allow, Capability::unlimited(Power::Read));
    assert_eq!(reads_notes(&stage).await, Ok(json!("milk")), "a grant of the person counts more");
}

#[tokio::test]
async fn a_question_shows_the_arguments_and_a_no_is_about_them() {
    let stage = stage_in(Mode::Prompt, &[Answer::No, Answer::Once], x()).await;
    let run = |word: &str| stage.host_call("x", "exec", json!({ "command": "echo", "args": [word] }));
    assert_eq!(run("rm").await.expect_err("refused").code, ErrorCode::Denied);
    assert_eq!(stage.approver.last_question().act.as_deref(), Some("echo rm"));
    assert_eq!(run("rm").await.expect_err("refused").code, ErrorCode::Denied);
    run("hello").await.expect("another question, and a yes");
    assert_eq!(stage.approver.questions(), ["x: exec echo", "x: exec echo"]);
}

#[tokio::test]
async fn two_calls_at_once_need_one_answer() {
    let stage = stage_in(Mode::Prompt, &[Answer::ThisRun], x()).await;
    let answers = tokio::join!(reads_notes(&stage), reads_notes(&stage), reads_notes(&stage));
    let milk = || Ok(json!("milk"));
    assert_eq!(answers, (milk(), milk(), milk()));
    assert_eq!(stage.approver.questions(), ["x: read notes.txt"]);
}

#[tokio::test]
async fn a_second_path_in_the_middle_is_judged_like_the_first() {
    let stage = stage_in(Mode::Prompt, &[Answer::Once, Answer::No], x()).await;
    let copy = json!({ "op": "copy", "path": "notes.txt", "to": "copy.txt" });
    let error = stage.host_call("x", "fs", copy).await.expect_err("the second path was refused");
    assert_eq!(error.code, ErrorCode::Denied);
    assert_eq!(stage.approver.questions(), ["x: read notes.txt", "x: write copy.txt"]);
    assert!(!stage.project_file("copy.txt").exists(), "nothing was copied");
}

#[tokio::test]
async fn a_claim_that_differs_from_the_need_is_an_invalid_request() {
    let stage = stage_in(Mode::Prompt, &[], x()).await;
    let claims = |claimed: &str| HostCallCx { claimed: Some(claimed.to_owned()), ..HostCallCx::default() };
    let error = stage.host_call_with("x", "fs", read_notes(), claims("write")).await.expect_err("a false claim");
    let message = "the claimed capability \"write\" is not \"read\", which this call needs";
    assert_eq!(error, CallError::new(ErrorCode::InvalidRequest, message));
    assert_eq!(stage.approver.questions(), Vec::<String>::new(), "no person is asked about a false claim");
    let error = stage.host_call_with("x", "fs", read_notes(), claims("read")).await.expect_err("the answer was no");
    assert_eq!(error.code, ErrorCode::Denied);
}

#[tokio::test]
async fn a_host_call_serves_only_a_call_of_its_own_extension() {
    let latch = Latch::default();
    let busy = FakeExtension::new("y").tool("play").says_after(&latch, "done");
    let stage = Stage::of([x(), busy]).started().await;
    let calling = stage.spawn(ToolCall::by_person("play", json!({})));
    stage.until_delivered(1).await;
    let of_y = stage.host.inner.active().keys().next().cloned();
    let cx = HostCallCx { within: of_y.clone(), ..HostCallCx::default() };
    let error = stage.host_call_with("x", "session", json!({ "op": "info" }), cx).await.expect_err("not its call");
    let message = format!("call {} is not under way here", of_y.expect("a call under way"));
    assert_eq!(error, CallError::new(ErrorCode::InvalidRequest, message));
    latch.open();
    assert_eq!(contents(soon(calling).await.expect("no panic").result), "done");
}

/// Without a name the host could join the tool call to the wrong one, and miss a loop.
#[tokio::test]
async fn with_several_calls_under_way_a_tool_call_names_the_one_it_serves() {
    let latch = Latch::default();
    let stage = Stage::of([x().says_after(&latch, "done")]).started().await;
    let calling = [(); 2].map(|()| stage.spawn(ToolCall::by_person("work", json!({}))));
    stage.until_delivered(2).await;
    let error = stage.host_call("x", "tool", json!({ "name": "work" })).await.expect_err("which one?");
    let message = "several calls are under way: name the one that this tool call serves";
    assert_eq!(error, CallError::new(ErrorCode::InvalidRequest, message));
    latch.open();
    for calling in calling {
        assert_eq!(contents(soon(calling).await.expect("no panic").result), "done");
    }
}

#[tokio::test]
async fn a_tool_call_through_the_gate_takes_one_permit_and_the_whole_path() {
    let caller = x().answers_later(|call| async move {
        let result = call.host_call("tool", json!({ "name": "ext_y_play", "input": { "a": 1 } })).await?;
        Ok(text(result["content"][0]["text"].as_str().expect("text")))
    });
    let callee = FakeExtension::new("y").tool("play").echoes();
    let stage = Stage::of([caller, callee]).mode(Mode::Prompt).person_answers([Answer::Once]).started().await;
    assert_eq!(contents(stage.call("work", json!({})).await), r#"{"a":1}"#);
    assert_eq!(stage.approver.questions(), ["x: tool play"], "under the name that it runs under");
    let inner = json!({ "tool": "play", "caller": "extension", "is_error": false, "extension": "y" });
    assert_eq!(stage.evidence("tool_call.end")[0], inner);
}

#[tokio::test]
async fn an_extension_uses_its_own_data_folder_in_every_mode() {
    let sandboxed = Traits { confinement: jackfield_runtime::Confinement::Sandboxed, ..Traits::default() };
    let stage = stage_in(Mode::Strict, &[], x().traits(sandboxed)).await;
    let path = stage.host.home().data(&"x".into()).join("state.json").display().to_string();
    let write = json!({ "op": "write", "path": path, "content": "{}" });
    stage.host_call("x", "fs", write).await.expect("its own file");
    assert_eq!(stage.evidence("host_call.end")[0]["decision"], "own_files");
    let of_another = stage.host.home().data(&"y".into()).join("state.json").display().to_string();
    let error = stage.host_call("x", "fs", json!({ "op": "read", "path": of_another })).await.expect_err("not its own");
    assert_eq!(error.code, ErrorCode::Denied);
}

#[tokio::test]
async fn a_door_outlives_its_host_and_serves_nothing_then() {
    let stage = stage_in(Mode::Permissive, &[], x()).await;
    let door = stage.door("x");
    drop(stage);
    let call = HostCall::parse("fs", read_notes()).expect("a host call");
    let error = soon(door.call(call, HostCallCx::default())).await.expect_err("no host");
    assert_eq!(error, CallError::new(ErrorCode::Unavailable, "the host is shutting down"));
}
