//! How children end.

use std::process::Command;
use std::time::{Duration, Instant};

use jackfield_process::reap_leftovers;
use jackfield_protocol::{Dialect, ErrorCode};
use serde_json::json;

use crate::support::{Bed, eventually, lives, pid_in, tool, tool_text};

fn python(script: &str) -> Bed {
    Bed::python(Dialect::Frames, script)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn death_fails_what_waits_at_once_and_says_why() {
    let bed = python(
        r#"
hello("die", "hang")
held = 0
for f in next_line():
    if f.get("name") == "hang": send(type="notify", message="hanging")
    if f.get("name") == "die":
        sys.stderr.write("Traceback: boom\n"); sys.exit(3)
"#,
    );
    let (instance, _) = bed.start().await;
    let hanging = tokio::spawn({
        let instance = instance.clone();
        async move { tool(&instance, "hang", json!({})).await }
    });
    eventually("the call arrives", || (!bed.host.notices().is_empty()).then_some(()));
    let began = Instant::now();
    let error = tool(&instance, "die", json!({})).await.expect_err("died");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert_eq!(error.message, "extension bed is gone (exit status 3); stderr ends: Traceback: boom");
    assert_eq!(hanging.await.expect("no panic"), Err(error.clone()));
    let began = Instant::now();
    let later = tool(&instance, "die", json!({})).await.expect_err("still dead");
    assert_eq!((later.code, &later.message), (error.code, &error.message), "later calls as well");
    assert!(later.is_undelivered() && !error.is_undelivered(), "only what it may have got is not tried again");
    assert!(began.elapsed() < Duration::from_millis(100));
    let exit = instance.exited().await;
    assert_eq!((exit.reason.as_str(), exit.wanted, exit.stderr.as_str()), ("exit status 3", false, "Traceback: boom"));
    assert_eq!(instance.stop(Duration::from_secs(5)).await, exit, "stopping the dead is harmless");
}

/// Looks once at a call, which sends it; true if it then waits.
#[cfg(target_os = "linux")]
async fn sent(mut call: std::pin::Pin<&mut impl Future>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(call.as_mut().poll(cx).is_pending())).await
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_dead_never_read_can_go_to_another() {
    // Reads one call and no more; a shell reads byte by byte, so nothing of the next is taken along.
    let bed = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'
echo '{"type":"register_tool","name":"go","description":"d","schema":{}}'
echo '{"type":"ready"}'
while read -r line; do case "$line" in *tool_call*) break;; esac; done
echo '{"type":"notify","message":"one call read"}'
exec sleep 600"#,
    );
    let (instance, _) = bed.start().await;
    let call = async || tool(&instance, "go", json!({})).await.expect_err("killed");
    let (read, second, third) = (call(), call(), call());
    tokio::pin!(read, second, third);
    // A call is sent as soon as it is looked at.
    assert!(sent(read.as_mut()).await);
    eventually("one call is read", || (!bed.host.notices().is_empty()).then_some(()));
    assert!(sent(second.as_mut()).await && sent(third.as_mut()).await);
    let pid = instance.pid().expect("a pid");
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status().expect("kill");
    assert!(killed.success());
    let (read, second, third) = tokio::join!(read, second, third);
    assert_eq!((read.code, read.is_undelivered()), (ErrorCode::Unavailable, false), "it may have run: {read}");
    for unread in [second, third] {
        assert_eq!((unread.code, unread.is_undelivered()), (ErrorCode::Unavailable, true), "{unread}");
        assert!(unread.message.contains("SIGKILL"), "{unread}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_answer_before_the_end_counts() {
    let bed = python(
        r#"
hello("go")
for f in next_line():
    if f.get("name") == "go": text(f["id"], "goodbye"); os._exit(0)
"#,
    );
    for _ in 0..5 {
        let (instance, _) = bed.start().await;
        assert_eq!(tool_text(&instance, "go", json!({})).await, "goodbye");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_closes_a_pipe_is_killed() {
    for (fd, what) in [(1, "output"), (0, "input")] {
        let bed = python(&format!(
            r#"
hello("go", "next")
for f in next_line():
    if f["type"] == "tool_call":
        os.close({fd})
        if {fd} == 0: text(f["id"], "closed")
        time.sleep(600)
"#
        ));
        let (instance, _) = bed.start().await;
        let first = tool(&instance, "go", json!({})).await;
        let error = match first {
            Ok(_) => tool(&instance, "next", json!({})).await.expect_err("no input"),
            Err(error) => error,
        };
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains(&format!("because it closed its standard {what}")), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_polite_stop_is_heard_and_all_callers_get_the_same() {
    let bed = python(
        r#"
hello("x")
seen = [f["type"] for f in next_line()]
open("seen", "w").write(",".join(seen))
sys.exit(4)
"#,
    );
    let (instance, _) = bed.start().await;
    let grace = Duration::from_secs(15);
    let (first, second, third) = tokio::join!(instance.stop(grace), instance.stop(grace), instance.exited());
    assert_eq!((first.reason.as_str(), first.wanted), ("exit status 4", true));
    assert_eq!((&first, &first), (&second, &third));
    assert_eq!(std::fs::read_to_string(bed.file("seen")).expect("written"), "shutdown", "then the input ended");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_ignores_everything_is_killed_with_its_children() {
    let bed = Bed::shell(
        Dialect::Frames,
        r#"trap '' TERM
sh -c 'trap "" TERM; echo $$ > grandchild; while :; do sleep 1; done' &
echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'
while :; do sleep 1; done"#,
    );
    let (instance, _) = bed.start().await;
    let grandchild = pid_in(&bed.file("grandchild"));
    let child = instance.pid().expect("a pid");
    let began = Instant::now();
    let exit = instance.stop(Duration::from_millis(100)).await;
    assert_eq!((exit.reason.as_str(), exit.wanted), ("signal 9 (SIGKILL)", true));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    for pid in [child, grandchild] {
        eventually("the end of the tree", || (!lives(pid)).then_some(()));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grandchildren_go_with_a_child_that_exits() {
    let bed = Bed::shell(
        Dialect::Frames,
        r#"sleep 600 & echo $! > grandchild
echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'
read -r ack; read -r call; exit 5"#,
    );
    let (instance, _) = bed.start().await;
    let error = tool(&instance, "x", json!({})).await.expect_err("exited");
    assert!(error.message.contains("exit status 5"), "{error}");
    let grandchild = pid_in(&bed.file("grandchild"));
    eventually("the end of the grandchild", || (!lives(grandchild)).then_some(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropping_an_instance_or_a_start_ends_the_tree() {
    let bed = Bed::shell(
        Dialect::Frames,
        r#"setsid sleep 600 & echo $! > grandchild
echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'
echo $$ > child; exec sleep 600"#,
    );
    let (instance, _) = bed.start().await;
    let pids = [pid_in(&bed.file("grandchild")), pid_in(&bed.file("child"))];
    drop(instance);
    for pid in pids {
        eventually("the end of the tree", || (!lives(pid)).then_some(()));
    }
    let silent = Bed::shell(Dialect::Frames, "echo $$ > child; exec sleep 600");
    assert!(tokio::time::timeout(Duration::from_millis(300), silent.try_start()).await.is_err());
    let pid = pid_in(&silent.file("child"));
    eventually("the end of the child", || (!lives(pid)).then_some(()));
}

#[test]
fn a_runtime_that_shuts_down_leaves_nothing() {
    let bed = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'; echo $$ > child; exec sleep 600"#,
    );
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (instance, _) = runtime.block_on(bed.start());
    let pid = pid_in(&bed.file("child"));
    runtime.shutdown_timeout(Duration::from_secs(5));
    drop(instance);
    eventually("the end of the child", || {
        // The runtime that would have reaped it is gone.
        (!lives(pid)).then_some(())
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_notes_come_and_go_and_leftovers_are_reaped() {
    let mut bed = Bed::shell(
        Dialect::Frames,
        r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"ready"}'; while read -r line; do :; done"#,
    );
    let run_dir = bed.file("run-notes");
    bed.options.run_dir = Some(run_dir.clone());
    let (instance, _) = bed.start().await;
    let pid = instance.pid().expect("a pid");
    let note = run_dir.join(format!("child-{pid}.json"));
    let text = std::fs::read_to_string(&note).expect("a note");
    assert_eq!(reap_leftovers(&run_dir), 0, "its host lives");
    assert!(note.exists() && lives(pid));

    // The same note of a host that is no more, about a child of ours that has a child of its own.
    let mut orphan = Command::new("sh")
        .arg("-c")
        .arg("sleep 600 & echo $! > grandchild; wait")
        .current_dir(bed.dir.path())
        .spawn()
        .expect("sh");
    let grandchild = pid_in(&bed.file("grandchild"));
    let start_time = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
        stat.rsplit_once(") ").expect("a name").1.split(' ').nth(19).expect("a time").parse::<u64>().expect("a number")
    };
    let mut left: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    left["pid"] = json!(orphan.id());
    left["start_time"] = json!(start_time(orphan.id()));
    left["host_start_time"] = json!(1);
    let mut innocent = left.clone();
    innocent["pid"] = json!(std::process::id());
    innocent["start_time"] = json!(2);
    for (name, note) in [("child-1.json", &left), ("child-2.json", &innocent), ("child-3.json", &json!("torn"))] {
        std::fs::write(run_dir.join(name), note.to_string()).expect("a note");
    }
    assert_eq!(reap_leftovers(&run_dir), 1);
    orphan.wait().expect("reaped");
    eventually("the end of the grandchild", || (!lives(grandchild)).then_some(()));
    for name in ["child-1.json", "child-2.json", "child-3.json"] {
        assert!(!run_dir.join(name).exists(), "{name} is removed");
    }
    instance.stop(Duration::from_secs(10)).await;
    assert!(!note.exists(), "the note goes with the child");
}
