//! Channels that are Python files, run by the binary.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use jackfield_test_support::{Sandbox, eventually};
use serde_json::json;

use super::support::{complaints, sandbox, save};

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
    run_with(sandbox, name, &["--respond", "echo", "--watch"])
}

fn run_with(sandbox: &Sandbox, name: &str, more: &[&str]) -> Running {
    sandbox.run(&["--yes", "grant", &format!("channels.{name}"), "agent"]).exits(0);
    let mut command = sandbox.command(&[&["channel", "run", name][..], more].concat());
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

/// The outcome that pith's documents ask for, where pith gives a channel up, loses the message and hands commands to the model.
#[test]
fn case_16_failures_are_tried_again_with_longer_pauses_and_nothing_is_lost() {
    let sandbox = sandbox();
    let folder = sandbox.path("shaky");
    fs::create_dir_all(folder.join("in")).expect("a folder");
    let shaky = r#"
import time as _time
_connect, _recv, _send = connect, recv, send
counts = {"connect": 4, "recv": 2, "send": 3}

def fails(what):
    with open(FOLDER + "/log", "a") as file:
        print(what, _time.monotonic(), file=file)
    counts[what] -= 1
    if counts[what] >= 0:
        raise OSError(what + " fails as asked")

def connect():
    fails("connect")
    _connect()

def recv():
    fails("recv")
    return _recv()

def send(incoming, text):
    fails("send")
    _send(incoming, text)
"#;
    let file = sandbox.home().join("extensions/channels/shaky.py");
    sandbox.write(&file, &(plain(&folder) + shaky));
    sandbox.run(&["channel", "allow", "shaky", "bob"]).exits(0);
    let heard = sandbox.path("heard");
    let respond = format!("command:sh -c 'tee -a {}'", heard.display());
    // Said before anything is connected, and answered once all of it works.
    fs::write(folder.join("in/0"), "early").expect("a message");
    let _running = run_with(&sandbox, "shaky", &["--respond", &respond, "--retry-ms", "40"]);
    let early = folder.join("out/0");
    eventually("an answer", || early.exists());
    assert_eq!(fs::read_to_string(&early).expect("the answer"), "early / tuple");
    assert_eq!(asked(&folder, "1", "hi"), "hi / tuple");

    let log = fs::read_to_string(folder.join("log")).expect("a log");
    let times = |what: &str| -> Vec<f64> {
        log.lines().filter_map(|line| line.strip_prefix(what)?.trim().parse().ok()).collect()
    };
    let connects = times("connect");
    assert_eq!(connects.len(), 5, "{log}");
    for (pair, least) in connects.windows(2).zip([40, 80, 160, 320]) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(least).as_secs_f64(), "pauses double: {connects:?}");
    }
    assert_eq!(times("send").len(), 3 + 2, "three that failed, and each answer once: {log}");

    // The host's commands come before whoever answers, and each sender has a session.
    let info = asked(&folder, "2", "/info");
    assert!(info.starts_with("session shaky-") && info.contains("messages 2"), "{info}");
    assert!(asked(&folder, "3", "/new").starts_with("new session shaky-"));
    let heard = fs::read_to_string(heard).expect("what the program heard");
    assert!(heard.contains("early") && heard.contains("hi") && !heard.contains('/'), "{heard}");
}

#[test]
fn a_channel_without_its_functions_is_reported() {
    let sandbox = sandbox();
    let file = sandbox.home().join("extensions/channels/half.py");
    sandbox.write(&file, "def connect(): pass\ndef recv(): pass\n");
    let said = complaints(&sandbox);
    assert!(said.contains("half.py: missing send"), "{said}");
}
