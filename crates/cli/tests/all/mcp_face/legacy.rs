//! The era of the handshake.

use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{Client, learn, names, odd, text, with_odd, with_servers};

#[test]
fn every_version_with_a_handshake_is_agreed_on() {
    let sandbox = with_odd(&[]);
    for (wanted, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let mut client = Client::start(&sandbox, &[]);
        let params =
            json!({ "protocolVersion": wanted, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        let result = client.request("initialize", params.clone());
        assert_eq!(result["protocolVersion"], agreed);
        assert_eq!(result["serverInfo"]["name"], "jackfield");
        assert_eq!(client.ask("initialize", params)["error"]["code"], -32600, "only once");
        assert_eq!(client.request("ping", json!({})), json!({}));
        client.close();
    }
}

#[test]
fn definitions_and_results_pass_as_they_were_written() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    client.begin("tools/list", json!({}));
    let list = client.line();
    // Only the name is ours: the order of the keys and what nobody knows stay.
    let echo = r#"{"name":"odd__echo","title":"Echo","description":"Says it back.","zz":1,"inputSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"number"}}},"annotations":{"readOnlyHint":true}}"#;
    assert!(list.contains(echo), "{list}");
    client.begin("tools/call", json!({ "name": "odd__odd" }));
    let result = client.line();
    let written = r#""result":{"zeta":12345678901234567890123,"content":[{"type":"hologram","depth":3.10,"x":null},{"type":"text","text":"after"}],"alpha":{"b":1,"a":2},"tools":[],"structuredContent":{"n":1}}}"#;
    assert!(result.ends_with(written), "{result}");
    // So do the arguments.
    client.raw(br#"{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"odd__echo","arguments":{"zz":1,"aa":12345678901234567890123}}}"#);
    let answer = client.next();
    assert_eq!(answer["id"], "x");
    assert_eq!(text(&answer["result"]), r#"{"zz": 1, "aa": 12345678901234567890123}"#);
    let refused = client.ask("tools/call", json!({ "name": "odd__refuse" }));
    assert_eq!(refused["error"], json!({ "code": -32050, "message": "not today", "data": { "why": ["a", 1] } }));
    let unknown = client.ask("tools/call", json!({ "name": "nobody" }));
    assert_eq!(unknown["error"]["code"], -32602);
    client.close();
}

#[test]
fn progress_comes_in_order_and_before_the_result() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let params =
        json!({ "name": "odd__progress", "arguments": { "steps": 200 }, "_meta": { "progressToken": "mine" } });
    let id = client.begin("tools/call", params);
    let answer = client.answer(id);
    assert_eq!(text(&answer["result"]), "done");
    let steps: Vec<u64> = client
        .aside
        .iter()
        .filter(|message| message["method"] == "notifications/progress" && message["params"]["progressToken"] == "mine")
        .filter_map(|message| message["params"]["progress"].as_u64())
        .collect();
    assert_eq!(steps, (0..200).collect::<Vec<_>>());
    assert!(client.aside.iter().any(|message| message["method"] == "notifications/message"));
    // Whoever wants only errors hears no more of the rest, and whoever gives no token hears of no progress.
    client.aside.clear();
    client.request("logging/setLevel", json!({ "level": "error" }));
    client.call("odd__progress", json!({}));
    assert_eq!(client.aside, Vec::<serde_json::Value>::new());
    assert_eq!(client.ask("logging/setLevel", json!({ "level": "loud" }))["error"]["code"], -32602);
    client.close();
}

#[test]
fn a_request_that_is_given_up_is_not_answered() {
    let sandbox = with_servers(json!({}));
    let log = sandbox.path("log");
    let server = odd(&[&format!("log:{}", log.display())]);
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": { "odd": server } }).to_string());
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let id = client.begin("tools/call", json!({ "name": "odd__late" }));
    eventually("the server has it", || std::fs::read_to_string(&log).is_ok_and(|log| log.contains("\"late\"")));
    // The server says what it was told to give up, once it was.
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }));
    eventually("the server hears of it", || text(&client.call("odd__seen", json!({}))) != "[]");
    assert!(client.aside.iter().all(|message| message["id"] != json!(id)), "{:?}", client.aside);
    client.close();
}

