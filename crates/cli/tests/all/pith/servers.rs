//! Case 7: every `mcp/*.yaml` is a server.

use std::fs;
use std::time::{Duration, Instant};

use jackfield_test_support::eventually;
use serde_json::json;

use super::support::{Peer, called, sandbox, server_file, tool, tool_names};

/// An address where nobody listens.
fn nobody() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}/mcp", listener.local_addr().expect("an address"))
}

#[test]
fn case_07_a_file_is_a_server_and_its_variables_are_filled_in() {
    let peer = Peer::start(Some("Bearer sesame-open-now"));
    let mut sandbox = sandbox();
    sandbox.env("MCP_TOKEN", "sesame-open-now");
    sandbox.env("MCP_PLACE", &peer.url);
    let text = "# the weather\nurl: ${MCP_PLACE}\nheaders:\n  Authorization: Bearer ${MCP_TOKEN}\n  X-Plain: 7\n";
    let file = server_file(&sandbox, "weather.yaml", text);
    server_file(&sandbox, "_old.yaml", "url: not even read");
    assert_eq!(tool_names(&sandbox, &[]), ["mcp_weather_alerts", "mcp_weather_forecast"]);
    let (_, listed) = sandbox.json(&["tools"]);
    assert_eq!(listed["tools"][1]["description"], "Says how it will be.", "{listed:#}");
    assert_eq!(called(&sandbox, &["call", "mcp_weather_forecast", "city=Oslo"]), "forecast in Oslo");
    let (code, answer) = sandbox.json(&["call", "mcp_weather_nothing"]);
    assert_eq!(code, 3, "{answer:#}");
    assert!(answer.to_string().contains("mcp_weather_nothing"), "{answer:#}");
    let seen = peer.seen();
    assert!(seen.iter().all(|headers| headers.get("x-plain").is_some_and(|value| value == "7")), "{seen:#?}");
    let (_, extensions) = sandbox.json(&["list"]);
    assert_eq!(extensions["extensions"][0]["id"], "weather", "{extensions:#}");
    assert_eq!(extensions["diagnostics"], json!([]), "{extensions:#}");
    // What was filled in stands nowhere.
    for folder in ["ledger", "logs", "catalog"] {
        for entry in fs::read_dir(sandbox.home().join(folder)).into_iter().flatten().flatten() {
            let text = fs::read(entry.path()).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&text).contains("sesame-open-now"), "{}", entry.path().display());
        }
    }
    // Switched off, on, and removed alone.
    server_file(&sandbox, "other.yml", &format!("url: {}\n", nobody()));
    sandbox.run(&["ext", "disable", "weather"]).exits(0);
    assert_ne!(sandbox.run(&["call", "mcp_weather_forecast", "city=Oslo"]).code, 0);
    sandbox.run(&["ext", "enable", "weather"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "mcp_weather_forecast", "city=Oslo"]), "forecast in Oslo");
    sandbox.run(&["--yes", "ext", "remove", "weather"]).exits(0);
    assert!(!file.exists() && file.with_file_name("other.yml").exists());
}

#[test]
fn case_07_a_server_that_cannot_be_reached_is_skipped_with_a_reason() {
    let peer = Peer::start(None);
    let sandbox = sandbox();
    server_file(&sandbox, "a-dead.yaml", &format!("url: {}\n", nobody()));
    server_file(
        &sandbox,
        "b-wants.yaml",
        &format!("url: {}\nheaders: {{ X-Key: '${{NOBODY_SET_THIS}}' }}\n", peer.url),
    );
    server_file(&sandbox, "c-fine.yml", &format!("url: {}\nheaders: {{}}\n", peer.url));
    let output = sandbox.run(&["tools"]).exits(0);
    assert!(output.stdout.contains("mcp_c-fine_forecast"), "{output:#?}");
    assert!(output.stderr.contains("a-dead"), "{output:#?}");
    assert!(output.stderr.contains("headers.X-Key") && output.stderr.contains("NOBODY_SET_THIS"), "{output:#?}");
    assert_eq!(called(&sandbox, &["call", "mcp_c-fine_alerts", "city=Rome"]), "alerts in Rome");
    let refused = sandbox.run(&["call", "mcp_a-dead_forecast", "city=Oslo"]);
    assert!(refused.code != 0 && refused.stderr.contains("a-dead"), "{refused:#?}");
}

