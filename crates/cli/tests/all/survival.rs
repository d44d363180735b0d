//! What is left when a host goes, however it goes: no process of an extension, a ledger that verifies, and evidence of
//! every answer that was given. Also what a host does that may not write its evidence.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant, SystemTime};

use jackfield_test_support::{PATIENCE, Rpc, Sandbox, eventually, is_alive};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const KILLS: usize = 50;
/// Calls under way at the same time.
const TOGETHER: usize = 6;

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_jackfield"))
}

#[track_caller]
fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("signalled");
}

#[track_caller]
fn nothing_is_left(sandbox: &Sandbox) {
    eventually("no process of an extension is left", || sandbox.processes().is_empty());
}

#[track_caller]
fn ledger_verifies(sandbox: &Sandbox) -> Value {
    let (code, report) = sandbox.json(&["ledger", "verify"]);
    assert_eq!((code, &report["ok"], &report["problems"]), (0, &json!(true), &json!([])), "{report:#}");
    report
}

/// The calls whose end the ledger holds.
fn ended_calls(sandbox: &Sandbox) -> HashSet<String> {
    let mut ended = HashSet::new();
    for entry in fs::read_dir(sandbox.home().join("ledger")).expect("a ledger").flatten() {
        let text = fs::read(entry.path()).expect("a segment");
        let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
        for record in lines.filter(|record| record["event"] == "tool_call.end") {
            ended.insert(record["correlation"]["tool_call_id"].as_str().expect("an id").to_owned());
        }
    }
    ended
}

/// Small, quick and the same for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Says the seed if the test fails.
struct Seed(u64);

