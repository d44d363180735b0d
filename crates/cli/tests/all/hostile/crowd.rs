//! The bad among the good: one broken extension among ten, manifests of all sorts, tools without bounds, schemas and names
//! that make no sense. Whatever is wrong stays with what is wrong.

use std::fs;

use jackfield_test_support::Sandbox;
use serde_json::{Value, json};

use super::support::{FRAMES, JSON_RPC, files, messages, native, row, sandbox, tools_of};

#[test]
fn one_broken_among_ten() {
    let sandbox = sandbox();
    let good: Vec<String> = (1..10).map(|number| format!("good{number}")).collect();
    for (number, id) in good.iter().enumerate() {
        native(&sandbox, id, if number % 2 == 0 { FRAMES } else { JSON_RPC }, "ok", "");
    }
    native(&sandbox, "broken", FRAMES, "silent", "[limits]\nstart_timeout_ms = 1500");
    let (code, listing) = sandbox.json(&["tools"]);
    assert_eq!(code, 0);
    for id in &good {
        assert!(tools_of(&listing, id).contains(&format!("ext_{id}_echo")) || id == "good1", "{id}: {listing:#}");
    }
    assert_eq!(tools_of(&listing, "broken"), [""; 0]);
    assert!(messages(&listing).contains("extension broken"), "{}", messages(&listing));
    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!((code, listing["extensions"].as_array().map(Vec::len)), (0, Some(10)));
    for id in &good {
        assert_eq!(row(&listing, id)["error"], json!(null), "{id}");
    }
    let mut rpc = sandbox.rpc(&[]);
    for id in &good {
        assert_eq!(rpc.text(&format!("ext_{id}_echo"), json!({ "text": id })), *id);
    }
}

