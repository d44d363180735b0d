//! `jackfield connect`: the agents' own files, through the built binary.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jackfield_test_support::{Output, Sandbox};
use serde_json::Value;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

/// An agent, its file for the user, its file in a project, and a sample with comments where it takes them.
const AGENTS: [(&str, &str, &str, &str); 5] = [
    (
        "claude",
        ".claude.json",
        ".mcp.json",
        "{\n  \"numStartups\": 7,\n  \"projects\": {\"/x\": {\"mcpServers\": {}}},\n  \"mcpServers\": {\n    \"a\": {\"type\": \"stdio\", \"command\": \"npx\", \"args\": []}\n  }\n}",
    ),
    (
        "codex",
        ".codex/config.toml",
        ".codex/config.toml",
        "# mine\nmodel = \"m\"\n\n[mcp_servers.docs] # theirs\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        ".gemini/settings.json",
        "{\n\t// a comment\n\t\"theme\": \"dark\",\n\t\"mcpServers\": {},\n}\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        ".vscode/mcp.json",
        "{\r\n    \"inputs\": [], // none\r\n    \"servers\": {\r\n        \"a\": { \"type\": \"http\", \"url\": \"https://x\" }\r\n    }\r\n}\r\n",
    ),
    ("cursor", ".cursor/mcp.json", ".cursor/mcp.json", "{ \"mcpServers\": { \"a\": { \"command\": \"x\" } } }"),
];

fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = sandbox.command(&[&["connect"], args].concat());
    for name in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
        command.env_remove(name);
    }
    let output = command.stdin(std::process::Stdio::null()).output().expect("the binary runs");
    Output {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The entry in a file, as JSON.
fn entry(agent: &str, text: &str) -> Value {
    if agent == "codex" {
        // Simple enough to be read by eye: the last table.
        let (_, table) = text.split_once("[mcp_servers.jackfield]\n").unwrap_or_else(|| panic!("no entry: {text}"));
        let pairs = table.lines().filter_map(|line| line.split_once(" = "));
        return pairs
            .map(|(key, value)| (key.to_owned(), serde_json::from_str::<Value>(value).expect("JSON")))
            .collect();
    }
    let plain: String =
        text.lines().map(|line| line.split(" //").next().unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let plain = plain.replace("\t// a comment", "").replace(",\n}", "\n}").replace(",\r\n}", "\n}");
    let value: Value = serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"));
    let container = if agent == "vscode" { "servers" } else { "mcpServers" };
    value[container]["jackfield"].clone()
}

#[test]
fn every_agent_there_and_back() {
    for (agent, user, project, sample) in AGENTS {
        for in_project in [false, true] {
            let sandbox = sandbox();
            let (file, flags): (PathBuf, &[&str]) = match in_project {
                true => (sandbox.project().join(project), &["--in-project"]),
                false => (sandbox.user().join(user), &[]),
            };
            sandbox.write(&file, sample);
            fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("a mode");
            let with = |more: &[&'static str]| [&[agent], flags, more].concat();

            let shown = run(&sandbox, &with(&["--dry-run"])).exits(0);
            assert!(shown.stdout.contains("jackfield") && shown.stdout.contains("\n+"), "{}", shown.stdout);
            assert_eq!(fs::read_to_string(&file).expect("the file"), sample, "{agent}: a dry run changes nothing");
            let refused = run(&sandbox, &with(&[])).exits(4);
            assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
            assert_eq!(fs::read_to_string(&file).expect("the file"), sample, "{agent}: nobody was asked");

            run(&sandbox, &with(&["--yes"])).exits(0);
            let text = fs::read_to_string(&file).expect("the file");
            let entry = entry(agent, &text);
            assert_eq!(entry["command"], env!("CARGO_BIN_EXE_jackfield"), "{agent}: {text}");
            let args: Vec<&str> = entry["args"].as_array().expect("words").iter().filter_map(Value::as_str).collect();
            assert_eq!(args, ["--home", sandbox.home().to_str().expect("UTF-8"), "mcp"]);
            for line in sample.lines().filter(|line| line.contains("//") || line.contains('#')) {
                assert!(text.contains(line.trim_end_matches(',')), "{agent}: comments stay: {text}");
            }
            assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o640);
            let again = run(&sandbox, &with(&["--yes"])).exits(0);
            assert!(again.stdout.contains("already"), "{}", again.stdout);

            run(&sandbox, &with(&["--undo", "--yes"])).exits(0);
            assert_eq!(fs::read_to_string(&file).expect("the file"), sample, "{agent}: byte for byte");
            let again = run(&sandbox, &with(&["--undo", "--yes"])).exits(0);
            assert!(again.stdout.contains("does not use jackfield"), "{}", again.stdout);
        }
    }
}

#[test]
fn a_file_that_was_not_there_goes_again() {
    for (agent, user, _, _) in AGENTS {
        let sandbox = sandbox();
        let file = sandbox.user().join(user);
        fs::create_dir_all(sandbox.user()).expect("a home");
        run(&sandbox, &[agent, "--yes"]).exits(0);
        let text = fs::read_to_string(&file).expect("made");
        assert_eq!(entry(agent, &text)["command"], env!("CARGO_BIN_EXE_jackfield"));
        assert_eq!(fs::metadata(&file).expect("there").permissions().mode() & 0o777, 0o600);
        run(&sandbox, &[agent, "--undo", "--yes"]).exits(0);
        let left: Vec<_> = fs::read_dir(sandbox.user()).expect("a home").collect();
        assert!(left.is_empty(), "{agent}: {left:?}");
    }
}

#[test]
fn what_others_wrote_since_stays() {
    for (agent, user, _, sample) in AGENTS {
        let sandbox = sandbox();
        let file = sandbox.user().join(user);
        sandbox.write(&file, sample);
        run(&sandbox, &[agent, "--yes"]).exits(0);
        let (from, to) = if agent == "codex" { ("model = \"m\"", "model = \"n\"") } else { ("\"a\"", "\"b\"") };
        let (from, to) = if agent == "gemini" { ("dark", "light") } else { (from, to) };
        let text = fs::read_to_string(&file).expect("the file").replace(from, to);
        fs::write(&file, &text).expect("edited");
        run(&sandbox, &[agent, "--undo", "--yes"]).exits(0);
        let left = fs::read_to_string(&file).expect("the file");
        assert!(left.contains(to) && !left.contains("jackfield"), "{agent}: {left}");
    }
}

#[test]
fn what_cannot_be_understood_is_left_alone() {
    for (agent, user, _, _) in AGENTS {
        let sandbox = sandbox();
        let file = sandbox.user().join(user);
        for broken in ["{ \"mcpServers\": { \"a\" 1 } }\n[x", "{\n", "\u{0}"] {
            sandbox.write(&file, broken);
            let output = run(&sandbox, &[agent, "--yes"]).exits(7);
            assert!(output.stderr.contains("nothing was changed") && output.stderr.contains(user), "{}", output.stderr);
            assert_eq!(fs::read_to_string(&file).expect("the file"), broken);
        }
        fs::write(&file, b"\xff\xfe").expect("not text");
        run(&sandbox, &[agent, "--yes"]).exits(7);
    }
}

#[test]
fn a_configuration_that_is_a_link_stays_one() {
    let sandbox = sandbox();
    let real = sandbox.path("dotfiles/mcp.json");
    sandbox.write(&real, "{}");
    fs::create_dir_all(sandbox.user().join(".cursor")).expect("a folder");
    std::os::unix::fs::symlink(&real, sandbox.user().join(".cursor/mcp.json")).expect("a link");
    run(&sandbox, &["cursor", "--yes"]).exits(0);
    assert!(fs::read_to_string(&real).expect("the file").contains("jackfield"));
    assert!(fs::symlink_metadata(sandbox.user().join(".cursor/mcp.json")).expect("there").is_symlink());
    run(&sandbox, &["cursor", "--undo", "--yes"]).exits(0);
    assert_eq!(fs::read_to_string(&real).expect("the file"), "{}");
}

#[test]
fn pi_gets_an_extension() {
    let sandbox = sandbox();
    sandbox.plain("one", &["first"], &[]);
    let file = sandbox.user().join(".pi/agent/extensions/jackfield.ts");
    run(&sandbox, &["pi", "--yes"]).exits(0);
    let text = fs::read_to_string(&file).expect("made");
    assert!(text.contains("first") && text.contains("--serve"), "{text}");
    fs::write(&file, format!("{text}// mine\n")).expect("edited");
    let refused = run(&sandbox, &["pi", "--undo", "--yes"]).exits(7);
    assert!(refused.stderr.contains("by hand"), "{}", refused.stderr);
    fs::write(&file, text).expect("as it was");
    run(&sandbox, &["pi", "--undo", "--yes"]).exits(0);
    assert!(!sandbox.user().join(".pi").exists());

    let own = sandbox.project().join(".pi/extensions/jackfield.ts");
    sandbox.write(&own, "// somebody's own\n");
    run(&sandbox, &["pi", "--in-project", "--yes"]).exits(0);
    assert!(fs::read_to_string(&own).expect("the file").contains("Written by jackfield"));
    run(&sandbox, &["pi", "--in-project", "--undo", "--yes"]).exits(0);
    assert_eq!(fs::read_to_string(&own).expect("the file"), "// somebody's own\n");
}

#[test]
fn answers_for_programs() {
    let sandbox = sandbox();
    let mut command = sandbox.command(&["--json", "connect", "cursor", "--yes"]);
    let output = command.output().expect("the binary runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&answer["ok"], &answer["agent"], &answer["status"]),
        (&true.into(), &"cursor".into(), &"connected".into())
    );
    assert!(answer["difference"].as_str().expect("text").contains("+      \"command\""), "{answer:#}");
    run(&sandbox, &["emacs"]).exits(2);
}
