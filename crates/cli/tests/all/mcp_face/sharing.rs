//! Several agents and one host.

use serde_json::json;

use super::support::{Client, Serving, names, text, with_odd};

#[test]
fn agents_share_the_host_that_serves() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = with_odd(&[]);
    let serving = Serving::start(&sandbox, &[]);
    let socket = || {
        let run = std::fs::read_dir(sandbox.home().join("run")).ok()?.flatten();
        run.map(|entry| entry.path()).find(|path| path.display().to_string().contains("/mcp-"))
    };
    let mode = || Some(socket()?.metadata().ok()?.permissions().mode() & 0o777);
    assert_eq!(mode(), Some(0o600), "it listens, for its owner only, before it says so");
    let mut agents: Vec<Client> = (0..10).map(|_| Client::legacy(&sandbox, &[], json!({}))).collect();
    let pids: Vec<String> =
        agents.iter_mut().map(|agent| text(&agent.call("odd__pid", json!({}))).to_owned()).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "one server for all: {pids:?}");
    // What one changes, the others hear of.
    agents[0].call("odd__change", json!({}));
    for agent in &mut agents {
        agent.told("notifications/tools/list_changed");
    }
    // Each may see what it wants, and one may have a host of its own.
    let mut searching = Client::legacy(&sandbox, &["--expose", "search"], json!({}));
    assert_eq!(names(&searching.request("tools/list", json!({}))["tools"]).len(), 3);
    let mut alone = Client::legacy(&sandbox, &["--alone"], json!({}));
    assert_ne!(text(&alone.call("odd__pid", json!({}))), pids[0]);
    agents.into_iter().for_each(Client::close);
    // The host outlives its agents.
    assert_eq!(text(&searching.call("call_tool", json!({ "name": "odd__pid" }))), pids[0]);
    drop(serving);
}

#[test]
fn agents_attach_to_the_gateway_and_reach_it_over_http() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let sandbox = with_odd(&[]);
    let mut gateway = sandbox.command(&["--json", "serve"]).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let mut line = String::new();
    BufReader::new(gateway.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let said: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let text_of = |name: &str| said[name].as_str().expect("text").to_owned();
    let serving = Serving::at(gateway, &format!("{}/mcp", text_of("address")), Some(text_of("token")));
    let mut agents: Vec<Client> = (0..3).map(|_| Client::legacy(&sandbox, &[], json!({}))).collect();
    let pids: Vec<String> =
        agents.iter_mut().map(|agent| text(&agent.call("odd__pid", json!({}))).to_owned()).collect();
    assert!(pids.iter().all(|pid| *pid == pids[0]), "one server for all: {pids:?}");
    assert_eq!(super::http::tool(&serving, "odd__pid"), pids[0], "the same one over HTTP");
    assert_eq!(super::http::status_without_token(&serving), 401);
    assert_eq!(super::http::status_with_token_of_another(&serving), 404, "a session belongs to its token");
}

#[test]
fn a_gateway_that_agents_cannot_attach_to_says_so_and_serves() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::{Command, Stdio};
    let sandbox = with_odd(&[]);
    let serving = Serving::start(&sandbox, &[]);
    // No socket has so long a path.
    let deep = sandbox.path(&"deep".repeat(40));
    let mut far = Command::new(env!("CARGO_BIN_EXE_jackfield"));
    far.arg("--home").arg(&deep).args(["--json", "serve"]).env("HOME", sandbox.home()).current_dir(sandbox.home());
    let deep = deep.to_str().expect("plain");
    for (mut command, why) in [(sandbox.command(&["--json", "serve"]), "another host serves"), (far, deep)] {
        let mut gateway = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary runs");
        let mut line = String::new();
        BufReader::new(gateway.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        gateway.kill().expect("ended");
        gateway.wait().expect("gone");
        let mut told = String::new();
        gateway.stderr.take().expect("a pipe").read_to_string(&mut told).expect("text");
        assert!(line.contains("\"listening\""), "{line}{told}");
        assert!(told.contains("agents cannot attach") && told.contains(why), "{told}");
    }
    drop(serving);
}
