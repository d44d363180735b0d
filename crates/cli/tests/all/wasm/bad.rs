//! What bad input gets: one clear error each, and nobody else is harmed.

use std::fs;
use std::time::{Duration, Instant};

use jackfield_test_support::{Sandbox, assemble};
use serde_json::json;

use super::support::{actor, fails, pure, put, row, sandbox};

/// A component that does not start: its call fails in words, `check` says the same, and the others work.
#[track_caller]
fn refused(bytes: &[u8], why: &str) {
    let sandbox = sandbox();
    let file = put(&sandbox, "bad", bytes);
    let began = Instant::now();
    let checked = sandbox.run(&["check", file.to_str().expect("UTF-8")]);
    assert_ne!(checked.code, 0, "{checked:#?}");
    assert!(format!("{}{}", checked.stdout, checked.stderr).contains(why), "{why}: {checked:#?}");
    let mut host = sandbox.rpc(&[]);
    fails(&mut host, "ext_bad_anything", "unavailable", &["bad"]);
    let state = host.ask(json!({ "type": "list" })).to_string();
    assert!(state.contains("bad"), "{state}");
    let inspected = sandbox.run(&["inspect", file.to_str().expect("UTF-8")]);
    assert!(inspected.stderr.contains(why), "{why}: {inspected:#?}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn not_a_component() {
    refused(b"#!/bin/sh\necho hello\n", "not a WASM component");
}

#[test]
fn a_core_module() {
    refused(b"\0asm\x01\0\0\0", "core WASM module");
}

#[test]
fn a_component_for_another_world() {
    refused(b"\0asm\x0d\0\x01\0", "another world");
}

#[test]
fn half_a_component() {
    refused(&actor()[..actor().len() / 2], "that can be read");
}

#[test]
fn an_import_that_nobody_offers() {
    // The name of an import of ours, changed to another of the same length.
    let mut bytes = actor().to_vec();
    let (old, new) = (b"jackfield:extension/storage@1.0.0", b"jackfield:extension/rootkit@1.0.0");
    let places: Vec<usize> = (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    assert!(!places.is_empty());
    places.iter().for_each(|at| bytes[*at..at + new.len()].copy_from_slice(new));
    refused(&bytes, "jackfield:extension/rootkit@1.0.0");
}

#[test]
fn an_export_that_is_missing() {
    let mut bytes = actor().to_vec();
    let (old, new) = (b"jackfield:extension/guest@1.0.0", b"jackfield:extension/ghost@1.0.0");
    let places: Vec<usize> = (0..bytes.len() - old.len()).filter(|at| bytes[*at..].starts_with(old)).collect();
    places.iter().for_each(|at| bytes[*at..at + new.len()].copy_from_slice(new));
    refused(&bytes, "jackfield:extension/ghost@1.0.0");
}

#[test]
fn two_hundred_megabytes() {
    let sandbox = sandbox();
    let file = put(&sandbox, "bad", b"");
    fs::File::create(&file).and_then(|file| file.set_len(200 << 20)).expect("a sparse file");
    let checked = sandbox.run(&["check", file.to_str().expect("UTF-8")]).exits(7);
    assert!(checked.stdout.contains("larger than the 64 MB"), "{checked:#?}");
    let mut host = sandbox.rpc(&[]);
    fails(&mut host, "ext_bad_anything", "unavailable", &["bad"]);
}

/// A pure tool whose `describe` has this body.
fn describing(body: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func $describing (result i32) {body})
        (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (call $describing))
        (func (export "jackfield:extension/guest@1.0.0#call-tool")
            (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#
    );
    assemble(&text, "pure-tool")
}

#[test]
fn traps_in_describe() {
    refused(&describing("unreachable"), "describing");
}

#[test]
fn a_describe_without_end() {
    let sandbox = sandbox();
    let file = put(&sandbox, "bad", &describing("(loop $on (br $on)) unreachable"));
    let inspected = sandbox.run(&["inspect", file.to_str().expect("UTF-8")]);
    assert!(inspected.stderr.contains("more than its 500 ms"), "{inspected:#?}");
    let listed = sandbox.run(&["tools"]).exits(0);
    assert!(listed.stdout.contains("bystander"), "{listed:#?}");
}

#[test]
fn loops_recursion_and_bombs() {
    let sandbox = sandbox();
    put(&sandbox, "actor", actor());
    let mut host = sandbox.rpc(&[]);
    fails(&mut host, "ext_actor_spin", "timeout", &["more than its 500 ms", "spin_for_ever"]);
    fails(&mut host, "ext_actor_deep", "unavailable", &["stack overflowed", "recurse_for_ever"]);
    assert_eq!(host.text("ext_actor_count", json!({})), "1");
    fails(&mut host, "ext_actor_bomb", "unavailable", &["refused memory", "take_memory"]);
    fails(&mut host, "ext_actor_trap", "unavailable", &["the_innermost < the_outer", "actor"]);
    assert_eq!(host.text("ext_actor_count", json!({})), "1");
}

#[test]
fn host_calls_without_end_and_arguments_without_measure() {
    let sandbox = sandbox();
    put(&sandbox, "actor", actor());
    let mut host = sandbox.rpc(&[]);
    fails(&mut host, "ext_actor_give", "unavailable", &["actor"]);
    fails(&mut host, "ext_actor_huge", "unavailable", &["actor"]);
    fails(&mut host, "ext_actor_bad", "unavailable", &["actor"]);
    assert_eq!(host.text("ext_actor_count", json!({})), "1");
    let request = json!({ "type": "call_tool", "tool": "ext_actor_loop", "args": {}, "timeout_ms": 1500 });
    let began = Instant::now();
    let response = host.ask(request);
    assert_eq!(response["success"], json!(false), "{response:#}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(host.text("ext_other_bystander", json!({})), "other");
}

#[test]
fn a_registration_with_ten_thousand_tools() {
    let many = r#"(module (memory (export "memory") 32)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
        (func (export "jackfield:extension/guest@1.0.0#describe") (result i32) (local $i i32) (local $at i32)
            (i32.store (i32.const 40) (i32.const 131072)) (i32.store (i32.const 44) (i32.const 10000))
            (loop $next
                (local.set $at (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 44))))
                ;; A name of five digits, each of its own.
                (i32.store (local.get $at) (i32.add (i32.const 65536) (i32.mul (local.get $i) (i32.const 5))))
                (i32.store (i32.add (local.get $at) (i32.const 4)) (i32.const 5))
                (call $digits (local.get $i) (i32.load (local.get $at)))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $next (i32.lt_u (local.get $i) (i32.const 10000))))
            (i32.const 16))
        (func $digits (param $n i32) (param $at i32) (local $k i32)
            (local.set $k (i32.const 4))
            (loop $next
                (i32.store8 (i32.add (local.get $at) (local.get $k))
                    (i32.add (i32.const 97) (i32.rem_u (local.get $n) (i32.const 10))))
                (local.set $n (i32.div_u (local.get $n) (i32.const 10)))
                (local.set $k (i32.sub (local.get $k) (i32.const 1)))
                (br_if $next (i32.ge_s (local.get $k) (i32.const 0)))))
        (func (export "jackfield:extension/guest@1.0.0#call-tool")
            (param i32 i32 i32 i32 f64 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;
    let sandbox = sandbox();
    let file = put(&sandbox, "many", &assemble(many, "pure-tool"));
    let (code, shown) = sandbox.json(&["inspect", file.to_str().expect("UTF-8")]);
    assert_eq!(code, 0);
    assert_eq!(shown["tools"].as_array().map(Vec::len), Some(1000), "as many as an extension may have");
    assert!(shown["diagnostics"].to_string().contains("an extension may have 1000 tools"));
    assert!(sandbox.run(&["tools"]).exits(0).stdout.contains("bystander"));
}

#[test]
fn a_damaged_or_swapped_cache() {
    let sandbox = sandbox();
    put(&sandbox, "loud", pure());
    let call = |sandbox: &Sandbox| {
        let said = sandbox.run(&["call", "shout", "text=x"]).exits(0);
        assert!(said.stdout.contains("\"TEXT\":\"X\""), "{said:#?}");
    };
    call(&sandbox);
    let code = sandbox.home().join("code");
    let entries = || {
        let all = fs::read_dir(&code).expect("a folder").flatten().map(|entry| entry.path());
        all.filter(|path| path.is_file() && path.file_name().is_some_and(|name| name != "key")).collect::<Vec<_>>()
    };
    let [entry] = entries().try_into().expect("one entry");
    let good = fs::read(&entry).expect("there");
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle..].fill(0xcc);
    for damaged in [bad, Vec::new(), b"nonsense".to_vec()] {
        fs::write(&entry, &damaged).expect("written");
        call(&sandbox);
        assert_eq!(fs::read(&entry).expect("there").len(), good.len(), "made anew");
    }
    // Another component's code under its name.
    put(&sandbox, "actor", actor());
    sandbox.run(&["call", "ext_actor_count"]).exits(0);
    let other = entries().into_iter().find(|path| *path != entry).expect("the other's");
    fs::copy(&other, &entry).expect("swapped");
    call(&sandbox);
}

#[test]
fn two_hosts_share_a_cache() {
    let sandbox = sandbox();
    put(&sandbox, "actor", actor());
    let hosts: Vec<_> = (0..3).map(|_| sandbox.rpc(&[])).collect();
    let ask =
        |mut host: jackfield_test_support::Rpc| std::thread::spawn(move || host.text("ext_actor_count", json!({})));
    for said in hosts.into_iter().map(ask).collect::<Vec<_>>() {
        assert_eq!(said.join().expect("no panic"), "1");
    }
    assert_eq!(row(&sandbox, &[], "actor")["runtime"], "wasm");
}
