use std::time::{Duration, Instant};

use jackfield_protocol::{
    CallId, CommandAction, CommandReply, Content, Dialect, ErrorCode, HookCall, HookPoint, HookVerdict, HostCall,
    Level, Notice, NoticeLevel, ToolSpec,
};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::support::{Bed, before_tool_call, event, eventually, hook, text_of, tool, tool_text};

fn python(script: &str) -> Bed {
    Bed::python(Dialect::Frames, script)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_extension_is_greeted_and_called() {
    let bed = python(
        r#"
send(type="hello", name="other", version="2.0", capabilities=["commands"])
ack = next(next_line(ack=True))
send(type="register_tool", name="env", schema=None)
send(type="register_tool", name="", schema={})
send(type="register_tool", name="secretive", exposure="nobody")
send(type="register_tool", name="rich", description="d", schema={"type": "object", "required": ["a"]}, namespace="n", exposure="direct", interactive=True)
send(type="register_command", name="say", description="says")
send(type="subscribe", events=["turn_start"], intercept=["tool_call", "full_moon"])
send(type="ready")
for f in next_line():
    if f["type"] == "tool_call": text(f["id"], json.dumps({"ack": ack, "call": f, "env": dict(os.environ), "cwd": os.getcwd()}))
    if f["type"] == "command_invoked": send(type="command_response", id=f["id"], action="display", display=json.dumps(f))
"#,
    );
    let (instance, contributions) = bed.start().await;
    let rich = ToolSpec {
        description: "d".into(),
        parameters: json!({"type": "object", "required": ["a"]}),
        interactive: true,
        extra: Map::from_iter([("namespace".into(), json!("n")), ("exposure".into(), json!("direct"))]),
        ..ToolSpec::open("rich")
    };
    assert_eq!(contributions.tools, [ToolSpec::open("env"), rich]);
    assert_eq!(contributions.version.as_deref(), Some("2.0"));
    assert_eq!(contributions.hooks, [HookPoint::BeforeToolCall]);
    assert_eq!(contributions.events, ["turn_start"]);
    assert_eq!(contributions.warnings.len(), 3, "{:?}", contributions.warnings);

    let said: Value = serde_json::from_str(&tool_text(&instance, "env", Value::Null).await).expect("JSON");
    let dir = bed.dir.path().to_str().expect("UTF-8");
    assert_eq!(
        said["ack"],
        json!({"type": "hello_ack", "protocol_version": 1, "zot_version": env!("CARGO_PKG_VERSION"), "provider": "p",
            "model": "m", "cwd": "/project", "extension_dir": dir, "data_dir": dir,
            "capabilities": ["call_tool", "tool_cancel", "host_call", "progress", "log", "channels"]})
    );
    assert_eq!(said["call"], json!({"type": "tool_call", "id": "1", "name": "env", "args": {}}));
    assert_eq!(said["env"]["GREETING"], "hi");
    assert_eq!(said["env"].get("CARGO_TARGET_DIR"), None, "only what the host gave");
    assert_eq!(said["env"].get("CARGO_MANIFEST_DIR"), None, "only what the host gave");
    assert!(
        said["cwd"]
            .as_str()
            .expect("text")
            .ends_with(bed.dir.path().file_name().expect("a name").to_str().expect("UTF-8"))
    );

    let call = ExtensionCall::Command { call_id: CallId::new("c"), name: "say".into(), args: "  ".into() };
    let reply = instance.call(call, CallCx::within(Duration::from_secs(20))).await.expect("an answer");
    let display = json!({"type": "command_invoked", "id": "2", "name": "say"}).to_string();
    let Reply::Command(CommandReply { action: CommandAction::Display { display: shown }, error: None }) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(shown.replace(": ", ":").replace(", ", ","), display);
    let log = bed.log();
    assert!(log.starts_with("[jackfield] starting bed/0.1 at 2"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_extension_without_ready_is_ready_after_silence() {
    let bed = Bed::shell(
        Dialect::Frames,
        r#"
echo '{"type":"hello","name":"t"}'
echo '{"type":"register_tool","name":"one"}'
while read -r line; do
  case "$line" in
    *'"type":"tool_call"'*) id=${line#*'"id":"'}; id=${id%%'"'*}
      printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"from sh"}]}\r\n' "$id";;
  esac
done"#,
    );
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.tools.len(), 1);
    assert_eq!(tool_text(&instance, "one", json!({"b": "x y"})).await, "from sh");
    assert!(bed.log().contains("taken as ready after 250 ms"), "{}", bed.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chatty_extension_without_ready_starts_all_the_same() {
    let bed = python(
        r#"
send(type="hello", name="t")
send(type="register_tool", name="one")
while True:
    send(type="notify", level="info", message="x")
    time.sleep(0.05)
"#,
    );
    let began = Instant::now();
    let (_instance, contributions) = bed.start().await;
    assert_eq!(contributions.tools.len(), 1);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(bed.log().contains("3 s after hello"), "{}", bed.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_registrations_reach_the_host() {
    let bed = python(
        r#"
hello("one")
for f in next_line():
    if f["type"] == "tool_call":
        send(type="register_tool", name="two")
        send(type="register_command", name="/three")
        send(type="subscribe", events=["x"])
        text(f["id"], "done")
"#,
    );
    let (instance, _) = bed.start().await;
    tool_text(&instance, "one", json!({})).await;
    let all = eventually("the change", || {
        bed.host.changes.lock().expect("no panic").last().filter(|all| !all.events.is_empty()).cloned()
    });
    assert_eq!(all.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(all.commands[0].name, "three");
    instance.notify(&event("x", 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_calls_overlap() {
    let bed = python(
        r#"
hello("echo")
held = []
for f in next_line():
    held.append(f)
    if len(held) == 50:
        for f in reversed(held): text(f["id"], str(f["args"]["n"]), structured_content={"n": f["args"]["n"]})
"#,
    );
    let (instance, _) = bed.start().await;
    let calls: Vec<_> = (0..50)
        .map(|n| {
            let instance = instance.clone();
            tokio::spawn(async move { (n, tool(&instance, "echo", json!({ "n": n })).await.expect("an answer")) })
        })
        .collect();
    for call in calls {
        let (n, result) = call.await.expect("no panic");
        assert_eq!((text_of(&result), result.details), (n.to_string(), Some(json!({ "n": n }))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hooks_block_rewrite_and_agree() {
    let bed = python(
        r#"
hello(intercept=["tool_call", "turn_start", "assistant_message", "before_agent_start"])
for f in next_line():
    if f["type"] != "event_intercept": continue
    name, r = f.get("tool_name"), {}
    if name == "rm": r = {"block": True}
    if name == "why": r = {"block": True, "reason": "because"}
    if name == "null": r = {"modified_args": None, "block": None}
    if name == "list": r = {"modified_args": [1]}
    if name == "echo": r = {"modified_args": {"seen": f}}
    if f["event"] == "turn_start": r = {"block": f["step"] == 3}
    if f["event"] == "assistant_message": r = {"replace_text": f["text"].upper()}
    if f["event"] == "before_agent_start": r = {"system_prompt": "", "block": True}
    send(type="event_intercept_response", id=f["id"], **r)
"#,
    );
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.hooks.len(), 4);
    let block = |reason: &str| HookVerdict::Block { reason: reason.into() };
    let ask = async |call: HookCall| hook(&instance, call).await.expect("an answer");
    assert_eq!(ask(before_tool_call("rm")).await, block("tool call refused by extension guard"));
    assert_eq!(ask(before_tool_call("why")).await, block("because"));
    assert_eq!(ask(before_tool_call("null")).await, HookVerdict::Continue);
    let nonsense = hook(&instance, before_tool_call("list")).await;
    assert_eq!(nonsense.expect_err("a list is no rewrite").code, ErrorCode::Protocol);
    assert_eq!(ask(before_tool_call("ls")).await, HookVerdict::Continue);
    let HookVerdict::Replace { value } = ask(before_tool_call("echo")).await else { panic!("a rewrite") };
    assert_eq!(
        value["seen"],
        json!({"type": "event_intercept", "id": "6", "event": "tool_call", "tool_id": "c1", "tool_name": "echo", "tool_args": {"a": 1}})
    );
    assert_eq!(ask(HookCall::TurnStart { step: 3 }).await, block("turn blocked by extension guard"));
    assert_eq!(ask(HookCall::TurnStart { step: 1 }).await, HookVerdict::Continue);
    let text = HookCall::AssistantMessage { text: "hi".into() };
    assert_eq!(ask(text).await, HookVerdict::Replace { value: json!("HI") });
    let start = HookCall::BeforeAgentStart { system_prompt: "p".into(), context: Map::new() };
    assert_eq!(ask(start).await, HookVerdict::Replace { value: json!("") });
    let unknown = hook(&instance, HookCall::BeforeMessage { text: "x".into(), source: "y".into() }).await;
    assert_eq!(unknown.expect_err("not in this dialect").code, ErrorCode::Unsupported);
    assert!(bed.log().contains("modified_args was ignored"), "{}", bed.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_come_in_order_and_only_those_wanted() {
    let bed = python(
        r#"
hello("seen", events=["step"])
seen = []
for f in next_line():
    if f["type"] == "event": seen.append((f["event"], f["sequence"], f["step"]))
    if f["type"] == "tool_call": text(f["id"], json.dumps(seen))
"#,
    );
    let (instance, _) = bed.start().await;
    for sequence in 1..=100 {
        instance.notify(&event("step", sequence));
        instance.notify(&event("other", sequence));
    }
    let seen: Vec<(String, u64, u64)> =
        serde_json::from_str(&tool_text(&instance, "seen", json!({})).await).expect("JSON");
    let expected: Vec<_> = (1..=100).map(|n| ("step".to_owned(), n, n)).collect();
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notices_progress_and_logs_reach_the_host_clean() {
    let bed = python(
        r#"
hello("go", "panel")
for f in next_line():
    if f["type"] == "tool_call":
        send(type="progress", id=f["id"], message="half")
        send(type="progress", id="999", message="lost")
        send(type="notify", level="warn", message="\x1b[31mred")
        send(type="submit", text="t"); send(type="submit_slash", text="/x"); send(type="submit_slash", text="x")
        send(type="clear_notes"); send(type="open_panel", panel={"id": "p", "lines": ["\x1b[2Jl"]})
        send(type="panel_render", panel_id="p", title="T"); send(type="panel_close", panel_id="p")
        send(type="log", level="error", message="token hunter2hunter2", data={"password": "x", "n": 1})
        send(type="telemetry", id=f["id"])
        text(f["id"], "done")
    if f["type"].startswith("panel_"): send(type="notify", message=json.dumps(f))
"#,
    );
    let (instance, _) = bed.start().await;
    tool_text(&instance, "go", json!({})).await;
    let panel = |lines: &[&str], title: &str| jackfield_protocol::Panel {
        id: "p".into(),
        title: title.into(),
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        footer: String::new(),
    };
    assert_eq!(
        bed.host.notices(),
        [
            Notice::Progress { call_id: "call-go".into(), message: "half".into() },
            Notice::Notify { level: NoticeLevel::Warn, message: "red".into() },
            Notice::Submit { text: "t".into() },
            Notice::SubmitSlash { text: "/x".into() },
            Notice::ClearNotes,
            Notice::OpenPanel { panel: panel(&["l"], "") },
            Notice::RenderPanel { panel: panel(&[], "T") },
            Notice::ClosePanel { id: "p".into() },
        ]
    );
    {
        let logs = bed.host.logs.lock().expect("no panic");
        assert_eq!(logs.len(), 1);
        assert_eq!((logs[0].level, logs[0].message.as_str()), (Level::Error, "token [REDACTED]"));
        assert_eq!(Value::Object(logs[0].data.clone()), json!({"password": "[REDACTED]", "n": 1}));
    }
    bed.host.notices.lock().expect("no panic").clear();
    for (key, text) in [("rune", "a"), ("close", "")] {
        let call = ExtensionCall::PanelKey { panel_id: "p".into(), key: key.into(), text: text.into() };
        assert_eq!(instance.call(call, CallCx::within(Duration::from_secs(5))).await, Ok(Reply::Done));
    }
    let told = eventually("both keys", || Some(bed.host.notices()).filter(|notices| notices.len() == 2));
    let message = |notice: &Notice| match notice {
        Notice::Notify { message, .. } => serde_json::from_str::<Value>(message).expect("JSON"),
        other => panic!("{other:?}"),
    };
    assert_eq!(message(&told[0]), json!({"type": "panel_key", "panel_id": "p", "key": "rune", "text": "a"}));
    assert_eq!(message(&told[1]), json!({"type": "panel_close", "panel_id": "p"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn host_calls_are_served_streamed_refused_and_given_up() {
    let bed = python(
        r#"
hello("go", caps=["host_call", "call_tool"])
answers, call = [], None
for f in next_line():
    if f["type"] == "tool_call":
        call = f["id"]
        send(type="host_call", id="a", method="env", params={"name": "X"}, capability="env", timeout_ms=500, within=call)
        send(type="host_call", id="b", method="env", params={"name": "DENIED"})
        send(type="host_call", id="c", method="format_disk", params={})
        send(type="host_call", id="d", method="exec", params={"command": "ls", "stream": True})
        send(type="host_call", id="e", method="env", params={"name": "SLOW"})
        send(type="host_call", id="e", method="env", params={"name": "X"})
        send(type="call_tool", id="f", name="read", args={"path": "a"}, parent_id=call)
        send(type="call_tool", id="g", name="huge", args={})
    else:
        if f["type"] == "tool_result" and f["id"] == "g": f["content"] = len(f["content"][0]["text"])
        answers.append(f)
        if len(answers) == 10: send(type="host_cancel", id="e")
        if len(answers) == 11: text(call, json.dumps(answers))
"#,
    );
    let (instance, _) = bed.start().await;
    let answers: Vec<Value> = serde_json::from_str(&tool_text(&instance, "go", json!({})).await).expect("JSON");
    let of = |id: &str| answers.iter().filter(|answer| answer["id"] == id).collect::<Vec<_>>();
    assert_eq!(
        of("a"),
        [&json!({"type": "host_result", "id": "a", "output": {"value": "value of X"}, "is_error": false})]
    );
    assert_eq!(of("b")[0]["error"]["code"], "denied");
    assert_eq!(of("c")[0]["error"]["code"], "invalid_request");
    let chunks: Vec<_> = of("d").iter().map(|answer| (answer["output"].clone(), answer["chunk"].clone())).collect();
    assert_eq!(
        chunks,
        [
            (json!({"stdout": 0}), json!({"index": 0, "is_last": false})),
            (json!({"stdout": 1}), json!({"index": 1, "is_last": false})),
            (json!({"stdout": 2}), json!({"index": 2, "is_last": false})),
            (json!({"code": 0, "command": "ls"}), json!({"index": 3, "is_last": true})),
        ]
    );
    let codes: Vec<_> = of("e").iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, ["invalid_request", "timeout"], "the second use of the id, then the one given up");
    assert_eq!(
        of("f"),
        [
            &json!({"type": "tool_result", "id": "f", "name": "read", "content": [{"type": "text", "text": "read {\"path\":\"a\"}"}]})
        ]
    );
    assert_eq!(
        of("g"),
        [&json!({"type": "tool_result", "id": "g", "name": "huge", "content": 256 * 1024, "truncated": true})]
    );
    let calls = bed.host.calls.lock().expect("no panic");
    let (_, cx) =
        calls.iter().find(|(call, _)| matches!(call, HostCall::Env(env) if env.name == "X")).expect("recorded");
    assert_eq!(cx.within, Some(CallId::new("call-go")));
    assert_eq!((cx.claimed.as_deref(), cx.timeout), (Some("env"), Some(Duration::from_millis(500))));
    let (_, cx) =
        calls.iter().find(|(call, _)| matches!(call, HostCall::Tool(tool) if tool.name == "read")).expect("recorded");
    assert_eq!(cx.within, Some(CallId::new("call-go")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giving_up_a_call_tells_those_who_understand() {
    let bed = python(
        r#"
hello("hang", "seen", caps=["tool_cancel"])
seen = []
for f in next_line():
    seen.append([f["type"], f.get("id")])
    if f.get("name") == "hang": send(type="progress", id=f["id"], message="here")
    if f.get("name") == "seen": text(f["id"], json.dumps(seen))
"#,
    );
    let (instance, _) = bed.start().await;
    let cx = CallCx { deadline: Instant::now() + Duration::from_secs(60), cancel: CancellationToken::new() };
    let cancel = cx.cancel.clone();
    let call = ExtensionCall::Tool {
        call_id: CallId::new("h"),
        name: "hang".into(),
        args: json!({}).into(),
        wire: None,
        meta: Map::new().into(),
    };
    let hanging = tokio::spawn({
        let (instance, call) = (instance.clone(), call.clone());
        async move { instance.call(call, cx).await }
    });
    eventually("the call arrives", || (!bed.host.notices().is_empty()).then_some(()));
    cancel.cancel();
    assert_eq!(hanging.await.expect("no panic").expect_err("given up").code, ErrorCode::Cancelled);
    let late = instance.call(call, CallCx::within(Duration::from_millis(50))).await.expect_err("too late");
    assert_eq!(
        (late.code, late.message.as_str()),
        (ErrorCode::Timeout, "extension bed did not answer tool hang within 50 ms")
    );
    let given_up = CallCx::within(Duration::from_secs(60));
    given_up.cancel.cancel();
    let call = ExtensionCall::Command { call_id: CallId::new("x"), name: "never".into(), args: String::new() };
    assert_eq!(instance.call(call, given_up).await.expect_err("never asked").code, ErrorCode::Cancelled);
    let seen = tool_text(&instance, "seen", json!({})).await;
    let expected =
        json!([["tool_call", "1"], ["tool_cancel", "1"], ["tool_call", "2"], ["tool_cancel", "2"], ["tool_call", "3"]]);
    assert_eq!(serde_json::from_str::<Value>(&seen).expect("JSON"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_become_texts_that_say_so() {
    let bed = python(
        r#"
hello("go")
for f in next_line():
    if f["type"] == "tool_call":
        if f["args"].get("broken"): send(type="tool_result", id=f["id"], content="not a list")
        else: send(type="tool_result", id=f["id"], content=[{"type": "image", "data": "%"}, {"type": "video"}], is_error=None)
"#,
    );
    let (instance, _) = bed.start().await;
    let result = tool(&instance, "go", json!({})).await.expect("an answer");
    assert!(result.is_error);
    assert_eq!(result.content[1], Content::text("[unknown block type \"video\" from extension bed]"));
    let began = Instant::now();
    let error = tool(&instance, "go", json!({"broken": true})).await.expect_err("broken");
    assert_eq!(error.code, ErrorCode::Protocol);
    assert!(began.elapsed() < Duration::from_secs(5), "at once, not at the deadline");
}
