//! `trust`.

use std::path::PathBuf;

use jackfield_host::Trust;
use jackfield_protocol::{CallError, ErrorCode};
use serde_json::json;

use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output;

pub(crate) fn trust(global: &Global, dir: Option<PathBuf>, revoke: bool) -> anyhow::Result<u8> {
    let mut global = global.clone();
    if dir.is_some() {
        global.project = dir;
    }
    let project = compose::project(&global)?;
    let home = compose::home(&global)?;
    std::fs::create_dir_all(home.root())?;
    let io = |error: jackfield_host::TrustError| CallError::new(ErrorCode::Io, error.to_string());
    let mut trust = Trust::load(&home);
    let done = if revoke {
        trust.revoke(&project).map_err(io)?;
        "no longer trusted"
    } else {
        trust.trust(&project).map_err(io)?;
        "trusted"
    };
    if global.json {
        output::json(&json!({ "ok": true, "project": project, "state": trust.state(&project) }))?;
    } else {
        output::plain(&format!("{done}: {}", project.display()))?;
    }
    Ok(exit::FINE)
}
