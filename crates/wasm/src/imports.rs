//! What a component may import: each function makes a host call of its arguments, and of the host's answer what the world
//! promises. Nothing here touches the machine.

mod files;
mod person;
mod programs;
mod storage;
mod streams;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use jackfield_protocol::{
    CallError, Content, ErrorCode, HostCall, HostError, Notice, SessionOp, ToolParams, ToolResult,
};
use serde_json::{Map, Value, json};
use wasmtime::StoreContextMut;
use wasmtime::component::{HasSelf, Linker, WasmStr};

pub use self::streams::Stream;
use crate::bindings::Extension;
use crate::bindings::jackfield::extension as world;
use crate::bindings::jackfield::extension::types::{self, Data, Error};
use crate::fault::Halt;
use crate::scan::WORLD;
use crate::state::{MAX_MESSAGE, State};

/// What a host function gives: a trap, or an answer, which may be an error that the component sees.
type ImportResult<T> = wasmtime::Result<Result<T, Error>>;

/// Random bytes that are given at once.
const MAX_RANDOM: u32 = 65536;

/// Everything that our world offers.
pub(crate) fn add(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    Extension::add_to_linker::<_, HasSelf<_>>(linker, |state| state)?;
    // The wide door once more: what comes through it is read where it lies, instead of from a copy.
    linker.allow_shadowing(true);
    let wide_door = format!("{}/host@{}", WORLD.0, WORLD.1);
    linker.instance(&wide_door)?.func_wrap_async("call", |mut store, (method, params): (WasmStr, WasmStr)| {
        Box::new(async move {
            let answer = match read_host_call(&store, &method, &params)? {
                Ok(call) => in_text(store.data_mut().host_call(call).await?),
                Err(error) => Err(error),
            };
            Ok((answer,))
        })
    })?;
    linker.allow_shadowing(false);
    Ok(())
}

fn read_host_call(
    store: &StoreContextMut<'_, State>,
    method: &WasmStr,
    params: &WasmStr,
) -> wasmtime::Result<Result<HostCall, Error>> {
    Ok(host_call_of(&method.to_str(store)?, &params.to_str(store)?))
}

/// An error as components see it.
pub(crate) fn refused(error: CallError) -> Error {
    let error = HostError::from(error);
    let code = match serde_json::to_value(error.code) {
        Ok(Value::String(code)) => code,
        _ => "internal".to_owned(),
    };
    Error { code, message: error.message, details: error.details.map(|details| details.to_string()) }
}

fn invalid(message: impl Into<String>) -> Error {
    refused(CallError::new(ErrorCode::InvalidRequest, message))
}

/// JSON as components write it; nothing is `null`.
pub(crate) fn json_of(what: &str, text: &str) -> Result<Value, Error> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_str(text).map_err(|error| invalid(format!("{what} is not JSON: {error}")))
}

/// JSON as components read it: in one go, where `to_string` of a value would go through a formatter piece by piece.
pub(crate) fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// A host call as components write it; nothing stands for no parameters.
fn host_call_of(method: &str, params: &str) -> Result<HostCall, Error> {
    if let Some(call) = HostCall::from_text(method, params) {
        return Ok(call);
    }
    let params = match json_of("params", params)? {
        Value::Null => json!({}),
        params => params,
    };
    HostCall::parse(method, params).map_err(refused)
}

/// An object with no other keys than these: a key that has no effect is a mistake that its author should see.
fn options(what: &str, text: &str, known: &[&str]) -> Result<Map<String, Value>, Error> {
    let object = match json_of(what, text)? {
        Value::Null => Map::new(),
        Value::Object(object) => object,
        _ => return Err(invalid(format!("{what} must be an object"))),
    };
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(invalid(format!("{what} has the unknown key {key:?}; it may have {}", known.join(", ")))),
        None => Ok(object),
    }
}

/// What stands under `key`, in the encoding that stands beside it.
fn data_of(value: &Value, key: &str) -> Data {
    let text = value.get(key).and_then(Value::as_str).unwrap_or_default();
    if value.get("encoding").and_then(Value::as_str) == Some("base64") {
        let bytes = BASE64.decode(text).unwrap_or_default();
        return match String::from_utf8(bytes) {
            Ok(text) => Data::Text(text),
            Err(error) => Data::Bytes(error.into_bytes()),
        };
    }
    Data::Text(text.to_owned())
}

/// Data as it stands in JSON, and its encoding.
fn in_json(data: Data) -> (String, Option<String>) {
    match data {
        Data::Text(text) => (text, None),
        Data::Bytes(bytes) => (BASE64.encode(bytes), Some("base64".to_owned())),
    }
}

fn number(value: &Value, key: &str) -> f64 {
    value.get(key).and_then(Value::as_f64).unwrap_or_default()
}

