//! Streamable HTTP, as bytes on a socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use jackfield_test_support::{Sandbox, eventually};
use serde_json::{Value, json};

use super::support::{PATIENCE, Serving, learn, modern, odd, text, with_odd, with_servers};

/// What came back.
#[derive(Debug)]
struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    fn json(&self) -> Value {
        if self.header("content-type") == Some("text/event-stream") {
            // A server that has to start first makes a stream of the answer.
            return self.events().pop().expect("an answer").1;
        }
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The messages of a stream, with the ids of their events.
    fn events(&self) -> Vec<(String, Value)> {
        let mut events = Vec::new();
        for event in self.body.split("\n\n") {
            let field =
                |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
            if let Ok(message) = serde_json::from_str(&field("data: ")) {
                events.push((field("id: "), message));
            }
        }
        events
    }
}

/// A connection that stays until it is dropped.
struct Connection {
    reader: BufReader<TcpStream>,
    head: Reply,
}

impl Connection {
    fn open(serving: &Serving, method: &str, headers: &[(&str, &str)], body: &str) -> Self {
        Self::to(serving, method, "/mcp", headers, body)
    }

    fn to(serving: &Serving, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Self {
        let mut stream = TcpStream::connect(serving.address()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        let has = |name: &str| headers.iter().any(|(key, _)| *key == name);
        let bearer = format!("Bearer {}", serving.token.as_deref().unwrap_or_default());
        let usual = [
            ("host", serving.address()),
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        for (name, value) in
            usual.iter().filter(|(name, _)| !has(name)).chain(headers).filter(|(_, value)| !value.is_empty())
        {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).expect("sent");
        let mut reader = BufReader::new(stream);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a head");
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let status = lines[0].split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let headers = lines[1..].iter().filter_map(|line| line.split_once(": "));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        Self { reader, head: Reply { status, headers, body: String::new() } }
    }

    /// Reads what has been sent until it contains a text.
    #[track_caller]
    fn until(&mut self, wanted: &str) -> &Reply {
        while !self.head.body.contains(wanted) {
            let chunk = self.chunk().unwrap_or_else(|| panic!("it ended before {wanted:?}: {:?}", self.head));
            self.head.body.push_str(&chunk);
        }
        &self.head
    }

    fn chunk(&mut self) -> Option<String> {
        let mut size = String::new();
        self.reader.read_line(&mut size).ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok().filter(|size| *size > 0)?;
        let mut bytes = vec![0; size + 2];
        self.reader.read_exact(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..size]).into_owned())
    }

    fn whole(mut self) -> Reply {
        if self.head.header("transfer-encoding").is_some() {
            while let Some(chunk) = self.chunk() {
                self.head.body.push_str(&chunk);
            }
        } else {
            self.reader.read_to_string(&mut self.head.body).expect("a body");
        }
        self.head
    }
}

fn send(serving: &Serving, method: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    Connection::open(serving, method, headers, body).whole()
}

fn post(serving: &Serving, headers: &[(&str, &str)], message: &Value) -> Reply {
    send(serving, "POST", headers, &message.to_string())
}

fn request(id: u64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Shakes hands and gives the session's id.
fn session(serving: &Serving, capabilities: Value) -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
    let reply = post(serving, &[], &request(1, "initialize", params));
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.header("mcp-session-id").expect("a session").to_owned()
}

/// Calls a tool in a session of its own and gives the text.
pub fn tool(serving: &Serving, name: &str) -> String {
    let id = session(serving, json!({}));
    let call = request(2, "tools/call", json!({ "name": name, "arguments": {} }));
    text(&post(serving, &[("mcp-session-id", &id)], &call).json()["result"]).to_owned()
}

/// What a request without a token gets.
pub fn status_without_token(serving: &Serving) -> u16 {
    post(serving, &[("authorization", "")], &request(1, "ping", json!({}))).status
}

/// What a request gets that names the session of another token.
pub fn status_with_token_of_another(serving: &Serving) -> u16 {
    let id = session(serving, json!({}));
    let mut stream = Connection::to(serving, "POST", "/api/tokens", &[], r#"{"session":"other"}"#).whole().json();
    let token = stream["token"].take();
    let bearer = format!("Bearer {}", token.as_str().expect("a token"));
    post(serving, &[("authorization", &bearer), ("mcp-session-id", &id)], &request(2, "ping", json!({}))).status
}

fn served() -> (Sandbox, Serving) {
    let sandbox = with_odd(&[]);
    let serving = Serving::start(&sandbox, &[]);
    (sandbox, serving)
}

#[test]
fn only_this_machine_and_only_with_the_token() {
    let (sandbox, serving) = served();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for (header, status) in [
        (("host", "evil.example.com"), 403),
        (("host", "127.0.0.1.evil.example.com"), 403),
        (("origin", "http://evil.example.com"), 403),
        (("origin", "null"), 403),
        (("authorization", ""), 401),
        (("authorization", "Bearer wrong"), 401),
        (("content-type", "text/plain"), 415),
    ] {
        assert_eq!(post(&serving, &[header], &ping).status, status, "{header:?}");
    }
    assert_eq!(send(&serving, "GET", &[("authorization", "")], "").status, 401);
    assert_eq!(send(&serving, "DELETE", &[("host", "evil.example.com")], "").status, 403);
    let out = sandbox.run(&["mcp", "--http", "0.0.0.0:0"]);
    assert!(out.code != 0 && out.stderr.contains("127.0.0.1:0"), "{out:?}");
    let log = sandbox.run(&["ledger", "tail"]).stdout;
    assert!(!log.contains(serving.token.as_deref().expect("a token")));
}

#[test]
fn sessions_begin_serve_and_end() {
    let (_sandbox, serving) = served();
    let id = session(&serving, json!({}));
    let own: [(&str, &str); 1] = [("mcp-session-id", &id)];
    let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&serving, &own, &told).status, 202);
    let list = post(&serving, &own, &request(2, "tools/list", json!({})));
    assert_eq!(list.status, 200);
    assert!(list.json()["result"]["tools"].as_array().is_some_and(|tools| tools.len() > 20), "{list:?}");
    let ping = post(&serving, &own, &request(9, "ping", json!({})));
    assert_eq!((ping.status, ping.header("content-type")), (200, Some("application/json")));
    let call = request(3, "tools/call", json!({ "name": "odd__echo", "arguments": { "a": 1 } }));
    assert_eq!(text(&post(&serving, &own, &call).json()["result"]), "{\"a\": 1}");
    assert_eq!(post(&serving, &[("mcp-session-id", "nobody")], &call).status, 404);
    assert_eq!(post(&serving, &[], &call).status, 400, "no session");
    assert_eq!(post(&serving, &[own[0], ("mcp-protocol-version", "1999-01-01")], &call).status, 400);
    for (body, status) in [("{bad", 400), ("[]", 400), ("", 400), ("\u{0}", 400)] {
        let reply = send(&serving, "POST", &own, body);
        assert_eq!(reply.status, status, "{body:?}: {reply:?}");
        assert!(reply.json()["error"]["code"].as_i64().is_some_and(|code| code <= -32600), "{reply:?}");
    }
    assert_eq!(send(&serving, "GET", &[], "").status, 405);
    assert_eq!(send(&serving, "DELETE", &own, "").status, 204);
    assert_eq!(post(&serving, &own, &call).status, 404);
    assert_eq!(send(&serving, "DELETE", &own, "").status, 404);
}

