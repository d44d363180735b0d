//! Tools are pinned when they are first used: a changed one waits for a person, a new one does not.

use std::fs;

use serde_json::json;

use super::support::{called, entry, own_file, tools, with, write};

#[test]
fn a_changed_definition_waits_until_it_is_accepted() {
    let sandbox = with(&[]);
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
    // The same server with other words for one of its tools, and one tool more.
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(&["changed", "more"]) }));
    let (names, diagnostics) = tools(&sandbox);
    assert!(!names.contains(&"odd__echo".to_owned()), "{names:?}");
    for word in ["odd__echo", "Says it back.", "Says it back, differently.", "jackfield ext accept odd"] {
        assert!(diagnostics.contains(word), "{word}: {diagnostics}");
    }
    let (code, answer) = sandbox.json(&["call", "odd__echo", "{}"]);
    assert!(code != 0 && answer["error"]["code"] == "denied", "{answer:#}");
    assert_eq!(called(&sandbox, "odd__new", &json!({})), "new", "a new tool is used for the first time");
    assert!(called(&sandbox, "odd__pid", &json!({})).parse::<u32>().is_ok(), "the others go on");

    let output = sandbox.run(&["ext", "accept", "odd"]);
    assert!(
        output.code != 0 && output.stdout.contains("description: \"Says it back.\" → \"Says it back, differently.\""),
        "{output:?}"
    );
    sandbox.run(&["--yes", "ext", "accept", "odd"]).exits(0);
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
    // A tool that goes and comes back is no change.
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(&["changed"]) }));
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
    let (code, answer) = sandbox.json(&["ext", "accept", "odd"]);
    assert_eq!((code, &answer["action"]), (0, &json!("none")));
}

#[test]
fn a_change_while_it_runs_is_held_back_too() {
    let sandbox = with(&[]);
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.text("odd__echo", json!({})), "{}");
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(&["changed"]) }));
    host.ask(json!({ "type": "reload" }));
    assert_eq!(host.call("odd__echo", json!({}))["error"]["code"], "denied");
    sandbox.run(&["--yes", "ext", "accept", "odd"]).exits(0);
    host.ask(json!({ "type": "reload", "extension": "odd" }));
    assert_eq!(host.text("odd__echo", json!({})), "{}");
    assert_eq!(host.close(), 0);
}

#[test]
fn a_damaged_record_holds_everything_back() {
    let sandbox = with(&[]);
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
    let pins = sandbox.home().join("pins");
    let record = fs::read_dir(&pins)
        .expect("pins")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "json"));
    fs::write(record.expect("a record"), "{ half").expect("damaged");
    let (code, answer) = sandbox.json(&["call", "odd__echo", "{}"]);
    assert!(code != 0 && answer.to_string().contains("jackfield ext accept odd"), "{answer:#}");
    sandbox.run(&["--yes", "ext", "accept", "odd"]).exits(0);
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
}
