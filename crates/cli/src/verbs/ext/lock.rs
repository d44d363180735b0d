//! `ext verify` and `ext accept`: what is installed beside what the lock file says.

use jackfield_gateway::forms::locked_form;
use jackfield_install::{Checked, Installer};
use serde_json::{Value, json};

use super::{call_error, confirm};
use crate::args::Global;
use crate::exit;
use crate::output;

pub(crate) fn verify(global: &Global, installer: &Installer<'_>, name: Option<&str>) -> anyhow::Result<u8> {
    let all = installer.verify(name).map_err(call_error)?;
    let fine = all.iter().all(Checked::is_fine);
    if global.json {
        let extensions: Vec<Value> = all.iter().map(form).collect();
        output::json(&json!({ "ok": fine, "extensions": extensions }))?;
    } else if all.is_empty() {
        output::line("nothing is installed")?;
    } else {
        let rows: Vec<[String; 4]> = all
            .iter()
            .map(|checked| {
                let locked = checked.locked.as_ref();
                let version = locked.and_then(|locked| locked.version.clone()).unwrap_or_else(|| "-".to_owned());
                let source = locked.map_or("-", |locked| &locked.source).to_owned();
                [checked.name.clone(), version, checked.state().to_owned(), source]
            })
            .collect();
        output::table(["NAME", "VERSION", "STATE", "SOURCE"], &rows)?;
        for checked in all.iter().filter(|checked| !checked.is_fine()) {
            output::plain(&format!("{}: {}", checked.name, advice(checked)))?;
        }
    }
    Ok(if fine { exit::FINE } else { exit::ERROR })
}

pub(crate) fn accept(global: &Global, installer: &Installer<'_>, name: &str) -> anyhow::Result<u8> {
    let before = installer.verify(Some(name)).map_err(call_error)?;
    let what: Vec<String> = before.iter().map(advice).collect();
    let asks = before.iter().any(|checked| !matches!(checked.state(), "fine" | "linked"));
    if asks && !global.yes && !confirm(&format!("accept {name} as it is? {}", what.join("; ")))? {
        output::line("not accepted")?;
        return Ok(exit::FINE);
    }
    let checked = installer.accept(name).map_err(call_error)?;
    if global.json {
        output::json(&json!({ "ok": true, "action": "accepted", "extension": form(&checked) }))?;
    } else if checked.missing {
        output::plain(&format!("{} is not installed; its record is removed", checked.name))?;
    } else {
        let hash = checked.locked.as_ref().and_then(|locked| locked.sha256.as_deref()).unwrap_or("linked");
        output::plain(&format!("accepted {} ({hash})", checked.name))?;
    }
    Ok(exit::FINE)
}

/// What to know about one that does not match its record, and what to do.
fn advice(checked: &Checked) -> String {
    let accept = format!("`jackfield ext accept {}`", checked.name);
    match checked.state() {
        "missing" => format!("recorded, but not in {}; {accept} removes the record", checked.dir.display()),
        "unrecorded" => "put there by hand, and never accepted".to_owned(),
        "grants_differ" => {
            format!("it has been granted other things than recorded; see `jackfield grants`, then {accept}")
        }
        "changed" => format!("{}; look at {}, then {accept}", checked.change.describe(), checked.dir.display()),
        _ => "it is what was accepted".to_owned(),
    }
}

fn form(checked: &Checked) -> Value {
    let locked = checked.locked.as_ref();
    json!({
        "name": checked.name,
        "path": checked.dir,
        "state": checked.state(),
        "lock": locked.map(locked_form),
        "changed_files": checked.change.files,
        "wider": checked.change.wider,
    })
}
