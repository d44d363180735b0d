//! What scripts rely on: the shape of every `--json` answer, every exit code, the forms of arguments, where the binary
//! looks for things, and that it goes quietly when its reader has gone.

use std::process::{Command, Stdio};

use jackfield_test_support::{Sandbox, example, keys};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

/// One with an extension in shell that has the tool `who` and the command `me`.
fn with_plain() -> Sandbox {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who"], &["me"]);
    sandbox
}

#[track_caller]
fn check_keys(value: &Value, expected: &str) {
    assert_eq!(keys(value), expected, "{value:#}");
}

#[test]
fn list_and_tools_have_their_shapes() {
    let sandbox = with_plain();
    sandbox.write(&sandbox.home().join("extensions/broken/extension.json"), "{");
    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!(code, 0);
    check_keys(&listing, "diagnostics extensions");
    for row in listing["extensions"].as_array().expect("a list") {
        check_keys(row, "commands error format id lock name path runtime scope state tools version");
    }
    assert_eq!(listing["diagnostics"].as_array().map(Vec::len), Some(1), "{listing:#}");
    check_keys(&listing["diagnostics"][0], "level message path");
    assert_eq!(listing["diagnostics"][0]["level"], "error");
    assert_eq!(listing["extensions"][0]["state"], "invalid");

    let (code, tools) = sandbox.json(&["tools"]);
    assert_eq!(code, 0);
    check_keys(&tools, "cost diagnostics tools");
    assert_eq!(
        tools["tools"],
        json!([{ "name": "who", "qualified_name": "ext_plain_who", "extension": "plain",
            "description": "Says who it is.", "parameters": { "type": "object" } }])
    );
    // What it offers is known from now on.
    let (_, listing) = sandbox.json(&["list"]);
    let row = &listing["extensions"][1];
    assert_eq!((&row["tools"], &row["commands"], &row["state"]), (&json!(["who"]), &json!(["me"]), &json!("idle")));
    assert_eq!(sandbox.json(&["ext", "list"]), (0, listing));
}

#[test]
fn call_and_run_have_their_shapes() {
    let sandbox = with_plain();
    let (code, answer) = sandbox.json(&["call", "who"]);
    assert_eq!(code, 0);
    check_keys(&answer, "call_id content details duration_ms extension is_error ok tool");
    assert_eq!(answer["content"], json!([{ "type": "text", "text": "plain" }]));
    assert_eq!((&answer["ok"], &answer["is_error"], &answer["tool"]), (&json!(true), &json!(false), &json!("who")));
    assert!(answer["duration_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{answer}");
    let (code, answer) = sandbox.json(&["call", "nobody"]);
    assert_eq!(code, 3);
    check_keys(&answer, "call_id error ok tool");
    check_keys(&answer["error"], "code extension message");
    assert_eq!((&answer["error"]["code"], &answer["error"]["extension"]), (&json!("not_found"), &Value::Null));
    let (code, answer) = sandbox.json(&["run", "me"]);
    assert_eq!(code, 0);
    check_keys(&answer, "action call_id command display extension notifications ok");
    let (code, answer) = sandbox.json(&["run", "nobody"]);
    assert_eq!(code, 3);
    check_keys(&answer, "call_id command error notifications ok");
    check_keys(&answer["error"], "code extension message");
    let (code, answer) = sandbox.json(&["inspect", "/nowhere/at/all"]);
    assert_eq!(code, 3);
    check_keys(&answer, "error ok");
    check_keys(&answer["error"], "code extension message");
}

#[test]
fn commands_answer_in_every_way() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    for (words, code, part) in [
        (&["run", "echo", "a  b", "c"][..], 0, json!({ "action": "display", "display": "a  b c" })),
        (&["run", "echo", "--", "--json", "-x"], 0, json!({ "action": "display", "display": "--json -x" })),
        (&["run", "echo", "-7"], 0, json!({ "action": "display", "display": "-7" })),
        (&["run", "insert", "x"], 0, json!({ "action": "insert", "insert": "x" })),
        (&["run", "prompt", "x"], 0, json!({ "action": "prompt", "prompt": "x" })),
        (&["run", "noop"], 0, json!({ "action": "noop" })),
        (
            &["run", "panel"],
            0,
            json!({ "action": "open_panel", "panel":
            { "id": "p1", "title": "Panel", "lines": ["one", "two"], "footer": "esc closes" } }),
        ),
        (&["run", "fail"], 1, json!({ "action": "noop", "error": "failed as asked" })),
        (&["run", "unknown"], 1, json!({ "action": "noop", "error": "unknown action levitate" })),
    ] {
        let (exit, answer) = sandbox.json(words);
        assert_eq!(exit, code, "{answer:#}");
        for (key, value) in part.as_object().expect("an object") {
            assert_eq!(answer[key], *value, "{key} of {answer:#}");
        }
    }
    // Flags of the binary are flags of the binary wherever they stand.
    assert_eq!(sandbox.run(&["run", "echo", "x", "--json"]).exits(0).json()["display"], "x");
    sandbox.run(&["run", "echo", "--unheard-of"]).exits(2);
}

