use serde_json::{Value, json};

use super::golden::{differences, misses, read, refusal, registers};
use super::*;

fn data() -> PathBuf {
    root().join("xtask/conformance/pi")
}

fn row(name: &str, set: Set, differences: &[&str]) -> Row {
    let expected = Expected { name: name.to_owned(), set, facts: json!({ "registers": {} }) };
    let differences = differences.iter().map(|&line| line.to_owned()).collect();
    Row { expected, found: Value::Null, differences, took: Duration::ZERO }
}

fn listed(names: &[&str]) -> BTreeMap<String, String> {
    names.iter().map(|name| ((*name).to_owned(), "because".to_owned())).collect()
}

#[test]
fn the_golden_files_are_whole() {
    let official = read(&data(), Set::Official).expect("the official examples");
    assert_eq!(official.len(), 78);
    assert_eq!(official.iter().filter(|one| one.loads()).count(), 75);
    let npm = read(&data(), Set::Npm).expect("the packages");
    assert_eq!(npm.iter().filter(|one| one.loads()).count(), 30);
    let installed = read(&data(), Set::Installed).expect("the examples with dependencies");
    let names: Vec<&str> = installed.iter().map(|one| one.name.as_str()).collect();
    let pinned: toml::Table =
        std::fs::read_to_string(data().join("corpus.toml")).expect("the pins").parse().expect("TOML");
    let asked: Vec<String> = pinned["examples"]["installed"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|name| format!("$INSTALLED/{}", name.as_str().expect("a name")))
        .collect();
    assert_eq!(names, asked);
    for one in &npm {
        let pinned = pinned["package"].as_array().expect("packages").iter().filter(|package| {
            let name = package["name"].as_str().expect("a name");
            one.name.starts_with(&format!("$NPM/{name}/"))
        });
        assert_eq!(pinned.count(), 1, "{} is pinned once", one.name);
    }
    misses(&data()).expect("the list of misses");
}

#[test]
fn equal_facts_leave_no_difference() {
    let inspected = json!({
        "id": "x", "hash": "h", "hooks": ["before_tool_call"],
        "tools": [{ "name": "t", "label": "T", "description": "d", "parameters": { "minimum": 1.0 }, "more": 1 }],
        "commands": [{ "name": "c", "description": "" }],
        "events": { "session_start": 2 },
        "flags": [], "toolRenderers": 0, "markdownTransformer": false,
    });
    let pi = json!({ "registers": {
        "tools": [{ "name": "t", "label": "T", "description": "d", "parameters": { "minimum": 1 } }],
        "commands": [{ "name": "c" }],
        "events": { "session_start": 2 },
    } });
    assert_eq!(differences(&pi, &registers(&inspected)), Vec::<String>::new());
}

#[test]
fn each_kind_of_fact_is_compared() {
    for (fact, value) in [
        ("tools", json!([{ "name": "t", "label": "t", "description": "d", "parameters": {} }])),
        ("commands", json!([{ "name": "c" }])),
        ("events", json!({ "input": 1 })),
        ("flags", json!([{ "name": "f" }])),
        ("shortcuts", json!([{ "shortcut": "ctrl+x" }])),
        ("providers", json!([{ "name": "p" }])),
        ("nativeProviders", json!(["p"])),
        ("virtualModels", json!([{ "id": "auto" }])),
        ("mcpServers", json!([{ "name": "m" }])),
        ("messageRenderers", json!(["m"])),
        ("entryRenderers", json!(["e"])),
        ("toolRenderers", json!(1)),
        ("markdownTransformer", json!(true)),
        ("busChannels", json!(["a:b"])),
    ] {
        let with = json!({ fact: value });
        let missing = differences(&registers(&with), &registers(&json!({})));
        assert_eq!(missing.len(), 1, "{fact} is missed: {missing:?}");
        assert!(missing.iter().all(|line| line.starts_with(fact)), "{missing:?}");
        assert_eq!(differences(&registers(&json!({})), &registers(&with)).len(), 1, "{fact} is one too many");
    }
}

