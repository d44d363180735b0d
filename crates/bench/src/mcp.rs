//! What jackfield adds between an agent and an MCP server: the same call to the same server, directly and through
//! `jackfield mcp`, over pipes and over HTTP; how soon a list comes after the start; and many calls at a time.

mod http;
mod load;
mod pipe;

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use serde_json::{Value, json};

use self::http::Http;
use self::pipe::Pipe;
use crate::beside;
use crate::numbers::{Samples, show};

/// The part of this benchmark that is run on one core, too.
pub(crate) const ONE_CALL: &str = "__one_call";

const TURN: usize = 500;
const TURNS: usize = 20;
const STARTS: usize = 20;

/// Where jackfield keeps its things, with one server to pass calls on to.
struct Place {
    home: PathBuf,
    project: PathBuf,
    _dir: tempfile::TempDir,
}

impl Place {
    fn make() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let (home, project) = (dir.path().join("home"), dir.path().join("project"));
        fs::create_dir_all(&home)?;
        fs::create_dir_all(&project)?;
        let server =
            json!({ "command": beside("jackfield-pingpong")?, "args": ["--mcp"], "prefix": "", "protocol": "legacy" });
        fs::write(home.join("mcp.json"), json!({ "mcpServers": { "pingpong": server } }).to_string())?;
        Ok(Self { home, project, _dir: dir })
    }

    /// `jackfield` at this place.
    fn jackfield(&self, words: &[&str]) -> anyhow::Result<Command> {
        let mut command = Command::new(beside("jackfield")?);
        command.arg("--home").arg(&self.home).arg("--project").arg(&self.project).args(words);
        Ok(command)
    }
}

/// The words with which `jackfield` listens over HTTP.
const OVER_HTTP: [&str; 5] = ["--json", "mcp", "--http", "127.0.0.1:0", "--no-token"];

fn pingpong(word: &str) -> anyhow::Result<Command> {
    let mut command = Command::new(beside("jackfield-pingpong")?);
    command.arg(word);
    Ok(command)
}

pub(crate) fn measure() -> anyhow::Result<()> {
    println!("one call of a tool of an MCP server, with policy and ledger on, programs where the system puts them:");
    one_call()?;
    println!("the same with all programs on one core, where nobody has to be woken on another:");
    let this = std::env::current_exe()?;
    let status = Command::new("taskset").args(["-c", "0"]).arg(this).arg(ONE_CALL).status().context("taskset")?;
    anyhow::ensure!(status.success(), "{status}");
    let place = Place::make()?;
    lists(&place)?;
    load::measure(&place)
}

/// One call after another, in turns.
pub(crate) fn one_call() -> anyhow::Result<()> {
    let place = Place::make()?;
    let mut bare = Pipe::start(&mut pingpong("--mcp")?)?;
    let mut relay = Pipe::start(&mut pingpong("--relay")?)?;
    let mut through = Pipe::start(&mut place.jackfield(&["mcp"])?)?;
    let mut posted = Http::start(&mut place.jackfield(&OVER_HTTP)?)?;
    let mut bare_http = Http::start(&mut pingpong("--http")?)?;
    let mut samples: [Samples; 5] = Default::default();
    for _ in 0..TURNS {
        let [direct, relayed, piped, http, direct_http] = &mut samples;
        for _ in 0..TURN {
            direct.add(bare.call()?);
        }
        for _ in 0..TURN {
            relayed.add(relay.call()?);
        }
        for _ in 0..TURN {
            piped.add(through.call()?);
        }
        for _ in 0..TURN {
            http.add(posted.call()?);
        }
        for _ in 0..TURN {
            direct_http.add(bare_http.call()?);
        }
    }
    let [direct, relayed, piped, http, direct_http] = &samples;
    println!("  directly                     {}", direct.line());
    println!("  through a bare relay         {}", relayed.line());
    println!("  stdio → jackfield → stdio    {}", piped.line());
    println!("  directly over HTTP           {}", direct_http.line());
    println!("  HTTP → jackfield → stdio     {}", http.line());
    let over = |samples: &Samples, base: &Samples| show(samples.percentile(0.5).saturating_sub(base.percentile(0.5)));
    println!(
        "  added p50                    {} on pipes (goal 25 µs): a bare relay adds {}, jackfield {} more",
        over(piped, direct),
        over(relayed, direct),
        over(piped, relayed)
    );
    println!(
        "                               {} over HTTP (goal 100 µs): HTTP alone adds {}",
        over(http, direct),
        over(direct_http, direct)
    );
    Ok(())
}

/// The list of tools, right after the handshake.
fn lists(place: &Place) -> anyhow::Result<()> {
    let mut lists = Samples::default();
    for _ in 0..STARTS {
        let mut pipe = Pipe::start(&mut place.jackfield(&["mcp", "--alone"])?)?;
        let asked = Instant::now();
        pipe.ask("tools/list", &json!({}))?;
        lists.add(asked.elapsed());
    }
    println!("  tools/list after initialize  {} (goal 5 ms)", lists.line());
    Ok(())
}

fn hello() -> Value {
    json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } })
}

fn arguments() -> Value {
    json!({ "name": "ping", "arguments": { "text": "a short argument, as tools get them", "count": 3 } })
}

/// A request as text.
fn request(id: u64, method: &str, params: &Value) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}")
}
