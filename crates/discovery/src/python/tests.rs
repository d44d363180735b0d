//! Which files are extensions, what they are called, and what belongs to them.

use std::fs;

use jackfield_protocol::PythonRole;

use super::super::testing::{Place, write};
use super::*;

fn ids(report: &super::super::Report) -> Vec<(String, &'static str)> {
    report
        .extensions
        .iter()
        .map(|found| {
            let standing = match found.standing {
                Standing::Active => "active",
                Standing::Invalid { .. } => "invalid",
                Standing::Untrusted => "untrusted",
                _ => "other",
            };
            (found.manifest.id.to_string(), standing)
        })
        .collect()
}

#[test]
fn files_in_tools_and_channels_are_extensions_and_nothing_else_is() {
    let place = Place::new();
    let root = place.input.home.extensions();
    let names = [
        "tools/greet.py",
        "tools/my-tool.py",
        "tools/a b.py",
        "tools/_helper.py",
        "tools/.hidden.py",
        "tools/.#lock.py",
        "tools/#half.py#",
        "tools/old.py~",
        "tools/.greet.py.swp",
        "tools/T.PY",
        "tools/notes.txt",
        "tools/sub/inner.py",
        "tools/package/__init__.py",
        "tools/__pycache__/greet.cpython-311.pyc",
        "channels/slack.py",
        "channels/greet.py",
        "loose.py",
        "other/x.py",
    ];
    for name in names {
        write(&root.join(name), "def run(): pass\n");
    }
    let report = place.discover();
    let expected = ["channels.greet", "channels.slack", "tools.a-b", "tools.greet", "tools.my-tool"];
    assert_eq!(ids(&report), expected.map(|id| (id.to_owned(), "active")));
    let roles: Vec<_> = report.extensions.iter().map(|found| found.manifest.launch.clone()).collect();
    assert_eq!(roles[0], Launch::Python { entry: "greet.py".to_owned(), role: PythonRole::Channel });
    assert_eq!(report.extensions[2].manifest.name, "a b");
}

#[test]
fn a_projects_files_wait_for_trust_and_keep_their_own_names() {
    let place = Place::new();
    write(&place.input.home.extensions().join("tools/greet.py"), "def run(): pass\n");
    write(&place.project.join("extensions/tools/greet.py"), "def run(): pass\n");
    let report = place.discover();
    let found = ids(&report);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.contains(&("tools.greet".to_owned(), "active")), "{found:?}");
    assert!(found.iter().any(|(id, standing)| id.starts_with("tools.greet-") && *standing == "untrusted"), "{found:?}");
}

#[test]
fn reserved_names_and_broken_blocks_are_refused_by_file() {
    let place = Place::new();
    let root = place.input.home.extensions();
    write(&root.join("tools/MCP__x.py"), "def run(): pass\n");
    write(&root.join("tools/broken.py"), "# /// script\n# [tool.jackfield\n# ///\ndef run(): pass\n");
    write(&root.join("tools/env.py"), "# /// script\n# [tool.jackfield]\n# requires = { env = [\"HOME\"] }\n# ///\n");
    write(&root.join("tools/fine.py"), "def run(): pass\n");
    let report = place.discover();
    let standing = |id: &str| {
        report.extensions.iter().find(|found| found.manifest.id.as_str() == id).map(|found| found.standing.clone())
    };
    assert_eq!(standing("tools.fine"), Some(Standing::Active));
    let error = |id: &str| match standing(id) {
        Some(Standing::Invalid { error }) => error,
        other => panic!("{id}: {other:?}"),
    };
    assert!(error("tools.MCP__x").contains("MCP servers") && error("tools.MCP__x").contains("MCP__x.py"));
    assert!(error("tools.broken").contains("broken.py"));
    let env = report.extensions.iter().find(|found| found.manifest.id.as_str() == "tools.env").expect("env");
    assert_eq!(env.manifest.requires.env, ["HOME"]);
}

#[test]
fn what_a_file_imports_belongs_to_it_and_nothing_else_does() {
    let place = Place::new();
    let tools = place.input.home.extensions().join("tools");
    write(&tools.join("greet.py"), "from _words import hello\ndef run(): return hello\n");
    write(&tools.join("_words.py"), "from ._more.deep import x\nhello = 'hi'\n");
    write(&tools.join("_more/__init__.py"), "");
    write(&tools.join("_more/deep.py"), "x = 1\n");
    write(&tools.join("_unused.py"), "");
    write(&tools.join("other.py"), "def run(): pass\n");
    let hashes = || {
        let report = place.discover();
        let hash = |id: &str| {
            let found = report.extensions.iter().find(|found| found.manifest.id.as_str() == id);
            found.expect("found").read_hash()
        };
        (hash("tools.greet"), hash("tools.other"))
    };
    let before = hashes();
    write(&tools.join("_unused.py"), "changed = 1\n");
    assert_eq!(hashes(), before);
    write(&tools.join("_words.py"), "hello = 'ho'\n");
    let after = hashes();
    assert_ne!(after.0, before.0);
    assert_eq!(after.1, before.1);
}

#[cfg(unix)]
#[test]
fn links_out_of_a_project_are_not_followed_and_those_of_the_user_are() {
    let place = Place::new();
    let outside = place.project.with_file_name("outside.py");
    write(&outside, "def run(): pass\n");
    for root in [place.input.home.extensions(), place.project.join("extensions")] {
        fs::create_dir_all(root.join("tools")).expect("a directory");
        std::os::unix::fs::symlink(&outside, root.join("tools/linked.py")).expect("a link");
    }
    let report = place.discover();
    assert_eq!(ids(&report), [("tools.linked".to_owned(), "active")]);
    assert_eq!(report.extensions[0].manifest_path, fs::canonicalize(&outside).expect("there"));
    assert!(report.diagnostics.iter().any(|diagnostic| diagnostic.message.contains("escapes")), "{report:?}");
}