#[test]
fn every_exit_code_has_its_reason() {
    let sandbox = sandbox();
    sandbox.plain("plain", &["who"], &[]);
    sandbox.misbehave("odd", "ok");
    sandbox.misbehave("early", "exit_before_hello");
    let guard = sandbox.misbehave_at(&sandbox.path("guard"), "guard", "guard_block", json!({}));
    let guard = guard.display().to_string();
    let early = sandbox.home().join("extensions/early").display().to_string();
    sandbox.write(&sandbox.path("bad/extension.json"), "{\"name\": 7}");
    let bad = sandbox.path("bad").display().to_string();
    for (words, code, error) in [
        (&["call", "who"][..], 0, ""),
        (&["call", "fail"], 1, ""),
        (&["call", "echo", "--args", "{"], 2, "invalid_request"),
        (&["call", "echo", "--args", "[]"], 2, "invalid_request"),
        (&["call", "echo", "novalue"], 2, "invalid_request"),
        (&["grant", "plain", "fly"], 2, "invalid_request"),
        (&["call", "nobody"], 3, "not_found"),
        (&["call", "echo", "--args", "@nowhere.json"], 3, "not_found"),
        (&["run", "nobody"], 3, "not_found"),
        (&["why", "nobody"], 3, "not_found"),
        (&["ledger", "show", "nobody"], 3, "not_found"),
        (&["revoke", "nobody"], 3, "not_found"),
        (&["reload", "nobody"], 3, "not_found"),
        (&["ext", "logs", "nobody"], 3, "not_found"),
        (&["ext", "enable", "nobody"], 3, "not_found"),
        (&["ext", "disable", "nobody"], 3, "not_found"),
        (&["ext", "remove", "nobody", "--yes"], 3, "not_found"),
        (&["ext", "install", "./nowhere"], 3, "not_found"),
        (&["inspect", "./nowhere"], 3, "not_found"),
        (&["check", "./nowhere"], 3, "not_found"),
        (&["list", "--project", "./nowhere"], 3, "not_found"),
        (&["-e", &guard, "call", "who"], 4, "denied"),
        (&["ext", "remove", "plain"], 4, "denied"),
        (&["call", "sleep", "ms=60000", "--timeout-ms", "1500"], 5, "timeout"),
        (&["call", "crash"], 6, "unavailable"),
        (&["inspect", &early], 6, "unavailable"),
        (&["inspect", &bad], 7, "invalid_config"),
        (&["ext", "install", &bad], 7, "invalid_config"),
    ] {
        let (exit, answer) = sandbox.json(words);
        assert_eq!(exit, code, "{words:?}: {answer:#}");
        if !error.is_empty() {
            assert_eq!(
                (&answer["ok"], &answer["error"]["code"]),
                (&json!(false), &json!(error)),
                "{words:?}: {answer:#}"
            );
            let plain = sandbox.run(words).exits(code);
            assert_eq!(plain.stdout, "", "{words:?}");
            assert!(plain.stderr.lines().any(|line| line.starts_with("error: ")), "{words:?}: {plain:#?}");
        }
    }
    // Usage that the argument parser refuses.
    for words in [
        &[][..],
        &["fly"],
        &["call"],
        &["--policy", "lax", "list"],
        &["grant", "plain"],
        &["call", "a", "b=1", "--args", "{}"],
    ] {
        sandbox.run(words).exits(2);
    }
    let early = sandbox.json(&["inspect", &early]).1["error"]["message"].to_string();
    assert!(early.contains("early") && early.contains("leaving before hello"), "who, and its last words: {early}");
}

#[test]
fn arguments_come_in_every_form() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    let project = sandbox.project();
    sandbox.write(&project.join("args.json"), "{\"text\": \"from a file\"}");
    let text = |words: &[&str], input: &str| {
        let output = sandbox.run_with_input(words, input);
        assert_eq!(output.code, 0, "{output:#?}");
        output.stdout
    };
    for (words, input, expected) in [
        (&["call", "echo", "text=hello there"][..], "", "hello there\n"),
        (&["call", "echo", "text:=1"], "", "1\n"),
        (&["call", "echo", "text=a=b"], "", "a=b\n"),
        (&["call", "echo", "text=\"quoted\""], "", "quoted\n"),
        (&["call", "echo", "text={not json"], "", "{not json\n"),
        (&["call", "echo", "--args", "{\"text\":\"inline\"}"], "", "inline\n"),
        (&["call", "echo", "--args", "@args.json"], "", "from a file\n"),
        (&["call", "echo", "--args", "-"], "{\"text\":\"from the pipe\"}", "from the pipe\n"),
        (&["call", "sleep", "ms=1"], "", "slept 1 ms\n"),
    ] {
        assert_eq!(text(words, input), expected, "{words:?}");
    }
    // Numbers are numbers and texts are texts: the schema tells them apart, and the message names the field.
    for (words, field) in [
        (&["call", "echo", "text=1"][..], "text"),
        (&["call", "sleep", "ms:=1"], "ms"),
        (&["call", "host_call", "method=fs", "timeout_ms=soon"], "timeout_ms"),
    ] {
        let (code, answer) = sandbox.json(words);
        assert_eq!((code, &answer["error"]["code"]), (2, &json!("invalid_request")), "{answer:#}");
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(field), "{words:?} should name {field}: {message}");
    }
    let shout = example("hello-sh").display().to_string();
    for (words, field) in [(&[][..], "text"), (&["text=a", "volume=11"], "volume")] {
        let mut all = vec!["-e", shout.as_str(), "call", "shout"];
        all.extend(words);
        let (code, answer) = sandbox.json(&all);
        assert_eq!(code, 2, "{answer:#}");
        assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains(field)), "{answer:#}");
    }
}

