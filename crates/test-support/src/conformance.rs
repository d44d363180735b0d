//! The one list of what every runtime must do with an extension, whatever language it is in. Each runtime brings a
//! [`Subject`]; the scenarios drive the built binary.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Rpc, Sandbox, eventually};

/// The name of a scenario, and what plays it.
pub type Scenario = (&'static str, fn(&dyn Subject));

/// Every scenario, by name.
pub const SCENARIOS: [Scenario; 22] = [
    ("hello_ok", hello_ok),
    ("hello_wrong_version", |subject| does_not_start(subject, "hello_wrong_version")),
    ("hello_late", |subject| does_not_start(subject, "hello_late")),
    ("tool_ok", tool_ok),
    ("tool_error", tool_error),
    ("unknown_tool", unknown_tool),
    ("timeout", timeout),
    ("cancel", cancel),
    ("progress", progress),
    ("overlap", overlap),
    ("host_call_allowed", host_call_allowed),
    ("host_call_denied", host_call_denied),
    ("crash_mid_call", |subject| breaks(subject, "crash_mid_call")),
    ("garbage", |subject| breaks(subject, "garbage")),
    ("oversize", |subject| breaks(subject, "oversize")),
    ("log_flood", log_flood),
    ("stop_polite", |subject| stops(subject, "stop_polite")),
    ("stop_ignored", |subject| stops(subject, "stop_ignored")),
    ("hook_replace", |subject| hook(subject, "hook_replace", "swapme")),
    ("hook_block", |subject| hook(subject, "hook_block", "stopme")),
    ("hook_crash", |subject| hook(subject, "hook_crash", "crashme")),
    ("offers_changed", offers_changed),
];

/// Whether a scenario means something for a runtime.
pub enum Applies {
    /// It does.
    Yes,
    /// It does not, for this reason.
    No(&'static str),
}

/// An extension called `subject`, in the form of one runtime.
///
/// It has the tools `echo` (its text holds that of its arguments), `fail` (an answer that is an error), `hang`, `break`
/// (as the scenario says), `chat` (progress), `flood` (many log lines), `slow` (half a second without holding up others), `offer`
/// (registers `second`), and `variable` (reads `CONFORMING` through a host call).
pub trait Subject {
    /// The binary.
    fn binary(&self) -> &'static str;

    /// Puts it into the home, so that it behaves as `scenario` wants, or says why the scenario does not apply.
    fn install(&self, sandbox: &Sandbox, scenario: &str) -> Applies;

    /// Its own name and arguments for one of the tools above.
    fn tool(&self, tool: &str) -> (String, Value) {
        (tool.to_owned(), json!({}))
    }
}

/// Runs one scenario.
///
/// # Panics
/// When the runtime does not conform.
pub fn conform(subject: &dyn Subject, scenario: &str) {
    let found = SCENARIOS.iter().find(|(name, _)| *name == scenario);
    let (_, run) = found.unwrap_or_else(|| panic!("no scenario {scenario}"));
    run(subject);
}

fn installed(subject: &dyn Subject, scenario: &str) -> Option<Sandbox> {
    let mut sandbox = Sandbox::new(subject.binary());
    sandbox.env("CONFORMING", "to the list");
    let mode = if scenario == "host_call_denied" { "strict" } else { "permissive" };
    let config = format!(
        "[policy]\nmode = \"{mode}\"\n\n[js]\ncpu_ms = 1500\nmemory_mb = 64\n\n[wasm]\ncpu_ms = 1500\nmemory_mb = 64\n"
    );
    sandbox.write(&sandbox.home().join("config.toml"), &config);
    sandbox.plain("other", &["bystander"], &[]);
    match subject.install(&sandbox, scenario) {
        Applies::Yes => Some(sandbox),
        Applies::No(why) => {
            assert!(why.len() > 20, "say why {scenario} does not apply");
            None
        }
    }
}

fn start(subject: &dyn Subject, scenario: &str) -> Option<(Sandbox, Rpc)> {
    let sandbox = installed(subject, scenario)?;
    let host = sandbox.rpc(&[]);
    Some((sandbox, host))
}

fn public(name: &str) -> String {
    format!("ext_subject_{name}")
}

/// Calls one of the subject's tools.
fn call(host: &mut Rpc, subject: &dyn Subject, tool: &str) -> Value {
    let (name, args) = subject.tool(tool);
    host.call(&public(&name), args)
}

/// Both extensions answer.
#[track_caller]
fn all_work(host: &mut Rpc, subject: &dyn Subject) {
    assert_eq!(host.text("ext_other_bystander", json!({})), "other");
    let (name, _) = subject.tool("echo");
    let said = host.text(&public(&name), json!({ "text": "still here" }));
    assert!(said.contains("still here"), "{said}");
}

#[track_caller]
fn code(response: &Value) -> &str {
    response["error"]["code"].as_str().unwrap_or_else(|| panic!("no error: {response:#}"))
}

fn tools(host: &mut Rpc) -> String {
    host.ask(json!({ "type": "tools" })).to_string()
}

fn hello_ok(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "hello_ok") else { return };
    let listed = tools(&mut host);
    assert!(listed.contains("echo") && listed.contains("bystander"), "{listed}");
}

fn does_not_start(subject: &dyn Subject, scenario: &str) {
    let Some((_sandbox, mut host)) = start(subject, scenario) else { return };
    let began = Instant::now();
    let response = host.call(&public("echo"), json!({ "text": "x" }));
    assert_eq!(response["success"], json!(false), "{response:#}");
    assert!(matches!(code(&response), "unavailable" | "not_found"), "{response:#}");
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert_eq!(host.text("ext_other_bystander", json!({})), "other");
}

fn tool_ok(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "tool_ok") else { return };
    all_work(&mut host, subject);
}

