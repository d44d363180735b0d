//! What the scanner sees, in files that live in memory.

mod deep;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jackfield_protocol::Power;
use serde_json::{Value, json};

use super::*;

/// Scans `/x/index.ts` among these files.
pub(super) fn scanned(files: &[(&str, &str)]) -> Report {
    let files: BTreeMap<PathBuf, String> =
        files.iter().map(|(path, text)| (Path::new("/x").join(path), (*text).to_owned())).collect();
    let read = |path: &Path| files.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
    scan(Path::new("/x/index.ts"), &read)
}

/// The same for one file that is a factory with this body.
fn body(text: &str) -> Report {
    scanned(&[("index.ts", &format!("export default function (pi: any) {{\n{text}\n}}\n"))])
}

/// `level api line` of each finding.
fn found(report: &Report) -> Vec<String> {
    let line = |finding: &Finding| format!("{} {} {}", finding.level.as_str(), finding.api, finding.line);
    report.findings.iter().map(line).collect()
}

/// The scope of one power, or null when it is not needed.
fn needs(report: &Report, power: Power) -> Value {
    let capability = report.capabilities.iter().find(|capability| capability.power == power);
    capability.map_or(Value::Null, |capability| json!(capability.scope))
}

#[test]
fn plain_extensions_are_compatible() {
    let report = scanned(&[
        (
            "index.ts",
            "import type { ExtensionAPI } from \"@earendil-works/pi-coding-agent\";\n\
             import { Type } from '@sinclair/typebox';\n\
             import { Text } from \"@mariozechner/pi-tui\";\n\
             import { join } from 'node:path';\n\
             import { help } from './lib/help.js';\n\
             import data from './data.json';\n\
             import { OnlyAType } from 'never-installed';\n\
             export default async function (pi: ExtensionAPI) {\n\
               const x: OnlyAType = help(join('a', Type, Text, data));\n\
               pi.registerTool({ name: 'x', execute: async (id, params, signal, onUpdate, ctx) => x });\n\
             }\n",
        ),
        ("lib/help.ts", "export * from './deep';"),
        ("lib/deep/index.ts", "export const help = (x: string) => x;"),
        ("data.json", "{}"),
    ]);
    assert_eq!((report.verdict, found(&report)), (Verdict::Compatible, vec![]), "{report:#?}");
    assert_eq!(report.capabilities, []);
    let files: Vec<String> = report.files.iter().map(|file| file.display().to_string()).collect();
    assert_eq!(files, ["/x/index.ts", "/x/lib/help.ts", "/x/data.json", "/x/lib/deep/index.ts"]);
}

#[test]
fn the_entry_must_export_a_factory() {
    let cases = [
        ("export default (pi) => {};", true),
        ("export default class {}", true),
        ("function f() {} export { f as default };", true),
        ("export { default } from './other.js';", true),
        ("module.exports = function (pi) {};", true),
        ("exports.default = (pi) => {};", true),
        ("const f = () => {}; export default f;", true),
        ("export const activate = () => {};", false),
        ("export default { factory() {} };", false),
        ("", false),
    ];
    for (text, fits) in cases {
        let report = scanned(&[("index.ts", text), ("other.ts", "export default () => {}")]);
        assert_eq!(report.verdict == Verdict::Compatible, fits, "{text}: {report:#?}");
    }
    let report = scanned(&[]);
    assert_eq!(found(&report), ["blocked entry 1"]);
}

#[test]
fn what_cannot_be_parsed_is_blocked_with_its_place() {
    let report = scanned(&[("index.ts", "export default () => {\n  const = 3;\n}")]);
    assert_eq!(report.verdict, Verdict::Blocked);
    assert_eq!((report.findings[0].api.as_str(), report.findings[0].line), ("syntax", 2), "{report:#?}");
    // CommonJS may use what modules forbid.
    let report = scanned(&[
        ("index.ts", "export default () => {}; import './old.js';"),
        ("old.js", "with (x) { y() } var await = 1; return;"),
    ]);
    assert_eq!(report.verdict, Verdict::Compatible, "{report:#?}");
}

