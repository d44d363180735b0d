//! A gateway of its own for each test, and clients of it made of nothing but sockets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use jackfield_test_support::{KilledOnDrop, PATIENCE, Sandbox};
use serde_json::{Value, json};

pub(crate) use crate::sandbox;

/// A sandbox with the extension `odd`, whose tools do as they are told.
pub(crate) fn with_odd() -> Sandbox {
    let sandbox = sandbox();
    sandbox.misbehave("odd", "cancellable");
    sandbox
}

/// A gateway that runs. Killed when dropped.
pub(crate) struct Served {
    child: KilledOnDrop,
    /// The first line that it printed.
    pub(crate) said: Value,
    pub(crate) place: String,
    pub(crate) token: String,
}

pub(crate) fn serve(sandbox: &Sandbox, args: &[&str]) -> Served {
    let mut words = vec!["--json", "serve"];
    words.extend(args);
    let mut child = sandbox
        .command(&words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let said: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    let place = said["address"].as_str().unwrap_or_else(|| panic!("{said}")).replace("http://", "");
    let token = said["token"].as_str().expect("a token").to_owned();
    Served { child: child.into(), said, place, token }
}

impl Served {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request with the owner's token.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Reply {
        self.ask_as(&self.token, method, path, body)
    }

    #[track_caller]
    pub(crate) fn ask_as(&self, token: &str, method: &str, path: &str, body: Option<Value>) -> Reply {
        Request::new(method, path).token(token).maybe_json(body).send(&self.place)
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, None)
    }

    /// Calls a tool with the owner's token.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, params: Value) -> Reply {
        self.ask("POST", "/api/tools/call", Some(json!({ "toolName": tool, "params": params })))
    }

    /// Makes a caller's token.
    #[track_caller]
    pub(crate) fn new_token(&self, wish: Value) -> Value {
        let reply = self.ask("POST", "/api/tokens", Some(wish));
        assert_eq!(reply.status, 201, "{reply:?}");
        reply.json()
    }

    /// Asks it to end, as a supervisor does.
    pub(crate) fn terminate(&self) {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).expect("a pid");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("told");
    }

    /// Waits until it has gone; gives its exit code and what it said on stderr.
    #[track_caller]
    pub(crate) fn gone(&mut self) -> (i32, String) {
        let code = self.child.gone("the end of the gateway");
        let mut said = String::new();
        self.child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        (code, said)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(&self.place)
    }
}

pub(crate) fn connect(place: &str) -> TcpStream {
    let stream = TcpStream::connect(place).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_nodelay(true).expect("no delay");
    stream
}

/// A request to be sent.
pub(crate) struct Request {
    head: String,
    body: Vec<u8>,
    has_host: bool,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        Self { head: format!("{method} {path} HTTP/1.1\r\n"), body: Vec::new(), has_host: false }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.has_host |= name.eq_ignore_ascii_case("host");
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn body(mut self, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.header("Content-Type", "application/json")
    }

    fn maybe_json(self, body: Option<Value>) -> Self {
        match body {
            Some(body) => self.body(body.to_string().as_bytes()),
            None => self,
        }
    }

    /// The bytes of the request.
    pub(crate) fn bytes(self, place: &str) -> Vec<u8> {
        let mut head = self.head;
        if !self.has_host {
            head.push_str(&format!("Host: {place}\r\n"));
        }
        if !self.body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    #[track_caller]
    pub(crate) fn send(self, place: &str) -> Reply {
        let mut stream = BufReader::new(connect(place));
        // One that is refused before its body was read may be cut off meanwhile.
        stream.get_mut().write_all(&self.bytes(place)).ok();
        Reply::read(&mut stream).expect("an answer")
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// Reads one answer; what follows it stays in the reader.
    pub(crate) fn read(stream: &mut BufReader<TcpStream>) -> Option<Self> {
        let (status, headers) = read_head(stream)?;
        let find = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
        let mut body = Vec::new();
        if let Some(length) = find("content-length") {
            body = vec![0; length.parse().expect("a length")];
            stream.read_exact(&mut body).ok()?;
        } else if find("transfer-encoding").as_deref() == Some("chunked") {
            while let Some(chunk) = read_chunk(stream) {
                body.extend(chunk);
            }
        }
        Some(Self { status, headers, body })
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?} {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Asserts a refusal: its status, code, and that it is JSON with `ok: false`.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let body = self.json();
        assert_eq!((&body["ok"], &body["code"]), (&json!(false), &json!(code)), "{body}");
        assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        body
    }
}

pub(crate) fn read_head(stream: &mut BufReader<TcpStream>) -> Option<(u16, Vec<(String, String)>)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => return Some((status, headers)),
        }
    }
}

