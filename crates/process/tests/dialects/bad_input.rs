//! Children that break every rule of the wire.

use std::time::{Duration, Instant};

use jackfield_protocol::{Dialect, ErrorCode};
use jackfield_runtime::StartError;
use serde_json::json;

use crate::support::{Bed, event, eventually, text_of, tool, tool_text, tool_within};

fn python(script: &str) -> Bed {
    Bed::python(Dialect::Frames, script)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_child_costs_its_deadline_and_no_more() {
    let mut bed = Bed::shell(Dialect::Frames, "echo thinking >&2; echo $$ > pid; exec sleep 600");
    bed.start_timeout = Duration::from_millis(400);
    let began = Instant::now();
    let error = bed.fails().await;
    assert_eq!(error.to_string(), "no hello within 400 ms; stderr ends: thinking");
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    let pid = crate::support::pid_in(&bed.file("pid"));
    assert!(!crate::support::lives(pid), "nothing is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_hellos_are_refused_and_the_child_killed() {
    let check = async |line: &str, reason: &str| {
        let bed = Bed::shell(Dialect::Frames, &format!("echo $$ > pid; echo '{line}'; exec sleep 600"));
        let error = bed.fails().await;
        assert!(
            matches!(&error, StartError::BadHandshake { reason: said, .. } if said.starts_with(reason)),
            "{line}: {error}"
        );
        assert!(!crate::support::lives(crate::support::pid_in(&bed.file("pid"))), "nothing is left");
    };
    check(r#"{"type":"ready"}"#, r#"first frame must be hello (got "ready")"#).await;
    check(r#"{"type":"whatever"}"#, r#"first frame must be hello (got "whatever")"#).await;
    check(r#"{"type":"hello","name":""}"#, "hello must carry a name").await;
    check(r#"{"type":"hello","name":"x","version":2}"#, "parse hello: ").await;
    check(r#"{"type":"hello"}"#, "parse hello: ").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exit_before_hello_is_noticed_at_once() {
    let bed = Bed::shell(Dialect::Frames, "echo 'no module named x, token=abcdef123456' >&2; exit 7");
    let began = Instant::now();
    let error = bed.fails().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(
        error.to_string(),
        "exited before hello (exit status 7); stderr ends: no module named x, token=[REDACTED]"
    );
    let killed = Bed::shell(Dialect::Frames, "kill -9 $$").fails().await;
    assert_eq!(killed.to_string(), "exited before hello (signal 9 (SIGKILL))");
    let between = Bed::shell(Dialect::Frames, r#"echo '{"type":"hello","name":"x"}'; exit 0"#).fails().await;
    assert_eq!(between.to_string(), "exited before ready (exit status 0)");
    let closed = Bed::shell(Dialect::Frames, "exec >&-; exec sleep 600").fails().await;
    assert_eq!(closed.to_string(), "exited before hello (killed by the host because it closed its standard output)");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_cannot_run_are_explained() {
    let check = async |bed: &Bed, part: &str| {
        let error = bed.fails().await;
        assert!(matches!(&error, StartError::NotRunnable(text) if text.contains(part)), "{error}");
        assert!(error.to_string().starts_with("extension bed: "), "{error}");
    };
    let mut bed = Bed::shell(Dialect::Frames, "true");
    for (command, part) in [
        ("./missing", "cannot find"),
        ("no-such-program-anywhere", "is not on PATH"),
        (".", "is a folder"),
        ("", "names no program"),
        ("./ext.txt", "is not executable; run chmod +x"),
    ] {
        std::fs::write(bed.file("ext.txt"), "x").expect("a file");
        bed.command = command.to_owned();
        check(&bed, part).await;
    }
    for (line, part) in [
        ("#!/no/such/interpreter", "the interpreter \"/no/such/interpreter\""),
        ("#!/usr/bin/env no-such-interpreter", "the interpreter \"no-such-interpreter\""),
        ("#!/bin/sh\r", "carriage return"),
    ] {
        check(&Bed::script(Dialect::Frames, &format!("{line}\ntrue\n")), part).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bare_words_come_from_the_given_path() {
    let mut bed = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'; read -r ack; exec sleep 600"#,
    );
    std::fs::create_dir(bed.file("bin")).expect("a folder");
    std::fs::rename(bed.file("run"), bed.file("bin").join("my-extension")).expect("moved");
    bed.command = "my-extension".to_owned();
    let old = bed.env[0].1.clone();
    bed.env[0].1 = format!("{}:{old}", bed.file("bin").display());
    let (instance, _) = bed.start().await;
    assert!(instance.pid().is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn noise_non_utf8_and_broken_frames_do_not_hurt() {
    let bed = python(
        r#"
raw("npm warn deprecated"); raw(""); raw("[1,2]"); raw('{"level":"info"}'); sys.stdout.flush()
os.write(1, b"\xff\xfe\x00 binary\n")
hello("go")
for f in next_line():
    if f["type"] == "tool_call":
        os.write(1, b'{"type":"notify","message":"\xff"}\n\xc3\n')
        raw("{"); raw("{}"); raw('{"type":"notify","message":7}'); raw('"text"'); raw("\r")
        text("99", "unknown"); text("0", "zero"); text("", "none"); raw('{"type":"tool_result","id":' + f["id"] + '}')
        send(type="command_response", id=f["id"], action="noop")
        text(f["id"], "first"); text(f["id"], "second")
"#,
    );
    let (instance, _) = bed.start().await;
    for _ in 0..3 {
        // The id as a number is a broken frame of no known id.
        assert_eq!(tool_text(&instance, "go", json!({})).await, "first");
    }
    let log = bed.log();
    for part in ["npm warn deprecated", "binary", "ignored a broken notify frame", "that nobody waits for (1 so far)"] {
        assert!(log.contains(part), "{part} in {log}");
    }
    assert_eq!(log.matches("that nobody waits for").count(), 1, "noted once per hundred: {log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_of_300_mb_uses_no_memory_and_fails_only_what_waits() {
    let bed = python(
        r#"
hello("big", "small")
for f in next_line():
    if f.get("name") == "big":
        chunk = b"x" * (1 << 20)
        for _ in range(300): os.write(1, chunk) if False else sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.write(b"\n"); sys.stdout.buffer.flush()
    if f.get("name") == "small": text(f["id"], "alive")
"#,
    );
    let resident = || {
        let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
        statm.split(' ').nth(1).expect("resident").parse::<u64>().expect("a number") * 4096
    };
    let (instance, _) = bed.start().await;
    let before = resident();
    let error = tool(&instance, "big", json!({})).await.expect_err("lost");
    assert_eq!((error.code, error.message.contains("more than 4 MiB")), (ErrorCode::Protocol, true), "{error}");
    let small = tool(&instance, "small", json!({})).await.expect("the instance lives on");
    assert_eq!(text_of(&small), "alive");
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "grew by {grown} bytes");
    assert_eq!(bed.log().matches("ignored a line of more than").count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deaf_child_hurts_only_itself() {
    let deaf = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"register_tool","name":"x"}'; echo '{"type":"ready"}'; exec sleep 600"#,
    );
    let (instance, _) = deaf.start().await;
    let began = Instant::now();
    let args = json!({ "text": "x".repeat(100 * 1024) });
    let error = tool_within(&instance, "x", args, Duration::from_millis(300)).await.expect_err("no answer");
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());

    let other = python("hello('x')\nfor f in next_line():\n    if f['type'] == 'tool_call': text(f['id'], 'fine')");
    let (other, _) = other.start().await;
    assert_eq!(tool_text(&other, "x", json!({})).await, "fine");

    let began = Instant::now();
    let exit = instance.stop(Duration::from_millis(200)).await;
    assert_eq!((exit.reason.as_str(), exit.wanted), ("signal 15 (SIGTERM)", true));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_whose_queue_overflows_fails_at_once_and_is_killed() {
    let mut bed = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"subscribe","events":["*"]}'; echo '{"type":"ready"}'; exec sleep 600"#,
    );
    bed.options.outbox_bytes = 300 * 1024;
    let (instance, _) = bed.start().await;
    let huge = json!({ "text": "x".repeat(400 * 1024) });
    let error = tool(&instance, "x", huge).await.expect_err("larger than the queue");
    assert_eq!(error.code, ErrorCode::InvalidRequest);
    for sequence in 0..10_000 {
        instance.notify(&event("step", sequence));
    }
    let args = json!({ "text": "x".repeat(200 * 1024) });
    let error = tool_within(&instance, "x", args.clone(), Duration::from_millis(300)).await.expect_err("no answer");
    assert_eq!(error.code, ErrorCode::Timeout, "events leave room for a question: {error}");
    let error = tool(&instance, "x", args).await.expect_err("full");
    assert_eq!(
        (error.code, error.message.contains("does not read its input")),
        (ErrorCode::Unavailable, true),
        "{error}"
    );
    let exit = tokio::time::timeout(Duration::from_secs(15), instance.exited()).await.expect("killed");
    assert_eq!(exit.reason, "killed by the host because it did not read its input for 5 s");
    assert!(!exit.wanted);
    assert!(bed.log().contains("event step was dropped (1 so far)"), "{}", bed.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_notifications_pass() {
    let bed = python(
        r#"
hello("go")
for f in next_line():
    if f["type"] == "tool_call":
        for n in range(10000): sys.stdout.write('{"type":"notify","level":"info","message":"%d"}\n' % n)
        text(f["id"], "done")
"#,
    );
    let (instance, _) = bed.start().await;
    assert_eq!(tool_text(&instance, "go", json!({})).await, "done");
    assert_eq!(bed.host.notices().len(), 10_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_stderr_is_rotated_and_blocks_nobody() {
    let mut bed = python(
        r#"
hello("go")
for f in next_line():
    if f["type"] == "tool_call":
        for n in range(20000): sys.stderr.write("noise %d hunter2hunter2\n" % n)
        sys.stderr.write("y" * 3000000)
        text(f["id"], "done")
"#,
    );
    bed.options.log_limit = 100 * 1024;
    let (instance, _) = bed.start().await;
    assert_eq!(tool_text(&instance, "go", json!({})).await, "done");
    let exit = instance.stop(Duration::from_secs(10)).await;
    assert!(exit.stderr.len() <= 4096);
    for name in ["ext.log", "ext.log.1", "ext.log.2"] {
        let text = std::fs::read_to_string(bed.file(name)).expect("a log");
        assert!(text.len() < 200 * 1024, "{name} has {} bytes", text.len());
        assert!(!text.contains("hunter2"), "{name} holds a secret");
    }
    assert!(!bed.file("ext.log.3").exists());
    eventually("the end is noted", || bed.log().contains("ended: exit status 0").then_some(()));
}
