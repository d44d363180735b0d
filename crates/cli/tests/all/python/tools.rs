//! What tools offer and answer.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use super::support::{Dev, called, complaints, fails, sandbox, save, text, tool, with_packages, workers};

const GREET: &str =
    "async def run(name: str = \"world\") -> str:\n    \"\"\"Say hello.\"\"\"\n    return f\"hello {name}\"\n";

#[test]
fn a_file_is_a_tool() {
    let sandbox = sandbox();
    let file = tool(&sandbox, "greet", GREET);
    let (_, shown) = sandbox.json(&["inspect", &file.display().to_string()]);
    assert_eq!(
        (&shown["id"], &shown["format"], &shown["diagnostics"]),
        (&json!("tools.greet"), &json!("python"), &json!([]))
    );
    let parameters = json!({
        "type": "object", "additionalProperties": false,
        "properties": { "name": { "type": "string", "default": "world" } },
    });
    let tools = json!([{ "name": "greet", "label": "greet", "description": "Say hello.", "parameters": parameters }]);
    assert_eq!(shown["tools"], tools);
    assert_eq!(called(&sandbox, &["greet", "name=pith"]), "hello pith");
    assert_eq!(called(&sandbox, &["greet"]), "hello world");
    assert_eq!(called(&sandbox, &["ext_tools_greet_greet"]), "hello world");
}

#[test]
fn arguments_are_read_and_checked_before_the_call() {
    let sandbox = sandbox();
    tool(&sandbox, "add", "def run(a: int, b: int = 1) -> int:\n    return a + b\n");
    assert_eq!(called(&sandbox, &["add", "a:=41"]), "42");
    let said = fails(&sandbox, &["add", "a=x", "c=1"]);
    assert!(said.contains("a: expected an integer, found \"x\"") && said.contains("no parameter c"), "{said}");
    assert!(fails(&sandbox, &["add"]).contains("a is missing"));
}

#[test]
fn results_are_text_json_or_pictures() {
    let sandbox = sandbox();
    let source = "def run(kind: str):\n    if kind == 'dict':\n        return {'a': [1, None]}\n    if kind == 'none':\n        return None\n    return b'\\x89PNG\\r\\n\\x1a\\n' + bytes(8)\n";
    tool(&sandbox, "give", source);
    let (_, answer) = sandbox.json(&["call", "give", "kind=dict"]);
    assert_eq!((text(&answer), &answer["details"]), ("{\"a\": [1, null]}", &json!({ "a": [1, null] })));
    assert_eq!(called(&sandbox, &["give", "kind=none"]), "null");
    let (_, answer) = sandbox.json(&["call", "give", "kind=png"]);
    assert_eq!(
        (&answer["content"][0]["type"], &answer["content"][0]["mime_type"]),
        (&json!("image"), &json!("image/png"))
    );
}

#[test]
fn names_that_collide_or_are_none_stay_callable() {
    let sandbox = sandbox();
    tool(&sandbox, "read", "def run():\n    return 'mine'\n");
    tool(&sandbox, "my tool", "def run():\n    return 'spaced'\n");
    tool(&sandbox, "ünï", "def run():\n    return 'letters'\n");
    tool(&sandbox, "a.b", "def run():\n    return 'dotted'\n");
    tool(&sandbox, "MCP__x", "def run():\n    return 'reserved'\n");
    tool(&sandbox, "_helper", "raise SystemExit\n");
    let said = complaints(&sandbox);
    assert!(
        said.contains(
            "tool read of extension tools.read is offered as ext_tools_read_read: the name belongs to the host"
        )
    );
    assert!(said.contains("is offered as my_tool") && said.contains("is offered as a_b"), "{said}");
    assert_eq!(called(&sandbox, &["ext_tools_read_read"]), "mine");
    assert_eq!(called(&sandbox, &["my_tool"]), "spaced");
    assert_eq!(called(&sandbox, &["a_b"]), "dotted");
    let (_, listed) = sandbox.json(&["tools"]);
    let listed = listed["tools"].to_string();
    assert!(!listed.contains("MCP__") && !listed.contains("_helper"), "{listed}");
    let output = sandbox.run(&["doctor"]);
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("MCP__x.py") && said.contains("rename"), "{said}");
}

/// Answers every request with the weather.
fn weather_station() -> (u16, std::thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serving = std::thread::spawn(move || {
        for stream in listener.incoming().take(4) {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 4096];
            let read = stream.read(&mut request).unwrap_or(0);
            let path = String::from_utf8_lossy(&request[..read]).split(' ').nth(1).unwrap_or_default().to_owned();
            if path == "/stop" {
                return;
            }
            let body = format!("{path}: sunny");
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).ok();
        }
    });
    (port, serving)
}

