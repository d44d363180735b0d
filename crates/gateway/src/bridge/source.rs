//! The text of the extension: our TypeScript with the tools put in.
//!
//! Nothing of a tool stands in the text as code. Each is one JSON text within one string of ASCII, so that no name or
//! description can end the string, and none can look different in an editor from what it is.

use serde_json::{Value, json};

use super::BridgeTool;

const WIRE: &str = include_str!("wire.ts");
const OFFER: &str = include_str!("offer.ts");
const TOOLS_HERE: &str = "\t//@tools\n";
const START_HERE: &str = "\t//@start\n";

/// The extension that offers `tools`. `start` is the command with which it starts a gateway when the environment names
/// none.
pub fn source(tools: &[BridgeTool], start: &[String]) -> String {
    let lines: String = tools
        .iter()
        .map(|tool| {
            let tool = json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters });
            // `JSON.parse`, because `__proto__` in a literal is something else than a key.
            format!("\tJSON.parse({}),\n", literal(&tool.to_string()))
        })
        .collect();
    let words: String = start.iter().map(|word| format!("\t{},\n", literal(word))).collect();
    [&WIRE.replacen(TOOLS_HERE, &lines, 1).replacen(START_HERE, &words, 1), OFFER].concat()
}

/// A string literal in ASCII.
fn literal(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    let mut out = String::with_capacity(quoted.len());
    let mut units = [0_u16; 2];
    for c in quoted.chars() {
        if (' '..='~').contains(&c) {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_say_stays_within_its_string() {
        let hostile = "\"); process.exit(1); (\"\\\u{2028}`${x}` */ \u{202e} ü 😀 \u{7f} </script>\n//@start\n";
        let tool = BridgeTool::new("t", hostile, &json!({ "properties": { "__proto__": { "const": hostile } } }));
        let text = source(&[tool], &[hostile.to_owned()]);
        assert!(text.is_ascii());
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("\tJSON.parse(")).collect();
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        let inside = line.strip_prefix("\tJSON.parse(").and_then(|rest| rest.strip_suffix("),")).unwrap();
        let json: String = serde_json::from_str(inside).unwrap();
        let tool: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(tool["description"], hostile);
        assert_eq!(tool["parameters"]["properties"]["__proto__"]["const"], hostile);
    }

    #[test]
    fn the_places_are_there() {
        assert!(WIRE.contains(TOOLS_HERE) && WIRE.contains(START_HERE));
        let text = source(&[], &[]);
        assert!(!text.contains("//@"), "nothing is left of the places");
    }
}
