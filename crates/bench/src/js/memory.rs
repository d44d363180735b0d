//! How much a host grows with every extension that runs in it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use jackfield_protocol::Isolation;

use super::{MEMORY, open};

const COUNTS: [usize; 2] = [10, 110];

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("memory (resident set) of a host whose extensions run on threads");
    let mut rows = Vec::new();
    for count in COUNTS {
        let dir = tempfile::tempdir()?;
        let output =
            Command::new(std::env::current_exe()?).arg(MEMORY).arg(dir.path()).arg(count.to_string()).output()?;
        let told = String::from_utf8_lossy(&output.stdout);
        let kib: f64 =
            told.trim().parse().with_context(|| format!("{told}{}", String::from_utf8_lossy(&output.stderr)))?;
        println!("  {count:>3} small extensions  {:.1} MB", kib / 1024.0);
        rows.push(kib);
    }
    if let ([few, many], [less, more]) = (rows.as_slice(), COUNTS) {
        println!(
            "  each of the other {}: {:.3} MB (goal 0.6)",
            more - less,
            (many - few) / 1024.0 / (more - less) as f64
        );
    }
    Ok(())
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
        host.learn(Duration::from_secs(120)).await;
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
