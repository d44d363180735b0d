//! Time, memory, stack and output have limits; whoever exceeds one loses its instance, and nobody else anything.

use std::time::{Duration, Instant};

use jackfield_protocol::ErrorCode;
use jackfield_runtime::CallCx;
use jackfield_wasm::WasmOptions;
use serde_json::json;

use crate::support::{Bed, actor_bytes, failure, result, text, text_of, tool, within};

#[tokio::test]
async fn a_loop_ends_with_its_budget_and_the_next_call_is_served() {
    let (instance, _) = Bed::actor().start().await;
    text(&instance, "count", json!({})).await;
    let began = Instant::now();
    let error = failure(&instance, "spin", 20_000).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    assert_eq!(error.code, ErrorCode::Timeout);
    assert!(error.message.contains("more than its 400 ms"), "{}", error.message);
    assert!(error.message.contains("spin_for_ever"), "{}", error.message);
    assert_eq!(text(&instance, "count", json!({})).await, "1", "a new instance");
}

#[tokio::test]
async fn to_wait_for_the_host_costs_no_budget() {
    let (instance, _) = Bed::actor().start().await;
    // Whether the host lets go of the thread meanwhile or not.
    for name in ["PAUSE", "BLOCKED"] {
        let rested = result(&instance, "env", json!({ "name": name })).await;
        assert!(text_of(&rested).contains("rested"), "700 ms of waiting, 400 ms of budget: {rested:?}");
    }
}

#[tokio::test]
async fn what_is_computed_between_host_calls_counts() {
    let (instance, _) = Bed::actor().start().await;
    let error = instance.call(tool("loop", json!({ "compute": true })), within(60_000)).await.expect_err("it ends");
    assert_eq!(error.code, ErrorCode::Timeout, "{}", error.message);
    assert!(error.message.contains("more than its 400 ms"), "{}", error.message);
}

#[tokio::test]
async fn a_neighbour_is_served_while_another_computes() {
    let (busy, quick) = (Bed::actor(), Bed::actor());
    let ((busy, _), (quick, _)) = (busy.start().await, quick.start().await);
    text(&quick, "echo", json!({})).await;
    // On one thread: whoever computes for long must leave it.
    let spin = busy.call(tool("spin", json!({})), within(20_000));
    let echoes = async {
        let mut slowest = Duration::ZERO;
        for _ in 0..20 {
            let began = Instant::now();
            text(&quick, "echo", json!({})).await;
            slowest = slowest.max(began.elapsed());
        }
        slowest
    };
    let (spun, slowest) = tokio::join!(spin, echoes);
    assert!(spun.is_err());
    assert!(slowest < Duration::from_millis(200), "{slowest:?}");
}

#[tokio::test]
async fn memory_is_limited_over_all_instances_and_given_back() {
    let (instance, _) = Bed::actor().start().await;
    for _ in 0..3 {
        let error = failure(&instance, "bomb", 20_000).await;
        assert_eq!(error.code, ErrorCode::Unavailable);
        assert!(error.message.contains("refused memory beyond its 64 MB"), "{}", error.message);
        assert!(error.message.contains("take_memory"), "{}", error.message);
    }
    assert_eq!(text(&instance, "count", json!({})).await, "1");
}

#[tokio::test]
async fn two_memories_do_not_get_twice_as_much() {
    let two = r#"(module
        (memory (export "memory") 1) (memory $other 640)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "jackfield:extension/guest@1.0.0#describe") (result i32)
            (if (i32.ne (memory.grow (i32.const 640)) (i32.const -1)) (then unreachable))
            (i32.const 16))
        (func (export "jackfield:extension/guest@1.0.0#call-tool")
            (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;
    // 40 MB are in the other memory, so that another 40 are too much of 64.
    let (_instance, contributions) = Bed::text(two, "pure-tool").start().await;
    assert!(contributions.tools.is_empty());
}

#[tokio::test]
async fn recursion_and_traps_name_the_functions() {
    let (instance, _) = Bed::actor().start().await;
    let error = failure(&instance, "deep", 20_000).await;
    assert!(
        error.message.contains("stack overflowed") && error.message.contains("recurse_for_ever"),
        "{}",
        error.message
    );
    let error = failure(&instance, "trap", 20_000).await;
    assert!(error.message.contains("the_innermost < the_outer"), "{}", error.message);
    assert!(error.message.contains("extension guest"), "{}", error.message);
    assert_eq!(text(&instance, "count", json!({})).await, "1");
}

#[tokio::test]
async fn answers_and_arguments_are_bounded() {
    let (instance, _) = Bed::actor().start().await;
    for name in ["huge", "bad", "give", "random"] {
        let error = failure(&instance, name, 20_000).await;
        assert_eq!(error.code, ErrorCode::Unavailable, "{name}: {}", error.message);
        assert_eq!(text(&instance, "count", json!({})).await, "1", "after {name}");
    }
}

#[tokio::test]
async fn host_calls_without_end_are_ended() {
    let (instance, _) = Bed::actor().start().await;
    let error = failure(&instance, "loop", 60_000).await;
    let ended = error.message.contains("host calls in one call") || error.message.contains("computed for more");
    assert!(ended, "{}", error.message);
}

#[tokio::test]
async fn a_flood_of_logs_is_taken_within_bounds() {
    let bed = Bed::with(actor_bytes(), WasmOptions { budget: Duration::from_secs(60), ..WasmOptions::default() });
    let (instance, _) = bed.start().await;
    text(&instance, "logs", json!({})).await;
    let size = std::fs::metadata(bed.dir.path().join("guest.log")).expect("a log").len();
    assert!(size < 5 * 1024 * 1024, "{size}");
}

#[tokio::test]
async fn deadlines_and_cancelling_replace_the_instance() {
    let bed = Bed::actor();
    let (instance, _) = bed.start().await;
    text(&instance, "count", json!({})).await;
    let slow = || tool("env", json!({"name": "SLOW"}));
    let error = instance.call(slow(), within(50)).await.expect_err("too late");
    assert_eq!(error.code, ErrorCode::Timeout);
    let cx = within(20_000);
    let cancel = cx.cancel.clone();
    let (outcome, ()) = tokio::join!(instance.call(slow(), cx), async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        cancel.cancel();
    });
    assert_eq!(outcome.expect_err("given up").code, ErrorCode::Cancelled);
    let calls = bed.host.calls.lock().expect("no panic").clone();
    assert!(calls.iter().all(|(_, cx)| cx.cancel.is_cancelled()), "its host calls are given up too");
    // A call that computes is heard, too.
    let cx = CallCx::within(Duration::from_millis(60));
    let error = instance.call(tool("spin", json!({})), cx).await.expect_err("too late");
    assert_eq!(error.code, ErrorCode::Timeout);
    assert_eq!(text(&instance, "count", json!({})).await, "1");
}