/// The tool of the document that this format comes from, with the address replaced and nothing else: it does not even
/// import what it uses.
fn get_weather(port: u16) -> String {
    format!(
        r#"# extensions/tools/get_weather.py

async def run(city: str) -> str:
    """Get current weather for a city."""
    return await _fetch(f"http://127.0.0.1:{port}/{{city}}?format=3")

async def _fetch(url: str) -> str:
    async with httpx.AsyncClient() as client:
        return (await client.get(url)).text
"#
    )
}

#[test]
fn the_tool_of_the_document_works_as_it_stands_and_is_live_when_it_is_saved() {
    let sandbox = sandbox();
    with_packages(&sandbox);
    let (port, serving) = weather_station();
    let file = tool(&sandbox, "get_weather", &get_weather(port));
    let (_, shown) = sandbox.json(&["inspect", &file.display().to_string()]);
    assert_eq!(shown["tools"][0]["description"], "Get current weather for a city.");
    assert_eq!(shown["tools"][0]["parameters"]["required"], json!(["city"]));
    assert!(shown["diagnostics"].to_string().contains("add `import httpx`"), "{shown:#}");
    assert_eq!(called(&sandbox, &["get_weather", "city=Oslo"]), "/Oslo?format=3: sunny");

    let mut dev = Dev::start(&sandbox, &[]);
    assert_eq!(text(&dev.call("get_weather city=Rome")), "/Rome?format=3: sunny");
    save(&file, &get_weather(port).replace("format=3", "format=4"));
    assert_eq!(dev.reloaded("tools.get_weather")["error"], json!(null));
    assert_eq!(text(&dev.call("get_weather city=Rome")), "/Rome?format=4: sunny");
    let stop = std::net::TcpStream::connect(("127.0.0.1", port));
    stop.and_then(|mut stream| stream.write_all(b"GET /stop HTTP/1.1\r\n\r\n")).ok();
    serving.join().expect("the station closes");
}

#[test]
fn models_of_pydantic_are_understood() {
    let sandbox = sandbox();
    with_packages(&sandbox);
    let source = "from typing import Annotated\nfrom pydantic import BaseModel, Field\nclass Place(BaseModel):\n    city: str\n    zip: int = Field(ge=1)\n\
        def run(place: Place, days: Annotated[int, Field(ge=1, le=9, description='how many')] = 3):\n    return place\n";
    let file = tool(&sandbox, "plan", source);
    let (_, shown) = sandbox.json(&["inspect", &file.display().to_string()]);
    let parameters = &shown["tools"][0]["parameters"];
    let days = json!({ "type": "integer", "minimum": 1, "maximum": 9, "description": "how many", "default": 3 });
    assert_eq!(parameters["properties"]["days"], days);
    assert_eq!(parameters["properties"]["place"], json!({ "$ref": "#/$defs/Place" }));
    assert_eq!(parameters["$defs"]["Place"]["properties"]["zip"]["minimum"], 1);
    let place = "place={\"city\": \"Oslo\", \"zip\": \"7\"}";
    assert_eq!(called(&sandbox, &["plan", place]), "{\"city\": \"Oslo\", \"zip\": 7}");
    let said = fails(&sandbox, &["plan", "place={\"city\": \"Oslo\", \"zip\": 0}", "days=10"]);
    assert!(said.contains("place.zip") && said.contains("days: must be at most 9"), "{said}");
}

#[test]
fn the_host_can_be_called_without_an_import() {
    let sandbox = sandbox();
    sandbox.write(&sandbox.project().join("notes.txt"), "written down");
    tool(
        &sandbox,
        "look",
        "def run():\n    progress('looking')\n    return host.tool('read', {'path': 'notes.txt'})['content'][0]['text']\n",
    );
    let output = sandbox.run(&["--yes", "call", "look"]).exits(0);
    assert!(output.stdout.contains("written down") && output.stderr.contains("looking"), "{output:?}");
    let refused = sandbox.run(&["call", "look"]).exits(1);
    assert!(refused.stdout.contains("HostError") && refused.stdout.contains("look.py:3"), "{refused:?}");
}

#[test]
fn a_hundred_files_that_nobody_knows_leave_nothing_running() {
    let sandbox = sandbox();
    for number in 0..100 {
        tool(
            &sandbox,
            &format!("t{number}"),
            &format!("def run() -> int:\n    '''Number {number}.'''\n    return {number}\n"),
        );
    }
    tool(&sandbox, "crash", "import os\nos._exit(9)\n");
    let (_, listed) = sandbox.json(&["tools"]);
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(100));
    assert!(complaints(&sandbox).contains("crash.py: its process ended while it was loaded"));
    assert_eq!(workers(&sandbox), Vec::<u32>::new());
    let mut rpc = sandbox.rpc(&[]);
    let answer = rpc.ask(json!({ "type": "call_tool", "tool": "t42", "args": {} }));
    assert_eq!(text(&answer["data"]), "42");
    assert_eq!(workers(&sandbox).len(), 1, "only what is called runs");
}
