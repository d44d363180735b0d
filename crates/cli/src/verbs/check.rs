//! `check`: look at a manifest without running anything.

use std::path::Path;

use jackfield_host::{DiscoveryInput, Standing, discover_named};
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::json;

use super::inspect::exists;
use super::list::tell;
use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output;

pub(crate) fn check(global: &Global, path: &Path) -> anyhow::Result<u8> {
    exists(path)?;
    let env = compose::environment();
    let input = DiscoveryInput {
        home: compose::home(global)?,
        project: compose::project(global)?,
        ext: vec![path.to_path_buf()],
        path_env: env.get("PATH").map(Into::into),
        env,
    };
    let report = discover_named(&input);
    let Some(found) = report.extensions.first() else {
        tell(&report.diagnostics);
        let message = format!("{} holds no extension", path.display());
        return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
    };
    let code = match &found.standing {
        Standing::Invalid { .. } => exit::INVALID,
        Standing::Active | Standing::Disabled { .. } | Standing::Untrusted | Standing::Shadowed { .. } => exit::FINE,
        Standing::MissingRequirements { .. } | Standing::Unsupported { .. } => exit::UNAVAILABLE,
    };
    if global.json {
        output::json(&json!({
            "ok": code == exit::FINE,
            "id": found.manifest.id,
            "path": found.manifest_path,
            "manifest": *found.manifest,
            "standing": found.standing,
            "diagnostics": report.diagnostics,
        }))?;
        return Ok(code);
    }
    let manifest = &found.manifest;
    let verdict = found.standing.why_not().unwrap_or_else(|| "ready to run".to_owned());
    output::plain(&format!(
        "{} {} ({}): {verdict}",
        manifest.id,
        manifest.version.as_deref().unwrap_or("-"),
        manifest.format.as_str()
    ))?;
    for capability in &manifest.capabilities {
        output::plain(&format!("asks for {capability}"))?;
    }
    tell(&report.diagnostics);
    Ok(code)
}
