//! Host calls: what an extension may ask of the host, and which capability each call needs.

mod files;
mod network;
mod person;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

pub use self::files::{FsOp, WriteFlag};
pub use self::network::{Headers, HttpParams, NetOp, Redirect};
pub use self::person::{AgentParams, McpParams, SessionOp, UiOp};
use crate::lenient::{is_false, null_default, whole};
use crate::{CallError, ErrorCode, Level, Need, Power, Resource};

/// A call from an extension to the host, as `method` and `params` name it on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "method", content = "params", rename_all = "snake_case")]
pub enum HostCall {
    /// Call a tool: a built-in one or another extension's.
    Tool(ToolParams),
    /// Run a program to its end.
    Exec(ExecParams),
    /// Use a file.
    Fs(FsOp),
    /// Make one HTTP request.
    Http(HttpParams),
    /// Speak to other machines and programs through a socket.
    Net(NetOp),
    /// Read an environment variable.
    Env(EnvParams),
    /// Read or change the session.
    Session(SessionOp),
    /// Ask or tell the person.
    Ui(UiOp),
    /// Ask something of the agent that leads the conversation.
    Agent(AgentParams),
    /// Put a question of MCP to whoever made the call it belongs to.
    Mcp(McpParams),
    /// Send an event to other extensions.
    Events(EventsOp),
    /// Write a log record.
    Log(LogParams),
}

/// `tool`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolParams {
    /// The tool's public name.
    pub name: String,
    /// Its arguments.
    #[serde(default, alias = "args", alias = "arguments", deserialize_with = "null_default")]
    pub input: Value,
}

/// `exec`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExecParams {
    /// A program by name or path; never a shell line.
    #[serde(alias = "cmd")]
    pub command: String,
    /// Its arguments.
    #[serde(default, deserialize_with = "null_default")]
    pub args: Vec<String>,
    /// Working directory; the project without it.
    #[serde(default)]
    pub cwd: Option<String>,
    /// Variables on top of the minimal environment.
    #[serde(default, deserialize_with = "null_default")]
    pub env: BTreeMap<String, String>,
    /// What the program reads.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Deliver output in chunks while the program runs.
    #[serde(default, deserialize_with = "null_default")]
    pub stream: bool,
    /// Nothing of the minimal environment, only `env`.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
    pub clear_env: bool,
    /// After this time the program is asked to end, and killed if it does not.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Bytes kept of each output stream, up to the host's own limit.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// Understood and without effect: no program outlives the host.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
    pub detached: bool,
    /// How `stdin` and the output stand in JSON: text, or bytes with `base64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// A program that a signal ended has `code: null`, not 128 and the signal.
    #[serde(default, deserialize_with = "null_default", skip_serializing_if = "is_false")]
    pub raw: bool,
}

/// `env`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvParams {
    /// The variable.
    pub name: String,
}

/// `events`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum EventsOp {
    /// Tells every extension that subscribed to the name.
    Emit {
        /// The name.
        event: String,
        /// Its data.
        #[serde(default)]
        data: Value,
    },
}

/// `log`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LogParams {
    /// How bad it is.
    pub level: Level,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default)]
    pub data: Value,
}

const METHODS: [&str; 12] =
    ["tool", "exec", "fs", "http", "net", "env", "session", "ui", "agent", "mcp", "events", "log"];

impl HostCall {
    /// Reads a call as it stands on the wire.
    ///
    /// # Errors
    /// `invalid_request` for an unknown method or parameters that do not fit it.
    pub fn parse(method: &str, params: Value) -> Result<Self, CallError> {
        let call = Self::read(method, params).map_err(|error| {
            CallError::new(ErrorCode::InvalidRequest, format!("bad parameters for host call {method}: {error}"))
        })?;
        call.ok_or_else(|| {
            CallError::new(
                ErrorCode::InvalidRequest,
                format!("unknown host call method {method:?}; the methods are {}", METHODS.join(", ")),
            )
        })
    }

