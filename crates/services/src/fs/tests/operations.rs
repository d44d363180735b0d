//! The operations beyond reading and replacing, within the project and outside it.

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use jackfield_protocol::{ErrorCode, HostCall};
use jackfield_runtime::{CallInput, HostCallCx};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::ServiceLimits;
use crate::tests::{Judge, Place, fails, is_errno};

/// A call judged by `judge`; what further was asked is remembered there.
async fn judged(place: &Place, params: Value, judge: &Judge) -> Result<Value, jackfield_protocol::CallError> {
    let call = place.services.resolve(HostCall::parse("fs", params)?)?;
    place.perform(&call, judge, &HostCallCx::default()).await
}

fn asked(judge: &Judge) -> Vec<String> {
    std::mem::take(&mut *judge.asked.lock().unwrap())
}

#[tokio::test]
async fn files_outside_are_used_by_their_real_path() {
    let place = Place::new();
    let secret = place.outside("secret").canonicalize().unwrap();
    let path = secret.to_str().unwrap();
    let fs = |params: Value| place.call("fs", params);
    assert_eq!(fs(json!({"op": "read", "path": path})).await.unwrap()["content"], "treasure");
    assert_eq!(fs(json!({"op": "read", "path": "../outside/secret"})).await.unwrap()["content"], "treasure");
    fs(json!({"op": "write", "path": path, "content": "new"})).await.unwrap();
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "new");
    let folder = format!("{path}-folder/a/b");
    assert_eq!(fs(json!({"op": "mkdir", "path": folder})).await.unwrap(), json!({"created": true}));
    let listed = fs(json!({"op": "list", "path": format!("{path}-folder")})).await.unwrap();
    assert_eq!(listed["entries"][0]["name"], "a");
    assert_eq!(fs(json!({"op": "stat", "path": "/"})).await.unwrap()["kind"], "dir");
    is_errno(fs(json!({"op": "read", "path": format!("{path}-none")})).await, "ENOENT");
    // A link put there after the decision.
    std::fs::remove_file(&secret).unwrap();
    symlink("/etc/passwd", &secret).unwrap();
    for op in ["read", "stat", "chmod", "truncate", "access", "realpath"] {
        let call = HostCall::parse("fs", json!({"op": op, "path": path, "mode": 0o600, "length": 0}));
        let call = call.or_else(|_| HostCall::parse("fs", json!({"op": op, "path": path, "mode": "r"}))).unwrap();
        let outcome = place.perform(&call, &Judge::default(), &HostCallCx::default()).await;
        fails(outcome, ErrorCode::Denied, "link");
    }
}

#[tokio::test]
async fn pieces_of_a_file_can_be_read_and_written() {
    let place = Place::with(ServiceLimits { max_file: 10, ..ServiceLimits::default() }, &[]);
    std::fs::write(place.inside("big"), "0123456789abcdef").unwrap();
    let fs = |params: Value| place.call("fs", params);
    let read =
        |offset: u64, length: Value| fs(json!({"op": "read", "path": "big", "offset": offset, "length": length}));
    assert_eq!(read(3, json!(4)).await.unwrap(), json!({"content": "3456", "encoding": "utf8", "size": 16}));
    assert_eq!(read(10, json!(null)).await.unwrap()["content"], "abcdef");
    assert_eq!(read(100, json!(5)).await.unwrap(), json!({"content": "", "encoding": "utf8", "size": 16}));
    is_errno(read(0, json!(11)).await, "EFBIG");
    is_errno(fs(json!({"op": "read", "path": "big"})).await, "EFBIG");
    fs(json!({"op": "write", "path": "big", "content": "XY", "offset": 2})).await.unwrap();
    fs(json!({"op": "write", "path": "big", "content": "!", "flag": "a"})).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.inside("big")).unwrap(), "01XY456789abcdef!");
    let misplaced = json!({"op": "write", "path": "big", "content": "x", "flag": "a", "offset": 3});
    fails(fs(misplaced).await, ErrorCode::InvalidRequest, "r+");
    fs(json!({"op": "truncate", "path": "big", "length": 3})).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.inside("big")).unwrap(), "01X");
}

