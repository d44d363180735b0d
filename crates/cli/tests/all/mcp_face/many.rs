//! Many tools and many calls.

use std::collections::HashSet;

use jackfield_test_support::rounds;
use serde_json::{Value, json};

use super::support::{Client, learn, names, script, text, with_odd, with_servers};

#[test]
fn many_calls_with_64_in_flight_lose_none() {
    let calls = rounds(2_000, 10_000);
    let sandbox = with_odd(&[]);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    client.call("odd__echo", json!({}));
    let (mut begun, mut waiting, mut done) = (0, HashSet::new(), 0);
    while done < calls {
        while begun < calls as u64 && waiting.len() < 64 {
            let id = client.begin("tools/call", json!({ "name": "odd__echo", "arguments": { "a": begun } }));
            waiting.insert((id, begun));
            begun += 1;
        }
        let answer = client.next();
        let id = answer["id"].as_u64().expect("an answer");
        let said: Value = serde_json::from_str(text(&answer["result"])).expect("JSON");
        let number = said["a"].as_u64().expect("its number");
        assert!(waiting.remove(&(id, number)), "{answer}");
        done += 1;
    }
    client.close();
}

/// A server with this many tools.
const MANY: &str = r#"
import json, sys
own, count = sys.argv[1], int(sys.argv[2])
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": own, "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": f"act_{n}", "description": f"Does thing {n} of {own}, for instance with invoices.",
                             "inputSchema": {"type": "object", "properties": {"customer": {"type": "string"}}}}
                            for n in range(count)]}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": own + " " + message["params"]["name"]}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn twenty_servers_with_270_tools_become_three() {
    let sandbox = with_servers(json!({}));
    let path = script(&sandbox, "many.py", MANY);
    let mut servers = json!({});
    for n in 0..20 {
        let count = if n < 10 { 14 } else { 13 };
        let name = format!("s{n:02}");
        servers[&name] =
            json!({ "command": "python3", "args": ["-B", path, name, count.to_string()], "protocol": "legacy" });
    }
    servers["s07"]["args"] = json!(["-B", path, "payroll", "14"]);
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": servers }).to_string());
    let listing = learn(&sandbox, 270);
    let cost = |choice: &str, what: &str| listing["cost"][choice][what].as_u64().expect("a number");
    assert_eq!((cost("all", "tools"), cost("search", "tools")), (270, 3));
    assert!(cost("all", "tokens") > 10 * cost("search", "tokens"), "{}", listing["cost"]);

    let mut client = Client::legacy(&sandbox, &[], json!({}));
    assert_eq!(names(&client.request("tools/list", json!({}))["tools"]).len(), 270);
    client.close();

    let mut client = Client::legacy(&sandbox, &["--expose", "search,s01__act_1"], json!({}));
    let listed = names(&client.request("tools/list", json!({}))["tools"]);
    assert_eq!(listed, ["search_tools", "describe_tool", "call_tool", "s01__act_1"], "three, and a favourite");
    let found = client.call("search_tools", json!({ "query": "payroll invoice 3", "limit": 3 }));
    let found: Value = serde_json::from_str(text(&found)).expect("JSON");
    let hits = names(&found["tools"]);
    assert_eq!(hits.len(), 3);
    assert!(hits.iter().all(|name| name.starts_with("s07__")), "{hits:?}");
    let described = client.call("describe_tool", json!({ "name": hits[0] }));
    assert!(text(&described).contains("\"customer\""), "{described}");
    let called = client.call("call_tool", json!({ "name": "s07__act_3", "arguments": { "customer": "x" } }));
    assert_eq!(text(&called), "payroll act_3");
    assert_eq!(text(&client.call("s01__act_1", json!({}))), "s01 act_1");
    assert_eq!(client.call("describe_tool", json!({ "name": "nobody" }))["isError"], true);
    assert_eq!(client.ask("tools/call", json!({ "name": "call_tool", "arguments": {} }))["error"]["code"], -32602);
    client.close();

    let mut client = Client::legacy(&sandbox, &["--expose", "s01__*"], json!({}));
    assert_eq!(names(&client.request("tools/list", json!({}))["tools"]).len(), 14);
    assert_eq!(
        client.ask("tools/call", json!({ "name": "s02__act_1" }))["error"]["code"],
        -32602,
        "not for this agent"
    );
    client.close();
}

#[test]
fn long_lists_come_in_pages() {
    let sandbox = with_servers(json!({}));
    let path = script(&sandbox, "many.py", MANY);
    let server = |own: &str| json!({ "command": "python3", "args": ["-B", path, own, "600"], "protocol": "legacy" });
    let servers = json!({ "big": server("big"), "large": server("large") });
    sandbox.write(&sandbox.home().join("mcp.json"), &json!({ "mcpServers": servers }).to_string());
    learn(&sandbox, 1200);
    let mut client = Client::legacy(&sandbox, &[], json!({}));
    let (mut all, mut pages, mut params) = (HashSet::new(), 0, json!({}));
    loop {
        let page = client.request("tools/list", params.clone());
        pages += 1;
        all.extend(names(&page["tools"]));
        match page.get("nextCursor") {
            Some(next) => params = json!({ "cursor": next }),
            None => break,
        }
    }
    assert_eq!((all.len(), pages), (1200, 3));
    client.close();
}