    /// Reads a call whose parameters are still text, without making a [`Value`] of them first. `None` says nothing about
    /// what is wrong, not even that something is: whoever gets it reads the text and asks [`HostCall::parse`], which
    /// knows all that is allowed.
    pub fn from_text(method: &str, params: &str) -> Option<Self> {
        let mut text = serde_json::Deserializer::from_str(params);
        let call = Self::read(method, &mut text).ok()??;
        text.end().ok()?;
        Some(call)
    }

    fn read<'de, D: Deserializer<'de>>(method: &str, params: D) -> Result<Option<Self>, D::Error> {
        Ok(Some(match method {
            "tool" => Self::Tool(Deserialize::deserialize(params)?),
            "exec" => Self::Exec(Deserialize::deserialize(params)?),
            "fs" => Self::Fs(Deserialize::deserialize(params)?),
            "http" => Self::Http(Deserialize::deserialize(params)?),
            "net" => Self::Net(Deserialize::deserialize(params)?),
            "env" => Self::Env(Deserialize::deserialize(params)?),
            "session" => Self::Session(Deserialize::deserialize(params)?),
            "ui" => Self::Ui(Deserialize::deserialize(params)?),
            "agent" => Self::Agent(Deserialize::deserialize(params)?),
            "mcp" => Self::Mcp(Deserialize::deserialize(params)?),
            "events" => Self::Events(Deserialize::deserialize(params)?),
            "log" => Self::Log(Deserialize::deserialize(params)?),
            _ => return Ok(None),
        }))
    }

    /// The connector method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Exec(_) => "exec",
            Self::Fs(_) => "fs",
            Self::Http(_) => "http",
            Self::Net(_) => "net",
            Self::Env(_) => "env",
            Self::Session(_) => "session",
            Self::Ui(_) => "ui",
            Self::Agent(_) => "agent",
            Self::Mcp(_) => "mcp",
            Self::Events(_) => "events",
            Self::Log(_) => "log",
        }
    }

    /// The parameters as JSON, for the ledger's hash.
    pub fn params(&self) -> Value {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut object)) => object.remove("params").unwrap_or(Value::Null),
            _ => Value::Null,
        }
    }

    /// The capability this call needs. Exhaustive: a new host call does not compile without its capability.
    pub fn needs(&self) -> Need {
        let (power, resource) = match self {
            Self::Tool(tool) => tool_need(tool),
            Self::Exec(exec) => (Power::Exec, Resource::Program(exec.command.clone())),
            Self::Fs(op) => (op.power(), Resource::Path(op.path().to_owned())),
            Self::Http(http) => (Power::Http, Resource::Host(http.host())),
            Self::Net(op) => op.need(),
            Self::Env(env) => (Power::Env, Resource::Variable(env.name.clone())),
            Self::Session(_) => (Power::Session, Resource::Whole),
            Self::Ui(_) => (Power::Ui, Resource::Whole),
            Self::Agent(agent) => (agent.power(), Resource::Whole),
            Self::Mcp(mcp) => (mcp.power(), Resource::Whole),
            Self::Events(EventsOp::Emit { .. }) => (Power::Events, Resource::Whole),
            Self::Log(_) => (Power::Log, Resource::Whole),
        };
        Need { power, method: self.method(), resource }
    }
}

