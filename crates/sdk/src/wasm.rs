//! The component: bindings of `wit/`, and both directions of them.

use serde_json::Value;

use crate::host::{Output, Response};
use crate::{Answer, Block, Error, Extension, Reply, Result, ToolUse, Verdict};

/// What the bindings' generator makes of `wit/`.
#[doc(hidden)]
#[allow(unsafe_code, missing_docs, clippy::all, reason = "generated: calls across the boundary")]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "extension",
        pub_export_macro: true,
        export_macro_name: "__export",
        default_bindings_module: "jackfield_sdk::__bindings",
    });
}

#[doc(hidden)]
pub use bindings::__export;

use bindings::exports::jackfield::extension::{guest, handlers as exported};
use bindings::jackfield::extension as imported;
use imported::types;

/// A component is called by its host; `main` has nothing to do.
pub(crate) fn run(_definition: fn() -> Extension) {}

/// What the crate of an extension implements.
#[doc(hidden)]
pub trait __Component {
    /// Does something with the definition, which is made once per instance.
    fn with<T>(work: impl FnOnce(&Extension) -> T) -> T;
}

impl<C: __Component> guest::Guest for C {
    fn describe() -> types::Registration {
        C::with(describe)
    }

    fn call_tool(
        _context: types::CallContext,
        name: String,
        args: String,
    ) -> std::result::Result<types::ToolResult, types::Error> {
        let args =
            serde_json::from_str(&args).map_err(|error| refused(format!("the arguments are no JSON: {error}")))?;
        C::with(|extension| extension.call_tool(&name, args)).map(lower_answer).map_err(lower_error)
    }
}

impl<C: __Component> exported::Guest for C {
    fn init(_context: String) -> std::result::Result<(), String> {
        Ok(())
    }

    fn run_command(
        _context: types::CallContext,
        name: String,
        args: String,
    ) -> std::result::Result<types::CommandReply, types::Error> {
        let reply = C::with(|extension| extension.run_command(&name, &args)).map_err(lower_error)?;
        Ok(match reply {
            Reply::Nothing => types::CommandReply::Nothing,
            Reply::Display(text) => types::CommandReply::Display(text),
            Reply::Prompt(text) => types::CommandReply::Prompt(text),
            Reply::Insert(text) => types::CommandReply::Insert(text),
        })
    }

    fn on_event(_context: types::CallContext, event: String, data: String) {
        C::with(|extension| extension.tell(&event, &serde_json::from_str(&data).unwrap_or_default()));
    }

    fn hook(_context: types::CallContext, point: String, payload: String) -> types::Verdict {
        if point != "before_tool_call" {
            return types::Verdict::Pass;
        }
        let payload: Value = serde_json::from_str(&payload).unwrap_or_default();
        let tool = ToolUse {
            tool: payload.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned(),
            arguments: payload.get("arguments").cloned().unwrap_or_default(),
        };
        match C::with(|extension| extension.judge(&tool)) {
            Verdict::Pass => types::Verdict::Pass,
            Verdict::Replace(arguments) => types::Verdict::Replace(arguments.to_string()),
            Verdict::Block(reason) => types::Verdict::Block(reason),
        }
    }

    fn shutdown(_reason: String) {}
}

fn describe(extension: &Extension) -> types::Registration {
    let tools = extension.tools.iter().map(|tool| types::ToolSpec {
        name: tool.name.clone(),
        label: None,
        description: tool.description.clone(),
        input_schema: tool.schema.to_string(),
        annotations: String::new(),
    });
    let commands = extension
        .commands
        .iter()
        .map(|command| types::CommandSpec { name: command.name.clone(), description: command.description.clone() });
    let capabilities = extension.wants.iter().map(|want| types::CapabilityRequest {
        name: want.power.clone(),
        scope: want.scope.clone(),
        reason: want.reason.clone(),
    });
    let guard = types::HookSpec { point: "before_tool_call".to_owned(), tools: Vec::new() };
    types::Registration {
        name: extension.name.clone(),
        version: extension.version.clone(),
        description: extension.description.clone(),
        tools: tools.collect(),
        commands: commands.collect(),
        events: extension.events(),
        hooks: extension.has_guard().then_some(guard).into_iter().collect(),
        capabilities: capabilities.collect(),
        extra: String::new(),
    }
}

