//! Extensions that are loaded once and for all: which are, which are not, and that nobody sees a difference.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod place;

use std::fs;
use std::time::Duration;

use serde_json::json;

use self::place::{Place, saying};

#[tokio::test]
async fn what_only_registers_is_loaded_once() {
    let place = Place::new();
    let helper = "export class Counter { #n = 0; next() { return ++this.#n; } }\nexport const words = ['one', 'two'];";
    place.write("lib/helper.ts", helper);
    let top = "import { Counter, words } from './lib/helper';\nimport data from './data.json';\nimport { Type } from 'typebox';\n\
         const key = {}, symbol = Symbol('s');\nconst map = new Map<unknown, string>([[key, 'object'], [symbol, 'symbol'], [1, 'number']]);\n\
         const weak = new WeakMap([[key, 'weak']]);\nconst set = new Set(words);\n\
         function* steps() { yield 'first'; yield 'second'; }\nconst going = steps(); going.next();\n\
         const pattern = /(?<word>[a-z]+)-(\\d+)/u;\nconst bytes = new Uint8Array([1, 2, 250]);\n\
         const big = 2n ** 80n, counter = new Counter(), later = Promise.resolve('kept');\n\
         const schema = Type.Object({ a: Type.Optional(Type.String()) });\nawait null;";
    place.write("data.json", "{\"from\":\"json\"}");
    let answer = "[counter.next(), map.get(key), map.get(symbol), map.get(1), weak.get(key), set.has('two'), going.next().value, \
         pattern.exec('ab-12').groups.word, bytes[2], big, await later, data.from, Object.keys(schema.properties), \
         JSON.stringify(Object.keys(globalThis)), Function.prototype.toString.call(steps).slice(0, 9)].join()";
    let script = place.write("main.ts", &saying(top, answer));
    let first = place.open(&script).await;
    assert!(!first.was_kept());
    let expected = first.call("say", json!({})).await;
    assert!(
        expected.starts_with("1,object,symbol,number,weak,true,second,ab,250,1208925819614629174706176,kept,json,a,"),
        "{expected}"
    );
    first.end().await;
    let kept = place.known(&script).await;
    assert!(kept.was_kept());
    assert_eq!(kept.call("say", json!({})).await, expected);
    assert!(kept.call("say", json!({})).await.starts_with("2,"), "it lives");
    kept.end().await;
    // Nothing of that instance is in the next one.
    let again = place.open(&script).await;
    assert!(again.was_kept());
    assert_eq!(again.call("say", json!({})).await, expected);
    again.end().await;
}

