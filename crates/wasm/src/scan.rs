//! What a file is, and what it imports and exports, without compiling or running any of it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use wasmparser::{Encoding, Parser, Payload};

/// The largest component that is looked at.
pub const MAX_COMPONENT: u64 = 64 * 1024 * 1024;

/// The package, and the version of it that this host speaks.
pub const WORLD: (&str, &str) = ("jackfield:extension", "1.0.0");

/// Interfaces of WASI that toolchains import whether they need them or not. They are stubs: there is nothing behind them.
const STUBBED: [&str; 6] =
    ["wasi:cli/", "wasi:clocks/", "wasi:filesystem/", "wasi:io/", "wasi:random/", "wasi:sockets/"];

/// The interfaces of our own package that a component may import.
const OFFERED: [&str; 11] = ["types", "log", "host", "env", "tool", "exec", "fs", "http", "session", "storage", "ui"];

/// What is known of a component without running it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// The size of the file in bytes.
    pub size: u64,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The interfaces of our world that it imports: all that it can reach.
    pub imports: Vec<String>,
    /// Interfaces of WASI that its toolchain imports; nothing is behind them.
    pub stubs: Vec<String>,
    /// What it exports.
    pub exports: Vec<String>,
    /// `extension`, or `pure-tool` where it can do nothing but compute and log.
    pub world: String,
}

/// Reads a file that may be a component.
///
/// # Errors
/// It cannot be read, is no file, or is larger than [`MAX_COMPONENT`].
pub fn read_component(path: &Path) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("{} cannot be read: {error}", path.display());
    let file = File::open(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if !meta.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let too_large = || {
        let limit = MAX_COMPONENT / (1024 * 1024);
        format!("{} is larger than the {limit} MB that a component may have; strip it, or split it", path.display())
    };
    if meta.len() > MAX_COMPONENT {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    file.take(MAX_COMPONENT + 1).read_to_end(&mut bytes).map_err(cannot)?;
    // It may have grown since.
    if bytes.len() as u64 > MAX_COMPONENT { Err(too_large()) } else { Ok(bytes) }
}

/// Looks at a component's imports and exports.
///
/// # Errors
/// It is no component, or one for another world, or imports what no host call offers; says which.
pub fn scan(bytes: &[u8]) -> Result<Facts, String> {
    let (imports, exports) = names(bytes)?;
    let mut facts = Facts {
        size: bytes.len() as u64,
        sha256: jackfield_protocol::hex(&Sha256::digest(bytes)),
        imports: Vec::new(),
        stubs: Vec::new(),
        exports,
        world: String::new(),
    };
    for name in imports {
        if STUBBED.iter().any(|stub| name.starts_with(stub)) {
            facts.stubs.push(name);
        } else {
            offered(&name)?;
            // Types alone reach nothing.
            if interface(&name).is_none_or(|(name, _)| name != "types") {
                facts.imports.push(name);
            }
        }
    }
    let guest = format!("{}/guest@", WORLD.0);
    match facts.exports.iter().find_map(|name| name.strip_prefix(&guest)) {
        Some(version) if is_ours(version) => {}
        Some(version) => {
            return Err(format!(
                "it is made for {} {version}, and this host speaks {}; build it again for that version",
                WORLD.0, WORLD.1
            ));
        }
        None => {
            let what = if facts.exports.is_empty() { "nothing".to_owned() } else { facts.exports.join(", ") };
            return Err(format!(
                "it is a component for another world: it exports {what}, not {}/guest@{} (see docs/wasm.md)",
                WORLD.0, WORLD.1
            ));
        }
    }
    let only_computes = |name: &String| interface(name).is_some_and(|(name, _)| matches!(name, "types" | "log"));
    let is_pure = facts.imports.iter().all(only_computes);
    facts.world = if is_pure { "pure-tool" } else { "extension" }.to_owned();
    Ok(facts)
}

/// The names at the top of a component.
fn names(bytes: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    if !bytes.starts_with(b"\0asm") {
        return Err("it is not a WASM component: it does not begin as one".to_owned());
    }
    let broken = |error: wasmparser::BinaryReaderError| format!("it is not a WASM component that can be read: {error}");
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(broken)? {
            Payload::Version { encoding: Encoding::Module, .. } if depth == 0 => {
                return Err(
                    "it is a core WASM module, not a component; make one of it with `wasm-tools component new`"
                        .to_owned(),
                );
            }
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section {
                    imports.push(import.map_err(broken)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section {
                    exports.push(export.map_err(broken)?.name.name.to_owned());
                }
            }
            _ => {}
        }
    }
    Ok((imports, exports))
}

/// The interface of our package that an import names, with its version.
fn interface(name: &str) -> Option<(&str, &str)> {
    let rest = name.strip_prefix(WORLD.0)?.strip_prefix('/')?;
    Some(rest.split_once('@').unwrap_or((rest, "")))
}

fn offered(name: &str) -> Result<(), String> {
    match interface(name) {
        Some((interface, version)) if OFFERED.contains(&interface) && is_ours(version) => Ok(()),
        Some((interface, version)) if OFFERED.contains(&interface) => {
            Err(format!("it imports {name}, and this host speaks {}, not {version}", WORLD.1))
        }
        _ => Err(format!(
            "it imports {name}, which this host does not offer; a component may import interfaces of {}@{} only",
            WORLD.0, WORLD.1
        )),
    }
}

/// Whether a version is one that a host of this one may run: the same before the first dot.
fn is_ours(version: &str) -> bool {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    major(version) == major(WORLD.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_component_says_what_it_is() {
        let why = |bytes: &[u8]| scan(bytes).expect_err("refused");
        assert!(why(b"#!/bin/sh").contains("does not begin as one"));
        assert!(why(b"").contains("does not begin as one"));
        assert!(why(b"\0asm\x01\0\0\0").contains("core WASM module"));
        assert!(why(b"\0asm\x0d\0\x01\0").contains("another world: it exports nothing"));
        assert!(why(b"\0asm\x0d\0\x01\0\x07\xff").contains("can be read"));
    }

    #[test]
    fn imports_are_ours_or_refused_by_name() {
        assert!(offered("jackfield:extension/log@1.0.0").is_ok());
        assert!(offered("jackfield:extension/log@1.7.2").is_ok());
        assert!(offered("jackfield:extension/log@2.0.0").expect_err("newer").contains("log@2.0.0"));
        for other in ["wasi:http/outgoing-handler@0.2.0", "jackfield:extension/root@1.0.0", "env", "a:b/c"] {
            assert!(offered(other).expect_err("not ours").contains(other), "{other}");
        }
    }
}
