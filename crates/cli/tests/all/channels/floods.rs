use std::fs;

use jackfield_test_support::eventually;
use serde_json::Value;

use super::support::{Chat, of_event};

#[test]
fn many_senders_are_all_answered() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let running = chat.echo();
    for round in 0..2 {
        for sender in 0..120 {
            chat.say(&format!("s{sender}"), &format!("{sender}.{round}"));
        }
    }
    eventually("240 answers", || chat.sent().len() >= 240);
    for sender in 0..120 {
        assert_eq!(chat.sent_to(&format!("s{sender}")), [format!("{sender}.0"), format!("{sender}.1")]);
    }
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
}

#[test]
fn one_sender_cannot_take_all_the_room() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let go = chat.sandbox.path("go");
    let wait = format!(
        "command:sh -c 'read -r text; while [ $JACKFIELD_SENDER = mad ] && [ ! -e {} ]; do sleep 0.02; done; echo $text'",
        go.display()
    );
    let running = chat.run(&["--respond", &wait]);
    for number in 0..200 {
        chat.say("mad", &number.to_string());
    }
    chat.say("ada", "am I heard?");
    chat.hears("ada", &["am I heard?"]);
    assert!(chat.letters().0 <= 22, "{:?}", chat.letters());
    let told = chat.sent_to("mad");
    assert!((1..10).contains(&told.len()) && told[0].contains("too many"), "told now and then: {told:?}");
    fs::write(go, "").expect("a file");
    eventually("what was taken is answered", || chat.letters().0 == 0);
    let answered = chat.sent_to("mad").iter().filter(|text| !text.contains("too many")).count();
    assert!((20..=21).contains(&answered), "{:?}", chat.sent_to("mad"));
    running.stop();
}

#[test]
fn strangers_cannot_flood_anything() {
    let mut chat = Chat::new("ok");
    chat.allow("ada");
    let running = chat.echo();
    for number in 0..500 {
        chat.say(&format!("stranger {number}"), "let me in");
    }
    chat.say(&"x".repeat(100_000), "let me in");
    chat.say("ada", &"x".repeat(2 << 20));
    chat.say("ada", "still there?");
    eventually("ada is told and answered", || chat.sent_to("ada").len() == 2);
    assert!(chat.sent_to("ada").iter().any(|text| text.contains("too long")), "{:?}", chat.sent_to("ada"));
    let codes = chat.sent().len() - chat.sent_to("ada").len();
    assert_eq!(codes, 10, "codes go out at a rate");
    running.stop();
    let (_, listed) = chat.sandbox.json(&["channel", "list"]);
    let pending = listed["channels"][1]["senders"]["pending"].as_array().map(Vec::len);
    assert_eq!(pending, Some(10));
    let records = chat.ledger();
    let refused = of_event(&records, "channel.refused");
    assert!(refused.len() <= 31, "{} records of refusals", refused.len());
    let count = |record: &&Value| 1 + record["data"]["others"].as_u64().unwrap_or(0);
    let counted: u64 = refused.iter().filter(|record| record["data"]["sender"].is_string()).map(count).sum();
    let rest: u64 = refused.iter().filter_map(|record| record["data"]["count"].as_u64()).sum();
    assert_eq!(counted + rest, 502, "all are accounted for");
    assert_eq!(chat.letters(), (0, 0), "nothing of them is kept");
}
