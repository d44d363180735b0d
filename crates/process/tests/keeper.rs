//! The keeper, with this test binary in the keeper's and in the host's place.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::result_large_err, reason = "all of this is test code")]

#[path = "dialects/support.rs"]
mod support;

use std::ffi::OsString;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use jackfield_process::{Keeper, keeper_main, reap_leftovers};
use jackfield_protocol::Dialect;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::json;

use support::{Bed, eventually, lives, pid_in, tool, tool_text};

const READY: &str =
    r#"echo '{"type":"hello","name":"t"}'; echo '{"type":"register_tool","name":"x"}'; echo '{"type":"ready"}'"#;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next().as_deref().and_then(|arg| arg.to_str()) {
        Some("__keep") => {
            let status = keeper_main(args);
            std::process::exit(status)
        }
        Some("__host") => host(&args.collect::<Vec<_>>()),
        _ => {
            let trials = vec![
                trial("calls_pass_and_statuses_are_the_extension_s", statuses),
                trial("sigterm_is_for_the_extension", sigterm),
                trial("escaped_grandchildren_go_with_the_extension", escaped),
                trial("children_that_never_stand_still_are_caught", moving),
                trial("a_stopped_keeper_does_not_save_its_tree", stopped_keeper),
                trial("a_killed_keeper_takes_the_group_along", killed_keeper),
                trial("a_killed_host_leaves_nobody", killed_host),
                trial("a_host_killed_with_its_keepers_is_cleaned_up_after", killed_together),
                trial("a_keeper_explains_itself", explains),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
        }
    }
}

