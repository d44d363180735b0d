mod damage;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use jackfield_protocol::LogRecord;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::*;

fn ids() -> RunIds {
    RunIds { run_id: "run-1".into(), session_id: "sess-1".into() }
}

fn open(dir: &Path) -> Ledger {
    Ledger::open(dir, ids(), Secrets::of(vec!["hunter2hunter2".into()])).expect("the ledger opens")
}

fn small(dir: &Path, limit: u64) -> Ledger {
    Ledger::open_with(dir, ids(), Secrets::default(), limit).expect("the ledger opens")
}

fn begin<'a>(call_id: &'a str, params: &'a Value) -> Begin<'a> {
    Begin {
        kind: Kind::ToolCall,
        call_id,
        extension: "weather",
        name: "forecast",
        capability: None,
        params,
        timeout_ms: None,
        caller: Some("agent"),
        parent: None,
    }
}

fn note(ledger: &Ledger, message: &str) {
    ledger.note("test.note", Level::Info, message, Correlation::default(), Map::new()).expect("written");
}

/// A ledger of `count` notes.
fn notes(dir: &Path, count: usize) -> Ledger {
    let ledger = open(dir);
    for n in 0..count {
        note(&ledger, &format!("note {n}"));
    }
    ledger
}

fn all(dir: &Path) -> Vec<Value> {
    read(dir, Filter::default()).expect("readable")
}

#[track_caller]
fn assert_ok(dir: &Path, records: u64) -> VerifyReport {
    let report = verify(dir);
    assert!(report.ok, "{report:#?}");
    assert_eq!(report.records, records);
    report
}

#[track_caller]
fn assert_broken(dir: &Path, message: &str) {
    let report = verify(dir);
    assert!(!report.ok, "{report:#?}");
    assert!(report.problems.iter().any(|problem| problem.message.contains(message)), "{report:#?}");
}

/// Puts the lines of a segment together anew.
fn rewrite(dir: &Path, number: u64, change: impl Fn(&mut Vec<String>)) {
    let path = segments::path(dir, number);
    let text = fs::read_to_string(&path).expect("readable");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    fs::write(&path, text).expect("written");
}

#[test]
fn a_call_leaves_its_start_and_its_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("home/ledger");
    let ledger = open(&dir);
    let params = json!({"b": 1, "a": [true, null]});
    let entry = ledger
        .begin(Begin {
            kind: Kind::HostCall,
            call_id: "host-1",
            extension: "weather",
            name: "http",
            capability: Some(Power::Http),
            params: &params,
            timeout_ms: Some(2500),
            caller: None,
            parent: Some("tool-7"),
        })
        .expect("begun");
    assert_eq!(verify(&dir).open_calls, ["host-1"]);
    entry.end(Outcome::failed("denied", "token=abc123 was sent, and hunter2hunter2")).expect("ended");

    let report = assert_ok(&dir, 2);
    assert_eq!(report.open_calls, Vec::<String>::new());
    let mut records = all(&dir);
    assert_eq!(report.head, records[1]["chain"]["hash"]);
    for record in &mut records {
        serde_json::from_value::<LogRecord>(record.clone()).expect("a record of pi.ext.log.v1");
        let ts = record["ts"].as_str().expect("a time").to_owned();
        assert!(ts.len() == 24 && ts.ends_with('Z') && ts.parse::<jiff::Timestamp>().is_ok(), "{ts}");
        let record = record.as_object_mut().expect("an object");
        record.remove("ts");
        record.remove("chain");
    }
    assert!(records[1]["data"]["duration_ms"].is_u64());
    records[1]["data"]["duration_ms"] = json!(0);
    records[1]["data"]["duration_us"] = json!(0);
    let hash = params_hash("http", &params);
    let correlation = json!({"extension_id": "weather", "scenario_id": "runtime", "session_id": "sess-1",
        "run_id": "run-1", "host_call_id": "host-1", "trace_id": "tool-7"});
    let source = json!({"component": "runtime", "pid": std::process::id()});
    let expected = [
        json!({"schema": "pi.ext.log.v1", "level": "info", "event": "host_call.start", "message": "host call started",
            "correlation": correlation, "source": source,
            "data": {"params_hash": hash, "method": "http", "capability": "http", "timeout_ms": 2500}}),
        json!({"schema": "pi.ext.log.v1", "level": "warn", "event": "host_call.end", "message": "host call failed",
            "correlation": correlation, "source": source,
            "data": {"params_hash": hash, "method": "http", "capability": "http", "timeout_ms": 2500,
                "duration_ms": 0, "duration_us": 0, "is_error": true,
                "error": {"code": "denied", "message": "token=[REDACTED] was sent, and [REDACTED]"}}}),
    ];
    assert_eq!(records, expected);
    let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("ledger-000001.jsonl")), 0o600);
}

