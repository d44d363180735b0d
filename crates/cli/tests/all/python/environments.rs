//! Which interpreter runs a file.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::support::{called, complaints, sandbox, tool, with_packages};

#[test]
fn without_an_interpreter_it_says_what_to_do() {
    let mut sandbox = sandbox();
    let nothing = sandbox.path("bin");
    fs::create_dir(&nothing).expect("a directory");
    sandbox.env("PATH", &nothing.display().to_string());
    tool(&sandbox, "greet", "def run():\n    return 'hello'\n");
    let said = complaints(&sandbox);
    assert!(said.contains("greet.py: no Python is on PATH") && said.contains("config.toml"), "{said}");
    sandbox.write(&sandbox.home().join("config.toml"), "[python]\ninterpreter = \"/no/such/python\"\n");
    let said = sandbox.run(&["reload", "tools.greet"]).stdout;
    assert!(said.contains("/no/such/python") && said.contains("[python]"), "{said}");
}

#[test]
fn one_beside_the_extension_wins_over_a_configured_one() {
    let sandbox = sandbox();
    // A stand-in that says that it was asked.
    let asked = sandbox.path("asked");
    let stand_in = sandbox.path("python");
    sandbox.write(&stand_in, &format!("#!/bin/sh\ntouch {}\nexec python3 \"$@\"\n", asked.display()));
    fs::set_permissions(&stand_in, fs::Permissions::from_mode(0o755)).expect("permissions");
    sandbox.write(
        &sandbox.home().join("config.toml"),
        &format!("[python]\ninterpreter = {:?}\n", stand_in.display().to_string()),
    );
    tool(&sandbox, "which", "import sys\ndef run():\n    return sys.prefix\n");
    called(&sandbox, &["which"]);
    assert!(asked.exists(), "the configured one ran it");
    fs::remove_file(&asked).expect("removed");
    with_packages(&sandbox);
    let prefix = called(&sandbox, &["which"]);
    assert_eq!(prefix, sandbox.home().join("extensions/.venv").display().to_string());
    assert!(!asked.exists());
    // One that is broken is not passed over in silence.
    let broken = sandbox.home().join("extensions/tools/.venv");
    sandbox.write(&broken.join("pyvenv.cfg"), "");
    let said = sandbox.run(&["reload", "tools.which"]).stdout;
    assert!(said.contains("has no interpreter that works") && said.contains("venv --clear"), "{said}");
}

#[test]
fn variables_that_look_secret_are_given_to_those_who_name_them() {
    let mut sandbox = sandbox();
    sandbox.env("CHAT_TOKEN", "sesame-open-now");
    let source = "import os\ndef run():\n    return os.environ.get('CHAT_TOKEN', 'none')\n";
    tool(&sandbox, "nosy", source);
    let block = "# /// script\n# [tool.jackfield]\n# requires = { env = [\"CHAT_TOKEN\"] }\n# ///\n";
    tool(&sandbox, "entitled", &format!("{block}{source}"));
    assert_eq!(called(&sandbox, &["nosy"]), "none");
    assert_eq!(called(&sandbox, &["entitled"]), "sesame-open-now");
}

#[test]
fn a_projects_files_wait_for_trust_and_again_after_a_change() {
    let sandbox = sandbox();
    let file = sandbox.project().join("extensions/tools/greet.py");
    sandbox.write(&file, "import _words\ndef run():\n    return _words.hello\n");
    sandbox.write(&file.with_file_name("_words.py"), "hello = 'hi'\n");
    assert_ne!(sandbox.run(&["call", "greet"]).code, 0);
    let (_, listed) = sandbox.json(&["list"]);
    assert_eq!(listed["extensions"][0]["state"], "untrusted", "{listed:#}");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, &["greet"]), "hi");
    assert_eq!(called(&sandbox, &["greet"]), "hi", "running it leaves nothing behind that would look like a change");
    sandbox.write(&file.with_file_name("_words.py"), "hello = 'changed'\n");
    sandbox.run(&["call", "greet"]).exits(4);
}

#[test]
fn files_are_installed_and_removed_one_by_one() {
    let sandbox = sandbox();
    let source = sandbox.path("src/greet.py");
    sandbox.write(&source, "import _words\ndef run():\n    return _words.hello\n");
    sandbox.write(&sandbox.path("src/_words.py"), "hello = 'hi'\n");
    let words = source.display().to_string();
    sandbox.run(&["ext", "install", &words]).exits(0);
    assert_eq!(called(&sandbox, &["greet"]), "hi");
    assert_ne!(sandbox.run(&["ext", "install", &words]).code, 0);
    tool(&sandbox, "other", "def run():\n    return 'other'\n");
    sandbox.run(&["ext", "disable", "tools.greet"]).exits(0);
    assert_ne!(sandbox.run(&["call", "greet"]).code, 0);
    sandbox.run(&["ext", "enable", "tools.greet"]).exits(0);
    assert_eq!(called(&sandbox, &["greet"]), "hi");
    sandbox.run(&["--yes", "ext", "remove", "greet"]).exits(0);
    assert_ne!(sandbox.run(&["call", "greet"]).code, 0);
    assert_eq!(called(&sandbox, &["other"]), "other");
}
