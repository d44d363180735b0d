//! How much a host grows with every extension that runs in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use jackfield_protocol::Isolation;

use super::{MEMORY, open};

const COUNTS: [usize; 2] = [10, 110];
const ASLEEP: &str = "loaded and asleep";

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("memory (resident set) of a host whose extensions run on threads");
    let dirs = [tempfile::tempdir()?, tempfile::tempdir()?];
    // Compiling leaves memory behind that the process keeps; it happens once in the life of an extension.
    for when in ["compiled just now", "known from before", ASLEEP] {
        let mut rows = Vec::new();
        for (dir, count) in dirs.iter().zip(COUNTS) {
            let is_it = |(_, kept): &(f64, usize)| when != ASLEEP || *kept == count;
            let kib =
                (0..super::STARTS).map(|_| grown(dir.path(), count)).find(|seen| seen.as_ref().map_or(true, is_it));
            let (kib, _) = kib.context("they are never kept")??;
            println!("  {count:>3} small extensions, {when}  {:.1} MB", kib / 1024.0);
            rows.push(kib);
        }
        if let ([few, many], [less, more]) = (rows.as_slice(), COUNTS) {
            let each = (many - few) / 1024.0 / (more - less) as f64;
            println!("  each of the other {}, {when}: {each:.3} MB (goal 0.6)", more - less);
        }
    }
    Ok(())
}

/// KiB of a process with so many extensions, and how many of them were loaded once and for all.
fn grown(home: &Path, count: usize) -> anyhow::Result<(f64, usize)> {
    let output = Command::new(std::env::current_exe()?).arg(MEMORY).arg(home).arg(count.to_string()).output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    let read = || {
        let (size, kept) = told.trim().split_once(' ')?;
        Some((size.parse().ok()?, kept.parse().ok()?))
    };
    read().with_context(|| format!("{told}{}", String::from_utf8_lossy(&output.stderr)))
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
        println!("{} {}", size.context("the size of this process")?.trim(), super::kept(&host));
        host.shutdown().await;
        // From then on what loading makes of them is known.
        jackfield_js::settle();
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
