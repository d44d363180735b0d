//! Scripts, packages and tarballs as sources.

use super::*;

fn package(place: &Place, json: &str) -> PathBuf {
    let dir = place.project.join("sources/pack");
    write(&dir.join("package.json"), json);
    dir
}

fn script(path: &Path) {
    write(path, "export default function (pi) {}\n");
}

#[test]
fn a_script_becomes_a_directory_with_all_it_imports() {
    let place = Place::new();
    let from = place.project.join("sources");
    write(&from.join("note.ts"), "import './lib/a.ts'; import 'node:fs';");
    write(&from.join("lib/a.ts"), "export const a = 1;");
    write(&from.join("other.ts"), "");
    let installed = install(&place, &from.join("note.ts"), COPY).unwrap();
    assert_eq!((installed.id.as_str(), &installed.dir), ("note", &place.home.join("extensions/note")));
    let mut files: Vec<String> = tree(&place)
        .into_keys()
        .map(|path| path.strip_prefix(&installed.dir).map_or(String::new(), |below| below.display().to_string()))
        .collect();
    files.sort();
    assert_eq!(files, ["", "extension.json", "lib", "lib/a.ts", "note.ts"]);
    check(&place.discover(), &["global note active"]);
    // It has a manifest of its own, which says whether it is on.
    let installer = Installer::new(&place.input.home);
    assert_eq!(installer.set_enabled("note", false).unwrap(), installed.dir.join("extension.json"));
    check(&place.discover(), &["global note disabled"]);
    installer.remove("note").unwrap();
    check(&place.discover(), &[]);
    write(&from.join("reaches-out.ts"), "import '../outside.ts'");
    write(&place.project.join("outside.ts"), "");
    fails_without_trace(
        &place,
        &from.join("reaches-out.ts"),
        COPY,
        "lies outside its directory; install the directory",
    );
    fails_without_trace(&place, &from.join("note.ts"), LINK, "only a directory can be linked");
}

