//! The gateway against its own description: schemathesis makes requests of `/openapi.json` and looks at every answer.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, bail};

use crate::{root, target, tools};

/// How long it may take, in seconds.
const SECONDS: &str = "60";

/// A gateway that is killed when this goes.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Runs it. Nothing may be found.
pub(crate) fn step() -> anyhow::Result<()> {
    let schemathesis = tools::schemathesis()?;
    let place = target().join("tmp/gateway");
    std::fs::remove_dir_all(&place).ok();
    std::fs::create_dir_all(place.join("project"))?;
    let (_running, address, token) = serve(&place)?;
    eprintln!("+ schemathesis run {address}/openapi.json");
    // The stream of events has no end; it is tested by the gateway's own tests.
    let status = Command::new(schemathesis)
        .args(["run", &format!("{address}/openapi.json"), "--header", &format!("Authorization: Bearer {token}")])
        .args(["--exclude-path", "/api/events", "--max-time", SECONDS, "--max-examples", "60"])
        .args(["--request-timeout", "20", "--seed", "1", "--continue-on-failure", "--no-color"])
        .current_dir(&place)
        .status()
        .context("cannot run schemathesis")?;
    if !status.success() {
        bail!("schemathesis found something about the gateway, see above");
    }
    Ok(())
}

fn serve(place: &Path) -> anyhow::Result<(Running, String, String)> {
    let mut command = Command::new(target().join("debug/jackfield"));
    command.arg("--home").arg(place.join("home")).arg("--project").arg(place.join("project"));
    command.arg("-e").arg(root().join("examples/hello-sh")).args(["--json", "serve", "--rate-limit", "0"]);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot run jackfield serve")?;
    let mut running = Running(child);
    let stdout = running.0.stdout.take().context("no pipe")?;
    let mut line = String::new();
    BufReader::new(stdout).read_line(&mut line)?;
    let said: serde_json::Value = serde_json::from_str(&line).with_context(|| format!("not a first line: {line:?}"))?;
    let text = |key: &str| {
        said.get(key).and_then(|value| value.as_str()).map(str::to_owned).with_context(|| format!("no {key}"))
    };
    Ok((running, text("address")?, text("token")?))
}
