use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode, HostCall};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::ServiceLimits;
use crate::tests::{Judge, Place, fails, within};

/// An HTTP server on loopback that gives the same answer to every request and remembers what it was asked.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Answer {
    /// Everything up to the body.
    head: String,
    body: Vec<u8>,
    /// Sends the body again and again, and never ends.
    endless: bool,
    /// Sends nothing more and keeps the connection.
    hangs: bool,
}

impl Answer {
    fn new(status: &str, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        Self { head, body, endless: false, hangs: false }
    }

    fn to(status: &str, location: &str) -> Self {
        Self::new(status, &format!("Location: {location}\r\n"), "elsewhere")
    }
}

impl Server {
    async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone(), seen.clone()));
            }
        });
        Self { address, requests, task }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, answer: Answer, seen: Arc<Mutex<Vec<String>>>) -> Option<()> {
    let mut request = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let read = stream.read(&mut buffer).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            break;
        }
    }
    seen.lock().unwrap().push(String::from_utf8_lossy(&request).into_owned());
    stream.write_all(answer.head.as_bytes()).await.ok()?;
    stream.write_all(&answer.body).await.ok()?;
    if answer.endless {
        loop {
            stream.write_all(&answer.body).await.ok()?;
        }
    }
    if answer.hangs {
        std::future::pending::<()>().await;
    }
    stream.shutdown().await.ok()
}

async fn ask(place: &Place, params: Value, judge: &Judge) -> Result<Value, CallError> {
    let call = place.services.resolve(HostCall::parse("http", params)?)?;
    place.perform(&call, judge, &HostCallCx::default()).await
}

#[tokio::test]
async fn a_request_and_its_answer() {
    let place = Place::new();
    let headers = "X-One: a\r\nX-One: b\r\nContent-Type: text/plain\r\n";
    let server = Server::start(Answer::new("404 Not Found", headers, "grüße")).await;
    let params = json!({
        "url": server.url("/x?y=1#z"),
        "method": "post",
        "headers": {"X-Mine": "1", "Authorization": "Bearer abc"},
        "body": "hello",
    });
    let answer = place.call("http", params).await.unwrap();
    assert_eq!((&answer["status"], &answer["body"]), (&json!(404), &json!("grüße")));
    assert_eq!((&answer["encoding"], &answer["headers"]["x-one"]), (&json!("utf8"), &json!("a, b")));
    let request = server.requests().concat().to_lowercase();
    for part in ["post /x?y=1 http/1.1", "x-mine: 1", "authorization: bearer abc", "\r\n\r\nhello"] {
        assert!(request.contains(part), "{request} should hold {part}");
    }
    assert!(request.contains(&format!("host: {}", server.address)));

    let bytes = Server::start(Answer::new("200 OK", "", b"\xff\xfe")).await;
    let answer = place.call("http", json!({"url": bytes.url("/")})).await.unwrap();
    assert_eq!((&answer["body"], &answer["encoding"]), (&json!("//4="), &json!("base64")));
}

#[tokio::test]
async fn a_redirect_to_another_host_is_judged() {
    let place = Place::new();
    let target = Server::start(Answer::new("200 OK", "", "arrived")).await;
    let server = Server::start(Answer::to("302 Found", &target.url("/there"))).await;
    let params = json!({
        "url": server.url("/"),
        "headers": {"Authorization": "Bearer abcdefgh", "Cookie": "c=1", "X-Api-Key": "k", "X-Plain": "p"},
    });

    let refuses = Judge { refuses: true, ..Judge::default() };
    let error = fails(ask(&place, params.clone(), &refuses).await, ErrorCode::Denied, "redirected");
    assert!(error.message.contains(&target.address.to_string()));
    assert_eq!(*refuses.asked.lock().unwrap(), [format!("http {}", target.address)]);
    assert_eq!(target.requests(), Vec::<String>::new(), "nothing was asked of the host that was refused");

    let agrees = Judge::default();
    let answer = ask(&place, params, &agrees).await.unwrap();
    assert_eq!(answer["body"], "arrived");
    assert_eq!(*agrees.asked.lock().unwrap(), [format!("http {}", target.address)]);
    let request = target.requests().concat().to_lowercase();
    assert!(request.starts_with("get /there ") && request.contains("x-plain: p"), "{request}");
    for secret in ["authorization", "cookie", "x-api-key"] {
        assert!(!request.contains(secret), "{request} holds {secret}");
    }
}