fn tool_error(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "tool_error") else { return };
    let response = call(&mut host, subject, "fail");
    assert_eq!((&response["success"], &response["data"]["is_error"]), (&json!(true), &json!(true)), "{response:#}");
    all_work(&mut host, subject);
}

fn unknown_tool(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "unknown_tool") else { return };
    let response = host.call(&public("levitate_now"), json!({}));
    assert_eq!(code(&response), "not_found", "{response:#}");
    all_work(&mut host, subject);
}

fn timeout(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "timeout") else { return };
    all_work(&mut host, subject);
    let (name, args) = subject.tool("hang");
    let request = json!({ "type": "call_tool", "tool": public(&name), "args": args, "timeout_ms": 300 });
    let response = host.ask(request);
    assert_eq!(code(&response), "timeout", "{response:#}");
    all_work(&mut host, subject);
}

fn cancel(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "cancel") else { return };
    all_work(&mut host, subject);
    let (name, args) = subject.tool("hang");
    let id = host.send(json!({ "type": "call_tool", "tool": public(&name), "args": args }));
    let mut was_under_way = false;
    eventually("the call is under way and cancelled", || {
        was_under_way |= host.ask(json!({ "type": "cancel", "target": id }))["data"]["cancelled"] == json!(true);
        was_under_way
    });
    let response = host.response(&id);
    assert_eq!(code(&response), "cancelled", "{response:#}");
    all_work(&mut host, subject);
}

fn progress(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "progress") else { return };
    let response = call(&mut host, subject, "chat");
    assert_eq!(response["success"], json!(true), "{response:#}");
    let told = host.wait_for("its progress", |line| line["type"] == "ext_progress");
    assert_eq!((&told["extension"], &told["message"]), (&json!("subject"), &json!("half way")), "{told:#}");
}

