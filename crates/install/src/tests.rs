mod packages;

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use jackfield_discovery::content_hash;
use jackfield_discovery::testing::{Place, check, nexo_manifest, write, zot_manifest};

use super::*;

const COPY: InstallOptions = InstallOptions { link: false, update: false, accept_wider: false };
const LINK: InstallOptions = InstallOptions { link: true, update: false, accept_wider: false };
const UPDATE: InstallOptions = InstallOptions { link: false, update: true, accept_wider: false };

fn source(place: &Place, name: &str) -> PathBuf {
    let dir = place.project.join("sources").join(name);
    write(&dir.join("extension.json"), zot_manifest(name));
    write(&dir.join("bin/run.sh"), "#!/bin/sh\n");
    fs::set_permissions(dir.join("bin/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    dir
}

fn install(place: &Place, source: &Path, options: InstallOptions) -> Result<Installed, InstallError> {
    Installer::new(&place.input.home).install(source.to_str().unwrap(), options)
}

/// Everything below the installed extensions, to see that nothing was left or lost.
fn tree(place: &Place) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut tree = BTreeMap::new();
    let mut pending = vec![place.home.join("extensions")];
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                pending.push(path.clone());
            }
            tree.insert(path.clone(), fs::read(&path).ok());
        }
    }
    tree
}

#[track_caller]
fn fails_without_trace(place: &Place, source: &Path, options: InstallOptions, message: &str) {
    let before = tree(place);
    let error = install(place, source, options).unwrap_err().to_string();
    assert!(error.contains(message), "{error:?} against {message:?}");
    assert_eq!(tree(place), before);
}

#[test]
fn a_copy_is_complete_and_found() {
    let place = Place::new();
    let from = source(&place, "hello");
    write(&from.join(".git/config"), "secret");
    write(&from.join("target/needed"), "x");
    symlink("bin/run.sh", from.join("run")).unwrap();
    symlink("../extension.json", from.join("bin/manifest")).unwrap();
    let installed = install(&place, &from, COPY).unwrap();
    assert_eq!((installed.id.as_str(), installed.version.as_deref()), ("hello", Some("1.0.0")));
    assert_eq!(installed.dir, place.home.join("extensions/hello"));
    assert_eq!(installed.hash, content_hash(&installed.dir));
    let dir = &installed.dir;
    assert_eq!(fs::metadata(dir.join("bin/run.sh")).unwrap().permissions().mode() & 0o777, 0o750);
    assert_eq!(fs::read_link(dir.join("run")).unwrap(), Path::new("bin/run.sh"));
    assert!(dir.join("target/needed").exists());
    assert!(!dir.join(".git").exists());
    assert_eq!(fs::read_dir(place.home.join("extensions")).unwrap().count(), 1);
    check(&place.discover(), &["global hello active"]);
    assert!(matches!(install(&place, &from, COPY), Err(InstallError::Exists { .. })));
    fails_without_trace(&place, &from, COPY, "use `--update` to replace it");
}

#[test]
fn the_current_directory_and_a_manifest_are_sources() {
    let place = Place::new();
    let from = source(&place, "dotted");
    // `install .` is a path like any other: what counts is what it leads to.
    assert_eq!(install(&place, &from.join("bin/.."), COPY).unwrap().dir, place.home.join("extensions/dotted"));
    assert!(local_dir(".").is_ok_and(|dir| dir == fs::canonicalize(".").unwrap()));
    let other = source(&place, "other");
    assert_eq!(install(&place, &other.join("extension.json"), COPY).unwrap().id.as_str(), "other");
}

#[test]
fn an_update_replaces_and_a_bad_one_does_not() {
    let place = Place::new();
    let from = source(&place, "hello");
    install(&place, &from, COPY).unwrap();
    write(&place.home.join("extensions/hello/old"), "");
    write(&from.join("new"), "");
    let updated = install(&place, &from, UPDATE).unwrap();
    assert!(updated.dir.join("new").exists() && !updated.dir.join("old").exists());
    assert_eq!(fs::read_dir(place.home.join("extensions")).unwrap().count(), 1);
    symlink("/etc/passwd", from.join("zz")).unwrap();
    fails_without_trace(&place, &from, UPDATE, "zz: it is a link that leads out of the extension, to /etc/passwd");
    fs::remove_file(from.join("zz")).unwrap();
    write(&from.join("extension.json"), "{");
    fails_without_trace(&place, &from, UPDATE, "extension.json: parse manifest: ");
    // Where the id lives under another name, that is what is replaced.
    fs::rename(&updated.dir, place.home.join("extensions/renamed")).unwrap();
    write(&from.join("extension.json"), zot_manifest("hello"));
    fails_without_trace(&place, &from, COPY, "extensions/renamed; use `--update`");
    assert_eq!(install(&place, &from, UPDATE).unwrap().dir, place.home.join("extensions/renamed"));
}

