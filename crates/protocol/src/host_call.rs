//! Host calls: what an extension may ask of the host, and which capability each call needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::lenient::null_default;
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
    /// Use a file below the project.
    Fs(FsOp),
    /// Make one HTTP request.
    Http(HttpParams),
    /// Read an environment variable.
    Env(EnvParams),
    /// Read or change the session.
    Session(SessionOp),
    /// Ask or tell the person.
    Ui(UiOp),
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
    /// Working directory relative to the project.
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
}

/// `fs`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum FsOp {
    /// Content as text, or base64 with `encoding: "base64"`.
    Read {
        /// Relative to the project.
        path: String,
        /// `utf8` (default) or `base64`.
        #[serde(default)]
        encoding: Option<String>,
    },
    /// Replaces a file atomically.
    Write {
        /// Relative to the project.
        path: String,
        /// The content.
        content: String,
        /// `utf8` (default) or `base64`.
        #[serde(default)]
        encoding: Option<String>,
    },
    /// Names, kinds and sizes.
    List {
        /// Relative to the project.
        path: String,
    },
    /// Kind, size and time of change.
    Stat {
        /// Relative to the project.
        path: String,
    },
    /// Makes a folder and its parents.
    Mkdir {
        /// Relative to the project.
        path: String,
    },
    /// Removes a file or an empty folder.
    Remove {
        /// Relative to the project.
        path: String,
    },
}

impl FsOp {
    /// The path it touches.
    pub fn path(&self) -> &str {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::List { path }
            | Self::Stat { path }
            | Self::Mkdir { path }
            | Self::Remove { path } => path,
        }
    }

    /// For the gate, which puts the resolved path in place of the claimed one.
    pub fn path_mut(&mut self) -> &mut String {
        match self {
            Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::List { path }
            | Self::Stat { path }
            | Self::Mkdir { path }
            | Self::Remove { path } => path,
        }
    }

    fn power(&self) -> Power {
        match self {
            Self::Read { .. } | Self::List { .. } | Self::Stat { .. } => Power::Read,
            Self::Write { .. } | Self::Mkdir { .. } | Self::Remove { .. } => Power::Write,
        }
    }
}

/// `http`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HttpParams {
    /// `http` or `https`.
    pub url: String,
    /// Defaults to `GET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Request headers.
    #[serde(default, deserialize_with = "null_default")]
    pub headers: BTreeMap<String, String>,
    /// Request body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl HttpParams {
    /// `host:port` of the URL; the whole URL where it has none, so that no scope covers it by accident.
    pub fn host(&self) -> String {
        host_of(&self.url)
    }
}

fn host_of(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
    if host.is_empty() {
        return url.to_owned();
    }
    let after_address = host.rsplit(']').next().unwrap_or_default();
    if after_address.contains(':') {
        return host;
    }
    let port = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    format!("{host}:{port}")
}

/// `env`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EnvParams {
    /// The variable.
    pub name: String,
}

/// `session`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum SessionOp {
    /// Id, working directory, provider and model.
    Info,
    /// A value that this extension set earlier.
    Get {
        /// Its name.
        key: String,
    },
    /// Keeps a value for this extension and session.
    Set {
        /// Its name.
        key: String,
        /// The value; `null` removes it.
        value: Value,
    },
}

/// `ui`, by `op`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum UiOp {
    /// A note.
    Notify {
        /// `info`, `success`, `warn` or `error`.
        #[serde(default)]
        level: Option<String>,
        /// Its text.
        message: String,
    },
    /// A question with yes and no.
    Confirm {
        /// The question.
        message: String,
    },
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

impl HostCall {
    /// Reads a call as it stands on the wire.
    ///
    /// # Errors
    /// `invalid_request` for an unknown method or parameters that do not fit it.
    pub fn parse(method: &str, params: Value) -> Result<Self, CallError> {
        const METHODS: [&str; 9] = ["tool", "exec", "fs", "http", "env", "session", "ui", "events", "log"];
        if !METHODS.contains(&method) {
            return Err(CallError::new(
                ErrorCode::InvalidRequest,
                format!("unknown host call method {method:?}; the methods are {}", METHODS.join(", ")),
            ));
        }
        serde_json::from_value(json!({ "method": method, "params": params })).map_err(|error| {
            CallError::new(ErrorCode::InvalidRequest, format!("bad parameters for host call {method}: {error}"))
        })
    }

    /// The connector method.
    pub fn method(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Exec(_) => "exec",
            Self::Fs(_) => "fs",
            Self::Http(_) => "http",
            Self::Env(_) => "env",
            Self::Session(_) => "session",
            Self::Ui(_) => "ui",
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
            Self::Env(env) => (Power::Env, Resource::Variable(env.name.clone())),
            Self::Session(SessionOp::Info | SessionOp::Get { .. } | SessionOp::Set { .. }) => {
                (Power::Session, Resource::Whole)
            }
            Self::Ui(UiOp::Notify { .. } | UiOp::Confirm { .. }) => (Power::Ui, Resource::Whole),
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
        _ => (Power::Tool, Resource::Tool(tool.name.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, params: Value, need: &str) {
        let call = HostCall::parse(method, params).expect("a host call");
        assert_eq!(call.needs().to_string(), need);
        assert_eq!(HostCall::parse(method, call.params()).expect("its own form"), call);
    }

    #[test]
    fn every_method_names_its_capability() {
        check("tool", json!({"name": "grep", "input": {"pattern": "TODO", "path": "src"}}), "read src");
        check("tool", json!({"name": "ls", "input": null}), "read .");
        check("tool", json!({"name": "edit", "input": {"path": "a"}}), "write a");
        check("tool", json!({"name": "bash", "input": {"command": "ls"}}), "exec bash");
        check("tool", json!({"name": "weather", "input": {}}), "tool weather");
        check("exec", json!({"command": "git", "args": ["status"]}), "exec git");
        check("fs", json!({"op": "read", "path": "a"}), "read a");
        check("fs", json!({"op": "remove", "path": "a"}), "write a");
        check("http", json!({"url": "https://api.github.com/x"}), "http api.github.com:443");
        check("env", json!({"name": "HOME"}), "env HOME");
        check("session", json!({"op": "info"}), "session");
        check("ui", json!({"op": "notify", "message": "x"}), "ui");
        check("events", json!({"op": "emit", "event": "x"}), "events");
        check("log", json!({"level": "info", "message": "x"}), "log");
    }

    #[test]
    fn urls_cannot_hide_their_host() {
        let check = |url: &str, host: &str| assert_eq!(host_of(url), host, "{url}");
        check("http://a.org", "a.org:80");
        check("https://A.org:8443/x?y#z", "a.org:8443");
        check("https://good.org@evil.org/", "evil.org:443");
        check("https://evil.org\\@good.org/", "evil.org:443");
        check("https://evil.org?@good.org", "evil.org:443");
        check("http://[::1]:80/", "[::1]:80");
        check("http://[::1]/", "[::1]:80");
        check("nonsense", "nonsense");
        check("file:///etc/passwd", "file:///etc/passwd");
    }

    #[test]
    fn malformed_calls_are_refused() {
        for (method, params) in [
            ("format_disk", json!({})),
            ("exec", json!({"args": []})),
            ("exec", json!(null)),
            ("fs", json!({"op": "chown", "path": "a"})),
            ("fs", json!([])),
        ] {
            let error = HostCall::parse(method, params).expect_err("refused");
            assert_eq!(error.code, ErrorCode::InvalidRequest);
        }
    }
}
