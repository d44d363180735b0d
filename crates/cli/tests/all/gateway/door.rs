//! What every request meets first.

use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{Reply, Request, connect, sandbox, serve, with_odd};

#[test]
fn every_route_but_health_wants_a_token() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let document = served.get("/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() >= 10, "{paths:?}");
    for (path, methods) in paths {
        for method in methods.as_object().expect("methods").keys() {
            let path = path.replace("{id}", "x");
            let reply = Request::new(&method.to_uppercase(), &path).send(&served.place);
            if path == "/health" {
                assert_eq!(reply.json()["status"], "ok");
            } else {
                reply.refuses(401, "unauthorized");
            }
        }
    }
    Request::new("GET", "/ws").send(&served.place).refuses(401, "unauthorized");
    Request::new("GET", "/api/nothing").send(&served.place).refuses(401, "unauthorized");
    served.get("/api/nothing").refuses(404, "not_found");
    served.get("/ws").refuses(426, "upgrade_required");
    let wrong = served.ask("DELETE", "/api/tools", None);
    wrong.refuses(405, "method_not_allowed");
    assert!(wrong.header("allow").is_some_and(|allow| allow.contains("GET")), "{wrong:?}");
}

#[test]
fn pages_of_other_sites_get_nothing() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let port = served.place.rsplit(':').next().expect("a port");
    let with = |name: &str, value: &str| {
        Request::new("GET", "/api/tools").token(&served.token).header(name, value).send(&served.place)
    };
    with("Host", "evil.example").refuses(403, "forbidden");
    with("Host", &format!("127.0.0.1.evil.example:{port}")).refuses(403, "forbidden");
    with("Origin", "http://evil.example").refuses(403, "forbidden");
    with("Origin", "null").refuses(403, "forbidden");
    assert_eq!(with("Host", &format!("localhost:{port}")).status, 200);
    assert_eq!(with("Origin", &format!("http://{}", served.place)).status, 200);
    // The same for what a browser asks before, and nobody is invited.
    let preflight = Request::new("OPTIONS", "/api/tools/call")
        .header("Origin", "http://evil.example")
        .header("Access-Control-Request-Method", "POST")
        .send(&served.place);
    assert_eq!(preflight.status, 403);
    for reply in [preflight, served.get("/api/tools")] {
        assert!(reply.headers.iter().all(|(name, _)| !name.starts_with("access-control")), "{reply:?}");
    }
}

#[test]
fn answers_carry_the_requests_id_and_are_not_kept() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let given = Request::new("GET", "/health").header("X-Request-Id", "mine-1").send(&served.place);
    assert_eq!(given.header("x-request-id"), Some("mine-1"));
    let made = Request::new("GET", "/health").header("X-Request-Id", "not plain").send(&served.place);
    assert!(made.header("x-request-id").is_some_and(|id| id.len() == 16), "{made:?}");
    assert_eq!(made.header("cache-control"), Some("no-store"));
    assert_eq!(made.header("x-content-type-options"), Some("nosniff"));
}

#[test]
fn bodies_have_a_size_a_kind_and_a_time() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &["--body-limit", "10000"]);
    let call = |size: usize| served.call("echo", json!({ "text": "x".repeat(size) }));
    assert_eq!(call(9000).status, 200);
    call(10_000).refuses(413, "too_large");
    // One that does not say how large it is.
    let chunked = || {
        let mut stream = BufReader::new(served.connect());
        let head = Request::new("POST", "/api/tools/call").token(&served.token).header("Transfer-Encoding", "chunked");
        stream.get_mut().write_all(&head.bytes(&served.place)).expect("sent");
        for _ in 0..12 {
            // It may be cut off before the end.
            stream.get_mut().write_all(format!("3e8\r\n{}\r\n", "x".repeat(1000)).as_bytes()).ok();
        }
        stream.get_mut().write_all(b"0\r\n\r\n").ok();
        Reply::read(&mut stream)
    };
    chunked().expect("an answer").refuses(413, "too_large");
    let form = Request::new("POST", "/api/tools/call").token(&served.token).header("Content-Type", "text/plain");
    let mut bytes = form.header("Content-Length", "2").bytes(&served.place);
    bytes.extend(b"{}");
    let mut stream = BufReader::new(served.connect());
    stream.get_mut().write_all(&bytes).expect("sent");
    Reply::read(&mut stream).expect("an answer").refuses(415, "unsupported_media_type");
    assert_eq!(call(1).status, 200, "it goes on");
}

