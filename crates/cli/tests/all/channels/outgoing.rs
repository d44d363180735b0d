//! `send_message` and `send_media`: to whom, what, and above all what not.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use jackfield_test_support::{Sandbox, repository};
use serde_json::{Value, json};

use super::support::Chat;

const SECRET: &str = "what stays here";
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\n a picture";

/// A sandbox with a bot, whose API is a server on this machine.
struct Bot {
    sandbox: Sandbox,
    server: Child,
}

impl Bot {
    fn new() -> Self {
        let mut sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
        let script = repository().join("crates/cli/tests/all/pi_bridge/telegram.py");
        let mut command = Command::new("python3");
        let mut server =
            command.arg(script).arg(sandbox.path("")).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let mut port = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
        sandbox.env("TELEGRAM_BOT_TOKEN", "12345:not-a-real-token_0123456789");
        sandbox.env("TELEGRAM_API_BASE", &format!("http://127.0.0.1:{}", port.trim()));
        Self { sandbox, server }
    }

    fn allow(&self, who: &str) {
        self.sandbox.run(&["channel", "allow", "telegram", who]).exits(0);
    }

    /// What Telegram was asked to send: methods and bodies.
    fn sent(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.sandbox.path("telegram.jsonl")).unwrap_or_default();
        let calls = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let calls = calls.filter(|call| call["method"] != "getMe");
        calls
            .map(|call| (call["method"].as_str().unwrap_or("?").into(), call["body"].as_str().unwrap_or("?").into()))
            .collect()
    }

    fn call(&self, tool: &str, args: Value) -> (i32, Value) {
        self.sandbox.json(&["call", tool, "--args", &args.to_string()])
    }
}

