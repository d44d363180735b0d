//! Requests in MCP's words to fake extensions, and their questions back.

use jackfield_policy::Mode;
use jackfield_runtime::BoxFuture;

use super::*;
use crate::face::{Agent, Face};
use crate::testing::{FakeExtension, ScriptedPeer, Stage, soon};

const PARAMS: &str = r#"{ "name":"daily",  "arguments":{} }"#;

fn request(extension: &str, peer: Option<Arc<dyn Peer>>) -> Relay {
    Relay {
        extension: extension.into(),
        method: "prompts/get".to_owned(),
        params: Wire::new(PARAMS),
        caller: Caller::Agent,
        timeout: None,
        cancel: CancellationToken::new(),
        peer,
    }
}

async fn relay(stage: &Stage, request: Relay) -> Result<Wire, CallError> {
    soon(stage.host.relay(request)).await
}

/// A server that puts a question to its caller, and answers with the answer.
fn asks(method: &'static str, params: Value) -> FakeExtension {
    FakeExtension::server("s").answers_later(move |call| {
        let params = json!({ "method": method, "params": params });
        async move { Ok(Reply::Mcp(Wire::new(call.host_call("mcp", params).await?.to_string()))) }
    })
}

#[tokio::test]
async fn a_request_reaches_the_extension_as_it_was_written_and_is_recorded() {
    let stage = Stage::of([FakeExtension::server("s").answers_mcp(r#"{ "messages":[] }"#)]).started().await;
    let answer = relay(&stage, request("s", None)).await;
    assert_eq!(answer, Ok(Wire::new(r#"{ "messages":[] }"#)), "the answer is passed on as it was written");
    let calls = stage.calls();
    let [ExtensionCall::Mcp { method, params, .. }] = calls.as_slice() else { panic!("{calls:?}") };
    assert_eq!((method.as_str(), params.as_str()), ("prompts/get", PARAMS));
    let begun = json!({ "method": "prompts/get", "caller": "agent", "extension": "s" });
    assert_eq!(stage.evidence("relay.start"), [begun]);
    let ended = json!({
        "method": "prompts/get", "caller": "agent", "is_error": false, "decision": "mode", "extension": "s",
    });
    assert_eq!(stage.evidence("relay.end"), [ended]);
    assert!(!stage.ledger_text().contains("daily"), "the ledger has the hash of the parameters only");
    assert_eq!(stage.host.calls_under_way(), 0);
}

#[tokio::test]
async fn a_denied_request_does_not_reach_the_extension() {
    let server = || FakeExtension::server("s").answers_mcp("{}");
    let by_rule = Stage::of([server()]).config("[policy]\ndeny_tools = [\"s:prompts/*\"]\n").started().await;
    let by_mode = Stage::of([server()]).mode(Mode::Strict).started().await;
    for (stage, rule) in [(by_rule, "deny_tools"), (by_mode, "allow_grant")] {
        let error = relay(&stage, request("s", None)).await.expect_err("denied");
        assert_eq!((error.code, error.extension), (ErrorCode::Denied, Some(ExtensionId::from("s"))));
        assert_eq!(stage.delivered(), Vec::<String>::new());
        assert_eq!(stage.evidence("relay.end")[0]["decision"], rule);
    }
}

#[tokio::test]
async fn a_request_to_no_extension_is_not_found() {
    let stage = Stage::of([]).started().await;
    let error = relay(&stage, request("s", None)).await.expect_err("no such extension");
    assert_eq!(error, CallError::new(ErrorCode::NotFound, "no extension named s (see `jackfield list`)"));
}

#[tokio::test]
async fn an_answer_that_is_none_of_mcp_is_an_error_of_the_protocol() {
    let stage = Stage::of([FakeExtension::server("s").answers(|_| Ok(Reply::Done))]).started().await;
    let error = relay(&stage, request("s", None)).await.expect_err("no answer of MCP");
    assert_eq!((error.code, error.message.as_str()), (ErrorCode::Protocol, "answered s:prompts/get with Done"));
}

#[tokio::test]
async fn a_request_ends_at_its_deadline_or_when_its_caller_gives_up() {
    let slow = FakeExtension::server("s").answers_later(|_| std::future::pending());
    let stage = Stage::of([slow]).started().await;
    let timeout = Some(Duration::from_millis(10));
    let error = relay(&stage, Relay { timeout, ..request("s", None) }).await.expect_err("too slow");
    assert_eq!(error.code, ErrorCode::Timeout);
    let request = request("s", None);
    let cancel = request.cancel.clone();
    let gives_up = async {
        stage.until_delivered(2).await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(relay(&stage, request), gives_up);
    assert_eq!(answer.expect_err("cancelled").code, ErrorCode::Cancelled);
}

#[tokio::test]
async fn a_question_to_the_caller_goes_to_its_peer() {
    let params = json!({ "message": "which one?" });
    let stage = Stage::of([asks("elicitation/create", params.clone())]).started().await;
    let peer = Arc::new(ScriptedPeer::default());
    let answer = relay(&stage, request("s", Some(Arc::clone(&peer) as _))).await.expect("answered");
    assert_eq!(answer.as_str(), r#"{"answered":"elicitation/create"}"#);
    assert_eq!(peer.questions(), [("elicitation/create".to_owned(), params)]);
    let asked = json!({
        "method": "mcp", "capability": "ui", "is_error": false, "need": "ui", "decision": "harmless", "extension": "s",
    });
    assert_eq!(stage.evidence("host_call.end"), [asked]);
}

#[tokio::test]
async fn a_question_that_policy_refuses_does_not_reach_the_peer() {
    let config = "[policy]\ndeny_caps = [\"agent\"]\n";
    let stage = Stage::of([asks("sampling/createMessage", json!({}))]).config(config).started().await;
    let peer = Arc::new(ScriptedPeer::default());
    let error = relay(&stage, request("s", Some(Arc::clone(&peer) as _))).await.expect_err("denied");
    assert_eq!((error.code, peer.questions()), (ErrorCode::Denied, vec![]));
}

#[tokio::test]
async fn progress_of_a_call_goes_to_its_peer_and_to_no_other() {
    let server = |id: &str| {
        FakeExtension::server(id).answers(|call| {
            let call_id = call.id().expect("an id").to_string();
            let notice = Notice::Progress { call_id, message: "half".to_owned() };
            call.door.expect("a door").tell(notice);
            Ok(Reply::Mcp(Wire::new("{}")))
        })
    };
    let stage = Stage::of([server("s"), server("t")]).started().await;
    let [one, other] = [(); 2].map(|()| Arc::new(ScriptedPeer::default()));
    for (id, peer) in [("s", &one), ("t", &other)] {
        relay(&stage, request(id, Some(Arc::clone(peer) as _))).await.expect("answered");
    }
    for peer in [one, other] {
        let notices = peer.notices();
        assert!(matches!(&notices[..], [Notice::Progress { message, .. }] if message == "half"), "{notices:?}");
    }
}

/// A person who says yes, and gives numbers as text.
struct Agreeable;

impl Face for Agreeable {
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
        let answer = match dialog.ask {
            DialogAsk::Select { options, .. } => DialogAnswer::Value(options[0].clone()),
            DialogAsk::Confirm { .. } => DialogAnswer::Confirmed(true),
            DialogAsk::Input { .. } | DialogAsk::Editor { .. } => DialogAnswer::Value(" 42 ".to_owned()),
        };
        Box::pin(async { answer })
    }
}

/// A model that repeats its question.
struct Parrot;

impl Agent for Parrot {
    fn serve(&self, call: AgentCall) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async move { Ok(json!({ "op": call.op, "params": call.params })) })
    }
}

#[tokio::test]
async fn without_a_peer_the_host_answers_for_the_caller() {
    let answered = async |method: &'static str, params: Value| {
        let stage = Stage::of([asks(method, params)]).face(Agreeable).agent(Parrot).started().await;
        let project = stage.host.project().display().to_string();
        let answer = relay(&stage, request("s", None)).await.map_err(|error| error.code);
        (answer.map(|wire| serde_json::from_str::<Value>(wire.as_str()).expect("JSON")), project)
    };
    let (roots, project) = answered("roots/list", json!({})).await;
    assert_eq!(roots, Ok(json!({ "roots": [{ "uri": format!("file://{project}"), "name": "project" }] })));
    let schema = json!({ "properties": {
        "sure": { "type": "boolean" },
        "size": { "enum": ["small", "large"] },
        "count": { "type": "integer" },
        "name": { "type": "string" },
    } });
    let (form, _) = answered("elicitation/create", json!({ "message": "m", "requestedSchema": schema })).await;
    let content = json!({ "sure": true, "size": "small", "count": 42, "name": " 42 " });
    assert_eq!(form, Ok(json!({ "action": "accept", "content": content })));
    let (model, _) = answered("sampling/createMessage", json!({ "maxTokens": 5 })).await;
    assert_eq!(model, Ok(json!({ "op": "sample", "params": { "maxTokens": 5 } })));
    let (unknown, _) = answered("made/up", json!({})).await;
    assert_eq!(unknown, Err(ErrorCode::Unsupported));
}
