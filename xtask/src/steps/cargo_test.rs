//! `cargo test`, with its output passed through and its results counted.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, bail};

use super::Tally;
use crate::root;

/// How long output is read after `cargo test` ended. A process that a test left behind may hold the pipe.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs `cargo test` with these arguments and variables.
pub(crate) fn cargo_test(args: &[&str], env: &[(&str, &str)], tally: &mut Tally) -> anyhow::Result<()> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    println!("+ cargo test {}", args.join(" "));
    let mut command = Command::new(cargo);
    command.arg("test").args(args).envs(env.iter().copied()).current_dir(root()).stdout(Stdio::piped());
    let mut child = command.spawn().context("cannot run cargo")?;
    let output = child.stdout.take().context("no output of cargo")?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let text = String::from_utf8_lossy(&line).into_owned();
            writeln!(std::io::stdout(), "{text}").ok();
            if sender.send(text).is_err() {
                return;
            }
        }
    });
    let status = child.wait().context("cannot wait for cargo")?;
    while let Ok(line) = lines.recv_timeout(LAST_WORDS) {
        count(&line, tally);
    }
    if !status.success() && tally.failed == 0 {
        bail!("cargo test {} failed ({status}) without the result of a test", args.join(" "));
    }
    if tally.passed == 0 && tally.failed == 0 {
        bail!("cargo test {} ran no test", args.join(" "));
    }
    Ok(())
}

/// Counts what one line of libtest says. An ignored test is a failure: a skip is never silent.
pub(super) fn count(line: &str, tally: &mut Tally) {
    if let Some(rest) = line.strip_prefix("test result: ") {
        for part in rest.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next(), words.next()) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match word {
                "passed" => tally.passed += number,
                "failed" | "ignored" => tally.failed += number,
                _ => {}
            }
        }
    } else if let Some(test) = line.strip_prefix("test ") {
        let ends = [" ... FAILED", " ... ignored"];
        if let Some(name) = ends.iter().find_map(|end| test.strip_suffix(end)) {
            tally.failures.push(name.to_owned());
        }
    }
}