#[test]
fn slow_clients_are_cut_off_and_others_served_meanwhile() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &["--header-timeout-ms", "500"]);
    let mut slow: Vec<_> = (0..50).map(|_| served.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ").expect("sent");
    }
    assert_eq!(served.call("echo", json!({ "text": "meanwhile" })).status, 200);
    for mut stream in slow {
        // A drop now and then does not buy more time.
        stream.write_all(b"a").ok();
        let mut rest = Vec::new();
        let began = Instant::now();
        stream.read_to_end(&mut rest).ok();
        assert!(began.elapsed() < Duration::from_secs(20), "cut off");
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&rest));
    }
    // Connections that say nothing at all end as well.
    let mut silent = served.connect();
    let mut rest = Vec::new();
    silent.read_to_end(&mut rest).ok();
    eventually("no connection is left but the asking one", || {
        served.get("/metrics").text().contains("jackfield_http_connections 1\n")
    });
}

#[test]
fn heads_that_are_none_get_400_or_nothing() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let headers: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let many = format!("GET /health HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", served.place);
    let long = format!("GET /health HTTP/1.1\r\nHost: {}\r\nX-Long: {}\r\n\r\n", served.place, "x".repeat(1_000_000));
    let uri = format!("GET /{} HTTP/1.1\r\nHost: {}\r\n\r\n", "x".repeat(1_000_000), served.place);
    let nonsense = "\u{0}\u{1}\u{2} nonsense\r\n\r\n".to_owned();
    for bytes in [many, long, uri, nonsense] {
        let mut stream = connect(&served.place);
        // It may be cut off before the end.
        stream.write_all(bytes.as_bytes()).ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let refused = answer.is_empty() || answer.starts_with("HTTP/1.1 4");
        assert!(refused, "{answer}");
    }
    assert_eq!(served.get("/health").status, 200);
}

#[test]
fn a_token_has_a_rate() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &["--rate-limit", "5"]);
    let replies: Vec<Reply> = (0..40).map(|_| served.get("/api/extensions")).collect();
    assert!(replies.iter().filter(|reply| reply.status == 200).count() >= 10);
    let refused = replies.iter().find(|reply| reply.status == 429).expect("one too many");
    refused.refuses(429, "rate_limited");
    assert!(refused.header("retry-after").is_some_and(|seconds| seconds.parse::<u64>().is_ok()));
    // It is the token's, not the gateway's.
    assert_eq!(served.get("/health").status, 200);
    eventually("the rate recovers", || served.get("/api/extensions").status == 200);
}

#[test]
fn other_machines_are_let_in_only_on_purpose_and_one_gateway_serves_a_project() {
    let sandbox = sandbox();
    let refused = sandbox.run(&["serve", "--listen", "0.0.0.0:0"]).exits(4);
    assert!(refused.stderr.contains("--allow-remote"), "{}", refused.stderr);
    let served = serve(&sandbox, &[]);
    let (code, second) = sandbox.json(&["serve"]);
    assert_eq!(code, 6, "{second}");
    let message = second["error"]["message"].as_str().expect("a message");
    assert!(message.contains(&served.place) && message.contains(&served.pid().to_string()), "{message}");
    assert!(!message.contains(&served.token));
    drop(served);
    let served = serve(&sandbox, &["--listen", "0.0.0.0:0", "--allow-remote"]);
    let port = served.place.rsplit(':').next().expect("a port");
    let place = format!("127.0.0.1:{port}");
    let reply = Request::new("GET", "/api/tools").token(&served.token).header("Host", "my.machine").send(&place);
    assert_eq!(reply.status, 200);
    Request::new("GET", "/api/tools").send(&place).refuses(401, "unauthorized");
}
