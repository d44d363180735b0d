//! The transport against servers that behave and servers that do not.

use serde_json::json;

use super::*;
use crate::envelope;
use crate::server_handle::ServerHandle;
use crate::testing::{Reply, Request, Server};

struct TestConnection {
    transport: HttpTransport,
    incoming: mpsc::Receiver<IncomingMessage>,
}

impl TestConnection {
    fn to(url: &str) -> Self {
        Self::with(url, &[])
    }

    fn with(url: &str, headers: &[(&str, &str)]) -> Self {
        let (sender, incoming) = mpsc::channel(16);
        let headers = headers.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let server = HttpServer {
            name: "docs".to_owned(),
            url: url.to_owned(),
            headers,
            oauth: None,
            log: None,
            secrets: Secrets::default(),
        };
        Self { transport: HttpTransport::new(server, sender).expect("a transport"), incoming }
    }

    async fn request(&self, id: u64, method: &str, params: &str) -> Result<(), CallError> {
        self.about(id, method, None, params).await
    }

    async fn about(&self, id: u64, method: &str, subject: Option<&str>, params: &str) -> Result<(), CallError> {
        let id = Value::from(id);
        let text = envelope::request(&id, method, Some(params));
        let (method, subject) = (Some(method.to_owned()), subject.map(str::to_owned));
        self.transport.send(Outgoing { text, request: Some(id), method, subject }).await
    }

    async fn notify(&self, method: &str) -> Result<(), CallError> {
        let text = envelope::notification(method, None);
        self.transport.send(Outgoing { text, request: None, method: Some(method.to_owned()), subject: None }).await
    }

    async fn next(&mut self) -> IncomingMessage {
        let next = tokio::time::timeout(Duration::from_secs(20), self.incoming.recv()).await;
        next.expect("in time").expect("something")
    }

