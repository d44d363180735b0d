use std::collections::BTreeSet;
use std::fs;

use jackfield_test_support::{eventually, is_alive};

use super::support::Chat;

/// Another version of the extension.
fn edit(chat: &Chat, number: usize) {
    chat.sandbox.write(&chat.extension().join("version.txt"), &number.to_string());
}

#[test]
fn a_running_channel_is_switched_over_again_and_again_without_loss() {
    for modes in ["ok", "no_cancel"] {
        let mut chat = Chat::new(modes);
        chat.allow("*");
        let running = chat.echo();
        running.tells("connected");
        let senders = ["ada", "bob", "eve"];
        let mut said = 0;
        let rounds = if modes == "ok" { 15 } else { 3 };
        for round in 0..rounds {
            for _ in 0..5 {
                for sender in senders {
                    chat.say(sender, &said.to_string());
                }
                said += 1;
            }
            edit(&chat, round);
            chat.sandbox.run(&["reload"]).exits(0);
        }
        eventually(&format!("{modes}: all are answered"), || chat.sent().len() >= said * senders.len());
        let expected: Vec<String> = (0..said).map(|number| number.to_string()).collect();
        for sender in senders {
            let mut heard = chat.sent_to(sender);
            if modes == "no_cancel" {
                // An open receive of the old one cannot be ended, and what it gets comes beside what the new one gets.
                heard.sort_by_key(|text| text.parse::<usize>().unwrap_or(0));
            }
            assert_eq!(heard, expected, "{modes}: {sender}");
        }
        let pids: BTreeSet<u64> = chat.sent().iter().filter_map(|line| line["pid"].as_u64()).collect();
        assert!(pids.len() > 2, "{modes}: several versions answered: {pids:?}");
        let last = *pids.iter().max().expect("some");
        eventually("old versions go", || {
            pids.iter().filter(|pid| **pid != last).all(|pid| !is_alive(u32::try_from(*pid).unwrap_or(0)))
                || chat.happened("start") > 0 && living(&chat) <= 1
        });
        running.tells("switched");
        running.stop();
        assert_eq!(chat.letters(), (0, 0));
        chat.ledger();
    }
}

/// How many instances of the extension live.
fn living(chat: &Chat) -> usize {
    let log = fs::read_to_string(chat.spool().join("log")).unwrap_or_default();
    let pids = log.lines().filter_map(|line| line.strip_prefix("start ")?.parse().ok());
    pids.filter(|pid| is_alive(*pid)).count()
}

#[test]
fn an_answer_under_way_goes_out_where_its_message_came_in() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let (go, begun) = (chat.sandbox.path("go"), chat.sandbox.path("begun"));
    let wait = format!(
        "command:sh -c 'read -r text; while [ $text = wait ] && [ ! -e {} ]; do touch {}; sleep 0.02; done; echo $text'",
        go.display(),
        begun.display()
    );
    let running = chat.run(&["--respond", &wait]);
    chat.say("bob", "first");
    chat.hears("bob", &["first"]);
    chat.say("bob", "wait");
    eventually("the responder is at work", || begun.exists());
    edit(&chat, 1);
    chat.sandbox.run(&["reload"]).exits(0);
    running.tells("switched");
    chat.say("ada", "on the new one");
    chat.hears("ada", &["on the new one"]);
    fs::write(go, "").expect("a file");
    chat.hears("bob", &["first", "wait"]);
    let pid = |text: &str| chat.sent().into_iter().find(|line| line["text"] == text).map(|line| line["pid"].clone());
    assert_eq!(pid("wait"), pid("first"), "on the one that received it");
    assert_ne!(pid("on the new one"), pid("first"));
    eventually("the old one goes", || living(&chat) == 1);
    assert_eq!(chat.happened("disconnect"), 1, "the old one was told");
    running.stop();
}

#[test]
fn an_edit_is_live_and_a_broken_one_changes_nothing() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let running = chat.run(&["--respond", "echo", "--watch"]);
    chat.say("bob", "one");
    chat.hears("bob", &["one"]);
    chat.sandbox.write(&chat.extension().join("extension.toml"), "id = \"box");
    let broken = chat.sandbox.run(&["reload"]);
    assert_ne!(broken.code, 0, "{broken:#?}");
    running.tells("not_reloaded");
    chat.say("bob", "two");
    chat.hears("bob", &["one", "two"]);
    // A version that cannot connect while the old one is there takes its place all the same.
    chat.install("connect_fails:3,description:better", "");
    chat.sandbox.run(&["reload"]);
    running.tells("reloaded");
    eventually("the new version is connected", || chat.happened("connect") >= 5);
    chat.say("bob", "three");
    chat.hears("bob", &["one", "two", "three"]);
    let (_, listed) = chat.sandbox.json(&["channel", "list"]);
    assert_eq!(listed["channels"][1]["description"], "better");
    running.stop();
}

#[test]
fn a_channel_that_goes_and_comes_back_is_run_again() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let running = chat.echo();
    chat.say("bob", "one");
    chat.hears("bob", &["one"]);
    let aside = chat.sandbox.path("aside");
    fs::rename(chat.extension(), &aside).expect("moved away");
    chat.sandbox.run(&["reload"]).exits(0);
    running.tells("connect_failed");
    chat.say("bob", "two");
    fs::rename(&aside, chat.extension()).expect("moved back");
    chat.sandbox.run(&["reload"]).exits(0);
    chat.hears("bob", &["one", "two"]);
    running.stop();
}
