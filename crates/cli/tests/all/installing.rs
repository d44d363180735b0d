//! `ext install|remove|enable|disable`, and where extensions are looked for: flags before the project before the home,
//! names that collide, `extensions.yaml`, and what an extension requires.

use std::fs;
use std::path::Path;
use std::process::Command;

use jackfield_test_support::{Sandbox, keys};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// `id state scope` of every row, in the order of the listing.
#[track_caller]
fn rows(sandbox: &Sandbox, flags: &[&str]) -> Vec<String> {
    let mut words = flags.to_vec();
    words.push("list");
    let (code, listing) = sandbox.json(&words);
    assert_eq!(code, 0, "{listing:#}");
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("id"), text("state"), text("scope"))
    };
    listing["extensions"].as_array().expect("a list").iter().map(row).collect()
}

#[track_caller]
fn diagnostics(sandbox: &Sandbox) -> String {
    let (_, listing) = sandbox.json(&["list"]);
    let message = |diagnostic: &Value| format!("{}: {}\n", diagnostic["level"], diagnostic["message"]);
    listing["diagnostics"].as_array().expect("a list").iter().map(message).collect()
}

#[test]
fn an_extension_comes_and_goes() {
    let sandbox = sandbox();
    let source = sandbox.plain_at(&sandbox.path("src/plain"), "plain", &["who"], &[]);
    let installed = sandbox.home().join("extensions/plain");
    let (code, answer) = sandbox.json(&["ext", "install", &text(&source)]);
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(keys(&answer), "hash id ok path version");
    sandbox.run(&["call", "who"]).exits(0);

    // Switched off and on again.
    for (verb, done, state) in [("disable", "disabled", "disabled"), ("enable", "enabled", "idle")] {
        let (code, answer) = sandbox.json(&["ext", verb, "plain"]);
        assert_eq!(code, 0, "{answer:#}");
        assert_eq!(
            answer,
            json!({ "ok": true, "action": done, "name": "plain", "path": installed.join("extension.json") })
        );
        assert_eq!(rows(&sandbox, &[]), [format!("plain {state} global")]);
        let (code, answer) = sandbox.json(&["call", "who"]);
        if verb == "disable" {
            // Its tool is not just gone: who had it, and why it is not there, is said.
            assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");
            assert_eq!(answer["error"]["extension"], "plain");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.contains("switched off"), "{message}");
            assert_eq!(sandbox.json(&["tools"]).1["tools"], json!([]));
        } else {
            assert_eq!(code, 0, "{answer:#}");
        }
    }

    // A second installation needs the flag, and says so.
    let (code, answer) = sandbox.json(&["ext", "install", &text(&source)]);
    assert_eq!(code, 2, "{answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|message| message.contains("--update")), "{answer:#}");
    sandbox.plain_at(&source, "plain", &["who", "more"], &[]);
    sandbox.run(&["ext", "install", "--update", &text(&source)]).exits(0);
    sandbox.run(&["call", "more"]).exits(0);

    // Nobody is there to confirm, so it stays.
    sandbox.run(&["ext", "remove", "plain"]).exits(4);
    assert!(installed.is_dir());
    let (code, answer) = sandbox.json(&["ext", "remove", "plain", "--yes"]);
    assert_eq!((code, &answer["action"]), (0, &json!("removed")), "{answer:#}");
    assert!(!installed.exists());
    assert!(source.is_dir());
    sandbox.run(&["call", "who"]).exits(3);
}

#[test]
fn a_failed_update_leaves_what_was_there() {
    let sandbox = sandbox();
    let source = sandbox.plain_at(&sandbox.path("src/plain"), "plain", &["who"], &[]);
    sandbox.run(&["ext", "install", &text(&source)]).exits(0);
    for (what, manifest) in [
        ("not JSON", "{".to_owned()),
        ("nothing to run", json!({ "name": "plain" }).to_string()),
        ("a name that is none", json!({ "name": "..", "exec": "sh" }).to_string()),
    ] {
        sandbox.write(&source.join("extension.json"), &manifest);
        let output = sandbox.run(&["ext", "install", "--update", &text(&source)]);
        assert_ne!(output.code, 0, "{what}: {output:#?}");
        assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "plain\n", "{what}");
    }
    // A link that leads out of the source must not be followed.
    sandbox.plain_at(&source, "plain", &["who"], &[]);
    std::os::unix::fs::symlink("/etc/hostname", source.join("stolen")).expect("a link");
    sandbox.run(&["ext", "install", "--update", &text(&source)]).exits(2);
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "plain\n");
    // Nothing half done lies around.
    let left: Vec<_> = fs::read_dir(sandbox.home().join("extensions")).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(!sandbox.home().join("plain").exists());
}

