//! Files that are no components, or none for this host.

use std::time::Duration;

use jackfield_test_support::assemble;
use jackfield_wasm::{MAX_COMPONENT, WasmOptions};
use serde_json::json;

use crate::support::{Bed, actor_bytes, failure, text};

/// A guest whose `describe` has this body.
fn describing(body: &str) -> String {
    format!(
        r#"(module
        (import "jackfield:extension/host@1.0.0" "call" (func $host (param i32 i32 i32 i32 i32)))
        (memory (export "memory") 32)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func $describing (result i32) {body})
        (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (call $describing))
        (func (export "jackfield:extension/guest@1.0.0#call-tool")
            (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
        (data (i32.const 512) "env") (data (i32.const 520) "{{}}") (data (i32.const 600) "tool"))"#
    )
}

#[tokio::test]
async fn what_is_no_component_is_refused_by_what_it_is() {
    let module = wat::parse_str("(module (func (export \"run\")))").expect("a module");
    let empty = wat::parse_str("(component)").expect("a component");
    for (bytes, why) in [
        (&b"#!/bin/sh\necho hello\n"[..], "not a WASM component"),
        (b"", "not a WASM component"),
        (&actor_bytes()[..actor_bytes().len() / 2], "that can be read"),
        (&module, "core WASM module"),
        (&empty, "another world: it exports nothing"),
    ] {
        let refused = Bed::of(bytes).refused().await;
        assert!(refused.contains(why) && refused.contains("guest.wasm"), "{why}: {refused}");
    }
    // A component whose insides are damaged.
    let mut damaged = actor_bytes().to_vec();
    let middle = damaged.len() / 3;
    damaged[middle..middle + 40].fill(0xff);
    let refused = Bed::of(&damaged).refused().await;
    assert!(refused.contains("extension guest"), "{refused}");
}

#[tokio::test]
async fn what_it_imports_beyond_our_world_is_named() {
    let foreign = r#"(component (import "evil:corp/backdoor@6.6.6" (instance (export "open" (func)))))"#;
    let refused = Bed::of(&wat::parse_str(foreign).expect("a component")).refused().await;
    assert!(refused.contains("evil:corp/backdoor@6.6.6"), "{refused}");
    let http = r#"(component (import "wasi:http/outgoing-handler@0.2.0" (instance)))"#;
    let refused = Bed::of(&wat::parse_str(http).expect("a component")).refused().await;
    assert!(refused.contains("wasi:http/outgoing-handler@0.2.0"), "{refused}");
    let newer = r#"(component (import "jackfield:extension/log@2.0.0" (instance)))"#;
    let refused = Bed::of(&wat::parse_str(newer).expect("a component")).refused().await;
    assert!(refused.contains("log@2.0.0") && refused.contains("speaks 1.0.0"), "{refused}");
}

#[tokio::test]
async fn a_component_of_200_mb_is_refused_before_it_is_read() {
    let bed = Bed::of(b"");
    let file = std::fs::File::create(bed.dir.path().join("guest.wasm")).expect("a file");
    file.set_len(200 * 1024 * 1024).expect("a sparse file");
    let refused = bed.refused().await;
    assert!(refused.contains(&format!("larger than the {} MB", MAX_COMPONENT / 1024 / 1024)), "{refused}");
}

#[tokio::test]
async fn describe_may_trap_spin_or_ask_and_harms_nobody() {
    let refused = Bed::text(&describing("unreachable"), "caller").refused().await;
    assert!(refused.contains("`describe`") && refused.contains("describing"), "{refused}");
    let refused = Bed::text(&describing("(loop $on (br $on)) unreachable"), "caller").refused().await;
    assert!(refused.contains("more than its 400 ms"), "{refused}");
    // A host call is refused there, and the host never hears of it.
    let asks = describing(
        "(call $host (i32.const 512) (i32.const 3) (i32.const 520) (i32.const 2) (i32.const 540))
         (if (i32.eqz (i32.load8_u (i32.const 540))) (then unreachable)) (i32.const 16)",
    );
    let bed = Bed::text(&asks, "caller");
    bed.start().await;
    assert!(bed.host.calls.lock().expect("no panic").is_empty());
    // Pointers that lead nowhere.
    let refused = Bed::text(&describing("(i32.const -64)"), "caller").refused().await;
    assert!(refused.contains("`describe`"), "{refused}");
}

