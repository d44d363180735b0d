//! `jackfield import`: the files of each agent as people have them, through the built binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    let mut sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    // Whoever runs the tests may have set these.
    let user = sandbox.user();
    sandbox.env("XDG_CONFIG_HOME", user.join(".config").to_str().expect("a path"));
    sandbox.env("CODEX_HOME", user.join(".codex").to_str().expect("a path"));
    sandbox
}

fn config(sandbox: &Sandbox) -> PathBuf {
    if cfg!(target_os = "macos") {
        sandbox.user().join("Library/Application Support")
    } else {
        sandbox.user().join(".config")
    }
}

/// Every agent's file with one server or more, and what becomes of them.
fn samples(sandbox: &Sandbox) {
    let (user, project) = (sandbox.user(), sandbox.project());
    sandbox.write(
        &config(sandbox).join("Claude/claude_desktop_config.json"),
        r#"{"mcpServers":{"files":{"command":"npx","args":["-y","server-filesystem","/tmp"],"env":{"LOG":"1"}},
            "self":{"command":"/usr/local/bin/jackfield","args":["mcp"]}},"theme":"dark"}"#,
    );
    let claude_code = json!({
        "mcpServers": {
            "notion": {"type": "http", "url": "https://mcp.notion.example/mcp", "headers": {"Authorization": "Bearer ${NOTION_TOKEN:-none}"}},
            "old": {"type": "sse", "url": "https://old.example/sse"},
            "files": {"type": "stdio", "command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": {"LOG": 1}}
        },
        "projects": {
            project.canonicalize().expect("a project").to_str().expect("a path"): {"mcpServers": {"here": {"command": "here-server", "timeout": 5000}}},
            "/somewhere/else": {"mcpServers": {"there": {"command": "x"}}}
        }
    });
    sandbox.write(&user.join(".claude.json"), &claude_code.to_string());
    sandbox.write(
        &user.join(".codex/config.toml"),
        "model = \"x\"\n[mcp_servers.docs]\ncommand = \"docs-server\"\nargs = [\"--fast\"]\nenv_vars = [\"DOCS_TOKEN\"]\n\
         tool_timeout_sec = 60\nenabled_tools = [\"a\"]\n[mcp_servers.docs.tools.search]\napproval_mode = \"approve\"\n\
         [mcp_servers.linear]\nurl = \"https://mcp.linear.example/mcp\"\nbearer_token_env_var = \"LINEAR_KEY\"\n\
         env_http_headers = { X-Org = \"ORG\" }\nenabled = false\n[mcp_servers.broken]\nargs = [\"no command\"]\n",
    );
    sandbox.write(
        &project.join(".vscode/mcp.json"),
        "// servers\n{\n  \"inputs\": [{\"id\": \"api-key\", \"type\": \"promptString\", \"password\": true}],\n  \"servers\": {\n\
         \"gh\": {\"type\": \"stdio\", \"command\": \"gh-server\", \"env\": {\"KEY\": \"${input:api-key}\", \"D\": \"${env:D}\"},\n\
         \"envFile\": \"${workspaceFolder}/.env\"}, /* the last */\n  },\n}\n",
    );
    sandbox.write(
        &user.join(".cursor/mcp.json"),
        r#"{"mcpServers":{"cur":{"url":"https://cur.example/mcp?api_key=abcdef123456"},"weird":7}}"#,
    );
    sandbox.write(
        &user.join(".gemini/settings.json"),
        r#"{"mcpServers":{"gem":{"httpUrl":"https://gem.example/mcp","headers":{"X-Key":"$GEM_KEY"},"trust":true,"includeTools":["a"]}}}"#,
    );
    sandbox.write(
        &user.join(".copilot/mcp-config.json"),
        r#"{"mcpServers":{"cop":{"type":"local","command":"cop","args":[]}}}"#,
    );
    sandbox.write(
        &user.join(".config/goose/config.yaml"),
        "extensions:\n  developer:\n    type: builtin\n    name: developer\n    enabled: true\n  goo:\n    type: stdio\n    cmd: goo\n\
         \x20   args: [serve]\n    envs: {A: b}\n    env_keys: [GOO_KEY]\n    timeout: 30\n    enabled: true\n  web:\n    type: streamable_http\n\
         \x20   uri: https://web.example/mcp\n    enabled: true\n",
    );
    sandbox.write(
        &user.join(".codeium/windsurf/mcp_config.json"),
        r#"{"mcpServers":{"wind":{"serverUrl":"https://wind.example/mcp"}}}"#,
    );
    sandbox.write(
        &user.join(".config/zed/settings.json"),
        "{\"context_servers\": {\"zed\": {\"source\": \"custom\", \"command\": {\"path\": \"zed-server\", \"args\": [\"x\"], \"env\": {\"E\": \"f\"}}},\n\
         \"from-extension\": {\"source\": \"extension\", \"settings\": {}},}, // end\n}",
    );
    sandbox.write(
        &user.join(".config/opencode/opencode.json"),
        r#"{"mcp":{"open":{"type":"local","command":["bun","x","open"],"environment":{"K":"{env:OPEN_K}"},"enabled":true},
            "far":{"type":"remote","url":"https://far.example/mcp","enabled":false}}}"#,
    );
}

