//! Secrets in the environment, in arguments, in errors and on stderr: extensions get those that they declare, and neither
//! ledger nor logs nor what jackfield prints holds any.

use jackfield_test_support::{Output, Sandbox};
use serde_json::json;

use super::support::{files, sandbox, script};

/// Invented, and of no well-known form: only the variable's name says what it is.
const VALUE: &str = "zanzibar+quartz.lantern";
/// What misbehave.py has; it looks like the real thing.
const SECRET: &str = "sk-misbehave-0123456789abcdef0123456789abcdef";

/// Tells its secret in every way but as an answer.
const LEAKY: &str = r#"
value = os.environ.get("SOME_API_KEY", "")
print("starting with", value, file=sys.stderr, flush=True)
hello("has", "stderr", "fail", "notify", "noise", "crash")
send("register_command", name="leak", description="")
for frame in hear():
    name = frame.get("name")
    if frame["type"] == "command_invoked":
        send("notify", level="info", message="note " + value)
        send("command_response", id=frame["id"], action="noop", error="cannot log in with " + value)
    elif name == "has":
        text(frame, f"{len(value)} characters")
    elif name == "fail":
        text(frame, "cannot log in with " + value, is_error=True)
    elif name == "crash":
        print("dying with", value, file=sys.stderr, flush=True)
        os._exit(7)
    elif name:
        if name == "stderr": print("key:", value, file=sys.stderr, flush=True)
        if name == "notify": send("notify", level="warn", message="note " + value)
        if name == "noise": print("noise " + value, flush=True)
        text(frame, "done")
"#;

#[track_caller]
fn holds_none(sandbox: &Sandbox, outputs: &[Output], secret: &str) {
    for output in outputs {
        assert!(!output.stdout.contains(secret) && !output.stderr.contains(secret), "{output:#?}");
    }
    for (path, bytes) in files(&sandbox.home()) {
        let text = String::from_utf8_lossy(&bytes);
        let line = text.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{}", path.display());
    }
}

#[test]
fn variables_reach_only_those_that_declare_them() {
    let mut sandbox = sandbox();
    sandbox.env("SOME_API_KEY", VALUE);
    sandbox.env("SOME_URL", &format!("https://user:{VALUE}@example.org/"));
    sandbox.env("AWS_ACCESS_KEY_ID", VALUE);
    sandbox.misbehave("plain", "ok");
    script(&sandbox, "undeclared", LEAKY, "");
    script(&sandbox, "declared", LEAKY, "[requires]\nenv = [\"SOME_API_KEY\"]");
    sandbox.misbehave_rpc("nexo", "ok");
    for name in ["SOME_API_KEY", "SOME_URL", "AWS_ACCESS_KEY_ID"] {
        let (_, answer) = sandbox.json(&["call", "ext_plain_env", &format!("name={name}")]);
        assert_eq!(answer["content"][0]["text"], "null", "{name}: {answer:#}");
    }
    let (_, answer) = sandbox.json(&["call", "ext_undeclared_has"]);
    assert_eq!(answer["content"][0]["text"], "0 characters");
    let (_, answer) = sandbox.json(&["call", "ext_declared_has"]);
    assert_eq!(answer["content"][0]["text"], format!("{} characters", VALUE.len()));
}

