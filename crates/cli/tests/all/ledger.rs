//! The evidence through its verbs: `ledger tail|show|verify`, `why`, and what `doctor` and `reload` say.

use std::fs;
use std::path::PathBuf;

use jackfield_test_support::{Sandbox, example, keys};
use serde_json::{Value, json};

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.plain("plain", &["who"], &["me"]);
    sandbox
}

fn events(records: &Value) -> Vec<&str> {
    records["records"].as_array().expect("a list").iter().filter_map(|record| record["event"].as_str()).collect()
}

fn segment(sandbox: &Sandbox) -> PathBuf {
    let entries = fs::read_dir(sandbox.home().join("ledger")).expect("a ledger").flatten().map(|entry| entry.path());
    let mut segments: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    segments.sort();
    segments.pop().expect("a segment")
}

#[test]
fn every_call_leaves_a_start_and_an_end() {
    let sandbox = sandbox();
    let (_, called) = sandbox.json(&["call", "who", "a=1"]);
    let (_, ran) = sandbox.json(&["run", "me"]);
    let (_, missed) = sandbox.json(&["call", "nobody"]);
    let (code, tail) = sandbox.json(&["ledger", "tail", "-n", "6"]);
    assert_eq!(code, 0);
    assert_eq!(keys(&tail), "records");
    assert_eq!(
        events(&tail),
        [
            "tool_call.start",
            "tool_call.end",
            "slash_command.start",
            "slash_command.end",
            "tool_call.start",
            "tool_call.end"
        ]
    );
    for record in tail["records"].as_array().expect("a list") {
        assert_eq!(keys(record), "chain correlation data event level message schema source ts");
        assert_eq!(record["schema"], "pi.ext.log.v1");
    }
    for (answer, kind) in [(&called, "tool_call"), (&ran, "slash_command"), (&missed, "tool_call")] {
        let id = answer["call_id"].as_str().expect("an id");
        let (code, shown) = sandbox.json(&["ledger", "show", id]);
        assert_eq!(code, 0, "{shown:#}");
        assert_eq!(events(&shown), [format!("{kind}.start"), format!("{kind}.end")]);
        let hash = |at: usize| &shown["records"][at]["data"]["params_hash"];
        assert!(hash(0) == hash(1) && hash(0).as_str().is_some_and(|hash| hash.len() == 64), "{shown:#}");
    }
    let (_, tail) = sandbox.json(&["ledger", "tail", "--extension", "plain"]);
    // The first call began before the host had met the extension: its start names no owner.
    assert_eq!(events(&tail).len(), 3, "{tail:#}");
    let lines = sandbox.run(&["ledger", "tail", "-n", "2"]).exits(0).stdout;
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(lines.contains("tool_call.end") && lines.contains("not_found"), "{lines}");
}

#[test]
fn a_changed_byte_is_found_and_named() {
    let sandbox = sandbox();
    for _ in 0..3 {
        sandbox.run(&["call", "who"]).exits(0);
    }
    let (code, report) = sandbox.json(&["ledger", "verify"]);
    assert_eq!((code, &report["ok"]), (0, &json!(true)), "{report:#}");
    assert_eq!(keys(&report), "further_problems head ok open_calls problems records repairs segments torn_tail_bytes");
    assert!(report["records"].as_u64().is_some_and(|records| records >= 6), "{report:#}");
    let file = segment(&sandbox);
    let honest = fs::read_to_string(&file).expect("the ledger");
    let number = honest.lines().position(|line| line.contains("tool_call.end")).expect("an end");
    let tampered: Vec<String> = honest
        .lines()
        .enumerate()
        .map(|(at, line)| if at == number { line.replacen("person", "nobody", 1) } else { line.to_owned() })
        .collect();
    let dropped: Vec<&str> = honest.lines().enumerate().filter(|(at, _)| *at != number).map(|(_, line)| line).collect();
    for text in [tampered.join("\n"), dropped.join("\n")] {
        assert_ne!(text.trim_end(), honest.trim_end());
        fs::write(&file, text + "\n").expect("written");
        let (code, report) = sandbox.json(&["ledger", "verify"]);
        assert_eq!((code, &report["ok"]), (1, &json!(false)), "{report:#}");
        assert_eq!(keys(&report["problems"][0]), "file line message");
        assert_eq!(report["problems"][0]["line"], json!(number + 1), "{report:#}");
        let output = sandbox.run(&["ledger", "verify"]).exits(1);
        assert!(output.stdout.contains(&format!("{}:{}:", file.display(), number + 1)), "{output:#?}");
        let (code, report) = sandbox.json(&["doctor"]);
        assert_eq!((code, &report["ledger"]["ok"]), (7, &json!(false)), "{report:#}");
        sandbox.run(&["call", "who"]).exits(0);
    }
    fs::write(&file, honest).expect("written");
    sandbox.run(&["ledger", "verify"]).exits(0);
}

