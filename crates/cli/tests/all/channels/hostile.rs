use std::time::{Duration, Instant};

use jackfield_test_support::eventually;

use super::support::{Chat, of_event};

/// Runs an echo on a channel in these modes: bob says something and must be answered.
#[track_caller]
fn check(modes: &str, manifest: &str, told: &str) {
    let mut chat = Chat::with(modes, manifest);
    chat.allow("bob");
    let running = chat.echo();
    chat.say("bob", "hello");
    chat.hears("bob", &["hello"]);
    running.tells(told);
    chat.say("bob", "again");
    chat.hears("bob", &["hello", "again"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0), "{modes}");
    chat.ledger();
}

#[test]
fn connecting_is_tried_until_it_works() {
    check("connect_fails:6", "", "connect_failed");
    check("connect_hangs:2", "[limits]\ncall_timeout_ms = 300", "connect_failed");
}

#[test]
fn receiving_that_fails_is_tried_again() {
    check("receive_fails:2", "", "receive_failed");
    check("receive_fails:7", "", "lost");
    check("big_receive:1", "", "receive_failed");
}

#[test]
fn a_channel_that_dies_is_started_again() {
    let quick = "\n[supervisor]\nbackoff_ms = 5\nbackoff_cap_ms = 20\n";
    for modes in ["die_in_receive:2", "die_in_send:2", "die_in_receive:9"] {
        let mut chat = Chat::new(modes);
        chat.sandbox.write(&chat.sandbox.home().join("config.toml"), quick);
        chat.allow("bob");
        let running = chat.echo();
        chat.say("bob", "hello");
        chat.hears("bob", &["hello"]);
        running.tells("lost");
        running.stop();
        assert_eq!(chat.letters(), (0, 0), "{modes}");
    }
}

#[test]
fn sending_is_tried_until_it_works() {
    check("send_fails:5", "", "send_failed");
    check("send_hangs:1", "[limits]\ncall_timeout_ms = 300", "send_failed");
}

#[test]
fn what_cannot_be_sent_is_put_aside_and_told() {
    let mut chat = Chat::new("send_fails:10");
    chat.allow("bob");
    let running = chat.echo();
    chat.say("bob", "one");
    let told = running.tells("message_failed");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("send failed as asked")), "{told}");
    assert_eq!(chat.letters(), (0, 1));
    chat.say("bob", "two");
    chat.hears("bob", &["two"]);
    running.stop();
    let (_, listed) = chat.sandbox.json(&["channel", "list"]);
    assert_eq!(listed["channels"][1]["failed"], 1);
    let records = chat.ledger();
    let failed = of_event(&records, "channel_message.end").into_iter().filter(|end| end["data"]["is_error"] == true);
    assert_eq!(failed.count(), 1);
}

#[test]
fn a_channel_that_receives_nothing_is_slowed_down() {
    for modes in ["receive_null", "receive_empty"] {
        let chat = Chat::new(modes);
        let began = Instant::now();
        let running = chat.echo();
        running.tells("receives_nothing");
        assert!(began.elapsed() > Duration::from_millis(250), "it was slowed down");
        assert!(chat.happened("receive") < 15, "{modes}: {} receives", chat.happened("receive"));
        running.stop();
    }
}

#[test]
fn garbage_is_reported_and_the_next_message_counts() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    chat.allow("");
    let running = chat.echo();
    running.tells("connected");
    let mut answers = Vec::new();
    for garbage in ["7", "\"text\"", "[1]", "{\"text\":7}", "{\"text\":\"x\",\"sender\":{}}", "{}", "{\"text\":null}"] {
        let line = format!("LINE {{\"type\":\"channel_result\",\"id\":\"%ID%\",\"message\":{garbage}}}");
        chat.put(line.as_bytes());
        chat.say("bob", garbage);
        answers.push(garbage);
        chat.hears("bob", &answers);
    }
    chat.put(
        b"LINE {\"type\":\"channel_result\",\"id\":\"%ID%\",\"message\":{\"sender\":\"bob\",\"text\":\"a\xff\xfeb\"}}",
    );
    chat.put(br#"LINE {"type":"channel_result","id":"%ID%","message":{"sender":"bob","text":"a\ud83d"}}"#);
    answers.extend(["a\u{fffd}\u{fffd}b", "a\u{fffd}"]);
    chat.hears("bob", &answers);
    // As pith's own channels do: no sender at all.
    chat.put(br#"{"text":"from nobody in particular"}"#);
    chat.hears("", &["from nobody in particular"]);
    chat.put(
        b"LINE {\"type\":\"channel_result\",\"id\":7}\n{\"type\":\"channel_result\",\"id\":\"%ID%\",\"error\":{}}",
    );
    chat.say("bob", "\u{1b}[31mred\u{1b}[0m");
    eventually("the last answer", || chat.sent_to("bob").len() == answers.len() + 1);
    assert_eq!(chat.sent_to("bob").last().map(String::as_str), Some("red"), "no control sequences go out");
    eventually("what was garbage is told", || running.count("receive_failed") >= 5);
    running.stop();
}

#[test]
fn a_responder_that_fails_is_asked_again_and_then_the_sender_is_told() {
    for (respond, why) in [
        ("command:sh -c 'echo oh dear >&2; exit 3'", "ended with code 3: oh dear"),
        ("command:sh -c 'sleep 600'", "not done within 300 ms"),
        ("command:sh -c 'kill -9 $$'", "code 137"),
        ("command:head -c 1073741824 /dev/zero", "said more than"),
        ("command:no-such-program-here", "no-such-program-here"),
    ] {
        let mut chat = Chat::new("ok");
        chat.allow("bob");
        let running =
            chat.run(&["--respond", respond, "--timeout-ms", if why.contains("300") { "300" } else { "60000" }]);
        chat.say("bob", "hello");
        eventually(&format!("{respond}: bob is told"), || chat.sent_to("bob").len() == 1);
        let said = chat.sent_to("bob").remove(0);
        assert!(said.starts_with("Sorry") && !said.contains("dear"), "{said}");
        let told = running.tells("message_failed");
        assert!(told["message"].as_str().is_some_and(|text| text.contains(why)), "{told}");
        assert_eq!(running.count("respond_failed"), 3, "{:#?}", running.news());
        assert_eq!(chat.letters(), (0, 1));
        // The host's own commands do not need it.
        chat.say("bob", "/help");
        eventually("help", || chat.sent_to("bob").len() == 2);
        running.stop();
        assert_eq!(chat.sandbox.processes().len(), 0);
    }
}

#[test]
fn a_responder_may_have_nothing_to_say() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let running = chat.run(&["--respond", "command:sh -c 'read -r text; [ $text = quiet ] || echo $text'"]);
    chat.say("bob", "quiet");
    chat.say("bob", "loud");
    chat.hears("bob", &["loud"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
}

#[test]
fn a_damaged_list_of_senders_lets_nobody_in() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    chat.sandbox.write(&chat.kept().join("senders.json"), "{\"version\":1,");
    let running = chat.echo();
    chat.say("bob", "hello");
    let told = running.tells("refused");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("senders.json")), "{told}");
    chat.sandbox.run(&["channel", "allow", "chat", "bob"]).exits(7);
    let (_, listed) = chat.sandbox.json(&["channel", "list"]);
    assert!(listed["channels"][1]["error"].is_string(), "{listed:#}");
    running.stop();
    assert_eq!(chat.sent().len(), 0);
}
