//! Case 8: secrets are kept, listed by name, given to those who may have them, and shown nowhere.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use jackfield_test_support::{Sandbox, at_terminal};
use serde_json::{Value, json};

use super::support::{Peer, called, holding, sandbox, server_file, tool};

const VALUE: &str = "sesame-open-now";

/// Keeps a value as a program would.
#[track_caller]
fn keep(sandbox: &Sandbox, name: &str, value: &str) {
    let output = sandbox.run_with_input(&["secret", "set", name], value).exits(0);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains(name) && !said.contains(value.trim()), "{said}");
}

fn names(sandbox: &Sandbox) -> Value {
    let (code, listed) = sandbox.json(&["secret", "list"]);
    assert_eq!(code, 0, "{listed:#}");
    listed["secrets"].clone()
}

#[test]
fn case_08_names_are_listed_in_order_and_replaced_without_a_double() {
    let sandbox = sandbox();
    assert_eq!(names(&sandbox), json!([]));
    assert!(sandbox.run(&["secret", "list"]).exits(0).stdout.contains("jackfield secret set"));
    keep(&sandbox, "ZULU_TOKEN", "the-last-of-them\n");
    keep(&sandbox, "ALPHA_KEY", VALUE);
    // What editors and people leave beside them is none.
    let folder = sandbox.home().join("secrets");
    for name in ["# comment", ".ALPHA_KEY.swp", "notes.txt"] {
        fs::write(folder.join(name), "x").expect("a file");
    }
    fs::create_dir(folder.join("mcp")).expect("a directory");
    assert_eq!(names(&sandbox), json!(["ALPHA_KEY", "ZULU_TOKEN"]));
    keep(&sandbox, "ALPHA_KEY", "another-value-now");
    assert_eq!(names(&sandbox), json!(["ALPHA_KEY", "ZULU_TOKEN"]));
    assert_eq!(fs::read_to_string(folder.join("ALPHA_KEY")).expect("a file"), "another-value-now");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&folder.join("ALPHA_KEY"))), (0o700, 0o600));
    assert_eq!(sandbox.run(&["secret", "list"]).exits(0).stdout, "ALPHA_KEY\nZULU_TOKEN\n");
    sandbox.run(&["secret", "remove", "ALPHA_KEY"]).exits(0);
    let gone = sandbox.run(&["secret", "remove", "ALPHA_KEY"]).exits(3);
    assert!(gone.stderr.contains("no secret ALPHA_KEY"), "{gone:#?}");
    assert_eq!(names(&sandbox), json!(["ZULU_TOKEN"]));
}

#[test]
fn case_08_what_cannot_be_kept_is_refused() {
    let sandbox = sandbox();
    for name in ["", "1ST", "A-B", "A B", "A=B", "A\nB", "../A", "a/b", "PATH", "LD_PRELOAD", "PYTHONPATH", "mcp"] {
        let refused = sandbox.run_with_input(&["secret", "set", name], VALUE).exits(2);
        assert!(!refused.stderr.contains(VALUE) && !refused.stderr.is_empty(), "{refused:#?}");
    }
    for value in ["", "\n", "a\0b"] {
        let refused = sandbox.run_with_input(&["secret", "set", "A_TOKEN"], value).exits(2);
        assert!(refused.stderr.contains("the value for A_TOKEN cannot be kept"), "{refused:#?}");
    }
    // Never as an argument, where every process of the machine sees it.
    let refused = sandbox.run_with_input(&["secret", "set", "A_TOKEN", VALUE], VALUE).exits(2);
    assert!(refused.stderr.contains("Usage"), "{refused:#?}");
    assert_eq!(names(&sandbox), json!([]));
    assert!(!sandbox.home().join("secrets").exists());
    let short = sandbox.run_with_input(&["secret", "set", "PIN"], "1234\n").exits(0);
    assert!(short.stderr.contains("fewer than 8 characters") && !short.stderr.contains("1234"), "{short:#?}");
}

#[test]
fn case_08_links_and_files_for_everybody_are_refused() {
    let sandbox = sandbox();
    keep(&sandbox, "A_TOKEN", VALUE);
    let folder = sandbox.home().join("secrets");
    let outside = sandbox.path("outside");
    fs::write(&outside, "not-a-secret-of-this-home").expect("a file");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o600)).expect("private");
    symlink(&outside, folder.join("B_TOKEN")).expect("a link");
    let refused = sandbox.run_with_input(&["secret", "set", "B_TOKEN"], VALUE).exits(7);
    assert!(refused.stderr.contains("it is a link"), "{refused:#?}");
    assert_eq!(fs::read_to_string(&outside).expect("untouched"), "not-a-secret-of-this-home");
    let block = "# /// script\n# [tool.jackfield]\n# requires = { env = [\"B_TOKEN\"] }\n# ///\n";
    tool(&sandbox, "nosy", &format!("{block}import os\ndef run():\n    return os.environ.get('B_TOKEN')\n"));
    assert_ne!(sandbox.run(&["call", "nosy"]).code, 0);
    let said = sandbox.run(&["tools"]).stderr;
    assert!(said.contains("tools.nosy") && said.contains("B_TOKEN: it is a link"), "{said}");
    assert!(sandbox.run(&["secret", "list"]).exits(0).stderr.contains("it is a link"));
    sandbox.run(&["secret", "remove", "B_TOKEN"]).exits(0);
    assert!(outside.exists(), "only the link goes");

    let moved = sandbox.path("moved");
    fs::rename(&folder, &moved).expect("moved");
    symlink(&moved, &folder).expect("a link");
    for words in [&["secret", "list"][..], &["secret", "set", "A_TOKEN"], &["secret", "remove", "A_TOKEN"]] {
        let refused = sandbox.run_with_input(words, VALUE).exits(7);
        assert!(refused.stderr.contains("it is a link"), "{refused:#?}");
    }
}

