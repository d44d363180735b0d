use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::discovery::tests::{Place, check, write, zot_manifest};
use crate::trust::Trust;

fn cache_file(place: &Place) -> PathBuf {
    place.home.join("cache/discovery.json")
}

/// Long enough after everything that was just written.
fn later(place: &Place) -> Report {
    discover_cached_at(&place.input, &cache_file(place), SystemTime::now() + Duration::from_secs(60))
}

/// Changes what the kept report says, so that its use shows.
fn mark(place: &Place) {
    let file = cache_file(place);
    let text = fs::read_to_string(&file).unwrap();
    let marked = text.replace("\"version\":\"1.0.0\"", "\"version\":\"kept\"");
    assert_ne!(marked, text);
    fs::write(file, marked).unwrap();
}

fn is_kept(report: &Report) -> bool {
    report.extensions.iter().any(|found| found.manifest.version.as_deref() == Some("kept"))
}

fn kept_place() -> Place {
    let place = Place::new();
    place.global("a", &zot_manifest("a"));
    place
}

#[test]
fn a_kept_report_is_used_while_nothing_changes() {
    let place = kept_place();
    assert_eq!(later(&place), place.discover());
    mark(&place);
    assert!(is_kept(&later(&place)));
}

#[test]
fn what_changed_a_moment_ago_is_not_kept() {
    let place = kept_place();
    discover_cached(&place.input, &cache_file(&place));
    assert!(!cache_file(&place).exists());
}

/// Each of these is something that the report depends on.
#[test]
fn changes_are_seen() {
    type Change = fn(&mut Place);
    let changes: [(&str, Change); 13] = [
        ("same size edit", |place| drop(place.global("a", &zot_manifest("b")))),
        ("same size and same mtime", |place| {
            let file = place.home.join("extensions/a/extension.json");
            let time = fs::metadata(&file).unwrap().modified().unwrap();
            fs::write(&file, zot_manifest("b")).unwrap();
            fs::File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
        }),
        ("new extension", |place| drop(place.global("b", &zot_manifest("b")))),
        ("removed", |place| fs::remove_dir_all(place.home.join("extensions/a")).unwrap()),
        ("another manifest", |place| {
            write(&place.home.join("extensions/a/extension.toml"), "id = 'z'\n[run]\ncommand = 'x'\n");
        }),
        ("settings", |place| write(&place.home.join("extensions.yaml"), "extensions: {disabled: [a]}")),
        ("project settings", |place| write(&place.project.join("config/extensions.yaml"), "extensions: {}")),
        ("project extension", |place| drop(place.zot("p", &zot_manifest("p")))),
        ("trust", |place| write(&place.home.join("trust.json"), "{")),
        ("flag", |place| place.input.ext.push(place.home.join("extensions/a"))),
        ("path", |place| place.input.path_env = Some("/bin".into())),
        ("zot home", |place| drop(place.input.env.insert("ZOT_HOME".into(), "/nowhere".into()))),
        ("other project", |place| place.input.project = place.home.clone()),
    ];
    for (name, change) in changes {
        let mut place = kept_place();
        later(&place);
        mark(&place);
        change(&mut place);
        assert!(!is_kept(&later(&place)), "{name}");
        assert_eq!(later(&place), place.discover(), "{name}");
    }
}

#[test]
fn variables_and_programs_count_only_where_a_manifest_asks_for_them() {
    let mut place = kept_place();
    place.global("b", r#"{"name": "b", "exec": "x", "requires": {"env": ["B_TOKEN"], "bins": ["tool"]}}"#);
    let bin = place.home.join("bin");
    fs::create_dir(&bin).unwrap();
    place.input.path_env = Some(bin.clone().into());
    check(&later(&place), &["global a active", "global b missing"]);
    place.input.env.insert("OTHER".into(), "1".into());
    mark(&place);
    assert!(is_kept(&later(&place)));

    place.input.env.insert("B_TOKEN".into(), "1".into());
    let report = later(&place);
    check(&report, &["global a active", "global b missing"]);
    assert!(!is_kept(&report));
    mark(&place);
    write(&bin.join("tool"), "");
    assert!(!is_kept(&later(&place)));
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(bin.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    check(&later(&place), &["global a active", "global b active"]);
}

#[test]
fn an_edit_inside_a_trusted_project_is_seen() {
    let place = kept_place();
    let dir = place.zot("p", &zot_manifest("p"));
    write(&dir.join("dist/lib.sh"), "one");
    Trust::load(&place.input.home).trust(&place.project).unwrap();
    check(&later(&place), &["project p active", "global a active"]);
    mark(&place);
    assert!(is_kept(&later(&place)));
    write(&dir.join("dist/lib.sh"), "two");
    check(&later(&place), &["project p untrusted", "global a active"]);
}

#[test]
fn a_damaged_cache_is_ignored_and_rewritten() {
    let place = kept_place();
    let expected = later(&place);
    let whole = fs::read(cache_file(&place)).unwrap();
    for damage in [b"".to_vec(), b"{}".to_vec(), vec![0xff; 100], whole[..whole.len() / 2].to_vec()] {
        fs::write(cache_file(&place), damage).unwrap();
        assert_eq!(later(&place), expected);
        assert_eq!(fs::read(cache_file(&place)).unwrap(), whole);
    }
    fs::remove_file(cache_file(&place)).unwrap();
    fs::create_dir(cache_file(&place)).unwrap();
    assert_eq!(later(&place), expected);
}
