//! What each form of manifest is lowered to, and what is said about it.

use jackfield_protocol::{Dialect, Format, Launch, Limits, Manifest, OnFailure, Power, RuntimeKind};
use serde_json::json;
use tempfile::TempDir;

use crate::check_one;
use crate::testing::*;
use crate::*;

/// The manifest in `file`, and the warnings about it.
#[track_caller]
fn lowered(file: &str, text: &str) -> (Manifest, Vec<String>) {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join(file), text);
    let (found, diagnostics) = check_one(dir.path());
    let found = found.unwrap();
    assert!(!matches!(found.standing, Standing::Invalid { .. }), "{diagnostics:#?}");
    (found.manifest.as_ref().clone(), diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect())
}

#[track_caller]
fn refused(file: &str, text: &str, message: &str) {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join(file), text);
    let (found, _) = check_one(dir.path());
    let Standing::Invalid { error } = found.unwrap().standing else { panic!("not refused: {text}") };
    assert!(error.starts_with(message), "{error:?} against {message:?}");
}

fn process(command: &str, args: &[&str], dialect: Dialect) -> Launch {
    Launch::Process { command: command.into(), args: args.iter().map(|arg| (*arg).to_owned()).collect(), dialect }
}

#[test]
fn native() {
    let (manifest, warnings) = lowered(
        "extension.toml",
        r#"
id = "fmt"
name = "Formatter"
version = "0.2.0"
description = "formats"
colour = "red"
[run]
command = "python3"
args = ["main.py"]
dialect = "json-rpc"
shell = true
[[capabilities]]
capability = "read"
scope = { paths = ["src/**"] }
reason = "to format"
[[capabilities]]
capability = "teleport"
[requires]
bins = ["python3"]
env = ["FMT_KEY"]
[limits]
call_timeout_ms = 1000
hook_timeout_ms = 100
[hooks]
on_failure = "deny"
priority = -5
[context]
passthrough = true
"#,
    );
    assert_eq!(
        warnings,
        [
            "unknown key `colour` is ignored",
            "unknown key `run.shell` is ignored",
            "unknown capability `teleport` in capabilities[1] is ignored"
        ]
    );
    assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("fmt", "Formatter"));
    assert_eq!((manifest.format, manifest.enabled, manifest.priority), (Format::Native, true, -5));
    assert_eq!(manifest.launch, process("python3", &["main.py"], Dialect::JsonRpc));
    assert_eq!(manifest.capabilities.len(), 1);
    assert_eq!(manifest.capabilities[0].scope.paths, ["src/**"]);
    assert_eq!(manifest.requires.env, ["FMT_KEY"]);
    assert_eq!(manifest.limits.call_timeout_ms, Some(1000));
    assert_eq!((manifest.on_failure, manifest.context_passthrough), (Some(OnFailure::Deny), true));

    let (least, warnings) = lowered("extension.toml", "id = 'a'\n[run]\ncommand = './a'\n");
    assert_eq!((least.name.as_str(), least.limits, warnings), ("a", Limits::default(), vec![]));
    assert_eq!(least.launch, process("./a", &[], Dialect::Frames));
}