#[test]
fn here_and_links_and_git() {
    let sandbox = sandbox();
    sandbox.plain_at(&sandbox.project(), "here", &["who"], &[]);
    let (code, answer) = sandbox.json(&["ext", "install", "."]);
    assert_eq!((code, &answer["id"]), (0, &json!("here")), "{answer:#}");
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "here\n");
    sandbox.run(&["ext", "remove", "here", "--yes"]).exits(0);
    assert!(sandbox.project().join("extension.json").is_file());

    let linked = sandbox.plain_at(&sandbox.path("src/linked"), "linked", &["who"], &[]);
    sandbox.run(&["ext", "install", "--link", &text(&linked)]).exits(0);
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "linked\n");
    sandbox.plain_at(&linked, "linked", &["newer"], &[]);
    sandbox.run(&["reload", "linked"]).exits(0);
    assert_eq!(sandbox.run(&["call", "newer"]).exits(0).stdout, "linked\n");
    sandbox.run(&["ext", "remove", "linked", "--yes"]).exits(0);
    assert!(linked.join("extension.json").is_file(), "only the link goes");

    let repository = sandbox.plain_at(&sandbox.path("src/cloned"), "cloned", &["who"], &[]);
    for words in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "commit", "--quiet", "-m", "first"],
    ] {
        let status = Command::new("git").args(words).current_dir(&repository).status().expect("git runs");
        assert!(status.success(), "{words:?}");
    }
    let url = format!("file://{}", repository.display());
    let (code, answer) = sandbox.json(&["ext", "install", &url]);
    assert_eq!((code, &answer["id"]), (0, &json!("cloned")), "{answer:#}");
    assert_eq!(sandbox.run(&["call", "who"]).exits(0).stdout, "cloned\n");
    let output = sandbox.run(&["ext", "install", "file:///nowhere/at/all.git"]).exits(7);
    assert!(output.stderr.contains("/nowhere/at/all.git"), "{output:#?}");
}

#[test]
fn flags_come_first_then_the_project_then_the_home() {
    let sandbox = sandbox();
    let answer = |flags: &[&str]| {
        let mut words = flags.to_vec();
        words.extend(["call", "who"]);
        sandbox.run(&words).exits(0).stdout
    };
    let version = |dir: &Path, mark: &str| {
        sandbox.plain_at(dir, "same", &["who"], &[]);
        let script = fs::read_to_string(dir.join("run.sh")).expect("a script");
        sandbox.write(&dir.join("run.sh"), &script.replace("\"text\":\"same\"", &format!("\"text\":\"{mark}\"")));
        text(dir)
    };
    version(&sandbox.home().join("extensions/same"), "from home");
    assert_eq!(rows(&sandbox, &[]), ["same idle global"]);
    assert_eq!(answer(&[]), "from home\n");
    version(&sandbox.project().join(".jackfield/extensions/same"), "from project");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(rows(&sandbox, &[]), ["same idle project", "same shadowed global"]);
    assert_eq!(answer(&[]), "from project\n");
    let first = version(&sandbox.path("first"), "from first");
    let second = version(&sandbox.path("second"), "from second");
    let flags = ["-e", &first, "--ext", &second];
    assert_eq!(
        rows(&sandbox, &flags),
        ["same idle flag", "same shadowed flag", "same shadowed project", "same shadowed global"]
    );
    assert_eq!(answer(&flags), "from first\n");
    // What hides another is named.
    let said = diagnostics(&sandbox);
    assert!(said.contains("is hidden by the one in"), "{said}");
    // And one that is switched off hides nothing.
    let manifest = sandbox.project().join(".jackfield/extensions/same/extension.json");
    let off = fs::read_to_string(&manifest).expect("a manifest").replacen('{', "{\"enabled\":false,", 1);
    sandbox.write(&manifest, &off);
    assert_eq!(rows(&sandbox, &[]), ["same disabled project", "same idle global"]);
    assert_eq!(answer(&[]), "from home\n");
}