#[tokio::test]
async fn redirects_change_the_method_as_the_web_does() {
    let place = Place::new();
    let target = Server::start(Answer::new("200 OK", "", "")).await;
    for (status, method, arrives, body) in [
        ("301 x", "POST", "get", false),
        ("302 x", "POST", "get", false),
        ("303 x", "PUT", "get", false),
        ("303 x", "HEAD", "head", false),
        ("307 x", "POST", "post", true),
        ("308 x", "PUT", "put", true),
    ] {
        target.requests.lock().unwrap().clear();
        let server = Server::start(Answer::to(status, &target.url("/"))).await;
        let mut params = json!({"url": server.url("/"), "method": method, "headers": {"Content-Type": "text/x"}});
        if method != "HEAD" {
            params["body"] = json!("hello");
        }
        place.call("http", params).await.unwrap();
        let request = target.requests().concat().to_lowercase();
        assert!(request.starts_with(&format!("{arrives} / ")), "{status} {method}: {request}");
        assert_eq!(request.contains("hello"), body, "{status} {method}: {request}");
        assert_eq!(request.contains("content-type"), body || method == "HEAD", "{status} {method}: {request}");
    }
}

#[tokio::test]
async fn redirects_come_to_an_end() {
    let place = Place::new();
    let server = Server::start(Answer::to("302 Found", "/again")).await;
    let judge = Judge { refuses: true, ..Judge::default() };
    fails(ask(&place, json!({"url": server.url("/")}), &judge).await, ErrorCode::Io, "more than 5 redirects");
    assert_eq!(server.requests().len(), 6);
    assert_eq!(judge.asked.lock().unwrap().len(), 0, "the same host is not judged again");

    for (location, why) in [
        ("file:///etc/passwd", "only http"),
        ("http://name:word@127.0.0.1/", "name or password"),
        ("http://[bad", "no url"),
    ] {
        let server = Server::start(Answer::to("302 Found", location)).await;
        fails(place.call("http", json!({"url": server.url("/")})).await, ErrorCode::Io, why);
    }
    let nowhere = Server::start(Answer::new("302 Found", "", "stay")).await;
    let answer = place.call("http", json!({"url": nowhere.url("/")})).await.unwrap();
    assert_eq!((&answer["status"], &answer["body"]), (&json!(302), &json!("stay")));
}

#[tokio::test]
async fn bodies_are_limited() {
    let place = Place::with(ServiceLimits { max_body: 1000, ..ServiceLimits::default() }, &[]);
    let fits = Server::start(Answer::new("200 OK", "", "x".repeat(1000))).await;
    let answer = place.call("http", json!({"url": fits.url("/")})).await.unwrap();
    assert_eq!(answer["body"].as_str().unwrap().len(), 1000);
    let announced = Server::start(Answer::new("200 OK", "", "x".repeat(1001))).await;
    fails(place.call("http", json!({"url": announced.url("/")})).await, ErrorCode::Io, "limit of 1000 bytes");
    let endless =
        Answer { head: "HTTP/1.1 200 OK\r\n\r\n".to_owned(), body: b"x".repeat(700), endless: true, hangs: false };
    let endless = Server::start(endless).await;
    fails(place.call("http", json!({"url": endless.url("/")})).await, ErrorCode::Io, "limit of 1000 bytes");
}