#[test]
fn what_must_not_be_copied_is_named_and_nothing_stays() {
    let place = Place::new();
    type Spoil = fn(&Path);
    let spoils: [(Spoil, &str); 6] = [
        (|dir| symlink("../../secret", dir.join("out")).unwrap(), "out: it is a link that leads out"),
        (|dir| symlink("bin/../../x", dir.join("sly")).unwrap(), "sly: it is a link that leads out"),
        (
            |dir| assert!(Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap().success()),
            "pipe: it is a pipe, a socket or a device",
        ),
        (
            |dir| drop(std::os::unix::net::UnixListener::bind(dir.join("socket")).unwrap()),
            "socket: it is a pipe, a socket or a device",
        ),
        (|dir| fs::create_dir_all(dir.join("d/".repeat(260))).unwrap(), "it lies more than 256 directories deep"),
        (
            |dir| fs::File::create(dir.join("huge")).unwrap().set_len(600 << 20).unwrap(),
            "huge: the extension holds more than 512 MiB",
        ),
    ];
    for (n, (spoil, message)) in spoils.into_iter().enumerate() {
        let from = source(&place, &format!("s{n}"));
        spoil(&from);
        fails_without_trace(&place, &from, COPY, message);
    }
}

#[test]
fn sources_that_are_none() {
    let place = Place::new();
    let empty = place.project.join("empty");
    fs::create_dir(&empty).unwrap();
    let names = "no manifest found: looked for extension.toml, extension.json, plugin.toml";
    fails_without_trace(&place, &empty, COPY, names);
    fails_without_trace(&place, &empty, LINK, names);
    fails_without_trace(&place, &place.project.join("gone"), COPY, "there is no such directory");
    write(&empty.join("file"), "");
    fails_without_trace(&place, &empty.join("file"), COPY, "it is neither a directory, nor a manifest");
    write(&place.home.join("extension.json"), zot_manifest("home"));
    fails_without_trace(&place, &place.home, COPY, "it contains the host's own directory");
    let installed = install(&place, &source(&place, "a"), COPY).unwrap();
    fails_without_trace(&place, &installed.dir, UPDATE, "it is installed already");
    fails_without_trace(&place, Path::new("--upload-pack=evil.git"), COPY, "an address does not begin with `-`");
    fails_without_trace(&place, Path::new("ext::sh -c touch% pwned .git"), COPY, "git clone failed");
    fails_without_trace(&place, Path::new("file:///nowhere/at/all.git"), COPY, "git clone failed");
    fails_without_trace(&place, Path::new("https://me:pw@127.0.0.1:1/x.git"), LINK, "`https://127.0.0.1:1/x.git`");
}

#[test]
fn links_show_the_source_and_go_alone() {
    let place = Place::new();
    let from = source(&place, "linked");
    let installed = install(&place, &from, LINK).unwrap();
    assert_eq!(fs::read_link(&installed.dir).unwrap(), from);
    check(&place.discover(), &["global linked active"]);
    // A copy takes the link's place, and a link the copy's.
    install(&place, &from, UPDATE).unwrap();
    assert!(!installed.dir.is_symlink() && from.join("bin/run.sh").exists());
    install(&place, &from, InstallOptions { link: true, update: true, accept_wider: false }).unwrap();
    assert!(installed.dir.is_symlink());
    Installer::new(&place.input.home).remove("linked").unwrap();
    assert!(!installed.dir.is_symlink() && from.join("bin/run.sh").exists());
    assert_eq!(tree(&place), BTreeMap::new());
}

