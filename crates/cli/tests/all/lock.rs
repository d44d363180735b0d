//! The lock file: what is installed runs only as it was accepted, whatever kind it is.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn lock_of(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.home().join("jackfield.lock")).expect("a lock file")
}

/// A source whose manifest asks for `capabilities`.
fn source(sandbox: &Sandbox, name: &str, version: &str, capabilities: &Value) -> String {
    let dir = sandbox.plain_at(&sandbox.path("src").join(name), name, &["who"], &[]);
    fs::remove_file(dir.join("extension.json")).expect("the manifest of the other format");
    let capabilities: Vec<String> = capabilities
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| format!("[[capabilities]]\ncapability = {}\nscope = {{ paths = {} }}\n", one["power"], one["paths"]))
        .collect();
    let manifest = format!(
        "id = \"{name}\"\nversion = \"{version}\"\n\n[run]\ncommand = \"sh\"\nargs = [\"run.sh\"]\n\n{}",
        capabilities.concat()
    );
    sandbox.write(&dir.join("extension.toml"), &manifest);
    text(&dir)
}

#[test]
fn an_installed_extension_is_recorded_and_forgotten() {
    let sandbox = sandbox();
    let from = source(&sandbox, "plain", "1.2.0", &json!([{ "power": "read", "paths": ["docs/**"] }]));
    sandbox.run(&["ext", "install", &from]).exits(0);
    sandbox.run(&["grant", "plain", "read", "--path", "docs/**"]).exits(0);
    let lock = lock_of(&sandbox);
    for line in [
        "[extensions.\"plain\"]",
        &format!("source = \"{from}\""),
        "version = \"1.2.0\"",
        "sha256 = \"",
        "requests = [\n    { capability = \"read\", scope = { paths = [\"docs/**\"] } },\n]",
        "granted = [\n    { capability = \"read\", scope = { paths = [\"docs/**\"] } },\n]",
        "\"run.sh\" = \"",
    ] {
        assert!(lock.contains(line), "no {line} in {lock}");
    }
    let (code, listing) = sandbox.json(&["ext", "list"]);
    let row = &listing["extensions"][0]["lock"];
    assert_eq!((code, &row["version"], &row["source"]), (0, &json!("1.2.0"), &json!(from)), "{listing:#}");
    assert_eq!(row["granted"][0]["capability"], "read paths=docs/**");
    let (code, answer) = sandbox.json(&["ext", "verify"]);
    assert_eq!((code, &answer["ok"], &answer["extensions"][0]["state"]), (0, &json!(true), &json!("fine")));

    // Our own edits keep the record true, and the same twice writes the same.
    sandbox.run(&["ext", "disable", "plain"]).exits(0);
    sandbox.run(&["ext", "enable", "plain"]).exits(0);
    sandbox.run(&["call", "who"]).exits(0);
    sandbox.run(&["revoke", "plain"]).exits(0);
    assert!(!lock_of(&sandbox).contains("granted"), "{}", lock_of(&sandbox));
    sandbox.run(&["ext", "remove", "plain", "--yes"]).exits(0);
    assert!(!lock_of(&sandbox).contains("plain"), "{}", lock_of(&sandbox));
}

#[test]
fn a_changed_file_is_named_and_asked_about_again() {
    let sandbox = sandbox();
    let from = source(&sandbox, "plain", "1.0.0", &json!([]));
    sandbox.run(&["ext", "install", &from]).exits(0);
    sandbox.run(&["call", "who"]).exits(0);
    let script = sandbox.home().join("extensions/plain/run.sh");
    let before = fs::read_to_string(&script).expect("a script");
    sandbox.write(&script, &format!("{before}# more\n"));
    sandbox.write(&sandbox.home().join("extensions/plain/extra.sh"), "");

    let (code, answer) = sandbox.json(&["call", "who"]);
    let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert_eq!((code, &answer["error"]["code"]), (4, &json!("denied")), "{answer:#}");
    for part in ["run.sh changed", "extra.sh is new", "jackfield.lock", "jackfield ext accept plain"] {
        assert!(message.contains(part), "no {part} in {message}");
    }
    let (_, listing) = sandbox.json(&["list"]);
    assert_eq!(listing["extensions"][0]["state"], "changed", "{listing:#}");
    let (code, answer) = sandbox.json(&["ext", "verify", "plain"]);
    assert_eq!((code, &answer["extensions"][0]["state"]), (1, &json!("changed")), "{answer:#}");

    // Without a person nothing is accepted; with one it is, as it is now.
    sandbox.run(&["ext", "accept", "plain"]).exits(4);
    sandbox.run(&["call", "who"]).exits(4);
    sandbox.run(&["ext", "accept", "plain", "--yes"]).exits(0);
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "plain\n");
    // Put back as it was, it is another again.
    sandbox.write(&script, &before);
    sandbox.run(&["call", "who"]).exits(4);
}

