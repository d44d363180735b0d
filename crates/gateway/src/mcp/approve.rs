//! A question for permission as a form that the agent shows to its person.

use jackfield_host::{Answer, Question};
use serde_json::{Value, json};

const ONCE: &str = "once";
const THIS_RUN: &str = "while jackfield runs";
const HERE: &str = "always in this project";
const ALWAYS: &str = "always";
const NO: &str = "no";

/// The parameters of `elicitation/create`.
pub(crate) fn form(question: &Question) -> Value {
    json!({
        "message": question.lines().join("\n"),
        "requestedSchema": {
            "type": "object",
            "properties": {
                "allow": {
                    "type": "string",
                    "title": "Allow?",
                    "enum": [ONCE, THIS_RUN, HERE, ALWAYS, NO],
                    "default": NO,
                },
            },
            "required": ["allow"],
        },
    })
}

/// What the person's answer means. A form that was closed without an answer is none; whatever else is no clear yes is a no.
pub(crate) fn answer(answer: &Value) -> Answer {
    match answer.get("action").and_then(Value::as_str) {
        Some("accept") => {}
        Some("decline") => return Answer::No,
        _ => return Answer::Unanswered,
    }
    match answer.pointer("/content/allow").and_then(Value::as_str) {
        Some(ONCE) => Answer::Once,
        Some(THIS_RUN) => Answer::ThisRun,
        Some(HERE) => Answer::AlwaysHere,
        Some(ALWAYS) => Answer::Always,
        _ => Answer::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let said = |allow: &str| json!({ "action": "accept", "content": { "allow": allow } });
        assert_eq!(answer(&said("once")), Answer::Once);
        assert_eq!(answer(&said("always")), Answer::Always);
        assert_eq!(answer(&said("perhaps")), Answer::No);
        assert_eq!(answer(&json!({ "action": "decline", "content": { "allow": "once" } })), Answer::No);
        assert_eq!(answer(&json!({ "action": "cancel" })), Answer::Unanswered);
        assert_eq!(answer(&json!(null)), Answer::Unanswered);
    }
}