#[test]
fn case_07_files_that_are_no_servers_are_named_and_cost_nothing_else() {
    let peer = Peer::start(None);
    let sandbox = sandbox();
    let bomb = format!("a: &a [{}]\nurl: [{}]\n", "x,".repeat(30_000), "*a,".repeat(30_000));
    let files = [
        ("nothing.yaml", "", "missing `url`"),
        ("null.yaml", "~\n", "missing `url`"),
        ("without.yaml", "headers: {}\n", "missing `url`"),
        ("none.yaml", "url:\n", "missing `url`"),
        ("blank.yaml", "url: '  '\n", "`url` is empty"),
        ("list.yaml", "- url\n", "it must hold `url: …`, found an array"),
        ("number.yaml", "42\n", "it must hold `url: …`, found a number"),
        ("type.yaml", "url: [1]\n", "`url`"),
        ("file.yaml", "url: file:///etc/passwd\n", "is not an http(s) address"),
        ("headers.yaml", "url: http://x\nheaders: [a]\n", "`headers`"),
        ("header.yaml", "url: http://x\nheaders: {A: [1]}\n", "`headers.A` must be a string"),
        ("broken.yaml", "url: [\n", "broken.yaml:"),
        ("twice.yaml", "url: http://x\nurl: http://y\n", "duplicate key `url`"),
        ("two.yaml", "url: http://x\n---\nurl: http://y\n", "two.yaml"),
        ("tag.yaml", "url: !env X\n", "tag.yaml"),
        ("bomb.yaml", &bomb, "it holds too much"),
    ];
    for (name, text, _) in files {
        server_file(&sandbox, name, text);
    }
    let bytes = server_file(&sandbox, "bytes.yaml", "");
    fs::write(&bytes, b"url: \xff\xfe").expect("a file");
    fs::create_dir(bytes.with_file_name("folder.yaml")).expect("a directory");
    server_file(&sandbox, "odd.yaml", &format!("url: {}\ncommand: rm\n", peer.url));
    let began = Instant::now();
    let (code, listed) = sandbox.json(&["list"]);
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    assert_eq!(code, 0, "{listed:#}");
    let said = |name: &str, part: &str| {
        let all = listed["diagnostics"].as_array().expect("a list");
        let has = |text: &str| text.contains(name) && text.contains(part);
        assert!(all.iter().any(|one| has(&one.to_string().replace("\\\"", "\""))), "{name}: {part}: {all:#?}");
    };
    for (name, _, part) in files {
        said(name, part);
    }
    said("bytes.yaml", "not UTF-8");
    said("odd.yaml", "`command` is not understood");
    assert_eq!(tool_names(&sandbox, &[]), ["mcp_odd_alerts", "mcp_odd_forecast"]);
    let refused = sandbox.run(&["call", "mcp_without_forecast"]);
    assert!(refused.code != 0 && refused.stderr.contains("without"), "{refused:#?}");
}

#[test]
fn case_07_an_empty_folder_and_a_missing_one_give_nothing() {
    let sandbox = sandbox();
    assert_eq!(tool_names(&sandbox, &[]), Vec::<String>::new());
    fs::create_dir_all(sandbox.home().join("extensions/mcp")).expect("a directory");
    assert_eq!(tool_names(&sandbox, &[]), Vec::<String>::new());
    let (_, listed) = sandbox.json(&["list"]);
    assert_eq!((&listed["extensions"], &listed["diagnostics"]), (&json!([]), &json!([])), "{listed:#}");
}

#[test]
fn case_07_the_project_and_the_command_line_have_servers_too() {
    let peer = Peer::start(None);
    let sandbox = sandbox();
    let text = format!("url: {}\n", peer.url);
    let file = sandbox.project().join("extensions/mcp/near.yaml");
    sandbox.write(&file, &text);
    assert_eq!(tool_names(&sandbox, &[]), Vec::<String>::new(), "a project waits for trust");
    sandbox.run(&["trust"]).exits(0);
    assert_eq!(called(&sandbox, &["call", "mcp_near_forecast", "city=Oslo"]), "forecast in Oslo");
    sandbox.write(&file, &format!("{text}headers: {{ X-New: 1 }}\n"));
    sandbox.run(&["call", "mcp_near_forecast", "city=Oslo"]).exits(4);
    // A link out of the project is not what somebody trusted.
    let far = sandbox.path("far.yaml");
    sandbox.write(&far, &text);
    std::os::unix::fs::symlink(&far, file.with_file_name("linked.yaml")).expect("a link");
    sandbox.run(&["trust"]).exits(0);
    let (_, listed) = sandbox.json(&["list"]);
    assert!(listed["diagnostics"].to_string().contains("escapes"), "{listed:#}");
    assert!(!tool_names(&sandbox, &[]).iter().any(|name| name.contains("linked")));

    let dir = sandbox.path("given");
    sandbox.write(&dir.join("mcp/far.yaml"), &text);
    sandbox.write(&dir.join("tools/hi.py"), "def run():\n    return 'hi'\n");
    let (dir, file) = (dir.display().to_string(), far.display().to_string());
    let names = tool_names(&sandbox, &["-e", &dir]);
    assert!(names.contains(&"hi".to_owned()) && names.contains(&"mcp_far_forecast".to_owned()), "{names:?}");
    for given in [file.as_str(), &format!("{dir}/mcp")] {
        assert_eq!(called(&sandbox, &["-e", given, "call", "mcp_far_alerts", "city=Rome"]), "alerts in Rome");
    }
}

#[test]
fn case_07_a_file_that_is_saved_is_live_and_collisions_have_one_winner() {
    let (peer, other) = (Peer::start(None), Peer::start(None));
    let sandbox = sandbox();
    fs::create_dir_all(sandbox.home().join("extensions/mcp")).expect("a directory");
    let mut rpc = sandbox.rpc(&["--watch"]);
    rpc.ask(json!({ "type": "tools" }));
    let file = server_file(&sandbox, "weather.yaml", &format!("url: {}\n", peer.url));
    let mut forecast = || {
        let call = json!({ "type": "call_tool", "tool": "mcp_weather_forecast", "args": { "city": "Oslo" } });
        rpc.ask(call).to_string().contains("forecast in Oslo")
    };
    eventually("a server that was written is there", &mut forecast);
    fs::write(&file, format!("url: {}\n", other.url)).expect("saved");
    eventually("another address is used", || forecast() && !other.seen().is_empty());
    fs::remove_file(&file).expect("removed");
    eventually("what was removed goes", || !forecast());
    // A tool of the same name is told from it.
    fs::write(&file, format!("url: {}\n", peer.url)).expect("saved");
    tool(&sandbox, "mcp_weather_forecast", "def run(city: str = ''):\n    return 'mine'\n");
    let output = sandbox.run(&["tools"]).exits(0);
    assert!(output.stderr.contains("is offered as"), "{output:#?}");
    assert_eq!(tool_names(&sandbox, &[]).len(), 3);
}
