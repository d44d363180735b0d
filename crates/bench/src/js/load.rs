//! Loading all official examples of pi: this host beside real pi, in turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use jackfield_protocol::Isolation;

use super::LOAD;
use crate::numbers::{Samples, ratio, show};

const TURNS: usize = 15;
/// Names real pi's package and the Node that runs it.
const PI: &str = "JACKFIELD_BENCH_PI";
const NODE: &str = "JACKFIELD_BENCH_NODE";

/// Asks our side for what users see when they start it: everything is offered, and engines start with the first use.
const OFFERED: &str = "--offered";

/// Asks our side to run every engine on a thread of the host, as for extensions that the user trusts.
const THREADS: &str = "--threads";

/// Asks our side for the memory of all its processes instead of the number of extensions.
const MEMORY: &str = "--memory";

/// Loads everything that it is given and says how many came up, as our side does.
const DRIVER: &str = r#"
const [pi, ...paths] = process.argv.slice(2);
const agent = await import(`${pi}/dist/bundle/index.js`);
const { extensions } = await agent.discoverAndLoadExtensions(paths, process.cwd(), `${process.env.HOME}/.pi/agent`, agent.createEventBus());
console.log(`loaded ${extensions.length}`);
process.exit(0);
"#;

/// What is loaded, and by whom.
struct Field {
    node: PathBuf,
    pi: PathBuf,
    driver: PathBuf,
    scripts: Vec<PathBuf>,
    dir: tempfile::TempDir,
}

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("loading pi's official examples, CPU time (user + system) of all processes");
    println!("by default every engine is a process; rows with \"threads\" run them all in the host");
    let Some(field) = Field::new()? else {
        println!("  LEFT OUT: real pi is not here. Unpack pi 1.5.0 and name it with {PI}, and Node 22 with {NODE}");
        return Ok(());
    };
    let mut rows: Vec<(&str, Samples, usize)> = Vec::new();
    let mut add = |name: &'static str, (took, loaded): (Duration, usize)| match rows
        .iter_mut()
        .find(|(known, _, _)| *known == name)
    {
        Some((_, samples, _)) => samples.add(took),
        None => {
            let mut samples = Samples::default();
            samples.add(took);
            rows.push((name, samples, loaded));
        }
    };
    // Whoever comes first pays for files that nobody has read yet; so everybody comes once without being counted.
    let (known, warm) = (field.fresh("known")?, field.fresh("warm")?);
    field.ours(&known, &field.scripts)?;
    field.theirs(&warm)?;
    for turn in 0..TURNS {
        let copy = field.copied(&format!("copy{turn}"))?;
        add("real pi, first load", field.theirs(&field.fresh(&format!("theirs{turn}"))?)?);
        add(
            "jackfield, first load, nothing known at all",
            field.ours(&field.fresh(&format!("ours{turn}"))?, &field.scripts)?,
        );
        add("jackfield, first load, extensions never seen", field.ours(&known, &copy)?);
        add("real pi, its cache warm", field.theirs(&warm)?);
        add("jackfield, known: all loaded", field.ours(&known, &field.scripts)?);
        add("jackfield, known: all loaded, threads", field.flagged(&known, THREADS)?);
        add("jackfield, known: offered, no engine started", field.flagged(&known, OFFERED)?);
        add("real pi, no extension", field.theirs_with(&warm, &[])?);
        add("jackfield, no extension", field.ours(&known, &[])?);
    }
    for (name, samples, loaded) in &rows {
        println!("  {name:<46} {loaded:>3} loaded  {}", samples.range());
    }
    let median = |name: &str| {
        rows.iter()
            .find(|(known, _, _)| *known == name)
            .map(|(_, samples, _)| samples.percentile(0.5))
            .unwrap_or_default()
    };
    for (ours, theirs, goal) in [
        ("jackfield, known: all loaded", "real pi, its cache warm", " (goal 4)"),
        ("jackfield, known: all loaded, threads", "real pi, its cache warm", ""),
        ("jackfield, known: offered, no engine started", "real pi, its cache warm", ""),
        ("jackfield, first load, extensions never seen", "real pi, first load", ""),
        ("jackfield, first load, nothing known at all", "real pi, first load", ""),
    ] {
        println!("  {ours}: {:.1} times less than {theirs}{goal}", ratio(median(theirs), median(ours)));
    }
    for (name, flags) in [("processes", &[MEMORY][..]), ("threads", &[MEMORY, THREADS])] {
        let (_, kib) = field.with_flags(&known, flags)?;
        println!("  memory with all loaded, {name}: {:.1} MB (PSS of all processes, goal 90)", kib as f64 / 1024.0);
    }
    Ok(())
}

impl Field {
    fn new() -> anyhow::Result<Option<Self>> {
        let oracle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/oracle");
        let named = |name: &str, other: &str| std::env::var_os(name).map_or_else(|| oracle.join(other), PathBuf::from);
        let node = named(NODE, "node/bin/node");
        let pi = named(PI, "pi/node_modules/@earendil-works/pi-coding-agent");
        let (Ok(node), Ok(pi)) = (node.canonicalize(), pi.canonicalize()) else { return Ok(None) };
        let dir = tempfile::tempdir()?;
        let driver = dir.path().join("driver.mjs");
        fs::write(&driver, DRIVER)?;
        let scripts = scripts(&pi.join("examples/extensions"))?;
        Ok(Some(Self { node, pi, driver, scripts, dir }))
    }

