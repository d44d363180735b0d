//! The order of things in an engine, driven without real time: what a script writes to its console is the trace.

use std::path::Path;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

struct Ran {
    trace: Vec<String>,
    reason: String,
}

/// Runs a script until nothing is left to do.
fn run_script(
    name: &str,
    text: &str,
    mail: Vec<ToJs>,
    serve: impl Fn(&Sender<ToJs>, u64, &str, &Value) + 'static,
) -> Ran {
    run_as(None, name, text, mail, serve)
}

fn run_as(
    runtime: Option<&str>,
    name: &str,
    text: &str,
    mail: Vec<ToJs>,
    serve: impl Fn(&Sender<ToJs>, u64, &str, &Value) + 'static,
) -> Ran {
    let folder = tempfile::tempdir().expect("a folder");
    let entry = folder.path().canonicalize().expect("a path").join(name);
    std::fs::write(&entry, text).expect("written");
    let setup = Setup {
        root: entry.clone(),
        runtime: runtime.map(str::to_owned),
        info: json!({ "extension": "test", "entry": entry, "env": {}, "project": "/", "home": "/", "platform": "linux", "arch": "x64" }),
        entry,
        library: Library::Embedded,
        memory: 64 * 1024 * 1024,
        test_clock: true,
        artifacts: Vec::new(),
        manifest: String::new(),
    };
    let (sender, receiver) = channel();
    for message in mail {
        sender.send(message).expect("the engine reads");
    }
    let trace = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&trace);
    let out = move |message: ToHost| match message {
        ToHost::Log { message, .. } => seen.borrow_mut().push(message.lines().next().unwrap_or_default().to_owned()),
        ToHost::Reply { outcome: Err(thrown), .. } => seen.borrow_mut().push(format!("thrown: {}", thrown.message)),
        ToHost::HostCall { id, method, params, .. } => serve(&sender, id, &method, &params),
        ToHost::Contribute { .. } => seen.borrow_mut().push("registered".to_owned()),
        ToHost::Reply { id, .. } if id != START => seen.borrow_mut().push("answered".to_owned()),
        _ => {}
    };
    let guard = Arc::new(Guard::new(Duration::from_secs(20)));
    let mut reason = String::new();
    let prepared = Prepared::new(&setup.library, Arc::default()).expect("an engine");
    run(prepared, &setup, guard, receiver, Rc::new(out), |why| reason = why);
    let trace = trace.take();
    Ran { trace, reason }
}

fn nobody(_: &Sender<ToJs>, _: u64, _: &str, _: &Value) {}

/// Answers every call at once with its own parameters.
fn echo(sender: &Sender<ToJs>, id: u64, _: &str, params: &Value) {
    sender.send(ToJs::HostDone { id, outcome: Outcome::Value(params.clone()) }).expect("the engine reads");
}

#[track_caller]
fn check(text: &str, serve: impl Fn(&Sender<ToJs>, u64, &str, &Value) + Copy + 'static, expected: &[&str]) {
    for _ in 0..2 {
        let ran = run_script("entry.mjs", text, Vec::new(), serve);
        assert_eq!(ran.trace, expected);
        assert_eq!(ran.reason, "idle");
    }
}

/// The traces beside these scripts are what Node 20 wrote when it ran them.
#[test]
fn the_order_is_nodes_where_node_has_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces");
    for name in ["interleaving", "timers"] {
        let text = std::fs::read_to_string(folder.join(format!("{name}.cjs"))).expect("a script");
        let expected = std::fs::read_to_string(folder.join(format!("{name}.txt"))).expect("a trace");
        let began = Instant::now();
        for _ in 0..2 {
            let ran = run_script("entry.cjs", &text, Vec::new(), nobody);
            assert_eq!(ran.trace.join("\n"), expected.trim_end(), "{name}");
            assert_eq!(ran.reason, "idle");
        }
        // These scripts sleep for most of a second each time; the test's clock does not.
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn one_task_then_everything_that_was_promised() {
    check(
        "for (const name of ['a', 'b']) setTimeout(async () => {
           console.log(name);
           for (let i = 0; i < 3; i++) { await null; console.log(name + i); }
         }, 1);",
        nobody,
        &["a", "a0", "a1", "a2", "b", "b0", "b1", "b2"],
    );
}

#[test]
fn equal_deadlines_run_in_the_order_of_their_creation() {
    check(
        "setTimeout(() => { for (const ms of [3, 2, 1]) setTimeout(() => console.log('late ' + ms), ms); }, 2);
         setTimeout(() => console.log('4 first'), 4);
         setTimeout(() => console.log('3 first'), 3);
         setTimeout(() => console.log('3 second'), 3);",
        nobody,
        &["3 first", "3 second", "late 1", "4 first", "late 2", "late 3"],
    );
}

#[test]
fn completions_keep_their_order_and_never_enter_a_running_turn() {
    check(
        "import { op } from 'jackfield:host';
         for (const n of [1, 2, 3]) op('test', { n }).then(({ n }) => {
           console.log('done ' + n);
           Promise.resolve().then(() => console.log('then ' + n));
         });
         console.log('asked');
         for (let i = 0; i < 1e5; i++);
         await null;
         console.log('same turn');",
        echo,
        &["asked", "same turn", "done 1", "then 1", "done 2", "then 2", "done 3", "then 3"],
    );
}

