//! `why`: the decision chain of a tool or of a call, as data.

use std::collections::BTreeMap;

use jackfield_host::{Caller, Decision, LedgerFilter, Why, read_ledger};
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::{Value, json};

use super::{LEARN_TIMEOUT, evidence};
use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output;

/// How much `why` tells of a tool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What is decided.
    Decision,
    /// Also every rule that was asked, in order.
    All,
}

pub(crate) async fn why(global: &Global, what: &str, detail: Detail) -> anyhow::Result<u8> {
    let dir = compose::home(global)?.ledger();
    let filter = LedgerFilter { call_id: Some(what.to_owned()), ..LedgerFilter::default() };
    let records = read_ledger(&dir, filter).unwrap_or_default();
    if !records.is_empty() {
        return of_call(global, what, &records);
    }
    let host = compose::open(global, Scope::All)?;
    if host.snapshot().tool(what).is_none() {
        host.learn(LEARN_TIMEOUT).await;
    }
    let person = host.why_tool(what, Caller::Person);
    let agent = host.why_tool(what, Caller::Agent);
    host.shutdown().await;
    let (Some(Why { extension, call: person, powers, .. }), Some(Why { call: agent, .. })) = (person, agent) else {
        let message = format!("{what:?} is neither a tool nor a call in the ledger");
        return Err(CallError::new(ErrorCode::NotFound, message).into());
    };
    if global.json {
        let powers: serde_json::Map<String, Value> =
            powers.iter().map(|(power, decision)| (power.as_str().to_owned(), json!(decision))).collect();
        output::json(&json!({
            "tool": what,
            "extension": extension,
            "policy": host.policy().mode,
            "calls": { "person": person, "agent": agent },
            "powers": powers,
        }))?;
        return Ok(exit::FINE);
    }
    output::plain(&format!("tool {what} of extension {extension}, policy {}", json!(host.policy().mode)))?;
    if detail == Detail::Decision {
        decided("a person calls it", &person)?;
        decided("an agent calls it", &agent)?;
        let mut outcomes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (power, decision) in &powers {
            outcomes.entry(outcome(decision)).or_default().push(power.as_str());
        }
        for (outcome, powers) in outcomes {
            output::plain(&format!("it asks for {}: {outcome}", powers.join(", ")))?;
        }
        output::line("--all shows every rule in order")?;
        return Ok(exit::FINE);
    }
    show("a person calls it", &person)?;
    show("an agent calls it", &agent)?;
    for (power, decision) in &powers {
        show(&format!("it asks for {power}"), decision)?;
    }
    Ok(exit::FINE)
}

fn show(what: &str, decision: &Decision) -> anyhow::Result<()> {
    decided(what, decision)?;
    for step in decision.chain() {
        let effect = step.effect.map_or("goes on", |_| "decides");
        output::plain(&format!("    {} {effect}: {}", step.rule, step.detail))?;
    }
    Ok(())
}

fn decided(what: &str, decision: &Decision) -> anyhow::Result<()> {
    output::plain(&format!("{what}: {}", outcome(decision)))
}

fn outcome(decision: &Decision) -> String {
    format!("{} ({})", json!(decision.verdict()).as_str().unwrap_or_default(), decision.rule())
}

/// The decision that a record tells of: of policy with its whole chain, of policy by the rule that allowed, or of a hook.
fn decision_in(record: &Value) -> Option<Value> {
    let data = record.get("data")?;
    let extension = record.pointer("/correlation/extension_id")?;
    match record.get("event")?.as_str()? {
        "policy.decision" => {
            let mut decision = data.clone();
            let object = decision.as_object_mut()?;
            object.insert("by".to_owned(), json!("policy"));
            object.insert("extension".to_owned(), extension.clone());
            Some(decision)
        }
        "event_hook.end" => {
            let (hook, verdict) = (data.get("hook")?, data.get("verdict")?);
            Some(json!({ "by": "hook", "extension": extension, "hook": hook, "verdict": verdict }))
        }
        // What was refused or asked about has a record of its own.
        "tool_call.end" | "host_call.end" if data.pointer("/error/code").is_none() && data.get("answer").is_none() => {
            let rule = data.get("decision")?;
            let what = data.get("need").or_else(|| data.get("tool"));
            Some(json!({ "by": "policy", "extension": extension, "verdict": "allow", "rule": rule, "need": what }))
        }
        _ => None,
    }
}

fn of_call(global: &Global, call_id: &str, records: &[Value]) -> anyhow::Result<u8> {
    let decisions: Vec<Value> = records.iter().filter_map(decision_in).collect();
    if global.json {
        output::json(&json!({ "call_id": call_id, "decisions": decisions, "records": records }))?;
        return Ok(exit::FINE);
    }
    for record in records {
        output::plain(&evidence::one_line(record))?;
        let data = record.get("data").unwrap_or(&Value::Null);
        for key in ["decision", "need", "answer", "verdict", "rule"] {
            if let Some(value) = data.get(key) {
                output::plain(&format!("    {key}: {value}"))?;
            }
        }
        for step in data.get("chain").and_then(Value::as_array).into_iter().flatten() {
            output::plain(&format!("    {step}"))?;
        }
    }
    Ok(exit::FINE)
}
