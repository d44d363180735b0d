//! Starts, deaths, restarts and deliveries of fake extensions.

use std::sync::atomic::AtomicBool;

use jackfield_policy::{Caller, Delivery, Permit, Subject};
use jackfield_protocol::{
    Asked, CallError, ChannelOp, ContributionChange, HookCall, Need, Power, Resource, ToolSpec, Wire,
};
use jackfield_runtime::{CallCx, ExtensionCall};
use serde_json::{Value, json};

use super::*;
use crate::call::ToolCall;
use crate::reload::Which;
use crate::testing::{FakeExtension, Latch, Stage, Start, contents, soon, text};

/// Restarts at once, and at most twice.
const QUICK: &str = "[supervisor]\nmax_restarts = 2\nbackoff_ms = 1\n";

impl Supervised {
    /// The states from now on.
    pub(crate) fn states(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }
}

fn x() -> FakeExtension {
    FakeExtension::new("x").tool("work")
}

fn work() -> ToolCall {
    ToolCall::by_person("work", json!({}))
}

async fn work_with(stage: &Stage) -> Result<String, CallError> {
    let result = stage.call("work", json!({})).await;
    result.map(|result| contents(Ok(result)))
}

fn transport_failure() -> CallError {
    CallError::new(ErrorCode::Protocol, "it wrote nonsense")
}

#[tokio::test]
async fn opening_a_host_starts_nothing_and_the_first_call_starts_once() {
    let stage = Stage::of([x()]).open();
    assert_eq!((stage.state("x"), stage.starts("x")), (State::Idle, 0));
    let answers = tokio::join!(work_with(&stage), work_with(&stage), work_with(&stage));
    let answer = || Ok("x".to_owned());
    assert_eq!((answers, stage.starts("x")), ((answer(), answer(), answer()), 1));
    assert_eq!(stage.state("x"), State::Ready);
}

#[tokio::test]
async fn a_dead_instance_is_restarted_and_the_call_after_it_is_served() {
    let stage = Stage::of([x()]).config(QUICK).started().await;
    stage.kill("x", "signal 9 (SIGKILL)");
    assert_eq!(work_with(&stage).await, Ok("x".to_owned()));
    assert_eq!((stage.starts("x"), stage.state("x")), (2, State::Ready));
    assert_eq!(stage.messages("extension.restarting"), ["signal 9 (SIGKILL)"]);
}

#[tokio::test]
async fn an_extension_that_dies_too_often_is_given_up_until_a_person_reloads_it() {
    let stage = Stage::of([x(), FakeExtension::new("y").tool("play")]).config(QUICK).started().await;
    for _ in 0..2 {
        stage.kill("x", "exit status 1");
        assert_eq!(work_with(&stage).await, Ok("x".to_owned()));
    }
    stage.kill("x", "exit status 1");
    let reason = "started again 2 times and died again; the last time: exit status 1".to_owned();
    let failed = stage.until_state("x", |state| matches!(state, State::Failed { .. })).await;
    assert_eq!(failed, State::Failed { reason: reason.clone() });
    let error = work_with(&stage).await.expect_err("it is given up");
    let message = format!("extension x is not available: {reason}");
    assert_eq!(error, CallError::new(ErrorCode::Unavailable, message).of(&"x".into()));
    assert_eq!(stage.starts("x"), 3);
    assert_eq!(contents(stage.call("play", json!({})).await), "y", "the other one goes on");
    soon(stage.host.reload(Which::One(&"x".into()))).await;
    assert_eq!(work_with(&stage).await, Ok("x".to_owned()));
}

#[tokio::test]
async fn a_death_fails_the_call_under_way_at_once_and_does_not_repeat_it() {
    let stage = Stage::of([x().answers_later(|_| std::future::pending())]).config(QUICK).started().await;
    let calling = stage.spawn(work());
    stage.until_delivered(1).await;
    stage.kill("x", "signal 9 (SIGKILL)");
    let error = soon(calling).await.expect("no panic").result.expect_err("it died");
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Unavailable, "signal 9 (SIGKILL)"));
    stage.until_starts("x", 2).await;
    assert_eq!(stage.delivered(), ["x: tool work"]);
}