#[test]
fn answers_come_in_the_order_in_which_the_host_gives_them() {
    let last_first = |sender: &Sender<ToJs>, id: u64, _: &str, params: &Value| {
        // The host answers nothing before the third call, and then the last one first.
        if params["n"] == json!(3) {
            for id in [id, id - 1, id - 2] {
                sender.send(ToJs::HostDone { id, outcome: Outcome::Value(json!(id)) }).expect("the engine reads");
            }
        }
    };
    check(
        "import { op } from 'jackfield:host';
         for (const n of [1, 2, 3]) op('test', { n }).then(() => console.log('done ' + n));",
        last_first,
        &["done 3", "done 2", "done 1"],
    );
}

#[test]
fn a_call_that_is_waited_for_puts_the_others_off() {
    check(
        "import { op, opSync } from 'jackfield:host';
         op('test', { n: 1 }).then(() => console.log('first'));
         setTimeout(() => console.log('timer'), 1);
         Promise.resolve().then(() => console.log('promise'));
         console.log('waited ' + opSync('test', { n: 2 }).n);
         op('test', { n: 3 }).then(() => console.log('third'));
         console.log('waited ' + opSync('test', { n: 4 }).n);
         console.log('end');",
        echo,
        &["waited 2", "waited 4", "end", "promise", "first", "third", "timer"],
    );
}

#[test]
fn chunks_of_a_stream_are_tasks_of_their_own() {
    let serve = |sender: &Sender<ToJs>, id: u64, _: &str, _: &Value| {
        for n in 0..3 {
            sender.send(ToJs::HostChunk { id, value: json!({ "n": n }) }).expect("the engine reads");
        }
        sender.send(ToJs::HostDone { id, outcome: Outcome::Value(json!({})) }).expect("the engine reads");
    };
    check(
        "import { stream } from 'jackfield:host';
         stream('test', {}, (kind, value) => {
           console.log(kind + (value.n ?? ''));
           setImmediate(() => console.log('immediate ' + kind + (value.n ?? '')));
           Promise.resolve().then(() => console.log('promise'));
         });",
        serve,
        &[
            "data0",
            "promise",
            "data1",
            "promise",
            "data2",
            "promise",
            "end",
            "promise",
            "immediate data0",
            "immediate data1",
            "immediate data2",
            "immediate end",
        ],
    );
}

#[test]
fn no_source_keeps_the_others_from_their_turn() {
    check(
        "import { op } from 'jackfield:host';
         let immediates = 0, calls = 0, over = false;
         const again = () => { if (!over && ++immediates < 1e4) setImmediate(again); };
         const ask = () => op('test', {}).then(() => { if (!over && ++calls < 1e4) ask(); });
         again(); ask();
         op('test', {}).then(() => setImmediate(() => {
           over = true;
           console.log(immediates < 10, calls < 10);
         }));",
        echo,
        &["true true"],
    );
}

#[test]
fn what_is_thrown_in_a_task_ends_only_that_task() {
    check(
        "setTimeout(() => { Promise.resolve().then(() => console.log('promised before')); throw new Error('timer'); }, 1);
         setTimeout(() => console.log('next timer'), 1);
         process.nextTick(() => { throw new Error('tick'); });
         process.nextTick(() => console.log('next tick'));
         queueMicrotask(() => { throw new Error('microtask'); });
         queueMicrotask(() => console.log('next microtask'));
         Promise.reject(new Error('rejected'));
         let left = 2;
         const interval = setInterval(() => { if (--left === 0) clearInterval(interval); throw new Error('interval'); }, 5);",
        nobody,
        &[
            "uncaught: tick",
            "next tick",
            "uncaught: microtask",
            "next microtask",
            "uncaught: rejected",
            "uncaught: timer",
            "promised before",
            "next timer",
            "uncaught: interval",
            "uncaught: interval",
        ],
    );
}

#[test]
fn messages_that_wait_are_served_in_order_and_the_first_reason_to_stop_counts() {
    let stop = |reason: &str| ToJs::Stop { reason: reason.to_owned() };
    let mail = vec![ToJs::Ping, stop("enough"), stop("more than enough")];
    let ran = run_script("entry.mjs", "setTimeout(() => console.log('never'), 1000);", mail, nobody);
    assert_eq!((ran.trace, ran.reason.as_str()), (Vec::new(), "enough"));
}

#[test]
fn an_engine_that_runs_out_of_time_or_memory_says_so() {
    let reason = |text: &str| run_script("entry.mjs", text, Vec::new(), nobody).reason;
    assert_eq!(reason("setTimeout(() => process.exit(3), 10);"), "the extension called process.exit(3)");
    let full = "setTimeout(() => { const all = []; for (;;) all.push({}); }, 1);";
    assert_eq!(reason(full), "interrupted: out of memory (it may use 64 MB)");
}

#[test]
fn what_a_tool_registers_is_known_before_it_answers() {
    let more = "pi.registerTool({ name: 'more', parameters: { type: 'object' }, execute() {} });";
    for body in [
        format!("execute() {{ {more} return 'x'; }}"),
        format!("execute() {{ {more} throw new Error('x'); }}"),
        format!("async execute() {{ (async () => {{ await 0; {more} }})(); return 'x'; }}"),
    ] {
        let text = format!(
            "export default (pi) => pi.registerTool({{ name: 't', parameters: {{ type: 'object' }}, {body} }});"
        );
        let call = ToJs::Tool { id: 7, call_id: "c".into(), name: "t".to_owned(), args: Arc::new(json!({})) };
        let ran = run_as(Some("jackfield:pi/runtime"), "entry.mjs", &text, vec![call], nobody);
        assert_eq!(ran.trace, ["registered", "answered"], "{body}");
    }
}
