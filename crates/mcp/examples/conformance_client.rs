//! What the official conformance suite drives: the runtime for MCP servers, with somebody who says yes to everything.
//!
//! The suite gives the address of its server as the last argument and the rest in variables. Everything that goes over the wire
//! is the runtime's doing; this only calls what the server offers.

#![allow(clippy::print_stderr, reason = "the suite shows it")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use jackfield_mcp::{ClientSetup, Consent, Elsewhere, Logins, McpOptions, McpRuntime};
use jackfield_process::ProcessOptions;
use jackfield_protocol::{
    CallError, CallId, ContributionChange, Contributions, ErrorCode, Format, HostCall, Launch, LogRecord, Manifest,
    McpEra, McpServer, McpTransport, Notice, RuntimeKind, Wire,
};
use jackfield_runtime::{
    BoxFuture, CallCx, ExtensionCall, HostApi, HostCallCx, Instance, Runtime, Secrets, StartSpec, Started,
};
use serde_json::{Map, Value, json};

/// The address that the suite expects for a client with a document about itself.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";
const PATIENCE: Duration = Duration::from_secs(25);

/// Answers what servers ask with what their questions suggest.
struct Willing;

impl HostApi for Willing {
    fn call(&self, call: HostCall, _cx: HostCallCx) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let HostCall::Mcp(asked) = call else {
                return Err(CallError::new(ErrorCode::Unsupported, "only MCP is spoken here"));
            };
            Ok(match asked.method.as_str() {
                "elicitation/create" => {
                    let schema = asked.params.get("requestedSchema").cloned().unwrap_or_default();
                    json!({ "action": "accept", "content": sample(&schema, true) })
                }
                "sampling/createMessage" => json!({
                    "role": "assistant", "model": "none", "stopReason": "endTurn",
                    "content": { "type": "text", "text": "an answer" }
                }),
                _ => json!({ "roots": [] }),
            })
        })
    }

    fn contribute(&self, _change: ContributionChange) {}

    fn tell(&self, _notice: Notice) {}

    fn log(&self, _record: LogRecord) {}
}

/// An object that fits a simple schema: defaults first.
fn sample(schema: &Value, all: bool) -> Value {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let mut object = Map::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let value = match (property.get("default"), property.get("type").and_then(Value::as_str)) {
            (Some(default), _) => default.clone(),
            _ if !all && !required.contains(&name.as_str()) => continue,
            (None, Some("integer" | "number")) => json!(1),
            (None, Some("boolean")) => json!(true),
            (None, Some("array")) => json!([]),
            (None, Some("object")) => sample(property, all),
            _ => property.get("enum").and_then(|words| words.get(0)).cloned().unwrap_or_else(|| json!("test")),
        };
        object.insert(name.clone(), value);
    }
    Value::Object(object)
}

/// Visits the address without a browser; the suite's issuer asks nobody.
struct Headless;

impl Consent for Headless {
    fn redirect_uri(&self) -> String {
        "http://localhost:3000/callback".to_owned()
    }