#[test]
fn a_difference_says_where_it_is() {
    let pi = json!({ "registers": { "tools": [{ "name": "t", "parameters": { "required": ["a", "b"] } }] } });
    let here = json!({ "registers": { "tools": [{ "name": "t", "parameters": { "required": ["a", "c"] } }] } });
    assert_eq!(differences(&pi, &here), ["tools[0].parameters.required[1]: pi \"b\", here \"c\""]);
}

#[test]
fn errors_are_compared_by_class() {
    let pi = json!({ "error": { "class": "missing module", "module": "ms" } });
    let here = refusal("Failed to load extension: Cannot find module 'ms' imported from /x/index.ts");
    assert_eq!(differences(&pi, &here), Vec::<String>::new());
    assert_eq!(differences(&pi, &refusal("Cannot find module 'other'")).len(), 1, "another module");
    assert_eq!(differences(&pi, &refusal("Failed to load extension: boom")).len(), 2, "another class");
    assert_eq!(differences(&pi, &json!({ "registers": {} })).len(), 1, "it loads here");
    assert_eq!(differences(&json!({ "registers": {} }), &here).len(), 1, "it loads in pi");
    assert_eq!(refusal("x does not export a valid factory function")["error"]["class"], "no factory");
}

#[test]
fn a_miss_must_be_explained_and_an_explanation_must_be_needed() {
    let npm: Vec<Row> = (0..19).map(|n| row(&format!("$NPM/{n}"), Set::Npm, &[])).collect();
    let with =
        |more: Vec<Row>| npm.iter().map(|r| row(&r.expected.name, Set::Npm, &[])).chain(more).collect::<Vec<_>>();
    assert!(Verdict::of(&npm, listed(&[]), false).complaints.is_empty());
    let missed = with(vec![row("$NPM/x", Set::Npm, &["events"])]);
    assert_eq!(Verdict::of(&missed, listed(&[]), false).complaints.len(), 1, "not explained");
    assert!(Verdict::of(&missed, listed(&["$NPM/x"]), false).complaints.is_empty(), "19 of 20, explained");
    assert_eq!(Verdict::of(&npm, listed(&["$NPM/3"]), false).complaints.len(), 1, "explained, but equal");
    assert_eq!(Verdict::of(&npm, listed(&["$NPM/gone"]), false).complaints.len(), 1, "not in the corpus");
    assert!(Verdict::of(&npm, listed(&["$NPM/gone"]), true).complaints.is_empty(), "only a part was asked for");
}

#[test]
fn the_goals_hold() {
    let official = [row("$EXAMPLES/a", Set::Official, &[]), row("$EXAMPLES/b", Set::Official, &["tools"])];
    let verdict = Verdict::of(&official, listed(&["$EXAMPLES/b"]), false);
    assert_eq!(verdict.complaints.len(), 1, "an official example may not be missed, explained or not");
    let mut npm: Vec<Row> = (0..8).map(|n| row(&format!("$NPM/{n}"), Set::Npm, &[])).collect();
    npm.extend(["$NPM/x", "$NPM/y"].map(|name| row(name, Set::Npm, &["tools"])));
    assert_eq!(
        Verdict::of(&npm, listed(&["$NPM/x", "$NPM/y"]), false).complaints.len(),
        1,
        "8 of 10 is under the goal"
    );
}

#[test]
fn options_are_read() {
    let words = |text: &str| options(text.split_whitespace().map(str::to_owned));
    let read = words("--json --only todo --jobs 4 --bin x/jackfield").expect("options");
    assert!(read.json && read.jobs == 4 && read.only.as_deref() == Some("todo"));
    assert_eq!(read.bin, Some(PathBuf::from("x/jackfield")));
    assert!(words("--only").is_err() && words("--jobs many").is_err() && words("--fast").is_err());
}
