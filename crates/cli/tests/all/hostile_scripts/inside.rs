//! Script that tampers with its own engine: it gains nothing, and nobody else notices.

use serde_json::{Value, json};

use super::support::{both, configured, sandbox, script, tool};

both! {
    fn internals_stay_inside(place) {
        let sandbox = sandbox(place);
        let attempt = |name: &str, what: &str| {
            tool(name, &format!("try {{ return 'GOT ' + String(await (async () => {{ {what} }})()) }} catch (e) {{ return e.message }}"))
        };
        let tries = [
            ("door", "return Object.keys(await import('jackfield:host'))"),
            ("boot", "return Object.keys(await import('jackfield:boot'))"),
            ("runtime", "return Object.keys(await import('jackfield:pi/runtime/state'))"),
            ("internal", "return Object.keys(await import('node:internal/fs/core'))"),
            ("bare", "return Object.keys(await import('internal/fs/core'))"),
            ("required", "return Object.keys((await import('node:module')).createRequire(import.meta.url)('node:internal/errors'))"),
            ("pretend", "return Object.keys((await import('node:module')).createRequire('node:fs')('jackfield:host'))"),
            ("pretend_too", "return Object.keys((await import('node:module')).createRequire('jackfield:pi/runtime')('jackfield:host'))"),
        ];
        let mut source = String::new();
        for (name, what) in tries {
            source += &attempt(&format!("try_{name}"), what);
        }
        let known = "const seen = []; for (const name of Object.getOwnPropertyNames(globalThis)) {\
            if (/jackfield|native|hostCall|^op$|^opSync$|^n$|std$|^os$|bytecode/i.test(name)) seen.push(name) } return seen.join() || 'none'";
        source += &tool("scan", known);
        source += &tool("made", "return String(new Function('return typeof n + typeof native + typeof opSync + typeof host')())");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for (name, _) in tries {
            let said = host.text(&format!("try_{name}"), json!({}));
            let refused = ["Cannot find module", "must be a file URL object, file URL string, or absolute path string"];
            assert!(refused.iter().any(|words| said.contains(words)), "{name}: {said}");
        }
        assert_eq!(host.text("scan", json!({})), "none");
        assert_eq!(host.text("made", json!({})), "undefined".repeat(4));
    }

    /// Frames of the library can be had from a stack; what they reach is judged like everything else.
    fn what_a_stack_gives_is_judged(place) {
        let sandbox = configured(place, "prompt", "cpu_ms = 5000");
        let secret = sandbox.path("secret.txt");
        sandbox.write(&secret, "hunter2");
        let source = tool(
            "frames",
            &format!(
                "const found = new Set(); /* hunting */ Error.prepareStackTrace = (error, frames) => {{ \
                   for (const frame of frames) {{ const f = frame.getFunction?.(); if (f && !String(f).includes('hunting')) found.add(f) }} return 'x' }};\
                 try {{ const fs = await import('node:fs'); fs.readFileSync({{ toString() {{ void new Error('').stack; return 'x' }} }}) }} catch (e) {{ void e.stack }}\
                 void new Error('').stack; let got = '';\
                 for (const f of found) for (const args of [['fs', {{ op: 'read', path: '{path}', encoding: 'utf8' }}], ['{path}', 'utf8'], ['{path}']])\
                   try {{ got += JSON.stringify(await Promise.race([f(...args), new Promise((done) => setTimeout(done, 20))])) ?? '' }} catch {{ }}\
                 delete Error.prepareStackTrace; return 'tried ' + got",
                path = secret.display()
            ),
        ) + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        let response = host.call("frames", json!({}));
        assert!(!response.to_string().contains("hunter2"), "{response:#}");
        crate::hostile_scripts::support::all_work(&mut host, "own");
    }

    /// Whatever a script does to the builtins of its engine, the other extensions have their own, and policy has none of them.
    fn polluted_globals_harm_nobody_else(place) {
        let sandbox = configured(place, "prompt", "cpu_ms = 5000");
        let secret = sandbox.path("secret.txt");
        sandbox.write(&secret, "hunter2");
        let pollutions = [
            "Object.prototype.polluted = 'yes'; Object.prototype.content = 'yes'; Object.prototype.isError = true; Object.prototype.error = undefined;",
            "Array.prototype.polluted = 'yes'; for (const k of ['map', 'push', 'filter', 'includes', 'some']) Array.prototype[k] = () => { throw new Error('polluted') };",
            "Promise.prototype.then = () => { throw new Error('polluted') }; Promise.resolve = () => ({});",
            "JSON.stringify = () => '{\"polluted\": true}'; JSON.parse = () => ({ polluted: true, mode: 'permissive' });",
            "for (const k of ['get', 'set', 'has', 'delete']) Map.prototype[k] = () => { throw new Error('polluted') };",
            "Function.prototype.call = Function.prototype.apply = () => { throw new Error('polluted') };",
            "Reflect.apply = () => { throw new Error('polluted') }; Symbol.iterator.polluted = 1; Array.prototype[Symbol.iterator] = function* () {};",
            "RegExp.prototype.exec = () => null; String.prototype.startsWith = () => true; String.prototype.slice = () => '';",
            "globalThis.setTimeout = globalThis.process = globalThis.Error = globalThis.Object = undefined;",
        ];
        for (number, pollution) in pollutions.iter().enumerate() {
            let read = format!("return (await import('node:fs')).readFileSync('{}', 'utf8')", secret.display());
            let source = tool(&format!("pollute{number}"), &format!("{pollution} return 'done'"))
                + &tool(&format!("read{number}"), &read);
            script(&sandbox, &format!("bad{number}"), &source);
        }
        let mut host = sandbox.rpc(&[]);
        for number in 0..pollutions.len() {
            let ask = |tool: String| json!({ "type": "call_tool", "tool": tool, "args": {}, "timeout_ms": 1500 });
            host.ask(ask(format!("pollute{number}")));
            let read = host.ask(ask(format!("read{number}")));
            assert!(!read.to_string().contains("hunter2"), "{number}: {read:#}");
            assert_eq!(host.text("good", json!({})), "fine", "{number}");
        }
        let text = host.call("good", json!({})).to_string();
        assert!(!text.contains("polluted"), "{text}");
    }

    /// The usual additions of old libraries to prototypes do not disturb the library's own work.
    fn additions_to_prototypes_are_borne(place) {
        let sandbox = sandbox(place);
        let source = "Object.prototype.extra = function () {}; Array.prototype.last = function () { return this[this.length - 1] };\
            String.prototype.shout = function () { return this + '!' }; Map.prototype.first = 1; Promise.prototype.done = () => {};\n"
            .to_owned()
            + &tool(
                "works",
                "const fs = await import('node:fs'); const path = await import('node:path'); const os = await import('node:os');\
                 const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'x')); const file = path.join(dir, 'a.json');\
                 fs.writeFileSync(file, JSON.stringify({ a: [1, 2, 3] })); const read = JSON.parse(fs.readFileSync(file, 'utf8'));\
                 const ran = await pi.exec('echo', ['hi']); await new Promise((done) => setTimeout(done, 1));\
                 const url = new URL('http://a/b?c=d'); const hash = (await import('node:crypto')).createHash('sha256').update('x').digest('hex');\
                 const text = (await import('node:util')).inspect(new Map([[1, { b: 2 }]]));\
                 return [read.a.last(), ran.stdout.trim().shout(), url.searchParams.get('c'), hash.slice(0, 4), text].join(' ')",
            );
        script(&sandbox, "old", &source);
        let mut host = sandbox.rpc(&[]);
        let text = host.text("works", json!({}));
        assert_eq!(text, "3 hi! d 2d71 Map(1) { 1 => { b: 2 } }");
        let response: Value = host.call("works", json!({}));
        assert_eq!(response["data"]["is_error"], json!(false), "{response:#}");
    }
}
