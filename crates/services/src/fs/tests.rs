mod operations;

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

use jackfield_protocol::{ErrorCode, HostCall};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};

use crate::ServiceLimits;
use crate::tests::{Judge, Place, fails, is_errno, within};

/// What `resolve` makes of a path, or the code of its refusal.
#[track_caller]
fn resolved(place: &Place, path: &str) -> Result<String, ErrorCode> {
    let call = HostCall::parse("fs", json!({"op": "read", "path": path})).unwrap();
    match place.services.resolve(call) {
        Ok(HostCall::Fs(op)) => Ok(op.path().to_owned()),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.code),
    }
}

#[test]
fn paths_are_judged_by_what_they_really_name() {
    let place = Place::new();
    std::fs::create_dir_all(place.inside("src/deep")).unwrap();
    std::fs::write(place.inside("src/a.rs"), "").unwrap();
    symlink("src/a.rs", place.inside("link")).unwrap();
    symlink("src", place.inside("folder-link")).unwrap();
    symlink(place.inside("src"), place.inside("absolute-link")).unwrap();
    symlink("nowhere", place.inside("dangling")).unwrap();
    symlink("../outside/secret", place.inside("escape")).unwrap();
    symlink(place.outside(""), place.inside("escape-folder")).unwrap();
    symlink("../outside/not-there-yet", place.inside("escape-dangling")).unwrap();
    symlink("../outside/../project/src", place.inside("out-and-in")).unwrap();
    symlink("loop-b", place.inside("loop-a")).unwrap();
    symlink("loop-a", place.inside("loop-b")).unwrap();
    symlink("/proc/self/root", place.inside("magic")).unwrap();
    symlink("/proc/self/fd/0", place.inside("magic-fd")).unwrap();
    let absolute = |path: &str| place.inside(path).to_str().unwrap().to_owned();

    let ok = [
        ("src/a.rs", "src/a.rs"),
        ("./src//a.rs", "src/a.rs"),
        ("src/deep/../a.rs", "src/a.rs"),
        ("src/", "src"),
        ("link", "src/a.rs"),
        ("folder-link/a.rs", "src/a.rs"),
        ("absolute-link/a.rs", "src/a.rs"),
        ("out-and-in/a.rs", "src/a.rs"),
        ("dangling", "nowhere"),
        ("new/folder/file", "new/folder/file"),
        ("new/../other", "other"),
        (".", "."),
        ("", "."),
        ("src/..", "."),
        ("src/a.rs/..", "src"),
        ("../project/src", "src"),
        ("a\\b", "a\\b"),
    ];
    for (path, real) in ok {
        assert_eq!(resolved(&place, path), Ok(real.to_owned()), "{path}");
    }
    assert_eq!(resolved(&place, &absolute("src/a.rs")), Ok("src/a.rs".to_owned()));
    assert_eq!(resolved(&place, &absolute("")), Ok(".".to_owned()));
    let real = |path: &str| place.outside(path).canonicalize().unwrap().to_str().unwrap().to_owned();
    let above = std::path::Path::new(&real("")).parent().unwrap().to_str().unwrap().to_owned();
    // What leads out is named by where it really is.
    let outside = [
        ("..", above.clone()),
        ("../outside/secret", real("secret")),
        ("src/../../outside/secret", real("secret")),
        ("/etc/passwd", "/etc/passwd".to_owned()),
        ("/", "/".to_owned()),
        ("escape", real("secret")),
        ("escape-folder/secret", real("secret")),
        ("escape-folder/none/../secret", real("secret")),
        ("escape-dangling", format!("{}/not-there-yet", real(""))),
        ("folder-link/../../outside/secret", real("secret")),
        ("magic/etc/passwd", "/etc/passwd".to_owned()),
        ("/proc/self/environ", format!("/proc/{}/environ", std::process::id())),
        ("../project-of-another", format!("{above}/project-of-another")),
    ];
    for (path, real) in outside {
        assert_eq!(resolved(&place, path), Ok(real), "{path}");
    }
    assert_eq!(resolved(&place, "nul\0byte"), Err(ErrorCode::InvalidRequest));
    for path in ["loop-a", &"x/".repeat(3000)] {
        assert_eq!(resolved(&place, path), Err(ErrorCode::Io), "{path}");
    }
    // The host's own tools stay in the project.
    for path in ["..", "/etc/passwd", "escape"] {
        let call = HostCall::parse("tool", json!({"name": "read", "input": {"path": path}})).unwrap();
        fails(place.services.resolve(call).map(|_| json!(null)), ErrorCode::Denied, "rooted at");
    }
}

