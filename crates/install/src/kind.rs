//! What kind of extension is installed: what its name stands for, and where it is switched off.

use jackfield_protocol::{ExtensionId, Format, Launch};

use jackfield_discovery::{self as discovery, Found, js, mcp};

/// Whether the settings say that it is off, and not a manifest of its own.
pub(super) fn switched_in_settings(found: &Found) -> bool {
    let is_bare = is_bare_script(found) || is_bare_component(found) || mcp::files::is_one(found);
    is_bare || found.manifest.format == Format::Nexo
}

/// A script without a manifest that is ours to edit.
pub(super) fn is_bare_script(found: &Found) -> bool {
    let is_manifest = |name: &std::ffi::OsStr| discovery::read::MANIFEST_NAMES.iter().any(|known| name == *known);
    matches!(found.manifest.launch, Launch::Js { .. } | Launch::Python { .. })
        && !found.manifest_path.file_name().is_some_and(is_manifest)
}

/// A file that is an extension by itself, among others of its kind.
pub(super) fn is_single(found: &Found) -> bool {
    found.manifest.format == Format::Python || mcp::files::is_one(found)
}

/// A component without a manifest.
pub(super) fn is_bare_component(found: &Found) -> bool {
    discovery::wasm::component_of(found).is_some_and(|component| component == found.manifest_path)
}

/// The name of its directory among the installed ones. All that a package brings lies in one.
pub(super) fn placed_as(found: &Found) -> ExtensionId {
    let package = is_bare_script(found).then(|| js::package_name(&found.dir)).flatten();
    package.and_then(|name| ExtensionId::sanitized(&name)).unwrap_or_else(|| found.manifest.id.clone())
}