impl Seed {
    fn new() -> Self {
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_micros() as u64;
        Self(std::env::var("JACKFIELD_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(now) | 1)
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("run it again with JACKFIELD_TEST_SEED={}", self.0);
        }
    }
}

/// Calls tools without a pause until `until`, and gives the ids of the calls that were answered.
fn keep_calling(host: &mut Rpc, until: Instant, dice: &mut Dice, answered: &mut Vec<String>) {
    while let Some(line) = host.next_line(until.saturating_duration_since(Instant::now())) {
        if note_answer(&line, answered) && Instant::now() < until {
            fire(host, dice);
        }
    }
}

fn fire(host: &mut Rpc, dice: &mut Dice) {
    let tool = ["ext_plain_echo", "ext_stubborn_echo", "ext_parent_echo", "ext_plain_fail"][dice.below(4) as usize];
    host.send(json!({ "type": "call_tool", "tool": tool, "args": { "text": "x".repeat(dice.below(2000) as usize) } }));
}

/// Whether the line answers a call.
fn note_answer(line: &Value, answered: &mut Vec<String>) -> bool {
    if line["type"] != "response" {
        return false;
    }
    assert_eq!(line["success"], json!(true), "{line:#}");
    answered.push(line["data"]["call_id"].as_str().expect("an id").to_owned());
    true
}

#[test]
fn a_host_killed_at_any_moment_leaves_no_process_and_has_recorded_every_answer() {
    let sandbox = sandbox();
    sandbox.misbehave_native("plain", "ok", 500);
    sandbox.misbehave_native("stubborn", "ignore_shutdown", 500);
    sandbox.misbehave_native("parent", "ignore_shutdown,fork_bomb:3", 500);
    // From here on the catalogue knows them, and nothing but calls starts them.
    sandbox.run(&["tools"]).exits(0);
    nothing_is_left(&sandbox);
    let seed = Seed::new();
    let mut dice = Dice(seed.0);
    let mut answered = Vec::new();
    for round in 0..KILLS {
        let mut host = sandbox.rpc(&[]);
        (0..TOGETHER).for_each(|_| fire(&mut host, &mut dice));
        if round % 5 == 0 {
            // While it opens, finds and starts them.
            let until = Instant::now() + Duration::from_millis(dice.below(200));
            keep_calling(&mut host, until, &mut dice, &mut answered);
        } else {
            let first = host.wait_for("an answer", |line| line["type"] == "response");
            note_answer(&first, &mut answered);
            fire(&mut host, &mut dice);
            let until = Instant::now() + Duration::from_millis(dice.below(80));
            keep_calling(&mut host, until, &mut dice, &mut answered);
        }
        host.kill();
        // What stands in the pipe has been answered too.
        while let Some(line) = host.next_line(PATIENCE) {
            note_answer(&line, &mut answered);
        }
        nothing_is_left(&sandbox);
        ledger_verifies(&sandbox);
    }
    let ended = ended_calls(&sandbox);
    let missing: Vec<&String> = answered.iter().filter(|call| !ended.contains(*call)).collect();
    assert!(missing.is_empty(), "answered without evidence: {missing:?}");
    assert!(answered.len() > KILLS, "only {} calls were answered", answered.len());
    // Whatever the kills left is accounted for by whoever writes next.
    sandbox.run(&["call", "ext_plain_echo", "text=after"]).exits(0);
    assert_eq!(ledger_verifies(&sandbox)["torn_tail_bytes"], json!(null));
}

#[derive(Debug, Clone, Copy)]
enum Goodbye {
    EndOfInput,
    Terminate,
    Interrupt,
    Request,
}

#[track_caller]
fn check_graceful(goodbye: Goodbye) {
    let sandbox = sandbox();
    sandbox.misbehave_native("plain", "ok", 5_000);
    sandbox.misbehave_native("stubborn", "ignore_shutdown,fork_bomb:2", 100);
    let mut host = sandbox.rpc(&[]);
    let started = host.text("ext_plain_pid", json!({}));
    host.text("ext_stubborn_pid", json!({}));
    // A call under way does not hold the host back.
    host.send(json!({ "type": "call_tool", "tool": "ext_plain_hang" }));
    host.ask(json!({ "type": "ping" }));
    let begun = Instant::now();
    let code = match goodbye {
        Goodbye::EndOfInput => host.close(),
        Goodbye::Terminate | Goodbye::Interrupt => {
            signal(host.pid(), if matches!(goodbye, Goodbye::Terminate) { Signal::TERM } else { Signal::INT });
            host.exit()
        }
        Goodbye::Request => {
            host.send(json!({ "type": "shutdown" }));
            host.exit()
        }
    };
    let took = begun.elapsed();
    assert_eq!(code, 0, "{goodbye:?}");
    assert_eq!(sandbox.processes(), [] as [u32; 0], "{goodbye:?}: gone before the host is");
    assert!(took < Duration::from_secs(10), "{goodbye:?}: the stubborn one held the host back for {took:?}");
    let log = |name: &str| fs::read_to_string(sandbox.home().join(format!("logs/ext-{name}.log"))).expect("a log");
    assert!(log("plain").contains("[jackfield] ended: exit status 0"), "{goodbye:?}, {started}: {}", log("plain"));
    assert!(!log("stubborn").contains("ended: exit status 0"), "{goodbye:?}: {}", log("stubborn"));
    ledger_verifies(&sandbox);
}

#[test]
fn a_host_that_is_asked_to_go_says_goodbye_and_takes_everybody_along() {
    for goodbye in [Goodbye::EndOfInput, Goodbye::Terminate, Goodbye::Interrupt, Goodbye::Request] {
        check_graceful(goodbye);
    }
}

#[test]
fn a_host_goes_at_once_although_an_extension_is_still_starting() {
    let sandbox = sandbox();
    sandbox.misbehave_native("silent", "silent", 100);
    let mut host = sandbox.rpc(&[]);
    host.send(json!({ "type": "call_tool", "tool": "ext_silent_echo" }));
    eventually("it is starting", || !sandbox.processes().is_empty());
    let begun = Instant::now();
    assert_eq!(host.close(), 0);
    // Its handshake has ten seconds.
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
    nothing_is_left(&sandbox);
}

#[test]
fn the_next_start_ends_what_a_host_and_its_keepers_left_behind() {
    let sandbox = sandbox();
    sandbox.misbehave_native("stubborn", "ignore_shutdown,fork_bomb:2", 100);
    let mut host = sandbox.rpc(&[]);
    let extension: u32 = host.text("ext_stubborn_pid", json!({})).parse().expect("a pid");
    let grandchildren: Vec<u32> = serde_json::from_str(&host.text("ext_stubborn_pids", json!({}))).expect("pids");
    let keeper = parent_of(extension);
    assert_eq!(parent_of(keeper), host.pid(), "a keeper stands between");
    // Stopped, so that it cannot clean up after its keeper.
    signal(host.pid(), Signal::STOP);
    eventually("the host stands still", || threads_are_stopped(host.pid()));
    signal(keeper, Signal::KILL);
    host.kill();
    let orphans: Vec<u32> = std::iter::once(extension).chain(grandchildren).collect();
    assert!(orphans.iter().all(|pid| is_alive(*pid)), "{orphans:?} should be orphans now");
    sandbox.run(&["list"]).exits(0);
    eventually("the orphans are gone", || !orphans.iter().any(|pid| is_alive(*pid)));
    nothing_is_left(&sandbox);
    // Nor does it end what a living host runs.
    let mut host = sandbox.rpc(&[]);
    let extension: u32 = host.text("ext_stubborn_pid", json!({})).parse().expect("a pid");
    sandbox.run(&["list"]).exits(0);
    assert_eq!(host.text("ext_stubborn_pid", json!({})), extension.to_string());
    assert_eq!(host.close(), 0);
}

#[test]
fn a_keeper_that_is_killed_takes_all_that_it_kept_along() {
    let sandbox = sandbox();
    sandbox.misbehave_native("stubborn", "ignore_shutdown,fork_bomb:4", 100);
    let mut host = sandbox.rpc(&[]);
    let extension: u32 = host.text("ext_stubborn_pid", json!({})).parse().expect("a pid");
    let mut orphans: Vec<u32> = serde_json::from_str(&host.text("ext_stubborn_pids", json!({}))).expect("pids");
    orphans.push(extension);
    signal(parent_of(extension), Signal::KILL);
    eventually("the orphans are gone", || !orphans.iter().any(|pid| is_alive(*pid)));
    let again = host.text("ext_stubborn_pid", json!({}));
    assert_ne!(again, extension.to_string());
    assert_eq!(host.close(), 0);
    nothing_is_left(&sandbox);
}

fn threads_are_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).expect("threads");
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.starts_with('T'))
    })
}