#[tokio::test]
async fn only_a_call_that_was_not_delivered_is_sent_again_and_only_once() {
    for (error, deliveries) in [
        (CallError::new(ErrorCode::Unavailable, "gone").undelivered(), 2),
        (CallError::new(ErrorCode::Unavailable, "gone"), 1),
    ] {
        let stage = Stage::of([x().fails(error)]).started().await;
        assert_eq!(work_with(&stage).await.expect_err("gone").code, ErrorCode::Unavailable);
        assert_eq!(stage.delivered().len(), deliveries);
    }
}

#[tokio::test]
async fn a_start_that_fails_is_an_error_at_once_and_is_not_tried_again() {
    let broken = FakeExtension::new("broken").starts(Start::Fails("no such program: \u{1b}[31mfoo"));
    let stage = Stage::of([broken, x()]).open();
    let error = soon(stage.host.start(&"broken".into(), Duration::from_secs(3600))).await.expect_err("it fails");
    let message = "extension broken is not available: no such program: foo";
    assert_eq!(error, CallError::new(ErrorCode::Unavailable, message).of(&"broken".into()));
    assert_eq!(stage.state("broken"), State::Failed { reason: "no such program: foo".to_owned() });
    assert_eq!(work_with(&stage).await, Ok("x".to_owned()), "the other one goes on");
    assert_eq!(stage.starts("broken"), 1);
}

#[tokio::test]
async fn a_start_that_hangs_costs_its_caller_the_deadline_and_others_nothing() {
    let stage = Stage::of([FakeExtension::server("silent").starts(Start::Never), x()]).open();
    let within = Duration::from_millis(10);
    let error = soon(stage.host.start(&"silent".into(), within)).await.expect_err("it hangs");
    let message = "extension silent is not ready yet (spawning)";
    assert_eq!(error, CallError::new(ErrorCode::Timeout, message).of(&"silent".into()));
    assert_eq!(work_with(&stage).await, Ok("x".to_owned()));
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_wait_for_the_restart() {
    let latch = Latch::default();
    let mut stage = Stage::of([x()]).config(QUICK).started().await;
    stage.edit(x().starts(Start::After(latch.clone())));
    stage.kill("x", "exit status 1");
    stage.until_starts("x", 2).await;
    let call = work();
    let cancel = call.cancel.clone();
    let calling = stage.spawn(call);
    cancel.cancel();
    let error = soon(calling).await.expect("no panic").result.expect_err("cancelled");
    assert_eq!((error.code, stage.delivered()), (ErrorCode::Cancelled, vec![]));
    latch.open();
    assert_eq!(work_with(&stage).await, Ok("x".to_owned()));
}

#[tokio::test]
async fn an_extension_that_only_serves_calls_is_started_again_by_the_next_call() {
    let serves = Traits { only_serves_calls: true, ..Traits::default() };
    let stage = Stage::of([x().traits(serves)]).config("[supervisor]\nmax_restarts = 0\n").started().await;
    for starts in 2..5 {
        stage.kill("x", "exit status 1");
        stage.until_state("x", |state| *state == State::Idle).await;
        assert_eq!((work_with(&stage).await, stage.starts("x")), (Ok("x".to_owned()), starts));
    }
}

#[tokio::test]
async fn an_extension_that_rests_ends_after_its_calls_and_starts_for_the_next() {
    let rests = Traits { only_serves_calls: true, rests_when_idle: true, ..Traits::default() };
    let latch = Latch::default();
    let config = "[python]\nidle_ms = 1\n";
    let stage = Stage::of([x().traits(rests).says_after(&latch, "one")]).config(config).open();
    let calling = stage.spawn(work());
    stage.until_delivered(1).await;
    assert_eq!(stage.state("x"), State::Ready, "it does not rest while it is busy");
    latch.open();
    assert_eq!(contents(soon(calling).await.expect("no panic").result), "one");
    assert!(stage.end_of("x", 0).await.wanted);
    assert_eq!(work_with(&stage).await, Ok("one".to_owned()));
    assert_eq!(stage.starts("x"), 2);
}

#[tokio::test]
async fn what_a_replaced_instance_contributes_is_not_heard() {
    let stage = Stage::of([x()]).started().await;
    let old = stage.door("x");
    soon(stage.host.reload(Which::All)).await;
    let offers = |name: &str| {
        let tools = vec![ToolSpec::open(name)];
        ContributionChange::All(Contributions { tools, ..Contributions::default() })
    };
    let tools = || stage.host.snapshot().tools().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    old.contribute(offers("stale"));
    assert_eq!(tools(), ["work"]);
    stage.door("x").contribute(offers("fresh"));
    assert_eq!(tools(), ["fresh"]);
}

#[tokio::test]
async fn a_shutdown_stops_every_instance_and_ends_what_comes_later() {
    let stage = Stage::of([x(), FakeExtension::new("y")]).started().await;
    soon(stage.host.shutdown()).await;
    for id in ["x", "y"] {
        assert_eq!((stage.state(id), stage.end_of(id, 0).await.reason.as_str()), (State::Shutdown, "stopped"));
    }
    let error = work_with(&stage).await.expect_err("it was stopped");
    assert_eq!(error.message, "extension x is not available: it was stopped");
}

/// A host whose `x` fails in transport as long as the flag is set, and answers otherwise.
async fn with_failing() -> (Stage, Arc<AtomicBool>) {
    let failing = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&failing);
    let answer = move |_| match seen.load(Ordering::SeqCst) {
        true => Err(transport_failure()),
        false => Ok(text("well again")),
    };
    let stage = Stage::of([x().answers(answer), FakeExtension::new("y").tool("play")]).started().await;
    (stage, failing)
}

