use super::*;

fn store() -> (tempfile::TempDir, SecretStore) {
    let dir = tempfile::tempdir().expect("a directory");
    let store = SecretStore::of(&Home::at(dir.path().join("home")));
    (dir, store)
}

#[test]
fn values_come_and_go_and_are_for_their_owner_alone() {
    let (_dir, store) = store();
    assert_eq!(store.names().expect("nothing is fine"), Vec::<String>::new());
    assert_eq!(store.get("A_TOKEN").expect("nothing is fine"), None);
    assert!(!store.remove("A_TOKEN").expect("nothing is fine"));
    assert!(!store.set("Z_TOKEN", "zzz\r\n").expect("kept"));
    assert!(!store.set("A_TOKEN", "one\ntwo\n\n").expect("kept"));
    assert!(store.set("A_TOKEN", "three").expect("replaced"));
    fs::create_dir(store.dir.join("mcp")).expect("a directory of the host's own");
    fs::write(store.dir.join(".A_TOKEN.1"), "left behind").expect("a file");
    assert_eq!(store.names().expect("names"), ["A_TOKEN", "Z_TOKEN"]);
    assert_eq!(store.get("A_TOKEN").expect("a value").as_deref(), Some("three"));
    assert_eq!(store.get("Z_TOKEN").expect("a value").as_deref(), Some("zzz"));
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&store.dir), mode(&store.dir.join("A_TOKEN"))), (0o700, 0o600));
    assert!(store.remove("A_TOKEN").expect("removed"));
    assert_eq!(store.names().expect("names"), ["Z_TOKEN"]);
}

#[test]
fn names_and_values_that_are_none() {
    let (_dir, store) = store();
    let long = "A".repeat(129);
    for name in
        ["", "1A", "a-b", "A B", "A\nB=C", "../A", "A/B", ".", "ü", "path", "LD_PRELOAD", "PYTHONPATH", "mcp", &long]
    {
        assert!(matches!(store.set(name, "value"), Err(SecretError::Name { .. })), "{name:?}");
        assert!(matches!(store.remove(name), Err(SecretError::Name { .. })), "{name:?}");
        assert_eq!(store.get(name).expect("no secret"), None, "{name:?}");
    }
    for value in ["", "\n", "a\0b", &"x".repeat(LONGEST_SECRET + 1)] {
        let error = store.set("A", value).expect_err("no value").to_string();
        assert!(error.contains("the value for A") && error.len() < 200, "{error}");
    }
    assert!(!store.dir.exists(), "nothing was made for them");
    store.set("A", &"x".repeat(LONGEST_SECRET)).expect("as long as allowed");
    assert_eq!(store.get("A").expect("a value").map(|value| value.len()), Some(LONGEST_SECRET));
}

#[test]
fn links_and_files_for_everybody_are_refused() {
    let (dir, store) = store();
    store.set("A", "value").expect("kept");
    let elsewhere = dir.path().join("elsewhere");
    fs::write(&elsewhere, "not yours").expect("a file");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o600)).expect("private");
    std::os::unix::fs::symlink(&elsewhere, store.dir.join("B")).expect("a link");
    for error in [store.get("B").expect_err("a link"), store.set("B", "new").expect_err("a link")] {
        assert!(error.to_string().contains("it is a link"), "{error}");
    }
    assert_eq!(fs::read_to_string(&elsewhere).expect("untouched"), "not yours");
    assert!(store.remove("B").expect("the link goes") && elsewhere.exists());
    fs::set_permissions(store.dir.join("A"), fs::Permissions::from_mode(0o640)).expect("open");
    assert!(store.get("A").expect_err("open to others").to_string().contains("chmod 600"));
    rustix::fs::mknodat(rustix::fs::CWD, store.dir.join("F"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    assert!(store.get("F").expect_err("a pipe").to_string().contains("not a file"));

    let real = dir.path().join("moved");
    fs::rename(&store.dir, &real).expect("moved");
    std::os::unix::fs::symlink(&real, &store.dir).expect("a link");
    assert!(
        store.names().is_err() && store.get("A").is_err() && store.set("A", "x").is_err() && store.remove("A").is_err()
    );
}
