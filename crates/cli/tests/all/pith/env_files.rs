//! Case 10: `.env`, in a project that is trusted and in the home.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use jackfield_test_support::{Sandbox, eventually};
use serde_json::{Value, json};

use super::support::{Peer, called, holding, pipe, sandbox, server_file, tool};

const VALUE: &str = "sesame-open-now";

/// A tool that is given the variable DOOR, and one that is not.
fn with_tools(sandbox: &Sandbox) {
    let source = "import os\ndef run():\n    return os.environ.get('DOOR', 'none')\n";
    let block = "# /// script\n# [tool.jackfield]\n# requires = { env = [\"DOOR\"] }\n# ///\n";
    tool(sandbox, "entitled", &format!("{block}{source}"));
    tool(sandbox, "nosy", source);
    tool(sandbox, "asking", "def run():\n    return str(host.call('env', {'name': 'DOOR'})['value'])\n");
}

fn private(file: &Path, text: &str) {
    fs::write(file, text).expect("a file");
    fs::set_permissions(file, fs::Permissions::from_mode(0o600)).expect("private");
}

fn listed(sandbox: &Sandbox) -> Value {
    let (code, listed) = sandbox.json(&["secret", "list"]);
    assert_eq!(code, 0, "{listed:#}");
    listed
}

/// What is said about files in a listing.
fn diagnostics(sandbox: &Sandbox) -> String {
    sandbox.json(&["list"]).1["diagnostics"].to_string()
}

#[test]
fn case_10_a_trusted_projects_env_serves_who_may_have_it_and_nobody_else() {
    let mut sandbox = sandbox();
    with_tools(&sandbox);
    let file = sandbox.project().join(".env");
    let text = format!("# a comment\n\nexport DOOR = \"{VALUE}\"  # why\nOTHER_KEY='the other value'\nEMPTY=\n");
    sandbox.write(&file, &text);
    assert_ne!(sandbox.run(&["call", "entitled"]).code, 0, "a project waits for trust");
    let waiting = listed(&sandbox);
    assert_eq!((&waiting["secrets"], &waiting["from"]), (&json!([]), &json!({})), "{waiting:#}");
    assert!(waiting["problems"][0].as_str().is_some_and(|text| text.contains("jackfield trust")), "{waiting:#}");

    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    assert_eq!(called(&sandbox, &["call", "nosy"]), "none");
    assert_ne!(sandbox.run(&["call", "asking"]).code, 0, "it was not granted");
    sandbox.run(&["grant", "tools.asking", "env", "--env", "DOOR"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "asking"]), VALUE);
    let here = json!(file.canonicalize().expect("a path"));
    assert_eq!(
        listed(&sandbox),
        json!({ "secrets": ["DOOR", "OTHER_KEY"], "from": { "DOOR": here, "OTHER_KEY": here }, "problems": [] })
    );
    // The project comes before the home, the store before both, the environment before all.
    private(&sandbox.home().join(".env"), "DOOR=of-the-home\nHOME_KEY=only-the-home\n");
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    assert_eq!(listed(&sandbox)["secrets"], json!(["DOOR", "HOME_KEY", "OTHER_KEY"]));
    sandbox.run_with_input(&["secret", "set", "DOOR"], "of-the-store").exits(0);
    assert_eq!(called(&sandbox, &["call", "entitled"]), "of-the-store");
    assert_eq!(listed(&sandbox)["from"]["DOOR"], "store");
    let shown = sandbox.run(&["secret", "list"]).exits(0).stdout;
    assert!(shown.starts_with("DOOR\nHOME_KEY  (") && shown.contains(".env)\n"), "{shown}");
    sandbox.env("DOOR", "of-the-environment");
    assert_eq!(called(&sandbox, &["call", "entitled"]), "of-the-environment");
    // Nobody writes into it, and it counts as long as the project is trusted.
    assert_eq!(fs::read_to_string(&file).expect("untouched"), text);
    sandbox.run(&["trust", "--revoke"]).exits(0);
    assert_eq!(listed(&sandbox)["secrets"], json!(["DOOR", "HOME_KEY"]));
}