#[tokio::test]
async fn after_transport_failures_calls_fail_at_once_and_other_extensions_go_on() {
    let (stage, _failing) = with_failing().await;
    for _ in 0..5 {
        assert_eq!(work_with(&stage).await.expect_err("it fails").code, ErrorCode::Protocol);
    }
    let error = work_with(&stage).await.expect_err("the breaker is open");
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(error.message.contains("its last calls failed in transport"), "{error}");
    assert_eq!(stage.delivered().len(), 5, "the sixth call did not reach it");
    assert_eq!(contents(stage.call("play", json!({})).await), "y");
}

#[tokio::test]
async fn after_its_pause_the_breaker_lets_calls_try_and_closes() {
    let (stage, failing) = with_failing().await;
    // As if the failures had happened before the pause.
    let before = Instant::now().checked_sub(Duration::from_secs(20)).expect("the machine is up for longer");
    (0..5).for_each(|_| lock(&stage.extension("x").breaker).fails_once(before));
    assert_eq!(work_with(&stage).await.expect_err("a probe that fails").code, ErrorCode::Protocol);
    assert_eq!(work_with(&stage).await.expect_err("open again").code, ErrorCode::Unavailable);
    lock(&stage.extension("x").breaker).forget();
    (0..5).for_each(|_| lock(&stage.extension("x").breaker).fails_once(before));
    failing.store(false, Ordering::SeqCst);
    for _ in 0..2 {
        assert_eq!(work_with(&stage).await, Ok("well again".to_owned()));
    }
    failing.store(true, Ordering::SeqCst);
    for _ in 0..5 {
        assert_eq!(work_with(&stage).await.expect_err("it fails").code, ErrorCode::Protocol, "the count is new");
    }
}

#[tokio::test]
async fn what_a_tool_says_of_itself_does_not_open_the_breaker() {
    let stage = Stage::of([x().fails(CallError::new(ErrorCode::InvalidRequest, "no such city"))]).started().await;
    for _ in 0..8 {
        assert_eq!(work_with(&stage).await.expect_err("refused").code, ErrorCode::InvalidRequest);
    }
    assert_eq!(stage.delivered().len(), 8);
}

