//! Script that does not end: it is interrupted within its time, whatever it is doing.

use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{all_work, both, configured, error, fails, file, sandbox, script, tool};

const WHY: &str = "interrupted: it ran for more than 400 ms without a pause";
const NO_STEPS: &str = "stopped: it ran for more than 400 ms in a builtin that cannot be interrupted";

both! {
    fn at_load(place) {
        let sandbox = sandbox(place);
        file(&sandbox, "bad", "index.ts", "for (;;);\nexport default () => {};\n");
        let (code, listing) = sandbox.json(&["tools"]);
        assert_eq!(code, 0, "{listing:#}");
        let text = listing["diagnostics"].to_string();
        assert!(text.contains("bad") && text.contains(WHY), "{text}");
        let (code, answer) = sandbox.json(&["call", "good"]);
        assert_eq!((code, &answer["content"][0]["text"]), (0, &json!("fine")), "{answer:#}");
    }

    fn in_the_factory(place) {
        let sandbox = sandbox(place);
        script(&sandbox, "bad", "await null; for (;;);");
        let (_, listing) = sandbox.json(&["tools"]);
        let text = listing["diagnostics"].to_string();
        assert!(text.contains("bad") && text.contains(WHY), "{text}");
    }

    fn in_a_tool(place) {
        let sandbox = sandbox(place);
        let loops = [
            ("plain", "for (;;);"),
            ("caught", "for (;;) try { for (;;); } catch {} finally { for (;;); }"),
            ("promises", "const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {});"),
            ("awaits", "for (;;) await null;"),
            ("ticks", "const again = () => process.nextTick(again); again(); await new Promise(() => {});"),
            ("micro", "const again = () => queueMicrotask(again); again(); await new Promise(() => {});"),
            ("regex", "return String(/^(a+)+$/.test('a'.repeat(40) + 'b'));"),
            ("sort", "[3, 2, 1].sort(() => { for (;;); });"),
            ("json", "JSON.stringify({ toJSON() { for (;;); } });"),
            ("generator", "for (const x of (function* () { for (;;) yield 1; })());"),
            ("proxy", "new Proxy({}, { get() { for (;;); } }).x;"),
        ];
        for (name, body) in loops {
            script(&sandbox, name, &(tool(name, body) + &tool(&format!("{name}_own"), "return 'fine'")));
        }
        let mut host = sandbox.rpc(&[]);
        for (name, _) in loops {
            fails(&mut host, name, "unavailable", &[&format!("extension {name} has gone"), WHY]);
            assert_eq!(host.text("good", json!({})), "fine");
            let own = format!("{name}_own");
            eventually("the next call works", || host.call(&own, json!({}))["success"] == json!(true));
        }
    }

    fn in_a_timer(place) {
        let sandbox = sandbox(place);
        let source = tool("later", "setTimeout(() => { for (;;); }, 1); return 'set'") + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        assert_eq!(host.text("later", json!({})), "set");
        let state = host.wait_for("the end of the extension", |line| {
            line["type"] == "ext_state" && line["extension"] == "bad" && line["reason"].is_string()
        });
        assert_eq!(state["reason"], WHY, "{state:#}");
        eventually("the next call works", || host.call("own", json!({}))["success"] == json!(true));
        all_work(&mut host, "own");
    }

    /// A builtin that never looks at the clock: the call ends soon after its time, and the others go on meanwhile.
    fn in_a_builtin_that_takes_no_steps(place) {
        let sandbox = configured(place, "permissive", "cpu_ms = 400\nmemory_mb = 1024");
        let source = tool("stuck", "return String((new Array(3e8) + '').length)") + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        let began = Instant::now();
        let id = host.send(json!({ "type": "call_tool", "tool": "stuck", "args": {} }));
        assert_eq!(host.text("good", json!({})), "fine");
        let (code, message) = error(&host.response(&id));
        assert_eq!(code, "unavailable", "{message}");
        assert!(message.contains("extension bad has gone") && message.contains(NO_STEPS), "{message}");
        assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
        eventually("the next call works", || host.call("own", json!({}))["success"] == json!(true));
        all_work(&mut host, "own");
    }

    fn a_promise_that_never_settles(place) {
        let sandbox = sandbox(place);
        script(&sandbox, "bad", &(tool("never", "await new Promise(() => {})") + &tool("own", "return 'fine'")));
        let mut host = sandbox.rpc(&[]);
        let response = host.ask(json!({ "type": "call_tool", "tool": "never", "args": {}, "timeout_ms": 300 }));
        let (code, message) = error(&response);
        assert_eq!(code, "timeout", "{message}");
        assert!(message.contains("bad"), "{message}");
        all_work(&mut host, "own");
    }

    fn a_factory_that_never_ends(place) {
        let sandbox = sandbox(place);
        script(&sandbox, "bad", "await new Promise(() => {});");
        let package = r#"{"name": "bad", "pi": {"extensions": ["index.ts"]}, "jackfield": {"limits": {"start_timeout_ms": 700}}}"#;
        file(&sandbox, "bad", "package.json", package);
        let (_, listing) = sandbox.json(&["tools"]);
        let text = listing["diagnostics"].to_string();
        assert!(text.contains("bad") && text.contains("no end of its factory within 700 ms"), "{text}");
        assert!(listing["tools"].to_string().contains("good"), "{listing:#}");
    }
}