    fn ask<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, CallError>> {
        Box::pin(async move {
            let failed = |text: String| CallError::new(ErrorCode::Unavailable, text);
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
            let response = client.map_err(|error| failed(error.to_string()))?.get(url).send().await;
            let response = response.map_err(|error| failed(error.to_string()))?;
            let location = response.headers().get("location").and_then(|value| value.to_str().ok());
            location.map(str::to_owned).ok_or_else(|| failed(format!("{url} sent nobody back")))
        })
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), String> {
    let url =
        std::env::args().next_back().filter(|url| url.starts_with("http")).ok_or("the last argument is no address")?;
    let variable = |name: &str| std::env::var(format!("MCP_CONFORMANCE_{name}")).unwrap_or_default();
    let context: Value = serde_json::from_str(&variable("CONTEXT")).unwrap_or_default();
    let era = if variable("PROTOCOL_VERSION").as_str() < "2026" { McpEra::Legacy } else { McpEra::Modern };
    let place = std::env::temp_dir().join(format!("jackfield-conformance-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|error| error.to_string())?;
    let done = converse(&url, era, &context, &place).await;
    std::fs::remove_dir_all(&place).ok();
    done
}

async fn converse(url: &str, era: McpEra, context: &Value, place: &std::path::Path) -> Result<(), String> {
    let word = |key: &str| context.get(key).and_then(Value::as_str).map(str::to_owned);
    let setup = ClientSetup {
        client_id: word("client_id"),
        client_secret: word("client_secret"),
        issuer: word("issuer"),
        metadata_url: Some(DOCUMENT.to_owned()),
        scopes: Vec::new(),
    };
    let runtime = McpRuntime::new(McpOptions {
        process: ProcessOptions::default(),
        elsewhere: Elsewhere::default(),
        env: Arc::new(BTreeMap::new()),
        logins: Logins { store: None, setup, consent: Some(Arc::new(Headless)) },
    });
    let transport = McpTransport::Http { url: url.to_owned(), headers: BTreeMap::new() };
    let launch = Launch::Mcp(McpServer { transport, era, prefix: None });
    let spec = StartSpec {
        manifest: Arc::new(Manifest::plain("conformance", Format::Mcp, RuntimeKind::Mcp, launch)),
        dir: place.to_owned(),
        data_dir: place.to_owned(),
        log_file: place.join("log"),
        env: Vec::new(),
        project: place.to_owned(),
        provider: String::new(),
        model: String::new(),
        start_timeout: PATIENCE,
        max_memory_mb: None,
        cpu_slice: None,
        secrets: Secrets::default(),
    };
    let Started { instance, contributions } =
        runtime.start(spec, Arc::new(Willing)).await.map_err(|error| error.to_string())?;
    for warning in &contributions.warnings {
        eprintln!("warn: {warning}");
    }
    let failures = call_everything(instance.as_ref(), &contributions, context).await;
    instance.stop(Duration::from_secs(3)).await;
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

async fn call_everything(instance: &dyn Instance, offered: &Contributions, context: &Value) -> Vec<String> {
    let mut calls: Vec<(String, Value)> = Vec::new();
    for tool in &offered.tools {
        let asked = context.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
        let asked: Vec<Value> = asked
            .filter(|call| call.get("name").and_then(Value::as_str) == Some(&tool.name))
            .map(|call| call.get("arguments").cloned().unwrap_or_default())
            .collect();
        if tool.name == "json_schema_echo" {
            // It wants to see the schemas of the others as they arrived here.
            let others = offered.tools.iter().filter(|other| other.name != tool.name);
            calls.extend(others.map(|other| (tool.name.clone(), json!({ "schema": other.parameters }))));
        } else if asked.is_empty() {
            calls.push((tool.name.clone(), sample(&tool.parameters, false)));
        } else {
            calls.extend(asked.into_iter().map(|arguments| (tool.name.clone(), arguments)));
        }
    }
    let mut failures = Vec::new();
    for (name, args) in calls {
        let (call_id, meta) = (CallId::new(format!("call-{name}")), Map::new());
        let call =
            ExtensionCall::Tool { call_id, name: name.clone(), args: args.into(), wire: None, meta: meta.into() };
        if let Err(error) = instance.call(call, CallCx::within(PATIENCE)).await {
            failures.push(format!("{name}: {error}"));
        }
    }
    let others = [("prompts", "name", "prompts/get"), ("resources", "uri", "resources/read")];
    for (list, key, method) in others {
        let texts = offered.extra.get("mcp").and_then(|mcp| mcp.get(list)?.as_array()).into_iter().flatten();
        for text in texts.filter_map(Value::as_str) {
            let entry: Value = serde_json::from_str(text).unwrap_or_default();
            let params = json!({ key: entry.get(key) }).to_string();
            let call_id = CallId::new(format!("call-{method}"));
            let call = ExtensionCall::Mcp { call_id, method: method.to_owned(), params: Wire::new(params.as_str()) };
            if let Err(error) = instance.call(call, CallCx::within(PATIENCE)).await {
                failures.push(format!("{method} {params}: {error}"));
            }
        }
    }
    failures
}
