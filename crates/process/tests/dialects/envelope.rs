use std::time::Duration;

use jackfield_protocol::{
    CallId, CommandAction, CommandReply, Dialect, ErrorCode, HookCall, HookPoint, HookVerdict, ToolResult,
};
use jackfield_runtime::{CallCx, ExtensionCall, Reply, StartError};
use serde_json::{Map, Value, json};

use crate::support::{Bed, before_tool_call, event, eventually, hook, text_of, tool};

const ENVELOPE: &str = r#"
def say(id, type, **payload): raw(json.dumps({"id": id, "version": "1.0", "type": type, "payload": payload}))
def register(**more): say("r", "register", **{"name": "e", "version": "3.1", "api_version": "1.0", **more})
"#;

fn python(script: &str) -> Bed {
    Bed::python(Dialect::Envelope, &format!("{ENVELOPE}\n{script}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_commands_hooks_events_and_host_calls() {
    let bed = python(
        r#"
raw("loading...")
register(tools=[{"name": "go", "description": "d", "parameters": {"type": "object"}}, 7], slash_commands=[{"name": "/say"}],
    event_hooks=["tool_call", "after_tool_call", "session_start"],
    capability_manifest={"schema": "pi.ext.cap.v1", "capabilities": [{"capability": "env", "methods": ["env"]}]})
pending, seen = {}, []
for e in next_line():
    t, p, id = e["type"], e["payload"], e["id"]
    if t == "tool_call" and p["name"] == "go":
        pending["call"] = p["call_id"]
        say("x", "log", level="warn", message="careful", event="my.event")
        raw('{"id":"y","version":"1.0","type":"nonsense","payload":{}}')
        say("h", "host_call", call_id="hc", capability="env", method="env", params={"name": "X"}, timeout_ms=9, context={})
    elif t == "tool_call" and p["name"] == "error": say(id, "error", code="oops", message="it broke")
    elif t == "tool_call" and p["name"] == "malformed": say(id, "tool_result", call_id=p["call_id"])
    elif t == "error": pending["error"] = e
    elif t == "host_result":
        say("z", "tool_result", call_id=pending["call"], output={"result": e, "error": pending["error"], "seen": seen}, is_error=False)
    elif t == "slash_command": say(id, "slash_result", output={"action": "insert", "insert": json.dumps(p)}, is_error=False)
    elif t == "event_hook" and p["event"] == "tool_call":
        n = p["data"]["tool_name"]
        data = {"block": True, "reason": "no"} if n == "rm" else {"modified_args": {"b": 2}} if n == "x" else {"modified_args": None}
        say(id, "event_hook", event="tool_call", data=data)
    elif t == "event_hook" and p["event"] == "after_tool_call": say(id, "event_hook", event="x", data={"result": "changed"})
    elif t == "event_hook":
        seen.append([p["event"], p["data"]])
        if p["event"] == "shutdown": open("shutdown", "w").write("yes")
"#,
    );
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.version.as_deref(), Some("3.1"));
    assert_eq!((contributions.tools.len(), contributions.commands[0].name.as_str()), (1, "say"));
    assert_eq!(contributions.hooks, [HookPoint::BeforeToolCall, HookPoint::AfterToolCall]);
    assert_eq!(contributions.events, ["session_start"]);
    assert_eq!(contributions.capabilities.len(), 1);
    assert_eq!(contributions.warnings.len(), 1);

    instance.notify(&event("session_start", 5));
    let said = tool(&instance, "go", json!({})).await.expect("an answer").details.expect("details");
    assert_eq!(
        said["result"],
        json!({"id": "h", "version": "1.0", "type": "host_result",
            "payload": {"call_id": "hc", "output": {"value": "value of X"}, "is_error": false}})
    );
    assert_eq!((&said["error"]["id"], &said["error"]["payload"]["code"]), (&json!("y"), &json!("invalid_request")));
    assert_eq!(said["seen"], json!([["session_start", {"step": 5, "sequence": 5}]]));
    {
        let calls = bed.host.calls.lock().expect("no panic");
        assert_eq!((calls[0].1.claimed.as_deref(), calls[0].1.timeout), (Some("env"), Some(Duration::from_millis(9))));
        let logs = bed.host.logs.lock().expect("no panic");
        assert_eq!((logs[0].event.as_str(), logs[0].message.as_str()), ("my.event", "careful"));
    }
    let failed = tool(&instance, "error", json!({})).await.expect("an answer");
    assert!(failed.is_error);
    assert_eq!(text_of(&failed), "oops: it broke");
    assert_eq!(tool(&instance, "malformed", json!({})).await.expect_err("broken").code, ErrorCode::Protocol);

    let call = ExtensionCall::Command { call_id: CallId::new("c"), name: "say".into(), args: "a  b".into() };
    let reply = instance.call(call, CallCx::within(Duration::from_secs(20))).await.expect("an answer");
    let Reply::Command(CommandReply { action: CommandAction::Insert { insert }, error: None }) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(serde_json::from_str::<Value>(&insert).expect("JSON"), json!({"name": "say", "args": ["a", "b"]}));

    assert_eq!(hook(&instance, before_tool_call("rm")).await, Ok(HookVerdict::Block { reason: "no".into() }));
    assert_eq!(hook(&instance, before_tool_call("x")).await, Ok(HookVerdict::Replace { value: json!({"b": 2}) }));
    assert_eq!(hook(&instance, before_tool_call("y")).await, Ok(HookVerdict::Continue));
    let after = HookCall::AfterToolCall {
        call_id: "c".into(),
        tool: "x".into(),
        arguments: serde_json::Value::Null,
        duration_ms: 1,
        result: ToolResult::text("t"),
        error: None,
    };
    let changed = json!({"content": [{"type": "text", "text": "changed"}]});
    assert_eq!(hook(&instance, after).await, Ok(HookVerdict::Replace { value: changed }));
    let unasked = hook(&instance, HookCall::TurnStart { step: 1 }).await.expect_err("not registered");
    assert_eq!(unasked.code, ErrorCode::Unsupported);

    let exit = instance.stop(Duration::from_secs(10)).await;
    assert_eq!(exit.reason, "exit status 0");
    assert!(bed.file("shutdown").exists(), "an event says it before the input closes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn registration_is_strict() {
    let check = async |script: &str, reason: &str| {
        let error = python(&format!("{script}\ntime.sleep(60)")).fails().await;
        assert!(
            matches!(&error, StartError::BadHandshake { reason: said, .. } if said.contains(reason)),
            "{script}: {error}"
        );
    };
    check("say('1', 'log', level='info', message='x')", "first message must be register (got \"log\")").await;
    check("register(api_version='2.0')", "api_version \"2.0\"").await;
    check("register(name='')", "name").await;
    check("raw('{\"id\":\"1\"}')", "not an envelope").await;
    check("raw('{\"id\":\"1\",\"version\":\"2.0\",\"type\":\"register\",\"payload\":{\"name\":\"x\",\"version\":\"1\",\"api_version\":\"1\"}}')", "version \"2.0\"").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_said_before_register() {
    let bed = python(
        r#"
import select
early = bool(select.select([sys.stdin], [], [], 0.3)[0])
register(tools=[{"name": "early"}])
for e in next_line():
    if e["type"] == "tool_call": say("1", "tool_result", call_id=e["payload"]["call_id"], output=str(early), is_error=False)
"#,
    );
    let (instance, _) = bed.start().await;
    let call = ExtensionCall::Tool {
        call_id: CallId::new("c"),
        name: "early".into(),
        args: json!({}).into(),
        wire: None,
        meta: Map::new().into(),
    };
    let reply = instance.call(call, CallCx::within(Duration::from_secs(20))).await;
    assert_eq!(reply, Ok(Reply::Tool(ToolResult::text("False"))));
    drop(instance);
    eventually("the end is noted", || bed.log().contains("ended:").then_some(()));
}
