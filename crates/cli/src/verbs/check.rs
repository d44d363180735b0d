//! `check`: look at a manifest, and at the code of a script or a component, without giving it anything.

use std::path::Path;

use jackfield_host::{DiscoveryInput, Standing, discover_named};
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::json;

use super::inspect::{chosen, exists};
use super::list::tell;
use super::{component, scan};
use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output;

pub(crate) async fn check(global: &Global, path: &Path, entry: Option<usize>) -> anyhow::Result<u8> {
    exists(path)?;
    let env = jackfield::environment();
    let home = compose::home(global)?;
    let project = compose::project(global)?;
    let input = DiscoveryInput {
        home: home.clone(),
        ext: vec![path.to_path_buf()],
        path_env: env.get("PATH").map(Into::into),
        env,
        secrets: compose::secret_names(&home, &project),
        project,
    };
    let mut report = discover_named(&input);
    if report.extensions.is_empty() {
        tell(&report.diagnostics);
        let message = format!("{} holds no extension", path.display());
        return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
    }
    let (found, others) = chosen(&report.extensions, path, entry)?;
    report.diagnostics.extend(others);
    let scan = scan::of(found);
    let component = component::of(found, &home).await;
    let broken = component.as_ref().and_then(|component| component.refused());
    let standing = match &found.standing {
        Standing::Invalid { .. } => exit::INVALID,
        Standing::Active
        | Standing::Disabled { .. }
        | Standing::Untrusted
        | Standing::Changed { .. }
        | Standing::Shadowed { .. } => exit::FINE,
        // Something is missing or not supported here.
        _ => exit::UNAVAILABLE,
    };
    let code = match &scan {
        _ if standing == exit::FINE && broken.is_some() => exit::INVALID,
        Some(scan) if standing == exit::FINE && scan::is_refused(scan, global.policy) => exit::UNAVAILABLE,
        _ => standing,
    };
    if global.json {
        let mut answer = json!({
            "ok": code == exit::FINE,
            "id": found.manifest.id,
            "path": found.manifest_path,
            "manifest": *found.manifest,
            "standing": found.standing,
            "diagnostics": report.diagnostics,
        });
        if let (Some(scan), Some(answer)) = (&scan, answer.as_object_mut()) {
            answer.insert("scan".to_owned(), scan::json(scan, found));
        }
        if let (Some(component), Some(answer)) = (&component, answer.as_object_mut()) {
            answer.insert("component".to_owned(), component.json());
        }
        output::json(&answer)?;
        return Ok(code);
    }
    let manifest = &found.manifest;
    let refused = scan.as_ref().is_some_and(|scan| scan::is_refused(scan, global.policy));
    let ready = broken.unwrap_or(if refused { "cannot run as it is" } else { "ready to run" });
    let verdict = found.standing.why_not().unwrap_or_else(|| ready.to_owned());
    output::plain(&format!(
        "{} {} ({}): {verdict}",
        manifest.id,
        manifest.version.as_deref().unwrap_or("-"),
        manifest.format.as_str()
    ))?;
    for capability in &manifest.capabilities {
        output::plain(&format!("asks for {capability}"))?;
    }
    if let Some(scan) = &scan {
        scan::show(scan, found)?;
    }
    if let Some(component) = &component {
        component.show(found)?;
    }
    tell(&report.diagnostics);
    Ok(code)
}
