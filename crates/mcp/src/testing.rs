//! A small HTTP server for tests: it says what its test wants, byte by byte.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What a client asked.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
    pub(crate) at: Instant,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// A field of a form.
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let url = reqwest::Url::parse(&format!("http://x/?{}", self.body)).ok()?;
        url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }
}

/// What the server does about it.
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    /// The connection stays open until the client closes it.
    hold: bool,
}

impl Reply {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: String::new(), hold: false }
    }

    pub(crate) fn json(body: impl ToString) -> Self {
        Self::new(200).with("content-type", "application/json; charset=utf-8").body(body)
    }

    pub(crate) fn events(body: impl ToString) -> Self {
        Self::new(200).with("content-type", "text/event-stream").body(body)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl ToString) -> Self {
        self.body = body.to_string();
        self
    }

    pub(crate) fn held(mut self) -> Self {
        self.hold = true;
        self
    }
}

type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// A server on this machine.
pub(crate) struct Server {
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Request>>>,
    closed: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let (seen, closed) = (Arc::new(Mutex::default()), Arc::new(Mutex::default()));
        let server = Self { origin, seen: Arc::clone(&seen), closed: Arc::clone(&closed) };
        let handler: Handler = Arc::new(handler);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&handler), Arc::clone(&seen), Arc::clone(&closed)));
            }
        });
        server
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("seen").clone()
    }

    /// Waits until something is true of what was seen.
    pub(crate) async fn until(&self, what: &str, good: impl Fn(&[Request]) -> bool) -> Vec<Request> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let seen = self.seen();
            if good(&seen) {
                return seen;
            }
            assert!(Instant::now() < deadline, "{what} did not happen; seen: {seen:#?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until the client closed a held connection whose request body contains `part`.
    pub(crate) async fn until_closed(&self, part: &str) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !self.closed.lock().expect("closed").iter().any(|body| body.contains(part)) {
            assert!(Instant::now() < deadline, "the client did not close the stream for {part}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    handler: Handler,
    seen: Arc<Mutex<Vec<Request>>>,
    closed: Arc<Mutex<Vec<String>>>,
) -> Option<()> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
            break end;
        }
        stream.read_buf(&mut bytes).await.ok().filter(|got| *got > 0)?;
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let mut words = lines.next()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(key, value)| (key.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while bytes.len() < end + 4 + length {
        stream.read_buf(&mut bytes).await.ok().filter(|got| *got > 0)?;
    }
    let body = String::from_utf8_lossy(&bytes[end + 4..]).into_owned();
    let request = Request { method, path, headers, body, at: Instant::now() };
    let reply = handler(&request);
    seen.lock().expect("seen").push(request.clone());
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(reply.body.as_bytes()).await.ok()?;
    if reply.hold {
        let mut rest = [0; 64];
        while stream.read(&mut rest).await.is_ok_and(|got| got > 0) {}
        closed.lock().expect("closed").push(request.body);
    }
    stream.shutdown().await.ok()
}
