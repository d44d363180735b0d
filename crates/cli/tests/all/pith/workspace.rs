//! Cases 4 and 10: what an agent of pith brings along itself, as files of a workspace.

use std::fs;

use jackfield_test_support::{eventually, example};
use serde_json::json;

use super::support::sandbox;

/// As it stands there, in a place of its own: what it remembers is written into the workspace.
#[test]
fn pith_workspace() {
    let sandbox = sandbox();
    let files = ["SOUL.md", "extensions/channels/letters.py", "extensions/tools/_memory.py"];
    let tools = ["memory_save", "memory_search", "set_profile"].map(|name| format!("extensions/tools/{name}.py"));
    for file in files.into_iter().chain(tools.iter().map(String::as_str)) {
        let text = fs::read_to_string(example("pith-workspace").join(file)).expect("a file");
        sandbox.write(&sandbox.project().join(file), &text);
    }
    sandbox.run(&["trust"]).exits(0);
    // Case 4: nothing has been set up, and each is there.
    let (_, listed) = sandbox.json(&["tools"]);
    let names: Vec<&str> =
        listed["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["memory_save", "memory_search", "set_profile"], "{listed:#}");
    let details = |words: &[&str]| {
        let (code, answer) = sandbox.json(&[&["call"], words].concat());
        assert_eq!(code, 0, "{answer:#}");
        answer["details"].clone()
    };
    // What was stored is there in the next process.
    assert_eq!(details(&["set_profile", "who=user", r#"about={"name": "Ada"}"#]), json!({ "name": "Ada" }));
    let about = r#"about={"name": "Ada L.", "city": "London"}"#;
    assert_eq!(details(&["set_profile", "who=user", about]), json!({ "city": "London", "name": "Ada L." }));
    assert_eq!(details(&["set_profile", "who=agent", "about={}"]), json!({}));
    assert_ne!(sandbox.run(&["call", "set_profile", "who=nobody", "about={}"]).code, 0);

    // Case 10: tags are kept, and searched by.
    let pot = "content=The spare key is under the third pot.";
    assert_eq!(details(&["memory_save", pot, r##"tags=["Home", "#key", "key"]"##])["tags"], json!(["home", "key"]));
    details(&["memory_save", "content=Tea at four.", r#"tags=["home"]"#]);
    details(&["memory_save", "content=No tags at all; the key of C is plain."]);
    let found = |words: &[&str]| {
        let all = details(&[&["memory_search"], words].concat());
        all.as_array()
            .expect("a list")
            .iter()
            .map(|one| one["content"].as_str().unwrap_or("?").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&[r#"tags=["key"]"#]), ["The spare key is under the third pot."]);
    assert_eq!(found(&[r#"tags=["home"]"#]), ["Tea at four.", "The spare key is under the third pot."]);
    assert_eq!(found(&[r#"tags=["home", "none"]"#]), Vec::<String>::new());
    assert_eq!(found(&["query=KEY"]).len(), 2, "in the words, or among the tags");
    assert_eq!(found(&["limit=1"]), ["No tags at all; the key of C is plain."]);
    // What it remembers does not change what was trusted.
    assert_eq!(sandbox.json(&["list"]).1["diagnostics"], json!([]));

    let (_, channels) = sandbox.json(&["channel", "list"]);
    assert_eq!(channels["channels"][1]["name"], "letters", "{channels:#}");
    sandbox.run(&["grant", "channels.letters", "agent"]).exits(0);
    sandbox.run(&["channel", "allow", "letters", "ada"]).exits(0);
    let respond = ["channel", "run", "letters", "--respond", "command:sh -c 'echo \"$JACKFIELD_SOUL\"'", "--history"];
    let mut host = sandbox.command(&respond).stderr(std::process::Stdio::null()).spawn().expect("the binary runs");
    let letters = sandbox.project().join(".pith/letters");
    sandbox.write(&letters.join("in/ada"), "who are you?");
    let answer = letters.join("out/ada");
    eventually("an answer", || fs::read_to_string(&answer).is_ok_and(|text| text.contains("Be brief.")));
    host.kill().expect("killed");
    host.wait().expect("gone");
}