#[test]
fn native_refused() {
    let check = |text: &str, message: &str| refused("extension.toml", text, message);
    check("id = 'a'\n[run", "failed to parse TOML: line 2: ");
    check("id = 'a'\nid = 'b'\n[run]\ncommand = 'x'\n", "failed to parse TOML: line 2: duplicate key");
    check("id = 'a'\n", "failed to parse TOML: line 1: missing field `run`");
    check("id = 1\n[run]\ncommand = 'x'\n", "failed to parse TOML: line 1: invalid type: integer `1`");
    check("id = '../a'\n[run]\ncommand = 'x'\n", "id `../a` must be 1 to 64 letters");
    check("id = 'a'\n[run]\ncommand = ' '\n", "run.command is empty");
    check(
        "id = 'a'\n[run]\ncommand = 'x'\ndialect = 'morse'\n",
        "failed to parse TOML: line 4: unknown variant `morse`",
    );
    check("id = 'a'\n[run]\ncommand = 'x'\n[limits]\nstop_grace_ms = 0\n", "limits.stop_grace_ms must be between");
    check("id = 'a'\n[run]\ncommand = 'x'\n[hooks]\non_failure = 'maybe'\n", "failed to parse TOML: line 5");
    check(
        "id = 'a'\ncapabilities = [{capability = 'read', scope = {path = ['a']}}]\n[run]\ncommand = 'x'\n",
        "capabilities[0].scope has the unknown limit `path`",
    );
    check(&format!("id = {}", "[".repeat(10_000)), "failed to parse TOML: line 1: ");
}

#[test]
fn zot() {
    let (manifest, warnings) = lowered(
        "extension.json",
        r#"{"name": "hello", "version": "1", "exec": "python3", "args": ["m.py"], "language": "python", "enabled": null,
            "description": "d", "sparkle": 1, "on_timeout": "deny",
            "capabilities_manifest": {"schema": "pi.ext.cap.v1", "capabilities": [{"capability": "http"}]}}"#,
    );
    assert_eq!(warnings, ["unknown key `sparkle` is ignored"]);
    assert_eq!((manifest.format, manifest.enabled), (Format::Zot, true));
    assert_eq!(manifest.launch, process("python3", &["m.py"], Dialect::Frames));
    assert_eq!(manifest.on_failure, Some(OnFailure::Deny));
    assert_eq!(manifest.capabilities[0].power, Power::Http);
    let limits = Limits {
        call_timeout_ms: Some(60_000),
        start_timeout_ms: None,
        hook_timeout_ms: Some(5_000),
        stop_grace_ms: Some(2_000),
    };
    assert_eq!(manifest.limits, limits);
    assert_eq!(lowered("extension.json", &zot_manifest("plain")).0.on_failure, None);

    let (bundle, _) = lowered("extension.json", r#"{"name": "s", "skills": ["a"]}"#);
    assert!(matches!(bundle.launch, Launch::Unsupported { reason } if reason.contains("skills")));
    refused(
        "extension.json",
        r#"{"name": "s", "exec": "x", "capabilities_manifest": {"schema": "other"}}"#,
        "capabilities_manifest.schema must be `pi.ext.cap.v1`, found `other`",
    );
}