/// Memory of every kind that an engine has, made at the top level, works in an engine that is put into memory, and all of it is given
/// back when that ends.
#[tokio::test]
async fn whatever_was_made_works_elsewhere() {
    let place = Place::new();
    let top = "import { gzipSync, gunzipSync } from 'node:zlib';\nimport { createHmac } from 'node:crypto';\nimport { EventEmitter } from 'node:events';\n\
         import { join } from 'node:path';\nimport { Text, Container } from '@earendil-works/pi-tui';\n\
         const text = new TextEncoder().encode('h\u{e9}llo'), buffer = Buffer.from('abc'.repeat(20000)), zipped = gzipSync(buffer);\n\
         const url = new URL('https://example.com/a?b=c#d'), view = new DataView(new ArrayBuffer(64)), shared = new SharedArrayBuffer(16);\n\
         view.setFloat64(8, Math.PI); new Int32Array(shared)[1] = 7;\n\
         const events = new EventEmitter(); let heard = 0; events.on('x', (n) => { heard += n; }); events.emit('x', 2);\n\
         class Base { static made = 0; #secret = 1; constructor() { Base.made++; } get secret() { return this.#secret; } }\n\
         class Derived extends Base { over = super.secret + 1; }\nconst derived = [new Derived(), new Derived()];\n\
         const proxy = new Proxy({ a: 1 }, { get: (t, k) => k in t ? t[k] : `no ${String(k)}` });\n\
         const frozen = Object.freeze({ deep: Object.freeze([1, [2, [3]]]) }), ref = new WeakRef(frozen), error = new RangeError('made early');\n\
         async function* counting() { for (let i = 0; ; i++) yield i; }\nconst stream = counting(); await stream.next(); await stream.next();\n\
         const bound = join.bind(null, '/a'), tagged = ((s, ...v) => s.raw.join('|') + v)`x${1}y\\n`, sparse = [, 1, , 2];\n\
         const wide = '\u{1f600}'.repeat(10) + 'a'.padEnd(5000, 'b'), many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`key${i}`, { i }]));\n\
         const box = new Container(); box.addChild(new Text('boxed', 0, 0));";
    let answer = "[text.length, buffer.length, gunzipSync(zipped).equals(buffer), url.searchParams.get('b'), view.getFloat64(8), new Int32Array(shared)[1], \
         (events.emit('x', 3), heard), derived[1].over, Base.made, proxy.a, proxy.b, frozen.deep.flat(9), ref.deref() === frozen, error instanceof RangeError, \
         (await stream.next()).value, bound('b'), tagged, sparse.length, wide.length, many.key1999.i, Object.keys(many).length, \
         box.render(20).join('').trim(), createHmac('sha256', 'k').update('v').digest('hex').slice(0, 8), \
         JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ i, nested: { list: [i, String(i)] } }))).length].join(';')";
    let script = place.write("main.ts", &saying(top, answer));
    let first = place.open(&script).await;
    let expected = first.call("say", json!({})).await;
    assert!(expected.starts_with("6;60000;true;c;3.14159"), "{expected}");
    first.end().await;
    place.known(&script).await.end().await;
    for _ in 0..10 {
        let kept = place.open(&script).await;
        assert!(kept.was_kept());
        assert_eq!(kept.call("say", json!({})).await, expected);
        kept.end().await;
    }
}

/// What it looks at may be different the next time, so it is loaded anew, and the answer is this time's.
#[tokio::test]
async fn what_looks_around_is_loaded_every_time() {
    let cases = [
        ("the time", "const at = Date.now();", "at"),
        ("a date", "const at = new Date().getTime();", "at"),
        ("chance", "const at = Math.random();", "at"),
        ("random bytes", "import { randomUUID } from 'node:crypto';\nconst at = randomUUID();", "at"),
        ("a clock", "const at = performance.now() + performance.timeOrigin;", "at"),
        ("its process", "const at = [process.pid, performance.now()].join();", "at"),
        (
            "a timer",
            "let at = 0; setTimeout(() => { at = Math.random(); }, 1);\nawait new Promise((r) => setTimeout(r, 30));",
            "at",
        ),
        (
            "a tick",
            "let at = 0; process.nextTick(() => { at = Math.random(); });\nawait new Promise((r) => setImmediate(r));",
            "at",
        ),
        (
            "a file",
            "import { readFileSync } from 'node:fs';\nconst at = readFileSync('seen.txt', 'utf8') + Math.random();",
            "at",
        ),
    ];
    for (name, top, answer) in cases {
        let place = Place::new();
        fs::write(place.project.join("seen.txt"), "seen").expect("written");
        let script = place.write("main.ts", &saying(top, answer));
        let mut said = Vec::new();
        for _ in 0..4 {
            let running = place.open(&script).await;
            assert!(!running.was_kept(), "{name}");
            said.push(running.call("say", json!({})).await);
            running.end().await;
            jackfield_js::settle();
        }
        said.dedup();
        assert_eq!(said.len(), 4, "{name}: {said:?}");
    }
}

