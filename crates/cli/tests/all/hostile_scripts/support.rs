//! A home with scripts in it, and calls of their tools.

use std::fs;
use std::path::PathBuf;

use jackfield_test_support::{Rpc, Sandbox};
use serde_json::{Value, json};

/// Where engines run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Thread,
    Process,
}

/// Makes two tests of each: with the engine on a thread, and in a process of its own.
macro_rules! both {
    ($($(#[$about:meta])* fn $name:ident($place:ident) $body:block)+) => {$(
        $(#[$about])*
        mod $name {
            #[allow(unused_imports, reason = "not every test needs all")]
            use super::*;

            fn check($place: $crate::hostile_scripts::support::Place) $body

            #[test]
            fn on_a_thread() {
                check($crate::hostile_scripts::support::Place::Thread);
            }

            #[test]
            fn in_a_process() {
                check($crate::hostile_scripts::support::Place::Process);
            }
        }
    )+};
}
pub(crate) use both;

/// A home whose scripts get little time and memory, and every permission.
pub(crate) fn sandbox(place: Place) -> Sandbox {
    configured(place, "permissive", "cpu_ms = 400\nmemory_mb = 48")
}

pub(crate) fn configured(place: Place, mode: &str, limits: &str) -> Sandbox {
    let sandbox = crate::sandbox();
    let isolation = match place {
        Place::Thread => "thread",
        Place::Process => "process",
    };
    let text = format!("[js]\nisolation = \"{isolation}\"\n{limits}\n\n[policy]\nmode = \"{mode}\"\n");
    sandbox.write(&sandbox.home().join("config.toml"), &text);
    script(&sandbox, "good", &tool("good", "return 'fine'"));
    sandbox
}

/// The folder of a script.
pub(crate) fn folder(sandbox: &Sandbox, id: &str) -> PathBuf {
    sandbox.user().join(".pi/agent/extensions").join(id)
}

/// Installs a script: its factory has this body, with `pi` and `tool(name, execute)` at hand.
pub(crate) fn script(sandbox: &Sandbox, id: &str, body: &str) -> PathBuf {
    let text = format!(
        "export default async function (pi) {{\n\
         const tool = (name, execute) => pi.registerTool({{ name, label: name, description: name, execute,\n\
         parameters: {{ type: 'object', properties: {{}} }} }});\n{body}\n}}\n"
    );
    file(sandbox, id, "index.ts", &text)
}

/// Writes a file of a script as it is.
pub(crate) fn file(sandbox: &Sandbox, id: &str, name: &str, text: &str) -> PathBuf {
    let path = folder(sandbox, id).join(name);
    sandbox.write(&path, text);
    path
}

/// Source of a tool with this body.
pub(crate) fn tool(name: &str, body: &str) -> String {
    format!("tool('{name}', async () => {{ {body} }});\n")
}

/// The error of a call that failed.
#[track_caller]
pub(crate) fn error(response: &Value) -> (String, String) {
    assert_eq!(response["success"], json!(false), "{response:#}");
    let word = |key: &str| response["error"][key].as_str().unwrap_or_default().to_owned();
    (word("code"), word("message"))
}

/// Calls a tool that must fail with this code, in words that hold each of these.
#[track_caller]
pub(crate) fn fails(host: &mut Rpc, name: &str, code: &str, why: &[&str]) -> String {
    let response = host.call(name, json!({}));
    let (said, message) = error(&response);
    assert_eq!(said, code, "{response:#}");
    for part in why {
        assert!(message.contains(part), "{part:?} in {message}");
    }
    message
}

/// Calls a tool whose result is an error of its own; gives the text.
#[track_caller]
pub(crate) fn answers_an_error(host: &mut Rpc, name: &str) -> String {
    let response = host.call(name, json!({}));
    assert_eq!(response["data"]["is_error"], json!(true), "{response:#}");
    jackfield_test_support::text(&response["data"]).to_owned()
}

/// The other extension works, and this one too.
#[track_caller]
pub(crate) fn all_work(host: &mut Rpc, own: &str) {
    assert_eq!(host.text("good", json!({})), "fine");
    assert_eq!(host.text(own, json!({})), "fine");
}

/// What an extension wrote to its log.
pub(crate) fn log(sandbox: &Sandbox, id: &str) -> String {
    let folder = sandbox.home().join("logs");
    let mut text = String::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().contains(id) {
            text.push_str(&fs::read_to_string(entry.path()).unwrap_or_default());
        }
    }
    text
}
