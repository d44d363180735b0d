//! What `jackfield bridge` writes, and where.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn written(sandbox: &Sandbox, args: &[&str]) -> Value {
    let (code, answer) = sandbox.json(&[&["bridge"], args].concat());
    assert_eq!(code, 0, "{answer:#}");
    answer
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn a_file_per_content_for_its_owner_alone() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let before = written(&sandbox, &[]);
    assert_eq!(written(&sandbox, &[]), before, "the same tools are the same file");
    assert_eq!(before["tools"], json!([{ "name": "first", "pi_name": "first" }]));
    sandbox.plain("two", &["second"], &[]);
    let after = written(&sandbox, &[]);
    assert_ne!(after["path"], before["path"], "other tools are another file");
    assert_ne!(after["hash"], before["hash"]);
    let path = |answer: &Value| Path::new(answer["path"].as_str().expect("a path")).to_path_buf();
    assert!(path(&before).exists(), "a pi that was started with it may load it again");
    assert_eq!((mode(&path(&after)), mode(&sandbox.home().join("bridge"))), (0o600, 0o700));
    let text = fs::read_to_string(path(&after)).expect("the file");
    assert!(text.contains("second") && text.is_ascii());

    let out = sandbox.path("out");
    let elsewhere = written(&sandbox, &["--out", out.to_str().expect("UTF-8")]);
    assert_eq!(path(&elsewhere).parent(), Some(out.as_path()));
    assert_eq!((mode(&path(&elsewhere)), mode(&out)), (0o600, 0o700));
    assert_eq!(elsewhere["hash"], after["hash"]);
    let human = sandbox.run(&["bridge"]).exits(0);
    assert_eq!(human.stdout.trim(), path(&after).display().to_string());
    assert!(human.stderr.contains("2 tools"), "{}", human.stderr);
}

#[test]
fn what_tools_say_cannot_break_the_file() {
    let sandbox = sandbox();
    let nasty = "*/ \"); process.exit(7) // ${`x`} \u{2028} \u{202e} \\u0041 </script>\n';";
    let schema = json!({ "type": "object", "properties": { "__proto__": { "type": "string", "description": nasty } } });
    let tool = json!({ "type": "register_tool", "name": "odd", "description": nasty, "schema": schema });
    let hello = json!({ "type": "hello", "name": "nasty", "version": "1.0.0", "capabilities": ["tools"] });
    let dir = sandbox.home().join("extensions/nasty");
    sandbox.write(&dir.join("frames"), &format!("{hello}\n{tool}\n{{\"type\":\"ready\"}}\n"));
    sandbox.write(
        &dir.join("run.sh"),
        "cat frames\nwhile read -r line; do case $line in *shutdown*) exit 0;; esac; done\n",
    );
    let manifest = json!({ "name": "nasty", "version": "1.0.0", "exec": "sh", "args": ["run.sh"] });
    sandbox.write(&dir.join("extension.json"), &manifest.to_string());
    let answer = written(&sandbox, &[]);
    assert_eq!((&answer["stale"], answer["tools"].as_array().map(Vec::len)), (&Value::Null, Some(1)), "{answer:#}");
    let text = fs::read_to_string(answer["path"].as_str().expect("a path")).expect("the file");
    let line = text.lines().find(|line| line.starts_with("\tJSON.parse(")).expect("the tool");
    let inside = line.trim().strip_prefix("JSON.parse(").and_then(|rest| rest.strip_suffix("),")).expect("a string");
    let json: String = serde_json::from_str(inside).expect("a string");
    let tool: Value = serde_json::from_str(&json).expect("a tool");
    assert_eq!(tool["parameters"]["properties"]["__proto__"]["description"], nasty);
}

#[test]
fn serving_is_for_the_extension_and_ends_with_it() {
    use std::io::{BufRead as _, BufReader};
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let mut command = sandbox.command(&["bridge", "--serve"]);
    let command = command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).expect("JSON");
    let (url, token) = (said["url"].as_str().expect("an address"), said["token"].as_str().expect("a token"));
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert!(token.len() >= 43, "256 bits: {token}");

    let call = |token: &str, body: Value| super::support::post(url, "/api/tools/call", token, &body);
    assert_eq!(call("wrong", json!({ "tool": "first", "params": {} })).0, 401);
    assert_eq!(call(token, json!({ "token": "other", "tool": "first", "params": {} })).0, 403);
    assert_eq!(call(token, json!({ "pid": 1, "tool": "first", "params": [1] })).0, 422, "judged again on this side");
    let (status, answer) = call(token, json!({ "token": token, "pid": 1, "tool": "first", "params": {} }));
    assert_eq!((status, &answer["result"]["content"][0]["text"]), (200, &json!("one")), "{answer:#}");
    assert_eq!(call(token, json!({ "pid": 2, "tool": "first", "params": {} })).0, 403, "the token is of one process");

    drop(child.stdin.take());
    jackfield_test_support::eventually("it ends with its input", || child.try_wait().expect("a child").is_some());
}