#[test]
fn why_tells_the_whole_chain() {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "ok");
    let (code, why) = sandbox.json(&["why", "who"]);
    assert_eq!(code, 0, "{why:#}");
    assert_eq!(keys(&why), "calls extension policy powers tool");
    assert_eq!(keys(&why["calls"]), "agent person");
    assert_eq!(keys(&why["powers"]), "agent env events exec http listen log read session tool ui write");
    assert_eq!(keys(&why["powers"]["read"]), "chain rule verdict");
    assert_eq!((&why["policy"], &why["powers"]["read"]["verdict"]), (&json!("prompt"), &json!("ask")));
    assert_eq!(keys(&why["powers"]["read"]["chain"][0]), "detail effect rule");
    let strict = sandbox.json(&["--policy", "strict", "why", "who"]).1;
    assert_eq!(
        (&strict["calls"]["person"]["verdict"], &strict["calls"]["agent"]["verdict"]),
        (&json!("allow"), &json!("deny"))
    );
    let text = sandbox.run(&["why", "ext_plain_who"]).exits(0).stdout;
    assert!(
        text.contains("a person calls it: allow (caller)") && text.contains("it asks for read, write, exec"),
        "{text}"
    );
    assert!(text.lines().count() < 10, "the decisions alone:\n{text}");
    let text = sandbox.run(&["why", "ext_plain_who", "--all"]).exits(0).stdout;
    assert!(
        text.contains("a person calls it: allow (caller)") && text.contains("it asks for read: ask (mode)"),
        "{text}"
    );

    let decisions = |flags: &[&str], words: &[&str]| {
        let (_, answer) = sandbox.json(&[flags, words].concat());
        let id = answer["call_id"].as_str().expect("an id").to_owned();
        let (code, why) = sandbox.json(&["why", &id]);
        assert_eq!(code, 0, "{why:#}");
        assert_eq!(keys(&why), "call_id decisions records");
        assert!(sandbox.run(&["why", &id]).exits(0).stdout.contains(&id));
        why["decisions"].clone()
    };
    // Allowed: the rule that said so.
    assert_eq!(
        decisions(&[], &["call", "who"]),
        json!([{ "by": "policy", "extension": "plain", "verdict": "allow", "rule": "caller", "need": "who" }])
    );
    // Asked, and nobody there: the chain of the host call, then the rule for the call around it.
    let read = json!({ "method": "fs", "params": { "op": "read", "path": "a.txt" } }).to_string();
    let chain = decisions(&[], &["call", "host_call", "--args", &read]);
    assert_eq!(
        (&chain[0]["by"], &chain[0]["verdict"], &chain[0]["rule"]),
        (&json!("policy"), &json!("ask"), &json!("mode"))
    );
    assert!(chain[0]["chain"].as_array().is_some_and(|steps| steps.len() > 5), "{chain:#}");
    assert_eq!(chain[1]["rule"], "caller", "{chain:#}");
    // Blocked by a guard.
    let guard = sandbox.misbehave_at(&sandbox.path("guard"), "guard", "guard_block", json!({})).display().to_string();
    assert_eq!(
        decisions(&["-e", &guard], &["call", "who"]),
        json!([{ "by": "hook", "extension": "guard", "hook": "before_tool_call", "verdict": "block" }])
    );
}

