//! The example of clients.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use jackfield_test_support::{eventually, example};
use serde_json::{Value, json};

use super::support::{sandbox, serve};

#[test]
fn gateway_py() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let address = served.said["address"].as_str().expect("an address").to_owned();
    let run = |program: &str, args: &[&str]| {
        let mut command = Command::new(example("gateway-py").join(program));
        command.arg(&address).args(args).env("JACKFIELD_TOKEN", &served.token).stdout(Stdio::piped());
        command.spawn().expect("the example runs")
    };
    let mut bring = run("bring.py", &[]);
    let mut line = String::new();
    BufReader::new(bring.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(line, "registered reverse_text\n");
    let output = run("calls.sh", &["reverse_text", r#"{"text":"abc"}"#]).wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    assert_eq!(lines.next().expect("tools")["tools"][0]["tools"][0]["name"], "reverse_text");
    assert_eq!(lines.next().expect("an answer")["result"]["content"][0]["text"], "cba", "{text}");
    bring.kill().expect("killed");
    bring.wait().expect("reaped");
    eventually("the tool goes", || served.call("reverse_text", json!({ "text": "abc" })).status == 404);
}
