//! Manifests of every form and the settings beside them: whatever they hold, discovery goes on and says what is wrong.
//! The first byte says which file the rest is.

#![no_main]

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use jackfield_discovery::{DiscoveryInput, LockFile, discover_named};
use jackfield_files::Home;
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 6] =
    ["extension.toml", "extension.json", "plugin.toml", "package.json", ".mcp.json", "../home/jackfield.lock"];

thread_local! {
    static PLACE: OnceCell<PathBuf> = const { OnceCell::new() };
}

fn place() -> PathBuf {
    PLACE.with(|place| {
        place
            .get_or_init(|| {
                let dir = tempfile::tempdir().expect("a temporary directory").keep();
                for folder in ["ext", "home/extensions", "project"] {
                    fs::create_dir_all(dir.join(folder)).expect("a directory");
                }
                dir
            })
            .clone()
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((which, text)) = input.split_first() else { return };
    let Some(name) = FILES.get(usize::from(*which) % FILES.len()) else { return };
    let place = place();
    let file = place.join("ext").join(name);
    fs::write(&file, text).expect("the file");
    let home = Home::at(place.join("home"));
    if let Ok(entries) = LockFile::of(&home).read() {
        for locked in entries.values() {
            assert!(locked.sha256.as_ref().is_none_or(|hash| hash.len() == 64));
        }
    }
    let report = discover_named(&DiscoveryInput {
        home,
        project: place.join("project"),
        ext: vec![place.join("ext")],
        path_env: None,
        env: BTreeMap::new(),
        secrets: BTreeSet::new(),
    });
    for found in &report.extensions {
        let id = found.manifest.id.as_str();
        assert!(!id.is_empty() && !id.contains(['/', '\0']) && id != "..", "{id:?} would name another directory");
    }
    for diagnostic in &report.diagnostics {
        assert!(!diagnostic.message.contains('\u{1b}'), "no control sequence reaches a terminal");
    }
    fs::remove_file(&file).expect("the file was there");
});