#[test]
fn a_guard_that_was_changed_still_guards() {
    let sandbox = sandbox();
    sandbox.plain("other", &["who"], &[]);
    let guard = sandbox.path("src/guard");
    sandbox.misbehave_at(&guard, "guard", "hook", json!({ "on_timeout": "deny" }));
    sandbox.run(&["ext", "install", &text(&guard)]).exits(0);
    let before = sandbox.run(&["call", "who"]);
    sandbox.write(&sandbox.home().join("extensions/guard/new"), "");
    let (code, answer) = sandbox.json(&["call", "who"]);
    assert_eq!(code, 4, "{before:#?} {answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("guard")), "{answer:#}");
}

#[test]
fn a_wider_request_is_asked_about_again() {
    let sandbox = sandbox();
    let narrow = json!([{ "power": "read", "paths": ["docs/**"] }]);
    let wide = json!([{ "power": "read", "paths": ["docs/**"] }, { "power": "write", "paths": ["docs/**"] }]);
    let from = source(&sandbox, "plain", "1.0.0", &narrow);
    sandbox.run(&["ext", "install", &from]).exits(0);
    source(&sandbox, "plain", "1.1.0", &wide);
    let (code, answer) = sandbox.json(&["ext", "install", "--update", &from]);
    assert_eq!(code, 4, "{answer:#}");
    let message = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("write paths=docs/**") && message.contains("--yes"), "{message}");
    assert!(lock_of(&sandbox).contains("version = \"1.0.0\""), "the old version stays");
    sandbox.run(&["call", "who"]).exits(0);
    sandbox.run(&["ext", "install", "--update", "--yes", &from]).exits(0);
    assert!(lock_of(&sandbox).contains("version = \"1.1.0\""));
    // Narrower again needs nobody.
    source(&sandbox, "plain", "1.2.0", &narrow);
    sandbox.run(&["ext", "install", "--update", &from]).exits(0);

    sandbox.run(&["ext", "remove", "plain", "--yes"]).exits(0);

    // What is linked is made to be edited, but asks again for more.
    let from = source(&sandbox, "linked", "1.0.0", &narrow);
    sandbox.run(&["ext", "install", "--link", &from]).exits(0);
    sandbox.write(&Path::new(&from).join("more.txt"), "");
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "linked\n");
    source(&sandbox, "linked", "1.0.0", &wide);
    let output = sandbox.run(&["call", "who"]);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(output.stderr.contains("write paths=docs/**"), "{output:#?}");
    sandbox.run(&["ext", "accept", "linked", "--yes"]).exits(0);
    sandbox.run(&["call", "who"]).exits(0);
}

#[test]
fn what_is_asked_at_run_time_is_recorded_and_compared() {
    let sandbox = sandbox();
    let dir = sandbox.path("src/late");
    let version = |capabilities: &Value| {
        let manifest =
            json!({ "schema": "pi.ext.manifest.v1", "name": "late", "version": "1", "exec": "sh", "args": ["run.sh"] });
        sandbox.write(&dir.join("extension.json"), &manifest.to_string());
        let register = json!({
            "id": "1", "version": "1.0", "type": "register",
            "payload": {
                "name": "late", "version": "1", "api_version": "1.0", "slash_commands": [], "event_hooks": [],
                "capability_manifest": { "schema": "pi.ext.cap.v1", "capabilities": capabilities },
                "tools": [{ "name": "who", "description": "x", "parameters": { "type": "object" } }],
            },
        });
        let script = format!(
            "echo '{register}'\nwhile read -r line; do\ncase $line in *tool_call*)\ncall=${{line#*call_id\\\":\\\"}}; call=${{call%%\\\"*}}\nid=${{line#*\\\"id\\\":\\\"}}; id=${{id%%\\\"*}}\necho \"{{\\\"id\\\":\\\"$id\\\",\\\"version\\\":\\\"1.0\\\",\\\"type\\\":\\\"tool_result\\\",\\\"payload\\\":{{\\\"call_id\\\":\\\"$call\\\",\\\"output\\\":{{\\\"content\\\":[{{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"late\\\"}}]}},\\\"is_error\\\":false}}}}\";;\nesac\ndone\n"
        );
        sandbox.write(&dir.join("run.sh"), &script);
    };
    version(&json!([{ "capability": "read" }]));
    sandbox.run(&["ext", "install", &text(&dir)]).exits(0);
    assert!(!lock_of(&sandbox).contains("requests"));
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "late\n");
    let lock = lock_of(&sandbox);
    assert!(lock.contains("{ capability = \"read\" }") && lock.contains("learned = true"), "{lock}");
    // The next version asks for more, which shows when it runs.
    version(&json!([{ "capability": "read" }, { "capability": "exec" }]));
    sandbox.run(&["ext", "install", "--update", &text(&dir)]).exits(0);
    let output = sandbox.run(&["call", "who"]).exits(6);
    assert!(output.stderr.contains("more than was accepted: exec"), "{output:#?}");
    assert!(output.stderr.contains("jackfield ext accept late"), "{output:#?}");
    sandbox.run(&["ext", "accept", "late", "--yes"]).exits(0);
    sandbox.run(&["reload", "late"]);
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "late\n");
    assert!(lock_of(&sandbox).contains("{ capability = \"exec\" }"), "{}", lock_of(&sandbox));
}

