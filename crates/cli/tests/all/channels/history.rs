//! What is said in a session, where the owner wants it kept.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use jackfield_test_support::eventually;
use serde_json::Value;

use super::support::Chat;

/// A program that says how many lines of history it was given, and what it heard.
const COUNTS: &str =
    r#"command:sh -c 'read -r text; echo "$(grep -c . "$JACKFIELD_HISTORY") ${JACKFIELD_SOUL:-no soul} $text"'"#;

fn ask(chat: &mut Chat, sender: &str, text: &str) -> String {
    let before = chat.sent_to(sender).len();
    chat.say(sender, text);
    eventually(&format!("an answer to {text}"), || chat.sent_to(sender).len() > before);
    chat.sent_to(sender).pop().expect("an answer")
}

fn histories(chat: &Chat) -> Vec<PathBuf> {
    let entries = fs::read_dir(chat.kept().join("history")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

fn lines(file: &PathBuf) -> Vec<Value> {
    let text = fs::read_to_string(file).expect("a history");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn case_09_sessions_are_begun_described_and_compacted() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let running = chat.run(&["--respond", COUNTS, "--history", "--history-keep", "4"]);
    assert_eq!(ask(&mut chat, "ada", "hi"), "0 no soul hi", "what was said before, not what is said now");
    assert_eq!(ask(&mut chat, "ada", "ho"), "2 no soul ho");
    assert_eq!(ask(&mut chat, "bob", "hi"), "0 no soul hi", "another's session");
    assert_eq!(ask(&mut chat, "ada", "he"), "4 no soul he");
    let info = ask(&mut chat, "ada", "/info");
    assert!(info.contains("messages 3") && info.contains("history 6"), "{info}");
    let session = info.lines().next().and_then(|line| line.strip_prefix("session ")).expect("a session").to_owned();
    let file = chat.kept().join(format!("history/{session}.jsonl"));
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(chat.kept().join("history")).expect("a folder").permissions().mode() & 0o777, 0o700);
    let said: Vec<(String, String)> = lines(&file)
        .iter()
        .map(|line| {
            assert!(line["ts"].is_string(), "{line}");
            (line["role"].as_str().unwrap_or_default().to_owned(), line["text"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    let pair = |role: &str, text: &str| (role.to_owned(), text.to_owned());
    assert_eq!(said[..2], [pair("user", "hi"), pair("assistant", "0 no soul hi")]);
    assert_eq!(said.len(), 6, "commands are not part of it");

    assert_eq!(ask(&mut chat, "ada", "/compact"), format!("compacted session {session}: 4 of 6 kept"));
    assert_eq!(lines(&file).iter().map(|line| line["text"].clone()).collect::<Vec<_>>()[0], "ho");
    assert_eq!(ask(&mut chat, "ada", "hu"), "4 no soul hu");
    assert!(ask(&mut chat, "ada", "/new").starts_with("new session chat-"));
    assert_eq!(ask(&mut chat, "ada", "hi"), "0 no soul hi", "a new session is empty");
    assert_eq!(histories(&chat).len(), 3);
    running.stop();
    // It outlives the host; and without the flag nothing is kept, or shown to the program.
    let running = chat.run(&["--respond", COUNTS, "--history"]);
    assert_eq!(ask(&mut chat, "ada", "ho"), "2 no soul ho");
    running.stop();
    let before: Vec<usize> = histories(&chat).iter().map(|file| lines(file).len()).collect();
    let running = chat.run(&["--respond", r#"command:sh -c 'echo "${JACKFIELD_HISTORY-none}"'"#]);
    assert_eq!(ask(&mut chat, "ada", "ho"), "none");
    assert!(ask(&mut chat, "ada", "/compact").contains("nothing to compact"));
    running.stop();
    assert_eq!(before, histories(&chat).iter().map(|file| lines(file).len()).collect::<Vec<_>>());
    chat.sandbox.run(&["channel", "run", "chat", "--respond", "echo", "--history-keep", "3"]).exits(2);
}

#[test]
fn case_10_compacting_keeps_fifty() {
    let mut chat = Chat::new("ok");
    chat.allow("ada");
    let running = chat.run(&["--respond", "echo", "--history"]);
    for number in 0..30 {
        chat.say("ada", &format!("word {number}"));
        eventually("an answer", || chat.sent_to("ada").len() > number);
    }
    let said = ask(&mut chat, "ada", "/compact");
    assert!(said.ends_with("50 of 60 kept"), "{said}");
    let kept = lines(&histories(&chat)[0]);
    assert_eq!((kept.len(), &kept[0]["text"], &kept[49]["text"]), (50, &"word 5".into(), &"word 29".into()));
    running.stop();
}

#[test]
fn case_06_a_program_is_given_the_soul_of_a_trusted_project() {
    let mut chat = Chat::new("ok");
    chat.allow("ada");
    chat.sandbox.write(&chat.sandbox.project().join("SOUL.md"), "Be brief.\n");
    let running = chat.run(&["--respond", COUNTS, "--history"]);
    assert_eq!(ask(&mut chat, "ada", "hi"), "0 no soul hi", "a project waits for trust");
    chat.sandbox.run(&["trust"]).exits(0);
    assert_eq!(ask(&mut chat, "ada", "ho"), "2 Be brief. ho");
    fs::remove_file(chat.sandbox.project().join("SOUL.md")).expect("removed");
    assert_eq!(ask(&mut chat, "ada", "he"), "4 no soul he");
    running.stop();
}

#[test]
fn a_killed_host_repairs_its_history_and_writes_nothing_twice() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let begun = chat.sandbox.path("begun");
    let running = chat.run(&["--respond", "echo", "--history"]);
    assert_eq!(ask(&mut chat, "bob", "one"), "one");
    running.stop();
    let file = histories(&chat).remove(0);
    let whole = fs::read_to_string(&file).expect("a history");
    fs::write(&file, format!("{whole}not a line of ours\n{{\"ts\":\"2026-")).expect("torn");
    // Killed while the responder is at work: the message is answered by the next run.
    let wait = format!("command:sh -c 'touch {}; sleep 600'", begun.display());
    let running = chat.run(&["--respond", &wait, "--history"]);
    chat.say("bob", "two");
    eventually("the responder is at work", || begun.exists());
    running.kill();
    // Killed after the answer was made and before it was sent.
    chat.install("send_hangs:9", "[limits]\ncall_timeout_ms = 60000");
    let running = chat.run(&["--respond", "echo", "--history"]);
    eventually("the answer is written down", || {
        fs::read_to_string(&file).is_ok_and(|text| text.matches("two").count() == 2)
    });
    running.kill();
    chat.install("ok", "");
    let running = chat.run(&["--respond", "echo", "--history"]);
    chat.hears("bob", &["one", "two"]);
    assert_eq!(ask(&mut chat, "bob", "three"), "three");
    running.stop();
    let text = fs::read_to_string(&file).expect("a history");
    let texts: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .map(|line| line["text"].clone())
        .collect();
    assert_eq!(texts, ["one", "one", "two", "two", "three", "three"], "{text}");
}

#[test]
fn a_history_that_leads_elsewhere_is_refused_and_people_are_answered() {
    let mut chat = Chat::new("ok");
    chat.allow("ada");
    let running = chat.run(&["--respond", "echo", "--history"]);
    assert_eq!(ask(&mut chat, "ada", "hi"), "hi");
    let file = histories(&chat).remove(0);
    let outside = chat.sandbox.path("outside");
    fs::write(&outside, "mine").expect("a file");
    fs::remove_file(&file).expect("removed");
    symlink(&outside, &file).expect("a link");
    assert_eq!(ask(&mut chat, "ada", "ho"), "ho");
    let told = running.tells("not_kept");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("it is a link")), "{told}");
    assert_eq!(fs::read_to_string(&outside).expect("untouched"), "mine");
    running.stop();
    let folder = chat.kept().join("history");
    fs::remove_dir_all(&folder).expect("removed");
    symlink(chat.sandbox.path("elsewhere"), &folder).expect("a link");
    let refused = chat.sandbox.run(&["channel", "run", "chat", "--respond", "echo", "--history"]);
    assert!(refused.code != 0 && refused.stderr.contains("it is a link"), "{refused:#?}");
}
