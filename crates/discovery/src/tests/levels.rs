//! Who wins, who waits, and who is told.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::testing::*;
use crate::*;
use crate::{Origin, WatchSettings, load_one};

use DiagnosticLevel::{Error, Warn};

#[test]
fn nothing_anywhere_is_no_trouble() {
    let place = Place::new();
    let report = place.discover();
    assert_eq!(report, Report::default());
    let mut nowhere = place.input.clone();
    nowhere.home = Home::at(place.home.join("not/there"));
    nowhere.project = place.project.join("not/there");
    assert_eq!(discover(&nowhere), Report::default());
}

#[test]
fn a_flag_comes_before_the_project_and_the_project_before_the_user() {
    let mut place = Place::new();
    let flag = place.home.join("elsewhere/mine");
    write(&flag.join("extension.json"), zot_manifest("same"));
    place.input.ext = vec![flag.clone(), flag.join("extension.json")];
    let project = place.zot("p", &zot_manifest("same"));
    let global = place.global("g", &zot_manifest("same"));
    place.trust();
    let report = place.discover();
    check(&report, &["flag same active", "project same shadowed", "global same shadowed"]);
    assert_eq!(report.extensions[2].standing, Standing::Shadowed { by: flag.clone() });
    for loser in [project, global] {
        let manifest = loser.join("extension.json");
        says(&report, Warn, &manifest, &loser.display().to_string());
        says(&report, Warn, &manifest, &flag.display().to_string());
    }
}

#[test]
fn a_flag_into_an_untrusted_project_is_the_users_choice() {
    let mut place = Place::new();
    let dir = place.zot("a", &zot_manifest("a"));
    place.input.ext = vec![dir];
    let report = place.discover();
    check(&report, &["flag a active"]);
    assert_eq!(report.diagnostics, []);
}

#[test]
fn a_flag_to_nothing_is_listed_and_reported() {
    let mut place = Place::new();
    let (missing, empty) = (place.home.join("missing"), place.home.join("empty"));
    fs::create_dir(&empty).unwrap();
    place.input.ext = vec![missing.clone(), empty.clone()];
    let report = place.discover();
    check(&report, &["flag missing invalid", "flag empty invalid"]);
    says(&report, Error, &missing, "cannot find");
    says(&report, Error, &empty, "looked for extension.toml, extension.json, plugin.toml");
}

