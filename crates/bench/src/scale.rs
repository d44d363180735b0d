//! How the command line grows with the number of installed extensions.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::beside;
use crate::numbers::{Samples, ratio};

const SIZES: [usize; 3] = [10, 100, 1_000];
const RUNS: usize = 60;

/// Something that is timed in each home.
struct Verb {
    what: &'static str,
    words: &'static [&'static str],
    runs: usize,
}

const VERBS: [Verb; 3] = [
    Verb { what: "call, an extension in Python", words: &["call", "note_list"], runs: RUNS },
    Verb { what: "call, the leanest extension", words: &["call", "ping7", "text=x"], runs: RUNS },
    Verb { what: "list", words: &["list"], runs: RUNS },
];

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("the command line with many installed extensions");
    let homes: Vec<tempfile::TempDir> = SIZES.iter().map(|_| tempfile::tempdir()).collect::<Result<_, _>>()?;
    for (home, size) in homes.iter().zip(SIZES) {
        install(home.path(), size)?;
        // The first run fills the catalogue.
        time(home.path(), &["tools"])?;
    }
    // What changed a moment ago may change again unseen, so nothing is kept about it yet.
    std::thread::sleep(Duration::from_millis(2_500));
    for home in &homes {
        time(home.path(), &["tools"])?;
    }
    for Verb { what, words, runs } in VERBS {
        let mut samples: Vec<Samples> = SIZES.iter().map(|_| Samples::default()).collect();
        for turn in 0..runs {
            // Whoever comes first after a pause finds a sleepy machine, so they take turns at that, too.
            let mut order: Vec<_> = homes.iter().zip(&mut samples).collect();
            order.rotate_left(turn % SIZES.len());
            for (home, samples) in order {
                samples.add(time(home.path(), words)?);
            }
        }
        println!("  {what}");
        for (size, samples) in SIZES.iter().zip(&samples) {
            println!("    {size:>5} extensions  {}", samples.line());
        }
        if let (Some(few), Some(many)) = (samples.first(), samples.last()) {
            let grew = ratio(many.percentile(0.5), few.percentile(0.5));
            println!("    {grew:.2} times as long with 1,000 as with 10 (p50)");
        }
    }
    Ok(())
}

fn install(home: &Path, size: usize) -> anyhow::Result<()> {
    let program = beside("jackfield-pingpong")?;
    fs::create_dir_all(home.join("project"))?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/notes-py");
    fs::create_dir_all(home.join("extensions/notes-py"))?;
    for entry in fs::read_dir(example)?.flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), home.join("extensions/notes-py").join(entry.file_name()))?;
    }
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

fn time(home: &Path, words: &[&str]) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let output = Command::new(beside("jackfield")?)
        .arg("--home")
        .arg(home)
        .args(words)
        .arg("--project")
        .arg(home.join("project"))
        .stdin(Stdio::null())
        .output()?;
    let took = begun.elapsed();
    anyhow::ensure!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(took)
}