/// A call that goes to its service without having been resolved, as after a change between the two.
async fn unresolved(place: &Place, params: Value) -> Result<Value, jackfield_protocol::CallError> {
    let call = HostCall::parse("fs", params).unwrap();
    place.perform(&call, &Judge::default(), &HostCallCx::default()).await
}

#[tokio::test]
async fn a_link_swapped_in_after_the_decision_leads_nowhere() {
    let place = Place::new();
    std::fs::create_dir(place.inside("folder")).unwrap();
    std::fs::write(place.inside("folder/file"), "mine").unwrap();
    std::fs::write(place.inside("file"), "mine").unwrap();
    let ops = |path: &str| {
        [
            json!({"op": "read", "path": path}),
            json!({"op": "write", "path": path, "content": "overwritten"}),
            json!({"op": "stat", "path": path}),
        ]
    };
    for path in ["file", "folder/file"] {
        assert_eq!(resolved(&place, path), Ok(path.to_owned()));
    }
    std::fs::remove_file(place.inside("file")).unwrap();
    symlink(place.outside("secret"), place.inside("file")).unwrap();
    std::fs::remove_dir_all(place.inside("folder")).unwrap();
    symlink(place.outside(""), place.inside("folder")).unwrap();
    std::fs::write(place.outside("file"), "treasure").unwrap();

    for op in ops("file").into_iter().chain(ops("folder/file")) {
        fails(unresolved(&place, op).await, ErrorCode::Denied, "link");
    }
    for op in [
        json!({"op": "list", "path": "folder"}),
        json!({"op": "mkdir", "path": "folder/new"}),
        json!({"op": "remove", "path": "folder/file"}),
    ] {
        fails(unresolved(&place, op).await, ErrorCode::Denied, "link");
    }
    assert_eq!(std::fs::read_to_string(place.outside("secret")).unwrap(), "treasure");
    assert_eq!(std::fs::read_to_string(place.outside("file")).unwrap(), "treasure");
    assert!(!place.outside("new").exists());
}

#[tokio::test]
async fn a_path_that_was_not_resolved_is_not_opened() {
    let place = Place::new();
    std::fs::create_dir(place.inside("src")).unwrap();
    std::fs::write(place.inside("a"), "x").unwrap();
    let absolute = place.inside("a").to_str().unwrap().to_owned();
    let odd = format!("{absolute}/../a");
    for path in ["../outside/secret", "src/../a", "./a", "src/./../a", "a/", "//etc/passwd", "/etc/", "", &odd] {
        fails(unresolved(&place, json!({"op": "read", "path": path})).await, ErrorCode::Denied, "resolved");
    }
}