fn trial(name: &str, run: fn()) -> Trial {
    Trial::test(name, move || {
        run();
        Ok::<(), Failed>(())
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn kept(script: &str) -> Bed {
    let mut bed = Bed::shell(Dialect::Frames, script);
    bed.options.keeper = Some(keeper());
    bed
}

fn keeper() -> Keeper {
    Keeper { program: std::env::current_exe().expect("this binary"), args: vec!["__keep".to_owned()] }
}

#[track_caller]
fn ends(pid: u32) {
    eventually(&format!("the end of process {pid}"), || (!lives(pid)).then_some(()));
}

fn send(signal: &str, pid: u32) {
    let done = Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().expect("kill");
    assert!(done.success());
}

fn statuses() {
    block_on(async {
        let mut bed = Bed::python(
            Dialect::Frames,
            "hello('x')\nfor f in next_line():\n    if f['type'] == 'tool_call': text(f['id'], os.environ['GREETING'])\nsys.exit(3)",
        );
        bed.options.keeper = Some(keeper());
        let (instance, _) = bed.start().await;
        assert_eq!(tool_text(&instance, "x", json!({})).await, "hi");
        assert_eq!(instance.stop(Duration::from_secs(10)).await.reason, "exit status 3");
        for (end, reason) in [
            ("kill -9 $$", "signal 9 (SIGKILL)"),
            ("kill -SEGV $$", "signal 11 (SIGSEGV)"),
            ("exit 137", "exit status 137"),
        ] {
            let bed = kept(&format!("{READY}; read -r ack; read -r call; {end}"));
            let (instance, _) = bed.start().await;
            let began = Instant::now();
            let error = tool(&instance, "x", json!({})).await.expect_err("ended");
            assert!(error.message.contains(&format!("({reason})")), "{error}");
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
        }
        let error = kept("echo why >&2; exit 9").fails().await;
        assert_eq!(error.to_string(), "exited before hello (exit status 9); stderr ends: why");
    });
}

fn sigterm() {
    block_on(async {
        let bed = kept(&format!("trap 'exit 6' TERM; {READY}; while :; do sleep 0.05; done"));
        let (instance, _) = bed.start().await;
        let exit = instance.stop(Duration::from_millis(100)).await;
        assert_eq!((exit.reason.as_str(), exit.wanted), ("exit status 6", true));
    });
}

/// A grandchild in a session of its own whose parent is gone, and one that ignores SIGTERM.
const ESCAPE: &str = r#"setsid sh -c 'sh -c "trap \"\" TERM HUP; echo \$\$ > escaped; while :; do sleep 1; done" & exit' &
sh -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 1; done' &
while ! [ -s escaped ] || ! [ -s stubborn ]; do sleep 0.01; done"#;

fn escaped() {
    block_on(async {
        for way in ["stop", "drop", "exit"] {
            let bed = kept(&format!(
                "{ESCAPE}\n{READY}; read -r ack; read -r next; [ {way} = exit ] && exit 0; exec sleep 600"
            ));
            let (instance, _) = bed.start().await;
            let mut pids = vec![instance.pid().expect("a pid")];
            pids.extend(["escaped", "stubborn"].map(|name| pid_in(&bed.file(name))));
            match way {
                "stop" => assert!(instance.stop(Duration::from_millis(50)).await.wanted),
                "exit" => drop(tool(&instance, "x", json!({})).await.expect_err("exits")),
                _ => drop(instance),
            }
            pids.into_iter().for_each(ends);
        }
    });
}

/// Processes that fork and exit all the time, in sessions of their own, so that each lives for a moment only.
fn moving() {
    block_on(async {
        let mut bed = Bed::python(
            Dialect::Frames,
            r#"
for _ in range(6):
    if os.fork() == 0:
        os.setsid()
        end = time.time() + 60
        while time.time() < end:
            if os.fork(): os._exit(0)
            open("moving", "w").write("x")
            time.sleep(0.001)
        os._exit(0)
hello("x")
for f in next_line(): pass
"#,
        );
        bed.options.keeper = Some(keeper());
        let (instance, _) = bed.start().await;
        let keeper = instance.pid().expect("a pid");
        let exit = instance.stop(Duration::from_secs(5)).await;
        assert_eq!(exit.reason, "exit status 0");
        ends(keeper);
        // Whoever is left writes the file again.
        let file = bed.file("moving");
        let quiet = || {
            std::fs::remove_file(&file).ok();
            let until = Instant::now() + Duration::from_millis(300);
            while Instant::now() < until {
                if file.exists() {
                    return false;
                }
                std::thread::yield_now();
            }
            true
        };
        assert!(quiet(), "someone got away");
    });
}

fn stopped_keeper() {
    block_on(async {
        let bed = kept(&format!("echo $$ > child; {READY}; trap '' TERM; while :; do sleep 1; done"));
        let (instance, _) = bed.start().await;
        let child = pid_in(&bed.file("child"));
        let keeper = instance.pid().expect("a pid");
        send("STOP", keeper);
        instance.stop(Duration::from_millis(50)).await;
        ends(child);
        ends(keeper);
    });
}

fn killed_keeper() {
    block_on(async {
        let bed = kept(&format!("echo $$ > child; {READY}; while :; do sleep 1; done"));
        let (instance, _) = bed.start().await;
        let child = pid_in(&bed.file("child"));
        send("KILL", instance.pid().expect("a pid"));
        let exit = instance.exited().await;
        assert_eq!((exit.reason.as_str(), exit.wanted), ("signal 9 (SIGKILL)", false));
        ends(child);
    });
}

/// The host's part of the next two tests: starts the extension in a folder and waits to be killed.
fn host(args: &[OsString]) -> ExitCode {
    let dir = std::path::PathBuf::from(&args[0]);
    block_on(async {
        let mut bed = kept(&format!(
            "cd '{}'; echo $$ > child; {ESCAPE}\n{READY}; trap '' TERM; while :; do sleep 1; done",
            dir.display()
        ));
        bed.options.run_dir = Some(dir.join("notes"));
        let (instance, _) = bed.start().await;
        std::fs::write(dir.join("keeper"), instance.pid().expect("a pid").to_string()).expect("written");
        instance.exited().await;
    });
    ExitCode::SUCCESS
}

/// Starts a host; gives the pids of the host, the keeper, and what the keeper keeps.
fn with_host(dir: &std::path::Path) -> (std::process::Child, u32, Vec<u32>) {
    let this = std::env::current_exe().expect("this binary");
    let host = Command::new(this).arg("__host").arg(dir).stdin(Stdio::null()).spawn().expect("a host");
    let keeper = pid_in(&dir.join("keeper"));
    let kept = ["child", "escaped", "stubborn"].map(|name| pid_in(&dir.join(name))).to_vec();
    (host, keeper, kept)
}

fn killed_host() {
    for _ in 0..5 {
        let dir = tempfile::tempdir().expect("a folder");
        let (mut host, keeper, kept) = with_host(dir.path());
        host.kill().expect("killed");
        host.wait().expect("reaped");
        kept.into_iter().chain([keeper]).for_each(ends);
        assert_eq!(reap_leftovers(&dir.path().join("notes")), 0, "nothing was left to do");
        assert_eq!(std::fs::read_dir(dir.path().join("notes")).expect("notes").count(), 0);
    }
}

fn killed_together() {
    let dir = tempfile::tempdir().expect("a folder");
    let (mut host, keeper, kept) = with_host(dir.path());
    let _whatever_happens = KillOnDrop(kept.clone());
    // Stopped first, so that the host cannot act on its keeper's death.
    send("STOP", host.id());
    send("KILL", keeper);
    ends(keeper);
    host.kill().expect("killed");
    host.wait().expect("reaped");
    assert!(lives(kept[0]), "the child is in nobody's care");
    assert_eq!(reap_leftovers(&dir.path().join("notes")), 1);
    ends(kept[0]);
    ends(kept[2]);
    // What left the group as well cannot be told from a stranger by anyone.
    assert!(lives(kept[1]));
}

/// Ends what a failing test would leave behind.
struct KillOnDrop(Vec<u32>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        for pid in self.0.iter().filter(|pid| lives(**pid)) {
            send("KILL", *pid);
        }
    }
}

fn explains() {
    let this = std::env::current_exe().expect("this binary");
    let run = |args: &[&str]| {
        let done = Command::new(&this).arg("__keep").args(args).output().expect("run");
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let own = std::process::id().to_string();
    assert_eq!(run(&[]).0, Some(125));
    assert_eq!(run(&[&own, "sh"]).0, Some(125));
    let (code, text) = run(&["1", "--", "true"]);
    assert_eq!(code, Some(126));
    assert!(text.contains("process 1 is not the parent"), "{text}");
    let (code, text) = run(&[&own, "--", "/no/such/program"]);
    assert_eq!(code, Some(126));
    assert!(text.contains("cannot start /no/such/program"), "{text}");
    let (code, _) = run(&[&own, "--", "sh", "-c", "exit 42"]);
    assert_eq!(code, Some(42));
}