#[tokio::test]
async fn ten_thousand_tools_and_odd_schemas_are_held_to_bounds() {
    // A list of 10,000 tools that are all the same record, one after the other, named by their place in a long text.
    let many = describing(
        "(local $i i32)
         (memory.fill (i32.const 65536) (i32.const 97) (i32.const 16384))
         (i32.store (i32.const 40) (i32.const 131072)) (i32.store (i32.const 44) (i32.const 10000))
         (loop $next
            (i32.store (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 44))) (i32.const 65536))
            (i32.store (i32.add (i32.const 131076) (i32.mul (local.get $i) (i32.const 44)))
                (i32.add (i32.rem_u (local.get $i) (i32.const 700)) (i32.const 1)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $next (i32.lt_u (local.get $i) (i32.const 10000))))
         (i32.const 16)",
    );
    let (_instance, contributions) = Bed::text(&many, "caller").start().await;
    assert_eq!(contributions.tools.len(), 700, "each name once");
    assert!(contributions.warnings.len() < 300, "{}", contributions.warnings.len());
    // A tool whose schema is no JSON is left out; one whose schema is no object takes any object.
    let odd = describing(
        "(i32.store (i32.const 40) (i32.const 700)) (i32.store (i32.const 44) (i32.const 1))
         (i32.store (i32.const 700) (i32.const 600)) (i32.store (i32.const 704) (i32.const 4))
         (i32.store (i32.const 728) (i32.const 600)) (i32.store (i32.const 732) (i32.const 4))
         (i32.const 16)",
    );
    let (_instance, contributions) = Bed::text(&odd, "caller").start().await;
    assert!(contributions.tools.is_empty());
    assert!(contributions.warnings[0].contains("not JSON"), "{:?}", contributions.warnings);
}

#[tokio::test]
async fn a_component_that_wants_too_much_memory_to_begin_is_refused() {
    let greedy = describing("(i32.const 16)").replace("(export \"memory\") 32", "(export \"memory\") 4096");
    let refused = Bed::text(&greedy, "caller").refused().await;
    assert!(refused.contains("memory"), "{refused}");
}

#[tokio::test]
async fn a_pure_tool_needs_no_more_than_two_functions() {
    let bed = Bed::of(&jackfield_test_support::guest("pure.wat", "pure-tool"));
    let (instance, contributions) = bed.start().await;
    assert_eq!(contributions.tools[0].name, "shout");
    assert_eq!(text(&instance, "shout", json!({"text": "hello"})).await, r#"{"TEXT":"HELLO"}"#);
    assert_eq!(instance.code().expect("told")["world"], "pure-tool");
    assert!(instance.stop(Duration::from_secs(1)).await.wanted);
}

#[tokio::test]
async fn describing_alone_gives_nothing_and_keeps_nothing() {
    let bed = Bed::with(actor_bytes(), WasmOptions::default());
    let spec = bed.spec();
    let contributions = bed.runtime.describe(spec.manifest, spec.dir).await.expect("described");
    assert_eq!(contributions.capabilities.len(), 5);
    assert!(assemble(&describing("unreachable"), "caller").len() > 100);
}

#[tokio::test]
async fn what_toolchains_import_of_wasi_is_neutral_or_denied() {
    let bed = Bed::of(&jackfield_test_support::guest("talker.wat", "talker"));
    let (instance, _) = bed.start().await;
    assert_eq!(instance.code().expect("told")["world"], "pure-tool", "WASI is no reach");
    assert_eq!(text(&instance, "environment", json!({})).await, "0", "no variable of the host");
    assert_eq!(text(&instance, "print", json!({})).await, "0");
    assert!(bed.host.said("hello from standard output"));
    let denied = failure(&instance, "socket", 20_000).await;
    assert!(denied.message.contains("wasi:sockets/tcp-create-socket@0.2.0#create-tcp-socket"), "{}", denied.message);
    assert!(denied.message.contains("denied"), "{}", denied.message);
    let ended = failure(&instance, "quit", 20_000).await;
    assert!(ended.message.contains("it ended itself"), "{}", ended.message);
    assert_eq!(text(&instance, "print", json!({})).await, "0", "a new instance");
}