impl Drop for Bot {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn names(sandbox: &Sandbox) -> Vec<String> {
    let (code, listed) = sandbox.json(&["tools"]);
    assert_eq!(code, 0, "{listed:#}");
    listed["tools"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn they_are_there_while_there_is_somebody_to_write_to() {
    let bot = Bot::new();
    assert!(names(&bot.sandbox).is_empty());
    bot.allow("42");
    assert_eq!(names(&bot.sandbox), ["send_media", "send_message"]);
    let (code, answer) = bot.call("send_message", json!({ "text": "hello", "reply_to": "7" }));
    assert_eq!(code, 0, "{answer:#}");
    let sent = bot.sent();
    let body: Value = serde_json::from_str(&sent[0].1).expect("JSON");
    assert_eq!(body, json!({ "chat_id": 42, "reply_parameters": { "message_id": 7 }, "text": "hello" }));
    let ledger = bot.sandbox.run(&["ledger", "tail"]).stdout;
    assert!(ledger.contains("client:channels"), "{ledger}");

    // Nobody else, and nobody who is not named where there are several.
    assert_eq!(bot.call("send_message", json!({ "text": "psst", "to": "666" })).0, 4);
    bot.allow("43");
    assert_eq!(bot.call("send_message", json!({ "text": "who?" })).0, 2);
    assert_eq!(bot.call("send_message", json!({ "text": "hello", "to": "43", "channel": "telegram" })).0, 0);
    assert_eq!(bot.call("send_message", json!({ "text": "hello", "to": "43", "channel": "carrier pigeon" })).0, 2);
    assert_eq!(bot.call("send_message", json!({ "text": "" })).0, 2);
    assert_eq!(bot.sent().len(), 2, "{:?}", bot.sent());

    // What the service refuses was not sent, and is not said to have been.
    fs::write(bot.sandbox.path("refusal"), "").expect("a mark");
    let (code, answer) = bot.call("send_message", json!({ "text": "hello", "to": "42" }));
    assert_ne!(code, 0, "{answer:#}");
    assert!(answer.to_string().contains("chat not found"), "{answer:#}");
    for who in ["42", "43"] {
        bot.sandbox.run(&["channel", "deny", "telegram", who]).exits(0);
    }
    assert!(names(&bot.sandbox).is_empty(), "with the last one they go");
}

#[test]
fn files_of_the_project_and_no_others() {
    let bot = Bot::new();
    bot.allow("42");
    let (project, outside) = (bot.sandbox.project(), bot.sandbox.path("outside"));
    fs::create_dir_all(project.join("out/.hidden")).expect("a folder");
    fs::create_dir_all(&outside).expect("a folder");
    fs::write(outside.join("secret.txt"), SECRET).expect("a file");
    for (name, content) in
        [("out/a.png", PICTURE), ("out/b.txt", b"text"), ("out/.hidden/c.txt", b"text"), (".env", b"K=V")]
    {
        fs::write(project.join(name), content).expect("a file");
    }
    fs::write(project.join("out/fake.png"), SECRET).expect("a file");
    fs::write(project.join("out/key.pem"), SECRET).expect("a file");
    fs::write(project.join("out/empty.txt"), "").expect("a file");
    fs::create_dir(project.join("out/folder.txt")).expect("a folder");
    symlink(outside.join("secret.txt"), project.join("out/link.txt")).expect("a link");
    symlink(project.join("out/b.txt"), project.join("out/inner.txt")).expect("a link");
    symlink(&outside, project.join("out/door")).expect("a link");
    fs::File::create(project.join("out/huge.txt")).and_then(|file| file.set_len(21 << 20)).expect("a file");
    assert!(Command::new("mkfifo").arg(project.join("out/pipe.txt")).status().expect("mkfifo runs").success());

    assert_eq!(bot.call("send_media", json!({ "path": "out/a.png", "caption": "look" })).0, 0);
    assert_eq!(bot.call("send_media", json!({ "path": "./out/b.txt" })).0, 0);
    assert_eq!(bot.call("send_media", json!({ "path": "out/a.png", "type": "document" })).0, 0);
    let sent = bot.sent();
    assert_eq!(
        sent.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>(),
        ["sendPhoto", "sendDocument", "sendDocument"]
    );
    assert!(
        sent[0].1.contains("name=\"photo\"; filename=\"a.png\"") && sent[0].1.contains("\r\n\r\nlook\r\n"),
        "{}",
        sent[0].1
    );

    let secret = outside.join("secret.txt").display().to_string();
    let refused = [
        secret.as_str(),
        "/etc/hostname",
        "../outside/secret.txt",
        "out/../../outside/secret.txt",
        "out/..",
        "",
        ".",
        "/",
        "~/x.txt",
        "file:///etc/x.txt",
        "out/link.txt",
        "out/inner.txt",
        "out/door/secret.txt",
        "out/.hidden/c.txt",
        ".env",
        "out/key.pem",
        "out/fake.png",
        "out/empty.txt",
        "out/folder.txt",
        "out/huge.txt",
        "out/pipe.txt",
        "out/none.txt",
        "out/b.txt\u{0}.png",
    ];
    for path in refused {
        let (code, answer) = bot.call("send_media", json!({ "path": path }));
        assert!(code != 0, "{path}: {answer:#}");
        assert!(!answer.to_string().contains(SECRET), "{answer:#}");
    }
    assert_eq!(bot.call("send_media", json!({ "path": "out/b.txt", "type": "photo" })).0, 4);
    assert_eq!(bot.sent().len(), 3, "nothing of that went out");
}

#[test]
fn a_link_swapped_in_at_any_moment_leads_nowhere() {
    let bot = Bot::new();
    bot.allow("42");
    let (project, outside) = (bot.sandbox.project(), bot.sandbox.path("outside"));
    for folder in [project.join("out"), outside.clone()] {
        fs::create_dir_all(folder).expect("a folder");
    }
    fs::write(project.join("out/a.txt"), "fine").expect("a file");
    fs::write(outside.join("a.txt"), SECRET).expect("a file");
    symlink(&outside, project.join("door")).expect("a link");
    let over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let (out, door, spare) = (project.join("out"), project.join("door"), project.join("spare"));
            while !over.load(Ordering::Acquire) {
                // The folder and the link change places.
                for (from, to) in [(&out, &spare), (&door, &out), (&spare, &door)] {
                    fs::rename(from, to).expect("renamed");
                }
            }
        });
        let mut rpc = bot.sandbox.rpc(&[]);
        for _ in 0..60 {
            rpc.ask(json!({ "type": "call_tool", "tool": "send_media", "args": { "path": "out/a.txt" } }));
        }
        over.store(true, Ordering::Release);
    });
    let (out, door, spare) = (project.join("out"), project.join("door"), project.join("spare"));
    if fs::symlink_metadata(&out).expect("there").is_symlink() {
        for (from, to) in [(&out, &spare), (&door, &out), (&spare, &door)] {
            fs::rename(from, to).expect("renamed");
        }
    }
    assert_eq!(bot.call("send_media", json!({ "path": "out/a.txt" })).0, 0, "once it stays, it is sent");
    let sent = bot.sent();
    assert!(sent.iter().all(|(_, body)| !body.contains(SECRET)), "{sent:?}");
}

#[test]
fn a_channel_of_an_extension_takes_texts() {
    let chat = Chat::new("ok");
    chat.allow("ada");
    let call = |tool: &str, args: Value| chat.sandbox.json(&["call", tool, "--args", &args.to_string()]);
    let (code, answer) = call("send_message", json!({ "text": "hello", "to": "ada", "channel": "chat" }));
    assert_eq!(code, 0, "{answer:#}");
    assert_eq!(chat.sent_to("ada"), ["hello"]);
    fs::write(chat.sandbox.project().join("a.txt"), "text").expect("a file");
    let (code, answer) = call("send_media", json!({ "path": "a.txt" }));
    assert_eq!(code, 1, "{answer:#}");
    assert!(answer.to_string().contains("takes no files"), "{answer:#}");
}