#[test]
fn a_secret_that_the_child_prints() {
    let mut sandbox = sandbox();
    sandbox.env("SOME_API_KEY", VALUE);
    script(&sandbox, "leaky", LEAKY, "[requires]\nenv = [\"SOME_API_KEY\"]");
    let mut outputs = Vec::new();
    for args in [
        &["call", "stderr"][..],
        &["call", "fail"],
        &["--json", "call", "fail"],
        &["call", "notify"],
        &["call", "noise"],
        &["call", "crash"],
        &["--json", "call", "crash"],
        &["run", "leak"],
        &["--json", "run", "leak"],
        &["ext", "logs", "leaky"],
        &["ledger", "tail"],
        &["--json", "ledger", "tail"],
        &["list"],
        &["doctor"],
    ] {
        outputs.push(sandbox.run(args));
    }
    let shown: Vec<&str> = outputs.iter().map(|output| output.stdout.as_str()).collect();
    assert!(shown[1].contains("cannot log in with [REDACTED]"), "{shown:#?}");
    assert!(shown[6].contains("dying with [REDACTED]"), "{shown:#?}");
    assert!(shown[8].contains("cannot log in with [REDACTED]"), "{shown:#?}");
    assert!(shown[9].contains("key: [REDACTED]") && shown[9].contains("noise [REDACTED]"), "{shown:#?}");
    holds_none(&sandbox, &outputs, VALUE);

    let mut rpc = sandbox.rpc(&[]);
    let lines = [
        rpc.call("fail", json!({})),
        rpc.call("notify", json!({})),
        rpc.wait_for("a note", |line| line["type"] == "ext_notify"),
        rpc.call("crash", json!({})),
        rpc.wait_for("a death", |line| line["type"] == "ext_state" && line["state"] == "restarting"),
        rpc.ask(json!({ "type": "list" })),
    ];
    for line in lines {
        assert!(!line.to_string().contains(VALUE), "{line:#}");
    }
    holds_none(&sandbox, &[], VALUE);
}

#[test]
fn a_start_that_fails_with_a_secret() {
    let mut sandbox = sandbox();
    sandbox.env("SOME_API_KEY", VALUE);
    let source = "print('no luck with', os.environ['SOME_API_KEY'], file=sys.stderr, flush=True)\n\
                  send(os.environ['SOME_API_KEY'])\ntime.sleep(60)\n";
    script(&sandbox, "leaky", source, "[requires]\nenv = [\"SOME_API_KEY\"]\n[limits]\nstart_timeout_ms = 3000");
    let runs = [&["tools"][..], &["--json", "tools"], &["list"], &["call", "ext_leaky_has"], &["doctor", "--runtime"]];
    let outputs: Vec<Output> = runs.iter().map(|args| sandbox.run(args)).collect();
    assert!(outputs[1].stdout.contains("[REDACTED]"), "{:#?}", outputs[1]);
    holds_none(&sandbox, &outputs, VALUE);
}

#[test]
fn secrets_that_look_like_secrets() {
    let sandbox = sandbox();
    sandbox.misbehave("leaky", "secret_stderr");
    let runs = [
        &["call", "secret_error"][..],
        &["--json", "call", "secret_error"],
        &["call", "stderr", &format!("text=Authorization: Bearer {SECRET}")],
        &["ext", "logs", "leaky"],
        &["ledger", "tail"],
    ];
    let outputs: Vec<Output> = runs.iter().map(|args| sandbox.run(args)).collect();
    assert_eq!(outputs[0].code, 1, "{:#?}", outputs[0]);
    assert!(outputs[3].stdout.contains("connecting with API_KEY=[REDACTED]"), "{:#?}", outputs[3]);
    holds_none(&sandbox, &outputs, SECRET);
}

/// The tool gets what it was called with; the evidence does not.
#[test]
fn secrets_in_arguments() {
    let mut sandbox = sandbox();
    sandbox.env("SOME_API_KEY", VALUE);
    sandbox.misbehave("plain", "ok");
    sandbox.misbehave("guard", "guard_null");
    sandbox.misbehave_rpc("nexo", "ok");
    let args = json!({
        "text": "hi", "api_key": "correct-horse-1", "nested": [{ "password": "correct-horse-2" }],
        "header": "Authorization: Bearer correct-horse-3", "known": VALUE, "looks": SECRET,
    });
    let mut outputs = Vec::new();
    for tool in ["ext_plain_echo", "ext_nexo_echo", "ext_plain_hang", "no_such_tool"] {
        let args = args.to_string();
        outputs.push(sandbox.run(&["--json", "call", tool, "--args", &args, "--timeout-ms", "2000"]));
    }
    assert_eq!(outputs[0].json()["content"][0]["text"], "hi");
    outputs.push(sandbox.run(&["--json", "ledger", "tail"]));
    outputs.push(sandbox.run(&["ledger", "tail"]));
    for secret in ["correct-horse", VALUE, SECRET] {
        holds_none(&sandbox, &outputs, secret);
    }
    sandbox.run(&["ledger", "verify"]).exits(0);
}
