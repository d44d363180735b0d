use jackfield_protocol::{Capability, Power, Scope};

use super::*;

fn read_cap(paths: &[&str]) -> Capability {
    let scope = Scope { paths: paths.iter().map(|path| (*path).to_owned()).collect(), ..Scope::default() };
    Capability { scope, ..Capability::unlimited(Power::Read) }
}

fn entry() -> Locked {
    Locked {
        source: "npm:odd \"name\"\n\u{7f}".to_owned(),
        version: Some("1.0".to_owned()),
        sha256: Some("ab".repeat(32)),
        ids: vec!["one".to_owned(), "two".to_owned()],
        requests: vec![read_cap(&["a/**"]), Capability::unlimited(Power::Exec)],
        learned: true,
        granted: vec![Granted { capability: read_cap(&["a/b"]), project: Some("/p".to_owned()) }],
        files: BTreeMap::from([("sub/x y.sh".to_owned(), "cd".repeat(32))]),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let linked = Locked { source: "/src".to_owned(), ..Locked::default() };
    let entries = Entries::from([("plain".to_owned(), entry()), ("od d.x".to_owned(), linked)]);
    let text = form::write(&entries);
    assert_eq!(form::read(&text), Ok(entries), "{text}");
    assert_eq!(form::read(&form::write(&Entries::new())), Ok(Entries::new()));
}

#[test]
fn what_is_no_lock_file_says_where() {
    let good = form::write(&Entries::from([("plain".to_owned(), entry())]));
    for (what, text, says) in [
        ("marks", format!("{good}<<<<<<< HEAD\n"), "merge"),
        ("a later version", good.replace("version = 1\n", "version = 2\n"), "version is 2"),
        ("no version", String::new(), "version"),
        ("not TOML", format!("{good}\n]["), "line "),
        ("an unknown key", good.replace("source =", "sauce ="), "sauce"),
        ("a hash that is none", good.replace(&"ab".repeat(32), "abc"), "sha256"),
        ("both", good.replace("sha256 =", "link = true\nsha256 ="), "either"),
        ("a power that is none", good.replace("\"exec\"", "\"everything\""), "everything"),
    ] {
        let error = form::read(&text).expect_err(what);
        assert!(error.contains(says), "{what}: {error}");
    }
}

#[test]
fn wider_requests() {
    let is_wider = |old: &[Capability], new: &[Capability]| !wider(old, new).is_empty();
    let exec = Capability::unlimited(Power::Exec);
    assert!(!is_wider(&[], std::slice::from_ref(&exec)), "whoever said nothing could ask for anything");
    assert!(is_wider(std::slice::from_ref(&exec), &[]));
    assert!(!is_wider(&[read_cap(&[])], &[read_cap(&["src/**"])]));
    assert!(is_wider(&[read_cap(&[])], &[read_cap(&["/etc/**"])]), "outside the project is more");
    assert!(is_wider(&[read_cap(&[])], &[read_cap(&["~/**"])]));
    assert!(is_wider(&[read_cap(&["src/**"])], &[read_cap(&[])]));
    assert!(is_wider(&[read_cap(&["src/**"])], &[read_cap(&["src/**", "b"])]));
    assert!(!is_wider(&[read_cap(&["src/**", "b"])], &[read_cap(&["b"])]));
    assert!(is_wider(&[read_cap(&[])], &[read_cap(&[]), exec]));
}
