//! Questions for permission reach the person through the agent, where the agent can ask.

use serde_json::json;

use crate::support::{Client, text, with_odd};

#[test]
fn permission_is_asked_through_the_agent() {
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({ "elicitation": {}, "sampling": {} }));
    let mut sampled = |allow: &str| {
        let id = client.begin("tools/call", json!({ "name": "odd__sample" }));
        let question = client.told("elicitation/create");
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