/// Loading that says or does something must say and do it at every start.
#[tokio::test]
async fn what_acts_is_loaded_every_time() {
    let cases = [
        ("console", "console.log('loading');"),
        ("host call", "import { existsSync } from 'node:fs';\nexistsSync('x');"),
        ("rejection", "Promise.reject(new Error('nobody cares'));"),
        ("environment", "globalThis.at = process.env.HOME;"),
        ("interval", "const t = setInterval(() => {}, 1000);"),
    ];
    for (name, top) in cases {
        let place = Place::new();
        let script = place.write("main.ts", &saying(top, "1"));
        let running = place.known(&script).await;
        assert!(!running.was_kept(), "{name}");
        running.end().await;
    }
    let place = Place::new();
    let script = place.write("main.ts", &saying("console.log('loading');", "1"));
    place.known(&script).await.end().await;
    let log = fs::read_to_string(place.path("home/logs/ext-main.log")).expect("there");
    assert_eq!(log.matches("loading").count(), 3, "once for each start, and nothing of a rehearsal: {log}");
}

#[tokio::test]
async fn files_that_changed_are_loaded_as_they_are() {
    let place = Place::new();
    let script = place.write("main.ts", &saying("import { word } from './word';", "word"));
    place.write("word/index.ts", "export const word = 'one';");
    let kept = place.known(&script).await;
    assert!(kept.was_kept());
    assert_eq!(kept.call("say", json!({})).await, "one");
    kept.end().await;
    place.write("word/index.ts", "export const word = 'two';");
    let changed = place.open(&script).await;
    assert!(!changed.was_kept());
    assert_eq!(changed.call("say", json!({})).await, "two");
    changed.end().await;
    assert_eq!(place.known(&script).await.call("say", json!({})).await, "two");
    // Another file takes the import, though none of those that were loaded has changed.
    place.write("word.ts", "export const word = 'three';");
    let moved = place.open(&script).await;
    assert!(!moved.was_kept());
    assert_eq!(moved.call("say", json!({})).await, "three");
    moved.end().await;
}

/// A link that leads out of the extension's folder is asked for like any other file, rehearsed or not.
#[tokio::test]
async fn a_link_is_not_taken_for_what_it_replaced() {
    let place = Place::new();
    let script = place.write("main.ts", &saying("import { word } from './word.ts';", "word"));
    let word = place.write("word.ts", "export const word = 'one';");
    place.known(&script).await.end().await;
    let outside = place.path("other/word.ts");
    fs::write(&outside, "export const word = 'one';").expect("written");
    fs::remove_file(&word).expect("removed");
    std::os::unix::fs::symlink(&outside, &word).expect("linked");
    let linked = place.open(&script).await;
    assert!(!linked.was_kept());
    assert_eq!(linked.call("say", json!({})).await, "one");
    linked.end().await;
}

#[tokio::test]
async fn facts_are_those_of_this_start() {
    let mut place = Place::new();
    let top = "import { homedir, tmpdir } from 'node:os';\nimport { getAgentDir } from '@earendil-works/pi-coding-agent';\n\
         const places = [process.cwd(), homedir(), getAgentDir()].join();";
    let script =
        place.write("main.ts", &saying(top, "[places, process.pid, process.env.COLOUR, tmpdir() !== ''].join()"));
    let kept = place.known(&script).await;
    assert!(kept.was_kept());
    let said = |place: &Place, colour: &str| {
        let user = place.path("user").display().to_string();
        let (project, pid) = (place.project.display().to_string(), std::process::id());
        format!("{project},{user},{user}/.pi/agent,{pid},{colour},true")
    };
    assert_eq!(kept.call("say", json!({})).await, said(&place, ""));
    kept.end().await;
    // The environment is read when it is looked at.
    place.env.insert("COLOUR".to_owned(), "red".to_owned());
    let coloured = place.open(&script).await;
    assert!(coloured.was_kept());
    assert_eq!(coloured.call("say", json!({})).await, said(&place, "red"));
    coloured.end().await;
    // In another project it is another extension, as far as that goes; and the first one is still known.
    let other = place.path("other");
    let first = std::mem::replace(&mut place.project, other);
    let elsewhere = place.open(&script).await;
    assert!(!elsewhere.was_kept());
    assert_eq!(elsewhere.call("say", json!({})).await, said(&place, "red"));
    elsewhere.end().await;
    jackfield_js::settle();
    assert!(place.open(&script).await.was_kept());
    place.project = first;
    assert!(place.open(&script).await.was_kept());
    place.env.insert("PI_CODING_AGENT_DIR".to_owned(), "/elsewhere".to_owned());
    let configured = place.open(&script).await;
    assert!(!configured.was_kept());
    assert!(configured.call("say", json!({})).await.contains(",/elsewhere,"));
    configured.end().await;
}