#[test]
fn a_stream_that_breaks_goes_on_where_it_was() {
    let (_sandbox, serving) = served();
    let id = session(&serving, json!({}));
    let own: [(&str, &str); 1] = [("mcp-session-id", &id)];
    let meta = json!({ "progressToken": "p" });
    let call = request(2, "tools/call", json!({ "name": "odd__progress", "arguments": { "steps": 5 }, "_meta": meta }));
    let whole = post(&serving, &own, &call);
    assert_eq!(whole.header("content-type"), Some("text/event-stream"), "{whole:?}");
    let events = whole.events();
    assert_eq!(events.last().map(|(_, message)| message["id"].clone()), Some(json!(2)), "{whole:?}");
    let steps: Vec<_> = events.iter().filter_map(|(_, message)| message["params"]["progress"].as_u64()).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
    // From the third event on, once more.
    let after = events[2].0.clone();
    let rest = send(&serving, "GET", &[own[0], ("last-event-id", &after)], "").events();
    assert_eq!(rest, events[3..].to_vec());
    assert_eq!(send(&serving, "GET", &[own[0], ("last-event-id", "9999-1")], "").status, 404);
    assert_eq!(send(&serving, "GET", &[own[0], ("last-event-id", "nonsense")], "").status, 400);
    // One that breaks in the middle does not end the call.
    let wait = request(3, "tools/call", json!({ "name": "odd__wait", "arguments": { "seconds": 2.5 } }));
    let mut broken = Connection::open(&serving, "POST", &own, &wait.to_string());
    let primed = broken.until("id: ").body.clone();
    drop(broken);
    let after = primed.lines().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned();
    let rest = send(&serving, "GET", &[own[0], ("last-event-id", &after)], "").events();
    assert_eq!(rest.last().map(|(_, message)| text(&message["result"]).to_owned()), Some("2.5".to_owned()));
}

