//! WASM components that stand by themselves: a `.wasm` file is an extension without a manifest. Nothing of it is read here;
//! what it contributes and asks for, it says itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_protocol::{Format, Launch, Manifest, RuntimeKind};

use super::report::{Extent, Found, Origin, Standing};

/// Whether a file is called like a component.
pub fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "wasm")
}

/// The file of an extension that is a component.
pub fn component_of(found: &Found) -> Option<PathBuf> {
    match &found.manifest.launch {
        Launch::Wasm { component } => Some(found.dir.join(component)),
        Launch::Process { .. }
        | Launch::Js { .. }
        | Launch::Python { .. }
        | Launch::Mcp(_)
        | Launch::Unsupported { .. } => None,
    }
}

/// The extension that a component without a manifest is.
pub fn found(file: &Path, origin: Origin) -> Found {
    let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut standing = Standing::Active;
    let launch = match file.file_name().and_then(|name| name.to_str()) {
        Some(component) => Launch::Wasm { component: component.to_owned() },
        None => {
            let reason = "the name of its file is not UTF-8; rename it".to_owned();
            standing = Standing::Unsupported { reason: reason.clone() };
            Launch::Unsupported { reason }
        }
    };
    let manifest = Manifest::plain(&name, Format::Native, RuntimeKind::Wasm, launch);
    Found {
        manifest: Arc::new(manifest),
        dir: file.parent().unwrap_or(Path::new("/")).to_owned(),
        manifest_path: file.to_owned(),
        origin,
        standing,
        extent: Extent::Entry,
    }
}