#[test]
fn questions_of_servers_reach_the_client() {
    for words in [&[][..], &["modern"]] {
        let sandbox = with_odd(words);
        let tool = if words.is_empty() { "odd__elicit" } else { "odd__input" };
        let mut client = Client::legacy(&sandbox, &[], json!({ "elicitation": {} }));
        let id = client.begin("tools/call", json!({ "name": tool }));
        let question = client.told("elicitation/create");
        assert_eq!(question["params"]["message"], "who?", "{question}");
        assert!(question["params"].get("_meta").is_none(), "{question}");
        let answer = json!({ "action": "accept", "content": { "name": "Ada" } });
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        let result = client.answer(id);
        assert!(text(&result["result"]).contains("Ada"), "{result}");
        client.close();
        // A client that cannot be asked gets a clear answer.
        let mut client = Client::legacy(&sandbox, &[], json!({}));
        let answer = client.ask("tools/call", json!({ "name": tool }));
        assert!(answer.to_string().contains("does not say that it can"), "{answer}");
        client.close();
    }
}

#[test]
fn changes_of_a_server_reach_the_client_soon() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    assert!(!names(&client.request("tools/list", json!({}))["tools"]).contains(&"odd__new".to_owned()));
    client.call("odd__change", json!({}));
    let began = Instant::now();
    client.told("notifications/tools/list_changed");
    let took = began.elapsed();
    assert!(names(&client.request("tools/list", json!({}))["tools"]).contains(&"odd__new".to_owned()));
    assert_eq!(text(&client.call("odd__new", json!({}))), "new");
    // 200 ms on a machine that has nothing else to do.
    assert!(took < Duration::from_secs(2), "{took:?}");
    client.close();
}

#[test]
fn prompts_and_resources_of_servers_and_of_other_extensions() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    assert!(names(&client.request("prompts/list", json!({}))["prompts"]).contains(&"odd__greet".to_owned()));
    let prompt = client.request("prompts/get", json!({ "name": "odd__greet", "arguments": { "a": "b" } }));
    let got: serde_json::Value =
        serde_json::from_str(prompt["messages"][0]["content"]["text"].as_str().expect("text")).expect("JSON");
    assert_eq!((&got["name"], &got["arguments"]), (&json!("greet"), &json!({ "a": "b" })));
    assert_eq!(client.ask("prompts/get", json!({ "name": "nobody" }))["error"]["code"], -32602);
    let resources = client.request("resources/list", json!({}));
    let uris: Vec<&str> =
        resources["resources"].as_array().expect("a list").iter().filter_map(|it| it["uri"].as_str()).collect();
    assert!(uris.contains(&"odd://one") && uris.contains(&"jackfield://logs/odd"), "{uris:?}");
    let log = client.request("resources/read", json!({ "uri": "jackfield://logs/odd" }));
    assert_eq!(log["contents"][0]["mimeType"], "text/plain");
    let missing = client.ask("resources/read", json!({ "uri": "nobody://here" }));
    assert_eq!(
        (&missing["error"]["code"], &missing["error"]["data"]["uri"]),
        (&json!(-32002), &json!("nobody://here"))
    );
    client.close();
}

#[test]
fn the_next_call_works_after_a_server_was_killed() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let died = client.call("odd__die", json!({}));
    assert_eq!(died["isError"], true, "{died}");
    eventually("the server is back", || client.call("odd__echo", json!({ "a": 1 }))["isError"] != true);
    client.close();
}

#[test]
fn a_list_does_not_wait_for_a_server_that_hangs() {
    let sandbox = with_servers(json!({}));
    let flag = sandbox.path("hang");
    let script = super::support::script(
        &sandbox,
        "slow.py",
        &format!(
            "import os, sys, time, runpy\nif os.path.exists({flag:?}):\n    time.sleep(600)\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\n"
        ),
    );
    let mut server = odd(&[]);
    server["args"].as_array_mut().expect("words").insert(1, json!(script));
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": { "slow": server } }).to_string());
    learn(&sandbox, 22);
    std::fs::write(&flag, "").expect("written");
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let began = Instant::now();
    let list = client.request("tools/list", json!({}));
    let took = began.elapsed();
    assert!(names(&list["tools"]).contains(&"slow__echo".to_owned()), "{list}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    client.close();
}