#[tokio::test]
async fn nothing_of_the_environment_is_kept() {
    let mut place = Place::new();
    place.env.insert("COLOUR".to_owned(), "a-very-odd-colour".to_owned());
    let tops = ["const at = process.env.COLOUR;", "const at = { ...process.env };", "const at = process.cwd();"];
    for (number, top) in tops.iter().enumerate() {
        let script = place.write(&format!("main{number}.ts"), &saying(top, "JSON.stringify([at, process.env.COLOUR])"));
        let running = place.known(&script).await;
        assert_eq!(running.was_kept(), number == 2);
        assert!(running.call("say", json!({})).await.contains("a-very-odd-colour"));
        running.end().await;
    }
    let found = place.kept().windows(17).any(|window| window == b"a-very-odd-colour");
    assert!(!found, "a value of the environment is on the disk");
}

/// Whoever changes what is kept has it loaded anew.
#[tokio::test]
async fn what_somebody_else_wrote_is_not_used() {
    let place = Place::new();
    let script = place.write("main.ts", &saying("", "'right'"));
    place.known(&script).await.end().await;
    let good = place.kept();
    for part in 1..8 {
        let mut bad = good.clone();
        let at = good.len() * part / 8;
        bad[at] ^= 0x10;
        fs::write(place.path("home/code/scripts.pack"), bad).expect("written");
        let running = place.open(&script).await;
        assert_eq!(running.call("say", json!({})).await, "right");
        running.end().await;
    }
    jackfield_js::settle();
}

/// Errors of an engine that was put into memory name the author's lines.
#[tokio::test]
async fn errors_name_their_lines() {
    let place = Place::new();
    let text = "interface A { a: string }\n\nfunction fail(a: A): never {\n  throw new Error('broken ' + a.a);\n}\n";
    let answer = "await new Promise((done) => { setTimeout(() => { done('soon'); fail({ a: 'x' }); }, 0); })";
    let script = place.write("main.ts", &saying(text, answer));
    let kept = place.known(&script).await;
    assert!(kept.was_kept());
    assert_eq!(kept.call("say", json!({})).await, "soon");
    kept.end().await;
    let log = fs::read_to_string(place.path("home/logs/ext-main.log")).expect("there");
    assert!(log.contains("broken x") && log.contains("main.ts:4:"), "{log}");
}

/// What does not fit into a rehearsal is loaded as ever.
#[tokio::test]
async fn what_is_large_is_loaded_every_time() {
    let tops = [
        "const at = Array.from({ length: 100_000 }, (_, i) => ({ i }));",
        "const at = new Uint8Array(8_000_000);",
        "const at = 'x'.repeat(7_000_000) + 'y';",
        "let at = []; try { at = Array.from({ length: 200_000 }, (_, i) => [i]); } catch { at = [0]; }",
    ];
    for top in tops {
        let place = Place::new();
        let script = place.write("main.ts", &saying(top, "at.length"));
        let expected = place.open(&script).await.call("say", json!({})).await;
        for _ in 0..3 {
            let running = place.open(&script).await;
            assert_eq!(running.call("say", json!({})).await, expected, "{top}");
            assert!(!running.was_kept(), "{top}");
            running.end().await;
            jackfield_js::settle();
        }
    }
}

