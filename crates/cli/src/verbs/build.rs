//! `build`: compile an extension ahead, without running it.

use std::path::{Path, PathBuf};

use jackfield_host::{DiscoveryInput, discover_named};
use jackfield_js::{CodeCache, artifact};
use jackfield_protocol::{CallError, ErrorCode, Launch};
use serde_json::{Value, json};

use super::inspect::{chosen, exists};
use super::list::tell;
use super::{component, scan};
use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output::{self, note};

/// What `artifact.json` says it is.
const SCHEMA: &str = "pi.ext.artifact.v1";

pub(crate) fn build(global: &Global, path: &Path, entry: Option<usize>, out: Option<PathBuf>) -> anyhow::Result<u8> {
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
    let report = discover_named(&input);
    tell(&report.diagnostics);
    if report.extensions.is_empty() {
        let message = format!("{} holds no extension", path.display());
        return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
    }
    let (found, others) = chosen(&report.extensions, path, entry)?;
    tell(others.as_slice());
    let manifest = &found.manifest;
    if matches!(manifest.launch, Launch::Wasm { .. }) {
        return component::artifact(global, found, &home, out);
    }
    let (Launch::Js { .. }, Some(scanned)) = (&manifest.launch, scan::of(found)) else {
        let message =
            format!("extension {} is neither a script nor a component: there is nothing to compile", manifest.id);
        return Err(CallError::new(ErrorCode::InvalidConfig, message).into());
    };
    let place = found.place().canonicalize()?;
    let built = artifact::build(manifest, &place, &CodeCache::at(&home.code())).map_err(|why| {
        CallError::new(ErrorCode::InvalidConfig, format!("extension {} cannot be compiled: {why}", manifest.id))
    })?;
    let (name, version) = artifact::ENGINE;
    let about = json!({
        "schema": SCHEMA,
        "extension": manifest.id,
        "version": manifest.version,
        "entry": place,
        "engine": { "name": name, "version": version, "for": built.engine },
        "hash": built.hash,
        "artifact": {
            "file": artifact::FILE,
            "bytes": built.artifact.len(),
            "sha256": built.sha256,
        },
        "files": built.files,
        "modules": built.modules,
        "left_out": built.left_out,
        "capabilities": manifest.capabilities,
        "scan": scan::json(&scanned, found),
        "created_by": concat!("jackfield ", env!("CARGO_PKG_VERSION")),
    });
    let folder = match out {
        Some(out) => std::path::absolute(out)?,
        None => artifact::place(&home.code(), &place),
    };
    let text = serde_json::to_vec_pretty(&about)?;
    artifact::write(&folder, &built, &text).map_err(|error| {
        CallError::new(ErrorCode::Io, format!("cannot write the artifact to {}: {error}", folder.display()))
    })?;
    if global.json {
        let mut shown = about;
        if let Some(shown) = shown.as_object_mut() {
            shown.insert("out".to_owned(), Value::String(folder.display().to_string()));
        }
        output::json(&shown)?;
        return Ok(exit::FINE);
    }
    let files = built.files.len();
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    output::plain(&format!("{} built from {files}: {}", manifest.id, folder.join(artifact::FILE).display()))?;
    output::plain(&format!("{}, scan: {}", built.hash, scanned.verdict))?;
    for why in &built.left_out {
        note!("left out: {}", jackfield_protocol::plain_text(why));
    }
    Ok(exit::FINE)
}