#[tokio::test]
async fn slow_answers_time_out() {
    let place = Place::new();
    let hangs = |head: &str| Answer { head: head.to_owned(), body: Vec::new(), endless: false, hangs: true };
    for head in ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"] {
        let server = Server::start(hangs(head)).await;
        let cx = within(Duration::from_millis(300));
        let call = place.call_within("http", json!({"url": server.url("/")}), &cx);
        fails(call.await, ErrorCode::Timeout, "300 ms");
        assert_eq!(server.requests().len(), 1);
    }
    let server = Server::start(hangs("")).await;
    let cx = HostCallCx::default();
    let cancel = async {
        while server.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        cx.cancel.cancel();
    };
    let (result, ()) = tokio::join!(place.call_within("http", json!({"url": server.url("/")}), &cx), cancel);
    fails(result, ErrorCode::Cancelled, "cancelled");
}

#[tokio::test]
async fn malformed_requests_are_refused_unsent() {
    let place = Place::new();
    let server = Server::start(Answer::new("200 OK", "", "")).await;
    let port = server.address.port();
    let refused = [
        (json!({"url": format!("http://name:word@127.0.0.1:{port}/")}), "name or password"),
        (json!({"url": format!("http://name@127.0.0.1:{port}/")}), "name or password"),
        // The host that policy judged is not the one that the url leads to.
        (json!({"url": format!("http://0x7f.1:{port}/")}), "really leads to 127.0.0.1"),
        (json!({"url": format!("http://127.1:{port}/")}), "really leads to"),
        (json!({"url": format!("http://2130706433:{port}/")}), "really leads to"),
        (json!({"url": format!("http://127.0.0.1:0{port}/")}), "really leads to"),
        (json!({"url": format!("http://127.0\n.0.1:{port}/")}), "really leads to"),
        (json!({"url": format!("http:127.0.0.1:{port}/")}), "really leads to"),
        (json!({"url": format!("http:///127.0.0.1:{port}/")}), "really leads to"),
        (json!({"url": " https://127.0.0.1/"}), "really leads to"),
        (json!({"url": "file:///etc/passwd"}), "only http"),
        (json!({"url": "ftp://127.0.0.1/"}), "only http"),
        (json!({"url": "nonsense"}), "malformed"),
        (json!({"url": "http://"}), "malformed"),
        (json!({"url": server.url("/"), "method": "CONNECT"}), "CONNECT"),
        (json!({"url": server.url("/"), "method": "TRACE"}), "TRACE"),
        (json!({"url": server.url("/"), "method": "GET / HTTP/1.1\r\nX: y"}), "method"),
        (json!({"url": server.url("/"), "headers": {"Host": "evil.org"}}), "host"),
        (json!({"url": server.url("/"), "headers": {"Transfer-Encoding": "chunked"}}), "transfer-encoding"),
        (json!({"url": server.url("/"), "headers": {"connection": "keep-alive"}}), "connection"),
        (json!({"url": server.url("/"), "headers": {"a b": "c"}}), "header name"),
    ];
    for (params, why) in refused {
        fails(place.call("http", params).await, ErrorCode::InvalidRequest, why);
    }
    let leaky = json!({"url": server.url("/"), "headers": {"Authorization": "Bearer s3cret\r\nX: y"}});
    let error = fails(place.call("http", leaky).await, ErrorCode::InvalidRequest, "authorization");
    assert!(!error.message.contains("s3cret"));
    assert_eq!(server.requests(), Vec::<String>::new());
}

#[tokio::test]
async fn failures_name_the_host_and_no_secret() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let params =
        json!({"url": format!("http://{address}/?token=s3cret"), "headers": {"Authorization": "Bearer s3cret"}});
    let error = fails(place.call("http", params).await, ErrorCode::Io, &address.to_string());
    assert!(!error.message.contains("s3cret"), "{error}");
    let garbage = Server::start(Answer { head: "garbage\r\n\r\n".into(), ..Answer::new("", "", "") }).await;
    fails(place.call("http", json!({"url": garbage.url("/")})).await, ErrorCode::Io, &garbage.address.to_string());
}