#[tokio::test]
async fn flags_and_modes() {
    let place = Place::new();
    let write = |path: &str, flag: &str| {
        place.call("fs", json!({"op": "write", "path": path, "content": "x", "flag": flag, "mode": 0o600}))
    };
    write("a", "wx").await.unwrap();
    is_errno(write("a", "wx").await, "EEXIST");
    is_errno(write("a", "ax").await, "EEXIST");
    write("a", "a").await.unwrap();
    write("b", "a").await.unwrap();
    write("c", "w").await.unwrap();
    is_errno(write("none", "r+").await, "ENOENT");
    assert_eq!(std::fs::read_to_string(place.inside("a")).unwrap(), "xx");
    for file in ["a", "b", "c"] {
        assert_eq!(std::fs::metadata(place.inside(file)).unwrap().mode() & 0o777, 0o600, "{file}");
    }
    symlink("nowhere", place.inside("dangling")).unwrap();
    is_errno(write("dangling", "wx").await, "EEXIST");
    place.call("fs", json!({"op": "chmod", "path": "a", "mode": 0o000})).await.unwrap();
    assert_eq!(std::fs::metadata(place.inside("a")).unwrap().mode() & 0o777, 0);
    place.call("fs", json!({"op": "chmod", "path": "a", "mode": 0o640})).await.unwrap();
    assert_eq!(std::fs::metadata(place.inside("a")).unwrap().mode() & 0o777, 0o640);
    let fs = |params: Value| place.call("fs", params);
    assert_eq!(
        fs(json!({"op": "mkdir", "path": "m", "recursive": false, "mode": 0o700})).await.unwrap()["created"],
        true
    );
    is_errno(fs(json!({"op": "mkdir", "path": "m", "recursive": false})).await, "EEXIST");
    is_errno(fs(json!({"op": "mkdir", "path": "x/y", "recursive": false})).await, "ENOENT");
    is_errno(fs(json!({"op": "mkdir", "path": "a"})).await, "EEXIST");
    assert_eq!(std::fs::metadata(place.inside("m")).unwrap().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn facts_times_and_links() {
    let place = Place::new();
    std::fs::write(place.inside("a"), "123").unwrap();
    symlink("a", place.inside("l")).unwrap();
    let fs = |params: Value| place.call("fs", params);
    fs(json!({"op": "utimes", "path": "a", "accessed_ms": 1500.5, "modified_ms": -2500.25})).await.unwrap();
    let stat = fs(json!({"op": "stat", "path": "l"})).await.unwrap();
    assert_eq!(
        (&stat["kind"], &stat["accessed_ms"], &stat["modified_ms"]),
        (&json!("file"), &json!(1500.5), &json!(-2500.25))
    );
    let real = std::fs::metadata(place.inside("a")).unwrap();
    assert_eq!((stat["ino"].as_u64(), stat["mode"].as_u64()), (Some(real.ino()), Some(real.mode().into())));
    assert!(stat["created_ms"].as_f64().is_some() && stat["uid"].as_u64() == Some(real.uid().into()));
    let link = fs(json!({"op": "stat", "path": "l", "follow": false})).await.unwrap();
    assert_eq!(link["kind"], "link");
    assert_eq!(fs(json!({"op": "readlink", "path": "l"})).await.unwrap(), json!({"target": "a"}));
    is_errno(fs(json!({"op": "readlink", "path": "a"})).await, "EINVAL");
    let real = place.inside("a").canonicalize().unwrap();
    assert_eq!(fs(json!({"op": "realpath", "path": "./x/../l"})).await.unwrap(), json!({"path": real.to_str()}));
    is_errno(fs(json!({"op": "realpath", "path": "none"})).await, "ENOENT");
    fs(json!({"op": "access", "path": "l", "mode": "rw"})).await.unwrap();
    is_errno(fs(json!({"op": "access", "path": "a", "mode": "x"})).await, "EACCES");
    is_errno(fs(json!({"op": "access", "path": "none"})).await, "ENOENT");
    fails(fs(json!({"op": "access", "path": "a", "mode": "q"})).await, ErrorCode::InvalidRequest, "none of");
    let bad = json!({"op": "utimes", "path": "a", "accessed_ms": 1e300, "modified_ms": 0});
    fails(fs(bad).await, ErrorCode::InvalidRequest, "times");
}

#[tokio::test]
async fn both_paths_of_an_operation_are_judged() {
    let place = Place::new();
    std::fs::write(place.inside("a"), "x").unwrap();
    let secret = place.outside("secret").canonicalize().unwrap().to_str().unwrap().to_owned();
    let judge = Judge::default();
    for (params, needs) in [
        (json!({"op": "copy", "path": "a", "to": "b"}), vec!["write b".to_owned()]),
        (json!({"op": "copy", "path": &secret, "to": "stolen"}), vec!["write stolen".to_owned()]),
        (json!({"op": "rename", "path": "b", "to": "./c"}), vec!["read b".to_owned(), "write c".to_owned()]),
        (json!({"op": "link", "path": "s", "target": "../outside/secret"}), vec![format!("read {secret}")]),
        (
            json!({"op": "link", "path": "h", "target": &secret, "symbolic": false}),
            vec![format!("read {secret}"), format!("write {secret}")],
        ),
    ] {
        judged(&place, params.clone(), &judge).await.unwrap();
        assert_eq!(asked(&judge), needs, "{params}");
        let no = Judge { refuses: true, ..Judge::default() };
        std::fs::write(place.inside("b"), "x").unwrap();
        fails(judged(&place, params, &no).await, ErrorCode::Denied, "not granted");
    }
    assert_eq!(std::fs::read_to_string(place.inside("stolen")).unwrap(), "treasure");
    assert_eq!(std::fs::read_link(place.inside("s")).unwrap().to_str(), Some("../outside/secret"));
    assert_eq!(std::fs::metadata(place.inside("h")).unwrap().nlink(), 2);
    let exclusive = json!({"op": "copy", "path": "a", "to": "c", "exclusive": true});
    is_errno(judged(&place, exclusive, &judge).await, "EEXIST");
    let fresh = json!({"op": "copy", "path": "a", "to": "d", "exclusive": true});
    judged(&place, fresh, &judge).await.unwrap();
    fails(judged(&place, json!({"op": "rename", "path": ".", "to": "x"}), &judge).await, ErrorCode::Denied, "stays");
    let above = json!({"op": "rename", "path": "..", "to": "/tmp/x"});
    fails(judged(&place, above, &judge).await, ErrorCode::Denied, "stays");
}

#[tokio::test]
async fn trees_are_judged_entry_by_entry() {
    let place = Place::new();
    let plant = || {
        std::fs::create_dir_all(place.inside("t/sub")).unwrap();
        std::fs::write(place.inside("t/sub/secret"), "x").unwrap();
        std::fs::write(place.inside("t/a"), "y").unwrap();
        symlink(place.outside(""), place.inside("t/link")).ok();
    };
    plant();
    let remove = json!({"op": "remove", "path": "t", "recursive": true});
    let copy = json!({"op": "copy", "path": "t", "to": "u", "recursive": true});
    for params in [&remove, &copy] {
        let judge = Judge { denies: Some("secret"), ..Judge::default() };
        fails(judged(&place, params.clone(), &judge).await, ErrorCode::Denied, "secret");
        assert!(place.inside("t/a").exists() && !place.inside("u").exists(), "nothing was done");
        // Where somebody must be asked, one question is enough.
        let judge = Judge { refuses: true, ..Judge::default() };
        judged(&place, params.clone(), &judge).await.unwrap_err();
        assert_eq!(asked(&judge).last().unwrap(), if params["op"] == "copy" { "write u" } else { "write t/**" });
    }
    let judge = Judge::default();
    judged(&place, copy, &judge).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.inside("u/sub/secret")).unwrap(), "x");
    assert_eq!(std::fs::read_link(place.inside("u/link")).unwrap(), place.outside(""));
    judged(&place, remove.clone(), &judge).await.unwrap();
    assert!(!place.inside("t").exists() && place.outside("secret").exists(), "links are not followed");
    is_errno(judged(&place, remove, &judge).await, "ENOENT");
    let force = json!({"op": "remove", "path": "t", "recursive": true, "force": true});
    assert_eq!(judged(&place, force, &judge).await.unwrap(), json!({"removed": false}));
    let into_itself = json!({"op": "copy", "path": "u", "to": "u/v", "recursive": true});
    is_errno(judged(&place, into_itself, &judge).await, "EINVAL");
    is_errno(judged(&place, json!({"op": "remove", "path": "u"}), &judge).await, "ENOTEMPTY");
}

