//! Slash commands of fake extensions.

use jackfield_protocol::{CommandAction, CommandSpec, Contributions};

use super::*;
use crate::testing::{FakeExtension, Stage, soon};

/// An extension with the command `Hi`, which displays its arguments.
fn greeter() -> FakeExtension {
    let commands = vec![CommandSpec { name: "Hi".to_owned(), description: String::new() }];
    let contributions = Contributions { commands, ..Contributions::default() };
    FakeExtension::new("greeter").contributes(contributions).answers(|call| match call.call {
        ExtensionCall::Command { args, .. } => Ok(Reply::Command(displays(&args))),
        other => Err(CallError::new(ErrorCode::Unsupported, format!("{other:?}"))),
    })
}

fn displays(text: &str) -> CommandReply {
    CommandReply { action: CommandAction::Display { display: text.to_owned() }, error: None }
}

#[tokio::test]
async fn a_command_is_found_in_any_spelling_and_recorded_without_its_arguments() {
    let stage = Stage::of([greeter()]).open();
    for name in ["hi", "/Hi", "greeter:hi"] {
        let outcome = soon(stage.host.run_command(name, "  there ")).await;
        assert_eq!((outcome.command.as_str(), outcome.extension), ("Hi", Some("greeter".into())), "{name}");
        assert_eq!(outcome.result, Ok(displays("there")), "{name}");
    }
    let ended = json!({ "command": "Hi", "is_error": false, "extension": "greeter" });
    assert_eq!(stage.evidence("slash_command.end"), vec![ended; 3]);
    assert!(!stage.ledger_text().contains("there "), "the ledger has the hash of the arguments only");
}

#[tokio::test]
async fn an_unknown_command_reaches_no_extension() {
    let stage = Stage::of([greeter()]).started().await;
    let outcome = soon(stage.host.run_command("bye", "")).await;
    assert_eq!(outcome.result.expect_err("no such command").code, ErrorCode::NotFound);
    assert_eq!((outcome.extension, stage.delivered()), (None, vec![]));
}

#[tokio::test]
async fn an_error_of_a_command_carries_no_control_sequences_and_names_its_extension() {
    let error = CallError::new(ErrorCode::Internal, "it threw: \u{1b}[31mno");
    let stage = Stage::of([greeter().fails(error)]).started().await;
    let outcome = soon(stage.host.run_command("hi", "")).await;
    let expected = CallError::new(ErrorCode::Internal, "it threw: no").of(&"greeter".into());
    assert_eq!(outcome.result, Err(expected));
    assert_eq!(stage.evidence("slash_command.end")[0]["is_error"], true);
}
