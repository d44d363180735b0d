use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{CallError, ErrorCode, HostCall};
use jackfield_runtime::{CallInput, HostCallCx};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::tests::{Judge, Place, fails, is_errno};

/// The extension's side of a conversation.
struct Talk {
    send: mpsc::Sender<Value>,
    chunks: mpsc::Receiver<Value>,
}

impl Talk {
    async fn next(&mut self) -> Value {
        let next = tokio::time::timeout(Duration::from_secs(20), self.chunks.recv()).await;
        next.expect("a piece in time").expect("a piece")
    }

    /// The text of the next pieces, up to the end.
    async fn rest(&mut self) -> String {
        let mut text = String::new();
        loop {
            let piece = self.next().await;
            match piece["data"].as_str() {
                Some(data) => text.push_str(&String::from_utf8(BASE64.decode(data).unwrap()).unwrap()),
                None => return text,
            }
        }
    }

    async fn say(&self, message: Value) {
        self.send.send(message).await.expect("the host listens");
    }
}

fn data(text: &str) -> Value {
    json!({ "data": BASE64.encode(text), "encoding": "base64" })
}

/// Runs a call beside what its extension does.
async fn converse<T>(
    place: &Place,
    params: Value,
    script: impl AsyncFnOnce(Talk) -> T,
) -> (Result<Value, CallError>, T) {
    let (chunk, chunks) = mpsc::channel(4);
    let (send, input) = mpsc::channel(4);
    let cx = HostCallCx { chunks: Some(chunk), input: Some(CallInput::new(input)), ..HostCallCx::default() };
    let call = async {
        let result = place.call_within("net", params, &cx).await;
        drop(cx);
        result
    };
    tokio::join!(call, script(Talk { send, chunks }))
}

#[tokio::test]
async fn a_connection_carries_bytes_both_ways() {
    let place = Place::new();
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = async {
        let (mut stream, _) = server.accept().await.unwrap();
        let mut heard = String::new();
        stream.read_to_string(&mut heard).await.unwrap();
        stream.write_all(format!("you said {heard}").as_bytes()).await.unwrap();
    };
    let params = json!({ "op": "connect", "host": "127.0.0.1", "port": port });
    let talking = converse(&place, params, async |mut talk| {
        assert_eq!(talk.next().await["open"]["remote"], json!({ "address": "127.0.0.1", "port": port, "family": 4 }));
        talk.say(data("hel")).await;
        talk.say(json!({ "data": "lo", "end": true })).await;
        talk.rest().await
    });
    let ((result, said), ()) = tokio::join!(talking, serving);
    assert_eq!((result.unwrap(), said.as_str()), (json!({}), "you said hello"));

    drop(server);
    let nobody = json!({ "op": "connect", "host": "127.0.0.1", "port": port });
    is_errno(converse(&place, nobody.clone(), async |_| ()).await.0, "ECONNREFUSED");
    fails(place.call("net", nobody).await, ErrorCode::InvalidRequest, "stream");
    let no_port = json!({ "op": "connect", "host": "127.0.0.1" });
    fails(converse(&place, no_port, async |_| ()).await.0, ErrorCode::InvalidRequest, "port");
}

#[tokio::test]
async fn sockets_in_the_file_system_are_files() {
    let place = Place::new();
    let need =
        |params: Value| place.services.resolve(HostCall::parse("net", params).unwrap()).unwrap().needs().to_string();
    assert_eq!(need(json!({ "op": "listen", "path": "./x/../s.sock" })), "write s.sock");
    let outside = place.outside("").canonicalize().unwrap().join("s").to_str().unwrap().to_owned();
    assert_eq!(need(json!({ "op": "connect", "path": "../outside/s" })), format!("write {outside}"));
    let socket = place.inside("s.sock");
    let (result, ()) = converse(&place, json!({ "op": "listen", "path": "s.sock" }), async |mut talk| {
        let listening = talk.next().await["listening"]["path"].clone();
        assert_eq!(listening, json!(socket.canonicalize().unwrap().to_str()));
        let (connected, ()) = tokio::join!(
            converse(&place, json!({ "op": "connect", "path": "s.sock" }), async |mut client| {
                client.next().await;
                client.say(json!({ "data": "ping", "end": true })).await;
                client.rest().await
            }),
            async {
                assert_eq!(talk.next().await["conn"], 1);
                assert_eq!(
                    talk.next().await,
                    json!({ "conn": 1, "data": BASE64.encode("ping"), "encoding": "base64" })
                );
                assert_eq!(talk.next().await, json!({ "conn": 1, "end": true }));
                talk.say(json!({ "conn": 1, "data": "pong", "end": true })).await;
                assert_eq!(talk.next().await, json!({ "conn": 1, "closed": true }));
            }
        );
        assert_eq!(connected.1, "pong");
        is_errno(converse(&place, json!({ "op": "listen", "path": "s.sock" }), async |_| ()).await.0, "EADDRINUSE");
        talk.say(json!({ "close": true })).await;
    })
    .await;
    assert_eq!(result.unwrap(), json!({}));
    assert!(!socket.exists(), "the socket goes with its listener");
    is_errno(converse(&place, json!({ "op": "connect", "path": "s.sock" }), async |_| ()).await.0, "ENOENT");
    // A link that came after the decision.
    std::os::unix::fs::symlink(place.outside("secret"), &socket).unwrap();
    let call = HostCall::parse("net", json!({ "op": "connect", "path": "s.sock" })).unwrap();
    let (chunk, _chunks) = mpsc::channel(4);
    let (_send, input) = mpsc::channel(4);
    let cx = HostCallCx { chunks: Some(chunk), input: Some(CallInput::new(input)), ..HostCallCx::default() };
    fails(place.perform(&call, &Judge::default(), &cx).await, ErrorCode::Denied, "link");
}

