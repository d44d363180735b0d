//! `jackfield connect pi`: pi started by hand, as ever, has the tools; and when it is undone, it has them no more.

use jackfield_test_support::{eventually, processes_mentioning};
use serde_json::json;

use super::support::{Stage, VERSIONS, calls, ended, says};

#[test]
fn a_pi_that_was_told_starts_what_it_needs() {
    for version in VERSIONS {
        let stage = Stage::new(version, &[calls(&[("who", json!({}))]), says("done"), says("without")]);
        stage.sandbox.plain("shell", &["who"], &[]);
        let connect = |more: &[&str]| {
            let mut command = stage.sandbox.command(&[&["connect", "pi", "--yes"], more].concat());
            stage.prepare(&mut command);
            let output = command.output().expect("the binary runs");
            assert_eq!(output.status.code(), Some(0), "{output:#?}");
        };
        connect(&[]);
        let file = stage.sandbox.path("agent/extensions/jackfield.ts");
        assert!(file.exists());
        let mut pi = stage.pi(&["--no-session"]);
        let ends = pi.prompt("go");
        assert_eq!(ended(&ends, "who"), ("shell", false));
        let home = stage.sandbox.home().display().to_string();
        assert!(!processes_mentioning(&home).is_empty(), "a gateway of its own");
        assert_eq!(pi.end(), 0);
        eventually("the gateway ends with pi", || processes_mentioning(&home).is_empty());

        connect(&["--undo"]);
        assert!(!file.exists() && !stage.sandbox.path("agent/extensions").exists());
        let mut pi = stage.pi(&["--no-session"]);
        pi.prompt("go");
        assert!(!stage.offered(2).contains(&"who".to_owned()));
        assert_eq!(pi.end(), 0);
    }
}

#[test]
fn a_gateway_that_was_killed_is_started_again() {
    let stage =
        Stage::new(VERSIONS[1], &[calls(&[("who", json!({}))]), says("1"), calls(&[("who", json!({}))]), says("2")]);
    stage.sandbox.plain("shell", &["who"], &[]);
    let bridge = stage.bridge().display().to_string();
    let mut pi = stage.pi(&["--no-session", "--no-extensions", "--extension", &bridge]);
    assert_eq!(ended(&pi.prompt("one"), "who"), ("shell", false));
    let serving = |pid: &u32| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&words).contains("--serve")
    };
    let home = stage.sandbox.home().display().to_string();
    let gateway = processes_mentioning(&home).into_iter().find(serving).expect("a gateway");
    let gone = rustix::process::Pid::from_raw(gateway as i32).expect("a pid");
    rustix::process::kill_process(gone, rustix::process::Signal::KILL).expect("killed");
    eventually("another takes its place", || {
        processes_mentioning(&home).iter().any(|pid| *pid != gateway && serving(pid))
    });
    assert_eq!(ended(&pi.prompt("two"), "who"), ("shell", false));
    assert_eq!(pi.end(), 0);
}
