//! pi's rules, one after another, in directories of their own.

mod order;

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_protocol::{Format, Launch, Power, RuntimeKind};

use crate::testing::{Place, check, says, write};
use crate::{DiagnosticLevel, Extent, Found, Report};

/// A place with a user who has pi.
pub(super) fn place() -> (Place, PathBuf) {
    let mut place = Place::new();
    let user = place.home.parent().unwrap().join("user");
    fs::create_dir_all(&user).unwrap();
    place.input.env.insert("HOME".to_owned(), user.display().to_string());
    (place, user.join(".pi/agent"))
}

pub(super) fn script(path: &Path) {
    write(path, "export default function (pi) {}\n");
}

/// The scripts, by their paths from `base`.
pub(super) fn scripts(report: &Report, base: &Path) -> Vec<String> {
    let path = |found: &Found| {
        let place = found.place();
        place.strip_prefix(base).unwrap_or(&place).display().to_string()
    };
    report.extensions.iter().map(path).collect()
}

#[test]
fn scripts_and_directories_right_inside_are_found() {
    let (place, agent) = place();
    let dir = agent.join("extensions");
    for file in [
        "b.ts",
        "a.js",
        "c.mts",
        "types.d.ts",
        ".hidden.ts",
        "readme.md",
        "with-index/index.ts",
        "with-js/index.js",
        "both/index.js",
        "both/index.ts",
        "none/other.ts",
        "deep/er/index.ts",
        "node_modules/x/index.ts",
        "listed/src/one.ts",
        "listed/index.ts",
        "gone/index.ts",
    ] {
        script(&dir.join(file));
    }
    write(
        &dir.join("listed/package.json"),
        r#"{"name": "@me/listed", "version": "2.1.0", "pi": {"extensions": ["./src/one.ts", "./missing.ts"]}}"#,
    );
    // A list that leads nowhere is no list: the index counts.
    write(&dir.join("gone/package.json"), r#"{"name": "gone", "pi": {"extensions": ["dist/index.js"]}}"#);
    let report = place.discover();
    let found = scripts(&report, &fs::canonicalize(&dir).unwrap());
    let expected = [
        "a.js",
        "b.ts",
        "both/index.ts",
        "gone/index.ts",
        "listed/src/one.ts",
        "with-index/index.ts",
        "with-js/index.js",
    ];
    let mut sorted = found.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    check(
        &report,
        &[
            "global a active",
            "global b active",
            "global both active",
            "global gone active",
            "global me-listed active",
            "global with-index active",
            "global with-js active",
        ],
    );
    let listed = report.extensions.iter().find(|found| found.manifest.id.as_str() == "me-listed").unwrap();
    assert_eq!(listed.manifest.version.as_deref(), Some("2.1.0"));
    assert_eq!(listed.manifest.name, "@me/listed");
    assert_eq!((listed.manifest.format, listed.manifest.runtime), (Format::Pi, RuntimeKind::Js));
    assert_eq!(listed.manifest.launch, Launch::Js { entry: "src/one.ts".to_owned() });
    assert_eq!(listed.dir, dir.join("listed"));
    assert_eq!(listed.extent, Extent::Directory);
    let loose = &report.extensions[0];
    assert_eq!((loose.extent, &loose.dir, &loose.manifest_path), (Extent::Entry, &dir, &dir.join("a.js")));
    says(
        &report,
        DiagnosticLevel::Warn,
        &dir.join("gone/package.json"),
        "names no script that is there: dist/index.js",
    );
}

#[test]
fn a_directory_that_is_an_extension_itself_is_only_that() {
    let (place, agent) = place();
    script(&agent.join("extensions/index.ts"));
    script(&agent.join("extensions/other.ts"));
    check(&place.discover(), &["global extensions active"]);
    write(&agent.join("extensions/package.json"), r#"{"name": "mine", "pi": {"extensions": ["other.ts"]}}"#);
    let report = place.discover();
    check(&report, &["global mine active"]);
    assert_eq!(scripts(&report, &agent.join("extensions")), ["other.ts"]);
}

#[test]
fn ignore_files_dots_and_broken_links_keep_things_out() {
    let (place, agent) = place();
    let dir = agent.join("extensions");
    for file in ["a.ts", "b.ts", "keep.js", "c.js", "off/index.ts", "on/index.ts"] {
        script(&dir.join(file));
    }
    write(&dir.join(".gitignore"), "*.js\n!keep.js\noff/\n");
    write(&dir.join(".fdignore"), "b.ts\n");
    #[cfg(unix)]
    {
        let elsewhere = place.home.parent().unwrap().join("elsewhere");
        script(&elsewhere.join("pack/index.ts"));
        script(&elsewhere.join("loose.ts"));
        std::os::unix::fs::symlink(elsewhere.join("pack"), dir.join("linked")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("loose.ts"), dir.join("alias.ts")).unwrap();
        // A second name of the same script is no second extension.
        std::os::unix::fs::symlink(elsewhere.join("loose.ts"), dir.join("zz.ts")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join("nowhere.ts"), dir.join("broken.ts")).unwrap();
        let report = place.discover();
        check(
            &report,
            &["global a active", "global alias active", "global keep active", "global pack active", "global on active"],
        );
        let alias = &report.extensions[1];
        assert_eq!((alias.place(), &alias.dir), (elsewhere.join("loose.ts"), &elsewhere));
    }
}

#[test]
fn lists_of_packages_know_directories_globs_and_signs() {
    let (mut place, _) = place();
    let pack = place.home.parent().unwrap().join("pack");
    for file in ["src/a.ts", "src/b.ts", "src/c.test.ts", "more/d.ts", "more/e/index.ts", "f.mjs", "g.tsx", ".h.ts"] {
        script(&pack.join(file));
    }
    let mut found = |list: &str| {
        write(&pack.join("package.json"), format!(r#"{{"name": "p", "pi": {{"extensions": {list}}}}}"#));
        place.input.ext = vec![pack.clone()];
        scripts(&place.discover(), &pack)
    };
    assert_eq!(found(r#"["./src/a.ts"]"#), ["src/a.ts"]);
    assert_eq!(found(r#"["src/*.ts", "!**/*.test.ts"]"#), ["src/a.ts", "src/b.ts"]);
    assert_eq!(found(r#"["src/*.ts", "!src/*", "+src/b.ts"]"#), ["src/b.ts"]);
    assert_eq!(found(r#"["src/*.ts", "-src/b.ts", "+src/b.ts", "!*.test.ts"]"#), ["src/a.ts"]);
    assert_eq!(found(r#"["more"]"#), ["more/d.ts", "more/e/index.ts"]);
    assert_eq!(
        found(r#"["f.mjs", "g.tsx", ".h.ts", "src/a.ts", "./src/a.ts"]"#),
        ["f.mjs", "g.tsx", ".h.ts", "src/a.ts"]
    );
    // A list that names the package itself ends.
    assert_eq!(found(r#"[".", "src"]"#), ["src/a.ts", "src/b.ts", "src/c.test.ts"]);
}

#[test]
fn packages_with_several_scripts_have_several_extensions() {
    let (mut place, _) = place();
    let pack = place.home.parent().unwrap().join("pack");
    for file in ["extensions/one.ts", "extensions/two/index.ts", "extensions/three.ts"] {
        script(&pack.join(file));
    }
    // Without a list, the conventional directory counts.
    write(&pack.join("package.json"), r#"{"name": "@x/pack", "version": "1.0.0", "pi": {"image": "x.png"}}"#);
    place.input.ext = vec![pack.clone()];
    let report = place.discover();
    check(&report, &["flag x-pack-one active", "flag x-pack-three active", "flag x-pack-two active"]);
    assert!(report.extensions.iter().all(|found| found.dir == pack && found.manifest.version.is_some()));
    // A package that lists skills alone has said all about itself.
    write(&pack.join("package.json"), r#"{"name": "pack", "pi": {"skills": ["s"]}}"#);
    check(&place.discover(), &["flag pack invalid"]);
}

#[test]
fn what_a_flag_may_name() {
    let (mut place, agent) = place();
    let root = place.home.parent().unwrap().to_owned();
    for file in ["x.ts", "y.cts", "dir/index.js", "m/main.js", "pack/src/in.ts", "pack/src/other.ts", "idx/index.ts"] {
        script(&root.join(file));
    }
    write(&root.join("m/package.json"), r#"{"name": "by-main", "main": "main.js"}"#);
    write(&root.join("pack/package.json"), r#"{"name": "pack", "pi": {"extensions": ["src/in.ts"]}}"#);
    let mut named = |path: PathBuf| {
        place.input.ext = vec![path];
        let report = place.discover();
        let found = &report.extensions[0];
        (found.manifest.id.to_string(), found.is_active(), found.extent)
    };
    assert_eq!(named(root.join("x.ts")), ("x".to_owned(), true, Extent::Entry));
    assert_eq!(named(root.join("y.cts")), ("y".to_owned(), true, Extent::Entry));
    assert_eq!(named(root.join("dir")), ("dir".to_owned(), true, Extent::Directory));
    assert_eq!(named(root.join("m")), ("by-main".to_owned(), true, Extent::Directory));
    assert_eq!(named(root.join("idx/index.ts")), ("idx".to_owned(), true, Extent::Entry));
    // A script that its package lists is the package's; another one is its own.
    assert_eq!(named(root.join("pack/src/in.ts")), ("pack".to_owned(), true, Extent::Directory));
    assert_eq!(named(root.join("pack/src/other.ts")), ("other".to_owned(), true, Extent::Entry));
    write(&root.join("notes.txt"), "");
    assert!(!named(root.join("notes.txt")).1);
    assert!(!named(root.join("missing.ts")).1);
    // Packages of the registry must be installed.
    write(&agent.join("npm/node_modules/@a/b/package.json"), r#"{"name": "@a/b", "pi": {"extensions": ["e.js"]}}"#);
    script(&agent.join("npm/node_modules/@a/b/e.js"));
    assert_eq!(named(PathBuf::from("npm:@a/b@1")), ("a-b".to_owned(), true, Extent::Directory));
    assert!(!named(PathBuf::from("npm:other")).1);
    let report = place.discover();
    says(&report, DiagnosticLevel::Error, Path::new("npm:other"), "run `jackfield ext install npm:other`");
    place.input.ext = vec![PathBuf::from("npm:../x")];
    says(&place.discover(), DiagnosticLevel::Error, Path::new("npm:../x"), "is not the name of an npm package");
}

#[test]
fn packages_say_what_they_ask_for() {
    let (mut place, _) = place();
    let pack = place.home.parent().unwrap().join("pack");
    script(&pack.join("index.ts"));
    let own = r#"{"capabilities": ["read", {"capability": "exec", "scope": {"programs": ["git"]}}], "limits": {"call_timeout_ms": 5}, "isolation": "process", "on_failure": "deny", "priority": 7, "surprise": 1}"#;
    write(&pack.join("package.json"), format!(r#"{{"name": "p", "description": "d", "jackfield": {own}}}"#));
    place.input.ext = vec![pack.clone()];
    let report = place.discover();
    let manifest = &report.extensions[0].manifest;
    assert_eq!(manifest.capabilities.iter().map(|c| c.power).collect::<Vec<_>>(), [Power::Read, Power::Exec]);
    assert_eq!((manifest.limits.call_timeout_ms, manifest.priority), (Some(5), 7));
    assert!(manifest.isolation.is_some() && manifest.on_failure.is_some());
    says(&report, DiagnosticLevel::Warn, &pack.join("package.json"), "unknown key `jackfield.surprise`");
    // A limit that nobody understands must not turn into none.
    write(
        &pack.join("package.json"),
        r#"{"name": "p", "jackfield": {"capabilities": [{"capability": "exec", "scope": {"progs": []}}]}}"#,
    );
    let report = place.discover();
    check(&report, &["flag p invalid"]);
    // A manifest of its own comes before the package.
    write(&pack.join("extension.json"), r#"{"schema": "pi.ext.manifest.v1", "name": "side", "capabilities": ["log"]}"#);
    let report = place.discover();
    check(&report, &["flag side active"]);
    assert_eq!(report.extensions[0].manifest.launch, Launch::Js { entry: "index.ts".to_owned() });
    assert_eq!(report.extensions[0].manifest.capabilities.len(), 1);
}

#[test]
fn dependencies_that_are_missing_are_named_with_what_to_do() {
    let (mut place, _) = place();
    let pack = place.home.parent().unwrap().join("pack");
    script(&pack.join("index.ts"));
    write(
        &pack.join("package.json"),
        r#"{"name": "p", "dependencies": {"left": "1", "@a/right": "1", "typebox": "1", "@mariozechner/pi-ai": "1"}}"#,
    );
    place.input.ext = vec![pack.clone()];
    let file = pack.join("package.json");
    let command = format!("run `npm install --omit=dev --ignore-scripts --prefix {}`", pack.display());
    says(&place.discover(), DiagnosticLevel::Warn, &file, "dependencies are not installed: left, @a/right;");
    says(&place.discover(), DiagnosticLevel::Warn, &file, &command);
    fs::create_dir_all(pack.join("node_modules/left")).unwrap();
    // One above counts as well.
    fs::create_dir_all(pack.parent().unwrap().join("node_modules/@a/right")).unwrap();
    assert_eq!(place.discover().diagnostics, []);
}

#[test]
fn broken_packages_harm_nobody() {
    let (place, agent) = place();
    let dir = agent.join("extensions");
    script(&dir.join("good.ts"));
    for (name, text) in [
        ("a", "{"),
        ("b", "[]"),
        ("c", r#"{"pi": {"extensions": "x"}}"#),
        ("d", r#"{"pi": 3, "jackfield": 4}"#),
        ("e", "\u{feff}{\"name\": \"bom\", \"pi\": {\"extensions\": [\"index.ts\"]}}"),
        ("f", r#"{"name": "///", "pi": {"extensions": ["[", "index.ts", "{a"]}}"#),
    ] {
        script(&dir.join(name).join("index.ts"));
        write(&dir.join(name).join("package.json"), text);
    }
    fs::create_dir_all(dir.join("g/package.json")).unwrap();
    script(&dir.join("g/index.ts"));
    check(
        &place.discover(),
        &[
            "global a active",
            "global b active",
            "global c active",
            "global d invalid",
            "global bom active",
            "global unnamed active",
            "global g active",
            "global good active",
        ],
    );
}