#[tokio::test]
async fn a_folder_takes_nothing_along_that_is_denied() {
    let place = Place::new();
    std::fs::create_dir_all(place.inside("t/sub")).unwrap();
    std::fs::write(place.inside("t/sub/secret"), "x").unwrap();
    let rename = json!({"op": "rename", "path": "t", "to": "u"});
    let judge = Judge { denies: Some("secret"), ..Judge::default() };
    fails(judged(&place, rename.clone(), &judge).await, ErrorCode::Denied, "secret");
    assert!(place.inside("t/sub/secret").exists() && !place.inside("u").exists(), "nothing was done");
    judged(&place, rename, &Judge::default()).await.unwrap();
    assert_eq!(std::fs::read_to_string(place.inside("u/sub/secret")).unwrap(), "x");
}

#[tokio::test]
async fn a_listing_does_not_name_what_is_denied() {
    let place = Place::new();
    std::fs::write(place.inside("a"), "").unwrap();
    std::fs::write(place.inside("my.secret"), "").unwrap();
    let judge = Judge { denies: Some("secret"), ..Judge::default() };
    let listed = judged(&place, json!({"op": "list", "path": "."}), &judge).await.unwrap();
    assert_eq!(listed["entries"], json!([{ "name": "a", "kind": "file", "size": 0 }]));
}

