//! `exec` and `http`: programs and other machines.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::HostCall;
use serde_json::{Value, json};

use super::{ImportResult, data_of, in_json, number, options, refused};
use crate::bindings::jackfield::extension::types::Error;
use crate::bindings::jackfield::extension::{exec, http};
use crate::state::State;

fn program(command: String, args: Vec<String>, text: &str) -> Result<HostCall, Error> {
    let known = ["cwd", "env", "stdin", "timeout_ms", "clear_env", "max_output"];
    let mut params = options("options of exec.run", text, &known)?;
    // The output comes as bytes; so must the input go.
    if let Some(Value::String(stdin)) = params.get("stdin") {
        let stdin = BASE64.encode(stdin);
        params.insert("stdin".to_owned(), json!(stdin));
    }
    params.insert("command".to_owned(), json!(command));
    params.insert("args".to_owned(), json!(args));
    params.insert("encoding".to_owned(), json!("base64"));
    HostCall::parse("exec", Value::Object(params)).map_err(refused)
}

impl exec::Host for State {
    async fn run(&mut self, command: String, args: Vec<String>, options: String) -> ImportResult<exec::Output> {
        let call = match program(command, args, &options) {
            Ok(call) => call,
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.ask(call).await?.map(|value| exec::Output {
            code: number(&value, "code"),
            stdout: data_of(&value, "stdout"),
            stderr: data_of(&value, "stderr"),
        }))
    }
}

fn request(request: http::Request) -> Result<HostCall, Error> {
    let mut params = options("options of http.fetch", &request.options, &["redirect", "timeout_ms"])?;
    params.insert("url".to_owned(), json!(request.url));
    if !request.method.is_empty() {
        params.insert("method".to_owned(), json!(request.method));
    }
    params.insert("headers".to_owned(), json!(request.headers));
    if let Some(body) = request.body {
        let (body, encoding) = in_json(body);
        params.insert("body".to_owned(), json!(body));
        params.insert("encoding".to_owned(), json!(encoding));
    }
    params.insert("raw".to_owned(), json!(true));
    HostCall::parse("http", Value::Object(params)).map_err(refused)
}

impl http::Host for State {
    async fn fetch(&mut self, asked: http::Request) -> ImportResult<http::Response> {
        let call = match request(asked) {
            Ok(call) => call,
            Err(error) => return Ok(Err(error)),
        };
        Ok(self.ask(call).await?.map(|value| http::Response {
            status: value.get("status").and_then(Value::as_u64).and_then(|s| u16::try_from(s).ok()).unwrap_or_default(),
            headers: value
                .get("headers")
                .and_then(|headers| serde_json::from_value(headers.clone()).ok())
                .unwrap_or_default(),
            body: data_of(&value, "body"),
        }))
    }
}