fn git(dir: &Path, args: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

#[test]
fn git_repositories() {
    let place = Place::new();
    let from = source(&place, "cloned");
    git(&from, &["init", "--quiet"]);
    git(&from, &["add", "."]);
    git(&from, &["commit", "--quiet", "-m", "x"]);
    let url = format!("file://{}", from.display());
    let installer = Installer::new(&place.input.home);
    let installed = installer.install(&url, COPY).unwrap();
    assert_eq!(installed.dir, place.home.join("extensions/cloned"));
    assert!(!installed.dir.join(".git").exists());
    assert_eq!(fs::metadata(installed.dir.join("bin/run.sh")).unwrap().permissions().mode() & 0o111, 0o111);
    assert_eq!(fs::read_dir(place.home.join("extensions")).unwrap().count(), 1);

    git(&from, &["rm", "--quiet", "extension.json"]);
    git(&from, &["commit", "--quiet", "-m", "y"]);
    let before = tree(&place);
    let error = installer.install(&url, UPDATE).unwrap_err().to_string();
    assert!(error.contains("no manifest found"), "{error}");
    assert_eq!(tree(&place), before);
}

#[test]
fn names() {
    let place = Place::new();
    let installer = Installer::new(&place.input.home);
    let one = place.global("one", &zot_manifest("Display One"));
    let two = place.global("two", &zot_manifest("one"));
    let error = installer.remove("one").unwrap_err().to_string();
    assert!(error.contains(&one.display().to_string()) && error.contains(&two.display().to_string()), "{error}");
    assert!(matches!(installer.remove("ghost"), Err(InstallError::NotFound { .. })));
    for name in ["", ".", "..", "../extensions", "/", "one/..", "/etc"] {
        assert!(matches!(installer.remove(name), Err(InstallError::NotFound { .. })), "{name}");
    }
    assert_eq!(installer.remove("Display One").unwrap(), one);
    assert_eq!(installer.remove("two").unwrap(), two);
    // What cannot be read can be removed.
    let broken = place.global("broken", "{");
    assert!(matches!(installer.set_enabled("broken", true), Err(InstallError::Edit { .. })));
    assert_eq!(installer.remove("broken").unwrap(), broken);
    fs::create_dir(place.home.join("extensions/empty")).unwrap();
    symlink("nowhere", place.home.join("extensions/dangling")).unwrap();
    installer.remove("empty").unwrap();
    installer.remove("dangling").unwrap();
    assert_eq!(tree(&place), BTreeMap::new());
}

#[test]
fn switching_off_and_on() {
    let place = Place::new();
    let installer = Installer::new(&place.input.home);
    let json = "{\n    \"name\": \"j\",\n    \"zz\": 1.50,\n    \"enabled\": true,\n    \"exec\": \"x\"\n}";
    let dir = place.global("j", json);
    let toml = place.home.join("extensions/t/extension.toml");
    write(&toml, "# t\nid = \"t\"\n[run]\ncommand = \"x\"\n");
    write(&place.home.join("extensions/n/plugin.toml"), nexo_manifest("n"));
    let yaml = place.home.join("extensions.yaml");
    assert_eq!(installer.set_enabled("j", false).unwrap(), dir.join("extension.json"));
    assert_eq!(installer.set_enabled("t", false).unwrap(), toml);
    assert_eq!(installer.set_enabled("n", false).unwrap(), yaml);
    check(&place.discover(), &["global j disabled", "global n disabled", "global t disabled"]);
    for name in ["j", "t", "n"] {
        installer.set_enabled(name, true).unwrap();
    }
    check(&place.discover(), &["global j active", "global n active", "global t active"]);
    assert_eq!(fs::read_to_string(dir.join("extension.json")).unwrap(), json);
    assert_eq!(fs::read_to_string(&toml).unwrap(), "# t\nenabled = true\nid = \"t\"\n[run]\ncommand = \"x\"\n");
    installer.set_enabled("n", false).unwrap();
    installer.remove("n").unwrap();
    assert_eq!(fs::read_to_string(&yaml).unwrap(), "extensions:\n  disabled: []\n");
}

#[test]
fn what_a_killed_installation_left_is_removed_in_time() {
    let place = Place::new();
    let (old, young) = (place.home.join("extensions/.tmp-1"), place.home.join("extensions/.tmp-2"));
    for dir in [&old, &young] {
        write(&dir.join("new/x"), "");
    }
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::open(&old).unwrap().set_modified(long_ago).unwrap();
    install(&place, &source(&place, "a"), COPY).unwrap();
    assert!(!old.exists() && young.exists());
}
