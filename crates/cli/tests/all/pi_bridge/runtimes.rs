//! `jackfield pi`: tools of every runtime in the real pi, and pi as it was started.

use std::process::Command;

use jackfield_test_support::{eventually, example, misbehaving};
use serde_json::{Value, json};

use super::support::{Stage, VERSIONS, calls, ended, program, says};

const SCRIPT: &str = "export default function (pi) {
  pi.registerTool({
    name: 'shout', label: 'Shout', description: 'In capitals.',
    parameters: { type: 'object', properties: { text: { type: 'string' }, deep: { type: 'object' } }, required: ['text'] },
    async execute(_id, params) { return { content: [{ type: 'text', text: JSON.stringify(params).toUpperCase() }], details: {} }; },
  });
}
";

const PYTHON: &str = "async def run(number: int, words: list[str]) -> dict:\n    \"\"\"Says what it got.\"\"\"\n    return {'number': number, 'words': words}\n";

fn everything(stage: &Stage) {
    let sandbox = &stage.sandbox;
    sandbox.plain("shell", &["who"], &[]);
    sandbox.write(&sandbox.home().join("extensions/tools/repeat.py"), PYTHON);
    let script = sandbox.path("shout.ts");
    sandbox.write(&script, SCRIPT);
}

#[test]
fn a_tool_of_every_runtime_is_offered_called_and_answered() {
    for version in VERSIONS {
        let wishes = [
            ("who", json!({})),
            ("shout", json!({ "text": "ü", "deep": { "a": [1, 2.5, null] } })),
            ("repeat", json!({ "number": 7, "words": ["a", "b"] })),
            ("roman", json!({ "number": 1999 })),
            ("peer__echo", json!({ "z": "ü over MCP", "a": 2.5 })),
        ];
        let stage = Stage::new(version, &[calls(&wishes), says("done")]);
        everything(&stage);
        let server = json!({ "command": "python3", "args": [misbehaving("mcp_server.py")] });
        let servers = json!({ "mcpServers": { "peer": server } });
        stage.sandbox.write(&stage.sandbox.home().join("mcp.json"), &servers.to_string());
        let (script, roman) = (stage.sandbox.path("shout.ts"), example("roman-as-wasm"));
        let ours = ["-e", script.to_str().expect("UTF-8"), "-e", roman.to_str().expect("UTF-8")];
        let mut pi = stage.jackfield_pi(&ours, &[]);
        let ends = pi.prompt("go");
        for (tool, _) in &wishes {
            assert!(stage.offered(0).contains(&(*tool).to_owned()), "{tool}: {:?}", stage.offered(0));
            assert!(!ended(&ends, tool).1, "{ends:#?}");
        }
        let results = stage.results(1);
        assert_eq!(results[0], "shell");
        assert_eq!(results[1], r#"{"TEXT":"Ü","DEEP":{"A":[1,2.5,NULL]}}"#);
        assert_eq!(serde_json::from_str::<Value>(&results[2]).expect("JSON"), wishes[2].1);
        assert_eq!(results[3], "MCMXCIX");
        assert!(results[4].contains("ü over MCP"), "{results:?}");
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn a_new_tool_is_offered_while_pi_runs_and_a_list_of_tools_lets_ours_in() {
    for version in VERSIONS {
        let stage = Stage::new(version, &[]);
        everything(&stage);
        let mut pi = stage.jackfield_pi(&[], &["--tools", "read,later"]);
        pi.prompt("one");
        let mut offered = stage.offered(0);
        offered.sort();
        assert_eq!(offered, ["read", "repeat", "who"]);
        let file = stage.sandbox.home().join("extensions/tools/later.py");
        stage.sandbox.write(&file, "def run() -> str:\n    \"\"\"Came later.\"\"\"\n    return 'here'\n");
        eventually("it is offered", || {
            pi.prompt("is it there?");
            stage.offered(stage.requests().len() - 1).contains(&"later".to_owned())
        });
        stage.reply(&[calls(&[("later", json!({}))])]);
        assert_eq!(ended(&pi.prompt("call it"), "later"), ("here", false));
        std::fs::remove_file(&file).expect("removed");
        eventually("it is not offered any more", || {
            pi.prompt("is it gone?");
            !stage.offered(stage.requests().len() - 1).contains(&"later".to_owned())
        });
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn pi_gets_its_arguments_and_gives_its_code() {
    let stage = Stage::new(VERSIONS[0], &[]);
    let pi = stage.sandbox.path("bin/pi");
    stage.sandbox.write(&pi, "#!/bin/sh\nprintf '%s\\n' \"$@\"\necho \"url $JACKFIELD_BRIDGE_URL\"\nexit 42\n");
    let made = Command::new("chmod").arg("755").arg(&pi).status().expect("chmod runs");
    assert!(made.success());
    let output =
        stage.sandbox.run(&["pi", "--pi", pi.to_str().expect("UTF-8"), "--", "-p", "--tools", "ls", "two words"]);
    assert_eq!(output.code, 42, "{output:#?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!((lines[0], &lines[2..6]), ("--extension", ["-p", "--tools", "ls", "two words"].as_slice()));
    assert!(lines[1].ends_with(".ts") && lines[6].starts_with("url http://127.0.0.1:"), "{lines:?}");
    assert!(!output.stdout.contains("TOKEN") && !output.stderr.to_lowercase().contains("token"), "{output:#?}");

    let mut command = stage.sandbox.command(&["pi"]);
    let output = command.env("PATH", "/nowhere").output().expect("the binary runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("--pi PATH"), "{said}");
}

#[test]
fn one_answer_and_pi_ends() {
    for version in VERSIONS {
        let stage = Stage::new(version, &[calls(&[("who", json!({}))]), says("all is well")]);
        stage.sandbox.plain("shell", &["who"], &[]);
        let mut command = stage.sandbox.command(&["pi", "--pi"]);
        stage.prepare(&mut command);
        command.arg(program(version)).args(["--", "--provider", "stub", "--model", "stub", "--no-session", "-p", "go"]);
        let output = command.stdin(std::process::Stdio::null()).output().expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!((output.status.code(), said.trim()), (Some(0), "all is well"), "{output:#?}");
        assert_eq!(stage.results(1), ["shell"]);
    }
}