#[test]
fn case_10_a_home_has_one_too_which_must_be_private() {
    let sandbox = sandbox();
    with_tools(&sandbox);
    let file = sandbox.home().join(".env");
    private(&file, &format!("DOOR={VALUE}\n"));
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("for everybody");
    assert_ne!(sandbox.run(&["call", "entitled"]).code, 0);
    let said = diagnostics(&sandbox);
    assert!(said.contains("can be read by others") && said.contains("chmod 600") && !said.contains(VALUE), "{said}");
}

#[test]
fn case_10_variables_of_servers_are_filled_in_from_it() {
    let peer = Peer::start(Some("Bearer sesame-open-now"));
    let sandbox = sandbox();
    let text = format!("url: {}\nheaders: {{ Authorization: 'Bearer ${{PEER_TOKEN}}' }}\n", peer.url);
    server_file(&sandbox, "weather.yaml", &text);
    private(&sandbox.home().join(".env"), &format!("PEER_TOKEN='{VALUE}'\n"));
    assert_eq!(called(&sandbox, &["call", "mcp_weather_forecast", "city=Oslo"]), "forecast in Oslo");
    fs::remove_file(sandbox.home().join(".env")).expect("removed");
    sandbox.write(&sandbox.project().join(".env"), &format!("PEER_TOKEN={VALUE}\n"));
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "mcp_weather_alerts", "city=Rome"]), "alerts in Rome");
    assert_eq!(holding(&sandbox.home(), VALUE), Vec::<String>::new());
}

#[test]
fn case_10_a_host_that_runs_sees_what_was_written_since_and_shows_it_nowhere() {
    let sandbox = sandbox();
    let source = "import sys\ndef run():\n    value = str(host.call('env', {'name': 'DOOR'})['value'])\n    \
                  print('complained', value, file=sys.stderr)\n    \
                  if value != 'None':\n        raise ValueError(f'it is {value} of {len(value)}')\n    return value\n";
    tool(&sandbox, "asking", source);
    sandbox.run(&["grant", "tools.asking", "env", "--env", "DOOR"]).exits(0);
    let block = "# /// script\n# [tool.jackfield]\n# requires = { env = [\"DOOR\"] }\n# ///\n";
    tool(&sandbox, "entitled", &format!("{block}import os\ndef run():\n    return str(len(os.environ['DOOR']))\n"));
    sandbox.run(&["trust"]).exits(0);
    let mut rpc = sandbox.rpc(&["--watch"]);
    let call = |tool: &str| json!({ "type": "call_tool", "tool": tool, "args": {} });
    assert!(rpc.ask(call("asking")).to_string().contains("None"));
    sandbox.write(&sandbox.project().join(".env"), &format!("DOOR={VALUE}\n"));
    let mut said = String::new();
    eventually("the new value", || {
        said = rpc.ask(call("asking")).to_string();
        said.contains("it is [REDACTED] of 15")
    });
    eventually("what waited for it is there", || rpc.ask(call("entitled"))["data"]["content"][0]["text"] == "15");
    sandbox.write(&sandbox.project().join(".env"), "DOOR=another-value-of-it\n");
    eventually("the next value, and not the old one", || {
        said = rpc.ask(call("asking")).to_string();
        said.contains("it is [REDACTED] of 19")
    });
    drop(rpc);
    let logs = fs::read_to_string(sandbox.home().join("logs/ext-tools.asking.log")).expect("a log");
    assert!(logs.contains("complained [REDACTED]"), "{logs}");
    assert_eq!(holding(&sandbox.home(), VALUE), Vec::<String>::new());
    assert_eq!(holding(&sandbox.home(), "another-value-of-it"), Vec::<String>::new());
}

