//! How a process finds the hosts that run: each listens on a socket of its own in the home. Needs Unix.

use std::path::PathBuf;
use std::time::Duration;

use jackfield_host::Home;
use serde_json::Value;

/// How long a running host may take to answer.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// The socket of the host with this process id.
pub(super) fn socket(home: &Home, pid: u32) -> PathBuf {
    home.run().join(format!("host-{pid}.sock"))
}

/// Sends one request to every host that runs in this home; it removes the sockets of hosts that were killed.
#[cfg(unix)]
pub async fn ask_running_hosts(home: &Home, request: &Value) -> Vec<(u32, Value)> {
    let mut answers = Vec::new();
    let Ok(entries) = std::fs::read_dir(home.run()) else { return answers };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid =
            name.strip_prefix("host-").and_then(|name| name.strip_suffix(".sock")).and_then(|pid| pid.parse().ok());
        let Some(pid) = pid else { continue };
        match tokio::time::timeout(CONTROL_TIMEOUT, ask(&entry.path(), request)).await {
            Ok(Ok(answer)) => answers.push((pid, answer)),
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                // Left behind by a host that was killed.
                std::fs::remove_file(entry.path()).ok();
            }
            Ok(Err(_)) | Err(_) => {}
        }
    }
    answers
}

#[cfg(unix)]
async fn ask(socket: &std::path::Path, request: &Value) -> std::io::Result<Value> {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let mut stream = tokio::net::UnixStream::connect(socket).await?;
    stream.write_all(format!("{request}\n").as_bytes()).await?;
    let mut lines = BufReader::new(stream).lines();
    while let Some(line) = lines.next_line().await? {
        let value: Value = serde_json::from_str(&line)?;
        // Events of the host come in between.
        if value.get("type").and_then(Value::as_str) == Some("response") {
            return Ok(value);
        }
    }
    Err(std::io::ErrorKind::UnexpectedEof.into())
}

#[cfg(not(unix))]
pub async fn ask_running_hosts(_home: &Home, _request: &Value) -> Vec<(u32, Value)> {
    Vec::new()
}