/// The built-in tools stand for the power they use; any other tool needs `tool`.
fn tool_need(tool: &ToolParams) -> (Power, Resource) {
    let path = || {
        let path = tool.input.get("path").and_then(Value::as_str).unwrap_or(".");
        Resource::Path(path.to_owned())
    };
    match tool.name.as_str() {
        "read" | "grep" | "find" | "ls" => (Power::Read, path()),
        "write" | "edit" => (Power::Write, path()),
        "bash" => (Power::Exec, Resource::Program("bash".to_owned())),
        // The person is asked, and the value goes to the host; names alone stay inside it.
        "store_secret" => (Power::Ui, Resource::Whole),
        "list_secrets" => (Power::Session, Resource::Whole),
        _ => (Power::Tool, Resource::Tool(tool.name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(method: &str, params: Value, need: &str) {
        let call = HostCall::parse(method, params).expect("a host call");
        assert_eq!(call.needs().to_string(), need);
        assert_eq!(HostCall::from_text(method, &call.params().to_string()).as_ref(), Some(&call));
        assert_eq!(HostCall::parse(method, call.params()).expect("its own form"), call);
    }

    #[test]
    fn every_method_names_its_capability() {
        check("tool", json!({"name": "grep", "input": {"pattern": "TODO", "path": "src"}}), "read src");
        check("tool", json!({"name": "ls", "input": null}), "read .");
        check("tool", json!({"name": "edit", "input": {"path": "a"}}), "write a");
        check("tool", json!({"name": "bash", "input": {"command": "ls"}}), "exec bash");
        check("tool", json!({"name": "weather", "input": {}}), "tool weather");
        check("tool", json!({"name": "store_secret", "input": {"name": "A"}}), "ui");
        check("tool", json!({"name": "list_secrets", "input": {}}), "session");
        check("exec", json!({"command": "git", "args": ["status"]}), "exec git");
        check("fs", json!({"op": "read", "path": "a"}), "read a");
        check("fs", json!({"op": "remove", "path": "a"}), "write a");
        check("http", json!({"url": "https://api.github.com/x"}), "http api.github.com:443");
        check("env", json!({"name": "HOME"}), "env HOME");
        check("fs", json!({"op": "copy", "path": "a", "to": "b"}), "read a");
        check("fs", json!({"op": "link", "path": "a", "target": "/b"}), "write a");
        check("fs", json!({"op": "read", "path": "/etc/x", "offset": 5.0, "length": null}), "read /etc/x");
        check("net", json!({"op": "connect", "host": "A.org", "port": 25}), "http a.org:25");
        check("net", json!({"op": "connect", "host": "::1", "port": 25}), "http [::1]:25");
        check("net", json!({"op": "connect", "path": "/run/x.sock", "host": "y", "port": 1}), "write /run/x.sock");
        check("net", json!({"op": "listen"}), "listen 127.0.0.1:0");
        check("net", json!({"op": "lookup", "host": "A.org"}), "http a.org");
        check("session", json!({"op": "info"}), "session");
        check("session", json!({"op": "append", "entry": {"type": "custom"}}), "session");
        check("ui", json!({"op": "select", "title": "x", "options": ["y"]}), "ui");
        check("agent", json!({"op": "model"}), "session");
        check("agent", json!({"op": "send_user_message", "content": "x"}), "agent");
        check("ui", json!({"op": "notify", "message": "x"}), "ui");
        check("mcp", json!({"method": "elicitation/create", "params": {"message": "x"}}), "ui");
        check("mcp", json!({"method": "sampling/createMessage"}), "agent");
        check("mcp", json!({"method": "roots/list", "params": {}}), "session");
        check("events", json!({"op": "emit", "event": "x"}), "events");
        check("log", json!({"level": "info", "message": "x"}), "log");
    }

    #[test]
    fn malformed_calls_are_refused() {
        for (method, params) in [
            ("format_disk", json!({})),
            ("exec", json!({"args": []})),
            ("exec", json!(null)),
            ("fs", json!({"op": "chown", "path": "a"})),
            ("fs", json!([])),
            ("fs", json!({"op": "write", "path": "a", "content": "", "flag": "rw"})),
            ("fs", json!({"op": "read", "path": "a", "offset": -1})),
            ("fs", json!({"op": "read", "path": "a", "length": 1.5})),
            ("net", json!({"op": "connect", "host": "a", "port": 70000})),
            ("agent", json!({"params": {}})),
        ] {
            assert_eq!(HostCall::from_text(method, &params.to_string()), None);
            let error = HostCall::parse(method, params).expect_err("refused");
            assert_eq!(error.code, ErrorCode::InvalidRequest);
        }
    }
}
