//! Where servers are found, and what they are called.

use jackfield_test_support::{eventually, repository};
use serde_json::{Value, json};

use super::support::{called, entry, own_file, sandbox, tools, with, write};

fn listed(listing: &Value, id: &str) -> Value {
    let all = listing["extensions"].as_array().expect("extensions");
    all.iter().find(|extension| extension["id"] == id).unwrap_or_else(|| panic!("{id}: {listing:#}")).clone()
}

#[test]
fn servers_are_found_in_every_place() {
    let sandbox = sandbox();
    write(&sandbox, &own_file(&sandbox), json!({ "own": entry(&[]) }));
    write(&sandbox, &sandbox.home().join("extensions/pack/.mcp.json"), json!({ "packed": entry(&[]) }));
    let plugin = sandbox.home().join("extensions/agent");
    sandbox.write(&plugin.join("plugin.json"), r#"{"name":"agent","version":"1.0.0"}"#);
    write(&sandbox, &plugin.join("mcp.json"), json!({ "helper": entry(&[]) }));
    let nexo = sandbox.home().join("extensions/nexo");
    sandbox.write(
        &nexo.join("plugin.toml"),
        "[plugin]\nid = \"nexo\"\nversion = \"1.0.0\"\n\n[capabilities]\ntools = [\"t\"]\n\n[transport]\nkind = \"stdio\"\ncommand = \"true\"\n",
    );
    write(&sandbox, &nexo.join(".mcp.json"), json!({ "side": entry(&[]) }));
    let (_, listing) = sandbox.json(&["list"]);
    for id in ["own", "packed", "agent.helper", "nexo.side"] {
        let found = listed(&listing, id);
        assert_eq!((&found["format"], &found["runtime"]), (&json!("mcp"), &json!("mcp")), "{found:#}");
    }
    assert_eq!(called(&sandbox, "nexo_side__echo", &json!({})), "{}");
    sandbox.write(&sandbox.home().join("extensions.yaml"), "extensions: {disabled: [nexo]}\n");
    let (_, now) = sandbox.json(&["list"]);
    assert_eq!(listed(&now, "nexo.side")["state"], "disabled", "it goes with the extension that brings it");
    assert_eq!(called(&sandbox, "agent_helper__echo", &json!({})), "{}");
}

#[test]
fn a_project_s_servers_wait_for_trust_and_again_after_a_change() {
    let sandbox = sandbox();
    let file = sandbox.project().join(".mcp.json");
    write(&sandbox, &file, json!({ "odd": entry(&[]) }));
    let (_, listing) = sandbox.json(&["list"]);
    assert_eq!(listed(&listing, "odd")["state"], "untrusted");
    let (code, answer) = sandbox.json(&["call", "odd__echo", "{}"]);
    assert!(code != 0 && answer.to_string().contains("trust"), "{answer:#}");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, "odd__echo", &json!({})), "{}");
    let place: Value = serde_json::from_str(&called(&sandbox, "odd__where", &json!({}))).expect("JSON");
    assert_eq!(place["cwd"], sandbox.project().canonicalize().expect("a path").display().to_string());
    write(&sandbox, &file, json!({ "odd": entry(&["junk"]) }));
    let (code, _) = sandbox.json(&["call", "odd__echo", "{}"]);
    assert_ne!(code, 0, "what was trusted has changed");
}

#[test]
fn a_flag_names_a_file_or_a_directory() {
    let sandbox = sandbox();
    let dir = sandbox.path("elsewhere");
    write(&sandbox, &dir.join("servers.json"), json!({ "a": entry(&[]), "broken": {}, "bare": entry(&[]) }));
    write(&sandbox, &dir.join("mcp.json"), json!({ "b": entry(&[]) }));
    let file = dir.join("servers.json").display().to_string();
    let (code, answer) = sandbox.json(&["-e", &file, "call", "a__echo", "{}"]);
    assert_eq!(code, 0, "{answer:#}");
    let (_, listing) = sandbox.json(&["-e", &file, "list"]);
    assert_eq!(
        (listed(&listing, "broken")["state"].as_str(), listed(&listing, "bare")["state"].as_str()),
        (Some("invalid"), Some("idle"))
    );
    let (code, answer) = sandbox.json(&["-e", &dir.display().to_string(), "call", "b__echo", "{}"]);
    assert_eq!(code, 0, "{answer:#}");
}

#[test]
fn a_prefix_can_be_chosen_and_a_server_switched_off() {
    let sandbox = sandbox();
    let with = |key: &str, value: Value| {
        let mut entry = entry(&[]);
        entry[key] = value;
        entry
    };
    let servers = json!({ "bare": with("prefix", json!("")), "short": with("prefix", json!("s-")), "off": with("disabled", json!(true)) });
    write(&sandbox, &own_file(&sandbox), servers);
    let (names, _) = tools(&sandbox);
    for name in ["echo", "s-echo"] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("off__")), "{names:?}");
    assert_eq!(called(&sandbox, "ext_short_echo", &json!({})), "{}", "the qualified name works too");
}

#[test]
fn a_file_that_changes_is_reloaded() {
    let sandbox = with(&[]);
    let mut host = sandbox.rpc(&[]);
    host.text("odd__echo", json!({}));
    let before = host.text("odd__pid", json!({}));
    write(&sandbox, &own_file(&sandbox), json!({ "odd": entry(&[]), "second": entry(&["more"]) }));
    host.ask(json!({ "type": "reload" }));
    assert_eq!(host.text("second__new", json!({})), "new");
    assert_eq!(host.text("odd__pid", json!({})), before, "its sibling is not started anew");
    write(&sandbox, &own_file(&sandbox), json!({ "second": entry(&["more"]) }));
    host.ask(json!({ "type": "reload" }));
    assert_eq!(host.call("odd__echo", json!({}))["error"]["code"], "not_found");
    assert_eq!(host.close(), 0);
}

#[test]
fn recipes_mcp() {
    let sandbox = sandbox();
    let example = repository().join("examples/recipes-mcp").display().to_string();
    let (code, answer) = sandbox.json(&["-e", &example, "call", "recipes__scale_recipe", "name=pancakes", "people=6"]);
    assert_eq!((code, &answer["details"]["eggs"]), (0, &json!(6.0)), "{answer:#}");
    assert!(answer["content"][0]["text"].as_str().is_some_and(|text| text.contains("eggs: 6")), "{answer:#}");
    let (code, _) = sandbox.json(&["-e", &example, "call", "recipes__scale_recipe", "name=cake", "people=6"]);
    assert_ne!(code, 0, "held to the schema");
}

#[test]
fn lists_that_come_change_and_go_are_live() {
    let sandbox = sandbox();
    let mut rpc = sandbox.rpc(&["--watch"]);
    rpc.ask(json!({ "type": "tools" }));
    let mut offers = |name: &str| rpc.ask(json!({ "type": "tools" })).to_string().contains(name);
    write(&sandbox, &own_file(&sandbox), json!({ "first": entry(&[]) }));
    eventually("a list that was written is read", || offers("first__echo"));
    write(&sandbox, &own_file(&sandbox), json!({ "first": entry(&[]), "second": entry(&[]) }));
    eventually("a server that was added is there", || offers("first__echo") && offers("second__echo"));
    write(&sandbox, &own_file(&sandbox), json!({ "second": entry(&[]) }));
    eventually("one that was taken out goes", || !offers("first__echo") && offers("second__echo"));
    std::fs::remove_file(own_file(&sandbox)).expect("removed");
    eventually("and so do all", || !offers("second__echo"));
}
