//! Script that wants more memory than it may have, or more stack.

use serde_json::json;

use super::support::{all_work, answers_an_error, both, configured, fails, file, script, tool};

const WHY: &str = "interrupted: out of memory (it may use 48 MB)";

both! {
    fn bombs(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 20000\nmemory_mb = 48");
        let bombs = [
            ("objects", "const all = []; for (;;) all.push({ x: all.length });"),
            ("strings", "let text = 'x'; for (;;) text = text.repeat(2) + 'y';"),
            ("buffer", "return String(new ArrayBuffer(1024 ** 3).byteLength);"),
            ("buffers", "const all = []; for (;;) all.push(new Uint8Array(1e6).fill(1));"),
            ("natives", "const c = await import('node:crypto'); const all = []; for (;;) all.push(c.randomBytes(4e6));"),
            ("map", "const all = new Map(); for (let i = 0; ; i++) all.set('key' + i, [i]);"),
            ("closures", "let f = () => 1; for (;;) { const g = f; f = () => g; }"),
            ("promises", "const all = []; for (;;) all.push(new Promise(() => {}));"),
            ("spread", "let all = [1]; for (;;) all = [...all, ...all];"),
        ];
        for (name, body) in bombs {
            script(&sandbox, name, &tool(&format!("bomb_{name}"), body));
        }
        let mut host = sandbox.rpc(&[]);
        for (name, _) in bombs {
            let gone = format!("extension {name} has gone");
            fails(&mut host, &format!("bomb_{name}"), "unavailable", &[&gone, WHY]);
            assert_eq!(host.text("good", json!({})), "fine");
        }
    }

    /// Asking for too much at once is an error like others, for a script that catches it.
    fn a_refusal_can_be_caught(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 20000\nmemory_mb = 48");
        script(
            &sandbox,
            "bad",
            &(tool("much", "try { new ArrayBuffer(1024 ** 3) } catch (error) { return error.message }")
                + &tool("own", "return 'fine'")),
        );
        let mut host = sandbox.rpc(&[]);
        assert_eq!(host.text("much", json!({})), "out of memory");
        all_work(&mut host, "own");
    }

    fn at_load(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 20000\nmemory_mb = 48");
        file(&sandbox, "bad", "index.ts", "const all = []; for (;;) all.push({});\nexport default () => {};\n");
        let (_, listing) = sandbox.json(&["tools"]);
        let text = listing["diagnostics"].to_string();
        assert!(text.contains("bad") && text.contains("out of memory"), "{text}");
        assert!(listing["tools"].to_string().contains("good"), "{listing:#}");
    }

    fn deep_recursion(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 20000\nmemory_mb = 256");
        let deep = [
            ("calls", "const f = () => f() + 1; return String(f());"),
            ("getters", "const o = { get x() { return this.x } }; return String(o.x);"),
            ("parse", "return String(JSON.parse('['.repeat(1e6) + ']'.repeat(1e6)));"),
            ("stringify", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return JSON.stringify(o);"),
            ("nested", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return { content: [], details: o };"),
            ("regex", "return String(new RegExp('(?:'.repeat(1e6) + ')'.repeat(1e6)).test('a'));"),
            ("eval", "return String(new Function('return ' + '('.repeat(1e6) + ')'.repeat(1e6))());"),
            ("toString", "const a = []; a[0] = a; let b = a; for (let i = 0; i < 1e5; i++) b = [b]; return String(b);"),
            ("clone", "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; return String(structuredClone(o));"),
        ];
        let mut source = tool("own", "return 'fine'");
        for (name, body) in deep {
            source += &tool(name, body);
        }
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for (name, _) in deep {
            let text = answers_an_error(&mut host, name);
            assert!(!text.is_empty() && text != "null", "{name}: {text}");
            all_work(&mut host, "own");
        }
    }
}