#[tokio::test]
async fn many_connect_and_one_can_be_closed() {
    let place = Place::new();
    let (result, ()) = converse(&place, json!({ "op": "listen", "port": 0 }), async |mut talk| {
        let listening = talk.next().await["listening"].clone();
        assert_eq!(listening["address"], "127.0.0.1");
        let port = u16::try_from(listening["port"].as_u64().unwrap()).unwrap();
        let mut first = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        assert_eq!(talk.next().await["conn"], 1);
        let mut second = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        assert_eq!(talk.next().await["conn"], 2);
        second.write_all(b"hi").await.unwrap();
        assert_eq!(talk.next().await, json!({ "conn": 2, "data": BASE64.encode("hi"), "encoding": "base64" }));
        talk.say(json!({ "conn": 1, "close": true })).await;
        assert_eq!(talk.next().await, json!({ "conn": 1, "closed": true }));
        assert_eq!(first.read(&mut [0; 8]).await.unwrap_or(0), 0);
        // The listener may go before those who came.
        talk.say(json!({ "close": true })).await;
        assert_eq!(talk.next().await, json!({ "closed": true }));
        assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err(), "nobody can connect any more");
        talk.say(json!({ "conn": 2, "data": "bye", "end": true })).await;
        let mut heard = String::new();
        second.read_to_string(&mut heard).await.unwrap();
        assert_eq!(heard, "bye");
        drop(second);
        assert_eq!(talk.next().await, json!({ "conn": 2, "end": true }));
        assert_eq!(talk.next().await, json!({ "conn": 2, "closed": true }));
    })
    .await;
    assert_eq!(result.unwrap(), json!({}));
}

#[tokio::test]
async fn one_who_does_not_read_is_closed_and_harms_nobody() {
    let place = Place::new();
    let (result, ()) = converse(&place, json!({ "op": "listen" }), async |mut talk| {
        let port = talk.next().await["listening"]["port"].as_u64().unwrap();
        let _deaf = TcpStream::connect(("127.0.0.1", u16::try_from(port).unwrap())).await.unwrap();
        assert_eq!(talk.next().await["conn"], 1);
        let big = "x".repeat(1024 * 1024);
        for _ in 0..40 {
            if talk.send.send(json!({ "conn": 1, "data": big })).await.is_err() {
                break;
            }
        }
        assert_eq!(talk.next().await, json!({ "conn": 1, "closed": true }));
        talk.say(json!({ "close": true })).await;
    })
    .await;
    assert_eq!(result.unwrap(), json!({}));
}

#[tokio::test]
async fn tls_takes_proof() {
    let place = Place::new();
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = async {
        let (mut stream, _) = server.accept().await.unwrap();
        let mut hello = [0; 512];
        let read = stream.read(&mut hello).await.unwrap();
        stream.write_all(b"HTTP/1.1 400 no TLS here\r\n\r\n").await.unwrap();
        String::from_utf8_lossy(&hello[..read]).into_owned()
    };
    let params = json!({ "op": "connect", "host": "127.0.0.1", "port": port, "tls": true, "server_name": "x.example" });
    let (chunk, _chunks) = mpsc::channel(4);
    let (_send, input) = mpsc::channel(4);
    let cx = HostCallCx { chunks: Some(chunk), input: Some(CallInput::new(input)), ..HostCallCx::default() };
    let judge = Judge::default();
    let call = HostCall::parse("net", params).unwrap();
    let (result, hello) = tokio::join!(place.perform(&call, &judge, &cx), serving);
    fails(result, ErrorCode::Io, "connect to 127.0.0.1");
    assert!(hello.contains("x.example"), "the name is asked for");
    assert_eq!(*judge.asked.lock().unwrap(), [format!("http x.example:{port}")], "and was judged");
}

#[tokio::test]
async fn names_are_looked_up() {
    let place = Place::new();
    let found = place.call("net", json!({ "op": "lookup", "host": "127.0.0.1", "family": 4 })).await.unwrap();
    assert_eq!(found, json!({ "addresses": [{ "address": "127.0.0.1", "family": 4 }] }));
    is_errno(place.call("net", json!({ "op": "lookup", "host": "127.0.0.1", "family": 6 })).await, "ENOTFOUND");
}
