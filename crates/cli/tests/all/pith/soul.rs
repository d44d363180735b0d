//! Case 6: `SOUL.md` reaches whoever thinks for the project.

use std::fs;
use std::time::{Duration, Instant};

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

use super::support::{mcp, meta, pipe, sandbox};

/// What an agent is told, in both eras.
#[track_caller]
fn instructions(sandbox: &Sandbox) -> String {
    let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
    let discover = json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": { "_meta": meta() } });
    let told = |request: Value| {
        let answer = mcp(sandbox, &[request]).pop().expect("an answer");
        answer["result"]["instructions"].as_str().unwrap_or_else(|| panic!("{answer:#}")).to_owned()
    };
    let (legacy, modern) = (told(greeting), told(discover));
    assert_eq!(legacy, modern);
    legacy
}

#[test]
fn case_06_an_agent_is_told_what_it_says_and_nothing_where_there_is_none() {
    let sandbox = sandbox();
    let without = instructions(&sandbox);
    assert!(!without.is_empty());
    let file = sandbox.project().join("SOUL.md");
    sandbox.write(&file, "You are a careful gardener.\n\nBe brief.\n");
    assert_eq!(instructions(&sandbox), without, "a project waits for trust");
    let said = sandbox.run(&["list"]).stderr;
    assert!(said.contains("SOUL.md") && said.contains("jackfield trust"), "{said}");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(instructions(&sandbox), format!("{without}\n\nYou are a careful gardener.\n\nBe brief."));
    sandbox.write(&file, "Changed.\n");
    assert_eq!(instructions(&sandbox), format!("{without}\n\nChanged."));
    sandbox.write(&file, " \n");
    assert_eq!(instructions(&sandbox), without);
    assert_eq!(sandbox.json(&["list"]).1["diagnostics"], json!([]));
}

#[test]
fn case_06_what_is_no_text_of_the_project_is_refused_and_holds_nobody_up() {
    let sandbox = sandbox();
    let without = instructions(&sandbox);
    sandbox.run(&["trust"]).exits(0);
    let file = sandbox.project().join("SOUL.md");
    let refused = |why: &str| {
        let began = Instant::now();
        assert_eq!(instructions(&sandbox), without, "{why}");
        let said = sandbox.json(&["list"]).1["diagnostics"].to_string();
        assert!(said.contains("SOUL.md") && said.contains(why), "{why}: {said}");
        assert!(began.elapsed() < Duration::from_secs(20));
        fs::remove_file(&file).expect("removed");
    };
    pipe(&file);
    refused("not given to agents");
    fs::write(&file, b"\xff\xfe\xfd").expect("a file");
    refused("not UTF-8");
    std::os::unix::fs::symlink("/etc/hostname", &file).expect("a link");
    refused("leads out of the project");
    sandbox.write(&file, &"long words ".repeat(30_000));
    let told = instructions(&sandbox);
    assert!(told.len() <= without.len() + 2 + 65_536 && told.len() > 60_000, "{}", told.len());
    assert!(sandbox.json(&["list"]).1["diagnostics"].to_string().contains("the first 65536"));
}
