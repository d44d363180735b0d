//! The one list of scenarios, run against every runtime: programs, scripts and components.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

use std::fs;
use std::sync::OnceLock;

use jackfield_test_support::conformance::{Applies, Subject, conform};
use jackfield_test_support::{Sandbox, assemble, guest};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_jackfield");

/// A program in frames, and the tool that is its `break`.
struct Program(&'static str);

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
            "break" => (self.0, json!({ "mb": 80 })),
            "chat" => ("progress", json!({})),
            "slow" => ("sleep", json!({ "ms": 500 })),
            "stay" => ("pid", json!({})),
            "variable" => ("host_call", json!({ "method": "env", "params": { "name": "CONFORMING" } })),
            other => (other, json!({})),
        };
        (name.to_owned(), args)
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
        // A script's variables are those of its filtered environment, as in pi; what needs a grant is a file elsewhere.
        let variable = match scenario {
            "host_call_denied" => "(await import('node:fs')).readFileSync('/etc/hostname', 'utf8')",
            _ => "process.env.CONFORMING",
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
tool("variable", async () => text({variable}));
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

/// A component, and the tool that is its `break`.
struct Component(&'static str);

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
            "break" => (self.0, json!({})),
            "chat" => ("progress", json!({})),
            "flood" => ("logs", json!({})),
            "slow" => ("exec", json!({ "command": "sleep", "args": ["0.5"] })),
            "variable" => ("env", json!({ "name": "CONFORMING" })),
            other => (other, json!({})),
        };
        (name.to_owned(), args)
    }
}

/// One test for each scenario of the list, for one runtime.
macro_rules! conforming {
    ($runtime:ident, $subject:expr) => {
        conforming!(
            $runtime, $subject; hello_ok hello_wrong_version hello_late tool_ok tool_error unknown_tool timeout cancel
            progress overlap host_call_allowed host_call_denied crash_mid_call garbage oversize log_flood stop_polite
            stop_ignored hook_replace hook_block hook_crash offers_changed
        );
    };
    ($runtime:ident, $subject:expr; $($scenario:ident)+) => {
        mod $runtime {
            use super::*;

            $(#[test]
            fn $scenario() {
                let subject = $subject;
                conform(&subject(stringify!($scenario)), stringify!($scenario));
            })+

            #[test]
            fn nothing_is_left_out() {
                let all = jackfield_test_support::conformance::SCENARIOS.map(|(name, _)| name);
                assert_eq!([$(stringify!($scenario)),+], all);
            }
        }
    };
}

conforming!(process, |scenario: &str| Program(match scenario {
    "garbage" => "fail",
    "oversize" => "big",
    _ => "crash",
}));

conforming!(js, |_: &str| Script);

conforming!(wasm, |scenario: &str| Component(match scenario {
    "garbage" => "bad",
    "oversize" => "huge",
    _ => "trap",
}));
