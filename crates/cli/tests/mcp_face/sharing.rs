//! Several agents and one host.

use serde_json::json;

use crate::support::{Client, Serving, names, text, with_odd};

#[test]
fn agents_share_the_host_that_serves() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = with_odd(&[]);
    let serving = Serving::start(&sandbox, &[]);
    let run = std::fs::read_dir(sandbox.home().join("run")).expect("a directory").flatten();
    let socket =
        run.map(|entry| entry.path()).find(|path| path.display().to_string().contains("/mcp-")).expect("a socket");
    let mode = socket.metadata().expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "for its owner only");
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
