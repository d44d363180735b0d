//! Counts the words of a text, or of a file of the project: one source, two builds.
//!
//! As a component (`cargo xtask examples wordcount-wasm`), which reaches nothing but what it imports, and as a program
//! that speaks frames (`cargo build` in this directory).

use jackfield_sdk::{Answer, Args, Extension, Result, host, json};

fn count(args: &Args) -> Result<Answer> {
    let text = match args.get("path").as_str() {
        Some(path) => host::read(path)?,
        None => args.text("text")?.to_owned(),
    };
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    Ok(Answer::text(format!("{lines} lines, {words} words")).with_details(json!({ "lines": lines, "words": words })))
}

jackfield_sdk::extension! {
    Extension::new("wordcount", "1.0.0")
        .description("Counts lines and words of a text or of a file of the project.")
        .wants("read", &[], "count_words reads the file that it is given")
        .tool(
            "count_words",
            "Counts lines and words of a text, or of a file of the project.",
            json!({
                "type": "object",
                "properties": { "text": { "type": "string" }, "path": { "type": "string" } },
                "oneOf": [{ "required": ["text"] }, { "required": ["path"] }],
                "additionalProperties": false,
            }),
            count,
        )
        .command("words", "Counts the words that follow", |args| Ok(format!("{} words", args.split_whitespace().count())))
}
