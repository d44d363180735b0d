//! `doctor`: look for problems, with `--runtime` by starting everything.

use std::time::{Duration, Instant};

use jackfield_host::{DiagnosticLevel, Host, Standing, verify_ledger};
use serde_json::{Value, json};

use super::list::tell;
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output;

pub(crate) async fn doctor(global: &Global, runtime: bool) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
    let report = host.report();
    let ledger = verify_ledger(&host.home().ledger());
    let started = if runtime { start_all(&host).await } else { Vec::new() };
    host.shutdown().await;
    let errors = report.diagnostics.iter().filter(|d| d.level == DiagnosticLevel::Error).count();
    let failed = started.iter().filter(|result| result.outcome == "fail").count();
    let code = match (failed, errors, ledger.ok) {
        (0, 0, true) => exit::FINE,
        (0, _, _) => exit::INVALID,
        (_, _, _) => exit::UNAVAILABLE,
    };
    if global.json {
        let results: Vec<Value> = started.iter().map(Started::json).collect();
        output::json(&json!({
            "ok": code == exit::FINE,
            "home": host.home().root(),
            "extensions": report.extensions.len(),
            "diagnostics": report.diagnostics,
            "ledger": ledger,
            "results": results,
        }))?;
        return Ok(code);
    }
    output::line(&format!("home      {}", host.home().root().display()))?;
    output::line(&format!("found     {} extensions, {errors} errors", report.extensions.len()))?;
    let chain = if ledger.ok { "verified" } else { "BROKEN (see `jackfield ledger verify`)" };
    output::line(&format!("ledger    {} records, {chain}", ledger.records))?;
    if runtime {
        let rows: Vec<[String; 4]> = started
            .iter()
            .map(|s| {
                [
                    s.id.clone(),
                    s.outcome.to_owned(),
                    format!("{} ms", s.elapsed.as_millis()),
                    output::brief(&s.error, 200),
                ]
            })
            .collect();
        output::table(["ID", "OUTCOME", "ELAPSED", "ERROR"], &rows)?;
    }
    tell(&report.diagnostics);
    Ok(code)
}

struct Started {
    id: String,
    outcome: &'static str,
    elapsed: Duration,
    error: String,
}

impl Started {
    fn json(&self) -> Value {
        let elapsed = self.elapsed.as_millis() as u64;
        json!({ "id": self.id, "outcome": self.outcome, "elapsed_ms": elapsed, "error": self.error })
    }
}

async fn start_all(host: &Host) -> Vec<Started> {
    let mut starts = tokio::task::JoinSet::new();
    for found in &host.report().extensions {
        let (host, id) = (host.clone(), found.manifest.id.clone());
        let skip = (found.standing != Standing::Active).then(|| found.standing.why_not().unwrap_or_default());
        starts.spawn(async move {
            let begun = Instant::now();
            let (outcome, error) = match skip {
                Some(reason) => ("skip", reason),
                None => match host.start(&id, Duration::from_secs(30)).await {
                    Ok(()) => ("ok", String::new()),
                    Err(error) => ("fail", error.message),
                },
            };
            Started { id: id.to_string(), outcome, elapsed: begun.elapsed(), error }
        });
    }
    let mut results = starts.join_all().await;
    results.sort_by(|a, b| a.id.cmp(&b.id));
    results
}
