//! What bad files get: a word with the file and what to do, and nothing else is affected.

use std::time::Instant;

use serde_json::json;

use super::support::{called, complaints, fails, sandbox, text, tool};

#[test]
fn what_cannot_be_loaded_is_named_with_its_line() {
    let sandbox = sandbox();
    tool(&sandbox, "fine", "def run():\n    return 'fine'\n");
    let bad = [
        ("syntax", "def run():\n    return (\n", "syntax.py:2: SyntaxError"),
        ("imports", "\nimport nosuchmodule\ndef run(): pass\n", "imports.py:2: ModuleNotFoundError"),
        ("without", "def walk(): pass\n", "without.py: there is no function run"),
        ("seven", "run = 7\n", "seven.py: run is an int, not a function"),
        ("class_", "class run: pass\n", "class_.py: run is a class"),
        ("stream", "async def run():\n    yield 1\n", "stream.py:1: run is a generator"),
        ("hint", "def run(x: Nowhere): pass\n", "hint.py:1: NameError"),
        ("leaves", "import sys\nsys.exit(1)\n", "leaves.py:2: SystemExit: it calls sys.exit(1)"),
        ("dies", "import os\nos._exit(3)\n", "dies.py: its process ended while it was loaded"),
        ("bytes", "x = b'\u{0}'\n", "bytes.py"),
    ];
    for (name, source, _) in bad {
        tool(&sandbox, name, source);
    }
    let said = complaints(&sandbox);
    for (name, _, expected) in bad {
        assert!(said.contains(expected), "{name}: {expected}: {said}");
        let (code, answer) = sandbox.json(&["call", name]);
        assert_eq!((code, answer["ok"].as_bool()), (3, Some(false)), "{answer}");
    }
    assert_eq!(called(&sandbox, &["fine"]), "fine");
}

#[test]
fn a_hint_that_nobody_can_resolve_does_not_lose_the_tool() {
    let sandbox = sandbox();
    let file =
        tool(&sandbox, "lazy", "from __future__ import annotations\ndef run(x: Nowhere, y: int):\n    return [x, y]\n");
    let (_, shown) = sandbox.json(&["inspect", &file.display().to_string()]);
    assert_eq!(shown["tools"][0]["parameters"]["properties"], json!({ "x": {}, "y": { "type": "integer" } }));
    assert!(shown["diagnostics"].to_string().contains("Nowhere"), "{shown:#}");
    assert_eq!(called(&sandbox, &["lazy", "x=1", "y=2"]), "[1, 2]");
}

#[test]
fn exceptions_are_errors_with_their_place() {
    let sandbox = sandbox();
    tool(&sandbox, "raises", "def run():\n    return {}['city']\n");
    let said = fails(&sandbox, &["raises"]);
    assert!(said.starts_with("KeyError: 'city'") && said.contains("raises.py:2"), "{said}");
    tool(&sandbox, "quits", "import sys\ndef run():\n    sys.exit(2)\n");
    assert!(fails(&sandbox, &["quits"]).contains("sys.exit(2)"));
    tool(&sandbox, "deep", "def run():\n    return run()\n");
    assert!(fails(&sandbox, &["deep"]).contains("RecursionError"));
}

#[test]
fn prints_go_to_the_log() {
    let sandbox = sandbox();
    tool(
        &sandbox,
        "talks",
        "import os\ndef run():\n    print('a word')\n    os.system('echo from below')\n    return 'done'\n",
    );
    assert_eq!(called(&sandbox, &["talks"]), "done");
    let logs = sandbox.run(&["ext", "logs", "tools.talks"]).exits(0).stdout;
    assert!(logs.contains("a word") && logs.contains("from below"), "{logs}");
}

#[test]
fn an_endless_result_is_cut_and_kept() {
    let sandbox = sandbox();
    tool(&sandbox, "huge", "def run(n: int):\n    return 'x' * n\n");
    let (code, answer) = sandbox.json(&["call", "huge", &format!("n={}", 1u64 << 30)]);
    assert_eq!((code, &answer["details"]["characters"]), (0, &json!(1u64 << 30)), "{:?}", answer["error"]);
    assert!(text(&answer).len() < 300_000);
    let file = answer["details"]["file"].as_str().expect("a file");
    assert!(file.starts_with(&sandbox.home().join("tmp/tools.huge").display().to_string()), "{file}");
    assert_eq!(std::fs::metadata(file).expect("the rest").len(), 64 << 20);
}

#[test]
fn files_of_editors_are_none_of_ours() {
    let sandbox = sandbox();
    tool(&sandbox, "fine", "def run():\n    return 'fine'\n");
    for name in ["fine.py~", ".fine.py.swp", ".#fine.py", "#fine.py#", "4913", ".fine.py.tmp", "fine.py.bak"] {
        sandbox.write(&sandbox.home().join("extensions/tools").join(name), "not Python at all (\n");
    }
    let (_, listed) = sandbox.json(&["list"]);
    assert_eq!(listed["extensions"].as_array().map(Vec::len), Some(1), "{listed:#}");
    assert_eq!(complaints(&sandbox), "");
}

#[test]
fn a_file_that_loads_for_ever_costs_its_time_and_no_more() {
    let sandbox = sandbox();
    tool(&sandbox, "stuck", "import time\nwhile True:\n    time.sleep(1)\n");
    for name in ["a", "b", "c"] {
        tool(&sandbox, name, "def run():\n    return 'here'\n");
    }
    let began = Instant::now();
    let said = complaints(&sandbox);
    assert!(said.contains("stuck.py: it was still being loaded after 10 s"), "{said}");
    assert!(began.elapsed().as_secs() < 25);
    assert_eq!(called(&sandbox, &["b"]), "here");
}
