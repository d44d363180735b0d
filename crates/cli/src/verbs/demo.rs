//! `demo`: what jackfield does, in two seconds, with nothing but this binary. Components that it carries are put into a
//! directory of their own, listed and called; one asks for a file, one runs into a trap; the ledger has it all.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use jackfield_host::{
    Answer, Approver, Host, LedgerFilter, Mode, NoAgent, NoFace, Question, ToolCall, read_ledger, verify_ledger,
};
use jackfield_protocol::{Content, plain_text};
use jackfield_runtime::BoxFuture;
use serde_json::{Value, json};

use super::{LEARN_TIMEOUT, evidence};
use crate::approve;
use crate::args::Global;
use crate::compose::{self, Frontend, Scope};
use crate::exit;
use crate::output;

/// The components that this binary carries, with their manifests.
const CARRIED: [(&str, &str, &str, &[u8]); 4] = [
    (
        "wordcount-wasm",
        include_str!("../../../../examples/wordcount-wasm/extension.toml"),
        "wordcount.wasm",
        include_bytes!("../../../../examples/wordcount-wasm/wordcount.wasm"),
    ),
    (
        "crc-c-wasm",
        include_str!("../../../../examples/crc-c-wasm/extension.toml"),
        "crc.wasm",
        include_bytes!("../../../../examples/crc-c-wasm/crc.wasm"),
    ),
    (
        "roman-as-wasm",
        include_str!("../../../../examples/roman-as-wasm/extension.toml"),
        "roman.wasm",
        include_bytes!("../../../../examples/roman-as-wasm/roman.wasm"),
    ),
    (
        "fragile-wat-wasm",
        include_str!("../../../../examples/fragile-wat-wasm/extension.toml"),
        "fragile.wasm",
        include_bytes!("../../../../examples/fragile-wat-wasm/fragile.wasm"),
    ),
];

const NEXT: [(&str, &str); 3] = [
    ("jackfield new tool my-tool --lang rust --wasm", "begin an extension of your own (or js, python, c)"),
    ("jackfield -e examples/tasks-ts --yes call tasks action=list", "run an extension that was written for pi"),
    ("jackfield ext install examples/hello-sh", "install one; then `jackfield list`, `tools`, `call shout text=hi`"),
];

pub(crate) async fn demo(global: &Global) -> anyhow::Result<u8> {
    let began = Instant::now();
    let place = Place::make()?;
    let ext = unpack(&place.0)?;
    let own = Global {
        home: Some(place.0.join("home")),
        project: Some(place.0.join("project")),
        ext,
        policy: Some(Mode::Prompt),
        json: false,
        yes: false,
        verbose: global.verbose,
    };
    let frontend = Frontend {
        face: Arc::new(NoFace),
        agent: Arc::new(NoAgent),
        session_file: None,
        approver: Some(Arc::new(AnsweredForYou)),
    };
    let host = compose::open_for(&own, Scope::Named, frontend)?;
    let shown = show(&host).await;
    let dir = host.home().ledger();
    host.shutdown().await;
    shown?;

    head("5", "The ledger has all of it, in one hash chain:")?;
    let filter = LedgerFilter { last: Some(8), ..LedgerFilter::default() };
    for record in read_ledger(&dir, filter)? {
        output::plain(&format!("   {}", evidence::one_line(&record)))?;
    }
    let report = verify_ledger(&dir);
    anyhow::ensure!(report.ok, "the ledger of the demo does not hold: {:?}", report.problems);
    output::plain(&format!("   the chain holds: {} records", report.records))?;
    output::plain(&format!("\nThat took {:.1} s. Nothing is left behind. Next:", began.elapsed().as_secs_f64()))?;
    for (command, what) in NEXT {
        output::plain(&format!("  {command}\n      {what}"))?;
    }
    if global.json {
        output::json(&json!({ "ok": true, "records": report.records }))?;
    }
    Ok(exit::FINE)
}

