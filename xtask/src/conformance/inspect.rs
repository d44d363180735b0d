//! One extension, asked what it registers, in a place of its own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use super::corpus::Corpus;
use super::golden::{self, Expected};

/// An extension that has not answered by then is counted as one that does not load.
const PATIENCE: Duration = Duration::from_secs(90);

/// Runs `inspect --json` with an empty home, an empty project and a state of its own, because extensions look at the disk
/// while they load and the golden files were measured that way.
pub(crate) fn inspect(binary: &Path, corpus: &Corpus, one: &Expected, index: usize) -> anyhow::Result<Value> {
    let place = corpus.place(one)?;
    let scratch = Scratch::new(index)?;
    let said = run(binary, &place.entry, &scratch)?;
    let text = said
        .replace(&place.base.display().to_string(), place.token)
        .replace(&scratch.path("home").display().to_string(), "$HOME")
        .replace(&scratch.path("project").display().to_string(), "$PROJECT");
    let answer: Value = serde_json::from_str(text.trim())
        .with_context(|| format!("{} inspect printed something that is not JSON: {text}", binary.display()))?;
    Ok(match answer.pointer("/error/message").and_then(Value::as_str) {
        Some(message) => golden::refusal(message),
        None => golden::registers(&answer),
    })
}

fn run(binary: &Path, entry: &Path, scratch: &Scratch) -> anyhow::Result<String> {
    let mut child = Command::new(binary)
        .arg("--home")
        .arg(scratch.path("state"))
        .args(["--policy", "permissive", "inspect", "--json"])
        .arg(entry)
        .current_dir(scratch.path("project"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", scratch.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", binary.display()))?;
    let (out, err) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let began = Instant::now();
    while child.try_wait()?.is_none() {
        if began.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            bail!("no answer within {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let said = out.join().unwrap_or_default();
    if said.trim().is_empty() {
        bail!("{} inspect said nothing: {}", binary.display(), err.join().unwrap_or_default());
    }
    Ok(said)
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before a broken pipe is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// An empty home, project and state, gone when the comparison is done with them. Outside of the repository, so that an
/// extension which looks for one finds none.
struct Scratch(PathBuf);

impl Scratch {
    fn new(index: usize) -> anyhow::Result<Self> {
        let dir = std::env::temp_dir().join(format!("jackfield-conformance-{}-{index}", std::process::id()));
        for name in ["home", "project", "state"] {
            let path = dir.join(name);
            std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        Ok(Self(dir))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