fn parent_of(pid: u32) -> u32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let (_, fields) = stat.rsplit_once(") ").expect("fields");
    fields.split(' ').nth(1).and_then(|parent| parent.parse().ok()).expect("a parent")
}

#[test]
fn nothing_runs_without_a_ledger() {
    let sandbox = sandbox();
    sandbox.misbehave_native("plain", "ok", 100);
    sandbox.write(&sandbox.home().join("ledger"), "not a folder");
    for verb in [&["call", "ext_plain_echo"][..], &["tools"], &["rpc"], &["run", "echo"]] {
        let output = sandbox.run(verb);
        assert_ne!(output.code, 0, "{verb:?}: {output:#?}");
        assert!(output.stderr.contains("ledger"), "{verb:?}: {output:#?}");
        assert_eq!(output.stdout, "", "{verb:?}");
    }
    assert!(!sandbox.home().join("logs/ext-plain.log").exists(), "it was started");
    assert_eq!(sandbox.processes(), [] as [u32; 0]);
}

#[test]
fn a_ledger_that_fails_later_stops_the_next_call() {
    let sandbox = sandbox();
    sandbox.misbehave_native("plain", "ok", 100);
    let mut host = sandbox.rpc(&[]);
    host.text("ext_plain_echo", json!({ "text": "before" }));
    fs::remove_dir_all(sandbox.home().join("ledger")).expect("removed");
    fs::write(sandbox.home().join("ledger"), "not a folder").expect("written");
    let response = host.call("ext_plain_echo", json!({ "text": "after" }));
    assert_eq!((&response["success"], &response["error"]["code"]), (&json!(false), &json!("io")), "{response:#}");
    let message = response["error"]["message"].as_str().expect("a message");
    assert!(message.contains("nothing runs without evidence") && message.contains("ledger"), "{message}");
    assert_eq!(host.close(), 0);
}
