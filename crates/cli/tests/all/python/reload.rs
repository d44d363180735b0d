//! Saving a file while a host runs.

use std::fs;
use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::{Value, json};

use super::support::{Dev, sandbox, save, text, tool, tool_file};

fn says(word: &str) -> String {
    format!("def run():\n    return '{word}'\n")
}

#[test]
fn saves_are_live_new_files_appear_and_removed_ones_go() {
    let sandbox = sandbox();
    let file = tool(&sandbox, "word", &says("one"));
    let mut dev = Dev::start(&sandbox, &[]);
    assert_eq!(text(&dev.call("word")), "one");
    // The same size, within the same second, and twice within the time that a save may take.
    save(&file, &says("two"));
    save(&file, &says("six"));
    assert_eq!(dev.reloaded("tools.word")["error"], Value::Null);
    eventually("the last save is live", || text(&dev.call("word")) == "six");
    fs::write(&file, says("ten")).expect("written in place");
    eventually("a save in place is live", || text(&dev.call("word")) == "ten");

    save(&tool_file(&sandbox, "fresh"), &says("new"));
    assert_eq!(dev.reloaded("tools.fresh")["changes"], json!(["added"]));
    assert_eq!(text(&dev.call("fresh")), "new");
    fs::remove_file(tool_file(&sandbox, "fresh")).expect("removed");
    assert_eq!(dev.reloaded("tools.fresh")["changes"], json!(["removed"]));
    assert_eq!(dev.call("fresh")["error"]["code"], "not_found");
}

/// Whoever works on a trusted project with `dev` beside the editor need not vouch for every save; nobody else can for them.
#[test]
fn a_trusted_project_stays_so_while_it_is_worked_on() {
    let sandbox = sandbox();
    let file = sandbox.project().join("extensions/tools/word.py");
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    save(&file, &says("one"));
    let mut dev = Dev::start(&sandbox, &[]);
    save(&file, &says("never"));
    assert_eq!(dev.call("word")["error"]["code"], "not_found", "nobody has vouched for it");
    drop(dev);

    assert_eq!(sandbox.run(&["trust"]).code, 0);
    let mut dev = Dev::start(&sandbox, &[]);
    assert_eq!(text(&dev.call("word")), "never");
    save(&file, &says("two"));
    assert_eq!(dev.reloaded("tools.word")["error"], Value::Null);
    assert_eq!(text(&dev.call("word")), "two");
    assert_eq!(sandbox.run(&["call", "word"]).stdout.trim(), "two");
    drop(dev);
    save(&file, &says("six"));
    let refused = sandbox.run(&["call", "word"]);
    assert!(refused.code != 0 && refused.stderr.contains("jackfield trust"), "{refused:?}");
}

#[test]
fn a_broken_save_keeps_the_old_version_and_says_where() {
    let sandbox = sandbox();
    let file = tool(&sandbox, "word", &says("good"));
    tool(&sandbox, "other", &says("other"));
    let mut dev = Dev::start(&sandbox, &[]);
    assert_eq!(text(&dev.call("word")), "good");
    save(&file, "def run():\n    return (\n");
    let error = dev.reloaded("tools.word")["error"].as_str().expect("an error").to_owned();
    assert!(error.contains("word.py:2: SyntaxError"), "{error}");
    assert_eq!(text(&dev.call("word")), "good");
    assert_eq!(text(&dev.call("other")), "other");
    save(&file, &says("better"));
    assert_eq!(dev.reloaded("tools.word")["error"], Value::Null);
    assert_eq!(text(&dev.call("word")), "better");
}

#[test]
fn a_helper_that_is_saved_renews_those_who_use_it() {
    let sandbox = sandbox();
    tool(&sandbox, "word", "from _words import word\ndef run():\n    return word\n");
    tool(&sandbox, "other", "import time\nborn = time.time_ns()\ndef run():\n    return str(born)\n");
    let helper = tool(&sandbox, "_words", "word = 'one'\n");
    let mut dev = Dev::start(&sandbox, &[]);
    assert_eq!(text(&dev.call("word")), "one");
    let born = text(&dev.call("other")).to_owned();
    save(&helper, "word = 'two'\n");
    dev.reloaded("tools.word");
    assert_eq!(text(&dev.call("word")), "two");
    assert_eq!(text(&dev.call("other")), born, "who does not use it is left alone");
}

#[test]
fn calls_under_way_finish_on_the_version_they_began_on() {
    let sandbox = sandbox();
    let slow = |word: &str| {
        format!(
            "import pathlib, time\ndef run(go: str = ''):\n    if go:\n        pathlib.Path(go + '.begun').touch()\n        \
             while not pathlib.Path(go).exists():\n            time.sleep(0.01)\n    return '{word}'\n"
        )
    };
    let file = tool(&sandbox, "word", &slow("old"));
    let mut dev = Dev::start(&sandbox, &[]);
    let go = sandbox.path("go");
    dev.types(&format!("word go={}", go.display()));
    eventually("the call has begun", || sandbox.path("go.begun").exists());
    save(&file, &slow("new"));
    dev.reloaded("tools.word");
    assert_eq!(text(&dev.call("word")), "new");
    sandbox.write(&go, "");
    let answer = dev.wait_for("the first call", |line| line["tool"] == "word" && line["ok"].is_boolean());
    assert_eq!(text(&answer), "old");
}

#[test]
fn a_directory_of_ones_own_is_watched_and_an_agent_can_write_its_first_tool() {
    let sandbox = sandbox();
    let root = sandbox.path("mine");
    sandbox.write(&root.join("tools/word.py"), &says("one"));
    let mut dev = Dev::start(&sandbox, &[&root.display().to_string()]);
    assert_eq!(text(&dev.call("word")), "one");
    save(&root.join("tools/second.py"), &says("second"));
    dev.reloaded("tools.second");
    assert_eq!(text(&dev.call("second")), "second");
    // The home has had no directory for tools until now.
    sandbox.write(&tool_file(&sandbox, "first"), &says("first"));
    dev.reloaded("tools.first");
    assert_eq!(text(&dev.call("first")), "first");
}

#[test]
fn prints_and_progress_are_shown() {
    let sandbox = sandbox();
    tool(&sandbox, "talks", "def run():\n    print('a word')\n    progress('half')\n    return 'done'\n");
    let mut dev = Dev::start(&sandbox, &[]);
    dev.types("talks");
    dev.wait_for("the print", |line| line["type"] == "ext_log" && line["line"]["message"] == "a word");
    dev.wait_for("the progress", |line| line["type"] == "ext_progress" && line["message"] == "half");
    dev.types("quit");
    let deadline = Instant::now() + Duration::from_secs(20);
    while jackfield_test_support::is_alive(dev.pid()) {
        assert!(Instant::now() < deadline, "`quit` ends it");
        std::thread::sleep(Duration::from_millis(10));
    }
}