    async fn message(&mut self) -> Value {
        match self.next().await {
            IncomingMessage::Message(text) => serde_json::from_str(&text).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    /// The error that a request ended with.
    async fn failure(&mut self, id: u64) -> CallError {
        match self.next().await {
            IncomingMessage::Failed { request, error } if request == id => error,
            other => panic!("{other:?}"),
        }
    }

    async fn shake_hands(&mut self) {
        self.request(1, "initialize", "{}").await.expect("taken");
        assert_eq!(self.message().await["id"], 1);
        self.notify("notifications/initialized").await.expect("taken");
    }
}

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;

fn result(request: &Request, result: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": request.json()["id"], "result": result }).to_string()
}

/// A server with sessions, for everything that a test does not answer itself.
fn legacy(request: &Request) -> Reply {
    let body = request.json();
    match (request.method.as_str(), body["method"].as_str()) {
        ("POST", Some("initialize")) => {
            Reply::json(result(request, json!({"protocolVersion": "2025-06-18"}))).with("mcp-session-id", "s-1")
        }
        ("POST", Some(_)) if body["id"].is_null() => Reply::new(202),
        ("POST", _) => Reply::json(result(request, json!({"answered": body["method"]}))),
        ("DELETE", _) => Reply::new(200),
        _ => Reply::new(405),
    }
}

#[tokio::test]
async fn a_session_is_named_in_everything_that_follows_and_ended() {
    let server = Server::start(|request| match request.method.as_str() {
        "GET" => Reply::events("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n").held(),
        _ => legacy(request),
    })
    .await;
    let mut connection = TestConnection::with(&server.origin, &[("x-team", "a")]);
    connection.shake_hands().await;
    assert_eq!(connection.message().await["method"], "n", "on the stream of what nobody asked for");
    connection.request(2, "tools/list", "{}").await.expect("taken");
    assert_eq!(connection.message().await["result"]["answered"], "tools/list");
    connection.transport.stop(Duration::from_secs(5)).await;
    let seen = server.until("the farewell", |seen| seen.iter().any(|one| one.method == "DELETE")).await;
    for request in seen.iter().skip(1) {
        let named = (request.header("mcp-session-id"), request.header("mcp-protocol-version"));
        assert_eq!(named, ("s-1", "2025-06-18"), "{request:?}");
        assert_eq!(request.header("x-team"), "a");
        assert_eq!(request.header("mcp-method"), "", "no word of the modern era");
    }
    assert_eq!(seen[0].header("mcp-session-id"), "");
    assert_eq!(seen[0].header("accept"), "application/json, text/event-stream");
}

#[tokio::test]
async fn the_stream_of_what_nobody_asked_for_is_open_before_the_first_request() {
    let server = Server::start(|request| match request.method.as_str() {
        "GET" => Reply::events("").held(),
        _ => legacy(request),
    })
    .await;
    for _ in 0..10 {
        let mut connection = TestConnection::to(&server.origin);
        let before = server.seen().len();
        connection.shake_hands().await;
        let seen = server.seen();
        assert!(seen.iter().skip(before).any(|one| one.method == "GET"), "a question would have been lost: {seen:#?}");
    }
}

#[tokio::test]
async fn the_modern_era_repeats_in_headers_what_the_message_says() {
    let server = Server::start(|request| {
        let tool =
            json!({"name": "über", "inputSchema": {"properties": {"r": {"type": "string", "x-mcp-header": "Region"}}}});
        let bad = json!({"name": "bad", "inputSchema": {"properties": {"r": {"type": "number", "x-mcp-header": "R"}}}});
        match request.json()["method"].as_str() {
            Some("tools/list") => Reply::json(result(request, json!({"tools": [tool, bad]}))),
            _ => Reply::json(result(request, json!({}))),
        }
    })
    .await;
    let mut connection = TestConnection::to(&server.origin);
    connection.request(1, "tools/list", &format!("{{{MODERN}}}")).await.expect("taken");
    connection.message().await;
    let params = format!(r#"{{"name":"über","arguments":{{"r":"é"}},{MODERN}}}"#);
    connection.about(2, "tools/call", Some("über"), &params).await.expect("taken");
    connection.message().await;
    let error = connection.about(3, "tools/call", Some("bad"), &format!("{{{MODERN}}}")).await.expect_err("its header");
    assert!(error.message.contains("bad") && error.message.contains("x-mcp-header"), "{error}");
    let seen = server.seen();
    assert_eq!(seen.len(), 2, "what must not be called was not");
    let headers = ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-param-region", "mcp-session-id"];
    assert_eq!(
        headers.map(|name| seen[1].header(name)),
        ["2026-07-28", "tools/call", "=?base64?w7xiZXI=?=", "=?base64?w6k=?=", ""]
    );
    assert_eq!(headers.map(|name| seen[0].header(name)), ["2026-07-28", "tools/list", "", "", ""]);
}

#[tokio::test]
async fn giving_up_closes_the_stream() {
    let server =
        Server::start(|_| Reply::events("data: {\"jsonrpc\":\"2.0\",\"method\":\"progress\"}\n\n").held()).await;
    let mut connection = TestConnection::to(&server.origin);
    connection.request(7, "tools/call", &format!("{{{MODERN}}}")).await.expect("taken");
    assert_eq!(connection.message().await["method"], "progress");
    connection.transport.forget(&json!(7));
    server.until_closed("tools/call").await;
    assert!(lock(&connection.transport.inner.under_way).is_empty());
}

#[tokio::test]
async fn a_stream_that_drops_is_resumed_where_it_was_and_when_the_server_says() {
    let server = Server::start(|request| match (request.method.as_str(), request.header("last-event-id")) {
        ("GET", "") => Reply::new(405),
        ("GET", "e1") => Reply::events("id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"half\"}\n\ndata: {\"lost\""),
        ("GET", "e2") => Reply::events("data: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"whole\":true}}\n\n").held(),
        _ if request.json()["method"] == "slow" => Reply::events("id: e1\nretry: 300\ndata: \n\n"),
        _ => legacy(request),
    })
    .await;
    let mut connection = TestConnection::to(&server.origin);
    connection.shake_hands().await;
    connection.request(2, "slow", "{}").await.expect("taken");
    assert_eq!(connection.message().await["method"], "half");
    assert_eq!(connection.message().await["result"]["whole"], true);
    let seen = server.seen();
    let posted = seen.iter().find(|one| one.body.contains("slow")).expect("the request").at;
    let resumed = seen.iter().find(|one| one.header("last-event-id") == "e1").expect("resumed");
    assert!(resumed.at - posted >= Duration::from_millis(250), "too early: {:?}", resumed.at - posted);
    assert_eq!(resumed.header("mcp-session-id"), "s-1");
}

#[tokio::test]
async fn a_stream_that_ends_without_an_answer_says_so() {
    let server = Server::start(|_| Reply::events("data: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")).await;
    let mut connection = TestConnection::to(&server.origin);
    connection.request(1, "tools/call", &format!("{{{MODERN}}}")).await.expect("taken");
    connection.message().await;
    let error = connection.failure(1).await;
    assert!(error.message.contains("docs") && error.message.contains("before the answer"), "{error}");
}

#[tokio::test]
async fn what_is_too_long_fails_only_its_request() {
    let long = "x".repeat(LONGEST);
    let body = move |request: &Request| match request.json()["method"].as_str() {
        Some("json") => Reply::json(result(request, json!(long))),
        Some("events") => Reply::events(format!("data: {}\n\n", result(request, json!(long)))),
        _ => Reply::json(result(request, json!("short"))),
    };
    let server = Server::start(body).await;
    let mut connection = TestConnection::to(&server.origin);
    for (id, method) in [(1, "json"), (2, "events")] {
        connection.request(id, method, "{}").await.expect("taken");
        let error = connection.failure(id).await;
        assert!(error.message.contains("16 MiB") && error.message.contains("docs"), "{error}");
    }
    connection.request(3, "fine", "{}").await.expect("taken");
    assert_eq!(connection.message().await["result"], "short");
}

#[tokio::test]
async fn redirects_stay_within_the_origin() {
    let elsewhere = Server::start(legacy).await;
    let to = elsewhere.origin.clone();
    let server = Server::start(move |request| match request.path.as_str() {
        "/here" => Reply::new(307).with("location", "/there"),
        "/away" => Reply::new(308).with("location", &format!("{to}/")),
        "/loop" => Reply::new(307).with("location", "/loop"),
        "/get" => Reply::new(302).with("location", "/there"),
        _ => legacy(request),
    })
    .await;
    let headers = [("authorization", "Bearer secret-of-the-owner")];
    let mut connection = TestConnection::with(&format!("{}/here", server.origin), &headers);
    connection.request(1, "ping", "{}").await.expect("taken");
    assert_eq!(connection.message().await["id"], 1);
    for path in ["away", "loop", "get"] {
        let connection = TestConnection::with(&format!("{}/{path}", server.origin), &headers);
        let error = connection.request(1, "ping", "{}").await.expect_err(path);
        assert!(error.message.contains("redirects"), "{path}: {error}");
        assert!(!error.message.contains("secret-of-the-owner"));
    }
    assert!(elsewhere.seen().is_empty(), "nothing of it was sent elsewhere");
}

#[tokio::test]
async fn refusals_say_what_to_do_next() {
    let server = Server::start(|request| match request.path.as_str() {
        "/401" => Reply::new(401),
        "/403" => {
            Reply::new(403).with("www-authenticate", "Bearer error=\"insufficient_scope\", scope=\"files:write\"")
        }
        "/404" => Reply::new(404).body("nothing\u{1b}[2J here"),
        "/500" => Reply::new(500).body("oh no"),
        "/html" => Reply::new(200).with("content-type", "text/html").body("<p>hello"),
        "/202" => Reply::new(202),
        "/400" => Reply::new(400)
            .with("content-type", "application/json")
            .body(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32022, "message": "old", "data": {"a": 1}}})),
        _ => Reply::new(418),
    })
    .await;
    let cases = [
        ("401", ErrorCode::Denied, "run `jackfield mcp login docs`"),
        ("403", ErrorCode::Denied, "--scope \"files:write\""),
        ("404", ErrorCode::Unavailable, "is the url right"),
        ("500", ErrorCode::Unavailable, "oh no"),
    ];
    for (path, code, part) in cases {
        let connection = TestConnection::to(&format!("{}/{path}", server.origin));
        let error = connection.request(1, "ping", "{}").await.expect_err(path);
        assert!(error.code == code && error.message.contains(part), "{path}: {:?} {error}", error.code);
        assert!(error.message.contains("docs") && !error.message.contains('\u{1b}'), "{error}");
    }
    for (path, part) in [("html", "text/html"), ("202", "no answer")] {
        let mut connection = TestConnection::to(&format!("{}/{path}", server.origin));
        connection.request(1, "ping", "{}").await.expect("taken");
        assert!(connection.failure(1).await.message.contains(part), "{path}");
    }
    let mut connection = TestConnection::to(&format!("{}/400", server.origin));
    connection.request(5, "tools/list", "{}").await.expect("an answer, though a bad one");
    let answer = connection.message().await;
    assert_eq!((answer["id"].as_u64(), answer["error"]["code"].as_i64()), (Some(5), Some(-32022)));
    assert_eq!(answer["error"]["data"]["a"], 1);
    let connection = TestConnection::with(&format!("{}/401", server.origin), &[("Authorization", "Bearer x")]);
    let error = connection.request(1, "ping", "{}").await.expect_err("refused");
    assert!(error.message.contains("Authorization header"), "{error}");
}

