//! MCP servers over HTTP through the built binary: listed, called, refused with the next step, logged in to.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use jackfield_test_support::{HttpRequest, Sandbox};
use serde_json::{Value, json};

/// A server and its issuer in one.
#[derive(Default)]
struct Behaviour {
    wants_login: AtomicBool,
    forget_session: AtomicBool,
    sessions: AtomicUsize,
    seen: Mutex<Vec<String>>,
}

struct Peer {
    origin: String,
    how: Arc<Behaviour>,
}

const TOKEN: &str = "the-access-token-1234567890";

impl Peer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let origin = format!("http://{}", listener.local_addr().expect("an address"));
        let how = Arc::new(Behaviour::default());
        let (shared, place) = (Arc::clone(&how), origin.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (how, origin) = (Arc::clone(&shared), place.clone());
                std::thread::spawn(move || serve(stream, &how, &origin));
            }
        });
        Self { origin, how }
    }

    fn seen(&self) -> Vec<String> {
        self.how.seen.lock().expect("seen").clone()
    }
}

fn serve(stream: TcpStream, how: &Behaviour, origin: &str) -> Option<()> {
    let HttpRequest { method, path, headers, body } = HttpRequest::read(&stream)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    how.seen.lock().expect("seen").push(format!("{method} {path} {body}"));
    let (status, more, text) = answer(&method, &path, &headers, &body, how, origin);
    let mut stream = stream;
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{more}\r\n{text}", text.len());
    stream.write_all(head.as_bytes()).ok()
}

fn answer(
    method: &str,
    path: &str,
    headers: &BTreeMap<String, String>,
    body: &str,
    how: &Behaviour,
    origin: &str,
) -> (u16, String, String) {
    let json = |value: Value| (200, "content-type: application/json\r\n".to_owned(), value.to_string());
    let bare = path.split('?').next().unwrap_or_default();
    match bare {
        "/.well-known/oauth-protected-resource/mcp" => json(
            json!({"resource": format!("{origin}/mcp"), "authorization_servers": [origin], "scopes_supported": ["use"]}),
        ),
        "/.well-known/oauth-authorization-server" => json(json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"), "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"), "revocation_endpoint": format!("{origin}/revoke"),
            "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"]
        })),
        "/register" => json(json!({"client_id": "c-1"})),
        "/authorize" => {
            let query: BTreeMap<&str, &str> = path
                .split_once('?')
                .map_or("", |(_, query)| query)
                .split('&')
                .filter_map(|pair| pair.split_once('='))
                .collect();
            let back = query["redirect_uri"].replace("%3A", ":").replace("%2F", "/");
            (302, format!("location: {back}?code=abc&state={}\r\n", query["state"]), String::new())
        }
        "/token" => {
            json(json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r-1"}))
        }
        "/revoke" => (200, String::new(), String::new()),
        "/mcp"
            if how.wants_login.load(Ordering::SeqCst)
                && headers.get("authorization").map(String::as_str) != Some(&format!("Bearer {TOKEN}")) =>
        {
            let place = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            (401, format!("www-authenticate: Bearer resource_metadata=\"{place}\"\r\n"), String::new())
        }
        "/mcp" if method == "POST" => {
            let message: Value = serde_json::from_str(body).unwrap_or_default();
            let named = headers.get("mcp-session-id").cloned();
            let current = format!("s-{}", how.sessions.load(Ordering::SeqCst));
            if named.is_some_and(|named| named != current) || how.forget_session.swap(false, Ordering::SeqCst) {
                how.sessions.fetch_add(1, Ordering::SeqCst);
                return (404, String::new(), String::new());
            }
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "web", "version": "1"}
                }),
                Some("tools/list") => json!({"tools": [{"name": "echo", "description": "says it again", "inputSchema":
                    {"type": "object", "properties": {"text": {"type": "string"}}}}]}),
                Some("tools/call") => {
                    json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
                }
                _ if message["id"].is_null() => return (202, String::new(), String::new()),
                _ => {
                    let error =
                        json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}});
                    return json(error);
                }
            };
            let (status, mut more, text) = json(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
            if message["method"] == "initialize" {
                more.push_str(&format!("mcp-session-id: {current}\r\n"));
            }
            (status, more, text)
        }
        _ => (405, String::new(), String::new()),
    }
}

fn sandbox(peer: &Peer) -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_jackfield"));
    let servers = json!({"mcpServers": {"web": {"type": "http", "url": format!("{}/mcp", peer.origin)}, "local": {"command": "true"}}});
    sandbox.write(&sandbox.home().join("mcp.json"), &servers.to_string());
    sandbox
}