#[test]
fn every_kind_has_its_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = open(folder.path());
    for kind in Kind::ALL {
        let entry = ledger.begin(Begin { kind, ..begin("id", &Value::Null) }).expect("begun");
        entry.end(Outcome::ok(3)).expect("ended");
    }
    let seen: Vec<(Value, bool)> = all(folder.path())
        .into_iter()
        .map(|record| {
            let event = record["event"].as_str().expect("a name");
            let id = match event.split('.').next().expect("a kind") {
                "event_hook" | "channel_message" => "event_id".to_owned(),
                "relay" => "tool_call_id".to_owned(),
                kind => format!("{kind}_id"),
            };
            (record["event"].clone(), record["correlation"][id] == "id")
        })
        .collect();
    let expected: Vec<(Value, bool)> = Kind::ALL
        .iter()
        .flat_map(|kind| ["start", "end"].map(|phase| (json!(format!("{}.{phase}", kind.as_str())), true)))
        .collect();
    assert_eq!(seen, expected);
}

#[test]
fn parameters_are_hashed_in_canonical_form() {
    // The digest of {"method":"tool","params":{"a":"é","b":[2,1]}} as sha256sum gives it.
    let expected = Sha256::digest("{\"method\":\"tool\",\"params\":{\"a\":\"é\",\"b\":[2,1]}}".as_bytes());
    let expected: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(params_hash("tool", &json!({"b": [2, 1], "a": "é"})), expected);
    assert_ne!(params_hash("tool", &json!({"b": [1, 2], "a": "é"})), expected);
    assert_ne!(params_hash("exec", &json!({"b": [2, 1], "a": "é"})), expected);
}

#[test]
fn a_dropped_entry_is_abandoned() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = open(folder.path());
    drop(ledger.begin(begin("t1", &Value::Null)).expect("begun"));
    let records = all(folder.path());
    assert_eq!(records[1]["event"], "tool_call.end");
    assert_eq!(records[1]["data"]["error"]["code"], "abandoned");
    assert_eq!(records.len(), 2);
    assert_ok(folder.path(), 2);
    fn usable_across_await<T: Send + Sync + 'static>() {}
    usable_across_await::<Entry>();
    usable_across_await::<Ledger>();
}

#[test]
fn secrets_and_floods_do_not_reach_the_ledger() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = open(folder.path());
    let data = Map::from_iter([
        ("password".to_owned(), json!("p4ss-w0rd-plain")),
        ("text".to_owned(), json!("see hunter2hunter2")),
    ]);
    let correlation = Correlation { extension_id: "ghp_0123456789abcdef".into(), ..Correlation::default() };
    ledger.note("x", Level::Error, "Bearer abcdef123456789", correlation, data).expect("written");
    let params = json!({"q": "raw-parameter"});
    let long = "x".repeat(1_000_000);
    let entry = ledger.begin(Begin { name: &long, extension: "sk-abcdefghijklmnop", ..begin(&long, &params) });
    entry.expect("begun").end(Outcome::failed(&long, &long)).expect("ended");
    let flood = Map::from_iter([("flood".to_owned(), json!(long))]);
    ledger.note("x", Level::Info, "\u{1b}[31m\n\"", Correlation::default(), flood).expect("written");

    let text = fs::read_to_string(segments::path(folder.path(), 1)).expect("text");
    for secret in ["p4ss-w0rd", "hunter2", "ghp_0123", "abcdef1234", "raw-parameter", "sk-abcdef", "\u{1b}"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert!(text.len() < 16 * 1024, "{} bytes", text.len());
    assert_eq!(text.lines().count(), 4);
    assert_eq!(all(folder.path())[3]["data"]["omitted_bytes"], 1_000_012);
    assert_ok(folder.path(), 4);
}

#[test]
fn segments_follow_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["ledger-000000.jsonl", "ledger-18446744073709551615.jsonl", "ledger-+00001.jsonl", "other.jsonl"] {
        fs::write(folder.path().join(name), "not ours").expect("written");
    }
    let ledger = small(folder.path(), 2_000);
    for n in 0..30 {
        note(&ledger, &format!("note {n}"));
    }
    let numbers = segments::list(folder.path()).expect("listed");
    assert!(numbers.len() > 3, "{numbers:?}");
    assert_eq!(assert_ok(folder.path(), 30).segments, numbers.len());
    let messages = |filter| -> Vec<String> {
        let records = read(folder.path(), filter).expect("readable");
        records.iter().map(|record| record["message"].as_str().expect("text").to_owned()).collect()
    };
    let expected: Vec<String> = (0..30).map(|n| format!("note {n}")).collect();
    assert_eq!(messages(Filter::default()), expected);
    assert_eq!(messages(Filter { last: Some(12), ..Filter::default() }), expected[18..]);
    assert_eq!(messages(Filter { last: Some(99), ..Filter::default() }), expected);
    // Another instance goes on where this one stopped, and this one where that did, over a change of segment.
    let other = small(folder.path(), 2_000);
    for n in 0..10 {
        note(if n % 2 == 0 { &other } else { &ledger }, "both");
    }
    assert_ok(folder.path(), 40);

    let second = segments::path(folder.path(), 2);
    let whole = fs::read(&second).expect("readable");
    rewrite(folder.path(), 2, |lines| drop(lines.pop()));
    assert_broken(folder.path(), "does not follow");
    fs::write(&second, &whole[..whole.len() - 10]).expect("written");
    assert_broken(folder.path(), "is not a record");
    fs::remove_file(&second).expect("removed");
    assert_broken(folder.path(), "000002, is missing");
    fs::write(&second, &whole).expect("written");
    fs::remove_file(segments::path(folder.path(), 1)).expect("removed");
    assert_broken(folder.path(), "000001, is missing");
}