#[tokio::test]
async fn bytes_go_both_ways_and_headers_keep_their_order() {
    let place = Place::new();
    let server =
        Server::start(Answer::new("200 OK", "X-One: a\r\nSet-Cookie: x\r\nSet-Cookie: y\r\n", b"\xff\x00")).await;
    let host = format!("{}", server.address);
    let params = json!({
        "url": server.url("/p?q"), "method": "POST", "raw": true, "body": "//4=", "encoding": "base64",
        "headers": [["x-two", "1"], ["x-two", "2"], ["content-length", "7"], ["connection", "close"], ["host", host]],
    });
    let answer = ask(&place, params, &Judge::default()).await.unwrap();
    assert_eq!((&answer["status"], &answer["status_text"]), (&json!(200), &json!("OK")));
    assert_eq!((&answer["body"], &answer["encoding"]), (&json!("/wA="), &json!("base64")));
    assert_eq!(answer["url"], server.url("/p?q"));
    let pairs: Vec<(String, String)> = serde_json::from_value(answer["headers"].clone()).unwrap();
    let cookies: Vec<&str> =
        pairs.iter().filter(|(name, _)| name == "set-cookie").map(|(_, value)| value.as_str()).collect();
    assert_eq!(cookies, ["x", "y"]);
    let request = &server.requests()[0];
    assert!(request.contains("x-two: 1\r\n") && request.contains("x-two: 2\r\n"), "{request}");
    assert!(request.contains("content-length: 2\r\n"), "{request}");
    let elsewhere = json!({ "url": server.url("/"), "raw": true, "headers": [["host", "evil.example"]] });
    fails(ask(&place, elsewhere, &Judge::default()).await, ErrorCode::InvalidRequest, "host");
}

#[tokio::test]
async fn a_long_body_comes_in_pieces() {
    let place = Place::with(ServiceLimits { max_body: 10, ..ServiceLimits::default() }, &[]);
    let server = Server::start(Answer::new("200 OK", "", "x".repeat(100_000))).await;
    let (sender, mut receiver) = tokio::sync::mpsc::channel(1);
    let cx = HostCallCx { chunks: Some(sender), ..HostCallCx::default() };
    let call = async {
        let result = place.call_within("http", json!({ "url": server.url("/") }), &cx).await;
        drop(cx);
        result
    };
    let listen = async {
        let head = receiver.recv().await.unwrap();
        let mut length = 0;
        while let Some(piece) = receiver.recv().await {
            use base64::Engine as _;
            let data = piece["data"].as_str().unwrap();
            length += base64::engine::general_purpose::STANDARD.decode(data).unwrap().len();
        }
        (head, length)
    };
    let (result, (head, length)) = tokio::join!(call, listen);
    assert_eq!((result.unwrap(), &head["status"], length), (json!({}), &json!(200), 100_000));
    assert_eq!(head["headers"][0][0], "content-length");
}

#[tokio::test]
async fn a_redirect_can_be_the_answer() {
    let place = Place::new();
    let server = Server::start(Answer::to("302 Found", "http://elsewhere.example/")).await;
    let judge = Judge::default();
    let manual = json!({ "url": server.url("/"), "redirect": "manual" });
    let answer = ask(&place, manual, &judge).await.unwrap();
    assert_eq!((&answer["status"], &answer["headers"]["location"]), (&json!(302), &json!("http://elsewhere.example/")));
    assert!(judge.asked.lock().unwrap().is_empty(), "nobody went there");
    let none = json!({ "url": server.url("/"), "redirect": "error" });
    fails(ask(&place, none, &judge).await, ErrorCode::Io, "redirected");
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_owned();
    let slow = Server::start(Answer { head, body: Vec::new(), endless: false, hangs: true }).await;
    let quick = json!({ "url": slow.url("/"), "timeout_ms": 100 });
    fails(ask(&place, quick, &judge).await, ErrorCode::Timeout, "100 ms");
    let nobody = json!({ "url": "http://127.0.0.1:1/" });
    crate::tests::is_errno(ask(&place, nobody, &judge).await, "ECONNREFUSED");
}
