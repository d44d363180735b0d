mod streams;

use std::path::Path;
use std::time::{Duration, Instant};

use jackfield_protocol::{ErrorCode, HostCall};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::ServiceLimits;
use crate::tests::{Judge, Place, eventually, fails, is_errno, within};

fn sh(script: &str) -> Value {
    json!({"command": "sh", "args": ["-c", script]})
}

/// The numbers of processes that a script wrote into files of the project.
fn pids(place: &Place, files: &[&str]) -> Vec<u32> {
    let read = |file: &&str| std::fs::read_to_string(place.inside(file)).ok()?.trim().parse().ok();
    eventually("the script's start", || files.iter().all(|file| read(file).is_some()));
    files.iter().filter_map(read).collect()
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.is_ok_and(|stat| !stat.rsplit(") ").next().unwrap_or_default().starts_with(['Z', 'X']))
}

#[track_caller]
fn all_die(pids: &[u32]) {
    eventually("the end of every process", || !pids.iter().any(|pid| lives(*pid)));
}

/// A child, a grandchild, one in a session of its own, and one in such a session whose parent has gone.
const FAMILY: &str = "echo $$ > leader
    (sh -c 'echo $$ > grandchild; exec sleep 300' & wait) &
    setsid sh -c 'echo $$ > session; exec sleep 300' &
    setsid sh -c 'sh -c \"echo \\$\\$ > orphan; exec sleep 300\" & exit' &
    echo started; echo trouble >&2";
const MEMBERS: [&str; 4] = ["leader", "grandchild", "session", "orphan"];

#[tokio::test]
async fn a_program_runs_to_its_end() {
    let place = Place::new();
    let result = place.call("exec", sh("echo out; echo err >&2; exit 3")).await.unwrap();
    let expected =
        json!({"code": 3, "stdout": "out\n", "stderr": "err\n", "truncated": false, "killed": false, "signal": null});
    assert_eq!(result, expected);
    let result = place.call("exec", json!({"command": "echo", "args": ["$HOME; *", "`x`"]})).await.unwrap();
    assert_eq!(result["stdout"], "$HOME; * `x`\n", "no shell reads the arguments");
    let killed = place.call("exec", sh("kill -9 $$")).await.unwrap();
    assert_eq!((&killed["code"], &killed["signal"]), (&json!(137), &json!("SIGKILL")));
    let raw =
        json!({"command": "sh", "args": ["-c", "printf 'a\\377b'; kill -15 $$"], "raw": true, "encoding": "base64"});
    let raw = place.call("exec", raw).await.unwrap();
    assert_eq!((&raw["code"], &raw["signal"], &raw["stdout"]), (&json!(null), &json!("SIGTERM"), &json!("Yf9i")));
    assert_eq!(place.call("exec", sh("printf 'a\\377b'")).await.unwrap()["stdout"], "a\u{fffd}b");
}

