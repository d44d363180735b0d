//! The terminal belongs to the host: no child of it can write a question there or read the answer.

use jackfield_test_support::{Sandbox, at_terminal};
use serde_json::json;

use super::sandbox_with_odd;

/// Says in a file of the project whether it has the terminal.
const PROBE: &str = "if (: > /dev/tty) 2>/dev/null; then echo SPOOFED > /dev/tty; echo yes; else echo no; fi";

#[track_caller]
fn never_had_it(sandbox: &Sandbox, name: &str, seen: &str) {
    let file = sandbox.project().join(name);
    let said = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}; {seen}", file.display()));
    assert_eq!((said.trim(), seen.contains("SPOOFED")), ("no", false), "{seen}");
}

#[test]
fn a_program_that_is_an_extension_has_no_terminal() {
    let sandbox = crate::sandbox();
    let dir = sandbox.path("spoof");
    let probe = format!("({PROBE}) > {}", sandbox.project().join("program").display());
    let frames = [
        json!({ "type": "hello", "name": "spoof" }),
        json!({ "type": "register_tool", "name": "wait", "description": "waits", "parameters": { "type": "object" } }),
        json!({ "type": "ready" }),
    ];
    let lines: String = frames.iter().map(|frame| format!("echo '{frame}'\n")).collect();
    sandbox.write(&dir.join("run.sh"), &format!("#!/bin/sh\n{probe}\n{lines}read line\nread line\n"));
    let manifest = json!({ "name": "spoof", "version": "1.0.0", "exec": "sh", "args": ["run.sh"], "enabled": true });
    sandbox.write(&dir.join("extension.json"), &manifest.to_string());
    let (seen, _) = at_terminal(&sandbox, &["inspect", &dir.display().to_string()], &[]);
    never_had_it(&sandbox, "program", &seen);
}

#[test]
fn a_program_that_an_extension_runs_has_no_terminal() {
    let sandbox = sandbox_with_odd();
    for (file, call) in [
        (
            "exec",
            json!({ "method": "exec", "params": { "command": "sh", "args": ["-c", format!("({PROBE}) > exec")] } }),
        ),
        (
            "bash",
            json!({ "method": "tool", "params": { "name": "bash", "input": { "command": format!("({PROBE}) > bash") } } }),
        ),
    ] {
        let (seen, code) = at_terminal(&sandbox, &["--yes", "call", "host_call", "--args", &call.to_string()], &[]);
        assert_eq!(code, 0, "{seen}");
        never_had_it(&sandbox, file, &seen);
    }
}

#[test]
fn an_mcp_server_has_no_terminal() {
    let sandbox = crate::sandbox();
    let probe = format!("({PROBE}) > {}; exit 1", sandbox.project().join("server").display());
    let servers = json!({ "mcpServers": { "spoof": { "command": "sh", "args": ["-c", probe] } } });
    sandbox.write(&sandbox.home().join("mcp.json"), &servers.to_string());
    let (seen, _) = at_terminal(&sandbox, &["tools"], &[]);
    never_had_it(&sandbox, "server", &seen);
}
