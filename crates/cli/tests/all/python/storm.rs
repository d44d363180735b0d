//! Many saves in a short time while calls run.

use std::time::{Duration, Instant};

use jackfield_test_support::{eventually, rounds};
use serde_json::json;

use super::support::{resident_kb, sandbox, save, text, tool, workers};

/// A thousand in a minute, when there is time.
fn saves() -> u64 {
    rounds(200, 1000) as u64
}
const PAUSE: Duration = Duration::from_millis(60);
/// By then everything that is needed once is there; what grows from here on grows without end.
const SETTLED: u64 = 80;
/// What the host may have more at the end, in kB. The versions since then would take more, if the host kept them.
const MOST_GROWTH: u64 = 4 * 1024;

fn version(number: u64) -> String {
    format!("FIRST = {number}\ndef run():\n    return [FIRST, {number}]\n")
}

#[test]
fn no_call_is_lost_or_answered_by_a_mixture_and_nothing_grows() {
    let saves = saves();
    let sandbox = sandbox();
    sandbox.write(&sandbox.home().join("extensions.yaml"), "extensions: {watch: {enabled: true, debounce_ms: 20}}\n");
    let file = tool(&sandbox, "number", &version(0));
    let mut rpc = sandbox.rpc(&["--watch"]);
    assert_eq!(rpc.text("number", json!({})), "[0, 0]");
    let saving = std::thread::spawn({
        let file = file.clone();
        move || {
            for number in 1..=saves {
                save(&file, &version(number));
                std::thread::sleep(PAUSE);
            }
        }
    });
    let (mut calls, mut newest, mut settled) = (0, 0, None);
    let began = Instant::now();
    while !saving.is_finished() {
        assert!(began.elapsed() < Duration::from_secs(240), "the saves end");
        let ids: Vec<String> =
            (0..8).map(|_| rpc.send(json!({ "type": "call_tool", "tool": "number", "args": {} }))).collect();
        for id in ids {
            let answer = rpc.response(&id);
            let pair: Vec<u64> = serde_json::from_str(text(&answer["data"])).unwrap_or_else(|_| panic!("{answer:#}"));
            assert_eq!(pair[0], pair[1], "answered by a mixture");
            newest = newest.max(pair[0]);
            calls += 1;
        }
        if settled.is_none() && newest >= SETTLED {
            settled = Some(resident_kb(rpc.pid()));
        }
    }
    saving.join().expect("all are saved");
    assert!(calls > 50 && newest > 3, "{calls} calls came to version {newest}");
    let last = format!("[{saves}, {saves}]");
    eventually("the last save is live", || rpc.text("number", json!({})) == last);
    eventually("one process is left", || workers(&sandbox).len() == 1);
    let (settled, end) = (settled.expect("it came that far"), resident_kb(rpc.pid()));
    assert!(
        end <= settled + MOST_GROWTH,
        "the host had {settled} kB after {SETTLED} saves and has {end} kB after {saves}"
    );
    let worker = workers(&sandbox).first().map_or(0, |pid| resident_kb(*pid));
    assert!((1..64 * 1024).contains(&worker), "the worker has {worker} kB");
    println!(
        "storm: {calls} calls; the host {settled} kB after {SETTLED} saves, {end} kB after {saves}; the worker {worker} kB"
    );
}
