//! What `check` and `build` say of a WASM component.

use std::path::PathBuf;
use std::sync::Arc;

use jackfield_files::{WriteOptions, write_atomic};
use jackfield_host::{Found, Home};
use jackfield_protocol::{CallError, Capability, ErrorCode, Launch};
use jackfield_wasm::{ENGINE, Facts, WORLD, build, read_component, scan};
use serde_json::{Value, json};

use crate::args::Global;
use crate::compose;
use crate::exit;
use crate::output::{self, note};

/// What `artifact.json` says it is.
const SCHEMA: &str = "pi.ext.artifact.v1";

/// What is known of a component: what it imports, and what it asks for in its `describe`, which runs in the sandbox
/// without any host call.
pub(crate) struct Look {
    facts: Result<Facts, String>,
    asks: Result<Vec<Capability>, String>,
}

/// Looks at an extension that is a component.
pub(crate) async fn of(found: &Found, home: &Home) -> Option<Look> {
    if !matches!(found.manifest.launch, Launch::Wasm { .. }) {
        return None;
    }
    let facts = read_component(&found.place()).and_then(|bytes| scan(&bytes));
    let asks = match &facts {
        Ok(_) => {
            let described = compose::components(home).describe(Arc::clone(&found.manifest), found.dir.clone()).await;
            described.map(|contributions| contributions.capabilities).map_err(|error| error.to_string())
        }
        Err(why) => Err(why.clone()),
    };
    Some(Look { facts, asks })
}

impl Look {
    /// Why it cannot run.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.facts.as_ref().err().or(self.asks.as_ref().err()).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "facts": self.facts.as_ref().ok(),
            "capabilities": self.asks.as_ref().ok(),
            "error": self.refused(),
        })
    }

    pub(crate) fn show(&self, found: &Found) -> anyhow::Result<()> {
        if let Ok(facts) = &self.facts {
            let reach = if facts.imports.is_empty() { "nothing".to_owned() } else { facts.imports.join(", ") };
            output::plain(&format!("world {}, {} bytes, sha256:{}", facts.world, facts.size, facts.sha256))?;
            output::plain(&format!("imports {reach}"))?;
            if !facts.stubs.is_empty() {
                output::plain(&format!("imports without effect: {}", facts.stubs.join(", ")))?;
            }
        }
        for capability in self.asks.iter().flatten() {
            let limited = if found.manifest.capabilities.is_empty() { "" } else { " (the manifest says what counts)" };
            let reason = capability.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let line = format!("its code asks for {capability}{limited}{reason}");
            output::plain(&jackfield_protocol::plain_text(&line))?;
        }
        Ok(())
    }
}

/// Checks, strips and compiles a component, and says what came of it.
pub(crate) fn artifact(global: &Global, found: &Found, home: &Home, out: Option<PathBuf>) -> anyhow::Result<u8> {
    let manifest = &found.manifest;
    let place = found.place();
    let invalid = |why: String| {
        let message = format!("extension {}: {}: {why}", manifest.id, place.display());
        CallError::new(ErrorCode::InvalidConfig, message)
    };
    let component = read_component(&place).map_err(invalid)?;
    let built = build(&component, &home.code()).map_err(invalid)?;
    let folder = match out {
        Some(out) => std::path::absolute(out)?,
        None => jackfield_js::artifact::place(&home.code(), &place),
    };
    let file = format!("{}.wasm", manifest.id);
    let about = json!({
        "schema": SCHEMA,
        "extension": manifest.id,
        "version": manifest.version,
        "entry": place,
        "world": format!("{}@{}", WORLD.0, WORLD.1),
        "kind": built.facts.world,
        "engine": { "name": ENGINE.0, "version": ENGINE.1 },
        "hash": format!("sha256:{}", built.facts.sha256),
        "artifact": { "file": file, "bytes": built.component.len(), "sha256": built.facts.sha256 },
        "stripped_bytes": component.len() - built.component.len(),
        "native_bytes": built.native,
        "imports": built.facts.imports,
        "stubs": built.facts.stubs,
        "exports": built.facts.exports,
        "capabilities": manifest.capabilities,
        "created_by": concat!("jackfield ", env!("CARGO_PKG_VERSION")),
    });
    let text = serde_json::to_vec_pretty(&about)?;
    let write = || {
        std::fs::create_dir_all(&folder)?;
        write_atomic(&folder.join(&file), &built.component, WriteOptions::PRIVATE)?;
        write_atomic(&folder.join("artifact.json"), &[&text[..], b"\n"].concat(), WriteOptions::PRIVATE)
    };
    write().map_err(|error| {
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
    output::plain(&format!("{} built: {}", manifest.id, folder.join(&file).display()))?;
    output::plain(&format!("sha256:{}, world {}", built.facts.sha256, built.facts.world))?;
    if !built.facts.stubs.is_empty() {
        note!("its toolchain imports WASI; nothing is behind it: {}", built.facts.stubs.join(", "));
    }
    Ok(exit::FINE)
}
