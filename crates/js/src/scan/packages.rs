//! What importing a module that is not the extension's own means here: Node's, pi's, or someone's package.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::Level;
use crate::Library;

/// Modules of Node that do their work here, if not all of it: `docs/javascript-modules.md` says what each covers.
const GIVEN: [&str; 44] = [
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "console",
    "constants",
    "crypto",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "events",
    "fs",
    "fs/promises",
    "http",
    "https",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "stream",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "string_decoder",
    "sys",
    "timers",
    "timers/promises",
    "tls",
    "tty",
    "url",
    "util",
    "util/types",
    "v8",
    "worker_threads",
    "zlib",
];

/// Modules of Node that can be imported and not used, and why. Their members throw.
const REFUSED: [(&str, &str); 14] = [
    ("cluster", "an extension cannot fork the process that it runs in"),
    ("dgram", "the host has no datagrams; use `net`"),
    ("domain", "Node itself gave it up; use try and catch, or AsyncLocalStorage"),
    ("http2", "use `fetch`, `https` or `http`"),
    ("inspector", "the engine has no inspector"),
    ("inspector/promises", "the engine has no inspector"),
    ("repl", "an extension has no terminal"),
    ("sea", "an extension is no single executable"),
    ("sqlite", "the engine has no database; keep session entries or files, or run the program `sqlite3`"),
    ("test", "tests are run by a test runner and not by an extension"),
    ("test/reporters", "tests are run by a test runner and not by an extension"),
    ("trace_events", "the engine records no trace events"),
    ("vm", "code runs in one context only; `eval` and `new Function` work"),
    ("wasi", "the engine has no WebAssembly"),
];

/// Packages with compiled code for Node.
const NATIVE: [&str; 24] = [
    "@ast-grep/napi",
    "@ff-labs/fff-node",
    "@homebridge/node-pty-prebuilt-multiarch",
    "@lydell/node-pty",
    "@napi-rs/canvas",
    "@parcel/watcher",
    "argon2",
    "bcrypt",
    "better-sqlite3",
    "bufferutil",
    "canvas",
    "cpu-features",
    "duckdb",
    "fsevents",
    "keytar",
    "leveldown",
    "node-pty",
    "onnxruntime-node",
    "robotjs",
    "serialport",
    "sharp",
    "sherpa-onnx-node",
    "sqlite3",
    "tree-sitter",
];

/// The module of Node that `specifier` means, without its prefix.
pub(super) fn node_module(specifier: &str) -> Option<&str> {
    let (prefixed, name) = match specifier.strip_prefix("node:") {
        Some(name) => (true, name),
        None => (false, specifier),
    };
    let known = GIVEN.contains(&name) || REFUSED.iter().any(|(refused, _)| *refused == name);
    (prefixed || known).then_some(name)
}

/// What is to be said about importing `specifier` in `from`; nothing when it simply works.
pub(super) fn judge(
    from: &Path,
    specifier: &str,
    at_load: bool,
    read: &dyn Fn(&Path) -> io::Result<String>,
) -> Option<(Level, String)> {
    let fatal = if at_load { Level::Blocked } else { Level::Warning };
    if let Some(module) = node_module(specifier) {
        if GIVEN.contains(&module) {
            return None;
        }
        return Some(match REFUSED.iter().find(|(refused, _)| *refused == module) {
            Some((_, why)) => (Level::Warning, format!("can be imported, and throws when it is used: {why}")),
            None => (fatal, "the host has no such module of Node".to_owned()),
        });
    }
    if Library::Embedded.provided(specifier).is_some() || specifier.starts_with('#') {
        return None;
    }
    if let Some((scheme, _)) = specifier.split_once(':') {
        let message = match scheme {
            "bun" => "a module of Bun, which is not there".to_owned(),
            "file" => return None,
            _ => format!("code is not loaded from `{scheme}:` addresses"),
        };
        return Some((fatal, message));
    }
    let name = package_name(specifier)?;
    let package = installed(from, name, read);
    if NATIVE.contains(&name) || package.as_ref().is_some_and(is_native) {
        let message = format!("package {name} brings compiled code for Node, which the engine cannot load");
        return Some((fatal, message));
    }
    if package.is_none() && !is_self(from, name, read) {
        return Some((fatal, format!("package {name} is not installed; run {}", install_command(from, name, read))));
    }
    None
}

/// What would bring a missing package.
fn install_command(from: &Path, name: &str, read: &dyn Fn(&Path) -> io::Result<String>) -> String {
    let owner = from.ancestors().skip(1).find(|above| read(&above.join("package.json")).is_ok());
    match owner {
        Some(dir) => format!("`npm install --omit=dev --ignore-scripts --prefix {}`", dir.display()),
        None => {
            let dir = from.parent().unwrap_or(Path::new(".")).display().to_string();
            format!("`npm install --ignore-scripts --prefix {dir} {name}`")
        }
    }
}

