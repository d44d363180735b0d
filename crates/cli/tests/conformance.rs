//! The one list of scenarios, run against every runtime: programs, scripts and components.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::fs;
use std::sync::OnceLock;

use jackfield_test_support::conformance::{Applies, Subject, conform};
use jackfield_test_support::{Sandbox, assemble, guest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_jackfield");

/// A program in frames.
struct Program;

impl Subject for Program {
    fn binary(&self) -> &'static str {
        BINARY
    }

    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies {
        let modes = match scenario {
            "hello_wrong_version" => "bad_hello",
            "hello_late" => "late_hello:60",
            "garbage" => "non_utf8,unknown_ids",
            "stop_ignored" => "ignore_shutdown",
            "hook_replace" => "guard_rewrite:text=swapped",
            "hook_block" => "guard_block",
            "hook_crash" => "guard_die",
            _ => "ok",
        };
        let dir = sandbox.home().join("extensions/subject");
        let limits = json!({ "limits": { "start_timeout_ms": 3000, "stop_grace_ms": 500 } });
        sandbox.misbehave_at(&dir, "subject", modes, limits);
        Applies::Yes
    }

    fn tool(&self, tool: &str) -> (String, Value) {
        let (name, args) = match tool {
            "break" => ("crash", json!({})),
            "chat" => ("progress", json!({})),
            "slow" => ("sleep", json!({ "ms": 500 })),
            "stay" => ("pid", json!({})),
            "variable" => ("host_call", json!({ "method": "env", "params": { "name": "CONFORMING" } })),
            other => (other, json!({})),
        };
        (name.to_owned(), args)
    }
}

/// A program whose `break` is a line that is too long.
struct Shouter;

impl Subject for Shouter {
    fn binary(&self) -> &'static str {
        BINARY
    }

    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies {
        Program.install(sandbox, scenario)
    }

    fn tool(&self, tool: &str) -> (String, Value) {
        if tool == "break" { ("big".to_owned(), json!({ "mb": 80 })) } else { Program.tool(tool) }
    }
}

/// A script.
struct Script;

impl Subject for Script {
    fn binary(&self) -> &'static str {
        BINARY
    }

    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies {
        let (first, breaking) = match scenario {
            "hello_wrong_version" => return Applies::No("a script says no version of anything: it has no handshake"),
            "hello_late" => ("await new Promise(() => {});", ""),
            "crash_mid_call" => ("", "for (;;) {}"),
            "garbage" => ("", "return { content: 7, isError: 'maybe' };"),
            "oversize" => ("", "return 'x'.repeat(500 * 1024 * 1024);"),
            "stop_ignored" => ("pi.on('session_shutdown', () => { for (;;) {} });", ""),
            _ => ("", "return 'fine';"),
        };
        let guard = match scenario {
            "hook_replace" => "pi.on('tool_call', (event) => { event.input.text = 'swapped'; });",
            "hook_block" => "pi.on('tool_call', () => ({ block: true, reason: 'no' }));",
            "hook_crash" => "return_early",
            _ => "",
        };
        if guard == "return_early" {
            return Applies::No("pi's own rule: a script's guard that throws blocks, it does not let pass");
        }
        let text = format!(
            r#"export default async function (pi) {{
const text = (text) => ({{ content: [{{ type: "text", text }}] }});
const tool = (name, execute) => pi.registerTool({{ name, label: name, description: name, execute,
    parameters: {{ type: "object", properties: {{}} }} }});
{first}
tool("echo", async (_id, args) => text(String(args.text)));
tool("fail", async () => {{ throw new Error("failed as asked"); }});
tool("hang", () => new Promise(() => {{}}));
tool("break", async () => {{ {breaking} }});
tool("chat", async (_id, _args, _signal, onUpdate) => {{ onUpdate(text("half way")); return text("told"); }});
tool("flood", async () => {{ for (let i = 0; i < 20000; i++) console.log("line " + i); return text("written"); }});
tool("slow", () => new Promise((done) => setTimeout(() => done(text("slept")), 500)));
tool("stay", async () => text("here"));
tool("offer", async () => {{ tool("second", async () => text("two")); return text("offered"); }});
tool("variable", async () => text(String(process.env.CONFORMING)));
{guard}
}}
"#
        );
        let dir = sandbox.home().join("extensions/subject");
        sandbox.write(&dir.join("index.ts"), &text);
        let capability = json!({ "capability": "env" });
        let manifest = json!({
            "schema": "pi.ext.manifest.v1", "id": "subject", "name": "subject", "version": "1.0.0", "entry": "index.ts",
            "limits": { "start_timeout_ms": 3000, "stop_grace_ms": 500 },
            "capability_manifest": { "schema": "pi.ext.cap.v1", "capabilities": [capability] },
        });
        sandbox.write(&dir.join("extension.json"), &manifest.to_string());
        Applies::Yes
    }
}

/// A component.
struct Component;