#[test]
fn news_and_questions_reach_a_session() {
    let (_sandbox, serving) = served();
    let id = session(&serving, json!({ "elicitation": {} }));
    let own: [(&str, &str); 1] = [("mcp-session-id", &id)];
    let mut news = Connection::open(&serving, "GET", &own, "");
    let change = request(2, "tools/call", json!({ "name": "odd__change", "arguments": {} }));
    post(&serving, &own, &change);
    news.until("notifications/tools/list_changed");
    let call = request(3, "tools/call", json!({ "name": "odd__elicit", "arguments": {} }));
    let mut stream = Connection::open(&serving, "POST", &own, &call.to_string());
    let question = stream
        .until("elicitation/create")
        .events()
        .into_iter()
        .map(|(_, message)| message)
        .find(|it| it["method"] == "elicitation/create")
        .expect("a question");
    let answer = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "accept", "content": { "name": "Ada" } } });
    assert_eq!(post(&serving, &own, &answer).status, 202);
    let whole = stream.whole();
    assert!(whole.body.contains("Ada"), "{whole:?}");
}

#[test]
fn requests_that_stand_for_themselves() {
    let (_sandbox, serving) = served();
    let says = |method: &str, name: &str| {
        [
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", method.to_owned()),
            ("mcp-name", name.to_owned()),
        ]
    };
    let ask = |headers: &[(&str, String)], message: &Value| {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        post(&serving, &headers, message)
    };
    let call = |arguments: Value| {
        request(7, "tools/call", modern(json!({ "name": "odd__echo", "arguments": arguments }), json!({})))
    };
    let good = ask(&says("tools/call", "odd__echo"), &call(json!({ "a": 1 })));
    assert_eq!((good.status, text(&good.json()["result"])), (200, "{\"a\": 1}"));
    assert!(good.header("mcp-session-id").is_none());
    let encoded = ask(&says("tools/call", "=?base64?b2RkX19lY2hv?="), &call(json!({})));
    assert_eq!(encoded.status, 200, "{encoded:?}");
    for (headers, code) in [
        (says("tools/list", "odd__echo"), -32020),
        (says("tools/call", "other"), -32020),
        (says("tools/call", ""), -32020),
        (says("", "odd__echo"), -32020),
        (
            [
                ("mcp-protocol-version", "v9".to_owned()),
                ("mcp-method", "tools/call".to_owned()),
                ("mcp-name", "odd__echo".to_owned()),
            ],
            -32020,
        ),
    ] {
        let reply = ask(&headers, &call(json!({})));
        assert_eq!((reply.status, reply.json()["error"]["code"].clone()), (400, json!(code)), "{headers:?}: {reply:?}");
        assert_eq!(reply.json()["id"], 7);
    }
    let gone = ask(&says("ping", ""), &request(8, "ping", modern(json!({}), json!({}))));
    assert_eq!((gone.status, gone.json()["error"]["code"].clone()), (404, json!(-32601)));
    let bare = ask(&says("server/discover", ""), &request(9, "server/discover", json!({})));
    assert_eq!((bare.status, bare.json()["error"]["code"].clone()), (400, json!(-32602)));
}

#[test]
fn a_connection_that_closes_gives_its_request_up() {
    let sandbox = with_servers(json!({}));
    let log = sandbox.path("log");
    let server = odd(&[&format!("log:{}", log.display())]);
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": { "odd": server } }).to_string());
    learn(&sandbox, 22);
    let serving = Serving::start(&sandbox, &[]);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "odd__late")];
    let late = request(1, "tools/call", modern(json!({ "name": "odd__late", "arguments": {} }), json!({})));
    let mut stream = TcpStream::connect(serving.address()).expect("a connection");
    let body = late.to_string();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    head.push_str(&format!("authorization: Bearer {}\r\n", serving.token.as_deref().expect("a token")));
    headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("sent");
    // The stream opens because nothing comes at once.
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let mut byte = [0];
    stream.read_exact(&mut byte).expect("it began");
    eventually("the server has it", || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("\"late\"")));
    drop(stream);
    let seen = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "odd__seen")];
    let ask = request(2, "tools/call", modern(json!({ "name": "odd__seen", "arguments": {} }), json!({})));
    eventually("the server hears of it", || text(&post(&serving, &seen, &ask).json()["result"]) != "[]");
}
