//! Components in a home.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use jackfield_test_support::{Rpc, Sandbox, guest};
use serde_json::{Value, json};

/// The guest that does everything.
pub(crate) fn actor() -> &'static [u8] {
    static ACTOR: OnceLock<Vec<u8>> = OnceLock::new();
    ACTOR.get_or_init(|| guest("actor.wat", "actor"))
}

/// The smallest one.
pub(crate) fn pure() -> &'static [u8] {
    static PURE: OnceLock<Vec<u8>> = OnceLock::new();
    PURE.get_or_init(|| guest("pure.wat", "pure-tool"))
}

/// A home in which everything is allowed and little time is given, with an extension that works.
pub(crate) fn sandbox() -> Sandbox {
    let sandbox = crate::sandbox();
    let config = "[policy]\nmode = \"permissive\"\n\n[wasm]\ncpu_ms = 500\nmemory_mb = 64\n";
    sandbox.write(&sandbox.home().join("config.toml"), config);
    sandbox.plain("other", &["bystander"], &[]);
    sandbox
}

/// Puts a component without a manifest among the extensions.
pub(crate) fn put(sandbox: &Sandbox, name: &str, bytes: &[u8]) -> PathBuf {
    let folder = sandbox.home().join("extensions");
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(format!("{name}.wasm"));
    fs::write(&file, bytes).expect("written");
    file
}

/// Calls a tool that must fail with this code, in words that hold each of these; everybody else works after it.
#[track_caller]
pub(crate) fn fails(host: &mut Rpc, tool: &str, code: &str, why: &[&str]) {
    let response = host.call(tool, json!({}));
    assert_eq!(response["success"], json!(false), "{tool}: {response:#}");
    assert_eq!(response["error"]["code"], json!(code), "{tool}: {response:#}");
    let message = response["error"]["message"].as_str().unwrap_or_default();
    for part in why {
        assert!(message.contains(part), "{tool}: {part:?} in {message}");
    }
    assert_eq!(host.text("ext_other_bystander", json!({})), "other");
}

/// What a listing says of one extension.
#[track_caller]
pub(crate) fn row(sandbox: &Sandbox, flags: &[&str], id: &str) -> Value {
    let (_, listing) = sandbox.json(&[flags, &["list"]].concat());
    let rows = listing["extensions"].as_array().expect("a list");
    rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("no {id}: {listing:#}")).clone()
}