/// The name without what follows it.
fn package_name(specifier: &str) -> Option<&str> {
    let mut parts = specifier.match_indices('/').map(|(at, _)| at);
    let end = if specifier.starts_with('@') { parts.nth(1) } else { parts.next() };
    let name = specifier.get(..end.unwrap_or(specifier.len()))?;
    let is_plain = !name.is_empty() && !name.contains("..") && !name.contains('\\') && !name.contains('\0');
    is_plain.then_some(name)
}

fn json(path: &Path, read: &dyn Fn(&Path) -> io::Result<String>) -> Option<Value> {
    serde_json::from_str(read(path).ok()?.trim_start_matches('\u{feff}')).ok()
}

/// The `package.json` of an installed package, searched as Node does.
fn installed(from: &Path, name: &str, read: &dyn Fn(&Path) -> io::Result<String>) -> Option<Value> {
    let places = from.ancestors().skip(1).filter(|above| above.file_name().is_none_or(|dir| dir != "node_modules"));
    places.map(|above| above.join("node_modules").join(name).join("package.json")).find_map(|path| json(&path, read))
}

/// A package may import itself.
fn is_self(from: &Path, name: &str, read: &dyn Fn(&Path) -> io::Result<String>) -> bool {
    let nearest = from.ancestors().skip(1).find_map(|above| json(&above.join("package.json"), read));
    nearest.is_some_and(|package| package.get("name").and_then(Value::as_str) == Some(name))
}

/// Whether a package says that it is compiled for Node.
fn is_native(package: &Value) -> bool {
    let has = |table: &str, names: &[&str]| {
        package
            .get(table)
            .and_then(Value::as_object)
            .is_some_and(|table| table.keys().any(|key| names.contains(&key.as_str())))
    };
    let install = package.get("scripts").and_then(|scripts| scripts.get("install")).and_then(Value::as_str);
    let builds =
        |script: &str| ["node-gyp", "prebuild", "node-pre-gyp", "cmake-js"].iter().any(|tool| script.contains(tool));
    package.get("gypfile").and_then(Value::as_bool) == Some(true)
        || package.get("napi").is_some_and(Value::is_object)
        || install.is_some_and(builds)
        || has(
            "dependencies",
            &["node-gyp-build", "bindings", "prebuild-install", "node-addon-api", "@mapbox/node-pre-gyp"],
        )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn modules(folder: &Path, name: &str, found: &mut BTreeSet<String>) {
        for entry in folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let stem = entry.file_stem().and_then(|stem| stem.to_str()).expect("a name");
            let name = if name.is_empty() { stem.to_owned() } else { format!("{name}/{stem}") };
            if entry.is_dir() {
                modules(&entry, &name, found);
            } else {
                found.insert(name);
            }
        }
    }

    #[test]
    fn what_is_said_of_nodes_modules_is_what_the_library_has() {
        let mut there = BTreeSet::new();
        modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join("lib/node"), "", &mut there);
        there.retain(|name| !name.starts_with("internal/"));
        let listed: Vec<&str> = GIVEN.into_iter().chain(REFUSED.map(|(name, _)| name)).collect();
        let unique: BTreeSet<String> = listed.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(unique.len(), listed.len(), "a module is listed twice");
        assert_eq!(unique, there);
        // Those that refuse are made of refusals; those that are given are more than that.
        for (name, _) in REFUSED {
            let text = Library::Embedded.text(&format!("node:{name}")).expect("embedded");
            assert!(text.contains("efuse") || text.contains("unsupported"), "node:{name} refuses nothing");
        }
    }

    #[test]
    fn imports_of_node_and_pi() {
        let nothing = |_: &Path| -> io::Result<String> { Err(io::ErrorKind::NotFound.into()) };
        let said = |specifier: &str| judge(Path::new("/x/a.ts"), specifier, true, &nothing).map(|(level, _)| level);
        for fine in [
            "fs",
            "node:fs/promises",
            "node:worker_threads",
            "typebox",
            "typebox/value",
            "@sinclair/typebox/compile",
            "@earendil-works/pi-tui",
            "@mariozechner/pi-ai/compat",
            "@mariozechner/pi-agent-core",
        ] {
            assert_eq!(said(fine), None, "{fine}");
        }
        for refused in ["node:sqlite", "vm", "node:test/reporters"] {
            assert_eq!(said(refused), Some(Level::Warning), "{refused}");
        }
        for missing in ["node:nope", "typebox/nope", "@mariozechner/pi-ai/dist/x.js", "@mariozechner/pi-web-ui"] {
            assert_eq!(said(missing), Some(Level::Blocked), "{missing}");
        }
    }
}
