//! The binary at a terminal, with somebody who types.

use std::process::Command;

use serde_json::{Value, json};

use crate::Sandbox;

/// Runs a program under a pseudo terminal of its own; waits for each text and types each answer.
const DRIVER: &str = r#"
import json, os, pty, select, sys, time
steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(command[0], command)
seen, start, deadline = b"", 0, time.monotonic() + 60
def more():
    ready, _, _ = select.select([fd], [], [], max(0, deadline - time.monotonic()))
    if not ready:
        os.kill(pid, 9)
        sys.exit("in vain; seen: " + seen.decode(errors="replace"))
    try:
        return os.read(fd, 65536)
    except OSError:
        return b""
for wanted, answer in steps:
    while wanted.encode() not in seen[start:]:
        chunk = more()
        if not chunk:
            sys.exit("ended before " + wanted + "; seen: " + seen.decode(errors="replace"))
        seen += chunk
    start = len(seen)
    os.write(fd, answer.encode())
while chunk := more():
    seen += chunk
_, status = os.waitpid(pid, 0)
print(json.dumps({"seen": seen.decode(), "code": os.waitstatus_to_exitcode(status)}))
"#;

/// Runs the binary at a terminal and gives what stood there, and the exit code. Each step is a text that is waited for, and what
/// is typed then.
///
/// # Panics
/// When a text does not come.
#[track_caller]
pub fn at_terminal(sandbox: &Sandbox, args: &[&str], steps: &[(&str, &str)]) -> (String, i64) {
    let command = sandbox.command(args);
    let output = Command::new("python3")
        .args(["-c", DRIVER, &json!(steps).to_string()])
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(sandbox.project())
        .output()
        .expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    (result["seen"].as_str().unwrap_or_default().replace('\r', ""), result["code"].as_i64().unwrap_or(-1))
}
