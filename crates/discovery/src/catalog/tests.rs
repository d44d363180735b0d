use std::cell::Cell;
use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// Long ago, so that nothing is racy.
fn stamp(number: u8) -> TreeStamp {
    TreeStamp { digest: [number; 32], newest_ns: 1 }
}

struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    /// As another process opens it.
    fn catalog(&self) -> Catalog {
        Catalog::of(&Home::at(self.dir.path()))
    }

    fn index(&self) -> PathBuf {
        self.dir.path().join("catalog/index")
    }

    /// The hash of a tree, and whether it had to be read.
    fn hash(&self, catalog: &Catalog, stamp: &TreeStamp, content: &str) -> (String, bool) {
        let was_read = Cell::new(false);
        let read = || {
            was_read.set(true);
            Ok::<_, ()>(content.to_owned())
        };
        let hash = catalog.tree_hash(TreeKind::Pinned, Path::new("/x"), stamp, read).unwrap();
        (hash, was_read.get())
    }
}

#[test]
fn a_hash_is_taken_from_the_catalogue_only_with_the_same_stamp() {
    let place = Place::new();
    assert_eq!(place.hash(&place.catalog(), &stamp(1), "one"), ("one".to_owned(), true));
    assert_eq!(place.hash(&place.catalog(), &stamp(1), "never"), ("one".to_owned(), false));
    assert_eq!(place.hash(&place.catalog(), &stamp(2), "two"), ("two".to_owned(), true));
    assert_eq!(
        place.hash(&place.catalog(), &stamp(1), "three"),
        ("three".to_owned(), true),
        "only the last one is kept"
    );
    let catalog = place.catalog();
    let other = catalog.tree_hash(TreeKind::Vouched, Path::new("/x"), &stamp(1), || Ok::<_, ()>("other".to_owned()));
    assert_eq!(other, Ok("other".to_owned()), "another kind of hash");
    catalog.forget_tree(TreeKind::Pinned, Path::new("/x"));
    assert_eq!(place.hash(&place.catalog(), &stamp(1), "four"), ("four".to_owned(), true));
}

#[test]
fn a_file_that_changed_a_moment_ago_is_read_again() {
    let place = Place::new();
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
    let racy = TreeStamp { digest: [1; 32], newest_ns: i64::try_from(now).unwrap() - 1_000_000_000 };
    let future = TreeStamp { digest: [2; 32], newest_ns: i64::MAX };
    for stamp in [racy, future] {
        for content in ["one", "two"] {
            assert_eq!(place.hash(&place.catalog(), &stamp, content), (content.to_owned(), true));
        }
    }
}

#[test]
fn what_cannot_be_read_is_tried_again() {
    let place = Place::new();
    let failed = place.catalog().tree_hash(TreeKind::Pinned, Path::new("/x"), &stamp(1), || Err("no"));
    assert_eq!(failed, Err("no"));
    assert_eq!(place.hash(&place.catalog(), &stamp(1), "one"), ("one".to_owned(), true));
}

/// Replaces the database and the log of writes that SQLite keeps beside it.
fn overwrite(index: &Path, content: &str) {
    for entry in fs::read_dir(index).unwrap().flatten() {
        fs::remove_file(entry.path()).unwrap();
    }
    fs::write(index.join("catalog.sqlite"), content).unwrap();
}

type Damage = (&'static str, fn(&Path));

/// The host goes on without a usable catalogue, and keeps the next hash.
#[test]
fn a_catalogue_that_cannot_be_used_is_made_anew() {
    let damages: [Damage; 8] = [
        ("no database", |index| overwrite(index, &"nonsense ".repeat(1000))),
        ("nothing in it", |index| overwrite(index, "")),
        ("a log that is none", |index| {
            fs::write(index.join("catalog.sqlite"), "nonsense ".repeat(1000)).unwrap();
            fs::write(index.join("catalog.sqlite-wal"), "nonsense ".repeat(1000)).unwrap();
        }),
        ("another version", |index| {
            let db = rusqlite::Connection::open(index.join("catalog.sqlite")).unwrap();
            db.pragma_update(None, "user_version", 7).unwrap();
        }),
        ("a table is missing", |index| {
            rusqlite::Connection::open(index.join("catalog.sqlite")).unwrap().execute_batch("DROP TABLE tree").unwrap();
        }),
        ("a folder in the file's place", |index| {
            fs::remove_file(index.join("catalog.sqlite")).unwrap();
            fs::create_dir(index.join("catalog.sqlite")).unwrap();
        }),
        ("a file in the folder's place", |index| {
            fs::remove_dir_all(index).unwrap();
            fs::write(index, "x").unwrap();
        }),
        ("a row that somebody changed", |index| {
            let db = rusqlite::Connection::open(index.join("catalog.sqlite")).unwrap();
            assert_eq!(db.execute("UPDATE tree SET hash = 'forged'", []).unwrap(), 1);
        }),
    ];
    for (what, damage) in damages {
        let place = Place::new();
        place.hash(&place.catalog(), &stamp(1), "one");
        damage(&place.index());
        assert_eq!(place.hash(&place.catalog(), &stamp(1), "two"), ("two".to_owned(), true), "{what}");
        assert_eq!(place.hash(&place.catalog(), &stamp(1), "three"), ("two".to_owned(), false), "{what}");
    }
}

#[test]
fn without_a_catalogue_everything_is_read() {
    let place = Place::new();
    fs::write(place.dir.path().join("catalog"), "a file").unwrap();
    let catalog = place.catalog();
    for content in ["one", "two"] {
        assert_eq!(place.hash(&catalog, &stamp(1), content), (content.to_owned(), true));
    }
}

#[test]
fn many_use_it_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let catalog = place.catalog();
            scope.spawn(move || {
                for number in 0..50_u8 {
                    let at = PathBuf::from(format!("/{thread}/{number}"));
                    let hash = catalog
                        .tree_hash(TreeKind::Own, &at, &stamp(number), || Ok::<_, ()>(format!("{thread}.{number}")));
                    assert_eq!(hash, Ok(format!("{thread}.{number}")));
                }
            });
        }
    });
    let catalog = place.catalog();
    for thread in 0..8_u8 {
        for number in 0..50_u8 {
            let at = PathBuf::from(format!("/{thread}/{number}"));
            let hash = catalog.tree_hash(TreeKind::Own, &at, &stamp(number), || Err("it is lost"));
            assert_eq!(hash, Ok(format!("{thread}.{number}")));
        }
    }
}