/// One call of each kind, under the name that its permit has.
fn calls() -> [(&'static str, ExtensionCall); 7] {
    let call_id = || "1".into();
    let tool = ExtensionCall::Tool {
        call_id: call_id(),
        name: "work".to_owned(),
        args: Arc::new(json!({})),
        wire: None,
        meta: Arc::default(),
    };
    let hook = HookCall::TurnStart { step: 1 };
    let (name, args) = ("hi".to_owned(), String::new());
    [
        ("tool", tool),
        ("tool", ExtensionCall::Mcp { call_id: call_id(), method: "x".to_owned(), params: Wire::new("{}") }),
        ("command", ExtensionCall::Command { call_id: call_id(), name: name.clone(), args }),
        ("hook", ExtensionCall::Hook { call_id: call_id(), hook }),
        ("event", ExtensionCall::Ask { call_id: call_id(), event: "e".to_owned(), asked: Asked::default() }),
        ("shortcut", ExtensionCall::Shortcut { call_id: call_id(), key: "f1".to_owned() }),
        ("channel", ExtensionCall::Channel { call_id: call_id(), name, op: ChannelOp::Receive }),
    ]
}

/// A permit of `id` for calls of this kind.
fn permit(stage: &Stage, id: &str, kind: &'static str) -> Permit {
    let (host, id) = (&stage.host.inner, ExtensionId::from(id));
    let decided = |power, method, resource, subject: Subject<'_>| {
        host.decide(&id, subject, &Need { power, method, resource }).permit().expect("permissive")
    };
    let delivery = |what| host.permit_delivery(&id, what).expect("registered");
    match kind {
        "command" => delivery(Delivery::Command("hi")),
        "hook" => delivery(Delivery::Hook("turn_start")),
        "event" => delivery(Delivery::Event("e")),
        "shortcut" => delivery(Delivery::Shortcut("f1")),
        "tool" => decided(Power::Tool, "tool", Resource::Tool("work".to_owned()), Subject::Caller(Caller::Person)),
        _ => decided(Power::Agent, "channel", Resource::Whole, Subject::Extension { declared: &[] }),
    }
}

/// The permit of a tool call may be that of the extension that calls the tool, so it is for every owner.
#[tokio::test]
async fn a_permit_delivers_its_own_kind_of_call_to_its_own_extension() {
    let stage = Stage::of([x(), FakeExtension::new("y")]).started().await;
    let owner = stage.extension("x");
    let mut expected = 0;
    for holder in ["x", "y"] {
        for kind in ["tool", "command", "hook", "event", "shortcut", "channel"] {
            for (wanted, call) in calls() {
                let is_for = kind == wanted && (holder == "x" || kind == "tool");
                let permit = permit(&stage, holder, kind);
                let cx = CallCx::within(Duration::from_secs(60));
                let refused = soon(owner.deliver(&permit, call, cx)).await.err();
                let refused = refused.is_some_and(|error| error.code == ErrorCode::Internal);
                assert_eq!(refused, !is_for, "a permit of {holder} for a {kind} and a call that is a {wanted}");
                expected += usize::from(is_for);
            }
        }
    }
    assert_eq!(stage.delivered().len(), expected, "a refused call did not reach the extension");
}

#[tokio::test]
async fn instances_are_greeted_once_when_the_session_begins() {
    let wants = Contributions { events: vec!["session_start".to_owned()], ..Contributions::default() };
    let stage = Stage::of([FakeExtension::new("y").contributes(wants), x()]).config(QUICK).started().await;
    assert_eq!(stage.told(), [], "the host only looked so far");
    for _ in 0..2 {
        work_with(&stage).await.expect("an answer");
    }
    let told = stage.told();
    let [(id, event)] = told.as_slice() else { panic!("{told:?}") };
    assert_eq!((id.as_str(), event.event.as_str(), &event.data["reason"]), ("y", "session_start", &json!("startup")));
    assert_eq!(event.data["cwd"], Value::String(stage.host.project().display().to_string()));
}
