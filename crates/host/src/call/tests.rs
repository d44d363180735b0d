//! The path of a tool call, past guards, schema and policy to an extension and back.

use std::sync::Mutex;

use jackfield_policy::Mode;
use jackfield_protocol::{HookPoint, HookVerdict, OnFailure, ToolSpec};
use jackfield_runtime::Traits;

use super::*;
use crate::testing::{FakeExtension, Stage, contents, lock, soon, text};

fn code(result: Result<ToolResult, CallError>) -> ErrorCode {
    result.expect_err("an error").code
}

fn block(reason: &str) -> HookVerdict {
    HookVerdict::Block { reason: reason.to_owned() }
}

#[tokio::test]
async fn a_call_reaches_its_extension_and_the_answer_comes_back() {
    let stage = Stage::of([FakeExtension::new("echo").tool("work").echoes()]).started().await;
    let outcome = stage.outcome(ToolCall::by_person("work", json!({ "a": 1 }))).await;
    assert_eq!((outcome.tool.as_str(), outcome.extension), ("work", Some(ExtensionId::from("echo"))));
    assert_eq!(outcome.result, Ok(ToolResult::text(r#"{"a":1}"#)));
    assert_eq!(stage.delivered(), ["echo: tool work"]);
}

#[tokio::test]
async fn the_host_validates_arguments_unless_the_runtime_does() {
    let arguments = json!({ "count": "many" });
    let call_with = async |traits: Traits| {
        let extension = FakeExtension::new("odd").counting_tool("count").echoes().traits(traits);
        let stage = Stage::of([extension]).started().await;
        (stage.call("ext_odd_count", arguments.clone()).await, stage.delivered())
    };
    let (refused, delivered) = call_with(Traits::default()).await;
    assert_eq!((code(refused), delivered), (ErrorCode::InvalidRequest, vec![]));
    let (answer, delivered) = call_with(Traits { validates_arguments: true, ..Traits::default() }).await;
    assert_eq!((contents(answer), delivered), (arguments.to_string(), vec!["odd: tool count".to_owned()]));
}

#[tokio::test]
async fn an_unknown_tool_is_named_with_what_is_like_it() {
    let stage = Stage::of([FakeExtension::new("a").tool("weather_now")]).started().await;
    let outcome = stage.outcome(ToolCall::by_person("weather", json!({}))).await;
    let error = outcome.result.expect_err("no such tool");
    let message = "no tool named \"weather\"; did you mean weather_now? (see `jackfield tools`)";
    assert_eq!((error.code, error.message.as_str(), outcome.extension), (ErrorCode::NotFound, message, None));
    let ended = json!({
        "tool": "weather", "caller": "person", "is_error": true, "extension": "-",
        "error": { "code": "not_found", "message": message },
    });
    assert_eq!(stage.evidence("tool_call.end"), [ended]);
}

#[tokio::test]
async fn a_guard_that_blocks_stops_the_call() {
    let guard = FakeExtension::new("guard").guards(|_| block("not today"));
    let stage = Stage::of([guard, FakeExtension::new("owner").tool("work")]).started().await;
    let error = stage.call("work", json!({})).await.expect_err("blocked");
    let message = "tool `work` blocked by extension `guard`: not today";
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Denied, message));
    assert_eq!(stage.delivered(), ["guard: guards work"]);
    let asked = json!({ "hook": "before_tool_call", "is_error": false, "verdict": "block", "extension": "guard" });
    assert_eq!(stage.evidence("event_hook.end"), [asked]);
}

#[tokio::test]
async fn arguments_that_a_guard_replaced_are_delivered() {
    let guard = FakeExtension::new("guard").guards(|_| HookVerdict::Replace { value: json!({ "count": 2 }) });
    let owner = FakeExtension::new("owner").counting_tool("work").echoes();
    let stage = Stage::of([guard, owner]).started().await;
    assert_eq!(contents(stage.call("work", json!({ "count": 1 })).await), r#"{"count":2}"#);
}

#[tokio::test]
async fn arguments_that_a_guard_replaced_are_validated() {
    let guard = FakeExtension::new("guard").guards(|_| HookVerdict::Replace { value: json!({ "count": "two" }) });
    let owner = FakeExtension::new("owner").counting_tool("work").echoes();
    let stage = Stage::of([guard, owner]).started().await;
    assert_eq!(code(stage.call("work", json!({ "count": 1 })).await), ErrorCode::InvalidRequest);
    assert_eq!(stage.delivered(), ["guard: guards work"]);
}

/// A replacement takes the arguments as they were written along, so that no older text reaches the extension.
#[tokio::test]
async fn replaced_arguments_are_not_delivered_as_they_were_written() {
    let wires = |verdict: HookVerdict| async move {
        let guard = FakeExtension::new("guard").guards(move |_| verdict.clone());
        let stage = Stage::of([guard, FakeExtension::new("owner").tool("work")]).started().await;
        let call = ToolCall { wire: Some(Wire::new(r#"{"a": 1}"#)), ..ToolCall::by_person("work", json!({ "a": 1 })) };
        contents(stage.outcome(call).await.result);
        stage.calls().into_iter().find_map(|call| match call {
            ExtensionCall::Tool { wire, .. } => Some(wire),
            _ => None,
        })
    };
    assert_eq!(wires(HookVerdict::Continue).await, Some(Some(Wire::new(r#"{"a": 1}"#))));
    assert_eq!(wires(HookVerdict::Replace { value: json!({ "a": 2 }) }).await, Some(None));
}

#[tokio::test]
async fn when_a_guard_fails_its_rule_decides() {
    let call_with = async |rule: Option<OnFailure>, mode: Mode| {
        let error = CallError::new(ErrorCode::Protocol, "nonsense");
        let guard = FakeExtension::new("guard").hooks(HookPoint::BeforeToolCall).fails(error);
        let guard = rule.into_iter().fold(guard, FakeExtension::on_failure);
        let stage = Stage::of([guard, FakeExtension::new("owner").tool("work")]).mode(mode).started().await;
        stage.call("work", json!({})).await.map_err(|error| error.message)
    };
    let goes_on = Ok(ToolResult::text("owner"));
    let stops = Err("tool `work` blocked by extension `guard`: guard guard failed and is set to deny on failure: \
                     nonsense"
        .to_owned());
    assert_eq!(call_with(None, Mode::Permissive).await, goes_on);
    assert_eq!(call_with(Some(OnFailure::Allow), Mode::Permissive).await, goes_on);
    assert_eq!(call_with(Some(OnFailure::Deny), Mode::Permissive).await, stops);
    assert_eq!(call_with(Some(OnFailure::Allow), Mode::Strict).await, stops, "strict mode lets no guard fail open");
}

#[tokio::test]
async fn a_guard_that_does_not_answer_in_time_has_failed() {
    let guard = FakeExtension::new("guard").hooks(HookPoint::BeforeToolCall).on_failure(OnFailure::Deny);
    let guard = guard.limit("hook_timeout_ms", 10).answers_later(|_| std::future::pending());
    let stage = Stage::of([guard, FakeExtension::new("owner").tool("work")]).started().await;
    let error = stage.call("work", json!({})).await.expect_err("the guard is set to deny");
    assert!(error.message.contains("set to deny on failure: extension guard did not answer in time"), "{error}");
}

#[tokio::test]
async fn guards_are_asked_in_order_and_the_first_block_wins() {
    let first = FakeExtension::new("z-first").priority(-1);
    let first = first.guards(|_| HookVerdict::Replace { value: json!({ "from": "first" }) });
    let second = FakeExtension::new("b-second").guards(|hook| match hook {
        HookCall::BeforeToolCall { arguments, .. } => block(&format!("saw {arguments}")),
        other => panic!("{other:?}"),
    });
    let third = FakeExtension::new("c-third").guards(|_| block("never said"));
    let stage = Stage::of([third, second, first, FakeExtension::new("owner").tool("work")]).started().await;
    let error = stage.call("work", json!({})).await.expect_err("blocked");
    assert_eq!(error.message, r#"tool `work` blocked by extension `b-second`: saw {"from":"first"}"#);
    assert_eq!(stage.delivered(), ["z-first: guards work", "b-second: guards work"]);
}

#[tokio::test]
async fn a_hook_after_the_call_may_replace_the_result_and_block_nothing() {
    let call_with = async |verdict: HookVerdict| {
        let hook = FakeExtension::new("hook").hooks(HookPoint::AfterToolCall);
        let hook = hook.answers(move |_| Ok(Reply::Hook(verdict.clone())));
        let stage = Stage::of([hook, FakeExtension::new("owner").tool("work")]).started().await;
        let answer = contents(stage.call("work", json!({})).await);
        (answer, stage.delivered())
    };
    let order = || vec!["owner: tool work".to_owned(), "hook: hook after_tool_call".to_owned()];
    let value = serde_json::to_value(ToolResult::text("replaced")).expect("JSON");
    assert_eq!(call_with(HookVerdict::Replace { value }).await, ("replaced".to_owned(), order()));
    assert_eq!(call_with(block("too late")).await, ("owner".to_owned(), order()));
}

#[tokio::test]
async fn a_caller_who_gives_up_ends_the_call() {
    let slow = FakeExtension::new("slow").tool("work").answers_later(|_| std::future::pending());
    let stage = Stage::of([slow]).started().await;
    let call = ToolCall::by_person("work", json!({}));
    let cancel = call.cancel.clone();
    let calling = stage.spawn(call);
    stage.until_delivered(1).await;
    cancel.cancel();
    assert_eq!(code(soon(calling).await.expect("no panic").result), ErrorCode::Cancelled);
    assert_eq!(stage.host.calls_under_way(), 0);
    assert_eq!(stage.evidence("tool_call.end")[0]["error"]["code"], "cancelled");
}

#[tokio::test]
async fn a_call_ends_at_its_deadline() {
    let slow = || FakeExtension::new("slow").tool("work").answers_later(|_| std::future::pending());
    let stage = Stage::of([slow()]).started().await;
    let timeout = Some(Duration::from_millis(10));
    let outcome = stage.outcome(ToolCall { timeout, ..ToolCall::by_person("work", json!({})) }).await;
    assert_eq!(code(outcome.result), ErrorCode::Timeout, "the caller's limit");
    let stage = Stage::of([slow().limit("call_timeout_ms", 10)]).started().await;
    assert_eq!(code(stage.call("work", json!({})).await), ErrorCode::Timeout, "the manifest's limit");
}

/// Each tool calls the next one of the chain through the gate.
fn chain(length: usize) -> FakeExtension {
    let tools = (1..=length).map(|number| ToolSpec::open(format!("t{number}")));
    tools.fold(FakeExtension::new("chain"), FakeExtension::tool_spec).answers_later(move |call| async move {
        let ExtensionCall::Tool { name, .. } = &call.call else { panic!("a tool call") };
        let number: usize = name.trim_start_matches('t').parse().expect("a number");
        if number == length {
            return Ok(text("the end"));
        }
        let next = json!({ "name": format!("t{}", number + 1), "input": {} });
        let result = call.host_call("tool", next).await?;
        Ok(Reply::Tool(serde_json::from_value(result).expect("a result")))
    })
}

#[tokio::test]
async fn calls_within_calls_end_at_the_depth_limit() {
    let stage = Stage::of([chain(MAX_DEPTH)]).started().await;
    assert_eq!(contents(stage.call("t1", json!({})).await), "the end");
    let stage = Stage::of([chain(MAX_DEPTH + 1)]).started().await;
    let error = stage.call("t1", json!({})).await.expect_err("too deep");
    let message = "tool t5 would be 5 calls deep; the most is 4";
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::InvalidRequest, message));
    assert_eq!(stage.delivered().len(), MAX_DEPTH, "the fifth call did not reach the extension");
    assert_eq!(stage.host.calls_under_way(), 0);
}

#[tokio::test]
async fn a_tool_that_calls_itself_through_another_is_refused() {
    let calls = |name: &'static str, other: &'static str| {
        FakeExtension::new(name).tool(name).answers_later(move |call| async move {
            call.host_call("tool", json!({ "name": other, "input": {} })).await.map(|_| text("unreachable"))
        })
    };
    let stage = Stage::of([calls("ping", "pong"), calls("pong", "ping")]).started().await;
    let error = stage.call("ping", json!({})).await.expect_err("a loop");
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::InvalidRequest, "tool ping would call itself through ping")
    );
    assert_eq!(stage.delivered(), ["ping: tool ping", "pong: tool pong"]);
}

/// The extension reads the ledger when the call arrives.
#[tokio::test]
async fn the_record_begins_before_the_delivery_and_ends_before_the_answer() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let reader = FakeExtension::new("reader").tool("work").answers(move |call| {
        lock(&log).extend(call.ledger());
        Ok(text("read"))
    });
    let stage = Stage::of([reader]).started().await;
    contents(stage.call("work", json!({ "secret": "of the caller" })).await);
    assert_eq!(*lock(&seen), ["tool_call.start"]);
    assert_eq!(stage.record_names(), ["tool_call.start", "tool_call.end"]);
    let begun = json!({ "tool": "work", "caller": "person", "extension": "reader" });
    assert_eq!(stage.evidence("tool_call.start"), [begun]);
    let ended = json!({
        "tool": "work", "caller": "person", "is_error": false, "decision": "caller", "extension": "reader",
    });
    assert_eq!(stage.evidence("tool_call.end"), [ended]);
    assert!(!stage.ledger_text().contains("of the caller"), "the ledger has the hash of arguments only");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_recorded_as_abandoned() {
    let slow = FakeExtension::new("slow").tool("work").answers_later(|_| std::future::pending());
    let stage = Stage::of([slow]).started().await;
    let calling = stage.spawn(ToolCall::by_person("work", json!({})));
    stage.until_delivered(1).await;
    calling.abort();
    assert!(soon(calling).await.expect_err("aborted").is_cancelled());
    let ended = json!({
        "tool": "work", "caller": "person", "is_error": true, "extension": "slow",
        "error": { "code": "abandoned", "message": "the call was given up before it was answered" },
    });
    assert_eq!(stage.evidence("tool_call.end"), [ended]);
    assert_eq!(stage.host.calls_under_way(), 0);
}

#[tokio::test]
async fn a_denied_tool_is_denied_under_both_names() {
    for pattern in ["work", "ext_owner_work"] {
        let config = format!("[policy]\ndeny_tools = [\"{pattern}\"]\n");
        let stage = Stage::of([FakeExtension::new("owner").tool("work")]).config(&config).started().await;
        for name in ["work", "ext_owner_work"] {
            assert_eq!(code(stage.call(name, json!({})).await), ErrorCode::Denied, "{pattern} denies {name}");
        }
        assert_eq!(stage.delivered(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn strict_mode_lets_an_agent_call_only_what_is_allowed_by_name() {
    let owner = FakeExtension::new("owner").tool("work").tool("play");
    let config = "[policy]\nallow_tools = [\"work\"]\n";
    let stage = Stage::of([owner]).mode(Mode::Strict).config(config).started().await;
    assert_eq!(contents(stage.call_by_agent("work").await), "owner");
    assert_eq!(code(stage.call_by_agent("play").await), ErrorCode::Denied);
    assert_eq!(contents(stage.call("play", json!({})).await), "owner", "a person uses tools at will");
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_is_an_error_of_the_protocol() {
    let odd = FakeExtension::new("odd").tool("work").answers(|_| Ok(Reply::Done));
    let stage = Stage::of([odd]).started().await;
    let error = stage.call("work", json!({})).await.expect_err("no result");
    assert_eq!((error.code, error.extension), (ErrorCode::Protocol, Some(ExtensionId::from("odd"))));
}
