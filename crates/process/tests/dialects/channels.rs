use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{CallError, CallId, ChannelMessage, ChannelOp, ChannelSpec, Dialect, ErrorCode};
use jackfield_runtime::{CallCx, ExtensionCall, Instance, Reply};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Bed, eventually};

async fn within(instance: &Arc<dyn Instance>, op: ChannelOp, cx: CallCx) -> Result<Option<ChannelMessage>, CallError> {
    let call = ExtensionCall::Channel { call_id: CallId::new("c"), name: "chat".into(), op };
    match instance.call(call, cx).await? {
        Reply::Channel(message) => Ok(message),
        other => panic!("not an answer of a channel: {other:?}"),
    }
}

async fn ask(instance: &Arc<dyn Instance>, op: ChannelOp) -> Result<Option<ChannelMessage>, CallError> {
    within(instance, op, CallCx::within(Duration::from_secs(20))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_come_in_and_answers_go_out() {
    let bed = Bed::python(
        Dialect::Frames,
        r#"
send(type="hello", name="t")
send(type="register_channel", name="chat", description="d")
send(type="register_channel", name="")
send(type="register_channel", name="x" * 65)
send(type="register_channel", name="chat", description="again")
send(type="ready")
sent, answers = [], ['{"text":"hi","sender":7,"raw":[1]}', 'null', '7', '{"text":[]}', '{"text":"a\\ud800b"}', '{"sender":"x"}']
for f in next_line():
    if f["type"] != "channel_call": continue
    if f["op"] == "connect": send(type="channel_result", id=f["id"], error={"message": "\x1b[31mclosed"})
    elif f["op"] == "receive": raw('{"type":"channel_result","id":"%s","message":%s}' % (f["id"], answers.pop(0)))
    elif f["op"] == "send" and not sent: sent.append(f); send(type="channel_result", id=f["id"], error="")
    elif f["op"] == "send": send(type="channel_result", id=f["id"], error=None, message=7)
    else: send(type="channel_result", id=f["id"], error=json.dumps(sent[0]))
"#,
    );
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.channels, [ChannelSpec { name: "chat".into(), description: "again".into() }]);
    assert_eq!(contributions.warnings.len(), 3, "{:?}", contributions.warnings);

    let error = ask(&instance, ChannelOp::Connect).await.expect_err("it says no");
    assert_eq!(error.code, ErrorCode::Io);
    assert_eq!(error.message, "extension bed failed in connect of channel chat: closed");
    let message = ask(&instance, ChannelOp::Receive).await.expect("an answer").expect("a message");
    let expected = ChannelMessage {
        text: "hi".into(),
        sender: "7".into(),
        channel: "chat".into(),
        metadata: None,
        raw: Some(json!([1])),
    };
    assert_eq!(message, expected);
    assert_eq!(ask(&instance, ChannelOp::Receive).await, Ok(None));
    for what in ["a number", "a list"] {
        let error = ask(&instance, ChannelOp::Receive).await.expect_err("no message");
        assert!(error.code == ErrorCode::Protocol && error.message.contains(what), "{error}");
    }
    let mended = ask(&instance, ChannelOp::Receive).await.expect("an answer").expect("a message");
    assert_eq!(mended.text, "a\u{fffd}b", "half a character is no reason to lose the rest");
    let empty = ask(&instance, ChannelOp::Receive).await.expect("an answer").expect("a message");
    assert_eq!((empty.text.as_str(), empty.sender.as_str()), ("", "x"));

    let send = ChannelOp::Send { message: Box::new(expected.clone()), text: "ho".into() };
    let error = ask(&instance, send.clone()).await.expect_err("it says no");
    assert!(error.message.ends_with("it did not say why"), "{error}");
    assert_eq!(ask(&instance, send).await, Ok(None), "what comes with a send is no message");
    let error = ask(&instance, ChannelOp::Disconnect).await.expect_err("it tells what it got");
    let got = error.message.split_once(": ").expect("a reason").1;
    let got: serde_json::Value = serde_json::from_str(got).expect("JSON");
    assert_eq!(
        got,
        json!({"type": "channel_call", "id": "8", "channel": "chat", "op": "send",
            "message": {"text": "hi", "sender": "7", "channel": "chat", "raw": [1]}, "text": "ho"})
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_crosses_a_cancel_is_not_lost() {
    let bed = Bed::python(
        Dialect::Frames,
        r#"
send(type="hello", name="t", capabilities=["tool_cancel"])
send(type="register_channel", name="chat")
send(type="ready")
last = iter([{"text": "wait!"}, None])
for f in next_line():
    if f["type"] == "tool_cancel": send(type="channel_result", id=f["id"], message=next(last))
"#,
    );
    let (instance, _) = bed.start().await;
    for expected in [Some("wait!"), None] {
        let cancel = CancellationToken::new();
        let far = std::time::Instant::now() + Duration::from_secs(3600);
        let cx = CallCx { deadline: far, cancel: cancel.clone() };
        let receiving = tokio::spawn({
            let instance = Arc::clone(&instance);
            async move { within(&instance, ChannelOp::Receive, cx).await }
        });
        cancel.cancel();
        let answer = receiving.await.expect("no panic").expect("an answer");
        assert_eq!(answer.as_ref().map(|message| message.text.as_str()), expected);
    }
    // One that does not understand the word is listened to all the same.
    let bed = Bed::python(
        Dialect::Frames,
        r#"
send(type="hello", name="t")
send(type="ready")
for f in next_line():
    if f["type"] == "channel_call": open("asked", "w").close()
    while not os.path.exists("go"): time.sleep(0.01)
    send(type="channel_result", id=f["id"], message={"text": "late"})
"#,
    );
    let (instance, _) = bed.start().await;
    let cancel = CancellationToken::new();
    let cx = CallCx { cancel: cancel.clone(), ..CallCx::within(Duration::from_secs(20)) };
    let receiving = tokio::spawn({
        let instance = Arc::clone(&instance);
        async move { within(&instance, ChannelOp::Receive, cx).await }
    });
    eventually("the receive", || bed.file("asked").exists().then_some(()));
    cancel.cancel();
    std::fs::write(bed.file("go"), "").expect("a file");
    let answer = receiving.await.expect("no panic").expect("an answer");
    assert_eq!(answer.map(|message| message.text).as_deref(), Some("late"));
}
