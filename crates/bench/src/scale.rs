//! How the command line grows with the number of installed extensions.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::json;

use crate::beside;
use crate::numbers::{Samples, ratio, show};

const SIZES: [usize; 3] = [10, 100, 1_000];
const RUNS: usize = 40;

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("the command line with many installed extensions");
    let mut calls = Vec::new();
    let mut lists = Vec::new();
    let homes: Vec<tempfile::TempDir> = SIZES.iter().map(|_| tempfile::tempdir()).collect::<Result<_, _>>()?;
    for (home, size) in homes.iter().zip(SIZES) {
        install(home.path(), size)?;
        // The first run fills the catalogue.
        time(home.path(), &["tools"])?;
        calls.push(Samples::default());
        lists.push(Samples::default());
    }
    for _ in 0..RUNS {
        for (index, home) in homes.iter().enumerate() {
            if let (Some(call), Some(list)) = (calls.get_mut(index), lists.get_mut(index)) {
                call.add(time(home.path(), &["call", "ping7", "text=x"])?);
                list.add(time(home.path(), &["list"])?);
            }
        }
    }
    for ((size, call), list) in SIZES.iter().zip(&calls).zip(&lists) {
        println!("  {size:>5} extensions  call {}   list p50 {}", call.line(), show(list.percentile(0.5)));
    }
    if let (Some(few), Some(many)) = (calls.first(), calls.last()) {
        let grew = (ratio(many.percentile(0.5), few.percentile(0.5)) - 1.0) * 100.0;
        println!("  call grows by {grew:.1} % from 10 to 1,000 extensions (p50)");
    }
    if let (Some(few), Some(many)) = (lists.first(), lists.last()) {
        println!(
            "  list grows {:.1}-fold from 10 to 1,000 extensions (p50)",
            ratio(many.percentile(0.5), few.percentile(0.5))
        );
    }
    Ok(())
}

fn install(home: &Path, size: usize) -> anyhow::Result<()> {
    let program = beside("jackfield-pingpong")?;
    for number in 0..size {
        let dir = home.join("extensions").join(format!("pingpong{number}"));
        fs::create_dir_all(&dir)?;
        let manifest = json!({
            "name": format!("pingpong{number}"), "version": "1.0.0", "exec": program,
            "args": ["--tool", format!("ping{number}")],
        });
        fs::write(dir.join("extension.json"), manifest.to_string())?;
    }
    Ok(())
}

fn time(home: &Path, words: &[&str]) -> anyhow::Result<std::time::Duration> {
    let begun = Instant::now();
    let output = Command::new(beside("jackfield")?)
        .arg("--home")
        .arg(home)
        .args(words)
        .current_dir(home)
        .stdin(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    anyhow::ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}