fn actor() -> &'static [u8] {
    static ACTOR: OnceLock<Vec<u8>> = OnceLock::new();
    ACTOR.get_or_init(|| guest("actor.wat", "actor"))
}

impl Subject for Component {
    fn binary(&self) -> &'static str {
        BINARY
    }

    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies {
        let late = r#"(module (memory (export "memory") 1)
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
            (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (loop $on (br $on)) unreachable)
            (func (export "jackfield:extension/guest@1.0.0#call-tool")
                (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;
        let bytes = match scenario {
            "hello_late" => assemble(late, "pure-tool"),
            "hello_wrong_version" => {
                let text = String::from_utf8_lossy(actor()).into_owned();
                assert!(text.contains("jackfield:extension/guest@1.0.0"));
                // The same length, so that the file stays well-formed.
                let (old, new) = (b"jackfield:extension/guest@1.0.0", b"jackfield:extension/guest@2.0.0");
                let mut bytes = actor().to_vec();
                let places: Vec<usize> =
                    (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
                places.iter().for_each(|at| bytes[*at..at + new.len()].copy_from_slice(new));
                bytes
            }
            _ => actor().to_vec(),
        };
        let dir = sandbox.home().join("extensions/subject");
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join("subject.wasm"), bytes).expect("written");
        let manifest = "id = \"subject\"\nruntime = \"wasm\"\n\n[run]\ncomponent = \"subject.wasm\"\n\n\
            [[capabilities]]\ncapability = \"env\"\n\n[[capabilities]]\ncapability = \"exec\"\n\n\
            [[capabilities]]\ncapability = \"ui\"\n\n\
            [limits]\nstart_timeout_ms = 20000\nstop_grace_ms = 500\n";
        sandbox.write(&dir.join("extension.toml"), manifest);
        Applies::Yes
    }

    fn tool(&self, tool: &str) -> (String, Value) {
        let (name, args) = match tool {
            "hang" => ("exec", json!({ "command": "sleep", "args": ["60"] })),
            "break" => ("trap", json!({})),
            "chat" => ("progress", json!({})),
            "flood" => ("logs", json!({})),
            "slow" => ("exec", json!({ "command": "sleep", "args": ["0.5"] })),
            "variable" => ("env", json!({ "name": "CONFORMING" })),
            other => (other, json!({})),
        };
        (name.to_owned(), args)
    }
}

/// A component whose `break` is an answer that leads nowhere, or one of 32 MB.
struct Odd(&'static str);

impl Subject for Odd {
    fn binary(&self) -> &'static str {
        BINARY
    }

    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies {
        Component.install(sandbox, scenario)
    }

    fn tool(&self, tool: &str) -> (String, Value) {
        if tool == "break" { (self.0.to_owned(), json!({})) } else { Component.tool(tool) }
    }
}

/// One test for each scenario of a runtime.
macro_rules! conforming {
    ($runtime:ident: $($scenario:ident => $subject:expr),+ $(,)?) => {
        mod $runtime {
            use super::*;

            const LIST: &[&str] = &[$(stringify!($scenario)),+];

            $(#[test]
            fn $scenario() {
                conform(&$subject, stringify!($scenario));
            })+

            #[test]
            fn nothing_is_left_out() {
                let all = jackfield_test_support::conformance::SCENARIOS.map(|(name, _)| name);
                assert_eq!(LIST, all);
            }
        }
    };
}

conforming!(process:
    hello_ok => Program, hello_wrong_version => Program, hello_late => Program, tool_ok => Program,
    tool_error => Program, unknown_tool => Program, timeout => Program, cancel => Program, progress => Program,
    overlap => Program, host_call_allowed => Program, host_call_denied => Program, crash_mid_call => Program,
    garbage => Shouter, oversize => Shouter, log_flood => Program, stop_polite => Program, stop_ignored => Program,
    hook_replace => Program, hook_block => Program, hook_crash => Program, offers_changed => Program,
);

conforming!(js:
    hello_ok => Script, hello_wrong_version => Script, hello_late => Script, tool_ok => Script,
    tool_error => Script, unknown_tool => Script, timeout => Script, cancel => Script, progress => Script,
    overlap => Script, host_call_allowed => Script, host_call_denied => Script, crash_mid_call => Script,
    garbage => Script, oversize => Script, log_flood => Script, stop_polite => Script, stop_ignored => Script,
    hook_replace => Script, hook_block => Script, hook_crash => Script, offers_changed => Script,
);

conforming!(wasm:
    hello_ok => Component, hello_wrong_version => Component, hello_late => Component, tool_ok => Component,
    tool_error => Component, unknown_tool => Component, timeout => Component, cancel => Component,
    progress => Component, overlap => Component, host_call_allowed => Component, host_call_denied => Component,
    crash_mid_call => Component, garbage => Odd("bad"), oversize => Odd("huge"), log_flood => Component,
    stop_polite => Component, stop_ignored => Component, hook_replace => Component, hook_block => Component,
    hook_crash => Component, offers_changed => Component,
);
