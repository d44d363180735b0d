//! How much a host grows with every extension that runs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use jackfield_protocol::Isolation;

use super::{MEMORY, open};

const COUNTS: [usize; 2] = [10, 110];

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("memory (resident set) of a host whose extensions run on threads");
    let dirs = [tempfile::tempdir()?, tempfile::tempdir()?];
    // Compiling leaves memory behind that the process keeps; it happens once in the life of an extension.
    for when in ["compiled just now", "known from before"] {
        let mut rows = Vec::new();
        for (dir, count) in dirs.iter().zip(COUNTS) {
            let kib = grown(dir.path(), count)?;
            println!("  {count:>3} small extensions, {when}  {:.1} MB", kib / 1024.0);
            rows.push(kib);
        }
        if let ([few, many], [less, more]) = (rows.as_slice(), COUNTS) {
            let each = (many - few) / 1024.0 / (more - less) as f64;
            println!("  each of the other {}, {when}: {each:.3} MB", more - less);
        }
    }
    Ok(())
}

/// KiB of a process with so many extensions.
fn grown(home: &Path, count: usize) -> anyhow::Result<f64> {
    let output = Command::new(std::env::current_exe()?).arg(MEMORY).arg(home).arg(count.to_string()).output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    told.trim().parse().with_context(|| format!("{told}{}", String::from_utf8_lossy(&output.stderr)))
}

/// This process and all below it.
fn family() -> anyhow::Result<Vec<u32>> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // A process may end while it is looked at.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let parent = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (pid, parent)));
    }
    let mut ours = vec![std::process::id()];
    let mut at = 0;
    while let Some(parent) = ours.get(at).copied() {
        ours.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid));
        at += 1;
    }
    Ok(ours)
}

/// KiB of this process and all below it: each page is counted once, divided among those that share it.
pub(crate) fn of_all() -> anyhow::Result<usize> {
    let pss = |pid: &u32| {
        let told = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        told.lines()
            .find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok())
    };
    Ok(family()?.iter().filter_map(pss).sum())
}

/// CPU time of all processes below this one. They must be alive: nothing that waits for them would count it, because
/// engines are killed with their server.
pub(crate) fn cpu_below() -> anyhow::Result<Duration> {
    let mut nanos = 0;
    for pid in family()?.iter().skip(1) {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for task in tasks.flatten() {
            let told = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            nanos += told.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).unwrap_or_default();
        }
    }
    Ok(Duration::from_nanos(nanos))
}

/// Starts so many small extensions, calls for nothing, and says how large it has become.
pub(crate) fn child(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let home = PathBuf::from(words.next().context("a home")?);
    let count: usize = words.next().context("a count")?.parse()?;
    let mut scripts = Vec::new();
    for number in 0..count {
        let script = home.join(format!("small{number}.ts"));
        fs::write(&script, small(number))?;
        scripts.push(script);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = open(&home, scripts, Isolation::Thread)?;
        super::start_all(&host).await;
        let tools = host.snapshot().tools().count();
        anyhow::ensure!(tools == count, "{tools} of {count} came up");
        let status = fs::read_to_string("/proc/self/status")?;
        let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        println!("{}", size.context("the size of this process")?.trim());
        host.shutdown().await;
        Ok(())
    })
}

/// A tool, a command and an event, as small extensions have them.
fn small(number: usize) -> String {
    format!(
        r#"import type {{ ExtensionAPI }} from "@earendil-works/pi-coding-agent";
import {{ Type }} from "typebox";
export default function (pi: ExtensionAPI) {{
  let count = 0;
  pi.registerTool({{
    name: "small{number}", label: "Small", description: "A small tool",
    parameters: Type.Object({{ text: Type.String({{ description: "What to say" }}), times: Type.Optional(Type.Number()) }}),
    async execute(id, params) {{ count += 1; return {{ content: [{{ type: "text", text: params.text }}], details: {{ count }} }}; }},
  }});
  pi.registerCommand("small{number}", {{ description: "Says how often", handler: async (args, ctx) => ctx.ui.notify(`${{count}}`, "info") }});
  pi.on("session_start", async () => {{ count = 0; }});
}}
"#
    )
}