#[test]
fn imports_that_fail_and_when() {
    let report = scanned(&[
        (
            "index.ts",
            "import pty from 'node-pty';\n\
             import './addon.node';\n\
             import { DatabaseSync } from 'node:sqlite';\n\
             import gone from './gone';\n\
             import left from 'left-pad/x.js';\n\
             import here from '@a/here';\n\
             import sub from 'x-sub/y';\n\
             import self from 'me/sub';\n\
             import bun from 'bun:sqlite';\n\
             import { Sqlite } from 'compiled';\n\
             export default () => [pty, DatabaseSync, gone, left, here, sub, self, bun, Sqlite];\n",
        ),
        ("package.json", r#"{"name": "me"}"#),
        ("node_modules/@a/here/package.json", "{}"),
        ("node_modules/compiled/package.json", r#"{"scripts": {"install": "node-gyp rebuild"}}"#),
        ("../node_modules/x-sub/package.json", "{}"),
    ]);
    assert_eq!(
        found(&report),
        [
            "blocked node-pty 1",
            "blocked ./addon.node 2",
            "warning node:sqlite 3",
            "blocked ./gone 4",
            "blocked left-pad/x.js 5",
            "blocked x-sub/y 7",
            "blocked bun:sqlite 9",
            "blocked compiled 10",
        ]
    );
    let message = &report.findings[4].message;
    assert!(message.contains("npm install --omit=dev --ignore-scripts"), "{message}");
    // What only some path loads breaks that path alone.
    let report = body(
        "try { require('better-sqlite3') } catch {}\n\
         const late = () => import('node-pty');\n\
         const name = 'missing'; require(name);\n\
         import('./' + pi.file);\n require(pi.name);",
    );
    assert_eq!(
        found(&report),
        [
            "warning better-sqlite3 2",
            "warning node-pty 3",
            "warning missing 4",
            "warning import() 5",
            "warning require 6",
        ]
    );
}

#[test]
fn files_are_read_and_written_by_name_where_it_shows() {
    let report = scanned(&[(
        "index.ts",
        "import * as fs from 'node:fs';\n\
         import fsp, { writeFile as put } from 'fs/promises';\n\
         import { promises } from 'fs';\n\
         const { readFileSync } = require('fs');\n\
         const FILE = './notes/a.md';\n\
         export default () => {\n\
           fs.readFileSync(FILE); readFileSync('b.md'); fs.promises.stat(`c${''}.md`); promises.access('d.md');\n\
           put('out/e.md', ''); fsp.mkdir('out'); fs.copyFileSync('f.md', 'out/f.md'); fs.renameSync('out/g', 'out/h');\n\
         };\n",
    )]);
    assert_eq!(report.verdict, Verdict::Compatible);
    assert_eq!(needs(&report, Power::Read), json!({"paths": ["b.md", "c.md", "d.md", "f.md", "notes/a.md"]}));
    assert_eq!(needs(&report, Power::Write), json!({"paths": ["out", "out/e.md", "out/f.md", "out/g", "out/h"]}));
    let report = body("const fs = require('fs'); fs.readFileSync('a'); fs.readFileSync(pi.path);");
    assert_eq!(needs(&report, Power::Read), json!({}), "a name that does not show limits nothing");
    let reason = report.capabilities[0].reason.clone();
    assert_eq!(reason.as_deref(), Some("used in index.ts:2"));
    // A function of the extension's own is its own business.
    let report =
        body("const readFileSync = (x) => x; readFileSync('a'); const fs = { readFileSync }; fs.readFileSync('b');");
    assert_eq!(report.capabilities, []);
}

#[test]
fn programs_hosts_and_variables() {
    let report = scanned(&[(
        "index.ts",
        "import { exec, spawn, execFileSync } from 'node:child_process';\n\
         import { promisify } from 'node:util';\n\
         import https from 'https';\n\
         const run = promisify(exec);\n\
         const BASE = 'https://api.example.com/v1';\n\
         export default (pi) => {\n\
           run('FOO=1 git status --short'); spawn('rg', ['x']); execFileSync('/usr/bin/jq'); pi.exec('make', []);\n\
           fetch(`${BASE}/items/${pi.id}`); fetch('http://localhost:8080'); https.get({ hostname: 'h.org' });\n\
           new WebSocket('wss://ws.example.com/x'); fetch(new URL('https://u.example.com/?q'));\n\
           process.env.API_KEY; process.env['OTHER']; const { THIRD = 'x' } = process.env; process.env.HOME;\n\
           import('node:process').then(); const env = process.env; env.FOURTH;\n\
         };\n",
    )]);
    assert_eq!(report.verdict, Verdict::Compatible, "{report:#?}");
    assert_eq!(needs(&report, Power::Exec), json!({"programs": ["/usr/bin/jq", "git", "make", "rg", "sh"]}));
    let hosts = ["api.example.com", "h.org", "localhost:8080", "u.example.com", "ws.example.com"];
    assert_eq!(needs(&report, Power::Http), json!({"hosts": hosts}));
    assert_eq!(needs(&report, Power::Env), json!({"env": ["API_KEY", "FOURTH", "OTHER", "THIRD"]}));
    let report =
        body("fetch(`https://${pi.host}/x`); pi.exec(pi.program); ({ ...process.env }); process.env[pi.name];");
    for power in [Power::Http, Power::Exec, Power::Env] {
        assert_eq!(needs(&report, power), json!({}), "{power}");
    }
}

#[test]
fn pis_own_doors() {
    let report = body(
        "pi.on('session_switch', () => {});\n\
         pi.on('tool_call', async (event, ctx) => { await ctx.ui.custom(() => {}); ctx.ui.notify('x'); });\n\
         pi.on('session_start', (e, ctx) => { ctx.ui.setFooter(() => {}); ctx.sessionManager.getEntries(); });\n\
         pi.registerTool({ execute: async (id, params, onUpdate, ctx, signal) => ctx.executeTool('read', {}) });\n\
         pi.registerCommand('x', { handler: async (a, ctx) => ctx.modelRegistry.getApiKey(ctx.model) });\n\
         pi.events.emit('a', 1); pi.appendEntry('x'); pi.sendUserMessage('x');",
    );
    assert_eq!(
        found(&report),
        ["warning pi.on(\"session_switch\") 2", "warning ctx.ui.custom 3", "note ctx.ui.setFooter 4", "note execute 5",]
    );
    assert!(report.findings[0].message.contains("`session_start`"), "{report:#?}");
    assert_eq!(needs(&report, Power::Tool), json!({"tools": ["read"]}));
    for power in [Power::Ui, Power::Session, Power::Events, Power::Agent] {
        assert_eq!(needs(&report, power), json!({}), "{power}");
    }
    // In a class, too.
    let report = scanned(&[(
        "index.ts",
        "class A { constructor(private pi: any) {} go() { this.pi.exec('git', []); } }\nexport default (pi) => new A(pi).go();",
    )]);
    assert_eq!(needs(&report, Power::Exec), json!({"programs": ["git"]}));
}

#[test]
fn what_works_in_another_way_is_said_where_it_stands() {
    let report = body(
        "eval('1');\n\
         new Function('return 1')();\n\
         process.exit(1);\n\
         WebAssembly.instantiate(x);\n\
         new Worker('./w.js');\n\
         process.chdir('/');\n\
         globalThis.process.kill(1);\n\
         Bun.file('x');\n\
         require('vm').runInNewContext('1');\n\
         require('worker_threads').isMainThread;",
    );
    assert_eq!(
        found(&report),
        [
            "warning eval 2",
            "warning Function 3",
            "warning process.exit 4",
            "warning WebAssembly.instantiate 5",
            "warning Worker 6",
            "note process.chdir 7",
            "warning process.kill 8",
            "warning Bun.file 9",
            "warning vm.runInNewContext 10",
            "warning vm 10",
        ]
    );
    assert_eq!(report.verdict, Verdict::Warning);
    // A name of the extension's own is its own.
    let report = body(
        "const eval2 = 1; class Worker {} new Worker(); function fetch() {} fetch('https://h.org/'); (process => process.exit())({});",
    );
    assert_eq!((found(&report), report.capabilities), (vec![], vec![]));
}

#[test]
fn code_that_hides_is_pointed_at() {
    let long = "QUJD".repeat(600);
    let report = body(&format!("const x = \"{long}\";\nnew Function(atob(x))();"));
    assert_eq!(found(&report), ["warning hidden code 2", "warning Function 3"]);
    // A picture is no code.
    assert_eq!(found(&body(&format!("const x = \"{long}\";"))), Vec::<String>::new());
    let mangled: String = (0..30).map(|at| format!("const _0x{:06x} = {at};\n", 0xabc_000 + at)).collect();
    assert_eq!(found(&body(&mangled)), ["warning hidden code 1"]);
}

#[test]
fn reports_have_a_stable_form() {
    let report = body("process.exit(0); fetch('https://h.org/');");
    assert_eq!(
        json!(report),
        json!({
            "verdict": "warning",
            "findings": [{
                "level": "warning", "file": "/x/index.ts", "line": 2, "column": 1, "api": "process.exit",
                "message": "ends this extension only; the host and the others go on",
            }],
            "capabilities": [{
                "capability": "http", "scope": {"hosts": ["h.org"]}, "reason": "used in index.ts:2",
            }],
            "files": ["/x/index.ts"],
        })
    );
}