#[test]
fn a_damaged_lock_file_stops_what_is_installed_and_nothing_else() {
    let sandbox = sandbox();
    let from = source(&sandbox, "plain", "1.0.0", &json!([]));
    sandbox.run(&["ext", "install", &from]).exits(0);
    sandbox.run(&["call", "who"]).exits(0);
    let file = sandbox.home().join("jackfield.lock");
    let good = lock_of(&sandbox);
    let conflict = format!("{good}<<<<<<< ours\nversion = 1\n=======\nversion = 1\n>>>>>>> theirs\n");
    for (what, bad, says) in [
        ("conflict", conflict.as_str(), "merge"),
        ("not TOML", "version = [", "line 1"),
        ("a later version", "version = 9\n", "version is 9"),
        ("nothing", "", "version"),
        ("binary", "\u{0}\u{1}", "jackfield.lock"),
    ] {
        sandbox.write(&file, bad);
        let (code, answer) = sandbox.json(&["call", "who"]);
        let message = answer["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert_eq!(code, 4, "{what}: {answer:#}");
        assert!(message.contains("jackfield.lock") && message.contains(says), "{what}: {message}");
        // Nothing is installed over a record that nobody can read, and the file stays for its owner to repair.
        sandbox.run(&["ext", "install", "--update", &from]).exits(7);
        sandbox.run(&["ext", "verify"]).exits(7);
        assert_eq!(fs::read_to_string(&file).expect("the file"), bad, "{what}");
        assert_eq!(sandbox.run(&["-e", &from, "call", "who"]).exits(0).stdout, "plain\n", "{what}");
    }
    sandbox.write(&file, &good);
    sandbox.run(&["call", "who"]).exits(0);
    // Moved away, what is there counts as put there by hand.
    fs::remove_file(&file).expect("gone");
    sandbox.run(&["call", "who"]).exits(0);
    let (_, answer) = sandbox.json(&["ext", "verify"]);
    assert_eq!(answer["extensions"][0]["state"], "unrecorded", "{answer:#}");
    sandbox.run(&["ext", "accept", "plain", "--yes"]).exits(0);
    assert!(lock_of(&sandbox).contains("[extensions.\"plain\"]"));
}

#[test]
fn two_writers_lose_nothing() {
    let sandbox = sandbox();
    let names: Vec<String> = (0..8).map(|number| format!("plain{number}")).collect();
    let sources: Vec<String> = names.iter().map(|name| source(&sandbox, name, "1.0.0", &json!([]))).collect();
    let children: Vec<_> = sources
        .iter()
        .map(|from| {
            let mut command = sandbox.command(&["ext", "install", from]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs")
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let lock = lock_of(&sandbox);
    for name in &names {
        assert!(lock.contains(&format!("[extensions.\"{name}\"]")), "{name} is not in {lock}");
    }
    let (code, answer) = sandbox.json(&["ext", "verify"]);
    assert_eq!(code, 0, "{answer:#}");
    // A directory that is gone is missed.
    fs::remove_dir_all(sandbox.home().join("extensions/plain3")).expect("gone");
    let (code, answer) = sandbox.json(&["ext", "verify", "plain3"]);
    assert_eq!((code, &answer["extensions"][0]["state"]), (1, &json!("missing")), "{answer:#}");
    sandbox.run(&["ext", "accept", "plain3", "--yes"]).exits(0);
    assert!(!lock_of(&sandbox).contains("plain3"));
}
