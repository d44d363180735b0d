//! Input that is small to write and expensive to take.

use std::time::{Duration, Instant};

/// Long beside what the verbs take, and short beside what they took.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn nested_brackets_in_an_untrusted_project_cost_no_time() {
    let sandbox = crate::sandbox();
    for (name, text) in [("list", "[".repeat(1 << 20)), ("map", "{a: ".repeat(200_000))] {
        sandbox.write(&sandbox.project().join("extensions.yaml"), &text);
        sandbox.write(&sandbox.project().join("extensions/mcp/x.yaml"), &text);
        let began = Instant::now();
        sandbox.run(&["list"]).exits(0);
        assert!(began.elapsed() < SOON, "{name}: {:?}", began.elapsed());
    }
}

#[test]
fn a_script_has_no_more_tools_than_a_program() {
    let sandbox = crate::sandbox();
    let script = sandbox.path("many.ts");
    sandbox.write(
        &script,
        "export default function (pi) {\n\
           for (let i = 0; i < 20000; i++) {\n\
             pi.registerTool({ name: `t${i}`, label: 't', description: 'd', parameters: { type: 'object', properties: {} },\n\
               async execute() { return { content: [] }; } });\n\
           }\n\
         }\n",
    );
    let (code, shown) = sandbox.json(&["inspect", &script.display().to_string()]);
    assert_eq!((code, shown["tools"].as_array().map(Vec::len)), (0, Some(1000)));
    let warnings = shown["diagnostics"].to_string();
    assert!(warnings.contains("19000 tools were left out: an extension may have 1000"), "{warnings}");
}
