//! Escape sequences in notices, displays, tool texts, names and paths never reach the terminal.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use jackfield_test_support::Output;
use serde_json::json;

use super::support::{sandbox, script};

const ESCAPES: &str =
    "\u{1b}[31mred\u{1b}[0m\u{1b}]0;owned\u{7}\u{1b}]52;c;b3duZWQ=\u{1b}\\\u{1b}[2J\u{9b}1m\r\u{8}\u{202e}";

#[track_caller]
fn is_plain(output: &Output) {
    let is_unsafe = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let found: Vec<char> = output.stdout.chars().chain(output.stderr.chars()).filter(|c| is_unsafe(*c)).collect();
    assert!(found.is_empty(), "{found:?} in {output:#?}");
}

#[test]
fn what_extensions_say() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "escape_notify");
    let text = format!("text={ESCAPES}said");
    for (args, word) in [
        (&["run", "echo", "shown"][..], "shown"),
        (&["--json", "run", "echo", "shown"], "shown"),
        (&["call", "echo", &text], "said"),
        (&["--json", "call", "echo", &text], "said"),
        (&["run", "panel"], "Panel"),
        (&["call", "stderr", &text], "written"),
        (&["ext", "logs", "odd"], "said"),
    ] {
        let output = sandbox.run(args);
        is_plain(&output);
        assert!(output.stdout.contains(word), "{args:?}: {output:#?}");
        assert!(!output.stdout.contains("owned") || output.stdout.starts_with('{'), "sequences go whole: {output:#?}");
    }
    let mut rpc = sandbox.rpc(&[]);
    let answer = rpc.ask(json!({ "type": "run_command", "command": "echo", "args": "shown" }));
    let notes = answer["data"]["notifications"].to_string();
    assert!(notes.contains("notified") && !notes.contains("owned") && !notes.contains("u001b"), "{notes}");
}

/// Names, descriptions and errors are texts of extensions as well.
#[test]
fn what_extensions_register() {
    let sandbox = sandbox();
    let escapes = json!(ESCAPES).to_string();
    let source = format!(
        r#"
E = json.loads(r'''{escapes}''')
send("hello", name="odd", version="1" + E, capabilities=[])
send("register_tool", name="t" + E, description="d" + E, schema={{"type": "object"}})
send("register_tool", name="fail", description="d" + E, schema={{"type": "object"}})
send("register_tool", name="bad", description="d" + E, schema={{"type": E}})
send("register_command", name="c" + E, description="d" + E)
send("subscribe", events=["e" + E], intercept=["i" + E])
send("ready")
for frame in hear():
    if frame["type"] == "tool_call": text(frame, "f" + E, is_error=True)
"#
    );
    let dir = script(&sandbox, "odd", &source, "");
    let dir = dir.to_string_lossy();
    let (code, answer) = sandbox.json(&["call", "fail"]);
    assert_eq!((code, &answer["is_error"]), (1, &json!(true)), "it runs: {answer:#}");
    for args in [
        &["tools"][..],
        &["list"],
        &["inspect", &dir],
        &["call", "fail"],
        &["call", "bad"],
        &["call", &format!("no{ESCAPES}tool")],
        &["run", &format!("no{ESCAPES}command")],
        &["doctor"],
        &["why", "fail"],
        &["ext", "logs", "odd"],
        &["ledger", "tail"],
    ] {
        is_plain(&sandbox.run(args));
        is_plain(&sandbox.run(&[&["--json"], args].concat()));
    }
}

/// A repository can name its directories as it likes.
#[test]
fn what_directories_are_called() {
    let sandbox = sandbox();
    for folder in [&b".zot/extensions/\x1b]0;owned\x07broken"[..], b"extensions/\x1b[2Jodd", b"extensions/\xff\xfe"] {
        let dir = sandbox.project().join(OsStr::from_bytes(folder));
        fs::create_dir_all(&dir).expect("a folder");
        let manifest: &[u8] = if folder.ends_with(b"broken") {
            b"{\"name\":\"\\u001b[31mx\","
        } else {
            b"{\"name\":\"x\\u001b[31m\",\"exec\":\"x\"}"
        };
        fs::write(dir.join("extension.json"), manifest).expect("a manifest");
    }
    for args in [&["list"][..], &["tools"], &["doctor"], &["trust"], &["list"], &["tools"], &["doctor", "--runtime"]] {
        is_plain(&sandbox.run(args));
        is_plain(&sandbox.run(&[&["--json"], args].concat()));
    }
}
