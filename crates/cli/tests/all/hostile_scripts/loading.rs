//! Scripts that cannot be loaded: the message says which file, where in it, and what would help.

use serde_json::json;

use super::support::{both, file, sandbox, script, tool};

both! {
    fn what_cannot_be_loaded_says_why(place) {
        let sandbox = sandbox(place);
        let factory = "export default () => x;\n";
        let cases = [
            ("syntax", "const a = 1;\nconst b = = 2;\nexport default () => {};\n".to_owned(), vec!["syntax/index.ts:2:11"]),
            ("types", "export default (pi: ) => {};\n".to_owned(), vec!["types/index.ts:1:21"]),
            ("missing", format!("import x from 'left-pad-x/lib';\n{factory}"), vec!["'left-pad-x/lib'", "`npm install left-pad-x`"]),
            ("scoped", format!("import x from '@some/where/deep';\n{factory}"), vec!["`npm install @some/where`"]),
            ("relative", format!("import x from './not-there';\n{factory}"), vec!["'./not-there'", "relative/index.ts"]),
            ("throws", "export default () => {\n  throw new Error('not today');\n};\n".to_owned(), vec!["not today (at default (", "throws/index.ts:2:"]),
            ("rejects", "export default async () => { await null; throw new Error('not now'); };\n".to_owned(), vec!["not now"]),
            ("top", "throw new Error('at the top');\n".to_owned(), vec!["at the top", "top/index.ts:1:"]),
            ("number", "export default 42;\n".to_owned(), vec!["does not export a valid factory function", "number/index.ts"]),
            ("nothing", "export const a = 1;\n".to_owned(), vec!["does not export a valid factory function"]),
            ("binary", "\u{0}\u{1}\u{fffd}ELF\n".to_owned(), vec!["binary/index.ts"]),
            ("addon", format!("import x from 'fast-thing';\n{factory}"), vec!["fast-thing/build/fast.node is a native addon"]),
        ];
        for (id, text, _) in &cases {
            file(&sandbox, id, "index.ts", text);
        }
        let package = "addon/node_modules/fast-thing";
        file(&sandbox, package, "package.json", r#"{"name": "fast-thing", "version": "1.0.0", "main": "index.js"}"#);
        file(&sandbox, package, "index.js", "module.exports = require('./build/fast.node');\n");
        file(&sandbox, package, "build/fast.node", "\u{7f}ELF");
        let (code, listing) = sandbox.json(&["tools"]);
        assert_eq!(code, 0, "{listing:#}");
        let diagnostics = listing["diagnostics"].as_array().expect("a list");
        for (id, _, parts) in &cases {
            let said = diagnostics.iter().map(|one| one["message"].as_str().unwrap_or_default());
            let said: Vec<&str> = said.filter(|message| message.contains(&format!("extension {id}"))).collect();
            assert!(!said.is_empty(), "nothing about {id}: {diagnostics:#?}");
            for part in parts {
                assert!(said.iter().any(|message| message.contains(part)), "{id}: {part:?} in {said:#?}");
            }
        }
        assert!(listing["tools"].to_string().contains("\"good\""), "{listing:#}");
    }

    fn one_broken_among_ten(place) {
        let sandbox = sandbox(place);
        for number in 0..9 {
            script(&sandbox, &format!("e{number}"), &tool(&format!("t{number}"), &format!("return 'from {number}'")));
        }
        file(&sandbox, "broken", "index.ts", "export default () => { throw new Error('broken') };\n");
        let mut host = sandbox.rpc(&[]);
        for number in 0..9 {
            assert_eq!(host.text(&format!("t{number}"), json!({})), format!("from {number}"));
        }
        assert_eq!(host.text("good", json!({})), "fine");
    }
}
