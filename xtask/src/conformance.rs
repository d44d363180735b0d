//! `conformance pi`: what pi's own extensions register here, compared with what they register in the real pi.

mod behaviour;
mod corpus;
mod golden;
mod inspect;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::steps::Tally;
use crate::{cargo, root, target};
use corpus::Corpus;
use golden::{Expected, Set};

const HELP: &str = "\
cargo xtask conformance pi [--behaviour | --regenerate] [--json] [--only NAME] [--jobs N] [--bin PATH]

  --behaviour   play the behaviour scripts and compare with what pi made of them
  --regenerate  install pi from npm and have it play the behaviour scripts anew
  --json        print the result as JSON
  --only NAME   only extensions whose name contains NAME
  --jobs N      how many extensions at a time [default: 2]
  --bin PATH    this jackfield [default: $JACKFIELD_BIN, else the debug build, which is made first]";

/// The share of the npm packages which pi loads that must be equal, in percent.
const NPM_GOAL: usize = 90;

/// How the comparison is asked for.
struct Options {
    json: bool,
    only: Option<String>,
    jobs: usize,
    bin: Option<PathBuf>,
    what: What,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Registrations,
    Behaviour,
    /// Nothing: what is expected is made anew.
    Regenerate,
}

/// One extension, compared.
struct Row {
    expected: Expected,
    found: Value,
    differences: Vec<String>,
    took: Duration,
}

impl Row {
    fn is_equal(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Runs the comparison that the words of the command line ask for.
pub(crate) fn run(words: Vec<String>) -> anyhow::Result<()> {
    let mut words = words.into_iter();
    match words.next().as_deref() {
        Some("pi") => {}
        Some("mcp-server") => return crate::mcp_server::run(words.collect()),
        Some("mcp-client") => return crate::mcp_client::run(words.collect()),
        _ => bail!("say what to compare with, pi, mcp-server or mcp-client:\n{HELP}"),
    }
    let options = options(words)?;
    match options.what {
        What::Registrations => compare(&options, &mut Tally::default()),
        What::Behaviour => compare_behaviour(&options, &mut Tally::default()),
        What::Regenerate => behaviour::regenerate(options.only.as_deref(), options.jobs),
    }
}

/// The comparison of registrations as a step of the tests.
pub(crate) fn registrations(tally: &mut Tally) -> anyhow::Result<()> {
    compare(&in_tests(What::Registrations), tally)
}

/// The comparison of behaviour as a step of the tests.
pub(crate) fn behaviours(tally: &mut Tally) -> anyhow::Result<()> {
    compare_behaviour(&in_tests(What::Behaviour), tally)
}

fn in_tests(what: What) -> Options {
    Options { json: false, only: None, jobs: 2, bin: None, what }
}

fn options(mut words: impl Iterator<Item = String>) -> anyhow::Result<Options> {
    let bin = std::env::var_os("JACKFIELD_BIN").map(PathBuf::from);
    let mut options = Options { json: false, only: None, jobs: 2, bin, what: What::Registrations };
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} wants a value:\n{HELP}"));
        match word.as_str() {
            "--behaviour" => options.what = What::Behaviour,
            "--regenerate" => options.what = What::Regenerate,
            "--json" => options.json = true,
            "--only" => options.only = Some(value()?),
            "--jobs" => options.jobs = value()?.parse().context("--jobs wants a number")?,
            "--bin" => options.bin = Some(value()?.into()),
            _ => bail!("{word} is not an option of conformance:\n{HELP}"),
        }
    }
    Ok(options)
}

fn binary(options: &Options) -> anyhow::Result<PathBuf> {
    match &options.bin {
        Some(path) => Ok(std::path::absolute(path)?),
        None => {
            cargo(&["build", "--quiet", "--bin", "jackfield"])?;
            Ok(target().join("debug/jackfield"))
        }
    }
}

fn compare_behaviour(options: &Options, tally: &mut Tally) -> anyhow::Result<()> {
    let binary = binary(options)?;
    let data = root().join("xtask/conformance/pi");
    let corpus = Corpus::install(&data.join("corpus.toml"), &golden::read(&data, Set::Official)?)?;
    behaviour::compare(&binary, &corpus.official(), options.only.as_deref(), options.jobs, tally)
}

fn compare(options: &Options, tally: &mut Tally) -> anyhow::Result<()> {
    let binary = binary(options)?;
    let data = root().join("xtask/conformance/pi");
    let mut expected = Vec::new();
    for set in Set::ALL {
        expected.extend(golden::read(&data, set)?);
    }
    if let Some(only) = &options.only {
        expected.retain(|one| one.name.contains(only.as_str()));
        if expected.is_empty() {
            bail!("no extension of the corpus has {only} in its name");
        }
    }
    let corpus = Corpus::install(&data.join("corpus.toml"), &expected)?;
    let began = Instant::now();
    let rows = inspect_all(&binary, &corpus, expected, options.jobs.max(1));
    let verdict = Verdict::of(&rows, golden::misses(&data)?, options.only.is_some());
    if options.json {
        println!("{}", serde_json::to_string_pretty(&as_json(&rows, &verdict))?);
    } else {
        print_table(&rows, &verdict, began.elapsed());
    }
    // A difference that the list of misses explains is as expected.
    let (passed, failed): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| row.is_equal() != verdict.listed.contains_key(&row.expected.name));
    tally.passed += passed.len();
    tally.failed += failed.len();
    tally.failures.extend(failed.iter().map(|row| row.expected.name.clone()));
    match verdict.complaints.as_slice() {
        [] => Ok(()),
        complaints => bail!("{}", complaints.join("\n")),
    }
}

