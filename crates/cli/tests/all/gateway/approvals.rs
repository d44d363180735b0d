//! Permission questions answered from elsewhere.

use std::thread;

use jackfield_test_support::{Sandbox, eventually};
use serde_json::{Value, json};

use super::support::{Events, Reply, Request, Served, serve, with_odd};

fn ready() -> (Sandbox, Served) {
    let sandbox = with_odd();
    sandbox.write(&sandbox.project().join("a.txt"), "content of a");
    let served = serve(&sandbox, &["--policy", "prompt"]);
    assert_eq!(served.call("echo", json!({ "text": "warm" })).status, 200);
    (sandbox, served)
}

/// Lets the extension ask the host to read a file; a person has to say whether it may.
fn read_file(served: &Served) -> thread::JoinHandle<Reply> {
    let (place, token) = (served.place.clone(), served.token.clone());
    thread::spawn(move || {
        let params = json!({ "method": "fs", "params": { "op": "read", "path": "a.txt" } });
        let body = json!({ "toolName": "host_call", "params": params }).to_string();
        Request::new("POST", "/api/tools/call").token(&token).body(body.as_bytes()).send(&place)
    })
}

#[track_caller]
fn open_question(served: &Served) -> Value {
    let mut found = Value::Null;
    eventually("a question", || {
        found = served.get("/api/approvals").json()["approvals"][0].clone();
        !found.is_null()
    });
    found
}

fn answered(reply: &Reply) -> String {
    reply.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_question_waits_for_an_answer_over_http() {
    let (_sandbox, served) = ready();
    let mut events = Events::open(&served.place, Request::new("GET", "/api/events").token(&served.token));
    let asking = read_file(&served);
    let told = events.wait_for("approval_requested");
    let question = open_question(&served);
    assert_eq!(told["id"], question["id"]);
    assert_eq!((&question["extension"], &question["onBehalfOf"]), (&json!("odd"), &json!("host_call")), "{question}");
    assert!(question["question"].as_str().expect("text").contains("a.txt"), "{question}");
    assert!(!asking.is_finished());
    let answer =
        |id: &Value, answer: &str| served.ask("POST", "/api/approvals", Some(json!({ "id": id, "answer": answer })));
    answer(&json!("4711"), "once").refuses(404, "not_found");
    answer(&question["id"], "perhaps").refuses(400, "bad_request");
    assert_eq!(answer(&question["id"], "once").status, 200);
    let reply = asking.join().expect("asked");
    assert!(answered(&reply).contains("content of a"), "{}", reply.text());
    events.wait_for("approval_closed");
    answer(&question["id"], "once").refuses(404, "not_found");

    // A yes for this time only: the host asks again. A yes for this run: the host asks no more.
    let asking = read_file(&served);
    assert_eq!(answer(&open_question(&served)["id"], "this_run").status, 200);
    assert!(answered(&asking.join().expect("asked")).contains("content of a"));
    assert!(answered(&read_file(&served).join().expect("asked")).contains("content of a"));
}

#[test]
fn a_no_is_not_asked_again() {
    let (_sandbox, served) = ready();
    let asking = read_file(&served);
    let question = open_question(&served);
    assert_eq!(served.ask("POST", "/api/approvals", Some(json!({ "id": question["id"], "answer": "no" }))).status, 200);
    assert!(answered(&asking.join().expect("asked")).contains("denied"));
    assert!(answered(&read_file(&served).join().expect("not asked")).contains("denied"));
}

#[test]
fn a_lasting_yes_is_a_grant() {
    let (sandbox, served) = ready();
    let asking = read_file(&served);
    let id = open_question(&served)["id"].clone();
    assert_eq!(served.ask("POST", "/api/approvals", Some(json!({ "id": id, "answer": "always_here" }))).status, 200);
    assert!(answered(&asking.join().expect("asked")).contains("content of a"));
    let (_, grants) = sandbox.json(&["grants"]);
    assert!(grants.to_string().contains("a.txt"), "{grants}");
}

#[test]
fn a_question_that_nobody_answers_is_a_no() {
    let sandbox = with_odd();
    sandbox.write(&sandbox.project().join("a.txt"), "content of a");
    let mut served = serve(&sandbox, &["--policy", "prompt", "--approval-timeout-ms", "300"]);
    let reply = read_file(&served).join().expect("asked");
    assert!(answered(&reply).contains("denied"), "{}", reply.text());
    assert_eq!(served.get("/api/approvals").json()["approvals"], json!([]));
    served.terminate();
    // Whoever looks at the terminal saw it, too.
    let (_, said) = served.gone();
    assert!(said.contains("/api/approvals") && said.contains("a.txt"), "{said}");
}