#[test]
fn help_is_an_answer() {
    let sandbox = sandbox();
    let help = sandbox.run(&["--help"]).exits(0).stdout;
    assert!(help.contains("Exit codes: 0 fine, 1 the tool answered with an error, 2 usage"), "{help}");
    for verb in [
        "list",
        "tools",
        "call",
        "run",
        "inspect",
        "check",
        "ext",
        "ext install",
        "ext remove",
        "ext enable",
        "ext disable",
        "ext logs",
        "doctor",
        "ledger",
        "ledger tail",
        "ledger show",
        "ledger verify",
        "grants",
        "grant",
        "revoke",
        "why",
        "reload",
        "trust",
        "rpc",
    ] {
        let mut words: Vec<&str> = verb.split(' ').collect();
        assert!(help.contains(&format!("\n  {}", words[0])), "{verb} is missing: {help}");
        words.push("--help");
        let output = sandbox.run(&words).exits(0);
        assert!(output.stdout.contains(&format!("Usage: jackfield {verb}")), "{verb}: {output:#?}");
        assert!(output.stdout.contains("--json"), "{verb} takes the global flags: {output:#?}");
        assert_eq!(output.stderr, "");
    }
    assert!(sandbox.run(&["--version"]).exits(0).stdout.starts_with("jackfield "));
    assert!(!sandbox.home().exists(), "help must not make a home");
}

#[test]
fn the_home_is_found() {
    let sandbox = sandbox();
    sandbox.plain_at(&sandbox.path("by-flag/extensions/one"), "one", &[], &[]);
    sandbox.plain_at(&sandbox.path("by-variable/extensions/two"), "two", &[], &[]);
    sandbox.plain_at(&sandbox.path("state/jackfield/extensions/three"), "three", &[], &[]);
    sandbox.plain_at(&sandbox.path("user/.local/state/jackfield/extensions/four"), "four", &[], &[]);
    let found = |configure: &dyn Fn(&mut Command)| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command.args(["list", "--json"]).current_dir(sandbox.project());
        command.env_remove("JACKFIELD_HOME").env_remove("XDG_STATE_HOME").env("HOME", sandbox.path("user"));
        configure(&mut command);
        let output = command.output().expect("the binary runs");
        let listing: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        listing["extensions"].as_array().into_iter().flatten().map(|row| row["id"].to_string()).collect::<String>()
    };
    let (flag, variable, state) = (sandbox.path("by-flag"), sandbox.path("by-variable"), sandbox.path("state"));
    assert_eq!(found(&|command| _ = command.arg("--home").arg(&flag).env("JACKFIELD_HOME", &variable)), "\"one\"");
    assert_eq!(found(&|command| _ = command.env("JACKFIELD_HOME", &variable).env("XDG_STATE_HOME", &state)), "\"two\"");
    if cfg!(target_os = "linux") {
        assert_eq!(found(&|command| _ = command.env("XDG_STATE_HOME", &state)), "\"three\"");
        assert_eq!(found(&|_| ()), "\"four\"");
    }
}

#[test]
fn a_reader_that_goes_early_hurts_nobody() {
    let sandbox = sandbox();
    for number in 0..60 {
        sandbox.plain(&format!("plain{number}"), &[], &[]);
    }
    // Far more than a pipe holds.
    let long = "x".repeat(60_000);
    sandbox.plain_at(&sandbox.home().join("extensions/long"), "long", &[&long, &long.replace('x', "y")], &[]);
    sandbox.run(&["call", "nobody"]).exits(3);
    for (words, code) in [
        (&["list"][..], 0),
        (&["list", "--json"], 0),
        (&["tools"], 0),
        (&["tools", "--json"], 0),
        (&["ledger", "tail"], 0),
        (&["doctor", "--json"], 0),
        (&["call", "nobody"], 3),
        (&["call", "nobody", "--json"], 3),
        (&["inspect", "nowhere"], 3),
        (&["inspect", "nowhere", "--json"], 3),
    ] {
        // Both ends are closed before the first byte is written, or soon after.
        let (output, output_too) = closed_pipe();
        let status = sandbox.command(words).stdin(Stdio::null()).stdout(output).stderr(output_too).status();
        assert_eq!(status.expect("the binary runs").code(), Some(code), "{words:?}");
    }
}

/// Two ends to write to that nobody reads from.
fn closed_pipe() -> (Stdio, Stdio) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let second = writer.try_clone().expect("a second end");
    (writer.into(), second.into())
}
