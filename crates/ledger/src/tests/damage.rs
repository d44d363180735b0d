//! What edits, kills and losses of power leave, and what becomes of it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::super::{line, segments, verify};
use super::{all, assert_broken, assert_ok, note, notes, open, rewrite, small};

/// Changes one byte at a time, everywhere.
#[test]
fn any_changed_byte_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = notes(folder.path(), 2);
    let path = segments::path(folder.path(), 1);
    let original = fs::read(&path).expect("readable");
    let last_line = original.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
    for at in 0..original.len() {
        for to in [original[at] ^ 1, b'\n'] {
            if to == original[at] {
                continue;
            }
            let mut changed = original.clone();
            changed[at] = to;
            fs::write(&path, &changed).expect("written");
            let report = verify(folder.path());
            assert!(!report.ok, "byte {at} as {to}: {report:#?}");
            // Nor does it help that somebody goes on writing, which matters where the last line was changed.
            if at >= last_line {
                note(&ledger, "later");
                let report = verify(folder.path());
                assert!(!report.ok, "byte {at} as {to}, then written on: {report:#?}");
            }
        }
    }
    fs::write(&path, &original).expect("written");
    assert_ok(folder.path(), 2);
}

#[test]
fn removed_exchanged_and_inserted_lines_are_found() {
    #[track_caller]
    fn check(change: impl Fn(&mut Vec<String>), message: &str) {
        let folder = tempfile::tempdir().expect("a folder");
        notes(folder.path(), 5);
        rewrite(folder.path(), 1, change);
        assert_broken(folder.path(), message);
        // To go on writing does not hide it.
        note(&open(folder.path()), "later");
        assert_broken(folder.path(), message);
    }
    check(|lines| drop(lines.remove(0)), "does not follow");
    check(|lines| drop(lines.remove(2)), "does not follow");
    check(|lines| lines.swap(1, 2), "does not follow");
    check(|lines| lines.insert(2, lines[1].clone()), "has number 2, but 3 is due");
    check(|lines| lines.insert(2, r#"{"event":"made up"}"#.into()), "is not a record");
    check(|lines| lines.insert(2, String::new()), "is not a record");
    check(|lines| lines[2] = lines[2].replace("note 2", "note X"), "was changed");
    check(|lines| lines[2] = lines[2].replace("\"seq\":3", "\"seq\":2"), "has number 2, but 3 is due");
    let most = format!("\"seq\":{}", u64::MAX);
    check(|lines| lines[4] = lines[4].replace("\"seq\":5", &most), "but 5 is due");
    check(|lines| lines[4] = lines[4].replace("\"seq\":5", "\"seq\":05"), "is not a record");
    // A repair that accounts for something else.
    check(
        |lines| {
            let mut body = br#"{"event":"ledger.repair","correlation":{"extension_id":"h","scenario_id":"r"},"data":{"torn_sha256":"00","torn_bytes":7,"newline":"added"}"#.to_vec();
            let prev = line::split(lines[4].as_bytes()).expect("a link").1.hash;
            let hash = line::hash_of(&prev, &body);
            line::seal(&mut body, &line::ChainLink { seq: 6, prev, hash });
            lines.push("garbage".into());
            lines.push(String::from_utf8(body).expect("text").trim_end().to_owned());
        },
        "no repair accounts for it",
    );
}

/// A write that was cut short at any place is kept, accounted for, and never mistaken for a record.
#[test]
fn a_torn_tail_is_repaired_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let ledger = notes(folder.path(), 3);
    let path = segments::path(folder.path(), 1);
    let whole = fs::read(&path).expect("readable");
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let before = lines[0].len() + lines[1].len();
    let mut cuts: Vec<usize> = (before + 1..whole.len()).step_by(37).collect();
    cuts.extend(whole.len() - 4..whole.len() - 1);
    for cut in cuts {
        fs::write(&path, &whole[..cut]).expect("written");
        let report = assert_ok(folder.path(), 2);
        assert_eq!(report.torn_tail_bytes, Some((cut - before) as u64));
        // The instance that wrote it, and one that has only just come.
        let fresh = open(folder.path());
        note(if cut % 2 == 0 { &ledger } else { &fresh }, "after");
        let report = assert_ok(folder.path(), 4);
        assert_eq!((report.repairs, report.torn_tail_bytes), (1, None));
        assert!(fs::read(&path).expect("readable").starts_with(&whole[..cut]), "nothing was taken away");
        let repair = &all(folder.path())[2];
        assert_eq!((&repair["event"], &repair["level"]), (&json!("ledger.repair"), &json!("warn")));
        note(&fresh, "and on");
        assert_ok(folder.path(), 5);
    }
    // The repair is cut short too.
    fs::write(&path, &whole[..before + 40]).expect("written");
    note(&ledger, "after");
    let repaired = fs::read(&path).expect("readable");
    for more in [2, 60, 200] {
        fs::write(&path, &repaired[..before + 40 + more]).expect("written");
        assert_eq!(assert_ok(folder.path(), 2).torn_tail_bytes, Some(40 + more as u64));
        note(&ledger, "after");
        assert_eq!(assert_ok(folder.path(), 4).repairs, 1);
    }
    // Only the newline is missing: nothing is lost.
    fs::write(&path, &whole[..whole.len() - 1]).expect("written");
    assert_ok(folder.path(), 3);
    note(&ledger, "after");
    assert_eq!(assert_ok(folder.path(), 4).repairs, 0);
}

#[test]
fn what_a_power_loss_leaves_is_repaired() {
    for rest in [&b"\0\0\0\0"[..], b"\0\0\0\n", b"{\"sch\0\0\nema\n\n", &[0xff; 20_000]] {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = notes(folder.path(), 2);
        let path = segments::path(folder.path(), 1);
        File::options().append(true).open(&path).expect("opened").write_all(rest).expect("written");
        note(&ledger, "after");
        assert_eq!(assert_ok(folder.path(), 4).repairs, 1, "{rest:?}");
    }
    // What no loss of power leaves is not passed over.
    for rest in [&b"\n"[..], b"{}\n", b"{\"schema\":\"pi.ext.log.v1\"}\n"] {
        let folder = tempfile::tempdir().expect("a folder");
        let ledger = notes(folder.path(), 2);
        let path = segments::path(folder.path(), 1);
        File::options().append(true).open(&path).expect("opened").write_all(rest).expect("written");
        assert_broken(folder.path(), "no repair accounts for it");
        note(&ledger, "after");
        assert_broken(folder.path(), "no repair accounts for it");
    }
    // Nothing but a torn line, in the first segment and in a later one.
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(segments::path(folder.path(), 1), "{\"sche").expect("written");
    let ledger = small(folder.path(), 600);
    note(&ledger, "first");
    assert_eq!(assert_ok(folder.path(), 2).repairs, 1);
    let next = segments::list(folder.path()).expect("listed").len() as u64 + 1;
    fs::write(segments::path(folder.path(), next), "{\"sche").expect("written");
    note(&small(folder.path(), 600), "second");
    assert_eq!(assert_ok(folder.path(), 4).repairs, 2);
}

const KILLED_WRITER: &str = "JACKFIELD_TEST_LEDGER_OF_KILLED_WRITER";

/// This test plays two parts: the parent kills children that append as fast as they can, and the child is this same test.
#[test]
fn a_killed_writer_leaves_a_chain_that_goes_on() {
    if let Some(dir) = std::env::var_os(KILLED_WRITER) {
        let ledger = open(Path::new(&dir));
        let filler = "lorem ipsum ".repeat(300);
        for n in 1_u64.. {
            note(&ledger, &filler);
            println!("written {n}");
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut acknowledged = 0;
    for round in 0..12_u64 {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "--nocapture", "tests::damage::a_killed_writer_leaves_a_chain_that_goes_on"])
            .env(KILLED_WRITER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut output = BufReader::new(child.stdout.take().expect("its output"));
        let mut written = 0;
        let mut read = |until: u64| {
            let mut line = String::new();
            while written < until {
                line.clear();
                if output.read_line(&mut line).expect("readable") == 0 {
                    break;
                }
                if let Some(n) = line.strip_prefix("written ").filter(|n| n.ends_with('\n')) {
                    written = n.trim_end().parse().expect("a number");
                }
            }
            written
        };
        assert!(read(20 + round * 7) >= 20, "the child writes");
        child.kill().expect("killed");
        child.wait().expect("reaped");
        acknowledged += read(u64::MAX);

        let report = verify(folder.path());
        assert!(report.ok, "{report:#?}");
        assert!(report.records >= acknowledged, "{} records, {acknowledged} acknowledged", report.records);
        let torn = report.torn_tail_bytes.is_some();
        note(&open(folder.path()), "after the kill");
        acknowledged += 1;
        let after = assert_ok(folder.path(), report.records + 1 + u64::from(torn));
        assert_eq!((after.torn_tail_bytes, after.repairs), (None, report.repairs + u64::from(torn)));
    }
}
