//! Questions for permission reach the person through the agent, where the agent can ask.

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{Client, text, with_odd};

#[test]
fn permission_is_asked_through_the_agent() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({ "elicitation": {}, "sampling": {} }));
    let mut sampled = |allow: &str| {
        let id = client.begin("tools/call", json!({ "name": "odd__sample" }));
        let question = client.told("elicitation/create");
        assert_eq!(question["params"]["requestedSchema"]["properties"]["allow"]["default"], "no");
        let message = question["params"]["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("\"odd\" wants: agent") && message.contains("jackfield grant odd agent"), "{message}");
        let answer = json!({ "action": "accept", "content": { "allow": allow } });
        client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer }));
        if allow != "no" {
            let asked = client.told("sampling/createMessage");
            let said = json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" });
            client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }));
        }
        let answer = client.answer(id);
        answer.to_string()
    };
    assert!(sampled("no").contains("denied"));
    assert!(sampled("once").contains("hi"));
    assert!(sampled("while jackfield runs").contains("hi"));
    // Then nobody is asked any more.
    let id = client.begin("tools/call", json!({ "name": "odd__sample" }));
    let asked = client.told("sampling/createMessage");
    let said = json!({ "role": "assistant", "content": { "type": "text", "text": "again" }, "model": "m" });
    client.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said }));
    assert!(text(&client.answer(id)["result"]).contains("again"));
    client.close();
}

/// A yes is remembered between calls, and forgotten as soon as a person says otherwise, by either name of the tool.
#[test]
fn a_denial_counts_for_a_tool_that_was_called_before() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let mut call = || client.ask("tools/call", json!({ "name": "odd__echo", "arguments": {} })).to_string();
    let decisions = || {
        let entries = sandbox.run(&["--json", "ledger", "tail", "-n", "100000"]).exits(0).json();
        let ends = entries["records"].as_array().cloned().unwrap_or_default();
        let ends = ends.into_iter().filter(|entry| entry["event"] == "tool_call.end");
        ends.map(|entry| entry["data"]["decision"].clone()).collect::<Vec<_>>()
    };
    (0..3).for_each(|_| assert!(!call().contains("denied")));
    for name in ["odd__echo", "ext_odd_echo"] {
        sandbox.run(&["grant", "odd", "tool", "--tool", name, "--deny"]).exits(0);
        eventually("the denial counts", || call().contains("deny_grant"));
        sandbox.run(&["revoke", "odd"]).exits(0);
        eventually("it is taken back", || !call().contains("deny_grant"));
        assert!(!call().contains("denied"));
    }
    let decisions = decisions();
    assert!(decisions.len() >= 9, "{decisions:?}");
    assert!(decisions.iter().all(|rule| rule == "mode" || rule == "deny_grant"), "{decisions:?}");
    client.close();
}

#[test]
fn an_agent_that_cannot_ask_is_refused_clearly() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({ "sampling": {} }));
    let answer = client.ask("tools/call", json!({ "name": "odd__sample" })).to_string();
    assert!(answer.contains("denied") && answer.contains("jackfield grant odd agent"), "{answer}");
    client.close();
}

#[test]
fn permission_is_asked_within_the_answer_since_2026() {
    let sandbox = with_odd(&[]);
    let mut client = Client::start(&sandbox, &[]);
    let can = json!({ "elicitation": {}, "sampling": {} });
    let mut params = json!({ "name": "odd__sample", "arguments": {} });
    let mut methods = Vec::new();
    let last = loop {
        let answer = client.modern("tools/call", params.clone(), can.clone());
        let result = answer["result"].clone();
        if result["resultType"] != "input_required" {
            break answer;
        }
        let (key, question) = result["inputRequests"].as_object().expect("questions").iter().next().expect("one");
        methods.push(question["method"].as_str().expect("a method").to_owned());
        let response = match question["method"].as_str() {
            Some("elicitation/create") => json!({ "action": "accept", "content": { "allow": "once" } }),
            _ => json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "m" }),
        };
        params["inputResponses"] = json!({ key: response });
        params["requestState"] = result["requestState"].clone();
    };
    assert_eq!(methods, ["elicitation/create", "sampling/createMessage"]);
    assert!(text(&last["result"]).contains("hi"), "{last}");
    client.close();
}