fn written(sandbox: &Sandbox) -> Value {
    let text = fs::read_to_string(sandbox.home().join("mcp.json")).expect("a file");
    serde_json::from_str(&text).expect("JSON")
}

fn row<'a>(report: &'a Value, agent: &str, name: &str) -> &'a Value {
    let rows = report["import"]["servers"].as_array().expect("rows");
    rows.iter()
        .find(|row| row["agent"] == agent && row["name"] == name)
        .unwrap_or_else(|| panic!("no {agent} {name}: {report:#}"))
}

#[test]
fn servers_of_every_agent_are_taken_over() {
    let sandbox = sandbox();
    samples(&sandbox);
    let (code, dry) = sandbox.json(&["import", "--dry-run"]);
    assert_eq!((code, &dry["dry_run"], &dry["import"]["changed"]), (0, &json!(true), &json!(true)), "{dry:#}");
    assert!(!sandbox.home().join("mcp.json").exists(), "nothing is written");
    let (code, report) = sandbox.json(&["import"]);
    assert_eq!(code, 0, "{report:#}");
    let servers = json!({
        "files": {"command": "npx", "args": ["-y", "server-filesystem", "/tmp"], "env": {"LOG": "1"}},
        "notion": {"type": "http", "url": "https://mcp.notion.example/mcp", "headers": {"Authorization": "Bearer ${NOTION_TOKEN:-none}"}},
        "here": {"command": "here-server", "timeout": 5000},
        "docs": {"command": "docs-server", "args": ["--fast"], "env": {"DOCS_TOKEN": "${DOCS_TOKEN}"}, "tool_timeout_sec": 60},
        "linear": {"type": "http", "url": "https://mcp.linear.example/mcp",
            "headers": {"X-Org": "${ORG}", "Authorization": "Bearer ${LINEAR_KEY}"}, "disabled": true},
        "gh": {"command": "gh-server", "env": {"KEY": "${API_KEY}", "D": "${env:D}"}},
        "cur": {"type": "http", "url": "https://cur.example/mcp?api_key=${CUR_API_KEY}"},
        "gem": {"type": "http", "url": "https://gem.example/mcp", "headers": {"X-Key": "${GEM_KEY}"}},
        "cop": {"command": "cop"},
        "goo": {"command": "goo", "args": ["serve"], "env": {"A": "b", "GOO_KEY": "${GOO_KEY}"}, "tool_timeout_sec": 30},
        "web": {"type": "http", "url": "https://web.example/mcp"},
        "wind": {"type": "http", "url": "https://wind.example/mcp"},
        "zed": {"command": "zed-server", "args": ["x"], "env": {"E": "f"}},
        "open": {"command": "bun", "args": ["x", "open"], "env": {"K": "${OPEN_K}"}},
        "far": {"type": "http", "url": "https://far.example/mcp", "disabled": true},
    });
    let got = written(&sandbox);
    for (name, server) in servers.as_object().expect("servers") {
        assert_eq!(&got["mcpServers"][name], server, "{name}");
    }
    assert_eq!(
        got["mcpServers"].as_object().map(serde_json::Map::len),
        servers.as_object().map(serde_json::Map::len),
        "{got:#}"
    );
    // One that cannot be taken over costs no other, and says why.
    for (agent, name, why) in [
        ("claude", "self", "jackfield itself"),
        ("claude-code", "old", "HTTP+SSE"),
        ("codex", "broken", "neither a command"),
        ("cursor", "weird", "not a table"),
        ("goose", "developer", "part of goose"),
        ("zed", "from-extension", "extension of Zed"),
    ] {
        let row = row(&report, agent, name);
        assert_eq!(row["outcome"], "skipped");
        assert!(row["error"].as_str().is_some_and(|error| error.contains(why)), "{row:#}");
    }
    let warned = |agent: &str, name: &str, part: &str| {
        let row = row(&report, agent, name);
        assert!(row["warnings"].to_string().contains(part), "{part}: {row:#}");
    };
    warned("codex", "docs", "enabled_tools");
    warned("vscode", "gh", "API_KEY");
    warned("vscode", "gh", "envFile");
    warned("cursor", "cur", "CUR_API_KEY");
    warned("gemini", "gem", "includeTools");
    assert_eq!(row(&report, "claude-code", "files")["outcome"], "unchanged", "the same server of two agents is one");
    // What is written can be read: every server is found.
    let (_, listed) = sandbox.json(&["list"]);
    for name in servers.as_object().expect("servers").keys() {
        let found = listed["extensions"].as_array().expect("extensions").iter().any(|one| one["id"] == name.as_str());
        assert!(found, "{name}: {listed:#}");
    }
    // Again, and nothing changes.
    let before = fs::read(sandbox.home().join("mcp.json")).expect("a file");
    let (_, again) = sandbox.json(&["import"]);
    assert_eq!(again["import"]["changed"], false, "{again:#}");
    assert_eq!(fs::read(sandbox.home().join("mcp.json")).expect("a file"), before);
    let shown = sandbox.run(&["import", "codex"]).exits(0);
    assert!(shown.stdout.contains("docs-server --fast") && shown.stdout.contains("nothing new"), "{shown:#?}");
}