#[tokio::test]
async fn reading() {
    let place = Place::new();
    std::fs::write(place.inside("text"), "grüße").unwrap();
    std::fs::write(place.inside("bytes"), b"\xff\xfe").unwrap();
    std::fs::create_dir(place.inside("folder")).unwrap();
    let read =
        |path: &str, encoding: Value| place.call("fs", json!({"op": "read", "path": path, "encoding": encoding}));

    let text = json!({"content": "grüße", "encoding": "utf8", "size": 7});
    assert_eq!(read("text", json!(null)).await.unwrap(), text);
    assert_eq!(read("text", json!("utf8")).await.unwrap(), text);
    let encoded = json!({"content": "Z3LDvMOfZQ==", "encoding": "base64", "size": 7});
    assert_eq!(read("text", json!("base64")).await.unwrap(), encoded);
    let bytes = json!({"content": "//4=", "encoding": "base64", "size": 2});
    assert_eq!(read("bytes", json!(null)).await.unwrap(), bytes);
    fails(read("bytes", json!("utf8")).await, ErrorCode::InvalidRequest, "base64");
    fails(read("text", json!("utf7")).await, ErrorCode::InvalidRequest, "utf7");
    fails(read("none", json!(null)).await, ErrorCode::Io, "does not exist");
    is_errno(read("folder", json!(null)).await, "EISDIR");
    is_errno(read("none", json!(null)).await, "ENOENT");
    is_errno(read("text/below", json!(null)).await, "ENOTDIR");
    fails(read("text/below", json!(null)).await, ErrorCode::Io, "text/below");
}

#[tokio::test]
async fn a_pipe_or_socket_does_not_hang_a_read() {
    let place = Place::new();
    let pipe = std::process::Command::new("mkfifo").arg(place.inside("pipe")).status().unwrap();
    assert!(pipe.success());
    let _socket = std::os::unix::net::UnixListener::bind(place.inside("socket")).unwrap();
    let cx = within(Duration::from_secs(10));
    for path in ["pipe", "socket"] {
        let read = place.call_within("fs", json!({"op": "read", "path": path}), &cx).await;
        fails(read, ErrorCode::Io, "regular file");
        let write = place.call_within("fs", json!({"op": "write", "path": path, "content": "x"}), &cx).await;
        fails(write, ErrorCode::Io, "regular file");
        let stat = place.call("fs", json!({"op": "stat", "path": path})).await.unwrap();
        assert_eq!(stat["kind"], "other");
    }
}

#[tokio::test]
async fn sizes_are_limited() {
    let place = Place::with(ServiceLimits { max_file: 10, ..ServiceLimits::default() }, &[]);
    std::fs::write(place.inside("fits"), "0123456789").unwrap();
    std::fs::write(place.inside("big"), "0123456789a").unwrap();
    assert_eq!(place.call("fs", json!({"op": "read", "path": "fits"})).await.unwrap()["size"], 10);
    fails(place.call("fs", json!({"op": "read", "path": "big"})).await, ErrorCode::Io, "limit of 10 bytes");
    let write = json!({"op": "write", "path": "fits", "content": "0123456789a"});
    fails(place.call("fs", write).await, ErrorCode::Io, "limit of 10 bytes");
    assert_eq!(std::fs::read_to_string(place.inside("fits")).unwrap(), "0123456789");
}

#[tokio::test]
async fn writing_replaces_at_once_and_keeps_the_mode() {
    let place = Place::new();
    std::fs::write(place.inside("script"), "old").unwrap();
    std::fs::set_permissions(place.inside("script"), PermissionsExt::from_mode(0o750)).unwrap();
    let held = std::fs::File::open(place.inside("script")).unwrap();
    let written = place.call("fs", json!({"op": "write", "path": "script", "content": "new"})).await.unwrap();
    assert_eq!(written, json!({"size": 3}));
    assert_eq!(std::fs::read_to_string(place.inside("script")).unwrap(), "new");
    assert_eq!(std::fs::metadata(place.inside("script")).unwrap().permissions().mode() & 0o777, 0o750);
    // Whoever had the file open still sees the old one whole.
    assert_eq!(std::io::read_to_string(held).unwrap(), "old");

    let bytes = json!({"op": "write", "path": "bytes", "content": "//4=", "encoding": "base64"});
    place.call("fs", bytes).await.unwrap();
    assert_eq!(std::fs::read(place.inside("bytes")).unwrap(), b"\xff\xfe");
    let broken = json!({"op": "write", "path": "bytes", "content": "?", "encoding": "base64"});
    fails(place.call("fs", broken).await, ErrorCode::InvalidRequest, "base64");

    std::fs::create_dir(place.inside("folder")).unwrap();
    let write = |path: &str| place.call("fs", json!({"op": "write", "path": path, "content": "x"}));
    fails(write("none/file").await, ErrorCode::Io, "none/file");
    is_errno(write("folder").await, "EISDIR");
    is_errno(write(".").await, "EISDIR");
    // A link within the project is followed before the decision, so it stays a link.
    symlink("bytes", place.inside("link")).unwrap();
    write("link").await.unwrap();
    assert!(place.inside("link").is_symlink());
    assert_eq!(std::fs::read_to_string(place.inside("bytes")).unwrap(), "x");
    let mut left: Vec<_> = std::fs::read_dir(place.inside("")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["bytes", "folder", "link", "script"], "no temporary file is left");
}