fn overlap(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "overlap") else { return };
    all_work(&mut host, subject);
    let (name, args) = subject.tool("slow");
    let one = json!({ "type": "call_tool", "tool": public(&name), "args": args });
    let began = Instant::now();
    let ids: Vec<String> = (0..4).map(|_| host.send(one.clone())).collect();
    for id in ids {
        let response = host.response(&id);
        assert_eq!(response["success"], json!(true), "{response:#}");
    }
    assert!(began.elapsed() < Duration::from_millis(1900), "four of 500 ms, one after another: {:?}", began.elapsed());
}

fn host_call_allowed(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "host_call_allowed") else { return };
    let response = call(&mut host, subject, "variable");
    assert!(response["data"].to_string().contains("to the list"), "{response:#}");
}

fn host_call_denied(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "host_call_denied") else { return };
    let (name, args) = subject.tool("variable");
    let request = json!({ "type": "call_tool", "tool": public(&name), "args": args, "caller": "person" });
    let response = host.ask(request);
    let said = response.to_string();
    assert!(!said.contains("to the list"), "{response:#}");
    assert!(said.contains("denied") || said.contains("not granted") || said.contains("grant"), "{response:#}");
}

fn breaks(subject: &dyn Subject, scenario: &str) {
    let Some((_sandbox, mut host)) = start(subject, scenario) else { return };
    all_work(&mut host, subject);
    let began = Instant::now();
    let response = call(&mut host, subject, "break");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    assert!(response.to_string().len() < 64 * 1024 * 1024, "bounded");
    if scenario == "crash_mid_call" {
        assert_eq!(response["success"], json!(false), "{response:#}");
    }
    // A restart may take its backoff.
    eventually("it is served again", || {
        let (name, _) = subject.tool("echo");
        host.call(&public(&name), json!({ "text": "back" }))["data"].to_string().contains("back")
    });
    all_work(&mut host, subject);
}

fn log_flood(subject: &dyn Subject) {
    let Some((sandbox, mut host)) = start(subject, "log_flood") else { return };
    let response = call(&mut host, subject, "flood");
    assert_eq!(response["success"], json!(true), "{response:#}");
    all_work(&mut host, subject);
    let logs = std::fs::read_dir(sandbox.home().join("logs")).into_iter().flatten().flatten();
    let size: u64 = logs.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum();
    assert!(size < 64 * 1024 * 1024, "{size} bytes of logs");
}

fn stops(subject: &dyn Subject, scenario: &str) {
    let Some((_sandbox, mut host)) = start(subject, scenario) else { return };
    all_work(&mut host, subject);
    if scenario == "stop_ignored" {
        call(&mut host, subject, "stay");
    }
    let began = Instant::now();
    assert_eq!(host.close(), 0);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

fn hook(subject: &dyn Subject, scenario: &str, word: &str) {
    let Some(sandbox) = installed(subject, scenario) else { return };
    sandbox.misbehave("prey", "ok");
    let mut host = sandbox.rpc(&[]);
    host.ask(json!({ "type": "tools" }));
    let response = host.call("ext_prey_echo", json!({ "text": word }));
    match scenario {
        "hook_replace" => assert_eq!(response["data"]["content"][0]["text"], json!("swapped"), "{response:#}"),
        "hook_block" => assert_eq!(code(&response), "denied", "{response:#}"),
        // Without a rule of its own a guard that fails lets pass, and that is told.
        _ => {
            assert_eq!(response["data"]["content"][0]["text"], json!(word), "{response:#}");
            let told = host.wait_for("the failed hook", |line| line["type"] == "ext_hook_failed");
            assert_eq!(told["extension"], json!("subject"), "{told:#}");
        }
    }
}

fn offers_changed(subject: &dyn Subject) {
    let Some((_sandbox, mut host)) = start(subject, "offers_changed") else { return };
    let before = tools(&mut host);
    assert!(!before.contains("\"second\"") && !before.contains("_second\""), "{before}");
    call(&mut host, subject, "offer");
    eventually("the new tool is offered", || {
        let listed = tools(&mut host);
        listed.contains("\"second\"") || listed.contains("_second\"")
    });
}
