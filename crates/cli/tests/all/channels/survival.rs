use std::fs;

use jackfield_test_support::{eventually, processes_mentioning};
use serde_json::json;

use super::support::{Chat, of_event};

#[test]
fn a_killed_host_answers_after_its_restart() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    chat.allow("ada");
    let (begun, mark) = (chat.sandbox.path("begun"), chat.sandbox.path("mark"));
    let wait = format!("command:sh -c 'touch {}; sleep 600' {}", begun.display(), mark.display());
    let running = chat.run(&["--respond", &wait]);
    chat.say("bob", "one");
    chat.say("bob", "two");
    chat.say("ada", "three");
    eventually("the responder is at work", || begun.exists() && chat.letters().0 == 3);
    running.kill();
    assert_eq!(chat.sent().len(), 0);
    eventually("the responder goes with the host", || processes_mentioning(&mark.display().to_string()).is_empty());

    let running = chat.echo();
    running.tells("resumed");
    chat.hears("bob", &["one", "two"]);
    chat.hears("ada", &["three"]);
    chat.say("bob", "four");
    chat.hears("bob", &["one", "two", "four"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
    chat.ledger();
}

#[test]
fn an_answer_that_was_not_sent_is_sent_after_the_restart_and_not_made_twice() {
    let mut chat = Chat::new("send_hangs:1");
    chat.allow("bob");
    let asked = chat.sandbox.path("asked");
    let count = format!("command:sh -c 'echo x >> {}; cat'", asked.display());
    let running = chat.run(&["--respond", &count]);
    chat.say("bob", "hello");
    eventually("it is being sent", || chat.happened("send") == 1);
    running.kill();
    let running = chat.run(&["--respond", &count]);
    chat.hears("bob", &["hello"]);
    running.stop();
    assert_eq!(fs::read_to_string(asked).expect("asked"), "x\n", "the responder was asked once");
}

#[test]
fn kills_at_any_moment_lose_nothing_that_was_handed_over() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let mut expected = Vec::new();
    for round in 0..12 {
        let already = chat.sent().len();
        let running = chat.echo();
        running.tells("connected");
        for number in 0..10 {
            let text = format!("{round}.{number}");
            chat.say("bob", &text);
            expected.push(text);
        }
        // A different moment each time: as soon as so many answers are out. Ten will come whatever was lost in earlier rounds.
        let enough = already + round.min(10);
        eventually("some answers", || chat.sent().len() >= enough);
        running.kill();
    }
    let running = chat.echo();
    chat.say("bob", "the end");
    eventually("the end", || chat.sent_to("bob").last().is_some_and(|text| text == "the end"));
    running.stop();
    let mut heard = chat.sent_to("bob");
    heard.dedup();
    // What the extension had taken out of the folder and not handed over when it was killed is not the host's to keep.
    let taken = fs::read_dir(chat.spool().join("taken")).expect("a folder").count();
    assert_eq!(taken, expected.len() + 1);
    let lost: Vec<&String> = expected.iter().filter(|text| !heard.contains(text)).collect();
    assert!(lost.len() <= 12, "at most the one in its hand each time: {lost:?}");
    let order: Vec<usize> = heard.iter().filter_map(|text| expected.iter().position(|e| e == text)).collect();
    assert!(order.is_sorted(), "in order: {heard:?}");
    assert_eq!(chat.letters(), (0, 0));
    chat.ledger();
}

#[test]
fn a_message_that_cannot_be_read_again_stops_nothing() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    for (name, text) in [("000000000001.json", "{"), ("000000000002.json", "[]"), ("x.json", "{}"), ("1.json", "{}")] {
        chat.sandbox.write(&chat.kept().join("inbox").join(name), text);
    }
    let letter = json!({ "number": 3, "received_at": "", "message": { "text": "kept", "sender": "bob" } });
    chat.sandbox.write(&chat.kept().join("inbox/000000000003.json"), &letter.to_string());
    let stranger = json!({ "number": 4, "received_at": "", "message": { "text": "old", "sender": "eve" } });
    chat.sandbox.write(&chat.kept().join("inbox/000000000004.json"), &stranger.to_string());
    let running = chat.echo();
    chat.hears("bob", &["kept"]);
    chat.say("bob", "new");
    chat.hears("bob", &["kept", "new"]);
    eventually("who may not speak any more is not answered", || chat.letters().1 >= 3);
    running.stop();
    assert_eq!(chat.sent_to("eve"), Vec::<String>::new());
    let records = chat.ledger();
    assert_eq!(of_event(&records, "channel.refused").len(), 1);
}

#[test]
fn a_message_that_cannot_be_kept_waits_until_it_can() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let running = chat.echo();
    running.tells("connected");
    let (inbox, aside) = (chat.kept().join("inbox"), chat.sandbox.path("aside"));
    fs::rename(&inbox, &aside).expect("moved away");
    chat.say("bob", "hello");
    running.tells("not_kept");
    assert_eq!(chat.sent().len(), 0, "nothing is done about what is not kept");
    fs::rename(&aside, &inbox).expect("moved back");
    chat.hears("bob", &["hello"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
}