#[test]
fn a_failed_write_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    symlink("/dev/full", segments::path(folder.path(), 1)).expect("linked");
    let ledger = open(folder.path());
    let error = ledger.begin(begin("t1", &Value::Null)).expect_err("the disk is full").to_string();
    assert!(error.contains("ledger-000001.jsonl") && error.contains("write"), "{error}");
    // As soon as there is room again it works again.
    let entry = {
        fs::remove_file(segments::path(folder.path(), 1)).expect("removed");
        open(folder.path()).begin(begin("t2", &Value::Null)).expect("room again")
    };
    entry.end(Outcome::ok(0)).expect("ended");
    assert_ok(folder.path(), 2);
    let file = folder.path().join("file");
    fs::write(&file, "").expect("written");
    assert!(Ledger::open(&file, ids(), Secrets::default()).is_err());
}

#[test]
fn a_removed_ledger_begins_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path().join("ledger");
    let ledger = notes(&dir, 3);
    fs::remove_dir_all(&dir).expect("removed");
    note(&ledger, "anew");
    assert_ok(&dir, 1);
    assert_eq!(verify(&folder.path().join("nothing")).records, 0);
    assert_eq!(all(&folder.path().join("nothing")), Vec::<Value>::new());
}

#[test]
fn records_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = open(folder.path());
    for n in 0..3 {
        let id = format!("t{n}");
        let call = ledger.begin(begin(&id, &Value::Null)).expect("begun");
        let inner = Begin { kind: Kind::HostCall, extension: "other", parent: Some(&id), ..begin("h", &Value::Null) };
        ledger.begin(inner).expect("begun").end(Outcome::ok(1)).expect("ended");
        call.end(Outcome::ok(1)).expect("ended");
    }
    let count = |filter: Filter| read(folder.path(), filter).expect("readable").len();
    let filter = Filter::default;
    assert_eq!(count(filter()), 12);
    assert_eq!(count(Filter { call_id: Some("t1".into()), ..filter() }), 4);
    assert_eq!(count(Filter { call_id: Some("t".into()), ..filter() }), 0);
    assert_eq!(count(Filter { extension: Some("other".into()), ..filter() }), 6);
    assert_eq!(count(Filter { extension: Some("weather".into()), last: Some(2), ..filter() }), 2);
    assert_eq!(count(Filter { event_prefix: Some("tool_call.".into()), ..filter() }), 6);
    assert_eq!(count(Filter { call_id: Some("é\"".into()), ..filter() }), 0);
    assert_eq!(count(Filter { last: Some(0), ..filter() }), 0);
}

#[test]
fn several_threads_and_instances_write_one_chain() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledgers = [small(folder.path(), 100_000), small(folder.path(), 100_000)];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            for (instance, ledger) in ledgers.iter().enumerate() {
                scope.spawn(move || {
                    for n in 0..100 {
                        let id = format!("c-{thread}-{instance}-{n}");
                        let entry = ledger.begin(begin(&id, &Value::Null)).expect("begun");
                        entry.end(Outcome::ok(n)).expect("ended");
                    }
                });
            }
        }
        // Whoever looks in between sees a whole chain.
        for _ in 0..10 {
            let report = verify(folder.path());
            assert!(report.ok && report.torn_tail_bytes.is_none(), "{report:#?}");
        }
    });
    let report = assert_ok(folder.path(), 4 * 2 * 200);
    assert!(report.segments > 3);
    assert_eq!(report.open_calls, Vec::<String>::new());
    let mut starts: Vec<String> =
        read(folder.path(), Filter { event_prefix: Some("tool_call.start".into()), ..Filter::default() })
            .expect("readable")
            .iter()
            .map(|record| record["correlation"]["tool_call_id"].as_str().expect("an id").to_owned())
            .collect();
    starts.sort_unstable();
    starts.dedup();
    assert_eq!(starts.len(), 800);
}