fn lower_answer(answer: Answer) -> types::ToolResult {
    let content = answer.blocks.into_iter().map(|block| match block {
        Block::Text(text) => types::Content::Text(text),
        Block::Image { mime, data } => types::Content::Image(types::Image { mime, data }),
    });
    let details = answer.details.map(|details| details.to_string());
    types::ToolResult { content: content.collect(), is_error: answer.is_error, details }
}

fn lower_error(error: Error) -> types::Error {
    let details = error.details.map(|details| details.to_string());
    types::Error { code: error.code, message: error.message, details }
}

fn refused(message: String) -> types::Error {
    lower_error(Error::new("invalid_request", message))
}

fn lift_error(error: types::Error) -> Error {
    let details = error.details.and_then(|details| serde_json::from_str(&details).ok());
    Error { code: error.code, message: error.message, details }
}

fn lift_text(data: types::Data) -> String {
    match data {
        types::Data::Text(text) => text,
        types::Data::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}

pub(crate) fn log(level: &str, message: &str) {
    imported::log::write(level, message, "");
}

pub(crate) fn progress(message: &str) {
    imported::tool::progress(message);
}

pub(crate) fn read(path: &str) -> Result<String> {
    match imported::fs::read(path, "").map_err(lift_error)? {
        types::Data::Text(text) => Ok(text),
        types::Data::Bytes(_) => Err(Error::new("io", format!("{path} is not text"))),
    }
}

pub(crate) fn write(path: &str, text: &str) -> Result<()> {
    imported::fs::write(path, &types::Data::Text(text.to_owned()), "").map_err(lift_error)
}

pub(crate) fn variable(name: &str) -> Result<Option<String>> {
    imported::env::variable(name).map_err(lift_error)
}

pub(crate) fn exec(command: &str, args: &[&str]) -> Result<Output> {
    let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
    let output = imported::exec::run(command, &args, "").map_err(lift_error)?;
    Ok(Output { code: output.code as i32, stdout: lift_text(output.stdout), stderr: lift_text(output.stderr) })
}

pub(crate) fn fetch(url: &str) -> Result<Response> {
    let request = imported::http::Request {
        method: "GET".to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: None,
        options: String::new(),
    };
    let response = imported::http::fetch(&request).map_err(lift_error)?;
    Ok(Response { status: response.status, body: lift_text(response.body) })
}

pub(crate) fn call_other_tool(name: &str, args: &Value) -> Result<Answer> {
    let result = imported::tool::call(name, &args.to_string()).map_err(lift_error)?;
    let blocks = result.content.into_iter().filter_map(|content| match content {
        types::Content::Text(text) => Some(Block::Text(text)),
        types::Content::Image(image) => Some(Block::Image { mime: image.mime, data: image.data }),
        types::Content::Other(_) => None,
    });
    let details = result.details.and_then(|details| serde_json::from_str(&details).ok());
    Ok(Answer { blocks: blocks.collect(), is_error: result.is_error, details })
}

pub(crate) fn notify(message: &str) -> Result<()> {
    imported::ui::notify("info", message).map_err(lift_error)
}

pub(crate) fn confirm(title: &str, message: &str) -> Result<bool> {
    imported::ui::confirm(title, message).map_err(lift_error)
}

pub(crate) fn stored(key: &str) -> Result<Option<Value>> {
    let value = imported::storage::get("extension", key).map_err(lift_error)?;
    value.map(|text| serde_json::from_str(&text).map_err(|error| Error::new("internal", error.to_string()))).transpose()
}

pub(crate) fn store(key: &str, value: &Value) -> Result<()> {
    imported::storage::set("extension", key, &value.to_string()).map_err(lift_error)
}
