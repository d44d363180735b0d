use std::fs;
use std::path::{Path, PathBuf};

use jackfield_protocol::Manifest;
use serde_json::json;

use super::*;

struct Place {
    folder: tempfile::TempDir,
    cache: CodeCache,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = CodeCache::at(&folder.path().join("code"));
        Self { folder, cache }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("there").join("ext")
    }

    fn built(&self, entry: &Path) -> (Built, PathBuf) {
        let built = build(&manifest("one"), entry, &self.cache).expect("built");
        let folder = self.folder.path().join("out");
        write(&folder, &built, b"{}").expect("written");
        (built, folder.join(FILE))
    }

    fn open(&self, file: &Path, entry: &Path, of: &str) -> Result<Option<Artifact>, String> {
        Artifact::open(file, &self.cache, entry, &digest_of(&manifest(of)))
    }
}

fn manifest(name: &str) -> Manifest {
    let value = json!({ "id": name, "name": name, "format": "pi", "runtime": "js", "enabled": true, "launch": { "kind": "js", "entry": "a.ts" } });
    serde_json::from_value(value).expect("a manifest")
}

fn names(built: &Built, root: &Path) -> Vec<String> {
    let name = |file: &BuiltFile| file.path.strip_prefix(root).expect("below").display().to_string();
    built.files.iter().map(name).collect()
}

#[test]
fn everything_that_is_named_is_compiled_and_nothing_is_run() {
    let place = Place::new();
    let entry = place.write(
        "a.ts",
        "import './b.js';\nimport type { T } from './types.js';\nimport { readFileSync } from 'node:fs';\n\
         import data from './data.json';\nexport * from './c';\nimport 'nowhere';\nimport 'pkg';\n\
         throw new Error('this runs only when it is loaded');\nexport const late = () => import('./late.ts');\n\
         export const old = () => require('./old.cjs');\nexport const made = (n: string) => import('./' + n);\nreadFileSync(data);\n",
    );
    for (name, text) in [
        ("b.ts", "import './a.ts';\n"),
        ("c.ts", "export const c = 1;\n"),
        ("late.ts", "export {};\n"),
        ("old.cjs", "require('./older.cjs');\n"),
        ("older.cjs", "with (module) exports = 08;\n"),
        ("data.json", "{}"),
        ("unnamed.ts", "export {};\n"),
        ("node_modules/pkg/package.json", r#"{"exports": {"import": "./m.mjs", "require": "./m.cjs"}}"#),
        ("node_modules/pkg/m.mjs", "export {};\n"),
        ("node_modules/pkg/m.cjs", "\n"),
    ] {
        place.write(name, text);
    }
    let (built, _) = place.built(&entry);
    let root = place.root();
    assert_eq!(
        names(&built, &root),
        ["a.ts", "b.ts", "c.ts", "data.json", "late.ts", "node_modules/pkg/m.mjs", "old.cjs", "older.cjs"]
    );
    assert_eq!(built.modules, ["node:fs"]);
    assert_eq!(built.left_out.len(), 1, "{:?}", built.left_out);
    assert!(built.left_out[0].contains("'nowhere'"), "{:?}", built.left_out);
}

#[test]
fn the_hash_names_manifest_files_and_engine_and_not_the_place() {
    let (one, two) = (Place::new(), Place::new());
    let text = "export default () => {};\n";
    let (first, second) = (one.write("a.ts", text), two.write("a.ts", text));
    assert_eq!(one.built(&first).0.hash, two.built(&second).0.hash);
    assert_ne!(one.built(&first).0.artifact, two.built(&second).0.artifact);
    assert_eq!(one.built(&first).0.artifact, one.built(&first).0.artifact);
    let other = build(&manifest("two"), &first, &one.cache).expect("built");
    assert_ne!(one.built(&first).0.hash, other.hash);
    let before = one.built(&first).0.hash;
    one.write("a.ts", "export default () => { };\n");
    assert_ne!(one.built(&first).0.hash, before);
}

#[test]
fn an_artifact_is_read_back_for_the_very_files_it_was_made_of() {
    let place = Place::new();
    let text = "export default () => {};\n";
    let entry = place.write("a.ts", text);
    let (_, file) = place.built(&entry);
    let artifact = place.open(&file, &entry, "one").expect("fit").expect("there");
    let name = entry.to_str().expect("plain");
    assert!(artifact.code(name, text).expect("the same").is_some());
    artifact.code(name, "export default 1;\n").expect_err("changed");
    assert!(artifact.code("/elsewhere.ts", text).expect("unknown").is_none());
}

#[test]
fn what_is_foreign_stale_or_changed_is_refused() {
    let (place, other) = (Place::new(), Place::new());
    let entry = place.write("a.ts", "export default () => {};\n");
    let (built, file) = place.built(&entry);
    let why = |opened: Result<Option<Artifact>, String>| opened.expect_err("refused");
    assert!(why(place.open(&file, &entry, "two")).contains("the manifest has changed"));
    assert!(why(other.open(&file, &entry, "one")).contains("did not make it"));
    assert!(why(Artifact::open(&file, &CodeCache::default(), &entry, "")).contains("did not make it"));
    assert!(place.open(&file, Path::new("/another.ts"), "one").expect("not its own").is_none());
    assert!(place.open(&file.with_extension("no"), &entry, "one").expect("none").is_none());
    for at in [MAGIC.len(), MAGIC.len() + 32, MAGIC.len() + 40, built.artifact.len() - 1] {
        let mut bad = built.artifact.clone();
        bad[at] ^= 1;
        fs::write(&file, bad).expect("written");
        assert!(why(place.open(&file, &entry, "one")).contains("did not make it"));
    }
    for cut in [0, 5, MAGIC.len() + 10, built.artifact.len() - 1] {
        fs::write(&file, &built.artifact[..cut]).expect("written");
        why(place.open(&file, &entry, "one"));
    }
    fs::remove_file(&file).expect("removed");
    fs::create_dir(&file).expect("made");
    assert!(why(place.open(&file, &entry, "one")).contains("not a file"));
}

#[test]
fn a_broken_entry_cannot_be_built_and_a_broken_import_is_left_out() {
    let place = Place::new();
    let bad = place.write("bad.ts", "const = 1;\n");
    let why = build(&manifest("one"), &bad, &place.cache).expect_err("refused");
    assert!(why.contains("bad.ts:1:"), "{why}");
    let entry = place.write("a.ts", "import './bad.js';\nexport default () => {};\n");
    let (built, _) = place.built(&entry);
    assert_eq!(names(&built, &place.root()), ["a.ts"]);
    assert!(built.left_out[0].contains("bad.ts:1:"), "{:?}", built.left_out);
}
