use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::bail;

use super::{MARK, cached, folder_name, link};

/// A folder of its own for one test, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let place = std::env::temp_dir().join(format!("jackfield-cache-{name}-{}", std::process::id()));
        fs::create_dir_all(&place).unwrap();
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

#[test]
fn a_version_is_installed_once_and_another_beside_it() {
    let place = Place::new("once");
    let installs = AtomicUsize::new(0);
    let install = |wanted: &str| {
        cached(&place.0, "tool", wanted, |dir| {
            installs.fetch_add(1, Ordering::Relaxed);
            Ok(fs::write(dir.join("program"), wanted)?)
        })
        .unwrap()
    };
    let (old, again, new) = (install("1.0"), install("1.0"), install("2.0"));
    assert_eq!((old.clone(), installs.into_inner()), (again, 2));
    assert_eq!(fs::read_to_string(old.join("program")).unwrap(), "1.0");
    assert_eq!(fs::read_to_string(new.join("program")).unwrap(), "2.0");
}

#[test]
fn half_an_installation_is_begun_anew() {
    let place = Place::new("half");
    let failed = cached(&place.0, "tool", "1.0", |dir| {
        fs::write(dir.join("half"), "")?;
        bail!("the network is gone")
    });
    assert!(format!("{:#}", failed.unwrap_err()).contains("the network is gone"));
    let dir = cached(&place.0, "tool", "1.0", |dir| {
        assert!(!dir.join("half").exists(), "what was left is removed first");
        Ok(fs::write(dir.join("whole"), "")?)
    })
    .unwrap();
    assert!(dir.join("whole").exists() && dir.join(MARK).exists());
}

#[test]
fn of_many_at_once_one_installs() {
    let place = Place::new("many");
    let installs = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                cached(&place.0, "tool", "1.0", |_| {
                    installs.fetch_add(1, Ordering::Relaxed);
                    Ok(())
                })
                .unwrap();
            });
        }
    });
    assert_eq!(installs.into_inner(), 1);
}

#[test]
fn a_version_names_its_folder_when_it_can() {
    assert_eq!(folder_name("0.61.1"), "0.61.1");
    for odd in ["@a/b@1", "..", "", "a b", "1.0/../../x"] {
        let name = folder_name(odd);
        assert!(name.len() == 16 && name.chars().all(|letter| letter.is_ascii_hexdigit()), "{odd:?}: {name}");
    }
    assert_ne!(folder_name("a b"), folder_name("a c"));
}

#[test]
fn a_link_replaces_what_stands_in_its_place() {
    let place = Place::new("link");
    let (first, second, at) = (place.0.join("first"), place.0.join("second"), place.0.join("tools/tool"));
    fs::create_dir_all(at.join("an older layout")).unwrap();
    link(&first, &at).unwrap();
    assert_eq!(fs::read_link(&at).unwrap(), first);
    link(&second, &at).unwrap();
    link(&second, &at).unwrap();
    assert_eq!(fs::read_link(&at).unwrap(), second);
}
