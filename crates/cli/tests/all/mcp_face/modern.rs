//! The era in which every request stands for itself.

use serde_json::{Value, json};

use super::support::{Client, modern, names, text, with_odd};

#[test]
fn every_request_stands_for_itself() {
    let sandbox = with_odd(&[]);
    let mut client = Client::start(&sandbox, &[]);
    let found = client.modern("server/discover", json!({}), json!({}));
    let result = &found["result"];
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "jackfield");
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let list = client.modern(method, json!({}), json!({}));
        let result = &list["result"];
        assert_eq!(
            (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
            (&json!("complete"), &json!(0), &json!("private")),
            "{list}"
        );
    }
    let answer = client.modern("tools/call", json!({ "name": "odd__echo", "arguments": { "a": 1 } }), json!({}));
    assert_eq!((&answer["result"]["resultType"], text(&answer["result"])), (&json!("complete"), "{\"a\": 1}"));
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "no/such"] {
        assert_eq!(client.modern(method, json!({}), json!({}))["error"]["code"], -32601, "{method}");
    }
    let wrong = client
        .ask("tools/list", json!({ "_meta": { super::support::VERSION: "v999", super::support::CAPABILITIES: {} } }));
    assert_eq!(wrong["error"]["code"], -32022);
    assert_eq!(wrong["error"]["data"], json!({ "supported": ["2026-07-28"], "requested": "v999" }));
    let missing = client.ask("tools/list", json!({ "_meta": { super::support::VERSION: "2026-07-28" } }));
    assert_eq!(missing["error"]["code"], -32602);
    assert_eq!(client.ask("tools/list", json!({}))["error"]["code"], -32602, "before anything was agreed on");
    let missing = client.modern("resources/read", json!({ "uri": "nobody://here" }), json!({}));
    assert_eq!(
        (&missing["error"]["code"], &missing["error"]["data"]["uri"]),
        (&json!(-32602), &json!("nobody://here"))
    );
    client.close();
}

/// Asks a tool that wants to know something, and answers; gives the last answer.
#[track_caller]
fn asked(client: &mut Client, tool: &str) -> Value {
    let can = json!({ "elicitation": {}, "roots": {} });
    let first = client.modern("tools/call", json!({ "name": tool, "arguments": {} }), can.clone());
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let questions = result["inputRequests"].as_object().expect("questions");
    let mut responses = json!({});
    for (key, question) in questions {
        responses[key] = match question["method"].as_str() {
            Some("elicitation/create") => json!({ "action": "accept", "content": { "name": "Ada" } }),
            _ => json!({ "roots": [{ "uri": "file:///here" }] }),
        };
    }
    let state = &result["requestState"];
    let again = |responses: &Value, state: &str| json!({ "name": tool, "arguments": {}, "inputResponses": responses, "requestState": state });
    let state = state.as_str().expect("a state");
    let tampered = client.modern("tools/call", again(&responses, &format!("{state}x")), can.clone());
    assert_eq!(tampered["error"]["code"], -32602, "{tampered}");
    let other = json!({ "name": "odd__echo", "arguments": {}, "inputResponses": responses, "requestState": state });
    assert_eq!(client.modern("tools/call", other, can.clone())["error"]["code"], -32602, "it belongs to another call");
    let incomplete = client.modern("tools/call", again(&json!({ "wrong": {} }), state), can.clone());
    assert_eq!(incomplete["result"]["resultType"], "input_required", "asked again: {incomplete}");
    assert_eq!(
        client.modern("tools/call", again(&responses, state), can.clone())["error"]["code"],
        -32602,
        "used before"
    );
    let state = incomplete["result"]["requestState"].as_str().expect("a new state").to_owned();
    client.modern("tools/call", again(&responses, &state), can)
}

#[test]
fn questions_are_part_of_answers_whatever_the_server_speaks() {
    for (words, tool) in [(&[][..], "odd__elicit"), (&["modern"], "odd__input")] {
        let sandbox = with_odd(words);
        let mut client = Client::start(&sandbox, &[]);
        let last = asked(&mut client, tool);
        assert_eq!(last["result"]["resultType"], "complete", "{last}");
        assert!(text(&last["result"]).contains("Ada"), "{last}");
        client.close();
    }
}

#[test]
fn a_client_that_cannot_answer_is_told_what_it_takes() {
    let sandbox = with_odd(&["modern"]);
    let mut client = Client::start(&sandbox, &[]);
    let refused = client.modern("tools/call", json!({ "name": "odd__input", "arguments": {} }), json!({}));
    let said = refused.to_string();
    assert!(said.contains("-32021") || said.contains("does not say that it can"), "{refused}");
    client.close();
}

#[test]
fn whoever_listens_is_told() {
    for words in [&[][..], &["modern"]] {
        let sandbox = with_odd(words);
        let mut client = Client::start(&sandbox, &[]);
        assert!(
            !names(&client.modern("tools/list", json!({}), json!({}))["result"]["tools"])
                .contains(&"odd__new".to_owned())
        );
        let params = modern(json!({ "notifications": { "toolsListChanged": true } }), json!({}));
        let listening = client.begin("subscriptions/listen", params);
        let promised = client.next();
        assert_eq!(promised["method"], "notifications/subscriptions/acknowledged");
        assert_eq!(promised["params"]["notifications"], json!({ "toolsListChanged": true }));
        client.modern("tools/call", json!({ "name": "odd__change", "arguments": {} }), json!({}));
        let told = client.told("notifications/tools/list_changed");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], json!(listening));
        client.send(
            &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": listening } }),
        );
        client.modern("tools/call", json!({ "name": "odd__change", "arguments": {} }), json!({}));
        client.modern("tools/call", json!({ "name": "odd__wait", "arguments": { "seconds": 0.5 } }), json!({}));
        let later =
            client.aside.iter().filter(|message| message["method"] == "notifications/tools/list_changed").count();
        assert_eq!(later, 0, "nobody listens any more");
        client.close();
    }
}

#[test]
fn logs_are_for_those_who_ask() {
    let sandbox = with_odd(&[]);
    let mut client = Client::start(&sandbox, &[]);
    client.modern("tools/call", json!({ "name": "odd__progress", "arguments": {} }), json!({}));
    assert_eq!(client.aside, Vec::<Value>::new());
    let meta = json!({ "io.modelcontextprotocol/logLevel": "debug", "progressToken": 7 });
    client.modern("tools/call", json!({ "name": "odd__progress", "arguments": {}, "_meta": meta }), json!({}));
    assert!(client.aside.iter().any(|message| message["method"] == "notifications/message"));
    assert_eq!(client.aside.iter().filter(|message| message["params"]["progressToken"] == 7).count(), 5);
    client.close();
}
