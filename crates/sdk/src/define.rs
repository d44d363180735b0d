//! What an extension consists of.

use serde_json::Value;

use crate::{Answer, Args, Error, Reply, Result, Verdict};

type ToolHandler = Box<dyn Fn(&Args) -> Result<Answer>>;
type CommandHandler = Box<dyn Fn(&str) -> Result<Reply>>;
type Guard = Box<dyn Fn(&ToolUse) -> Verdict>;
type Listener = Box<dyn Fn(&Value)>;

pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Value,
    handler: ToolHandler,
}

pub(crate) struct Command {
    pub(crate) name: String,
    pub(crate) description: String,
    handler: CommandHandler,
}

#[cfg_attr(not(target_family = "wasm"), allow(dead_code, reason = "a program asks in its manifest"))]
pub(crate) struct Want {
    pub(crate) power: String,
    pub(crate) scope: Vec<String>,
    pub(crate) reason: String,
}

/// A tool call that a guard judges.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The tool's public name.
    pub tool: String,
    /// Its arguments so far.
    pub arguments: Value,
}

/// An extension: what it is called and what it contributes.
pub struct Extension {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) description: String,
    pub(crate) tools: Vec<Tool>,
    pub(crate) commands: Vec<Command>,
    pub(crate) wants: Vec<Want>,
    guard: Option<Guard>,
    listeners: Vec<(String, Listener)>,
}

impl Extension {
    /// One that contributes nothing yet.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            description: String::new(),
            tools: Vec::new(),
            commands: Vec::new(),
            wants: Vec::new(),
            guard: None,
            listeners: Vec::new(),
        }
    }

    /// What it is for, for people.
    #[must_use]
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.description);
        self
    }

    /// A tool; `schema` is the JSON Schema of its arguments.
    #[must_use]
    pub fn tool<A: Into<Answer>>(
        mut self,
        name: &str,
        description: &str,
        schema: Value,
        handler: impl Fn(&Args) -> Result<A> + 'static,
    ) -> Self {
        self.tools.push(Tool {
            name: name.to_owned(),
            description: description.to_owned(),
            schema,
            handler: Box::new(move |args| handler(args).map(Into::into)),
        });
        self
    }

    /// A slash command, without the slash; the handler is given what follows it.
    #[must_use]
    pub fn command<R: Into<Reply>>(
        mut self,
        name: &str,
        description: &str,
        handler: impl Fn(&str) -> Result<R> + 'static,
    ) -> Self {
        self.commands.push(Command {
            name: name.to_owned(),
            description: description.to_owned(),
            handler: Box::new(move |args| handler(args).map(Into::into)),
        });
        self
    }

    /// A guard that is asked before every tool call. An extension has one; the last counts.
    #[must_use]
    pub fn guard(mut self, guard: impl Fn(&ToolUse) -> Verdict + 'static) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// Wants to be told of an event; `*` stands for all.
    #[must_use]
    pub fn on(mut self, event: &str, listener: impl Fn(&Value) + 'static) -> Self {
        self.listeners.push((event.to_owned(), Box::new(listener)));
        self
    }

    /// Asks for a power (`read`, `write`, `exec`, `http`, `env`, `tool`, …), limited to a scope if that is not empty. What
    /// is not asked for is denied, once anything is. A program asks in its manifest instead, where people see it first.
    #[must_use]
    pub fn wants(mut self, power: &str, scope: &[&str], reason: &str) -> Self {
        let scope = scope.iter().map(|item| (*item).to_owned()).collect();
        self.wants.push(Want { power: power.to_owned(), scope, reason: reason.to_owned() });
        self
    }

    pub(crate) fn has_guard(&self) -> bool {
        self.guard.is_some()
    }

    pub(crate) fn events(&self) -> Vec<String> {
        self.listeners.iter().map(|(event, _)| event.clone()).collect()
    }

    pub(crate) fn call_tool(&self, name: &str, args: Value) -> Result<Answer> {
        match self.tools.iter().find(|tool| tool.name == name) {
            Some(tool) => (tool.handler)(&Args(args)),
            None => Err(Error::new("invalid_request", format!("{} has no tool `{name}`", self.name))),
        }
    }

    pub(crate) fn run_command(&self, name: &str, args: &str) -> Result<Reply> {
        match self.commands.iter().find(|command| command.name == name) {
            Some(command) => (command.handler)(args),
            None => Err(Error::new("invalid_request", format!("{} has no command `{name}`", self.name))),
        }
    }

    pub(crate) fn judge(&self, tool: &ToolUse) -> Verdict {
        self.guard.as_ref().map_or(Verdict::Pass, |guard| guard(tool))
    }

    pub(crate) fn tell(&self, event: &str, data: &Value) {
        for (wanted, listener) in &self.listeners {
            if wanted == event || wanted == "*" {
                listener(data);
            }
        }
    }
}
