use std::fs;

use jackfield_test_support::eventually;
use rustix::process::Signal;
use serde_json::json;

use super::support::{Chat, of_event};

#[test]
fn a_stranger_is_paired_and_then_answered() {
    let mut chat = Chat::new("ok");
    let running = chat.echo();
    running.tells("connected");
    chat.say("bob", "let me in, my word is xyzzy-plugh");
    eventually("bob gets a code", || chat.sent_to("bob").len() == 1);
    chat.say("bob", "hello?");
    chat.say("bob", "hello??");

    let (_, listed) = chat.sandbox.json(&["channel", "list"]);
    let channels = listed["channels"].as_array().expect("a list");
    let names: Vec<&str> = channels.iter().filter_map(|channel| channel["name"].as_str()).collect();
    assert_eq!(names, ["telegram", "chat"]);
    assert_eq!((&channels[1]["extension"], &channels[1]["description"]), (&json!("box"), &json!("Files in a folder.")));
    let pending = &channels[1]["senders"]["pending"][0];
    let code = pending["code"].as_str().expect("a code");
    assert!(pending["sender"] == "bob" && chat.sent_to("bob")[0].contains(code), "{pending}");
    assert!(running.tells("pairing")["message"].as_str().is_some_and(|text| text.contains(code)));

    chat.sandbox.run(&["channel", "pair", "NOSUCHCD"]).exits(3);
    let paired = chat.sandbox.run(&["channel", "pair", code]).exits(0);
    assert_eq!(paired.stdout, "\"bob\" may speak on channel chat\n");
    chat.sandbox.run(&["channel", "pair", code]).exits(3);
    chat.say("bob", "now?");
    eventually("bob is answered", || chat.sent_to("bob").len() == 2);
    assert_eq!(chat.sent_to("bob")[1], "now?", "what was said before is not answered, nor is the code repeated");

    chat.sandbox.run(&["channel", "deny", "chat", "bob"]).exits(0);
    eventually("what bob said as a stranger is refused", || running.count("refused") == 3);
    chat.say("bob", "and now?");
    eventually("bob is refused", || running.count("refused") == 4);
    assert_eq!(chat.sent_to("bob").len(), 2);
    running.stop();
    assert_eq!(chat.happened("disconnect"), 1);
    assert_eq!(chat.letters(), (0, 0));

    let records = chat.ledger();
    let ends = of_event(&records, "channel_message.end");
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert_eq!((&ends[0]["data"]["caller"], &ends[0]["data"]["is_error"]), (&json!("chat:bob"), &json!(false)));
    assert!(ends[0]["data"]["answer_hash"].is_string() && ends[0]["data"]["params_hash"].is_string());
    let connects = of_event(&records, "channel.connect");
    assert_eq!(connects.len(), 1, "{connects:#?}");
    assert_eq!(connects[0]["data"]["channel"], "chat");
    assert_eq!(of_event(&records, "channel.answer").len(), 1);
    assert_eq!(of_event(&records, "channel.pairing").len(), 1);
    assert_eq!(of_event(&records, "channel.refused").len(), 4);
    assert_eq!(of_event(&records, "channel.sender").len(), 2, "paired and denied");
    let text = json!(records).to_string();
    assert!(!text.contains("xyzzy") && !text.contains("now?"), "what is said is not in the ledger");
}

#[test]
fn only_what_may_run_runs_and_only_once() {
    let chat = Chat::new("ok");
    chat.sandbox.run(&["revoke", "box"]).exits(0);
    let denied = chat.sandbox.run(&["channel", "run", "chat", "--respond", "echo"]).exits(4);
    assert!(denied.stderr.contains("jackfield grant box agent"), "{denied:#?}");
    let missing = chat.sandbox.run(&["channel", "run", "chatt", "--respond", "echo"]).exits(3);
    assert!(missing.stderr.contains("there are telegram, chat"), "{missing:#?}");
    chat.sandbox.run(&["channel", "allow", "chatt", "bob"]).exits(3);
    for respond in ["eccho", "command:", "command:sh -c 'x"] {
        chat.sandbox.run(&["--yes", "channel", "run", "chat", "--respond", respond]).exits(2);
    }
    chat.sandbox.run(&["grant", "box", "agent"]).exits(0);
    let running = chat.echo();
    running.tells("connected");
    let second = chat.sandbox.run(&["channel", "run", "chat", "--respond", "echo"]).exits(6);
    assert!(second.stderr.contains("another jackfield"), "{second:#?}");
    running.stop();
    let long = "x".repeat(300);
    chat.sandbox.run(&["channel", "allow", "chat", &long]).exits(2);
}

