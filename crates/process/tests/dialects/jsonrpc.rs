use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallId, Dialect, ErrorCode, HookCall, HookVerdict, Notice, NoticeLevel, ToolResult, ToolSpec,
};
use jackfield_runtime::{CallCx, ExtensionCall, Reply, StartError};
use serde_json::{Map, Value, json};

use crate::support::{Bed, before_tool_call, hook, tool, tool_text};

const RPC: &str = r#"
def reply(id, result): send(jsonrpc="2.0", id=id, result=result)
def fail(id, code, message, **more): send(jsonrpc="2.0", id=id, error={"code": code, "message": message, **more})
"#;

fn python(script: &str) -> Bed {
    Bed::python(Dialect::JsonRpc, &format!("{RPC}\n{script}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_template_extension_works_and_is_shut_down_politely() {
    let bed = python(
        r#"
raw("warming up"); raw("")
for r in next_line():
    m, p, id = r["method"], r["params"], r["id"]
    if m == "initialize":
        raw("junk"); raw('{"id": 0}')
        reply(id, {"server_version": "t-1", "tools": ["greet", {"name": "add", "description": "adds", "input_schema": {"type": "object"}}], "hooks": ["before_message"], "seen": r})
    elif m == "tools/call":
        n, a = p["name"], p["arguments"]
        if n == "add": reply(id, {"sum": a["a"] + a["b"]})
        elif n == "bad": fail(id, -32602, "fields a,b must be numeric", data={"f": "a"})
        elif n == "text": reply(id, "plain")
        elif n == "blocks": reply(id, {"content": [{"type": "text", "text": "b"}], "isError": True})
        else: reply(id, r)
    elif m == "shutdown":
        open("shutdown", "w").write(json.dumps(r))
        reply(id, {"ok": True}); sys.exit(0)
"#,
    );
    let (instance, contributions) = bed.start().await;
    let add = ToolSpec { description: "adds".into(), ..ToolSpec::open("add") };
    assert_eq!(contributions.tools, [ToolSpec::open("greet"), add]);
    assert_eq!(contributions.version.as_deref(), Some("t-1"));
    let result = tool(&instance, "add", json!({"a": 2, "b": 3})).await.expect("an answer");
    assert_eq!(result, ToolResult { details: Some(json!({"sum": 5})), ..ToolResult::text(r#"{"sum":5}"#) });
    let result = tool(&instance, "bad", json!({})).await.expect("an application's error is an answer");
    let details = json!({"code": -32602, "data": {"f": "a"}});
    let text = "code -32602: fields a,b must be numeric";
    assert_eq!(result, ToolResult { details: Some(details), ..ToolResult::error(text) });
    assert_eq!(tool(&instance, "text", json!({})).await, Ok(ToolResult::text("plain")));
    assert_eq!(tool(&instance, "blocks", json!({})).await, Ok(ToolResult::error("b")));
    let meta = Map::from_iter([("agent_id".to_owned(), json!("a"))]);
    let call = ExtensionCall::Tool {
        call_id: CallId::new("c"),
        name: "echo".into(),
        args: json!({"x": 1}).into(),
        wire: None,
        meta: meta.into(),
    };
    let Reply::Tool(result) = instance.call(call, CallCx::within(Duration::from_secs(20))).await.expect("an answer")
    else {
        panic!("a tool's answer")
    };
    assert_eq!(
        result.details,
        Some(json!({"jsonrpc": "2.0", "method": "tools/call", "id": 5,
            "params": {"name": "echo", "arguments": {"x": 1, "_meta": {"agent_id": "a"}}}}))
    );
    let exit = instance.stop(Duration::from_secs(10)).await;
    assert_eq!((exit.reason.as_str(), exit.wanted), ("exit status 0", true));
    let shutdown: Value =
        serde_json::from_slice(&std::fs::read(bed.file("shutdown")).expect("delivered")).expect("JSON");
    assert_eq!((&shutdown["method"], &shutdown["id"]), (&json!("shutdown"), &json!(0)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_documented_form_of_tool_calls_is_found_once() {
    let bed = python(
        r#"
seen = []
for r in next_line():
    seen.append(r["method"])
    if r["method"] == "initialize": reply(r["id"], {"tools": ["a"]})
    elif r["method"] == "tools/a": reply(r["id"], {"seen": seen, "params": r["params"]})
    else: fail(r["id"], -32601, "unknown method")
"#,
    );
    let (instance, _) = bed.start().await;
    tool(&instance, "a", json!({"x": 1})).await.expect("an answer");
    let result = tool(&instance, "a", json!({"x": 2})).await.expect("an answer");
    let expected = json!({"seen": ["initialize", "tools/call", "tools/a", "tools/a"], "params": {"x": 2}});
    assert_eq!(result.details, Some(expected));
    let unknown = tool(&instance, "b", json!({})).await.expect("an answer");
    assert_eq!(unknown.details, Some(json!({"code": -32601})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_abort_override_and_fail() {
    let bed = python(
        r#"
for r in next_line():
    m, p, id = r["method"], r["params"], r["id"]
    if m == "initialize": reply(id, {"hooks": ["before_message", "before_tool_call", "after_tool_call", "after_message"]})
    elif m == "hooks/before_message":
        t = p["text"]
        if t == "bad": reply(id, {"abort": True, "reason": "banned"})
        elif t == "block": reply(id, {"decision": "block"})
        elif t == "transform": reply(id, {"decision": "transform", "transformed_body": "new"})
        elif t == "echo": reply(id, {"override": {"text": json.dumps(p)}})
        elif t == "error": fail(id, -32000, "boom")
        elif t == "nonsense": reply(id, {"abort": "maybe"})
        else: reply(id, None)
    elif m == "hooks/before_tool_call": reply(id, {"override": {"arguments": {"b": 2} if p["tool_name"] == "x" else [1]}})
    elif m == "hooks/after_tool_call": reply(id, {"abort": True, "override": {"result": p["result"]["content"][0]["text"].upper()}})
"#,
    );
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.hooks.len(), 4);
    let message = |text: &str| HookCall::BeforeMessage { text: text.into(), source: "s".into() };
    let ask = async |call| hook(&instance, call).await;
    let block = |reason: &str| Ok(HookVerdict::Block { reason: reason.into() });
    let replace = |value: Value| Ok(HookVerdict::Replace { value });
    assert_eq!(ask(message("bad")).await, block("banned"));
    assert_eq!(ask(message("block")).await, block("(no reason)"));
    assert_eq!(ask(message("transform")).await, replace(json!("new")));
    assert_eq!(ask(message("fine")).await, Ok(HookVerdict::Continue));
    let Ok(HookVerdict::Replace { value: Value::String(seen) }) = ask(message("echo")).await else { panic!("a text") };
    assert_eq!(
        serde_json::from_str::<Value>(&seen).expect("JSON"),
        json!({"agent_id": "jackfield", "session_id": null, "text": "echo", "source": "s"})
    );
    let error = ask(message("error")).await.expect_err("its error");
    assert!(!error.is_transport_failure(), "an application's error does not trip the breaker");
    assert_eq!(ask(message("nonsense")).await.expect_err("nonsense").code, ErrorCode::Protocol);
    assert_eq!(ask(before_tool_call("x")).await, replace(json!({"b": 2})));
    assert_eq!(ask(before_tool_call("y")).await.expect_err("a list is no rewrite").code, ErrorCode::Protocol);
    let after = HookCall::AfterToolCall {
        call_id: "c".into(),
        tool: "x".into(),
        arguments: serde_json::Value::Null,
        duration_ms: 3,
        result: ToolResult::text("low"),
        error: None,
    };
    assert_eq!(ask(after).await, replace(json!({"content": [{"type": "text", "text": "LOW"}]})));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_of_the_child_are_answered_and_never_taken_for_answers() {
    let bed = python(
        r#"
got = []
call = None
for r in next_line():
    if r.get("method") == "initialize": reply(r["id"], {"tools": ["go"]})
    elif r.get("method") == "tools/call":
        call = r["id"]
        send(jsonrpc="2.0", id=call, method="tools/call")
        send(jsonrpc="2.0", id="a", method="host/call", params={"method": "env", "params": {"name": "X"}, "within": call})
        send(jsonrpc="2.0", id="b", method="host/call", params={"method": "env", "params": {"name": "DENIED"}})
        send(jsonrpc="2.0", id=7, method="host/call", params={"method": "nope"})
        send(jsonrpc="2.0", id="app:1", method="nexo/admin/x", params={})
        send(jsonrpc="2.0", method="host/log", params={"level": "warn", "message": "w"})
        send(jsonrpc="2.0", method="host/notify", params={"level": "warn", "message": "n"})
        send(jsonrpc="2.0", method="other/thing")
    elif "result" in r or "error" in r:
        got.append(r)
        if len(got) == 5: reply(call, got); reply(call, "twice"); reply(4711, "unknown")
"#,
    );
    let (instance, _) = bed.start().await;
    let got = tool(&instance, "go", json!({})).await.expect("an answer").details.expect("details");
    let of = |id: Value| got.as_array().expect("a list").iter().find(|r| r["id"] == id).cloned().expect("answered");
    assert_eq!(of(json!("a")), json!({"jsonrpc": "2.0", "id": "a", "result": {"value": "value of X"}}));
    assert_eq!(of(json!("b"))["error"]["code"], -32004);
    assert_eq!(of(json!("b"))["error"]["data"]["code"], "denied");
    assert_eq!(of(json!(7))["error"]["code"], -32602);
    assert_eq!(of(json!("app:1"))["error"]["code"], -32601);
    assert_eq!(of(json!(1))["error"]["code"], -32601, "a request with the id of a call is a request");
    assert_eq!(bed.host.notices(), [Notice::Notify { level: NoticeLevel::Warn, message: "n".into() }]);
    assert_eq!(bed.host.logs.lock().expect("no panic").len(), 1);
    let calls = bed.host.calls.lock().expect("no panic");
    let within: Vec<&CallId> = calls.iter().filter_map(|(_, cx)| cx.within.as_ref()).collect();
    assert_eq!(within, [&CallId::new("call-go")], "one of them said within which call it stands");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handshakes_that_fail() {
    let refused = python("for r in next_line(): fail(r['id'], -32000, 'no licence')").fails().await;
    assert!(
        matches!(&refused, StartError::BadHandshake { reason, .. } if reason == "initialize failed: code -32000: no licence"),
        "{refused}"
    );
    let began = Instant::now();
    let gone = python("next(next_line()); sys.stderr.write('cannot go on\\n'); sys.exit(3)").fails().await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(gone.to_string(), "exited before answer to initialize (exit status 3); stderr ends: cannot go on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_dialect_lacks_is_said() {
    let (instance, _) = {
        let bed = python("for r in next_line(): reply(r['id'], {})");
        bed.start().await
    };
    let call = ExtensionCall::Command { call_id: CallId::new("c"), name: "x".into(), args: String::new() };
    let error = instance.call(call, CallCx::within(Duration::from_secs(5))).await.expect_err("no commands");
    assert_eq!(error.code, ErrorCode::Unsupported);
    assert_eq!(tool_text(&instance, "any", json!({})).await, "{}");
}