fn inspect_all(binary: &std::path::Path, corpus: &Corpus, expected: Vec<Expected>, jobs: usize) -> Vec<Row> {
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some((index, one)) = take(&next, &expected) {
                    let began = Instant::now();
                    let found = inspect::inspect(binary, corpus, one, index).unwrap_or_else(
                        |error| json!({ "error": { "class": "no answer", "message": format!("{error:#}") } }),
                    );
                    let differences = golden::differences(&one.facts, &found);
                    let row = Row { expected: one.clone(), found, differences, took: began.elapsed() };
                    if let Ok(mut rows) = rows.lock() {
                        rows.push((index, row));
                    }
                }
            });
        }
    });
    let mut rows = rows.into_inner().unwrap_or_default();
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn take<'a>(next: &AtomicUsize, expected: &'a [Expected]) -> Option<(usize, &'a Expected)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    expected.get(index).map(|one| (index, one))
}

/// What the rows amount to.
struct Verdict {
    sums: Vec<(Set, usize, usize)>,
    listed: BTreeMap<String, String>,
    complaints: Vec<String>,
}

impl Verdict {
    fn of(rows: &[Row], listed: BTreeMap<String, String>, partial: bool) -> Self {
        let mut sums = Vec::new();
        let mut complaints = Vec::new();
        for set in Set::ALL {
            let counted = |row: &&Row| row.expected.set == set && (set != Set::Npm || row.expected.loads());
            let of = rows.iter().filter(counted).count();
            let equal = rows.iter().filter(counted).filter(|row| row.is_equal()).count();
            let goal = if set == Set::Npm { (of * NPM_GOAL).div_ceil(100) } else { of };
            if equal < goal {
                complaints.push(format!("{}: {equal} of {of} are equal; the goal is {goal}", set.title()));
            }
            sums.push((set, equal, of));
        }
        for row in rows {
            let name = &row.expected.name;
            match (row.is_equal(), listed.contains_key(name)) {
                (false, false) => complaints.push(format!("{name} differs and misses.toml does not explain it")),
                (true, true) => complaints.push(format!("{name} is equal; take it out of misses.toml")),
                _ => {}
            }
        }
        for name in listed.keys().filter(|name| !partial && !rows.iter().any(|row| row.expected.name == **name)) {
            complaints.push(format!("misses.toml explains {name}, which is not in the corpus"));
        }
        Self { sums, listed, complaints }
    }
}

fn as_json(rows: &[Row], verdict: &Verdict) -> Value {
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "extension": row.expected.name,
                "set": row.expected.set.title(),
                "equal": row.is_equal(),
                "loadsInPi": row.expected.loads(),
                "differences": row.differences,
                "reason": verdict.listed.get(&row.expected.name),
                "ms": u64::try_from(row.took.as_millis()).unwrap_or(u64::MAX),
                "found": row.found,
            })
        })
        .collect();
    let sets: Vec<Value> =
        verdict.sums.iter().map(|(set, equal, of)| json!({ "set": set.title(), "equal": equal, "of": of })).collect();
    json!({ "ok": verdict.complaints.is_empty(), "sets": sets, "complaints": verdict.complaints, "extensions": rows })
}

fn print_table(rows: &[Row], verdict: &Verdict, took: Duration) {
    println!("{:<70} {:<8} {:>5} {:>5} {:>6} {:>7}", "extension", "result", "tools", "cmds", "events", "ms");
    for row in rows {
        let count = |key: &str| match row.expected.facts.pointer(&format!("/registers/{key}")) {
            Some(Value::Array(list)) => list.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        };
        let result = match (row.is_equal(), row.expected.loads()) {
            (true, true) => "equal",
            (true, false) => "refused",
            (false, _) => "DIFFERS",
        };
        let (name, ms) = (&row.expected.name, row.took.as_millis());
        let (tools, commands, events) = (count("tools"), count("commands"), count("events"));
        println!("{name:<70} {result:<8} {tools:>5} {commands:>5} {events:>6} {ms:>7}");
        for difference in &row.differences {
            println!("    {difference}");
        }
        if let Some(reason) = verdict.listed.get(name) {
            println!("    because: {reason}");
        }
    }
    println!();
    for (set, equal, of) in &verdict.sums {
        println!("{:<40} {equal} of {of} equal", set.title());
    }
    println!("compared in {:.1} s (\"refused\": pi cannot load it either, for the same reason)", took.as_secs_f64());
}

#[cfg(test)]
mod tests;
