//! Native code: compiled once, kept sealed, never believed.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_wasm::{WasmOptions, build, scan};
use serde_json::{Value, json};

use crate::support::{Bed, actor_bytes, text};

fn entries(folder: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut all: Vec<PathBuf> = all.filter(|path| path.file_name().is_some_and(|name| name != "key")).collect();
    all.sort();
    all
}

fn bed(folder: &Path, bytes: &[u8]) -> Bed {
    Bed::with(bytes, WasmOptions { cache: Some(folder.to_owned()), ..WasmOptions::default() })
}

/// Starts it, uses it, and says how its code came.
async fn started(folder: &Path, bytes: &[u8]) -> Value {
    let (instance, _) = bed(folder, bytes).start().await;
    assert_eq!(text(&instance, "count", json!({})).await, "1");
    instance.code().expect("told")
}

#[tokio::test]
async fn it_is_compiled_once_and_a_damaged_or_swapped_entry_is_made_anew() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("code");
    assert_eq!(started(&folder, actor_bytes()).await["compiled"], 1);
    assert_eq!(started(&folder, actor_bytes()).await["cached"], 1);
    let [entry] = entries(&folder).try_into().expect("one entry");
    let good = fs::read(&entry).expect("there");
    for at in [0, 40, good.len() / 2, good.len() - 1] {
        let mut bad = good.clone();
        bad[at] ^= 0x40;
        fs::write(&entry, &bad).expect("written");
        assert_eq!(started(&folder, actor_bytes()).await["compiled"], 1, "changed at {at}");
        assert_eq!(fs::read(&entry).expect("there").len(), good.len(), "made anew");
    }
    fs::write(&entry, b"").expect("written");
    assert_eq!(started(&folder, actor_bytes()).await["compiled"], 1);
    // The code of another component under its name.
    let pure = jackfield_test_support::guest("pure.wat", "pure-tool");
    bed(&folder, &pure).start().await;
    let other = entries(&folder).into_iter().find(|path| *path != entry).expect("the other's");
    fs::copy(&entry, &other).expect("swapped");
    let (instance, contributions) = bed(&folder, &pure).start().await;
    assert_eq!(contributions.tools[0].name, "shout", "its own code runs");
    assert_eq!(instance.code().expect("told")["compiled"], 1);
    // A key that somebody else put there makes all entries foreign.
    fs::write(folder.join("key"), [7; 32]).expect("written");
    assert_eq!(started(&folder, actor_bytes()).await["compiled"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hosts_share_a_folder() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("code");
    let work = (0..4).map(|_| {
        let folder = folder.clone();
        tokio::spawn(async move { started(&folder, actor_bytes()).await })
    });
    for done in work.collect::<Vec<_>>() {
        done.await.expect("no panic");
    }
    assert_eq!(started(&folder, actor_bytes()).await["cached"], 1);
    assert_eq!(entries(&folder).len(), 1, "nothing is left lying about");
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_costs_time_only() {
    let dir = tempfile::tempdir().expect("a folder");
    let folder = dir.path().join("file");
    fs::write(&folder, "in the way").expect("written");
    assert_eq!(started(&folder, actor_bytes()).await["compiled"], 1);
}

#[tokio::test]
async fn what_is_built_runs_without_being_compiled() {
    let dir = tempfile::tempdir().expect("a folder");
    let built = build(actor_bytes(), dir.path()).expect("built");
    assert!(built.component.len() <= actor_bytes().len() && built.native > 0);
    assert_eq!(scan(&built.component).expect("a component"), built.facts);
    assert!(built.facts.imports.contains(&"jackfield:extension/host@1.0.0".to_owned()), "{:?}", built.facts.imports);
    assert!(!built.facts.imports.iter().any(|import| import.contains("/exec@")), "it imports no exec");
    assert_eq!(started(dir.path(), &built.component).await["cached"], 1);
    assert_eq!(started(dir.path(), actor_bytes()).await["cached"], 1, "the source, too");
}