/// One that does not load does as soon as it can, whatever was wrong with it.
#[tokio::test]
async fn what_was_repaired_is_loaded() {
    let broken = [
        ("syntax", "const = ;"),
        ("throws", "throw new Error('not today');"),
        ("rejects", "await Promise.reject(new Error('not today'));"),
        ("imports what is broken", "import './broken';"),
        ("imports what is no data", "import './broken.json';"),
        ("imports what is no script", "import './notes.md';"),
    ];
    for (name, top) in broken {
        let place = Place::new();
        place.write("broken.ts", "let let = 1;");
        place.write("broken.json", "{,}");
        place.write("notes.md", "# Notes");
        let script = place.write("main.ts", &saying(top, "1"));
        let mut said = Vec::new();
        for _ in 0..4 {
            said.push(place.try_open(&script).await.map(drop).expect_err(name));
            jackfield_js::settle();
        }
        said.dedup();
        assert_eq!(said.len(), 1, "{name}: {said:?}");
        match top.strip_prefix("import './").and_then(|rest| rest.strip_suffix("';")) {
            Some("broken") => drop(place.write("broken.ts", "export {};")),
            Some("broken.json") => drop(place.write("broken.json", "{}")),
            _ => drop(place.write("main.ts", &saying("", "1"))),
        }
        let running = place.open(&script).await;
        assert_eq!(running.call("say", json!({})).await, "1", "{name}");
        running.end().await;
    }
}

/// What is missing is looked for at every start, and one that fails fails as it did, until that changes.
#[tokio::test]
async fn what_is_missing_is_looked_for_again() {
    let place = Place::new();
    let optional = "let word = 'none';\ntry { word = require('sometimes').word; } catch {}";
    let (tries, needs) = (place.write("tries/main.ts", &saying(optional, "word")), place.path("ext/needs/main.ts"));
    place.write("needs/main.ts", &saying("import { word } from 'sometimes';", "word"));
    let kept = place.known(&tries).await;
    assert!(kept.was_kept());
    assert_eq!(kept.call("say", json!({})).await, "none");
    kept.end().await;
    let mut said = Vec::new();
    for _ in 0..4 {
        said.push(place.try_open(&needs).await.map(drop).expect_err("it needs that"));
        jackfield_js::settle();
    }
    assert!(said[0].contains("npm install sometimes"), "{said:?}");
    assert!(said.iter().all(|other| *other == said[0]), "{said:?}");
    place.write("node_modules/sometimes/index.js", "exports.word = 'there';");
    for script in [&tries, &needs] {
        let running = place.open(script).await;
        assert!(!running.was_kept());
        assert_eq!(running.call("say", json!({})).await, "there");
        running.end().await;
    }
}

/// An engine that nobody asks anything ends without ever having been put into memory, and one that is woken by many at once
/// answers all of them.
#[tokio::test]
async fn sleepers_end_and_wake() {
    let place = Place::new();
    let script = place.write("sleeper.ts", &saying("let n = 0;", "++n"));
    place.known(&script).await.end().await;
    // Threads of engines are named by their extension.
    let threads = || {
        let tasks = fs::read_dir("/proc/self/task").expect("there").flatten();
        let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.trim() == "js sleeper").count()
    };
    let until_none = async || {
        while threads() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    until_none().await;
    let running = place.open(&script).await;
    assert!(running.was_kept());
    assert_eq!(threads(), 0, "it sleeps");
    running.end().await;
    let running = place.open(&script).await;
    assert_eq!(running.call("say", json!({})).await, "1");
    assert_eq!(threads(), 1, "it is awake");
    running.end().await;
    let running = place.open(&script).await;
    let calls = (0..20).map(|_| running.call("say", json!({})));
    let mut said = futures_join(calls).await;
    said.sort_by_key(|text| text.parse::<u32>().expect("a number"));
    assert_eq!(said, (1..=20).map(|n| n.to_string()).collect::<Vec<_>>());
    running.end().await;
}

async fn futures_join<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut answers = Vec::new();
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        futures.retain_mut(|future| match future.as_mut().poll(cx) {
            std::task::Poll::Ready(answer) => {
                answers.push(answer);
                false
            }
            std::task::Poll::Pending => true,
        });
        if futures.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    answers
}