#[test]
fn doctor_finds_what_is_wrong() {
    let sandbox = sandbox();
    let (code, report) = sandbox.json(&["doctor"]);
    assert_eq!(code, 0, "{report:#}");
    assert_eq!(keys(&report), "diagnostics extensions home ledger ok results");
    assert_eq!((&report["ok"], &report["extensions"], &report["results"]), (&json!(true), &json!(1), &json!([])));

    sandbox.misbehave("early", "exit_before_hello");
    sandbox.misbehave_at(&sandbox.home().join("extensions/off"), "off", "ok", json!({ "enabled": false }));
    // Looking at manifests alone finds nothing, running them does.
    sandbox.run(&["doctor"]).exits(0);
    let (code, report) = sandbox.json(&["doctor", "--runtime"]);
    assert_eq!((code, &report["ok"]), (6, &json!(false)), "{report:#}");
    let results: Vec<String> = report["results"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|result| {
            assert_eq!(keys(result), "elapsed_ms error id outcome");
            format!("{} {}", result["id"], result["outcome"]).replace('"', "")
        })
        .collect();
    assert_eq!(results, ["early fail", "off skip", "plain ok"]);
    assert!(
        report["results"][0]["error"].as_str().is_some_and(|error| error.contains("leaving before hello")),
        "{report:#}"
    );
    let text = sandbox.run(&["doctor", "--runtime"]).exits(6).stdout;
    assert!(text.contains("OUTCOME") && text.contains("verified"), "{text}");

    sandbox.write(&sandbox.home().join("extensions/broken/extension.json"), "{");
    let (code, report) = sandbox.json(&["doctor"]);
    assert_eq!((code, &report["diagnostics"][0]["level"]), (7, &json!("error")), "{report:#}");
}

#[test]
fn reload_without_a_host_says_what_changed() {
    let sandbox = sandbox();
    let shell = example("hello-sh").display().to_string();
    sandbox.run(&["call", "who"]).exits(0);
    assert_eq!(sandbox.json(&["reload"]), (0, json!({ "ok": true, "hosts": 0, "reloaded": [] })));
    assert_eq!(sandbox.run(&["reload"]).exits(0).stdout, "nothing has changed\n");
    let old =
        sandbox.json(&["inspect", &sandbox.home().join("extensions/plain").display().to_string()]).1["hash"].clone();

    sandbox.plain("plain", &["who", "more"], &[]);
    let (code, answer) = sandbox.json(&["reload"]);
    assert_eq!(code, 0, "{answer:#}");
    let reloaded = &answer["reloaded"][0];
    assert_eq!(keys(reloaded), "changes extension new old");
    assert_eq!(reloaded["old"], old);
    assert_ne!(reloaded["new"], old);
    assert_eq!(reloaded["changes"], json!(["tool more added", "command /me removed"]));

    sandbox.plain("plain", &["who"], &[]);
    let text = sandbox.run(&["reload", "plain"]).exits(0).stdout;
    let new = reloaded["new"].as_str().expect("a hash");
    assert!(text.starts_with(&format!("plain: {} → ", &new[..12])) && text.ends_with("tool more removed\n"), "{text}");

    // A version that does not start: exit 6, the reason, and the old one is still what is known.
    let script = sandbox.home().join("extensions/plain/run.sh");
    sandbox.write(&script, "echo 'not today' >&2\nexit 3\n");
    let (code, answer) = sandbox.json(&["reload"]);
    assert_eq!((code, &answer["ok"]), (6, &json!(false)), "{answer:#}");
    assert!(answer["reloaded"][0]["error"].as_str().is_some_and(|error| error.contains("not today")), "{answer:#}");

    // Unchanged, but asked for by name.
    let (code, answer) = sandbox.json(&["-e", &shell, "reload", "hello-sh"]);
    assert_eq!((code, &answer["reloaded"][0]["extension"]), (0, &json!("hello-sh")), "{answer:#}");
}