async fn show(host: &Host) -> anyhow::Result<()> {
    head("1", "Four components, made with four toolchains, are loaded. What they offer:")?;
    host.learn(LEARN_TIMEOUT).await;
    for tool in host.snapshot().tools() {
        output::plain(&format!(
            "   {:<12} {:<17} {}",
            tool.name,
            tool.extension.to_string(),
            output::brief(&tool.description, 60)
        ))?;
    }
    head("2", "Call them. Arguments are checked against each tool's schema first:")?;
    expect(host, "roman", json!({ "number": 2026 }), "MMXXVI").await?;
    expect(host, "crc32", json!({ "text": "jackfield" }), "").await?;
    let refused = call(host, "roman", json!({ "number": 4000 })).await?;
    anyhow::ensure!(refused.is_err(), "4000 is beyond the schema of roman");

    head("3", "A component reaches nothing by itself. This one wants a file, so you are asked:")?;
    expect(host, "count_words", json!({ "path": "notes.txt" }), "2 lines, 7 words").await?;

    head("4", "A component runs into a trap. It harms nobody, and the next call gets a new instance:")?;
    let fell = call(host, "fall", json!({})).await?;
    anyhow::ensure!(fell.is_err(), "the trap is an error of its own call");
    expect(host, "stand", json!({}), "still standing").await?;
    expect(host, "roman", json!({ "number": 4 }), "IV").await
}

fn head(number: &str, text: &str) -> anyhow::Result<()> {
    output::plain(&format!("\n{number}. {text}"))
}

async fn expect(host: &Host, tool: &str, args: Value, text: &str) -> anyhow::Result<()> {
    match call(host, tool, args).await? {
        Ok(answer) if answer.contains(text) => Ok(()),
        Ok(answer) => anyhow::bail!("{tool} answered {answer:?} instead of {text:?}"),
        Err(error) => anyhow::bail!("{tool} failed: {error}"),
    }
}

/// Calls a tool and shows the call as one would type it, with what came of it.
async fn call(host: &Host, tool: &str, args: Value) -> anyhow::Result<Result<String, String>> {
    let words: Vec<String> = args
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!(" {key}={}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    output::plain(&format!("   $ jackfield call {tool}{}", words.concat()))?;
    let outcome = host.call_tool(ToolCall::by_person(tool, args)).await;
    let took = outcome.duration.as_secs_f64() * 1000.0;
    match outcome.result {
        Ok(result) => {
            let text: Vec<&str> = result
                .content
                .iter()
                .filter_map(|block| match block {
                    Content::Text { text, .. } => Some(text.as_str()),
                    Content::Image { .. } => None,
                })
                .collect();
            let text = text.join("\n");
            output::plain(&format!("   {}   ({took:.1} ms)", plain_text(&text)))?;
            Ok(Ok(text))
        }
        Err(error) => {
            let message = plain_text(&error.message);
            let lines: Vec<String> = message.lines().take(6).map(|line| format!("   ! {line}")).collect();
            output::plain(&lines.join("\n"))?;
            Ok(Err(message))
        }
    }
}

/// Shows the question as a terminal shows it, and says yes, once.
struct AnsweredForYou;

impl Approver for AnsweredForYou {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let text = approve::text_of(&question).replace('\n', "\n   ");
            match output::plain(&format!("{text}y   (the demo answers for you)")) {
                Ok(()) => Answer::Once,
                Err(_) => Answer::No,
            }
        })
    }
}

/// A directory of its own, which goes with the demo.
struct Place(PathBuf);

impl Place {
    fn make() -> anyhow::Result<Self> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let path = std::env::temp_dir().join(format!("jackfield-demo-{}-{now:x}", std::process::id()));
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Fails if it is there: a directory of somebody else is not ours to use.
        builder.create(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed lies where the system tidies up.
        fs::remove_dir_all(&self.0).ok();
    }
}

fn unpack(place: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let write = |path: PathBuf, bytes: &[u8]| -> anyhow::Result<()> {
        let folder = path.parent().unwrap_or(place);
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))
    };
    write(place.join("project/notes.txt"), b"Buy bread.\nCall Ada about the bridge.\n")?;
    let mut dirs = Vec::new();
    for (name, manifest, file, component) in CARRIED {
        let dir = place.join("extensions").join(name);
        write(dir.join("extension.toml"), manifest.as_bytes())?;
        write(dir.join(file), component)?;
        dirs.push(dir);
    }
    Ok(dirs)
}