#[tokio::test]
async fn a_temporary_folder_is_judged_by_its_whole_name() {
    let place = Place::new();
    let call = HostCall::parse("fs", json!({"op": "mkdtemp", "path": "tmp-"})).unwrap();
    let call = place.services.resolve(call).unwrap();
    let need = call.needs().to_string();
    assert!(need.starts_with("write tmp-") && need.len() == "write tmp-".len() + 6, "{need}");
    let made = place.perform(&call, &Judge::default(), &HostCallCx::default()).await.unwrap();
    let path = std::path::PathBuf::from(made["path"].as_str().unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(need.ends_with(path.file_name().unwrap().to_str().unwrap()));
}

#[tokio::test]
async fn changes_are_told_as_they_come() {
    let place = Place::new();
    std::fs::create_dir(place.inside("w")).unwrap();
    let params = json!({"op": "watch", "path": "w"});
    fails(place.call("fs", params.clone()).await, ErrorCode::InvalidRequest, "stream");
    let (chunks, mut changes) = mpsc::channel(16);
    let (_input, receiver) = mpsc::channel(1);
    let input = Some(CallInput::new(receiver));
    let cx = HostCallCx { chunks: Some(chunks), input, ..HostCallCx::default() };
    let watching = place.call_within("fs", params, &cx);
    let changing = async {
        let mut events = Vec::new();
        for round in 0.. {
            std::fs::write(place.inside("w").join(format!("f{round}")), "x").unwrap();
            let wait = tokio::time::timeout(Duration::from_millis(200), changes.recv()).await;
            if let Ok(Some(change)) = wait {
                events.push(change);
                break;
            }
            assert!(round < 100, "no change was told");
        }
        cx.cancel.cancel();
        events
    };
    let (outcome, events) = tokio::join!(watching, changing);
    assert_eq!(outcome.unwrap(), json!({}));
    assert_eq!(events[0]["event"], "rename");
    assert!(events[0]["name"].as_str().unwrap().starts_with('f'));
}
