//! Clients that write nonsense: one clear error each, and the session goes on.

use serde_json::{Value, json};

use super::support::{Client, text, with_odd};

#[test]
fn nonsense_gets_one_clear_error_and_the_session_goes_on() {
    let sandbox = with_odd(&[]);
    let mut client = Client::start(&sandbox, &[]);
    let long = [b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"".as_slice(), &vec![b'x'; 50_000_000], b"\"}"].concat();
    let deep = "[".repeat(100_000);
    let lines: [(&[u8], i64); 12] = [
        (b"{bad", -32700),
        (b"nonsense", -32700),
        (b"\xff\xfe\x00", -32700),
        (deep.as_bytes(), -32700),
        (b"[]", -32600),
        (br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (b"7", -32600),
        (b"null", -32600),
        (br#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#, -32600),
        (br#"{"jsonrpc":"2.0","id":5}"#, -32600),
        (&long, -32600),
    ];
    for (line, code) in lines {
        client.raw(line);
        let answer = client.next();
        let shown = String::from_utf8_lossy(&line[..line.len().min(60)]).into_owned();
        assert_eq!(answer["error"]["code"], code, "{shown}: {answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|message| message.len() > 5), "{answer}");
        assert_eq!(client.request("ping", json!({})), json!({}), "after {shown}");
    }
    // Notifications and answers that nobody knows are passed over.
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/nonsense"}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        "",
        "   ",
    ] {
        client.raw(line.as_bytes());
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
    assert!(client.aside.is_empty(), "{:?}", client.aside);
    client.close();
}

#[test]
fn parameters_of_the_wrong_kind_are_named() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let cases: [(&str, Value); 12] = [
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": 7 })),
        ("tools/call", json!({ "name": "odd__echo", "arguments": [1] })),
        ("tools/call", json!({ "name": "odd__echo", "arguments": "x" })),
        ("tools/call", json!([])),
        ("tools/list", json!({ "cursor": "nonsense" })),
        ("tools/list", json!({ "cursor": 7 })),
        ("prompts/get", json!({})),
        ("resources/read", json!({ "uri": 7 })),
        ("resources/subscribe", json!({})),
        ("completion/complete", json!({ "ref": { "type": "ref/other" } })),
        ("logging/setLevel", json!({})),
    ];
    for (method, params) in cases {
        let answer = client.ask(method, params.clone());
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
    assert_eq!(client.ask("no/such", json!({}))["error"]["code"], -32601);
    // What does not fit a tool's schema is the model's to correct.
    let wrong = client.call("odd__echo", json!({ "z": 7 }));
    assert_eq!(wrong["isError"], true, "{wrong}");
    assert!(text(&wrong).contains("bad arguments for tool odd__echo"), "{wrong}");
    client.close();
}

#[test]
fn an_id_is_used_once_at_a_time() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let call = json!({ "jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": { "name": "odd__wait", "arguments": { "seconds": 0.5 } } });
    client.send(&call);
    client.send(&call);
    let (first, second) = (client.next(), client.next());
    assert_eq!((&first["id"], &first["error"]["code"]), (&json!("same"), &json!(-32600)), "{first}");
    assert_eq!(text(&second["result"]), "0.5");
    client.send(&call);
    assert_eq!(text(&client.next()["result"]), "0.5", "then it is free again");
    client.close();
}