#[test]
fn a_package_is_one_directory_whatever_it_brings() {
    let place = Place::new();
    let from = package(&place, r#"{"name": "@me/pack", "version": "1.0.0", "pi": {"extensions": ["a.ts", "b.ts"]}}"#);
    script(&from.join("a.ts"));
    script(&from.join("b.ts"));
    write(&from.join("node_modules/dep/index.js"), "");
    let installed = install(&place, &from, COPY).unwrap();
    let dir = place.home.join("extensions/me-pack");
    assert_eq!((installed.id.as_str(), &installed.dir), ("me-pack", &dir));
    assert!(dir.join("node_modules/dep/index.js").is_file());
    check(&place.discover(), &["global me-pack-a active", "global me-pack-b active"]);
    assert!(matches!(install(&place, &from, COPY), Err(InstallError::Exists { .. })));
    // One of its scripts means the package.
    assert_eq!(install(&place, &from.join("a.ts"), UPDATE).unwrap().dir, dir);
    let installer = Installer::new(&place.input.home);
    let yaml = place.home.join("extensions.yaml");
    // One of them, or all.
    assert_eq!(installer.set_enabled("me-pack-a", false).unwrap(), yaml);
    check(&place.discover(), &["global me-pack-a disabled", "global me-pack-b active"]);
    installer.set_enabled("npm:@me/pack", false).unwrap();
    check(&place.discover(), &["global me-pack-a disabled", "global me-pack-b disabled"]);
    installer.set_enabled("me-pack", true).unwrap();
    check(&place.discover(), &["global me-pack-a active", "global me-pack-b active"]);
    installer.set_enabled("me-pack", false).unwrap();
    assert_eq!(
        installer.remove("me-pack").unwrap(),
        fs::canonicalize(place.home.join("extensions")).unwrap().join("me-pack")
    );
    check(&place.discover(), &[]);
    // It left nothing in the settings either.
    install(&place, &from, COPY).unwrap();
    check(&place.discover(), &["global me-pack-a active", "global me-pack-b active"]);
}

#[test]
fn directories_that_only_have_an_index_or_a_convention() {
    let place = Place::new();
    let from = place.project.join("sources/bare");
    script(&from.join("index.ts"));
    install(&place, &from, COPY).unwrap();
    check(&place.discover(), &["global bare active"]);
    fails_without_trace(&place, &from, LINK, "a directory that is linked needs a manifest");
    let from = package(&place, r#"{"name": "conventional"}"#);
    script(&from.join("extensions/x.ts"));
    install(&place, &from, COPY).unwrap();
    check(&place.discover(), &["global bare active", "global conventional active"]);
    // A link to a package that lists its extensions is one to them.
    let from = package(&place, r#"{"name": "linked", "pi": {"extensions": ["extensions"]}}"#);
    install(&place, &from, LINK).unwrap();
    check(&place.discover(), &["global bare active", "global conventional active", "global linked active"]);
    let empty = place.project.join("sources/empty");
    fs::create_dir_all(&empty).unwrap();
    fails_without_trace(&place, &empty, COPY, "no manifest found: looked for extension.toml");
}

/// Packs `dir` as npm does and gives the tarball.
fn pack(dir: &Path, to: &Path) -> PathBuf {
    fs::create_dir_all(to).unwrap();
    let packed = Command::new("npm").args(["pack", "--ignore-scripts", "--pack-destination"]).arg(to).arg(dir).output();
    let packed = packed.expect("npm is needed for this test");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    let mut files: Vec<PathBuf> = fs::read_dir(to).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.pop().unwrap()
}

#[test]
fn a_tarball_is_installed_with_its_record_and_runs_nothing() {
    let place = Place::new();
    let witness = place.home.join("witness");
    let scripts = format!(r#""scripts": {{"postinstall": "touch {}", "preinstall": "exit 1"}}"#, witness.display());
    let from = package(
        &place,
        &format!(r#"{{"name": "@me/packed", "version": "1.2.3", "pi": {{"extensions": ["index.ts"]}}, {scripts}}}"#),
    );
    script(&from.join("index.ts"));
    let tarball = pack(&from, &place.project.join("packed"));
    let installed = install(&place, &tarball, COPY).unwrap();
    assert_eq!((installed.id.as_str(), installed.version.as_deref()), ("me-packed", Some("1.2.3")));
    let record = fs::read_to_string(installed.dir.join(".jackfield-install.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!((&record["name"], &record["version"]), (&"@me/packed".into(), &"1.2.3".into()), "{record}");
    assert!(record["integrity"].as_str().is_some_and(|hash| hash.starts_with("sha512-")), "{record}");
    assert!(!witness.exists(), "a script of the package ran");
    check(&place.discover(), &["global me-packed active"]);
    assert!(matches!(install(&place, &tarball, COPY), Err(InstallError::Exists { .. })));
    let from = package(&place, r#"{"name": "@me/packed", "version": "2.0.0", "pi": {"extensions": ["index.ts"]}}"#);
    let newer = pack(&from, &place.project.join("newer"));
    assert_eq!(install(&place, &newer, UPDATE).unwrap().version.as_deref(), Some("2.0.0"));
    write(&place.project.join("broken.tgz"), "not a tarball");
    fails_without_trace(&place, &place.project.join("broken.tgz"), COPY, "npm install failed");
    let none = package(&place, r#"{"name": "nothing", "version": "1.0.0"}"#);
    fs::remove_file(none.join("index.ts")).unwrap();
    let none = pack(&none, &place.project.join("none"));
    fails_without_trace(&place, &none, COPY, "no manifest found");
    fails_without_trace(&place, Path::new("npm:x@file:../y"), COPY, "expected npm:NAME");
    fails_without_trace(&place, Path::new("npm:x"), LINK, "only a directory can be linked");
}