#[test]
fn case_08_who_may_have_it_gets_it_and_nobody_else() {
    let sandbox = sandbox();
    // A name that does not look like a secret is one all the same.
    let source = "import os\ndef run():\n    return os.environ.get('DOOR', 'none')\n";
    tool(&sandbox, "nosy", source);
    let block = "# /// script\n# [tool.jackfield]\n# requires = { env = [\"DOOR\"] }\n# ///\n";
    tool(&sandbox, "entitled", &format!("{block}{source}"));
    let asking = "def run():\n    return str(host.call('env', {'name': 'DOOR'})['value'])\n";
    tool(&sandbox, "asking", asking);
    assert_ne!(sandbox.run(&["call", "entitled"]).code, 0);
    let said = sandbox.run(&["list"]).stderr;
    assert!(said.contains("missing variable `DOOR`"), "{said}");
    keep(&sandbox, "DOOR", VALUE);
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    assert_eq!(called(&sandbox, &["call", "nosy"]), "none");
    let refused = sandbox.run(&["call", "asking"]).exits(1);
    assert!(refused.stdout.contains("HostError") && !refused.stdout.contains(VALUE), "{refused:#?}");
    sandbox.run(&["grant", "tools.asking", "env", "--env", "DOOR"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "asking"]), VALUE);
    sandbox.run(&["grant", "tools.nosy", "env", "--env", "OTHER"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "nosy"]), "none");
    sandbox.run(&["secret", "remove", "DOOR"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "asking"]), "None");
    assert_ne!(sandbox.run(&["call", "entitled"]).code, 0);
    // The environment comes first.
    keep(&sandbox, "DOOR", VALUE);
    let mut sandbox = sandbox;
    sandbox.env("DOOR", "from-the-environment");
    assert_eq!(called(&sandbox, &["call", "asking"]), "from-the-environment");
    assert_eq!(called(&sandbox, &["call", "entitled"]), "from-the-environment");
}

#[test]
fn case_08_a_host_that_runs_gives_what_was_kept_since_and_shows_it_nowhere() {
    let sandbox = sandbox();
    let source = "import sys\ndef run():\n    value = str(host.call('env', {'name': 'LATE_TOKEN'})['value'])\n    \
                  print('printed', value)\n    print('complained', value, file=sys.stderr)\n    log('logged ' + value, 'warn', value=value)\n    \
                  if value != 'None':\n        raise ValueError('it is ' + value)\n    return value\n";
    tool(&sandbox, "late", source);
    sandbox.run(&["grant", "tools.late", "env", "--env", "LATE_TOKEN"]).exits(0);
    let mut rpc = sandbox.rpc(&[]);
    let call = json!({ "type": "call_tool", "tool": "late", "args": {} });
    let before = rpc.ask(call.clone()).to_string();
    assert!(before.contains("None"), "{before}");
    keep(&sandbox, "LATE_TOKEN", VALUE);
    let after = rpc.ask(call).to_string();
    assert!(after.contains("it is [REDACTED]") && !after.contains(VALUE), "{after}");
    drop(rpc);
    let logs = fs::read_to_string(sandbox.home().join("logs/ext-tools.late.log")).expect("a log");
    assert!(logs.contains("complained None") && logs.contains("complained [REDACTED]"), "{logs}");
    assert_eq!(holding(&sandbox.home(), VALUE), Vec::<String>::new());
}

#[test]
fn case_08_servers_are_given_what_their_files_name() {
    let peer = Peer::start(Some("Bearer sesame-open-now"));
    let sandbox = sandbox();
    let text = format!("url: {}\nheaders: {{ Authorization: 'Bearer ${{PEER_TOKEN}}' }}\n", peer.url);
    server_file(&sandbox, "weather.yaml", &text);
    let refused = sandbox.run(&["tools"]).exits(0);
    assert!(refused.stderr.contains("jackfield secret set PEER_TOKEN"), "{refused:#?}");
    keep(&sandbox, "PEER_TOKEN", VALUE);
    sandbox.run(&["reload", "weather"]);
    assert_eq!(called(&sandbox, &["call", "mcp_weather_forecast", "city=Oslo"]), "forecast in Oslo");
    assert_eq!(holding(&sandbox.home(), VALUE), Vec::<String>::new());
}

#[test]
fn case_08_at_a_terminal_it_is_asked_for_and_not_shown() {
    let sandbox = sandbox();
    let question = "value for A_TOKEN (it is not shown): ";
    let typed = format!("wrong\u{15}{VALUE}!\u{7f}\r");
    let (seen, code) = at_terminal(&sandbox, &["secret", "set", "A_TOKEN"], &[(question, &typed)]);
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("kept A_TOKEN") && !seen.contains(VALUE) && !seen.contains("wrong"), "{seen}");
    assert_eq!(fs::read_to_string(sandbox.home().join("secrets/A_TOKEN")).expect("a file"), VALUE);
    let (seen, code) = at_terminal(&sandbox, &["secret", "set", "A_TOKEN"], &[(question, "other\u{3}")]);
    assert_ne!(code, 0, "{seen}");
    assert!(seen.contains("nothing was changed") && !seen.contains("other"), "{seen}");
    assert_eq!(fs::read_to_string(sandbox.home().join("secrets/A_TOKEN")).expect("a file"), VALUE);
}