#[test]
fn secrets_stay_where_they_are() {
    let sandbox = sandbox();
    let file = sandbox.user().join(".cursor/mcp.json");
    let secret = "tok-5up3rs3cr3t-value";
    let entry = json!({"mcpServers": {"s": {
        "command": "s", "args": ["--api-key", secret, "--token=tok-other-5ecret", "sk-abcdefghijklmnopqrstuvwxyz012345", "plain"],
        "env": {"API_KEY": secret, "PLAIN": "x", "TOKEN_FROM": "${KEPT}"}
    }, "h": {"url": "https://h.example", "headers": {"Authorization": format!("Bearer {secret}"), "X-Team": "a"}}}});
    sandbox.write(&file, &entry.to_string());
    let shown = sandbox.run(&["import", "cursor"]).exits(0);
    let text = fs::read_to_string(sandbox.home().join("mcp.json")).expect("a file");
    for part in [secret, "5ecret", "sk-abc"] {
        assert!(
            !text.contains(part) && !shown.stdout.contains(part) && !shown.stderr.contains(part),
            "{part}: {text} {shown:#?}"
        );
    }
    let got = written(&sandbox);
    assert_eq!(got["mcpServers"]["s"]["env"], json!({"API_KEY": "${API_KEY}", "PLAIN": "x", "TOKEN_FROM": "${KEPT}"}));
    assert_eq!(got["mcpServers"]["s"]["args"][0], "--api-key");
    assert_eq!(got["mcpServers"]["s"]["args"][1], "${S_API_KEY}");
    assert_eq!(got["mcpServers"]["s"]["args"][4], "plain");
    assert_eq!(got["mcpServers"]["h"]["headers"], json!({"Authorization": "Bearer ${H_AUTHORIZATION}", "X-Team": "a"}));
    assert!(shown.stderr.contains("set the variable API_KEY") && shown.stderr.contains("--with-secrets"), "{shown:#?}");
    // Only on request, and for the owner alone.
    let shown = sandbox.run(&["import", "cursor", "--with-secrets", "--replace"]).exits(0);
    assert!(!shown.stdout.contains(secret) && !shown.stderr.contains(secret), "{shown:#?}");
    assert_eq!(written(&sandbox)["mcpServers"]["s"]["env"]["API_KEY"], secret);
    let mode = fs::metadata(sandbox.home().join("mcp.json")).expect("known").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    sandbox.run(&["import", "cursor", "--with-secrets", "--project-file"]).exits(2);
}

#[test]
fn what_is_there_stays_unless_it_is_to_be_replaced() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.home().join("mcp.json"), r#"{"note":"mine","mcpServers":{"a":{"command":"mine"}}}"#);
    sandbox.write(
        &sandbox.user().join(".cursor/mcp.json"),
        r#"{"mcpServers":{"a":{"command":"theirs"},"b":{"command":"b"}}}"#,
    );
    let (_, report) = sandbox.json(&["import", "cursor"]);
    assert_eq!(
        (&row(&report, "cursor", "a")["outcome"], &row(&report, "cursor", "b")["outcome"]),
        (&json!("kept"), &json!("added"))
    );
    assert_eq!(
        written(&sandbox),
        json!({"note": "mine", "mcpServers": {"a": {"command": "mine"}, "b": {"command": "b"}}})
    );
    sandbox.run(&["import", "cursor", "--replace"]).exits(0);
    assert_eq!(written(&sandbox)["mcpServers"]["a"], json!({"command": "theirs"}));
    sandbox.run(&["import", "cursor", "--project-file"]).exits(0);
    assert!(fs::read_to_string(sandbox.project().join(".mcp.json")).expect("a file").contains("theirs"));
    // A file that cannot be read is left as it is.
    sandbox.write(&sandbox.home().join("mcp.json"), "{ not JSON");
    let refused = sandbox.run(&["import", "cursor"]).exits(7);
    assert!(refused.stderr.contains("mcp.json"), "{refused:#?}");
    assert_eq!(fs::read_to_string(sandbox.home().join("mcp.json")).expect("a file"), "{ not JSON");
}

#[test]
fn agents_without_files_and_files_without_sense_are_said() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.user().join(".codex/config.toml"), "[mcp_servers\n");
    sandbox.write(&sandbox.user().join(".config/goose/config.yaml"), "extensions: [1, 2]\n");
    let (code, report) = sandbox.json(&["import", "codex", "goose", "zed"]);
    let notes = report["import"]["notes"].to_string();
    assert!(
        code == 0 && notes.contains("config.toml") && notes.contains("not a table") && notes.contains("looked at"),
        "{notes}"
    );
    assert_eq!(report["import"]["changed"], false);
    sandbox.run(&["import", "emacs"]).exits(2);
    let (_, quiet) = sandbox.json(&["import"]);
    assert!(!quiet["import"]["notes"].to_string().contains("looked at"), "nobody uses all of them: {quiet:#}");
}
