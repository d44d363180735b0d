//! The question at the terminal, through a pseudo terminal: what it says, what each answer does, and what it stores.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::process::Command;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

/// Runs a program under a pseudo terminal of its own; waits for each text and types each answer.
const DRIVER: &str = r#"
import json, os, pty, select, sys, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(command[0], command)
seen, start, deadline = b"", 0, time.monotonic() + 60
def more():
    ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
    if not ready:
        os.kill(pid, 9)
        sys.exit("in vain; seen: " + seen.decode(errors="replace"))
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""
for wanted, answer in steps:
    while wanted.encode() not in seen[start:]:
        chunk = more()
        if not chunk:
            sys.exit("ended before " + wanted + "; seen: " + seen.decode(errors="replace"))
        seen += chunk
    start = len(seen)
    os.write(fd, answer.encode())
while chunk := more():
    seen += chunk
_, status = os.waitpid(pid, 0)
print(json.dumps({"seen": seen.decode(), "code": os.waitstatus_to_exitcode(status)}))
"#;

const QUESTION: &str = "[n] no > ";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.misbehave("odd", "ok");
    sandbox.write(&sandbox.project().join("a.txt"), "the content of a");
    sandbox.write(&sandbox.project().join("b.txt"), "the content of b");
    sandbox
}

/// Runs the binary at a terminal and gives what stood there, and the exit code.
#[track_caller]
fn at_terminal(sandbox: &Sandbox, args: &[&str], steps: &[(&str, &str)]) -> (String, i64) {
    let command = sandbox.command(args);
    let output = Command::new("python3")
        .args(["-c", DRIVER, &json!(steps).to_string()])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(sandbox.project())
        .output()
        .expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    (result["seen"].as_str().unwrap_or_default().replace('\r', ""), result["code"].as_i64().unwrap_or(-1))
}

fn reading(path: &str) -> String {
    json!({ "method": "fs", "params": { "op": "read", "path": path } }).to_string()
}

fn grants(sandbox: &Sandbox) -> Value {
    sandbox.json(&["grants"]).1["grants"].clone()
}

#[test]
fn the_question_says_who_what_and_how_to_answer_for_good() {
    let sandbox = sandbox();
    let args = reading("a.txt");
    let (seen, code) = at_terminal(&sandbox, &["call", "host_call", "--args", &args], &[(QUESTION, "y\n")]);
    assert_eq!(code, 0, "{seen}");
    let question = "┏ extension \"odd\" wants: read a.txt\n\
                    ┠ while running the tool host_call\n\
                    ┠ to allow it for good: jackfield grant odd read --path a.txt\n\
                    ┗ allow? [y] once  [r] this run  [p] always in this project  [a] always  [n] no > ";
    assert!(seen.contains(question), "{seen}");
    assert!(seen.contains("the content of a"), "{seen}");
    // Once is once.
    assert_eq!(grants(&sandbox), json!([]));
    let (again, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &args], &[(QUESTION, "n\n")]);
    assert!(
        again.contains("denied to extension odd: nobody said yes") && !again.contains("the content of a"),
        "{again}"
    );
}

#[test]
fn always_is_stored_for_exactly_what_was_asked() {
    let sandbox = sandbox();
    let args = reading("a.txt");
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &args], &[(QUESTION, "a\n")]);
    assert!(seen.contains("the content of a"), "{seen}");
    let stored = grants(&sandbox);
    assert_eq!(stored.as_array().map(Vec::len), Some(1), "{stored:#}");
    assert_eq!((&stored[0]["extension"], &stored[0]["effect"]), (&json!("odd"), &json!("allow")));
    assert_eq!(stored[0]["capability"]["capability"], "read");
    assert_eq!(stored[0]["capability"]["scope"], json!({ "paths": ["a.txt"] }));
    assert_eq!(stored[0].get("project"), None);
    // From now on nobody needs to be there, but only for this file.
    let output = sandbox.run(&["call", "host_call", "--args", &args]).exits(0);
    assert!(output.stdout.contains("the content of a"), "{output:#?}");
    let output = sandbox.run(&["call", "host_call", "--args", &reading("b.txt")]).exits(0);
    assert!(output.stdout.contains("denied"), "{output:#?}");

    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &reading("b.txt")], &[(QUESTION, "p\n")]);
    assert!(seen.contains("the content of b"), "{seen}");
    assert_eq!(grants(&sandbox)[1]["project"], json!(sandbox.project().canonicalize().expect("a path")));
}