#[test]
fn case_10_a_bad_line_is_named_and_the_others_count() {
    let sandbox = sandbox();
    with_tools(&sandbox);
    let file = sandbox.project().join(".env");
    let mut text =
        format!("DOOR={VALUE}\n{VALUE}\nA=\"{VALUE}\nLD_PRELOAD={VALUE}\nPATH=/nowhere\nPYTHONPATH=/nowhere\n");
    text.push_str("JACKFIELD_HOME=/nowhere\nbad name=x\n");
    let mut bytes = text.into_bytes();
    bytes.extend(b"LATIN=\xe4\xf6\xfc\n=x\nLAST=1\n");
    fs::write(&file, bytes).expect("a file");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    let said = diagnostics(&sandbox);
    for line in 2..=10 {
        assert!(said.contains(&format!(".env:{line}: ")), "{line}: {said}");
    }
    assert!(!said.contains(".env:1:") && !said.contains(".env:11:") && !said.contains(VALUE), "{said}");
    assert!(said.contains("LD_PRELOAD is not taken") && said.contains("not UTF-8"), "{said}");
    assert!(sandbox.run(&["tools"]).exits(0).stderr.contains(".env:2: "), "people are told");
    assert_eq!(listed(&sandbox)["secrets"], json!(["DOOR", "LAST"]));
    // Many bad lines are not many words.
    sandbox.write(&file, &"nonsense\n".repeat(20_000));
    let said = diagnostics(&sandbox);
    assert!(said.contains("19990 more lines") && said.len() < 10_000, "{}", said.len());
}

#[test]
fn case_10_what_is_no_file_of_the_project_is_refused_and_holds_nobody_up() {
    let sandbox = sandbox();
    with_tools(&sandbox);
    let file = sandbox.project().join(".env");
    sandbox.run(&["trust"]).exits(0);
    let refused = |what: &str, why: &str| {
        let began = Instant::now();
        let said = diagnostics(&sandbox);
        assert!(said.contains(".env") && said.contains(why), "{what}: {said}");
        assert_ne!(sandbox.run(&["call", "entitled"]).code, 0, "{what}");
        assert_eq!(called(&sandbox, &["call", "nosy"]), "none", "{what}");
        assert!(began.elapsed() < Duration::from_secs(20), "{what}: {:?}", began.elapsed());
        fs::remove_file(&file).or_else(|_| fs::remove_dir(&file)).expect("removed");
    };
    let outside = sandbox.path("outside.env");
    private(&outside, &format!("DOOR={VALUE}\n"));
    symlink(&outside, &file).expect("a link");
    refused("a link that leads out", "leads out of the project");
    pipe(&file);
    refused("a pipe", "it is not read");
    fs::create_dir(&file).expect("a folder");
    refused("a folder", "it is not read");
    fs::File::create(&file).and_then(|file| file.set_len(300 << 20)).expect("a large file");
    refused("300 MB", "more than 262144 bytes");
    symlink("/dev/zero", &file).expect("a link");
    refused("a device", "leads out of the project");
    // A link that stays inside is the project's own.
    sandbox.write(&sandbox.project().join("local.env"), &format!("DOOR={VALUE}\n"));
    symlink("local.env", &file).expect("a link");
    assert_eq!(called(&sandbox, &["call", "entitled"]), VALUE);
    // The home's is held to what the store is held to.
    fs::remove_file(&file).expect("removed");
    for kind in ["link", "pipe", "large"] {
        let file = sandbox.home().join(".env");
        match kind {
            "link" => symlink(&outside, &file).expect("a link"),
            "pipe" => pipe(&file),
            _ => {
                private(&file, "");
                fs::File::options().write(true).open(&file).and_then(|file| file.set_len(300 << 20)).expect("large");
            }
        }
        let said = diagnostics(&sandbox);
        assert!(said.contains("it is not read"), "{kind}: {said}");
        assert_ne!(sandbox.run(&["call", "entitled"]).code, 0, "{kind}");
        fs::remove_file(&file).expect("removed");
    }
}