#[test]
fn a_server_over_http_is_listed_and_called_like_any_other() {
    let peer = Peer::start();
    let sandbox = sandbox(&peer);
    let called = sandbox.run(&["call", "web__echo", "text=hello"]).exits(0);
    assert_eq!(called.stdout.trim(), "hello");
    let seen = peer.seen();
    assert!(seen.iter().any(|one| one.starts_with("DELETE /mcp")), "the session is ended: {seen:#?}");
    let (_, tools) = sandbox.json(&["tools"]);
    assert!(tools.to_string().contains("says it again"), "{tools:#}");
    sandbox.run(&["ledger", "verify"]).exits(0);
}

#[test]
fn a_forgotten_session_costs_the_caller_nothing() {
    let peer = Peer::start();
    let sandbox = sandbox(&peer);
    let mut rpc = sandbox.rpc(&[]);
    for round in 0..3 {
        if round == 1 {
            peer.how.forget_session.store(true, Ordering::SeqCst);
        }
        let answer =
            rpc.ask(json!({"type": "call_tool", "tool": "web__echo", "args": {"text": format!("round {round}")}}));
        assert!(answer.to_string().contains(&format!("round {round}")), "{answer:#}");
    }
}

#[test]
fn a_login_opens_the_door_and_a_logout_closes_it() {
    let peer = Peer::start();
    peer.how.wants_login.store(true, Ordering::SeqCst);
    let sandbox = sandbox(&peer);
    let refused = sandbox.run(&["call", "web__echo", "text=hello"]);
    assert!(refused.code != 0 && refused.stderr.contains("jackfield mcp login web"), "{refused:#?}");

    let mut child = sandbox
        .command(&["mcp", "login", "web", "--no-browser"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("an address");
    let address = line.trim().strip_prefix("log in here: ").unwrap_or_else(|| panic!("{line}")).to_owned();
    let back = visit(&address).expect("sent back");
    assert!(back.starts_with("http://127.0.0.1:"), "{back}");
    assert_eq!(visit(&back), None, "the door says thank you");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}");

    let called = sandbox.run(&["call", "web__echo", "text=hello"]).exits(0);
    assert_eq!(called.stdout.trim(), "hello");
    let folder = sandbox.home().join("secrets/mcp");
    assert_eq!(fs::metadata(&folder).expect("known").permissions().mode() & 0o777, 0o700);
    let kept: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert!(kept.iter().any(|file| fs::read_to_string(file.path()).is_ok_and(|text| text.contains(TOKEN))));
    assert!(kept.iter().all(|file| file.metadata().expect("known").permissions().mode() & 0o777 == 0o600));
    // Nobody else who is called like it gets what was for this address.
    let other = Peer::start();
    let servers = json!({"mcpServers": {"web": {"url": format!("{}/mcp", other.origin)}}});
    let before = fs::read_to_string(sandbox.home().join("mcp.json")).expect("a file");
    sandbox.write(&sandbox.home().join("mcp.json"), &servers.to_string());
    sandbox.run(&["--yes", "call", "web__echo", "text=hello"]);
    sandbox.write(&sandbox.home().join("mcp.json"), &before);

    let left = sandbox.run(&["mcp", "logout", "web"]).exits(0);
    assert!(left.stdout.contains("logged out"), "{left:#?}");
    assert!(peer.seen().iter().any(|one| one.starts_with("POST /revoke") && one.contains(TOKEN)), "it was given back");
    let refused = sandbox.run(&["call", "web__echo", "text=hello"]);
    assert!(refused.code != 0 && refused.stderr.contains("jackfield mcp login web"), "{refused:#?}");
    assert!(sandbox.run(&["mcp", "logout", "web"]).exits(0).stdout.contains("nobody was logged in"));
    // It is in no log and no ledger.
    let grep = |text: &str| !text.contains(TOKEN);
    for place in ["logs", "ledger"] {
        for file in fs::read_dir(sandbox.home().join(place)).into_iter().flatten().flatten() {
            assert!(fs::read_to_string(file.path()).map_or(true, |text| grep(&text)), "{:?}", file.path());
        }
    }
}

#[test]
fn a_login_that_makes_no_sense_says_so() {
    let peer = Peer::start();
    let sandbox = sandbox(&peer);
    sandbox.run(&["mcp", "login", "nobody"]).exits(3);
    let local = sandbox.run(&["mcp", "login", "local"]).exits(2);
    assert!(local.stderr.contains("needs no login"), "{local:#?}");
    let late = sandbox.run(&["mcp", "login", "web", "--no-browser", "--timeout", "1"]).exits(5);
    assert!(late.stderr.contains("nobody logged in"), "{late:#?}");
}

/// Where an address sends a browser.
fn visit(address: &str) -> Option<String> {
    let rest = address.strip_prefix("http://")?;
    let (host, path) = rest.split_once('/')?;
    let mut stream = TcpStream::connect(host).expect("connected");
    stream
        .write_all(format!("GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").as_bytes())
        .expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned)
}
