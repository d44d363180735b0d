//! The host's own Telegram channel against a server on this machine that speaks the Bot API, well and badly.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use jackfield_test_support::{Sandbox, eventually};
use serde_json::{Value, json};

use super::support::{Running, ledger};

const TOKEN: &str = "12345:not-a-real-token_0123456789";

/// What the server does instead of answering.
#[derive(Clone)]
enum Fault {
    /// This status and body.
    Say(u16, String),
    /// Hangs up at once.
    HangUp,
    /// Says that more comes than does.
    CutShort,
    /// So many megabytes.
    Huge(usize),
}

#[derive(Default)]
struct State {
    updates: Vec<(i64, Value)>,
    next: i64,
    sent: Vec<Value>,
    offsets: Vec<i64>,
    polls: VecDeque<Fault>,
    sends: VecDeque<Fault>,
    calls: usize,
    refused: Vec<Instant>,
}

#[derive(Clone)]
struct Server {
    state: Arc<Mutex<State>>,
    base: String,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self { state: Arc::new(Mutex::new(State { next: 1000, ..State::default() })), base };
        let serving = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = serving.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn say(&self, user: i64, text: &str) {
        self.update(json!({
            "message": { "message_id": 1, "text": text, "chat": { "id": user, "type": "private" },
                "from": { "id": user, "first_name": "Somebody" } }
        }));
    }

    fn update(&self, mut update: Value) {
        let mut state = self.state();
        state.next += 1;
        update["update_id"] = json!(state.next);
        let number = state.next;
        state.updates.push((number, update));
    }

    fn sent_to(&self, chat: i64) -> Vec<String> {
        let texts = self.state().sent.clone();
        texts
            .iter()
            .filter(|sent| sent["chat_id"] == chat)
            .map(|sent| sent["text"].as_str().unwrap_or("?").to_owned())
            .collect()
    }

    #[track_caller]
    fn hears(&self, chat: i64, texts: &[&str]) {
        eventually(&format!("{chat} hears {texts:?}, not {:?}", self.sent_to(chat)), || {
            self.sent_to(chat).len() >= texts.len()
        });
        assert_eq!(self.sent_to(chat), texts);
    }

    fn serve(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
        let (mut line, mut length, mut path) = (String::new(), 0, String::new());
        while reader.read_line(&mut line).unwrap_or(0) > 0 && line.trim() != "" {
            if path.is_empty() {
                path = line.split(' ').nth(1).unwrap_or_default().to_owned();
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            line.clear();
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let params: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some(method) = path.strip_prefix(&format!("/bot{TOKEN}/")) else {
            return answer(
                &mut stream,
                401,
                &json!({"ok": false, "error_code": 401, "description": "Unauthorized"}).to_string(),
            );
        };
        self.state().calls += 1;
        let fault = match method {
            "getUpdates" => self.state().polls.pop_front(),
            "sendMessage" => self.state().sends.pop_front(),
            _ => None,
        };
        match fault {
            Some(Fault::Say(status, text)) => {
                self.state().refused.push(Instant::now());
                return answer(&mut stream, status, &text);
            }
            Some(Fault::HangUp) => return,
            Some(Fault::CutShort) => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"ok\":true").ok();
                return;
            }
            Some(Fault::Huge(megabytes)) => {
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", megabytes << 20);
                let piece = vec![b' '; 1 << 20];
                if stream.write_all(head.as_bytes()).is_ok() {
                    (0..megabytes).all(|_| stream.write_all(&piece).is_ok());
                }
                return;
            }
            None => {}
        }
        let result = match method {
            "getMe" => json!({ "id": 12345, "is_bot": true, "username": "test_bot" }),
            "getUpdates" => self.updates(&params),
            "sendMessage" => {
                let units = params["text"].as_str().unwrap_or_default().encode_utf16().count();
                if !(1..=4096).contains(&units) {
                    let text =
                        json!({"ok": false, "error_code": 400, "description": "Bad Request: message is too long"});
                    return answer(&mut stream, 400, &text.to_string());
                }
                self.state().sent.push(params);
                json!({ "message_id": 7 })
            }
            _ => json!(null),
        };
        answer(&mut stream, 200, &json!({ "ok": true, "result": result }).to_string());
    }