#[tokio::test]
async fn a_question_that_old_servers_do_not_know_is_answered_with_no() {
    let server = Server::start(|_| Reply::new(400).body("no session")).await;
    let mut connection = TestConnection::to(&server.origin);
    connection.request(1, "server/discover", &format!("{{{MODERN}}}")).await.expect("an answer");
    assert_eq!(connection.message().await["error"]["code"], envelope::METHOD_NOT_FOUND);
}

#[tokio::test]
async fn a_session_that_the_server_forgot_is_over_at_once() {
    let server = Server::start(|request| match request.json()["method"].as_str() {
        Some("tools/call") => Reply::new(404),
        _ => legacy(request),
    })
    .await;
    let mut connection = TestConnection::to(&server.origin);
    connection.shake_hands().await;
    let error = connection.request(2, "tools/call", "{}").await.expect_err("forgotten");
    assert!(error.is_undelivered() && error.message.contains("session"), "{error}");
    assert!(matches!(connection.next().await, IncomingMessage::Closed(why) if why.contains("404")));
}

#[tokio::test]
async fn nobody_there_is_said_with_the_address() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let connection = TestConnection::to(&format!("{origin}/mcp?key=hidden"));
    let error = connection.request(1, "ping", "{}").await.expect_err("nobody");
    assert!(error.is_undelivered() && error.message.contains(&origin), "{error}");
    assert!(!error.message.contains("hidden"), "{error}");
    for url in ["", "ftp://x", "file:///etc/passwd", "not a url"] {
        let (sender, _incoming) = mpsc::channel(1);
        let server = HttpServer {
            name: "docs".to_owned(),
            url: url.to_owned(),
            headers: BTreeMap::new(),
            oauth: None,
            log: None,
            secrets: Secrets::default(),
        };
        assert!(HttpTransport::new(server, sender).is_err(), "{url}");
    }
}