/// A manifest that cannot be used is named with its reason, and the good extension beside it works.
#[test]
fn manifests_of_all_sorts() {
    let sandbox = sandbox();
    sandbox.misbehave("good", "ok");
    let extensions = sandbox.home().join("extensions");
    let deep = format!("{{\"name\":\"deep\",\"exec\":\"x\",\"y\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let plugin = "[plugin]\nid = \"p\"\nversion = \"1.0.0\"\n[capabilities]\ntools = [\"t\"]\n";
    let bad: Vec<(&str, &str, Vec<u8>)> = vec![
        ("b01", "extension.json", b"".to_vec()),
        ("b02", "extension.json", b"{".to_vec()),
        ("b03", "extension.json", b"[]".to_vec()),
        ("b04", "extension.json", b"null".to_vec()),
        ("b05", "extension.json", b"{}".to_vec()),
        ("b06", "extension.json", b"\xff\xfe{\"name\":\"x\"}".to_vec()),
        ("b07", "extension.json", br#"{"name":7,"exec":"x"}"#.to_vec()),
        ("b08", "extension.json", br#"{"name":"","exec":"x"}"#.to_vec()),
        ("b09", "extension.json", br#"{"name":"///","exec":"x"}"#.to_vec()),
        ("b10", "extension.json", br#"{"name":"x","exec":"x","name":"y"}"#.to_vec()),
        ("b11", "extension.json", br#"{"name":"x","exec":"x","args":"not a list"}"#.to_vec()),
        ("b12", "extension.json", br#"{"name":"x","exec":"x","limits":{"start_timeout_ms":-1}}"#.to_vec()),
        ("b13", "extension.json", br#"{"name":"x","exec":"x","on_timeout":"maybe"}"#.to_vec()),
        ("b14", "extension.json", deep.into_bytes()),
        ("b15", "extension.toml", b"id = ".to_vec()),
        ("b16", "extension.toml", b"id = \"../up\"\n[run]\ncommand = \"x\"\n".to_vec()),
        ("b17", "extension.toml", b"id = \"x\"\n[run]\ncommand = \"\"\n".to_vec()),
        ("b18", "extension.toml", b"id = \"x\"\n[run]\ncommand = \"x\"\ndialect = \"klingon\"\n".to_vec()),
        ("b19", "plugin.toml", b"[plugin]\nid = \"Bad Name!\"\nversion = \"1.0.0\"\n".to_vec()),
        ("b20", "plugin.toml", format!("{plugin}[transport]\nkind = \"pigeon\"\n").into_bytes()),
        ("b21", "plugin.toml", format!("{plugin}[transport]\nkind = \"stdio\"\ncommand = \"\"\n").into_bytes()),
        ("b22", "plugin.toml", b"\0\0\0\0".to_vec()),
    ];
    for (dir, file, bytes) in &bad {
        fs::create_dir_all(extensions.join(dir)).expect("a folder");
        fs::write(extensions.join(dir).join(file), bytes).expect("a manifest");
    }
    // A manifest that is a directory, and one that leads nowhere.
    fs::create_dir_all(extensions.join("b23/extension.json")).expect("a folder");
    fs::create_dir_all(extensions.join("b24")).expect("a folder");
    std::os::unix::fs::symlink("nowhere", extensions.join("b24/extension.json")).expect("a link");

    let (code, listing) = sandbox.json(&["list"]);
    assert_eq!(code, 0);
    let said = |dir: &str| {
        let is_inside = |path: &Value| path.as_str().is_some_and(|path| path.contains(&format!("/{dir}")));
        let in_rows = listing["extensions"].as_array().expect("rows").iter();
        let in_diagnostics = listing["diagnostics"].as_array().expect("diagnostics").iter();
        in_rows.filter(|row| row["error"].is_string()).chain(in_diagnostics).any(|entry| is_inside(&entry["path"]))
    };
    for dir in bad.iter().map(|(dir, ..)| *dir).chain(["b23", "b24"]) {
        assert!(said(dir), "{dir} is not mentioned in {listing:#}");
    }
    let (code, answer) = sandbox.json(&["call", "echo", "text=hi"]);
    assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("hi")), "{answer:#}");
}

#[test]
fn a_bad_schema_costs_one_tool() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "bad_schema");
    let (_, listing) = sandbox.json(&["tools"]);
    let tools = tools_of(&listing, "odd");
    assert!(tools.contains(&"fine".to_owned()) && tools.contains(&"echo".to_owned()), "{tools:?}");
    assert!(!tools.contains(&"bad_schema".to_owned()), "{tools:?}");
    assert!(messages(&listing).contains("bad_schema"), "{}", messages(&listing));
    let (code, answer) = sandbox.json(&["call", "bad_schema"]);
    assert_eq!((code, &answer["error"]["code"]), (6, &json!("unavailable")), "{answer:#}");
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("schema")), "{answer:#}");
    assert_eq!(sandbox.json(&["call", "fine"]).1["content"][0]["text"], "fine was called");
}

#[test]
fn ten_thousand_tools() {
    let sandbox = sandbox();
    let dir = sandbox.misbehave("many", "ten_thousand_tools");
    let (code, listing) = sandbox.json(&["tools"]);
    assert_eq!((code, tools_of(&listing, "many").len()), (0, 1000));
    assert!(messages(&listing).contains("an extension may have 1000 tools"), "{}", messages(&listing));
    assert!(messages(&listing).lines().count() < 20, "the warnings are bounded as well");
    let (_, inspection) = sandbox.json(&["inspect", &dir.to_string_lossy()]);
    assert!(messages(&inspection).contains("an extension may have 1000 tools"));
    assert_eq!(sandbox.json(&["call", "echo", "text=hi"]).1["content"][0]["text"], "hi");
}

/// Everything in the sandbox that is not in the home.
fn outside(sandbox: &Sandbox) -> Vec<String> {
    let root = sandbox.path("");
    let all = files(&root).into_iter().map(|(path, _)| path).filter(|path| !path.starts_with(sandbox.home()));
    all.map(|path| path.display().to_string()).collect()
}

/// Names that are paths neither lead out of the home nor out of the folders in it.
#[test]
fn names_that_are_paths() {
    for name in ["x/../../../pwn", "../../pwn", "/tmp/pwn", "..", "a\0b", "pwn\n", "C:\\pwn"] {
        let sandbox = sandbox();
        let extensions = sandbox.home().join("extensions");
        sandbox.misbehave_at(&extensions.join("odd"), name, "path_name", json!({}));
        let before = (outside(&sandbox), fs::read_dir(sandbox.path("")).expect("a folder").count());
        let (code, listing) = sandbox.json(&["tools"]);
        assert_eq!(code, 0, "{name:?}");
        for tool in listing["tools"].as_array().expect("tools") {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let tool = tool["name"].as_str().expect("a name");
            assert!(!tool.is_empty() && tool.len() <= 64 && tool.chars().all(fits), "{name:?}: {tool:?}");
        }
        let rows = sandbox.json(&["list"]).1["extensions"].as_array().expect("rows").clone();
        for row in rows {
            let id = row["id"].as_str().expect("an id");
            assert!(!id.contains(['/', '\\', '\0', '\n']) && !id.starts_with('.'), "{name:?}: {id:?}");
        }
        let after = (outside(&sandbox), fs::read_dir(sandbox.path("")).expect("a folder").count());
        assert_eq!(before.0, after.0, "{name:?}");
        assert_eq!(after.1, before.1, "{name:?}: nothing new beside the home");
        let in_home: Vec<_> =
            fs::read_dir(sandbox.home()).expect("a folder").flatten().map(|e| e.file_name()).collect();
        assert!(!in_home.iter().any(|entry| entry.to_string_lossy().contains("pwn")), "{name:?}: {in_home:?}");
    }
}

#[test]
fn tool_names_that_are_paths_in_json_rpc() {
    let sandbox = sandbox();
    sandbox.misbehave_rpc("odd", "bad_names");
    let (code, listing) = sandbox.json(&["tools"]);
    let tools = tools_of(&listing, "odd");
    assert_eq!((code, tools.contains(&"ext_odd_echo".to_owned())), (0, true), "{listing:#}");
    assert!(tools.iter().all(|tool| !tool.contains(['/', ' ', '!', '\n', '.'])), "{tools:?}");
    assert!(messages(&listing).contains("left out"), "{}", messages(&listing));
}