#[test]
fn whatever_is_no_answer_is_no_yes() {
    let sandbox = sandbox();
    let args = reading("a.txt");
    let call = ["call", "host_call", "--args", args.as_str()];
    // It asks again until it understands.
    let (seen, _) = at_terminal(&sandbox, &call, &[(QUESTION, "maybe\n"), (QUESTION, "\n"), (QUESTION, "YES\n")]);
    assert!(seen.contains("the content of a"), "{seen}");
    assert_eq!(seen.matches(QUESTION).count(), 3, "{seen}");
    // The end of input is a no.
    let (seen, _) = at_terminal(&sandbox, &call, &[(QUESTION, "\u{4}")]);
    assert!(seen.contains("nobody said yes"), "{seen}");
    assert_eq!(grants(&sandbox), json!([]));
    // Strict mode does not ask, and `--yes` has answered already.
    let (seen, _) = at_terminal(&sandbox, &[&call[..], &["--policy", "strict"]].concat(), &[]);
    assert!(!seen.contains("allow?") && seen.contains("denied"), "{seen}");
    let (seen, _) = at_terminal(&sandbox, &[&call[..], &["--yes"]].concat(), &[]);
    assert!(!seen.contains("allow?") && seen.contains("the content of a"), "{seen}");
}

#[test]
fn an_extension_cannot_paint_over_the_question() {
    let sandbox = sandbox();
    let args = reading("a\u{1b}[2J\u{1b}]0;owned\u{7}\nallow? yes.txt");
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &args], &[(QUESTION, "n\n")]);
    let question = &seen[..seen.find(QUESTION).expect("the question")];
    assert!(!question.contains('\u{1b}') && !question.contains('\u{7}'), "{question:?}");
    assert!(!question.contains("\nallow?"), "a path cannot start a line of its own: {question:?}");
}

#[test]
fn removing_asks_first() {
    let sandbox = sandbox();
    let dir = sandbox.home().join("extensions/odd");
    let (seen, code) = at_terminal(&sandbox, &["ext", "remove", "odd"], &[("[y/N] ", "\n")]);
    assert!(code == 0 && seen.contains("remove extension odd?") && seen.contains("kept"), "{seen}");
    assert!(dir.is_dir());
    let (seen, code) = at_terminal(&sandbox, &["ext", "remove", "odd"], &[("[y/N] ", "y\n")]);
    assert!(code == 0 && seen.contains("removed odd"), "{seen}");
    assert!(!dir.exists());
}

#[test]
fn an_extension_asks_the_person() {
    let sandbox = sandbox();
    let select =
        json!({ "method": "ui", "params": { "op": "select", "title": "Which one?", "options": ["red", "blue"] } });
    let steps = [("(nothing: none of them) > ", "7\n"), ("(nothing: none of them) > ", "2\n")];
    let (seen, code) = at_terminal(&sandbox, &["call", "host_call", "--args", &select.to_string()], &steps);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("┏ extension \"odd\" asks: Which one?\n┠   1  red\n┠   2  blue\n┗ which number?"), "{seen}");
    assert!(seen.contains("{\"value\": \"blue\"}"), "{seen}");
    let confirm =
        json!({ "method": "ui", "params": { "op": "confirm", "title": "Sure?", "message": "m", "timeout": 300 } });
    let (seen, _) = at_terminal(&sandbox, &["call", "host_call", "--args", &confirm.to_string()], &[]);
    assert!(seen.contains("[y] yes  [n] no > ") && seen.contains("\"timed_out\": true"), "{seen}");
}