    fn fresh(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.dir.path().join(name);
        fs::create_dir_all(folder.join("tmp"))?;
        Ok(folder)
    }

    /// The same extensions in another place, so that no cache knows them.
    fn copied(&self, name: &str) -> anyhow::Result<Vec<PathBuf>> {
        let to = self.dir.path().join(name);
        copy(&self.pi.join("examples/extensions"), &to)?;
        scripts(&to)
    }

    fn ours(&self, home: &Path, scripts: &[PathBuf]) -> anyhow::Result<(Duration, usize)> {
        let mut words =
            vec![std::env::current_exe()?.display().to_string(), LOAD.to_owned(), home.display().to_string()];
        words.extend(scripts.iter().map(|script| script.display().to_string()));
        timed(&words, home)
    }

    fn flagged(&self, home: &Path, flag: &str) -> anyhow::Result<(Duration, usize)> {
        self.with_flags(home, &[flag])
    }

    fn with_flags(&self, home: &Path, flags: &[&str]) -> anyhow::Result<(Duration, usize)> {
        let mut words = self.scripts.clone();
        words.extend(flags.iter().map(PathBuf::from));
        self.ours(home, &words)
    }

    fn theirs(&self, home: &Path) -> anyhow::Result<(Duration, usize)> {
        self.theirs_with(home, &self.scripts)
    }

    fn theirs_with(&self, home: &Path, scripts: &[PathBuf]) -> anyhow::Result<(Duration, usize)> {
        let mut words: Vec<String> = [&self.node, &self.driver, &self.pi].map(|path| path.display().to_string()).into();
        words.extend(scripts.iter().map(|script| script.display().to_string()));
        timed(&words, home)
    }
}

/// The entries that pi finds in a folder: scripts, and folders that are extensions.
fn scripts(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        let is_script = path.extension().is_some_and(|ending| ending == "ts");
        if is_script || path.join("index.ts").is_file() || path.join("package.json").is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &there)?;
        } else {
            fs::copy(entry.path(), there)?;
        }
    }
    Ok(())
}

/// Runs a program with an empty home and gives the CPU time that the shell measured, start and end of the process
/// included, and how many extensions it says it loaded.
fn timed(words: &[String], home: &Path) -> anyhow::Result<(Duration, usize)> {
    let output = Command::new("bash")
        .args(["-c", "TIMEFORMAT='cpu %3U %3S'; time \"$@\" 2>/dev/null", "bash"])
        .args(words)
        .env("HOME", home)
        // Not the folder itself: pi's loader does not believe in such a place for temporary files.
        .env("TMPDIR", home.join("tmp"))
        .current_dir(home)
        .output()
        .context("bash, which measures")?;
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let loaded = said.lines().find_map(|line| line.strip_prefix("loaded ")?.trim().parse().ok());
    let cpu = told.lines().find_map(|line| {
        let mut parts = line.strip_prefix("cpu ")?.split(' ').map(|part| part.replace(',', ".").parse::<f64>().ok());
        Some(parts.next()?? + parts.next()??)
    });
    // What a program says of processes that the shell cannot count.
    let below = said.lines().find_map(|line| line.strip_prefix("below ")?.trim().parse::<f64>().ok());
    let cpu = cpu.map(|cpu| cpu + below.unwrap_or_default());
    match (loaded, cpu) {
        (Some(loaded), Some(cpu)) => Ok((Duration::from_secs_f64(cpu), loaded)),
        _ => anyhow::bail!("{}: said {said:?}, {told:?}", words.join(" ")),
    }
}

/// Our side: a host that loads every extension, in processes unless it is asked for threads.
pub(crate) fn child(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let home = PathBuf::from(words.next().context("a home")?);
    let (flags, scripts): (Vec<String>, Vec<String>) = words.partition(|word| word.starts_with("--"));
    let has = |flag: &str| flags.iter().any(|word| word == flag);
    let scripts = scripts.into_iter().map(PathBuf::from).collect();
    let isolation = if has(THREADS) { Isolation::Thread } else { Isolation::Process };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (host, shown, below) = runtime.block_on(async {
        let host = super::open(&home, scripts, isolation)?;
        let loaded = if has(OFFERED) {
            host.learn(Duration::from_secs(120)).await;
            host.report().extensions.iter().filter(|found| host.contributions(&found.manifest.id).is_some()).count()
        } else {
            super::start_all(&host).await
        };
        let shown = if has(MEMORY) { super::memory::of_all()? } else { loaded };
        anyhow::Ok((host, shown, super::memory::cpu_below()?))
    })?;
    println!("loaded {shown}\nbelow {}", below.as_secs_f64());
    // The shell counts this process. It must not count the others as well, so they are not waited for.
    std::mem::forget(host);
    std::process::exit(0)
}

impl Samples {
    /// `480 ms (450 ms to 520 ms)`.
    fn range(&self) -> String {
        let (low, high) = (show(self.percentile(0.0)), show(self.percentile(1.0)));
        format!("{:>9}  ({low} to {high})", show(self.percentile(0.5)))
    }
}
