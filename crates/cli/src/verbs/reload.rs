//! `reload`: load changed extensions anew, in every host that runs, or else for the catalogue.

use jackfield_gateway::lines::ask_running_hosts;
use jackfield_host::{Reloaded, Which};
use jackfield_protocol::{CallError, ErrorCode, ExtensionId};
use serde_json::{Value, json};

use crate::args::Global;
use crate::compose::{self, Scope};
use crate::exit;
use crate::output;

pub(crate) async fn reload(global: &Global, name: Option<String>) -> anyhow::Result<u8> {
    let home = compose::home(global)?;
    let request = json!({ "type": "reload", "extension": name });
    let mut outcomes: Vec<Value> = Vec::new();
    let hosts = ask_running_hosts(&home, &request).await;
    for (pid, answer) in &hosts {
        for outcome in answer.pointer("/data/reloaded").and_then(Value::as_array).into_iter().flatten() {
            let mut outcome = outcome.clone();
            if let Some(object) = outcome.as_object_mut() {
                object.insert("host_pid".to_owned(), json!(pid));
            }
            outcomes.push(outcome);
        }
    }
    // Hosts of other projects may not know the name; one that does is enough.
    let refusals: Vec<CallError> = hosts.iter().filter_map(|(_, answer)| refusal(answer)).collect();
    if !hosts.is_empty()
        && refusals.len() == hosts.len()
        && let Some(refusal) = refusals.into_iter().next()
    {
        return Err(refusal.into());
    }
    if hosts.is_empty() {
        outcomes.extend(here(global, name.as_deref()).await?.iter().map(|outcome| json!(outcome)));
    }
    let failed = outcomes.iter().any(|outcome| outcome.get("error").is_some());
    if global.json {
        output::json(&json!({ "ok": !failed, "hosts": hosts.len(), "reloaded": outcomes }))?;
    } else if outcomes.is_empty() {
        output::line("nothing has changed")?;
    } else {
        for outcome in &outcomes {
            output::plain(&sentence(outcome))?;
        }
    }
    Ok(if failed { exit::UNAVAILABLE } else { exit::FINE })
}

/// Has every host that runs, and the catalogue, look at one extension again. Why it does not start, if it does not.
pub(super) async fn again(global: &Global, id: &str) -> anyhow::Result<Option<String>> {
    let request = json!({ "type": "reload", "extension": id });
    ask_running_hosts(&compose::home(global)?, &request).await;
    let outcomes = here(global, Some(id)).await?;
    Ok(outcomes.into_iter().find_map(|outcome| outcome.error))
}

fn refusal(answer: &Value) -> Option<CallError> {
    serde_json::from_value(answer.get("error")?.clone()).ok()
}

async fn here(global: &Global, name: Option<&str>) -> anyhow::Result<Vec<Reloaded>> {
    let host = compose::open(global, Scope::All)?;
    let outcomes = match name {
        None => host.reload(Which::Changed).await,
        Some(name) => {
            let id = ExtensionId::sanitized(name).filter(|id| host.state(id).is_some()).ok_or_else(|| {
                CallError::new(ErrorCode::NotFound, format!("no extension named {name:?} (see `jackfield list`)"))
            })?;
            host.reload(Which::One(&id)).await
        }
    };
    host.shutdown().await;
    Ok(outcomes)
}

/// `hello: 1f2e3d… → 9a8b7c… tool x added`.
pub(super) fn sentence(outcome: &Value) -> String {
    let text = |key: &str| outcome.get(key).and_then(Value::as_str).unwrap_or("none");
    let changes: Vec<&str> =
        outcome.get("changes").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let what = match outcome.get("error").and_then(Value::as_str) {
        Some(error) => format!("not loaded, the old version stays: {error}"),
        None if changes.is_empty() => "same contributions".to_owned(),
        None => changes.join(", "),
    };
    format!("{}: {} → {}  {what}", text("extension"), output::short(text("old")), output::short(text("new")))
}