#[test]
fn names_that_collide_stay_callable() {
    let sandbox = sandbox();
    sandbox.plain("alpha", &["who", "read"], &["me", "help"]);
    sandbox.plain("beta", &["who", "Odd Name!"], &["me"]);
    let (code, listing) = sandbox.json(&["tools"]);
    assert_eq!(code, 0, "{listing:#}");
    let names: Vec<String> = listing["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|tool| format!("{} {} {}", tool["name"], tool["qualified_name"], tool["extension"]).replace('"', ""))
        .collect();
    assert_eq!(
        names,
        [
            "Odd_Name_ ext_beta_Odd_Name_ beta",
            "ext_alpha_read ext_alpha_read alpha",
            "ext_beta_who ext_beta_who beta",
            "who ext_alpha_who alpha",
        ]
    );
    let said = listing["diagnostics"].to_string();
    for part in [
        "tool read of extension alpha is offered as ext_alpha_read: the name belongs to the host",
        "tool who of extension beta is offered as ext_beta_who: the name belongs to extension alpha",
        "command /help of extension alpha is offered as /alpha:help: the name belongs to the host",
        "command /me of extension beta is offered as /beta:me: the name belongs to extension alpha",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for (words, answer) in [
        (["call", "who"], "alpha\n"),
        (["call", "ext_alpha_who"], "alpha\n"),
        (["call", "ext_beta_who"], "beta\n"),
        (["call", "ext_alpha_read"], "alpha\n"),
        (["call", "Odd_Name_"], "beta\n"),
        (["run", "me"], "alpha\n"),
        (["run", "/beta:me"], "beta\n"),
        (["run", "alpha:help"], "alpha\n"),
    ] {
        assert_eq!(sandbox.run(&words).exits(0).stdout, answer, "{words:?}");
    }
}

#[test]
fn settings_switch_off_and_allow() {
    let sandbox = sandbox();
    sandbox.plain("alpha", &["a"], &[]);
    sandbox.plain("beta", &["b"], &[]);
    let settings = sandbox.home().join("extensions.yaml");
    // What they offer is known from here on.
    sandbox.run(&["tools"]).exits(0);
    let check = |yaml: &str, expected: [&str; 2]| {
        sandbox.write(&settings, yaml);
        assert_eq!(rows(&sandbox, &[]), expected, "{yaml}");
        for (tool, row) in [("a", expected[0]), ("b", expected[1])] {
            sandbox.run(&["call", tool]).exits(if row.contains("disabled") { 6 } else { 0 });
        }
    };
    check("extensions:\n  disabled: [alpha]\n", ["alpha disabled global", "beta idle global"]);
    let (_, listing) = sandbox.json(&["list"]);
    let error = listing["extensions"][0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("`disabled`") && error.contains("extensions.yaml"), "{error}");
    check("extensions:\n  allowlist: [beta, gamma]\n", ["alpha disabled global", "beta idle global"]);
    let said = diagnostics(&sandbox);
    assert!(said.contains("allowlist contains `gamma` but no extension with that id was discovered"), "{said}");
    check("extensions:\n  enabled: false\n", ["alpha disabled global", "beta disabled global"]);
    check("extensions: {}\nunheard_of: 1\n", ["alpha idle global", "beta idle global"]);
    assert!(diagnostics(&sandbox).contains("unknown key `unheard_of` is ignored"));
    // Settings that cannot be read are reported and switch nothing off.
    sandbox.write(&settings, "extensions: [\n");
    assert_eq!(rows(&sandbox, &[]), ["alpha idle global", "beta idle global"]);
    assert!(diagnostics(&sandbox).contains("extensions.yaml"));
    sandbox.run(&["doctor"]).exits(7);
}

#[test]
fn further_places_can_be_named() {
    let sandbox = sandbox();
    sandbox.plain_at(&sandbox.path("shared/deep/er"), "deep", &["d"], &[]);
    sandbox.plain_at(&sandbox.path("shared/node_modules/x"), "ignored", &["i"], &[]);
    let shared = text(&sandbox.path("shared"));
    let yaml = format!("extensions:\n  search_paths: [{shared}, ./nowhere]\n");
    sandbox.write(&sandbox.home().join("extensions.yaml"), &yaml);
    assert_eq!(rows(&sandbox, &[]), ["deep idle global"]);
    assert_eq!(sandbox.run(&["call", "d"]).exits(0).stdout, "deep\n");
    let said = diagnostics(&sandbox);
    assert!(said.contains("search path not found or unreadable"), "{said}");
}

#[test]
fn what_is_required_must_be_there() {
    let mut sandbox = sandbox();
    let dir = sandbox.home().join("extensions/needy");
    sandbox.misbehave_rpc("needy", "ok");
    let manifest = fs::read_to_string(dir.join("plugin.toml")).expect("a manifest");
    let requires = "\n[requires]\nbins = [\"sh\", \"no-such-program\"]\nenv = [\"JACKFIELD_TEST_TOKEN\"]\n";
    sandbox.write(&dir.join("plugin.toml"), &format!("{manifest}{requires}"));
    assert_eq!(rows(&sandbox, &[]), ["needy missing_requirements global"]);
    let (_, listing) = sandbox.json(&["list"]);
    assert_eq!(
        listing["extensions"][0]["error"],
        "it needs what is not there: program no-such-program, variable JACKFIELD_TEST_TOKEN"
    );
    let (code, answer) = sandbox.json(&["check", &text(&dir)]);
    assert_eq!((code, &answer["ok"]), (6, &json!(false)), "{answer:#}");
    assert_eq!(keys(&answer), "diagnostics id manifest ok path standing");
    assert_eq!(
        answer["standing"],
        json!({ "standing": "missing_requirements", "bins": ["no-such-program"], "env": ["JACKFIELD_TEST_TOKEN"] })
    );
    sandbox.run(&["inspect", &text(&dir)]).exits(6);
    let (code, answer) = sandbox.json(&["call", "ext_needy_echo"]);
    assert_eq!((code, &answer["error"]["extension"]), (6, &json!("needy")), "{answer:#}");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|message| message.contains("no-such-program")),
        "{answer:#}"
    );

    // A program that appears is enough, and what is required reaches the child although it looks like a secret.
    sandbox.write(&dir.join("plugin.toml"), &format!("{manifest}{}", requires.replace(", \"no-such-program\"", "")));
    sandbox.env("JACKFIELD_TEST_TOKEN", "token-0123456789");
    assert_eq!(rows(&sandbox, &[]), ["needy idle global"]);
    sandbox.run(&["call", "ext_needy_echo", "text=x"]).exits(0);
}