#[test]
fn commands_are_the_host_s_and_sessions_are_the_senders() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let running = chat.run(&[
        "--respond",
        r#"command:sh -c 'read -r text; echo "$JACKFIELD_SESSION $JACKFIELD_CHANNEL $JACKFIELD_SENDER $text"'"#,
    ]);
    let mut ask = |sender: &str, text: &str| {
        let before = chat.sent_to(sender).len();
        chat.say(sender, text);
        eventually(&format!("an answer to {text}"), || chat.sent_to(sender).len() > before);
        chat.sent_to(sender).pop().expect("an answer")
    };
    assert!(ask("ada", " /help\n").contains("/compact"));
    assert!(ask("ada", "/info").starts_with("no session yet"));
    assert!(ask("ada", "/compact").contains("nothing to compact"));
    let first = ask("ada", "hi");
    assert!(first.starts_with("chat-") && first.ends_with(" chat ada hi"), "{first}");
    assert_eq!(ask("ada", "hi"), first, "the same session");
    assert_eq!(ask("ada", "hi there").split(' ').next(), first.split(' ').next());
    assert_ne!(ask("bob", "hi").split(' ').next(), first.split(' ').next(), "another's session");
    let info = ask("ada", "/info");
    assert!(info.contains("messages 3") && info.contains("answered by command sh"), "{info}");
    assert!(ask("ada", "/new").starts_with("new session chat-"));
    assert_ne!(ask("ada", "hi"), first);
    for text in ["/New", "/new x", "/unknown"] {
        assert!(ask("ada", text).ends_with(text), "the responder gets {text}");
    }
    running.stop();
}

#[test]
fn one_after_another_for_a_sender_and_side_by_side_for_several() {
    let mut chat = Chat::new("ok");
    chat.allow("*");
    let go = chat.sandbox.path("go");
    let wait = format!(
        "command:sh -c 'read -r text; while [ $text = wait ] && [ ! -e {} ]; do sleep 0.02; done; echo $text'",
        go.display()
    );
    let running = chat.run(&["--respond", &wait]);
    chat.say("slow", "wait");
    for text in ["2", "3", "4"] {
        chat.say("slow", text);
    }
    chat.say("quick", "a");
    chat.say("quick", "b");
    chat.hears("quick", &["a", "b"]);
    assert_eq!(chat.sent_to("slow"), Vec::<String>::new());
    eventually("all that is not answered is kept", || chat.letters().0 == 4);
    fs::write(go, "").expect("a file");
    chat.hears("slow", &["wait", "2", "3", "4"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
}

#[test]
fn the_end_finishes_what_is_in_hand_and_keeps_the_rest() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let (go, begun) = (chat.sandbox.path("go"), chat.sandbox.path("begun"));
    let wait = format!(
        "command:sh -c 'read -r text; touch {}; while [ ! -e {} ]; do sleep 0.02; done; echo late $text'",
        begun.display(),
        go.display()
    );
    let mut running = chat.run(&["--respond", &wait]);
    chat.say("bob", "one");
    chat.say("bob", "two");
    eventually("the responder is at work", || begun.exists() && chat.letters().0 == 2);
    running.signal(Signal::INT);
    fs::write(go, "").expect("a file");
    assert_eq!(running.gone(), 0);
    assert_eq!(chat.sent_to("bob"), ["late one"]);
    assert_eq!((chat.letters(), chat.happened("disconnect")), ((1, 0), 1));
    assert!(running.tells("stopped")["message"].as_str().is_some_and(|text| text.contains("1 messages wait")));

    let running = chat.echo();
    chat.hears("bob", &["late one", "two"]);
    running.stop();
    assert_eq!(chat.letters(), (0, 0));
}

#[test]
fn a_second_signal_does_not_wait() {
    let mut chat = Chat::new("ok");
    chat.allow("bob");
    let begun = chat.sandbox.path("begun");
    let wait = format!("command:sh -c 'touch {}; sleep 600'", begun.display());
    let mut running = chat.run(&["--respond", &wait]);
    chat.say("bob", "one");
    eventually("the responder is at work", || begun.exists());
    running.signal(Signal::TERM);
    eventually("the receive has ended", || {
        running.signal(Signal::TERM);
        running.news().iter().any(|news| news["event"] == "stopped")
    });
    assert_eq!(running.gone(), 0);
    assert_eq!(chat.letters(), (1, 0), "it waits for the next run");
}
