//! Tokens for callers: bound to one session, with less than the owner may, and taken back at once.

use serde_json::{Value, json};

use super::support::{Events, Request, Ws, serve, with_odd};

#[test]
fn a_callers_token_serves_its_own_session_only() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let one = served.new_token(json!({ "session": "one", "name": "first" }));
    let other = served.new_token(json!({}));
    let (token, own) = (one["token"].as_str().expect("a token"), other["session"].as_str().expect("a session"));
    assert_eq!(token.len(), 64, "256 bits");
    let call = |token: &str, key: &str| {
        let body = json!({ "toolName": "echo", "params": { "text": "x" }, "sessionKey": key });
        served.ask_as(token, "POST", "/api/tools/call", Some(body))
    };
    assert_eq!(call(token, "one").json()["sessionKey"], "one");
    assert_eq!(call(token, "").json()["sessionKey"], "one");
    call(token, own).refuses(403, "forbidden");
    call(token, "main").refuses(403, "forbidden");
    call(&served.token, "one").refuses(403, "forbidden");

    // A token in the body that is another's.
    let body = json!({ "toolName": "echo", "params": {}, "token": other["token"] });
    served.ask_as(token, "POST", "/api/tools/call", Some(body)).refuses(403, "forbidden");

    // What concerns all sessions is the owner's.
    for (method, path) in [
        ("GET", "/api/approvals"),
        ("GET", "/api/events"),
        ("GET", "/metrics"),
        ("GET", "/api/tokens"),
        ("POST", "/api/tokens"),
        ("DELETE", "/api/tokens/x"),
    ] {
        let body = (method == "POST").then(|| json!({}));
        served.ask_as(token, method, path, body).refuses(403, "forbidden");
    }
    let answer = json!({ "id": "1", "answer": "always" });
    served.ask_as(token, "POST", "/api/approvals", Some(answer)).refuses(403, "forbidden");
    for path in ["/api/tools", "/api/extensions", "/openapi.json"] {
        assert_eq!(served.ask_as(token, "GET", path, None).status, 200, "{path}");
    }
}

#[test]
fn tokens_are_listed_without_themselves_revoked_and_expire() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let made = served.new_token(json!({ "session": "s", "pid": 42, "registerTools": true }));
    let (token, id) = (made["token"].as_str().expect("a token"), made["id"].as_str().expect("an id"));
    let listing = served.get("/api/tokens");
    assert!(!listing.text().contains(token) && !listing.text().contains(&served.token));
    let listing = listing.json();
    let rows = listing["tokens"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["id"] == made["id"]).expect("its row");
    assert_eq!((&row["pid"], &row["role"], &row["registerTools"]), (&json!(42), &json!("caller"), &json!(true)));
    let by_pid = |pid: u32| {
        let body = json!({ "token": token, "pid": pid, "tool": "echo", "params": { "text": "x" } }).to_string();
        Request::new("POST", "/api/tools/call").body(body.as_bytes()).send(&served.place)
    };
    assert_eq!(by_pid(42).status, 200);
    by_pid(43).refuses(403, "forbidden");

    // What it keeps open ends with it.
    let mut socket = Ws::open(&served.place, token);
    assert_eq!(socket.ask(json!({ "method": "tools.list" }))["ok"], true);
    assert_eq!(served.ask("DELETE", &format!("/api/tokens/{id}"), None).status, 200);
    while socket.next().is_some() {}
    by_pid(42).refuses(403, "forbidden");
    served.ask_as(token, "GET", "/api/tools", None).refuses(401, "unauthorized");
    served.ask("DELETE", &format!("/api/tokens/{id}"), None).refuses(404, "not_found");

    let owner = rows.iter().find(|row| row["role"] == "owner").expect("the owner's row");
    let path = format!("/api/tokens/{}", owner["id"].as_str().expect("an id"));
    served.ask("DELETE", &path, None).refuses(403, "forbidden");

    let short = served.new_token(json!({ "expiresIn": 1 }));
    let short = short["token"].as_str().expect("a token");
    jackfield_test_support::eventually("the token ends", || {
        served.ask_as(short, "GET", "/api/tools", None).status == 401
    });
    for wish in [json!({ "expiresIn": 0 }), json!({ "session": "" }), json!({ "nonsense": 1 }), json!([]), json!(7)] {
        served.ask("POST", "/api/tokens", Some(wish)).refuses(400, "bad_request");
    }
}

#[test]
fn no_token_stands_in_what_is_kept() {
    let sandbox = with_odd();
    let mut served = serve(&sandbox, &[]);
    let made = served.new_token(json!({ "session": "s" }));
    let token = made["token"].as_str().expect("a token").to_owned();
    let owner = served.token.clone();
    served.ask_as(&token, "POST", "/api/tools/call", Some(json!({ "tool": "echo", "params": {}, "token": token })));
    served.ask_as(&token, "POST", "/api/tools/call", Some(json!({ "tool": "nope", "params": {}, "token": "wrong" })));
    Events::open(&served.place, Request::new("GET", "/api/events").token(&owner)).wait_for("hello");
    served.terminate();
    let (code, said) = served.gone();
    assert_eq!(code, 0, "{said}");
    assert!(!said.contains(&token) && !said.contains(&owner), "{said}");
    let mut looked = 0;
    let mut folders = vec![sandbox.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains(&token) && !text.contains(&owner), "{}", path.display());
                looked += 1;
            }
        }
    }
    assert!(looked > 3, "the home has files");
}

#[test]
fn other_verbs_find_the_gateway_through_its_socket() {
    let sandbox = with_odd();
    let served = serve(&sandbox, &[]);
    let socket = sandbox.home().join(format!("run/host-{}.sock", served.pid()));
    let ask = |request: Value| {
        use std::io::{BufRead, BufReader, Write};
        let mut stream = std::os::unix::net::UnixStream::connect(&socket).expect("it listens");
        stream.write_all(format!("{request}\n").as_bytes()).expect("sent");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let mut values = lines.map(|line| serde_json::from_str::<Value>(&line).expect("JSON"));
        values.find(|value| value["type"] == "response").expect("a response")
    };
    let found = ask(json!({ "type": "gateway" }));
    assert_eq!(found["data"]["address"], served.said["address"], "{found}");
    let made = ask(json!({ "type": "create_token", "session": "spawned", "pid": 7 }));
    let token = made["data"]["token"].as_str().unwrap_or_else(|| panic!("{made}"));
    let body = json!({ "tool": "echo", "params": { "text": "x" }, "pid": 7 });
    let reply = served.ask_as(token, "POST", "/api/tools/call", Some(body));
    assert_eq!(reply.json()["sessionKey"], "spawned");
    assert_eq!(ask(json!({ "type": "revoke_token", "token": made["data"]["id"] }))["data"]["revoked"], true);
    served.ask_as(token, "GET", "/api/tools", None).refuses(401, "unauthorized");
    // A host without a gateway says so.
    let mut host = sandbox.rpc(&[]);
    assert_eq!(host.ask(json!({ "type": "gateway" }))["error"]["code"], "unsupported");
}