#[test]
fn pi() {
    let pi = |rest: &str| format!(r#"{{"schema": "pi.ext.manifest.v1", "name": "p", {rest}}}"#);
    let (manifest, warnings) = lowered(
        "extension.json",
        &pi(r#""id": "pp", "version": "1", "command": "node", "args": ["x.js"], "runtime": "process",
            "capabilities": ["read", {"capability": "exec", "methods": ["exec"]}]"#),
    );
    assert_eq!((manifest.id.as_str(), manifest.name.as_str(), manifest.format), ("pp", "p", Format::Pi));
    assert_eq!(manifest.launch, process("node", &["x.js"], Dialect::Envelope));
    assert_eq!(manifest.capabilities.iter().map(|c| c.power).collect::<Vec<_>>(), [Power::Read, Power::Exec]);
    assert_eq!(warnings, Vec::<String>::new());
    let (flat, warnings) = lowered(
        "extension.json",
        &pi(r#""exec": "x", "capabilities": ["read"], "capability_manifest": {"schema": "pi.ext.cap.v1"}"#),
    );
    assert_eq!((flat.capabilities, warnings.len()), (vec![], 1));
    let (wasm, _) = lowered("extension.json", &pi(r#""entry": "./x.wasm""#));
    assert_eq!((wasm.runtime, wasm.launch), (RuntimeKind::Wasm, Launch::Wasm { component: "x.wasm".into() }));
    let (other, _) = lowered("extension.json", &pi(r#""entry": "x", "runtime": "lua""#));
    assert!(matches!(&other.launch, Launch::Unsupported { reason } if reason.contains("lua")), "{other:?}");
    for (rest, entry) in [
        (r#""entry": "./src/index.ts""#, "src/index.ts"),
        (r#""entry": "a.mjs", "runtime": "js""#, "a.mjs"),
        (r#""command": "a.tsx", "runtime": "js""#, "a.tsx"),
    ] {
        let (script, warnings) = lowered("extension.json", &pi(rest));
        assert_eq!((script.runtime, script.format), (RuntimeKind::Js, Format::Pi));
        assert_eq!(script.launch, Launch::Js { entry: entry.to_owned() });
        assert_eq!(warnings, Vec::<String>::new());
    }
    refused("extension.json", &pi(r#""entry": "x.py", "runtime": "js""#), "manifest: entry `x.py` is not a script");
    refused("extension.json", &pi(r#""version": "1""#), "manifest: exec, command or entry is required");
    refused("extension.json", r#"{"schema": "pi.ext.manifest.v1", "exec": "x"}"#, "manifest: id or name is required");
}

#[test]
fn nexo() {
    let (manifest, warnings) = lowered(
        "plugin.toml",
        r#"
[plugin]
id = "weather"
version = "0.1.0"
name = "Weather"
min_agent_version = "0.1.0"
priority = 7
[capabilities]
tools = ["ping", "add"]
hooks = ["before_message"]
skills = ["x"]
[capabilities.admin]
required = []
[transport]
type = "stdio"
command = "./main.py"
args = ["-u"]
[context]
passthrough = true
[requires]
env = ["WEATHER_KEY"]
[mcp_servers.maps]
transport = "streamable-http"
url = "https://maps.example/mcp"
[outbound_bindings]
whatsapp = ["a"]
"#,
    );
    assert_eq!(
        warnings,
        ["unknown key `capabilities.admin` is ignored", "unknown key `capabilities.skills` is ignored"]
    );
    assert_eq!(manifest.launch, process("./main.py", &["-u"], Dialect::JsonRpc));
    assert_eq!((manifest.priority, manifest.context_passthrough), (7, true));
    assert_eq!(manifest.declared_tools, ["ping", "add"]);
    assert_eq!(manifest.limits.call_timeout_ms, Some(30_000));
    assert_eq!(manifest.mcp_servers["maps"]["transport"], "streamable_http");
}

#[test]
fn nexo_refused() {
    let with = |from: &str, to: &str| {
        let text = nexo_manifest("x").replace(from, to);
        assert_ne!(text, nexo_manifest("x"));
        text
    };
    let check = |from: &str, to: &str, message: &str| refused("plugin.toml", &with(from, to), message);
    check("\"x\"", "\"\"", "plugin.id is empty");
    check("\"x\"", "\"Bad Id\"", "plugin.id `Bad Id` must match `^[a-z][a-z0-9_-]*$` (max 64 chars)");
    check("\"x\"", &format!("\"{}\"", "x".repeat(65)), "plugin.id `xxx");
    check("\"x\"", "\"core\"", "plugin.id `core` is reserved for native plugins");
    check("\"1.0.0\"", "\"1\"", "plugin.version `1` is not valid semver: ");
    check(
        "[capabilities]",
        "min_agent_version = \"9.0.0\"\n[capabilities]",
        "plugin requires agent >= 9.0.0, current is 0.1.2",
    );
    check("[\"ping\"]", "[]", "plugin must declare at least one tool, hook, channel, or provider");
    check("\"ping\"", "\"Ping\"", "tools name `Ping` is invalid (expected `^[a-z][a-z0-9_]*$`, max 64 chars)");
    check("\"ping\"", "\"ping\", \"ping\"", "duplicate tools name `ping`");
    check("\"./main.py\"", "\" \"", "transport.stdio requires non-empty `command`");
    check(
        "[capabilities]",
        &format!("description = \"{}\"\n[capabilities]", "d".repeat(513)),
        "description exceeds 512 characters",
    );
    check("kind = \"stdio\"", "", "failed to parse TOML: missing field `kind`");
    check("\"stdio\"", "\"carrier-pigeon\"", "failed to parse TOML: unknown transport kind `carrier-pigeon`");
    check("[plugin]", "[plugin", "failed to parse TOML: line 1: ");
    check("\"ping\"", "1", "failed to parse TOML: line 5: invalid type: integer `1`");
    let bad_server = format!("{}[mcp_servers.a]\ncommand = ''\n", nexo_manifest("x"));
    refused("plugin.toml", &bad_server, "mcp_servers.a: stdio requires non-empty `command`");
}

#[test]
fn nexo_versions_that_cannot_be_compared_and_transports_without_runtime() {
    let text = nexo_manifest("x").replace("[capabilities]", "min_agent_version = \"soon\"\n[capabilities]");
    let (_, warnings) = lowered("plugin.toml", &text);
    assert_eq!(warnings, ["plugin.min_agent_version `soon` cannot be compared with 0.1.2; the check is skipped"]);
    for (transport, word) in [
        ("kind = \"nats\"\nsubject_prefix = \"ext\"", "nats"),
        ("kind = \"http\"\nurl = \"http://x.org:80/a\"", "http"),
    ] {
        let text = nexo_manifest("x").replace("kind = \"stdio\"\ncommand = \"./main.py\"", transport);
        let (manifest, _) = lowered("plugin.toml", &text);
        assert!(matches!(&manifest.launch, Launch::Unsupported { reason } if reason.contains(word)), "{manifest:?}");
    }
    let text = nexo_manifest("x").replace("kind = \"stdio\"", "kind = \"http\"\nurl = \"ftp://x\"");
    refused("plugin.toml", &text, "transport.http url `ftp://x` is not an http(s) url");
}

#[test]
fn nexo_sidecar() {
    let dir = TempDir::new().unwrap();
    let sidecar = dir.path().join(".mcp.json");
    write(&dir.path().join("plugin.toml"), nexo_manifest("x"));
    let read = || {
        let (found, diagnostics) = check_one(dir.path());
        let found = found.unwrap();
        assert!(found.is_active(), "{diagnostics:#?}");
        let messages: Vec<String> = diagnostics.into_iter().map(|diagnostic| diagnostic.message).collect();
        (json!(found.manifest.mcp_servers), messages)
    };
    write(
        &sidecar,
        r#"{"mcpServers": {"a": {"command": "npx", "args": ["-y"]}, "b": {"url": "http://x.org"},
            "c": {"transport": "http", "url": "http://x.org"}, "Bad": {"command": "x"}, "d": {}}}"#,
    );
    let (servers, messages) = read();
    assert_eq!(
        servers,
        json!({"a": {"command": "npx", "args": ["-y"], "transport": "stdio"},
            "b": {"url": "http://x.org", "transport": "auto"}, "c": {"transport": "auto", "url": "http://x.org"}})
    );
    assert_eq!(messages.len(), 2);
    assert!(messages.iter().all(|m| m.starts_with("ignoring invalid sidecar MCP declaration: ")), "{messages:?}");

    for text in ["{", r#"{"mcpServers": 1}"#, "\u{0}"] {
        write(&sidecar, text);
        let (servers, messages) = read();
        assert_eq!(servers, json!({}));
        assert!(messages[0].starts_with("failed to parse sidecar MCP file: "), "{messages:?}");
    }

    // A manifest that names servers needs no sidecar.
    let named = format!("{}[mcp_servers.own]\ncommand = 'x'\n", nexo_manifest("x"));
    write(&dir.path().join("plugin.toml"), named);
    assert_eq!(read().1, Vec::<String>::new());
}
