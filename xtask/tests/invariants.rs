//! `docs/invariants.md` names the tests that hold each invariant. Here: the files and tests that it names exist.

#![allow(clippy::expect_used, reason = "functions beside the tests are tests too")]

use std::fs;
use std::path::{Path, PathBuf};

/// One line of evidence: a file or a folder, and the tests in it.
#[derive(Debug, PartialEq)]
struct Evidence {
    path: String,
    tests: Vec<String>,
}

/// An invariant and its evidence.
#[derive(Debug, PartialEq)]
struct Invariant {
    sentence: String,
    evidence: Vec<Evidence>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_path_buf()
}

/// Reads the page: ``- **Sentence.**`` begins an invariant, ``  - `path`: `test`, `test` `` is evidence for it. Lines that
/// are indented further continue the line before.
fn parse(page: &str) -> Vec<Invariant> {
    let mut invariants: Vec<Invariant> = Vec::new();
    for line in page.lines() {
        if let Some(sentence) = line.strip_prefix("- **") {
            invariants.push(Invariant { sentence: sentence.to_owned(), evidence: Vec::new() });
            continue;
        }
        let Some(invariant) = invariants.last_mut() else { continue };
        let mut quoted = line.split('`').skip(1).step_by(2).map(str::to_owned);
        if line.starts_with("  - ") {
            let path = quoted.next().unwrap_or_default();
            invariant.evidence.push(Evidence { path, tests: quoted.collect() });
        } else if line.starts_with("    ")
            && let Some(evidence) = invariant.evidence.last_mut()
        {
            evidence.tests.extend(quoted);
        }
    }
    invariants
}

/// The text of the file, or of all files below the folder.
fn text_of(path: &Path) -> String {
    if path.is_file() {
        return fs::read_to_string(path).unwrap_or_default();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| text_of(&entry.path())).collect::<Vec<_>>().join("\n")
}

/// Whether `text` defines a function of this name, in Rust, Python or JavaScript, or a trial of a test with its own `main`.
fn defines(text: &str, name: &str) -> bool {
    let is_function = ["fn", "def", "function"].iter().any(|word| text.contains(&format!("{word} {name}(")));
    is_function || text.contains(&format!("trial(\"{name}\""))
}

/// What is wrong with the evidence of an invariant.
fn problems(invariant: &Invariant) -> Vec<String> {
    let Invariant { sentence, evidence } = invariant;
    if evidence.is_empty() {
        return vec![format!("no test is named for: {sentence}")];
    }
    let mut problems = Vec::new();
    for Evidence { path, tests } in evidence {
        let places = [root().join("crates").join(path), root().join(path)];
        let Some(place) = places.iter().find(|place| !path.is_empty() && place.exists()) else {
            problems.push(format!("there is no {path:?}, named for: {sentence}"));
            continue;
        };
        let text = text_of(place);
        let missing = tests.iter().filter(|test| !defines(&text, test));
        problems.extend(missing.map(|test| format!("{path} has no test {test}, named for: {sentence}")));
    }
    problems
}

#[test]
fn every_invariant_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/invariants.md")).expect("docs/invariants.md");
    let invariants = parse(&page);
    assert!(invariants.len() > 50, "only {} invariants were read", invariants.len());
    let problems: Vec<String> = invariants.iter().flat_map(problems).collect();
    assert!(problems.is_empty(), "docs/invariants.md is out of date:\n{}", problems.join("\n"));
}

#[test]
fn what_does_not_exist_is_found() {
    let check = |evidence: &str, expected: &str| {
        let invariants = parse(&format!("intro `x`\n- **A sentence.** `word`\n{evidence}"));
        let found: Vec<String> = invariants.iter().flat_map(problems).collect();
        assert_eq!(found.join("\n").split(',').next().unwrap_or_default(), expected, "{evidence}");
    };
    check("  - `xtask/tests/invariants.rs`: `parse`,\n    `text_of`\n", "");
    check("  - `xtask/tests`: `parse`\n", "");
    check("", "no test is named for: A sentence.** `word`");
    check("  - `xtask/tests/gone.rs`: `parse`\n", "there is no \"xtask/tests/gone.rs\"");
    check("  - nothing in quotes\n", "there is no \"\"");
    check("  - `xtask/tests/invariants.rs`: `pars`\n", "xtask/tests/invariants.rs has no test pars");
    let continued = "  - `xtask/tests/invariants.rs`: `parse`,\n    `pars`\n";
    check(continued, "xtask/tests/invariants.rs has no test pars");
}
