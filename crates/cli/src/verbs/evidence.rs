//! `ledger`.

use jackfield_host::{LedgerFilter, read_ledger, verify_ledger};
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::{Value, json};

use crate::args::{Global, LedgerVerb};
use crate::compose;
use crate::exit;
use crate::output;

pub(crate) fn ledger(global: &Global, verb: LedgerVerb) -> anyhow::Result<u8> {
    let dir = compose::home(global)?.ledger();
    match verb {
        LedgerVerb::Tail { lines, extension } => {
            let filter = LedgerFilter { last: Some(lines), extension, ..LedgerFilter::default() };
            show(global, &read_ledger(&dir, filter)?)?;
        }
        LedgerVerb::Show { call_id } => {
            let filter = LedgerFilter { call_id: Some(call_id.clone()), ..LedgerFilter::default() };
            let records = read_ledger(&dir, filter)?;
            if records.is_empty() {
                return Err(CallError::new(ErrorCode::NotFound, format!("the ledger has no call {call_id}")).into());
            }
            show(global, &records)?;
        }
        LedgerVerb::Verify => {
            let report = verify_ledger(&dir);
            if global.json {
                output::json(&report)?;
            } else {
                let verdict = if report.ok { "the chain holds" } else { "the chain is BROKEN" };
                output::line(&format!("{verdict}: {} records in {} segments", report.records, report.segments))?;
                for problem in &report.problems {
                    output::plain(&format!("{}:{}: {}", problem.file.display(), problem.line, problem.message))?;
                }
            }
            return Ok(if report.ok { exit::FINE } else { exit::ERROR });
        }
    }
    Ok(exit::FINE)
}

fn show(global: &Global, records: &[Value]) -> anyhow::Result<()> {
    if global.json {
        return output::json(&json!({ "records": records }));
    }
    for record in records {
        output::plain(&one_line(record))?;
    }
    Ok(())
}

/// A record for people: time, event, extension, call, and what is worth knowing.
pub(crate) fn one_line(record: &Value) -> String {
    let text = |pointer: &str| record.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let call = ["tool_call_id", "slash_command_id", "event_id", "host_call_id"]
        .iter()
        .find_map(|key| record.pointer(&format!("/correlation/{key}")).and_then(Value::as_str))
        .unwrap_or("-");
    let error = match text("/data/error/code") {
        "" => String::new(),
        code => format!(" {code}"),
    };
    let took = record.pointer("/data/duration_ms").map(|ms| format!(" {ms} ms")).unwrap_or_default();
    format!(
        "{} {:<18} {:<20} {call}{took}{error}  {}",
        text("/ts"),
        text("/event"),
        text("/correlation/extension_id"),
        text("/message")
    )
}