#[tokio::test]
async fn programs_are_found_as_judged() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    std::fs::create_dir(place.inside("bin")).unwrap();
    for script in ["bin/hello", "only-here"] {
        std::fs::write(place.inside(script), "#!/bin/sh\necho hello\n").unwrap();
        std::fs::set_permissions(place.inside(script), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let need = |params: Value| {
        let call = place.services.resolve(HostCall::parse("exec", params).unwrap());
        call.map(|call| call.needs().to_string()).map_err(|error| error.code)
    };
    let absolute = place.inside("bin/hello").to_str().unwrap().to_owned();
    for command in ["bin/hello", "./bin/hello", "bin/../bin//hello", &absolute] {
        assert_eq!(need(json!({"command": command})), Ok("exec bin/hello".to_owned()), "{command}");
        assert_eq!(place.call("exec", json!({"command": command})).await.unwrap()["stdout"], "hello\n");
    }
    assert_eq!(need(json!({"command": "./hello", "cwd": "bin"})), Ok("exec bin/hello".to_owned()));
    assert_eq!(need(json!({"command": "../only-here", "cwd": "bin"})), Ok("exec ./only-here".to_owned()));
    assert_eq!(place.call("exec", json!({"command": "./only-here"})).await.unwrap()["stdout"], "hello\n");
    assert_eq!(need(json!({"command": "/opt/x/../y/z"})), Ok("exec /opt/y/z".to_owned()));
    assert_eq!(need(json!({"command": "git"})), Ok("exec git".to_owned()));

    fails(place.call("exec", json!({"command": "only-here"})).await, ErrorCode::Io, "PATH");
    fails(place.call("exec", json!({"command": "no-such-program"})).await, ErrorCode::Io, "no-such-program");
    fails(place.call("exec", json!({"command": "./none"})).await, ErrorCode::Io, "none");
    is_errno(place.call("exec", json!({"command": "no-such-program"})).await, "ENOENT");
    is_errno(place.call("exec", json!({"command": "./none"})).await, "ENOENT");
    fails(place.call("exec", json!({"command": ""})).await, ErrorCode::InvalidRequest, "program");
    std::fs::write(place.inside("data"), "x").unwrap();
    fails(place.call("exec", json!({"command": "./data"})).await, ErrorCode::Io, "executable");
    std::fs::set_permissions(place.inside("data"), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::write(place.inside("data"), "#!/no/such/interpreter\n").unwrap();
    fails(place.call("exec", json!({"command": "./data"})).await, ErrorCode::Io, "did not start");
    fails(place.call("exec", json!({"command": "echo", "args": ["a\0b"]})).await, ErrorCode::InvalidRequest, "start");
}

#[tokio::test]
async fn the_working_directory_is_judged_where_it_is() {
    let place = Place::new();
    std::fs::create_dir(place.inside("sub")).unwrap();
    std::fs::write(place.inside("file"), "").unwrap();
    std::os::unix::fs::symlink(place.outside(""), place.inside("escape")).unwrap();
    let pwd = |cwd: &str| place.call("exec", json!({"command": "pwd", "args": ["-P"], "cwd": cwd}));
    let here = |path: &str| place.inside(path).canonicalize().unwrap();
    assert_eq!(pwd("sub").await.unwrap()["stdout"].as_str().unwrap().trim(), here("sub").to_str().unwrap());
    assert_eq!(pwd("sub/..").await.unwrap()["stdout"].as_str().unwrap().trim(), here("").to_str().unwrap());
    // Outside the project it is a folder that is read.
    let outside = place.outside("").canonicalize().unwrap().to_str().unwrap().to_owned();
    for (cwd, need) in [("/", "read /".to_owned()), ("escape", format!("read {outside}"))] {
        let judge = Judge::default();
        let call = HostCall::parse("exec", json!({"command": "pwd", "args": ["-P"], "cwd": cwd})).unwrap();
        let call = place.services.resolve(call).unwrap();
        let result = place.perform(&call, &judge, &HostCallCx::default()).await.unwrap();
        assert_eq!(*judge.asked.lock().unwrap(), [need]);
        assert!(result["stdout"].as_str().unwrap().trim().ends_with(cwd.trim_start_matches("escape")));
        let judge = Judge { refuses: true, ..Judge::default() };
        fails(place.perform(&call, &judge, &HostCallCx::default()).await, ErrorCode::Denied, "not granted");
    }
    fails(pwd("none").await, ErrorCode::Io, "none");
    fails(pwd("file").await, ErrorCode::Io, "file");
    // A link that came after the decision.
    let call = HostCall::parse("exec", json!({"command": "pwd", "cwd": "escape"})).unwrap();
    fails(place.perform(&call, &Judge::default(), &HostCallCx::default()).await, ErrorCode::Denied, "link");
}

#[tokio::test]
async fn the_environment_is_minimal() {
    let secrets = [
        ("HOME", "/home/x"),
        ("LANG", "C"),
        ("LC_ALL", "C"),
        ("LC_API_TOKEN", "s3cret"),
        ("GITHUB_TOKEN", "s3cret"),
        ("AWS_SECRET_ACCESS_KEY", "s3cret"),
        ("OTHER", "value"),
        ("TERM", "xterm"),
    ];
    let place = Place::with(ServiceLimits::default(), &secrets);
    let env = json!({"command": "env", "env": {"MINE": "1", "LANG": "de", "MY_TOKEN": "given"}});
    let output = place.call("exec", env).await.unwrap();
    let mut lines: Vec<&str> = output["stdout"].as_str().unwrap().lines().collect();
    lines.retain(|line| !line.starts_with("PATH=") && !line.starts_with("JACKFIELD_EXEC="));
    lines.sort_unstable();
    assert_eq!(lines, ["HOME=/home/x", "LANG=de", "LC_ALL=C", "MINE=1", "MY_TOKEN=given", "TERM=dumb"]);
    // Whoever chooses which code runs needs the power to run any.
    for name in ["LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PATH", "BASH_ENV"] {
        let judge = Judge { refuses: true, ..Judge::default() };
        let call = HostCall::parse("exec", json!({"command": "/usr/bin/env", "env": {name: "x"}})).unwrap();
        fails(place.perform(&call, &judge, &HostCallCx::default()).await, ErrorCode::Denied, "exec *");
    }
    let path = std::env::var("PATH").unwrap();
    let same = json!({"command": "env", "env": {"PATH": path, "A": "1"}, "clear_env": true});
    let call = HostCall::parse("exec", same).unwrap();
    let judge = Judge { refuses: true, ..Judge::default() };
    let output = place.perform(&call, &judge, &HostCallCx::default()).await.unwrap();
    let mut lines: Vec<&str> = output["stdout"].as_str().unwrap().lines().collect();
    lines.retain(|line| !line.starts_with("JACKFIELD_EXEC="));
    lines.sort_unstable();
    assert_eq!(lines, ["A=1", &format!("PATH={path}")], "the host's own value chooses nothing");
    for (name, value) in [("", "x"), ("A=B", "x"), ("A", "x\0y")] {
        let params = json!({"command": "env", "env": {name: value}});
        fails(place.call("exec", params).await, ErrorCode::InvalidRequest, "variable");
    }
}

#[tokio::test]
async fn programs_read_what_they_are_given() {
    let place = Place::new();
    let text = "zeile ✓\n".repeat(50_000);
    let result = place.call("exec", json!({"command": "cat", "stdin": text})).await.unwrap();
    assert_eq!(result["stdout"].as_str().unwrap(), text);
    let ignored = place.call("exec", json!({"command": "true", "stdin": text})).await.unwrap();
    assert_eq!(ignored["code"], 0, "a program that does not read is no failure");
    assert_eq!(place.call("exec", json!({"command": "cat"})).await.unwrap()["stdout"], "");
}

#[tokio::test]
async fn a_flood_of_output_stays_bounded() {
    let place = Place::with(ServiceLimits { max_output: 1000, ..ServiceLimits::default() }, &[]);
    let flood = place.call("exec", sh("head -c 100000000 /dev/zero | tr '\\0' x; echo done >&2")).await.unwrap();
    assert_eq!((&flood["truncated"], &flood["code"]), (&json!(true), &json!(0)));
    assert_eq!(flood["stdout"].as_str().unwrap(), "x".repeat(1000));
    assert_eq!(flood["stderr"], "done\n");
}

#[tokio::test]
async fn output_comes_in_pieces() {
    let place = Place::new();
    let (sender, mut receiver) = mpsc::channel(1);
    let cx = HostCallCx { chunks: Some(sender), ..HostCallCx::default() };
    // The second half of the character is written only when the first piece has been seen.
    let script = "printf 'one\\342\\234'; while [ ! -e go ]; do sleep 0.01; done; printf '\\223two'; echo err >&2";
    let mut params = sh(script);
    params["stream"] = json!(true);
    let go = place.inside("go");
    let reader = async move {
        let mut pieces = Vec::new();
        while let Some(piece) = receiver.recv().await {
            std::fs::write(&go, "").unwrap();
            pieces.push(piece);
        }
        pieces
    };
    let call = async {
        let result = place.call_within("exec", params, &cx).await;
        drop(cx);
        result
    };
    let (result, pieces) = tokio::join!(call, reader);
    assert_eq!(result.unwrap()["stdout"], "one✓two");
    assert_eq!(pieces[0], json!({"stream": "stdout", "text": "one"}));
    let text = |stream: &str| -> String {
        pieces.iter().filter(|p| p["stream"] == stream).map(|p| p["text"].as_str().unwrap()).collect()
    };
    assert_eq!((text("stdout").as_str(), text("stderr").as_str()), ("one✓two", "err\n"));
}

#[tokio::test]
async fn a_consumer_of_pieces_may_go_or_stall() {
    let place = Place::new();
    let mut params = sh("head -c 1000000 /dev/zero | tr '\\0' x");
    params["stream"] = json!(true);
    let (sender, receiver) = mpsc::channel(1);
    drop(receiver);
    let gone = HostCallCx { chunks: Some(sender), ..HostCallCx::default() };
    assert_eq!(place.call_within("exec", params.clone(), &gone).await.unwrap()["code"], 0);

    let (sender, _receiver) = mpsc::channel(1);
    let stalls =
        HostCallCx { chunks: Some(sender), timeout: Some(Duration::from_millis(300)), ..HostCallCx::default() };
    fails(place.call_within("exec", params.clone(), &stalls).await, ErrorCode::Timeout, "300 ms");

    // Without being asked to, nothing is streamed.
    let (sender, mut receiver) = mpsc::channel(1);
    let silent = HostCallCx { chunks: Some(sender), ..HostCallCx::default() };
    place.call_within("exec", sh("echo x"), &silent).await.unwrap();
    assert!(receiver.try_recv().is_err());
}

#[tokio::test]
async fn time_out_ends_the_whole_tree() {
    let place = Place::new();
    let script = format!("{FAMILY}; sleep 300");
    let cx = within(Duration::from_secs(4));
    let error = fails(place.call_within("exec", sh(&script), &cx).await, ErrorCode::Timeout, "4000 ms");
    let details = error.details.unwrap();
    let partial = json!({"stdout": "started\n", "stderr": "trouble\n", "truncated": false, "killed": true});
    assert_eq!(details, partial);
    all_die(&pids(&place, &MEMBERS));
}

#[tokio::test]
async fn the_hosts_limit_stands_beside_the_calls() {
    let limits = ServiceLimits { max_timeout: Duration::from_millis(100), ..ServiceLimits::default() };
    let place = Place::with(limits, &[]);
    let cx = within(Duration::from_secs(300));
    fails(place.call_within("exec", sh("sleep 300"), &cx).await, ErrorCode::Timeout, "100 ms");
    let limits = ServiceLimits { default_timeout: Duration::from_millis(100), ..ServiceLimits::default() };
    fails(Place::with(limits, &[]).call("exec", sh("sleep 300")).await, ErrorCode::Timeout, "100 ms");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_ends_the_whole_tree() {
    let place = Place::new();
    let cx = HostCallCx::default();
    let script = format!("{FAMILY}; sleep 300");
    let call = place.call_within("exec", sh(&script), &cx);
    let cancel = async {
        let members = tokio::task::block_in_place(|| pids(&place, &MEMBERS));
        cx.cancel.cancel();
        members
    };
    let (result, members) = tokio::join!(call, cancel);
    fails(result, ErrorCode::Cancelled, "killed");
    all_die(&members);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_the_call_ends_the_whole_tree() {
    let place = Place::new();
    let members = {
        let cx = HostCallCx::default();
        let script = format!("{FAMILY}; sleep 300");
        let call = place.call_within("exec", sh(&script), &cx);
        tokio::pin!(call);
        let started = async { tokio::task::block_in_place(|| pids(&place, &MEMBERS)) };
        tokio::select! {
            biased;
            _ = &mut call => panic!("the call ended"),
            members = started => members,
        }
    };
    all_die(&members);
}

#[tokio::test]
async fn a_bomb_of_processes_is_defused() {
    let place = Place::new();
    // Every one begets the next and goes, so that no list of processes is true for long.
    std::fs::write(place.inside("hop"), "echo x >> hops; setsid sh ./hop & exit\n").unwrap();
    let cx = within(Duration::from_millis(700));
    fails(place.call_within("exec", sh("sh ./hop; sleep 300"), &cx).await, ErrorCode::Timeout, "killed");
    let hops = || std::fs::metadata(place.inside("hops")).map_or(0, |facts| facts.len());
    assert!(hops() > 0);
    // It grows by hundreds a second as long as one is left.
    let mut last = (hops(), Instant::now());
    eventually("the end of the chain", || {
        if hops() != last.0 {
            last = (hops(), Instant::now());
        }
        last.1.elapsed() > Duration::from_millis(500)
    });
}

#[tokio::test]
async fn what_a_program_leaves_in_its_group_goes_with_it() {
    let place = Place::new();
    let before = Instant::now();
    let result = place.call("exec", sh("sleep 300 & echo $! > left; echo done")).await.unwrap();
    assert_eq!((&result["stdout"], &result["code"]), (&json!("done\n"), &json!(0)));
    // A daemon of its own session that holds the pipes open is not waited for.
    let daemon =
        "setsid sh -c 'echo $$ > daemon; exec sleep 300' & while [ ! -s daemon ]; do sleep 0.01; done; echo done";
    assert_eq!(place.call("exec", sh(daemon)).await.unwrap()["stdout"], "done\n");
    assert!(before.elapsed() < Duration::from_secs(60), "nobody waits for what is left behind");
    for daemon in pids(&place, &["daemon"]) {
        assert!(lives(daemon));
        let daemon = rustix::process::Pid::from_raw(i32::try_from(daemon).unwrap()).unwrap();
        rustix::process::kill_process(daemon, rustix::process::Signal::KILL).unwrap();
    }
    all_die(&pids(&place, &["left"]));
}

#[tokio::test]
async fn a_keeper_stands_between() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let keeper = place.outside("keeper");
    std::fs::write(&keeper, "#!/bin/sh\necho \"$1 $2 $3\" > kept\nshift 3\n\"$@\"\n").unwrap();
    std::fs::set_permissions(&keeper, PermissionsExt::from_mode(0o755)).unwrap();
    let place = place.with_keeper(keeper);
    let result = place.call("exec", sh("echo out; exit 3")).await.unwrap();
    assert_eq!((&result["stdout"], &result["code"]), (&json!("out\n"), &json!(3)));
    let kept = std::fs::read_to_string(place.inside("kept")).unwrap();
    assert_eq!(kept, format!("__keep {} --\n", std::process::id()));
    let script = format!("{FAMILY}; sleep 300");
    let cx = within(Duration::from_secs(4));
    fails(place.call_within("exec", sh(&script), &cx).await, ErrorCode::Timeout, "killed");
    all_die(&pids(&place, &MEMBERS));
}