#[test]
fn what_does_not_take_part_in_a_project_hides_nothing_of_the_users() {
    let disabled = r#"{"name": "guard", "exec": "./run.sh", "enabled": false}"#;
    for (shipped, trusted, standing) in [
        (Some(disabled), true, Some("disabled")),
        (Some("{"), true, Some("invalid")),
        (Some(r#"{"name": "guard", "skills": ["x"]}"#), true, Some("unsupported")),
        (Some(r#"{"name": "guard", "exec": "x", "requires": {"env": ["NOPE"]}}"#), true, Some("missing")),
        (Some(r#"{"name": "guard", "exec": "./run.sh"}"#), false, Some("untrusted")),
        (None, true, None),
    ] {
        let place = Place::new();
        place.global("guard", &zot_manifest("guard"));
        match shipped {
            Some(manifest) => drop(place.zot("guard", manifest)),
            None => fs::create_dir_all(place.project.join(".zot/extensions/guard")).unwrap(),
        }
        if trusted {
            place.trust();
        }
        let mut expected: Vec<String> = standing.map(|word| format!("project guard {word}")).into_iter().collect();
        expected.push("global guard active".to_owned());
        assert_eq!(standings(&place.discover()), expected, "{shipped:?}");
    }
}

#[test]
fn a_project_waits_for_trust_and_again_after_a_change() {
    let place = Place::new();
    let dir = place.zot("a", &zot_manifest("a"));
    place.nexo("b", "b");
    let command = format!("run 'jackfield trust {}'", place.project.display());
    let report = place.discover();
    check(&report, &["project a untrusted", "project b untrusted"]);
    let advice = format!("project extensions do not run until you trust this project: {command}");
    says(&report, Warn, &place.project, &advice);

    place.trust();
    let report = place.discover();
    check(&report, &["project a active", "project b active"]);
    assert_eq!(report.diagnostics, []);

    write(&dir.join("run.sh"), "#!/bin/sh\n");
    let report = place.discover();
    check(&report, &["project a untrusted", "project b untrusted"]);
    says(&report, Warn, &place.project, "changed since you trusted them");
    says(&report, Warn, &place.project, &command);
}

#[test]
fn an_untrusted_project_has_no_say_in_the_settings() {
    let place = Place::new();
    place.nexo("b", "b");
    write(&place.project.join("extensions.yaml"), "extensions: {watch: {enabled: true, debounce_ms: 50}}\n");
    assert_eq!(place.discover().settings.watch, WatchSettings { enabled: false, debounce_ms: 500 });
    place.trust();
    assert_eq!(place.discover().settings.watch, WatchSettings { enabled: true, debounce_ms: 50 });
}

#[test]
fn a_project_that_is_the_users_own_directory_is_not_searched_twice() {
    let mut place = Place::new();
    place.input.home = Home::at(place.project.join(".jackfield"));
    write(&place.project.join(".jackfield/extensions/a/extension.json"), zot_manifest("a"));
    check(&place.discover(), &["global a active"]);
}

#[test]
fn every_place_is_searched() {
    let mut place = Place::new();
    let zot_home = place.home.join("zot");
    write(&zot_home.join("extensions/z/extension.json"), zot_manifest("z"));
    write(&place.home.join("more/m/plugin.toml"), nexo_manifest("m"));
    write(&place.home.join("extensions.yaml"), "extensions:\n  search_paths: [./more]\n");
    place.global("g", &zot_manifest("g"));
    place.zot("zp", &zot_manifest("zp"));
    write(&place.project.join(".jackfield/extensions/jp/extension.json"), zot_manifest("jp"));
    write(&place.project.join("config/extensions.yaml"), "extensions:\n  search_paths: [./plugins]\n");
    write(&place.project.join("plugins/deep/er/plugin.toml"), nexo_manifest("np"));
    write(&place.project.join("plugins/too/deep/by/far/plugin.toml"), nexo_manifest("far"));
    place.nexo("unseen", "unseen");
    place.trust();
    let expected = ["project jp active", "project zp active", "project np active", "global g active"];
    check(&place.discover(), &[expected.as_slice(), &["global m active"]].concat());
    place.input.env.insert("ZOT_HOME".into(), zot_home.display().to_string());
    check(&place.discover(), &[expected.as_slice(), &["global z active", "global m active"]].concat());
}

#[test]
fn duplicates_in_one_level_keep_the_first_that_can_run() {
    let place = Place::new();
    place.global("a", r#"{"name": "x", "exec": "x", "enabled": false}"#);
    let first = place.global("b", &zot_manifest("x"));
    let second = place.global("c", &zot_manifest("x"));
    let report = place.discover();
    check(&report, &["global x disabled", "global x active", "global x shadowed"]);
    let message =
        format!("duplicate extension id `x`; keeping first: {} is used, {} is not", first.display(), second.display());
    says(&report, Warn, &second.join("extension.json"), &message);
}

#[test]
fn nested_extensions_belong_to_the_outer_one_unless_it_is_broken() {
    let place = Place::new();
    let outer = place.nexo("outer", "outer");
    write(&outer.join("inner/plugin.toml"), nexo_manifest("inner"));
    let broken = place.nexo("wrong", "wrong");
    write(&broken.join("plugin.toml"), "[plugin");
    write(&broken.join("inside/plugin.toml"), nexo_manifest("inside"));
    place.trust();
    check(&place.discover(), &["project inside active", "project outer active", "project wrong invalid"]);
}

#[test]
fn settings_switch_off_and_allow() {
    let place = Place::new();
    for id in ["a", "b", "c"] {
        place.nexo(id, id);
    }
    let yaml = place.project.join("extensions.yaml");
    write(&yaml, "schema_version: 11\nextensions:\n  disabled: [a]\n  allowlist: [a, b, ghost]\n  typo: 1\n");
    place.trust();
    let report = place.discover();
    check(&report, &["project a disabled", "project b active", "project c disabled"]);
    says(&report, Warn, &yaml, "unknown key `schema_version` is ignored");
    says(&report, Warn, &yaml, "unknown key `extensions.typo` is ignored");
    says(&report, Warn, &yaml, "allowlist contains `ghost` but no extension with that id was discovered");

    write(&yaml, "extensions:\n  enabled: false\n");
    place.global("a", &zot_manifest("a"));
    place.trust();
    let report = place.discover();
    check(&report, &["project a disabled", "project b disabled", "project c disabled", "global a active"]);

    write(&yaml, "disabled: [a]\n");
    says(&place.discover(), Warn, &yaml, "unknown key `disabled` is ignored; it belongs below `extensions:`");
}

#[test]
fn a_project_cannot_switch_off_what_the_user_installed() {
    let place = Place::new();
    place.global("guard", &zot_manifest("guard"));
    write(&place.project.join("extensions.yaml"), "extensions: {disabled: [guard], allowlist: [x], enabled: false}\n");
    check(&place.discover(), &["global guard active"]);
}

#[test]
fn bad_settings_are_reported_with_their_line_and_the_defaults_hold() {
    let place = Place::new();
    place.nexo("a", "a");
    let yaml = place.project.join("extensions.yaml");
    for (text, line, what) in [
        ("extensions:\n  disabled: [a\n", 3, ""),
        ("extensions:\n  max_depth: many\n", 2, "max_depth"),
        ("extensions:\n  enabled: true\n  enabled: false\n", 3, "duplicate"),
        ("[1, 2]\n", 1, ""),
    ] {
        write(&yaml, text);
        place.trust();
        let report = place.discover();
        check(&report, &["project a active"]);
        says(&report, Error, &yaml, &format!("{}:", yaml.display()));
        says(&report, Error, &yaml, what);
        let [diagnostic] = report.diagnostics.as_slice() else { panic!("{report:#?}") };
        let at = diagnostic.message.split(':').nth(1).unwrap().parse::<i32>().unwrap();
        assert!((at - line).abs() <= 1, "{text:?}: {}", diagnostic.message);
    }
    write(&yaml, "extensions: {max_depth: 0, search_paths: [./extensions/a, ./gone]}\n");
    place.trust();
    let report = place.discover();
    check(&report, &["project a active"]);
    says(&report, Warn, &yaml, "max_depth: 0 is outside 1 to 64; 1 is used");
    says(&report, Warn, &place.project.join("gone"), "search path not found or unreadable");
    fs::remove_file(&yaml).unwrap();
    fs::create_dir(&yaml).unwrap();
    says(&place.discover(), Error, &yaml, "a directory stands where a file is expected");
}

#[test]
fn two_settings_files_in_one_project() {
    let place = Place::new();
    write(&place.project.join("extensions.yaml"), "extensions: {}\n");
    write(&place.project.join("config/extensions.yaml"), "extensions: {}\n");
    says(&place.discover(), Warn, &place.project.join("config/extensions.yaml"), "ignored: ");
}

#[test]
fn what_is_missing_is_named() {
    let mut place = Place::new();
    let bin = place.home.join("bin");
    for (name, mode) in [("there", 0o755), ("plain", 0o644)] {
        write(&bin.join(name), "#!/bin/sh\n");
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::create_dir(bin.join("folder")).unwrap();
    place.input.path_env = Some(OsString::from(format!(":{}", bin.display())));
    place.input.env = BTreeMap::from([("SET".into(), "1".into()), ("EMPTY".into(), String::new())]);
    let manifest = |requires: &str| format!(r#"{{"name": "x", "exec": "x", "requires": {requires}}}"#);
    let absolute = bin.join("there").display().to_string();
    let dir = place.global("x", &manifest(&format!(r#"{{"bins": ["there", "{absolute}", "./own"], "env": ["SET"]}}"#)));
    write(&dir.join("own"), "");
    fs::set_permissions(dir.join("own"), fs::Permissions::from_mode(0o755)).unwrap();
    check(&place.discover(), &["global x active"]);

    place.global("x", &manifest(r#"{"bins": ["there", "plain", "folder", ""], "env": ["SET", "EMPTY", "UNSET"]}"#));
    let report = place.discover();
    let missing = Standing::MissingRequirements {
        bins: vec!["plain".into(), "folder".into(), String::new()],
        env: vec!["EMPTY".into(), "UNSET".into()],
    };
    assert_eq!(report.extensions[0].standing, missing);
    let message = "extension skipped: declared preconditions not satisfied: missing program `plain`, \
                   missing program `folder`, missing program ``, missing variable `EMPTY`, missing variable `UNSET`";
    says(&report, Warn, &dir.join("extension.json"), message);
}

#[test]
fn links() {
    let place = Place::new();
    let elsewhere = place.home.join("elsewhere/linked");
    write(&elsewhere.join("extension.json"), zot_manifest("linked"));
    fs::create_dir_all(place.home.join("extensions")).unwrap();
    fs::create_dir_all(place.project.join(".zot/extensions/filelink")).unwrap();
    symlink(&elsewhere, place.home.join("extensions/linked")).unwrap();
    symlink("nowhere", place.home.join("extensions/dangling")).unwrap();
    symlink(".", place.home.join("extensions/loop")).unwrap();
    let outside = place.project.join(".zot/extensions/outside");
    symlink(&elsewhere, &outside).unwrap();
    let file = place.project.join(".zot/extensions/filelink/extension.json");
    symlink(elsewhere.join("extension.json"), &file).unwrap();
    let report = place.discover();
    check(&report, &["global linked active"]);
    says(&report, Error, &outside.join("extension.json"), "manifest path escapes search root via symlink");
    says(&report, Error, &file, "manifest path escapes search root via symlink");
    assert_eq!(report.diagnostics.len(), 2, "{:#?}", report.diagnostics);
}

#[test]
fn followed_links_end_and_must_stay_inside() {
    let place = Place::new();
    place.nexo("real/a", "a");
    let root = place.project.join("extensions");
    symlink("..", root.join("real/up")).unwrap();
    symlink("real", root.join("again")).unwrap();
    symlink(&place.home, root.join("zout")).unwrap();
    write(&place.home.join("out/plugin.toml"), nexo_manifest("out"));
    let yaml = "extensions: {follow_links: true, max_depth: 64}\n";
    write(&place.project.join("extensions.yaml"), yaml);
    place.trust();
    let report = place.discover();
    assert_eq!(report.extensions.iter().filter(|f| f.is_active()).count(), 1, "{report:#?}");
    says(&report, Error, &root.join("zout/out/plugin.toml"), "manifest path escapes search root via symlink");
}

#[test]
fn reports_are_the_same_each_time_and_survive_writing() {
    let place = Place::new();
    for name in ["c", "a", "b"] {
        place.global(name, &zot_manifest(name));
        place.nexo(name, name);
    }
    place.global("broken", "{");
    let report = place.discover();
    assert_eq!(report, place.discover());
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn one_alone() {
    let place = Place::new();
    let dir = place.global("x", &zot_manifest("x"));
    let found = load_one(&dir).unwrap();
    assert_eq!((found.origin, &found.dir), (Origin::Flag, &dir));
    assert_eq!(load_one(&dir.join("extension.json")).unwrap(), found);
    assert!(load_one(&dir.join("nothing")).unwrap_err().message.contains("cannot find"));
    write(&dir.join("extension.json"), r#"{"name": "x", "exec": "x", "enabled": false}"#);
    assert!(matches!(load_one(&dir).unwrap().standing, Standing::Disabled { .. }));
    write(&dir.join("extension.json"), "{}");
    assert_eq!(load_one(&dir).unwrap_err().message, "manifest: name is required");
}

#[test]
fn a_thousand_extensions_are_found_in_one_go() {
    let place = Place::new();
    for n in 0..1000 {
        place.global(&format!("e{n}"), &zot_manifest(&format!("e{n}")));
    }
    let start = std::time::Instant::now();
    let report = place.discover();
    assert_eq!(report.extensions.iter().filter(|found| found.is_active()).count(), 1000);
    // Far above what it takes, far below what reading everything twice per pair would.
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}
