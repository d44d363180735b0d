//! The published JSON Schemas, generated from the types. `xtask/tests/tidy.rs` fails when they drift.

use std::fs;

use anyhow::Context;

include!("schemas.rs");

/// Writes every schema under `protocol/schema`.
pub(crate) fn write() -> anyhow::Result<()> {
    let folder = crate::root().join("protocol/schema");
    fs::create_dir_all(&folder)?;
    for (name, text) in schemas() {
        let file = folder.join(&name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("wrote protocol/schema/{name}");
    }
    Ok(())
}
