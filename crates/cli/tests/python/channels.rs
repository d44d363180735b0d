//! Channels that are Python files, run by the binary.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use jackfield_test_support::{Sandbox, eventually};
use serde_json::json;

use crate::support::{complaints, sandbox, save};

/// The shape of the document that this format comes from: three functions and a type that nobody imports.
fn slack(folder: &Path, greeting: &str) -> String {
    format!(
        r#""""Messages from a folder."""
import asyncio, os

FOLDER = {:?}

async def connect() -> None:
    """Initialize the connection and authenticate."""
    os.makedirs(FOLDER + "/out", exist_ok=True)

async def recv() -> Message:
    """Wait for and return the next incoming message."""
    while True:
        for name in sorted(os.listdir(FOLDER + "/in")):
            with open(f"{{FOLDER}}/in/{{name}}") as file:
                text = file.read()
            os.unlink(f"{{FOLDER}}/in/{{name}}")
            return Message(text, sender="ada", channel="slack", metadata={{"name": name}})
        await asyncio.sleep(0.01)

async def send(message: Message) -> None:
    """Send a response back."""
    path = f"{{FOLDER}}/out/{{message.metadata['name']}}"
    with open(path + "~", "w") as file:
        file.write(f"{greeting} {{message.sender}}: {{message.text}}")
    os.rename(path + "~", path)
"#,
        folder.display().to_string()
    )
}

/// The other contract: a dict comes in, and goes back with the text; plain functions.
fn plain(folder: &Path) -> String {
    format!(
        r#"import os, time
FOLDER = {:?}
def connect():
    os.makedirs(FOLDER + "/out", exist_ok=True)
def recv():
    while True:
        for name in sorted(os.listdir(FOLDER + "/in")):
            text = open(f"{{FOLDER}}/in/{{name}}").read()
            os.unlink(f"{{FOLDER}}/in/{{name}}")
            return {{"text": text, "user": "bob", "reply_to": (name,)}}
        time.sleep(0.01)
def send(incoming, text):
    path = f"{{FOLDER}}/out/{{incoming['reply_to'][0]}}"
    with open(path + "~", "w") as file:
        file.write(text + " / " + type(incoming["reply_to"]).__name__)
    os.rename(path + "~", path)
"#,
        folder.display().to_string()
    )
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It is ours; one that has gone already is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

fn run(sandbox: &Sandbox, name: &str) -> Running {
    sandbox.run(&["--yes", "grant", &format!("channels.{name}"), "agent"]).exits(0);
    let mut command = sandbox.command(&["channel", "run", name, "--respond", "echo", "--watch"]);
    Running(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("the binary runs"))
}

/// Puts a message into the folder and waits for the answer.
#[track_caller]
fn asked(folder: &Path, name: &str, text: &str) -> String {
    let draft = folder.join("draft");
    fs::write(&draft, text).expect("a draft");
    fs::rename(&draft, folder.join("in").join(name)).expect("sent");
    let answer = folder.join("out").join(name);
    eventually("an answer", || answer.exists());
    fs::read_to_string(answer).expect("the answer")
}

#[test]
fn the_channel_of_the_document_works_as_it_stands_and_is_switched_when_it_is_saved() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.home().join("extensions.yaml"), "extensions: {watch: {enabled: true, debounce_ms: 20}}\n");
    let folder = sandbox.path("slack");
    fs::create_dir_all(folder.join("in")).expect("a folder");
    let file = sandbox.home().join("extensions/channels/slack.py");
    sandbox.write(&file, &slack(&folder, "to"));
    let (_, shown) = sandbox.json(&["inspect", &file.display().to_string()]);
    assert_eq!(shown["channels"], json!([{ "name": "slack", "description": "Messages from a folder." }]));
    sandbox.run(&["channel", "allow", "slack", "ada"]).exits(0);
    let _running = run(&sandbox, "slack");
    assert_eq!(asked(&folder, "1", "hi"), "to ada: hi");
    save(&file, &slack(&folder, "for"));
    let mut number = 1;
    eventually("the new version answers, and no message is lost on the way", || {
        number += 1;
        let answer = asked(&folder, &number.to_string(), "ho");
        assert!(answer == "to ada: ho" || answer == "for ada: ho", "{answer}");
        answer.starts_with("for")
    });
}

#[test]
fn plain_functions_get_back_the_very_object_that_came_in() {
    let sandbox = sandbox();
    let folder = sandbox.path("plain");
    fs::create_dir_all(folder.join("in")).expect("a folder");
    sandbox.write(&sandbox.home().join("extensions/channels/plain.py"), &plain(&folder));
    sandbox.run(&["channel", "allow", "plain", "bob"]).exits(0);
    let _running = run(&sandbox, "plain");
    assert_eq!(asked(&folder, "1", "hi"), "hi / tuple");
    assert_eq!(asked(&folder, "2", "ho"), "ho / tuple");
}

#[test]
fn a_channel_without_its_functions_is_reported() {
    let sandbox = sandbox();
    let file = sandbox.home().join("extensions/channels/half.py");
    sandbox.write(&file, "def connect(): pass\ndef recv(): pass\n");
    let said = complaints(&sandbox);
    assert!(said.contains("half.py: missing send"), "{said}");
}