    /// As Telegram does: what is below the offset is confirmed and gone.
    fn updates(&self, params: &Value) -> Value {
        let offset = params["offset"].as_i64().unwrap_or(0);
        self.state().offsets.push(offset);
        let until = Instant::now() + Duration::from_millis(300);
        loop {
            {
                let mut state = self.state();
                state.updates.retain(|(number, _)| *number >= offset);
                let limit = usize::try_from(params["limit"].as_u64().unwrap_or(100)).unwrap_or(100);
                if !state.updates.is_empty() || Instant::now() > until {
                    return state.updates.iter().take(limit).map(|(_, update)| update.clone()).collect();
                }
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok();
}

fn sandbox(server: &Server) -> Sandbox {
    let mut sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    sandbox.env("TELEGRAM_API_BASE", &server.base);
    sandbox
}

fn with_token(server: &Server) -> Sandbox {
    let mut sandbox = sandbox(server);
    sandbox.env("TELEGRAM_BOT_TOKEN", TOKEN);
    sandbox
}

fn run(sandbox: &Sandbox, respond: &str) -> Running {
    Running::start(sandbox, &["channel", "run", "telegram", "--retry-ms", "5", "--respond", respond])
}

fn refusal(code: u16, description: &str) -> Fault {
    Fault::Say(code, json!({ "ok": false, "error_code": code, "description": description }).to_string())
}

#[test]
fn messages_come_in_and_long_answers_go_out_in_parts() {
    let server = Server::start();
    let sandbox = with_token(&server);
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    let running = run(&sandbox, "command:sh -c 'read -r text; [ $text = long ] && seq 1 3000 || echo got $text'");
    server.say(42, "hello");
    server.hears(42, &["got hello"]);
    server.say(42, "/new@test_bot");
    eventually("a new session", || server.sent_to(42).len() == 2);
    assert!(server.sent_to(42)[1].starts_with("new session telegram-"));
    server.say(7, "who are you?");
    eventually("a stranger gets a code", || server.sent_to(7).len() == 1);
    assert!(server.sent_to(7)[0].contains("pairing code"));
    // Not in a group, where others would read it; and what is no text is passed over.
    server.update(
        json!({"message": {"message_id": 1, "text": "hi all", "chat": {"id": -5, "type": "group"}, "from": {"id": 8}}}),
    );
    server.update(
        json!({"message": {"message_id": 1, "photo": [], "chat": {"id": 42, "type": "private"}, "from": {"id": 42}}}),
    );
    server.update(json!({"edited_message": {}}));
    server.update(json!({"message": 7}));
    server.say(42, "long");
    let whole: Vec<String> = (1..=3000).map(|number| number.to_string()).collect();
    eventually("all parts", || server.sent_to(42)[2..].join("\n") == whole.join("\n"));
    assert_eq!(server.sent_to(-5), Vec::<String>::new());
    running.stop();
    let last = server.state().next;
    let offset = fs::read_to_string(sandbox.home().join("channels/telegram/offset")).expect("an offset");
    assert_eq!(offset, (last + 1).to_string());
    ledger(&sandbox);
}

#[test]
fn whatever_telegram_answers_it_is_tried_again() {
    let server = Server::start();
    let sandbox = with_token(&server);
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    let polls = [
        refusal(500, "Internal Server Error"),
        Fault::Say(200, "{\"ok\":false}".into()),
        Fault::Say(200, "this is not JSON".into()),
        Fault::Say(200, "{\"ok\":true,\"result\":{}}".into()),
        Fault::Say(200, "{\"ok\":true,\"result\":[7,{},{\"update_id\":\"x\"}]}".into()),
        Fault::Say(502, "<html>bad gateway</html>".into()),
        Fault::HangUp,
        Fault::CutShort,
        Fault::Huge(1024),
        Fault::Say(302, String::new()),
    ];
    server.state().polls.extend(polls);
    let running = run(&sandbox, "echo");
    server.say(42, "hello");
    server.hears(42, &["hello"]);
    let sends = [refusal(500, "oops"), Fault::HangUp, Fault::Say(200, "nonsense".into()), Fault::CutShort];
    server.state().sends.extend(sends);
    server.say(42, "again");
    server.hears(42, &["hello", "again"]);
    eventually("faults in receiving are told", || running.count("receive_failed") + running.count("lost") >= 8);
    eventually("faults in sending are told", || running.count("send_failed") >= 4);
    // A chat that is closed to the bot does not hold up the others.
    server.state().sends.push_back(refusal(403, "Forbidden: bot was blocked by the user"));
    server.say(42, "blocked");
    let told = running.tells("message_failed");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("blocked by the user")), "{told}");
    server.say(42, "and on");
    server.hears(42, &["hello", "again", "and on"]);
    running.stop();
}

#[test]
fn telegram_s_wish_to_wait_is_honoured() {
    let server = Server::start();
    let sandbox = with_token(&server);
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    let wait =
        json!({"ok": false, "error_code": 429, "description": "Too Many Requests", "parameters": {"retry_after": 1}});
    server.state().polls.push_back(Fault::Say(429, wait.to_string()));
    server.state().sends.push_back(Fault::Say(429, wait.to_string()));
    let running = run(&sandbox, "echo");
    server.say(42, "hello");
    server.hears(42, &["hello"]);
    let refused = server.state().refused.clone();
    assert_eq!(refused.len(), 2);
    assert!(refused[1] - refused[0] >= Duration::from_secs(1) && refused[1].elapsed() >= Duration::from_secs(1));
    running.stop();
}

#[test]
fn another_program_on_the_same_bot_is_named() {
    let server = Server::start();
    let sandbox = with_token(&server);
    server.state().polls.push_back(refusal(409, "Conflict: terminated by other getUpdates request"));
    let running = run(&sandbox, "echo");
    let told = running.tells("receive_failed");
    let text = told["message"].as_str().expect("a text");
    assert!(text.contains("(409)") && text.contains("another program receives for this bot"), "{text}");
    running.stop();
}

#[test]
fn the_offset_is_kept_and_nothing_is_asked_twice() {
    let server = Server::start();
    let sandbox = with_token(&server);
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    let begun = sandbox.path("begun");
    let running = run(&sandbox, &format!("command:sh -c 'touch {}; sleep 600'", begun.display()));
    server.say(42, "one");
    server.say(42, "two");
    let inbox = sandbox.home().join("channels/telegram/inbox");
    let kept = || {
        fs::read_dir(&inbox)
            .map_or(0, |all| all.flatten().filter(|e| !e.file_name().to_string_lossy().starts_with('.')).count())
    };
    eventually("both are kept", || begun.exists() && kept() == 2);
    running.kill();
    // As if it had been killed between keeping the second and noting that: what is kept is not asked for again.
    let last = server.state().next;
    fs::write(sandbox.home().join("channels/telegram/offset"), last.to_string()).expect("an older offset");
    server.say(42, "three");
    let running = run(&sandbox, "echo");
    server.hears(42, &["one", "two", "three"]);
    running.stop();
    assert_eq!(kept(), 0);
    let running = run(&sandbox, "echo");
    server.say(42, "four");
    server.hears(42, &["one", "two", "three", "four"]);
    running.stop();
    let offsets = server.state().offsets.clone();
    assert!(offsets.last().is_some_and(|offset| *offset > last), "{offsets:?}");
}

#[test]
fn the_token_comes_from_a_safe_place_and_is_shown_nowhere() {
    let server = Server::start();
    let sandbox = sandbox(&server);
    let words = ["channel", "run", "telegram", "--respond", "echo"];
    let missing = sandbox.run(&words).exits(7);
    assert!(missing.stderr.contains("TELEGRAM_BOT_TOKEN"), "{missing:#?}");
    let file = sandbox.home().join("secrets/TELEGRAM_BOT_TOKEN");
    sandbox.write(&file, &format!("{TOKEN}\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("readable");
    let open = sandbox.run(&words).exits(7);
    assert!(open.stderr.contains("chmod 600"), "{open:#?}");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("private");
    sandbox.run(&["channel", "allow", "telegram", "42"]).exits(0);
    server.state().polls.extend([
        Fault::HangUp,
        refusal(400, &format!("https://api.telegram.org/bot{TOKEN}/getUpdates is wrong")),
        Fault::CutShort,
    ]);
    server.state().sends.extend([Fault::HangUp, refusal(500, &format!("bot{TOKEN}"))]);
    let running = run(&sandbox, "command:env");
    server.say(42, "what do you know?");
    eventually("an answer", || !server.sent_to(42).is_empty());
    let heard = server.sent_to(42).concat();
    let news = format!("{:#?}", running.news());
    running.stop();
    let mut places = vec![news, heard];
    for entry in ["ledger", "logs/extensions"] {
        for file in fs::read_dir(sandbox.home().join(entry)).into_iter().flatten().flatten() {
            places.push(fs::read_to_string(file.path()).unwrap_or_default());
        }
    }
    for (number, place) in places.iter().enumerate() {
        assert!(!place.contains("not-a-real-token"), "place {number} shows the token: {place}");
    }
    // Nor does a program get it that answers, when it is in the environment.
    let sandbox = with_token(&server);
    sandbox.run(&["channel", "allow", "telegram", "43"]).exits(0);
    let running = run(&sandbox, "command:env");
    server.say(43, "and now?");
    eventually("an answer", || !server.sent_to(43).is_empty());
    assert!(!server.sent_to(43).concat().contains("not-a-real-token"));
    running.stop();
}

#[test]
fn a_token_that_is_wrong_is_said_to_be_and_goes_to_no_stranger() {
    let server = Server::start();
    let mut sandbox = sandbox(&server);
    sandbox.env("TELEGRAM_BOT_TOKEN", "99999:some-other-token");
    let running = run(&sandbox, "echo");
    let told = running.tells("connect_failed");
    assert!(told["message"].as_str().is_some_and(|text| text.contains("the token is not")), "{told}");
    running.stop();
    sandbox.env("TELEGRAM_API_BASE", "http://192.0.2.1");
    let refused = sandbox.run(&["channel", "run", "telegram", "--respond", "echo"]).exits(7);
    assert!(refused.stderr.contains("must be https"), "{refused:#?}");
    sandbox.env("TELEGRAM_BOT_TOKEN", "not a token");
    sandbox.run(&["channel", "run", "telegram", "--respond", "echo"]).exits(7);
}
