use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// As an extension of another kind than a script sees its directory.
fn quick_stamp(dir: &Path) -> TreeStamp {
    let (tree, whole) = (walk(dir, Skip::BuildDirs).stamp(), tree_stamp(dir, Skip::BuildDirs));
    assert_eq!(tree.newest_ns, whole.newest_ns);
    whole
}

#[test]
fn the_hash_follows_the_content_and_the_stamp_the_outside() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name);
    fs::create_dir_all(path("sub")).unwrap();
    fs::create_dir_all(path("target")).unwrap();
    fs::write(path("a"), "one").unwrap();
    fs::write(path("sub/b"), "two").unwrap();
    symlink("a", path("link")).unwrap();
    let (hash, stamp) = (content_hash(dir.path()), quick_stamp(dir.path()));
    assert_eq!(hash.len(), 64);
    assert_eq!((content_hash(dir.path()), quick_stamp(dir.path())), (hash.clone(), stamp.clone()));

    fs::write(path("target/x"), "built").unwrap();
    assert_eq!(content_hash(dir.path()), hash);
    // Touched: another stamp, the same hash.
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    fs::File::options().write(true).open(path("a")).unwrap().set_modified(time).unwrap();
    assert_eq!(content_hash(dir.path()), hash);
    assert_ne!(quick_stamp(dir.path()), stamp);

    let mut seen = vec![hash];
    let mut differs = |what: &str| {
        let hash = content_hash(dir.path());
        assert!(!seen.contains(&hash), "{what}");
        seen.push(hash);
    };
    fs::write(path("a"), "ONE").unwrap();
    differs("content");
    fs::rename(path("a"), path("c")).unwrap();
    differs("name");
    fs::set_permissions(path("c"), fs::Permissions::from_mode(0o755)).unwrap();
    differs("executable");
    fs::remove_file(path("link")).unwrap();
    symlink("c", path("link")).unwrap();
    differs("link");
    fs::write(path("sub/b"), "").unwrap();
    differs("emptied");
}

#[test]
fn loops_pipes_and_absence_do_not_hold_it_up() {
    let dir = TempDir::new().unwrap();
    symlink(".", dir.path().join("loop")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap().success());
    assert_eq!(content_hash(dir.path()), content_hash(dir.path()));
    assert_eq!(content_hash(&dir.path().join("gone")), content_hash(&dir.path().join("also gone")));
}

#[test]
fn beyond_the_limits_size_and_time_count() {
    let dir = TempDir::new().unwrap();
    let huge = fs::File::create(dir.path().join("huge")).unwrap();
    huge.set_len(MAX_HASHED_BYTES + 1).unwrap();
    let before = content_hash(dir.path());
    assert_eq!(content_hash(dir.path()), before);
    huge.set_len(MAX_HASHED_BYTES + 2).unwrap();
    assert_ne!(content_hash(dir.path()), before);
}

/// A file is edited so that its size, name and modification time stay as they were.
#[test]
fn an_edit_that_hides_changes_the_stamp() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("node_modules/x/index.js");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "good").unwrap();
    let modified = fs::metadata(&file).unwrap().modified().unwrap();
    let before = tree_stamp(dir.path(), Skip::Caches);
    assert_eq!(tree_stamp(dir.path(), Skip::Caches), before);
    // The clock of the file system may be coarse, so the first edits may not show.
    for _ in 0..100_000 {
        fs::write(&file, "evil").unwrap();
        fs::File::options().write(true).open(&file).unwrap().set_modified(modified).unwrap();
        if tree_stamp(dir.path(), Skip::Caches) != before {
            return;
        }
    }
    panic!("the edit does not show");
}
