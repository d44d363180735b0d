//! The question at the terminal, through a pseudo terminal: what it says, what each answer does, and what it stores.

use jackfield_test_support::{Sandbox, at_terminal};
use serde_json::{Value, json};

const QUESTION: &str = "[n] no > ";

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.misbehave("odd", "ok");
    sandbox.write(&sandbox.project().join("a.txt"), "the content of a");
    sandbox.write(&sandbox.project().join("b.txt"), "the content of b");
    sandbox
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
        again.contains("denied to extension odd: no person said yes") && !again.contains("the content of a"),
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
    let (seen, _) = at_terminal(&sandbox, &call, &[(QUESTION, "maybe\n"), (QUESTION, "why\n"), (QUESTION, "YES\n")]);
    assert!(seen.contains("the content of a"), "{seen}");
    assert_eq!(seen.matches(QUESTION).count(), 3, "{seen}");
    // An empty line is a no, and so is the end of input.
    let (seen, _) = at_terminal(&sandbox, &call, &[(QUESTION, "\n")]);
    assert!(seen.contains("no person said yes"), "{seen}");
    let (seen, _) = at_terminal(&sandbox, &call, &[(QUESTION, "\u{4}")]);
    assert!(seen.contains("no person said yes"), "{seen}");
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