/// One chunk of a body; nothing at its end.
pub(crate) fn read_chunk(stream: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let size = usize::from_str_radix(line.trim(), 16).ok()?;
    let mut chunk = vec![0; size + 2];
    stream.read_exact(&mut chunk).ok()?;
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

/// Reads server-sent events.
pub(crate) struct Events {
    stream: BufReader<TcpStream>,
    text: String,
}

impl Events {
    #[track_caller]
    pub(crate) fn open(place: &str, request: Request) -> Self {
        let mut stream = BufReader::new(connect(place));
        stream.get_mut().write_all(&request.bytes(place)).expect("sent");
        let (status, headers) = read_head(&mut stream).expect("a head");
        assert_eq!(status, 200, "{headers:?}");
        assert!(headers.contains(&("content-type".to_owned(), "text/event-stream".to_owned())), "{headers:?}");
        Self { stream, text: String::new() }
    }

    /// The next event: its name and data. Nothing at the end.
    pub(crate) fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                let found = field("event:")
                    .zip(field("data:"))
                    .map(|(name, data)| (name.to_owned(), serde_json::from_str(data).unwrap_or_else(|_| json!(data))));
                self.text = rest.to_owned();
                if found.is_some() {
                    return found;
                }
                continue;
            }
            let chunk = read_chunk(&mut self.stream)?;
            self.text.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    /// The next event of that name.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, name: &str) -> Value {
        loop {
            let (found, data) = self.next().unwrap_or_else(|| panic!("the stream ended before {name}"));
            if found == name {
                return data;
            }
        }
    }
}

/// A WebSocket.
pub(crate) struct Ws {
    stream: BufReader<TcpStream>,
    seen: Vec<Value>,
    next: u64,
}

impl Ws {
    #[track_caller]
    pub(crate) fn open(place: &str, token: &str) -> Self {
        let request = Request::new("GET", "/ws")
            .token(token)
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        let mut stream = BufReader::new(connect(place));
        stream.get_mut().write_all(&request.bytes(place)).expect("sent");
        let (status, headers) = read_head(&mut stream).expect("a head");
        assert_eq!(status, 101, "{headers:?}");
        Self { stream, seen: Vec::new(), next: 1 }
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        let mut frame = vec![0x81];
        match text.len() {
            length @ 0..=125 => frame.push(0x80 | length as u8),
            length @ 126..=65535 => {
                frame.push(0x80 | 126);
                frame.extend((length as u16).to_be_bytes());
            }
            length => {
                frame.push(0x80 | 127);
                frame.extend((length as u64).to_be_bytes());
            }
        }
        // A mask of zeros leaves the text as it is.
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.stream.get_mut().write_all(&frame).expect("sent");
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, mut request: Value) -> u64 {
        let id = self.next;
        self.next += 1;
        if request.get("id").is_none() {
            request["id"] = json!(id);
        }
        self.send_text(&request.to_string());
        id
    }

    /// The next message; nothing when the connection ends.
    pub(crate) fn next(&mut self) -> Option<Value> {
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).ok()?;
            let length = match head[1] & 0x7f {
                126 => {
                    let mut length = [0; 2];
                    self.stream.read_exact(&mut length).ok()?;
                    u64::from(u16::from_be_bytes(length))
                }
                127 => {
                    let mut length = [0; 8];
                    self.stream.read_exact(&mut length).ok()?;
                    u64::from_be_bytes(length)
                }
                length => u64::from(length),
            };
            let mut payload = vec![0; length as usize];
            self.stream.read_exact(&mut payload).ok()?;
            match head[0] & 0x0f {
                1 => return Some(serde_json::from_slice(&payload).expect("JSON")),
                8 => return None,
                _ => {}
            }
        }
    }

    /// Waits for a message that fits.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.seen.iter().position(&fits) {
                return self.seen.remove(at);
            }
            match self.next() {
                Some(message) => self.seen.push(message),
                None => panic!("the connection ended before {what}; seen: {:#?}", self.seen),
            }
        }
    }

    /// Sends a request and waits for its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: Value) -> Value {
        let id = self.send(request);
        self.response(id)
    }

    #[track_caller]
    pub(crate) fn response(&mut self, id: u64) -> Value {
        self.wait_for(&format!("a response to {id}"), |message| {
            message["type"] == "response" && message["id"] == json!(id)
        })
    }

    /// Registers a tool and gives the name under which it is offered.
    #[track_caller]
    pub(crate) fn register(&mut self, name: &str, parameters: Value) -> String {
        let tool = json!({ "name": name, "description": "Brought by a client.", "parameters": parameters });
        let response = self.ask(json!({ "type": "register_tool", "tool": tool }));
        response["result"]["name"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    /// Waits for a call of one of its tools.
    #[track_caller]
    pub(crate) fn request(&mut self) -> Value {
        self.wait_for("a call", |message| message["type"] == "tool_call_request")
    }
}

/// A little longer than a moment, for what must not happen.
pub(crate) const MOMENT: Duration = Duration::from_millis(200);