fn text(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl State {
    fn ask(&mut self, call: HostCall) -> impl Future<Output = ImportResult<Value>> + Send {
        let asked = self.host_call(call);
        async move { Ok(asked.await?.map_err(refused)) }
    }
}

/// The answer to a host call that was made by name.
fn in_text(outcome: Result<Value, CallError>) -> Result<String, Error> {
    match outcome {
        Ok(value) => Ok(written(&value)),
        Err(error) => Err(refused(error)),
    }
}

impl types::Host for State {}

impl world::log::Host for State {
    fn write(&mut self, level: String, message: String, data: String) -> wasmtime::Result<()> {
        let data = match json_of("data", &data) {
            Ok(Value::Object(data)) => data,
            Ok(Value::Null) => Map::new(),
            Ok(other) => Map::from_iter([("data".to_owned(), other)]),
            Err(_) => Map::from_iter([("data".to_owned(), Value::String(data))]),
        };
        let shared = std::sync::Arc::clone(&self.shared);
        let call = self.call.clone();
        self.untimed(|| shared.log(call.as_ref(), &level, &message, data));
        Ok(())
    }
}

impl world::host::Host for State {
    async fn call(&mut self, method: String, params: String) -> ImportResult<String> {
        match host_call_of(&method, &params) {
            Ok(call) => Ok(in_text(self.host_call(call).await?)),
            Err(error) => Ok(Err(error)),
        }
    }

    fn contribute(&mut self, registration: types::Registration) -> wasmtime::Result<()> {
        State::contribute(self)?;
        (self.shared.on_contribute)(registration);
        Ok(())
    }
}

impl world::env::Host for State {
    fn now_ms(&mut self) -> wasmtime::Result<f64> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok((now.as_secs_f64() * 1000.0).floor())
    }

    fn monotonic_ns(&mut self) -> wasmtime::Result<f64> {
        Ok(self.born.elapsed().as_nanos() as f64)
    }

    fn random(&mut self, length: u32) -> wasmtime::Result<Vec<u8>> {
        if length > MAX_RANDOM {
            return Err(Halt::Refused(format!("env.random gives {MAX_RANDOM} bytes at most, not {length}")).into());
        }
        let mut bytes = vec![0; length as usize];
        getrandom::fill(&mut bytes).map_err(|error| Halt::Refused(format!("no random bytes: {error}")))?;
        Ok(bytes)
    }

    async fn variable(&mut self, name: String) -> ImportResult<Option<String>> {
        let answer = self.ask(HostCall::Env(jackfield_protocol::EnvParams { name })).await?;
        Ok(answer.map(|value| value.get("value").and_then(Value::as_str).map(str::to_owned)))
    }
}

impl world::tool::Host for State {
    async fn list(&mut self) -> ImportResult<String> {
        let answer = self.ask(HostCall::Session(SessionOp::Tools)).await?;
        Ok(answer.map(|value| value.get("all").map_or_else(|| "[]".to_owned(), written)))
    }

    async fn call(&mut self, name: String, args: String) -> ImportResult<types::ToolResult> {
        let input = match json_of("args", &args) {
            Ok(Value::Null) => json!({}),
            Ok(input) => input,
            Err(error) => return Ok(Err(error)),
        };
        let answer = self.ask(HostCall::Tool(ToolParams { name, input })).await?;
        Ok(answer.map(|value| match serde_json::from_value::<ToolResult>(value.clone()) {
            Ok(result) => to_guest(result),
            // A tool of the host may answer with something else.
            Err(_) => to_guest(ToolResult { details: Some(value.clone()), ..ToolResult::text(value.to_string()) }),
        }))
    }

    fn progress(&mut self, message: String) -> wasmtime::Result<()> {
        if let Some(call) = &self.call {
            let message = message.chars().take(MAX_MESSAGE).collect();
            self.shared.host.tell(Notice::Progress { call_id: call.as_str().to_owned(), message });
        }
        Ok(())
    }
}

/// A tool's answer as components see it.
fn to_guest(result: ToolResult) -> types::ToolResult {
    let content = result.content.into_iter().map(|content| match content {
        Content::Text { text, format: None } => types::Content::Text(text),
        Content::Image { mime_type, data } => match BASE64.decode(&data) {
            Ok(data) => types::Content::Image(types::Image { mime: mime_type, data }),
            Err(_) => types::Content::Text(format!("[a picture of type {mime_type} that cannot be read]")),
        },
        other => types::Content::Other(serde_json::to_string(&other).unwrap_or_default()),
    });
    types::ToolResult {
        content: content.collect(),
        is_error: result.is_error,
        details: result.details.as_ref().map(written),
    }
}

/// A component's answer as the host knows it.
///
/// # Errors
/// What is not JSON where it must be.
pub(crate) fn from_guest(result: types::ToolResult) -> Result<ToolResult, String> {
    let mut content = Vec::with_capacity(result.content.len());
    for block in result.content {
        content.push(match block {
            types::Content::Text(text) => Content::Text { text, format: None },
            types::Content::Image(image) => Content::Image { mime_type: image.mime, data: BASE64.encode(image.data) },
            types::Content::Other(text) => serde_json::from_str::<Content>(&text)
                .map_err(|error| format!("a block of its answer is no content: {error}"))?,
        });
    }
    if content.is_empty() {
        content.push(Content::text(""));
    }
    let details = match result.details.as_deref().map(str::trim) {
        None | Some("") => None,
        Some(text) => Some(
            serde_json::from_str(text).map_err(|error| format!("the details of its answer are not JSON: {error}"))?,
        ),
    };
    Ok(ToolResult { content, is_error: result.is_error, details, wire: None })
}
