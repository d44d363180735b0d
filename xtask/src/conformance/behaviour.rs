//! Behaviour, not only registration: scripts (`xtask/conformance/pi/behaviour/NAME.json`) say what happens to an official
//! example (events, commands, tools, shortcuts, dialogs answered), and `NAME.expected.json` beside each says what real pi
//! makes of it. Here jackfield plays the same scripts, and `regenerate` has real pi play them anew.
//!
//! A script has `example` (else its own name), `files` (text by path, put into the project), `setup` and `after` (commands
//! that run in the project before and after; what the latter print counts), `session` (entries of the session at the
//! start), `agent` (what the agent answers, by operation) and `steps`. A step has one of `event` (with `data`), `command`
//! (with `args`), `tool` (with `input`), `shortcut` or `bus` (with `data`); `answers` to its dialogs in order, text, true or false, or null
//! for a dialog that is cancelled; and `until`, how many records to wait for where work goes on after the step. Before the
//! first step comes the start of the session; `start` has its `answers` and `until`.

mod normal;
mod oracle;
mod play;
mod project;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::steps::Tally;

/// How many official examples must behave as with pi, at the least.
const GOAL: usize = 40;

/// A script and where it stands.
struct Script {
    name: String,
    file: PathBuf,
    content: Value,
}

impl Script {
    fn expected_file(&self) -> PathBuf {
        self.file.with_file_name(format!("{}.expected.json", self.name))
    }

    fn example_name(&self) -> &str {
        self.content.get("example").and_then(Value::as_str).unwrap_or(&self.name)
    }

    /// The extension: a file, or a directory with an `index.ts`.
    fn example(&self, examples: &Path) -> anyhow::Result<PathBuf> {
        let name = self.example_name();
        let found = [examples.join(format!("{name}.ts")), examples.join(name).join("index.ts")];
        found
            .into_iter()
            .find(|path| path.is_file())
            .with_context(|| format!("no example {name} in {}", examples.display()))
    }

    fn steps(&self) -> &[Value] {
        self.content.get("steps").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
}

fn folder() -> PathBuf {
    crate::root().join("xtask/conformance/pi/behaviour")
}

fn read_json(file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not JSON", file.display()))
}

/// All scripts, or those with a word in their name.
fn scripts(only: Option<&str>) -> anyhow::Result<Vec<Script>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder()).context("cannot list the behaviour scripts")? {
        let file = entry?.path();
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(name) = name.strip_suffix(".json").filter(|name| !name.ends_with(".expected")) else { continue };
        if only.is_none_or(|only| name.contains(only)) {
            all.push(Script { name: name.to_owned(), content: read_json(&file)?, file });
        }
    }
    if all.is_empty() {
        bail!("no behaviour script has {} in its name", only.unwrap_or_default());
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// Runs `work` on every script, a few at a time; the outcomes in the order of the scripts.
fn each<T: Send>(scripts: &[Script], jobs: usize, work: impl Fn(&Script) -> T + Sync) -> Vec<(&Script, T)> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                while let Some(script) = scripts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = work(script);
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((script, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    done
}

/// Plays the scripts with jackfield and compares with what real pi gave.
pub(crate) fn compare(
    jackfield: &Path,
    examples: &Path,
    only: Option<&str>,
    jobs: usize,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let scripts = scripts(only)?;
    let outcomes = each(&scripts, jobs, |script| -> anyhow::Result<Vec<String>> {
        let expected = read_json(&script.expected_file())?;
        let seen = play::play(jackfield, &script.example(examples)?, script, &expected)?;
        Ok(normal::differences(&expected, &seen))
    });
    let mut equal = BTreeSet::new();
    let mut different = 0;
    for (script, outcome) in outcomes {
        let found = outcome.unwrap_or_else(|error| vec![format!("{error:#}")]);
        if found.is_empty() {
            equal.insert(script.example_name());
            tally.passed += 1;
            continue;
        }
        different += 1;
        tally.failed += 1;
        tally.failures.push(script.name.clone());
        eprintln!("{}: differs from pi", script.name);
        for line in found {
            eprintln!("  {line}");
        }
    }
    let (played, examples) = (scripts.len(), equal.len());
    println!("behaviour: {} of {played} scripts end as with pi, of {examples} examples", played - different);
    if different > 0 {
        bail!("{different} scripts end otherwise than with pi");
    }
    if only.is_none() && examples < GOAL {
        bail!("at least {GOAL} examples must behave as with pi, {examples} do");
    }
    Ok(())
}

/// Has real pi play the scripts and writes down what it makes of them.
pub(crate) fn regenerate(only: Option<&str>, jobs: usize) -> anyhow::Result<()> {
    let pi = oracle::install()?;
    let scripts = scripts(only)?;
    let mut failed = 0;
    for (script, outcome) in each(&scripts, jobs, |script| oracle::play(&pi, &script.example(&pi.examples())?, script))
    {
        let written = outcome.and_then(|seen| {
            let text = serde_json::to_string_pretty(&seen)? + "\n";
            std::fs::write(script.expected_file(), text).context("cannot write the expected result")
        });
        if let Err(error) = written {
            failed += 1;
            eprintln!("{}: {error:#}", script.name);
        }
    }
    if failed > 0 {
        bail!("{failed} scripts could not be played by real pi");
    }
    println!("behaviour: real pi played {} scripts", scripts.len());
    Ok(())
}
