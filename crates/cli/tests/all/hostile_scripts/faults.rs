//! Script that throws, in every way there is: the error is the answer, and the extension goes on.

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{all_work, answers_an_error, both, file, log, sandbox, script, tool};

both! {
    fn thrown_values_are_described(place) {
        let sandbox = sandbox(place);
        let thrown = [
            ("error", "throw new TypeError('a reason')", "a reason"),
            ("text", "throw 'only text'", "only text"),
            ("nothing", "throw undefined", "undefined"),
            ("void", "throw null", "null"),
            ("number", "throw 42", "42"),
            ("bigint", "throw 42n", "42"),
            ("symbol", "throw Symbol('s')", "Symbol(s)"),
            ("object", "throw { get message() { throw 1 } }", "[object Object]"),
            ("bare", "throw Object.create(null)", "an error that cannot be described"),
            ("proxy", "throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 } })",
                "an error that cannot be described"),
            ("getter", "throw Object.defineProperty(new Error('x'), 'message', { get() { throw new Error('y') } })",
                "an error that cannot be described"),
            ("stack", "throw Object.defineProperty(new Error('x'), 'stack', { get() { throw new Error('y') } })", "x"),
            ("not_text", "throw Object.assign(new Error(''), { message: { toString() { throw 1 } } })",
                "an error that cannot be described"),
            ("forged", "throw Object.assign(new Error('out of memory'), { code: 'x' })", "out of memory"),
        ];
        let mut source = tool("own", "return 'fine'");
        for (name, body, _) in thrown {
            source += &tool(&format!("throws_{name}"), body);
        }
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for (name, _, text) in thrown {
            assert_eq!(answers_an_error(&mut host, &format!("throws_{name}")), text, "{name}");
        }
        all_work(&mut host, "own");
    }

    fn results_that_are_no_results(place) {
        let sandbox = sandbox(place);
        let wrong = [
            ("getter", "return { get content() { throw new Error('in the getter') } }", "in the getter"),
            ("item", "return { content: [{ get type() { throw new Error('in the item') } }] }", "in the item"),
            ("to_json", "return { content: [], details: { toJSON() { throw new Error('in toJSON') } } }", "in toJSON"),
            ("proxy", "return new Proxy({}, { get() { throw new Error('in the trap') }, has() { throw new Error('in has') } })",
                "in the trap"),
            ("then", "return { get then() { throw new Error('in then') } }", "in then"),
        ];
        let odd = [
            ("cycle", "const a = {}; a.a = a; return { content: [{ type: 'text', text: 'x' }], details: a }", "x"),
            ("bigint", "return { content: [{ type: 'text', text: 'x' }], details: { n: 10n } }", "x"),
            ("bare_bigint", "return 10n", "10"),
            ("function", "return () => 1", "() => 1"),
            ("nothing", "return undefined", ""),
            ("surrogate", "return '\\ud800'", "\u{fffd}"),
        ];
        let mut source = tool("own", "return 'fine'");
        for (name, body, _) in wrong.iter().chain(&odd) {
            source += &tool(&format!("gives_{name}"), body);
        }
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for (name, _, text) in wrong {
            let said = answers_an_error(&mut host, &format!("gives_{name}"));
            assert!(said.contains(text), "{name}: {said}");
        }
        for (name, _, text) in odd {
            assert_eq!(host.text(&format!("gives_{name}"), json!({})), text, "{name}");
        }
        all_work(&mut host, "own");
    }

    fn an_unhandled_rejection_is_logged_and_the_extension_goes_on(place) {
        let sandbox = sandbox(place);
        let source = tool("rejects", "Promise.reject(new Error('nobody cares')); return 'done'")
            + &tool("late", "setTimeout(() => { throw new Error('thrown in a timer') }, 1); return 'done'")
            + &tool("tick", "process.nextTick(() => { throw new Error('thrown in a tick') }); return 'done'")
            + &tool("handled", "const p = Promise.reject(new Error('handled soon')); p.catch(() => {}); return 'done'")
            + &tool(
                "chain",
                "Promise.reject({ get message() { Promise.reject(new Error('another')); return 'first' } }); return 'done'",
            )
            + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let mut host = sandbox.rpc(&[]);
        for name in ["rejects", "late", "tick", "handled", "chain"] {
            assert_eq!(host.text(name, json!({})), "done", "{name}");
            all_work(&mut host, "own");
        }
        for said in ["nobody cares", "thrown in a timer", "thrown in a tick", "first", "another"] {
            eventually(said, || log(&sandbox, "bad").contains(said));
        }
        let log = log(&sandbox, "bad");
        assert!(log.contains("index.ts:"), "places: {log}");
        assert!(!log.contains("handled soon"), "{log}");
    }

    fn a_definition_with_a_throwing_getter(place) {
        let sandbox = sandbox(place);
        script(&sandbox, "bad", "pi.registerTool({ get name() { throw new Error('in the name') } });");
        script(
            &sandbox,
            "worse",
            "pi.registerTool({ name: 'x', description: 'd', parameters: { get type() { throw new Error('in the schema') } }, execute() {} });",
        );
        let (code, listing) = sandbox.json(&["tools"]);
        assert_eq!(code, 0);
        let text = listing["diagnostics"].to_string();
        for part in ["bad", "in the name", "worse", "in the schema"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(listing["tools"].to_string().contains("\"good\""), "{listing:#}");
    }

    fn exit_ends_the_extension_and_nothing_else(place) {
        let sandbox = sandbox(place);
        file(&sandbox, "leaves", "index.ts", "process.exit(3);\nexport default () => {};\n");
        let source = tool("leave", "process.exit(7)")
            + &tool("stay", "try { process.exit(8) } catch {} finally { for (;;); }")
            + &tool("abort", "process.abort()")
            + &tool("own", "return 'fine'");
        script(&sandbox, "bad", &source);
        let (_, listing) = sandbox.json(&["tools"]);
        let text = listing["diagnostics"].to_string();
        assert!(text.contains("leaves") && text.contains("the extension called process.exit(3)"), "{text}");
        let mut host = sandbox.rpc(&[]);
        for (name, code) in [("leave", 7), ("stay", 8)] {
            let why = format!("extension bad has gone: the extension called process.exit({code})");
            crate::hostile_scripts::support::fails(&mut host, name, "unavailable", &[&why]);
            assert_eq!(host.text("good", json!({})), "fine");
        }
        all_work(&mut host, "own");
    }
}
