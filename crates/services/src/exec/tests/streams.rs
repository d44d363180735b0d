//! Programs that are spoken with while they run, and those whose own time is up.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::CallError;
use jackfield_runtime::{CallInput, HostCallCx};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{all_die, pids, sh};
use crate::ServiceLimits;
use crate::tests::Place;

/// A call with the ends of its streams.
struct Talk {
    cx: HostCallCx,
    send: mpsc::Sender<Value>,
    chunks: mpsc::Receiver<Value>,
}

fn talk() -> Talk {
    let (chunk, chunks) = mpsc::channel(4);
    let (send, input) = mpsc::channel(4);
    let cx = HostCallCx { chunks: Some(chunk), input: Some(CallInput::new(input)), ..HostCallCx::default() };
    Talk { cx, send, chunks }
}

/// Runs a program; `with` says what is sent when it has said something.
async fn converse(
    place: &Place,
    params: Value,
    mut with: impl FnMut(&str) -> Option<Value>,
) -> (Result<Value, CallError>, String, Vec<Value>) {
    let Talk { cx, send, mut chunks } = talk();
    let call = async {
        let result = place.call_within("exec", params, &cx).await;
        drop(cx);
        result
    };
    let listen = async {
        let (mut said, mut first) = (String::new(), Vec::new());
        let mut send = Some(send);
        while let Some(chunk) = chunks.recv().await {
            match chunk["data"].as_str() {
                Some(data) => {
                    assert_eq!(chunk["encoding"], "base64");
                    said.push_str(&String::from_utf8_lossy(&BASE64.decode(data).unwrap()));
                }
                None => first.push(chunk),
            }
            if let (Some(open), Some(message)) = (&send, with(&said))
                && (message.is_null() || open.send(message).await.is_err())
            {
                send = None;
            }
        }
        (said, first)
    };
    let (result, (said, first)) = tokio::join!(call, listen);
    (result, said, first)
}

#[tokio::test]
async fn a_program_is_fed_while_it_runs() {
    let place = Place::new();
    let mut steps = vec![
        json!({"stdin": BASE64.encode(b"two\n"), "encoding": "base64"}),
        json!({"stdin": "one\n", "kill": "SIGCONT"}),
    ];
    let script = "echo ready; read a; echo got $a; read b; echo got $b; cat; echo end";
    let (result, said, first) = converse(&place, sh(script), |said| match said {
        "ready\n" | "ready\ngot one\n" => steps.pop(),
        said if said.ends_with("got two\n") => Some(json!({"stdin": "rest\n", "stdin_end": true})),
        _ => None,
    })
    .await;
    assert_eq!(result.unwrap(), json!({"code": 0, "signal": null, "killed": false}));
    assert_eq!(said, "ready\ngot one\ngot two\nrest\nend\n");
    assert!(first[0]["pid"].as_u64().is_some_and(|pid| pid > 1), "{first:?}");
    // The end of the extension's own stream is the end of the program's input.
    let (result, said, _) =
        converse(&place, sh("echo ready; cat; echo end"), |said| (said == "ready\n").then_some(Value::Null)).await;
    assert_eq!((&result.unwrap()["code"], said.as_str()), (&json!(0), "ready\nend\n"));
}

#[tokio::test]
async fn signals_reach_the_program() {
    let place = Place::new();
    let patient = "trap 'echo caught; exit 7' TERM; echo ready; while :; do sleep 0.02; done";
    let kill = |signal: &'static str| move |said: &str| (said == "ready\n").then(|| json!({ "kill": signal }));
    let (result, said, _) = converse(&place, sh(patient), kill("SIGTERM")).await;
    // The shell may say what became of its own children, which get the signal too.
    let said: Vec<&str> = said.lines().filter(|line| *line != "Terminated").collect();
    assert_eq!((&result.unwrap()["code"], said.as_slice()), (&json!(7), ["ready", "caught"].as_slice()));
    let stubborn = "echo $$ > stubborn; (sh -c 'echo $$ > below; exec sleep 300') & while [ ! -s below ]; do :; done; echo ready; wait";
    let (result, _, _) = converse(&place, sh(stubborn), kill("SIGKILL")).await;
    let result = result.unwrap();
    assert_eq!((&result["code"], &result["signal"]), (&json!(null), &json!("SIGKILL")));
    all_die(&pids(&place, &["stubborn", "below"]));
}

#[tokio::test]
async fn input_that_is_not_read_does_not_block_a_signal() {
    let place = Place::new();
    let big = "x".repeat(1024 * 1024);
    let mut step = 0;
    let (result, _, _) = converse(&place, sh("echo ready; exec sleep 300"), move |_| {
        step += 1;
        match step {
            1 => Some(json!({ "stdin": big })),
            2 => Some(json!({ "kill": "SIGTERM" })),
            _ => None,
        }
    })
    .await;
    assert_eq!(result.unwrap()["signal"], "SIGTERM");
}

#[tokio::test]
async fn a_program_whose_time_is_up_is_asked_first() {
    let place = Place::new();
    let mut params = sh("trap 'echo bye; exit 3' TERM; echo hi; while :; do sleep 0.02; done");
    params["timeout_ms"] = json!(300);
    let result = place.call("exec", params).await.unwrap();
    assert_eq!((&result["code"], &result["signal"], &result["stdout"]), (&json!(3), &json!(null), &json!("hi\nbye\n")));
    assert_eq!((&result["killed"], &result["timed_out"]), (&json!(true), &json!(true)));
    let mut params = sh("exec sleep 300");
    (params["timeout_ms"], params["raw"]) = (json!(100), json!(true));
    let result = place.call("exec", params).await.unwrap();
    assert_eq!((&result["code"], &result["signal"]), (&json!(null), &json!("SIGTERM")));
    let before = Instant::now();
    let mut params = sh("trap '' TERM; echo $$ > deaf; while :; do sleep 0.05; done");
    params["timeout_ms"] = json!(100);
    let result = place.call("exec", params).await.unwrap();
    assert_eq!(result["signal"], "SIGKILL");
    assert!(before.elapsed() >= Duration::from_secs(5));
    all_die(&pids(&place, &["deaf"]));
}

#[tokio::test]
async fn a_call_may_ask_for_more_or_less_output() {
    let limits = ServiceLimits { max_output: 10, most_output: 20, ..ServiceLimits::default() };
    let place = Place::with(limits, &[]);
    for (wish, kept) in [(json!(null), 10), (json!(5), 5), (json!(15), 15), (json!(1e9), 20)] {
        let mut params = sh("printf 0123456789012345678901234567890");
        params["max_output"] = wish;
        let result = place.call("exec", params).await.unwrap();
        assert_eq!((result["stdout"].as_str().unwrap().len(), &result["truncated"]), (kept, &json!(true)));
    }
}

#[tokio::test]
async fn a_conversation_has_no_end_of_its_own() {
    let limits = ServiceLimits { default_timeout: Duration::from_millis(50), ..ServiceLimits::default() };
    let place = Place::with(limits, &[]);
    let (result, said, _) = converse(&place, sh("sleep 0.3; echo late"), |_| None).await;
    assert_eq!((&result.unwrap()["code"], said.as_str()), (&json!(0), "late\n"));
}
