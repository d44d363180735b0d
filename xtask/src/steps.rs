//! Checks as named steps: each shows when it begins and how long it took, and all are counted together.
//!
//! `table` lists the steps of `cargo xtask test` and of `cargo xtask quick`.

mod cargo_test;
mod table;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::bail;

pub(crate) use cargo_test::cargo_test;
pub(crate) use table::{QUICK, TEST};

/// One step.
pub(crate) struct Step {
    /// The word of the command line.
    pub(crate) name: &'static str,
    /// What it does, in one line.
    pub(crate) what: &'static str,
    /// The steps without which it cannot run. They stand before it in the table.
    pub(crate) needs: &'static [&'static str],
    /// Does it, and counts its cases. A step that counts none counts as one case.
    pub(crate) run: fn(&mut Tally) -> anyhow::Result<()>,
}

/// What a step counted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// The names of cases that failed, as far as they are known.
    pub(crate) failures: Vec<String>,
}

impl Tally {
    /// Counts one case, which failed when it has an error.
    pub(crate) fn case(&mut self, name: &str, outcome: anyhow::Result<()>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(error) => {
                self.failed += 1;
                eprintln!("error: {name}: {error:#}");
                self.failures.push(name.to_owned());
            }
        }
    }

    /// Adds how the step as a whole ended.
    fn finish(&mut self, outcome: anyhow::Result<()>) {
        match outcome {
            Ok(()) if self.passed + self.failed == 0 => self.passed = 1,
            Ok(()) => {}
            Err(error) => {
                eprintln!("error: {error:#}");
                self.failed = self.failed.max(1);
            }
        }
    }
}

/// A step that came to its end, or could not begin.
struct Ended {
    name: &'static str,
    tally: Tally,
    took: Duration,
    note: String,
}

/// Runs the steps that the words name, with those that they need, or all. `--list` lists them.
pub(crate) fn run(table: &[Step], words: &[String]) -> anyhow::Result<ExitCode> {
    if words.iter().any(|word| word == "--list") {
        for step in table {
            println!("{:<14} {}", step.name, step.what);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let chosen = choose(table, words)?;
    let mut ended: Vec<Ended> = Vec::new();
    for (number, step) in (1..).zip(&chosen) {
        println!("\n== {number}/{} {}: {}", chosen.len(), step.name, step.what);
        std::io::stdout().flush().ok();
        let began = Instant::now();
        let mut tally = Tally::default();
        let failed = |name: &str| ended.iter().any(|step| step.name == name && step.tally.failed > 0);
        let note = match step.needs.iter().find(|name| failed(name)) {
            Some(name) => {
                tally.failed = 1;
                format!("not run, because {name} failed")
            }
            None => {
                let outcome = (step.run)(&mut tally);
                tally.finish(outcome);
                String::new()
            }
        };
        let took = began.elapsed();
        println!("== {}: {} passed, {} failed in {}", step.name, tally.passed, tally.failed, shown(took));
        ended.push(Ended { name: step.name, tally, took, note });
    }
    Ok(if report(&ended) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints the failures, the table and the closing line. Gives the number of failures.
fn report(ended: &[Ended]) -> usize {
    println!();
    for step in ended {
        for name in &step.tally.failures {
            println!("failed in {}: {name}", step.name);
        }
    }
    println!("{:<14} {:>7} {:>7} {:>12}", "step", "passed", "failed", "time");
    for Ended { name, tally, took, note } in ended {
        let line = format!("{name:<14} {:>7} {:>7} {:>12}  {note}", tally.passed, tally.failed, shown(*took));
        println!("{}", line.trim_end());
    }
    println!("{:<14} {:>7} {:>7} {:>12}", "all", "", "", shown(ended.iter().map(|step| step.took).sum()));
    let passed: usize = ended.iter().map(|step| step.tally.passed).sum();
    let failed: usize = ended.iter().map(|step| step.tally.failed).sum();
    println!("{passed} passed, {failed} failed");
    failed
}

/// The steps that are named and those that they need, in the order of the table.
fn choose<'a>(table: &'a [Step], words: &[String]) -> anyhow::Result<Vec<&'a Step>> {
    let mut wanted: Vec<&str> = Vec::new();
    for word in words {
        if !table.iter().any(|step| step.name == word) {
            let names: Vec<&str> = table.iter().map(|step| step.name).collect();
            bail!("no step is called {word}; there are {}", names.join(", "));
        }
        wanted.push(word);
    }
    if wanted.is_empty() {
        return Ok(table.iter().collect());
    }
    // What a step needs stands before it, so one pass from the end finds all.
    let mut chosen = Vec::new();
    for step in table.iter().rev() {
        if wanted.contains(&step.name) {
            wanted.extend(step.needs);
            chosen.push(step);
        }
    }
    chosen.reverse();
    Ok(chosen)
}

fn shown(took: Duration) -> String {
    let seconds = took.as_secs();
    if seconds < 60 {
        format!("{:.1} s", took.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests;
