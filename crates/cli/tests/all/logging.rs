//! The log of `JACKFIELD_LOG=trace`: it names the call that each line belongs to, and shows no secret.

use std::collections::BTreeSet;
use std::path::Path;

use jackfield_test_support::{Output, Sandbox};
use serde_json::{Value, json};

use crate::sandbox;

/// A secret under a name that does not look like one, in the store of the home.
const STORED: &str = "sesame-open-now";
/// A secret in the environment of the host.
const INHERITED: &str = "hunter2-hunter2-hunter2";

/// A home with three extensions that come by both secrets and spill them wherever they can: a Python file, a script and
/// an MCP server.
fn spilling() -> Sandbox {
    let mut sandbox = sandbox();
    sandbox.env("DOOR_PASSWORD", INHERITED);
    let kept = sandbox.run_with_input(&["secret", "set", "DOOR"], STORED).exits(0);
    assert!(!kept.stderr.contains(STORED), "{kept:#?}");
    sandbox.python_tool(
        "spill_py",
        "import subprocess, sys\n\
         def run():\n    \
             for name in ['DOOR', 'DOOR_PASSWORD']:\n        \
                 value = str(host.call('env', {'name': name})['value'])\n        \
                 print('printed', value)\n        print('complained', value, file=sys.stderr)\n        \
                 log('logged ' + value, 'warn', value=value)\n        \
                 host.call('exec', {'cmd': 'echo', 'args': [value]})\n        \
                 try:\n            host.call('exec', {'cmd': value})\n        \
                 except Exception:\n            pass\n    \
             raise ValueError('it is ' + value)\n",
    );
    let script = sandbox.user().join(".pi/agent/extensions/spill/index.ts");
    sandbox.write(
        &script,
        "import { execFileSync } from 'node:child_process';\n\
         export default function (pi) {\n\
           pi.registerTool({ name: 'spill_js', label: 's', description: 's', parameters: { type: 'object', properties: {} },\n\
             async execute() {\n\
               for (const value of [process.env.DOOR, process.env.DOOR_PASSWORD]) {\n\
                 console.log('printed', value); console.error('complained', value);\n\
                 execFileSync('echo', [value]);\n\
                 try { execFileSync(value); } catch {}\n\
               }\n\
               throw new Error('it is ' + process.env.DOOR);\n\
             } });\n\
         }\n",
    );
    for id in ["tools.spill_py", "spill"] {
        sandbox.run(&["grant", id, "env", "--env", "DOOR*"]).exits(0);
        sandbox.run(&["grant", id, "exec"]).exits(0);
    }
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/recipes-mcp/server.py");
    let servers = json!({ "mcpServers": { "recipes": {
        "command": "python3", "args": [server, "${DOOR}", "${DOOR_PASSWORD}"], "env": { "KEY": "Bearer ${DOOR}" },
    } } });
    sandbox.write(&sandbox.home().join("mcp.json"), &servers.to_string());
    sandbox
}

/// Runs with the most talkative log there is.
fn traced(sandbox: &Sandbox, args: &[&str]) -> Output {
    let output = sandbox.command(args).env("JACKFIELD_LOG", "trace").output().expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Output { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

#[track_caller]
fn shows_no_secret(output: &Output) {
    for secret in [STORED, INHERITED] {
        assert!(!output.stderr.contains(secret), "{secret} is in the log: {output:#?}");
    }
}

#[test]
fn no_secret_reaches_the_log_whatever_extensions_do_with_it() {
    let sandbox = spilling();
    let listed = traced(&sandbox, &["tools"]).exits(0);
    shows_no_secret(&listed);
    let tools: BTreeSet<&str> = listed.stdout.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for (tool, args) in [("spill_py", "{}".to_owned()), ("spill_js", format!("{{\"password\":\"{STORED}\"}}"))] {
        assert!(tools.contains(tool), "{listed:#?}");
        let called = traced(&sandbox, &["call", tool, "--args", &args]).exits(1);
        shows_no_secret(&called);
        let said = format!("{}{}", called.stdout, called.stderr);
        assert!(said.contains("it is [REDACTED]"), "it had the secret: {called:#?}");
        for part in ["tool_call{call_id=", "decided", "starts a program", "writes a record", "answered"] {
            assert!(called.stderr.contains(part), "the log has {part:?}: {called:#?}");
        }
        // What the host does for the extension has an id of its own, and the id of the tool call that it serves.
        let tool_call = ids(&called.stderr, "the owner is known").pop_first().expect("a line with an id");
        for line in called.stderr.lines().filter(|line| line.contains("starts a program")) {
            assert!(line.contains("host_call{call_id=") && line.contains(&format!("within=\"{tool_call}\"")), "{line}");
        }
    }
    let server = tools.iter().find(|tool| tool.contains("recipes")).unwrap_or_else(|| panic!("{listed:#?}"));
    let called = traced(&sandbox, &["call", server, &format!("token={INHERITED}")]);
    shows_no_secret(&called);
    assert!(called.stderr.contains("answered"), "{called:#?}");
}

/// The ids in the spans of the lines that hold `part`; an empty one for a line without a span.
fn ids<'a>(log: &'a str, part: &str) -> BTreeSet<&'a str> {
    let id = |line: &'a str| line.split("call_id=").nth(1)?.split([' ', '}']).next();
    log.lines().filter(|line| line.contains(part)).map(|line| id(line).unwrap_or_default()).collect()
}

#[test]
fn lines_of_a_call_carry_its_id() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let output = traced(&sandbox, &["--json", "call", "first"]).exits(0);
    let answer: Value = output.json();
    let id = answer["call_id"].as_str().expect("an id");
    for part in ["decided", "the owner is known", "writes a record", "answered"] {
        assert_eq!(ids(&output.stderr, part), BTreeSet::from([id]), "{part}: {output:#?}");
    }
    sandbox.run(&["why", id]).exits(0);
}