#[tokio::test]
async fn listing_and_facts() {
    let place = Place::new();
    std::fs::create_dir(place.inside("b")).unwrap();
    std::fs::write(place.inside("a"), "123").unwrap();
    symlink("/etc", place.inside("c")).unwrap();
    std::fs::write(place.inside("").join(std::ffi::OsStr::from_bytes(b"d\xff")), "").unwrap();
    let list = place.call("fs", json!({"op": "list", "path": "."})).await.unwrap();
    assert_eq!(list["truncated"], false);
    let entries: Vec<(&str, &str)> = list["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| (e["name"].as_str().unwrap(), e["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(entries, [("a", "file"), ("b", "dir"), ("c", "link"), ("d\u{fffd}", "file")]);
    assert_eq!(list["entries"][0]["size"], 3);
    fails(place.call("fs", json!({"op": "list", "path": "a"})).await, ErrorCode::Io, "a");

    let stat = place.call("fs", json!({"op": "stat", "path": "a"})).await.unwrap();
    assert_eq!((&stat["kind"], &stat["size"]), (&json!("file"), &json!(3)));
    let changed = std::fs::metadata(place.inside("a")).unwrap().modified().unwrap();
    let changed = changed.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0;
    assert!((stat["modified_ms"].as_f64().unwrap() - changed).abs() < 0.01);
    assert_eq!(place.call("fs", json!({"op": "stat", "path": "."})).await.unwrap()["kind"], "dir");
    fails(place.call("fs", json!({"op": "stat", "path": "none"})).await, ErrorCode::Io, "does not exist");
}

#[tokio::test]
async fn listings_are_bounded() {
    let place = Place::new();
    for file in 0..10_001 {
        std::fs::write(place.inside(&format!("f{file}")), "").unwrap();
    }
    let list = place.call("fs", json!({"op": "list", "path": "."})).await.unwrap();
    assert_eq!(list["truncated"], true);
    assert_eq!(list["entries"].as_array().unwrap().len(), 10_000);
}

#[tokio::test]
async fn folders_are_made_and_removed() {
    let place = Place::new();
    let fs = |op: &str, path: &str| place.call("fs", json!({"op": op, "path": path}));
    assert_eq!(fs("mkdir", "a/b/c").await.unwrap(), json!({"created": true}));
    assert_eq!(fs("mkdir", "a/b/c").await.unwrap(), json!({"created": false}));
    assert!(place.inside("a/b/c").is_dir());
    std::fs::write(place.inside("a/file"), "").unwrap();
    fails(fs("mkdir", "a/file/x").await, ErrorCode::Io, "a/file/x");
    fails(fs("remove", "a").await, ErrorCode::Io, "a");
    fs("remove", "a/file").await.unwrap();
    fs("remove", "a/b/c").await.unwrap();
    assert!(place.inside("a/b").exists() && !place.inside("a/b/c").exists());
    fails(fs("remove", "a/none").await, ErrorCode::Io, "does not exist");
    for root in [".", "", "a/.."] {
        fails(fs("remove", root).await, ErrorCode::Denied, "project itself");
    }
    // What is removed is the link, never what it points at.
    symlink(place.outside("secret"), place.inside("link")).unwrap();
    fs("remove", "link").await.unwrap();
    assert!(!place.inside("link").is_symlink() && place.outside("secret").exists());
}
