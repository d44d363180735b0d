//! `session` and `ui`: the conversation and the person in it.

use jackfield_protocol::{HostCall, UiOp};
use serde_json::{Value, json};

use super::{ImportResult, invalid, json_of, refused};
use crate::bindings::jackfield::extension::types::Error;
use crate::bindings::jackfield::extension::{session, ui};
use crate::state::State;

fn question(what: &str) -> Result<HostCall, Error> {
    if !["info", "entries", "name", "tools", "commands"].contains(&what) {
        return Err(invalid(format!("session.get knows info, entries, name, tools and commands, not {what:?}")));
    }
    HostCall::parse("session", json!({ "op": what })).map_err(refused)
}

fn change(what: &str, params: &str) -> Result<HostCall, Error> {
    if !["append", "set_name", "set_label", "set_tools"].contains(&what) {
        let known = "append, set_name, set_label and set_tools";
        return Err(invalid(format!("session.post knows {known}, not {what:?}")));
    }
    let mut params = match json_of("params", params)? {
        Value::Object(params) => params,
        _ => return Err(invalid("params of session.post must be an object")),
    };
    params.insert("op".to_owned(), json!(what));
    HostCall::parse("session", Value::Object(params)).map_err(refused)
}

impl session::Host for State {
    async fn get(&mut self, what: String) -> ImportResult<String> {
        match question(&what) {
            Ok(call) => Ok(self.ask(call).await?.map(|value| value.to_string())),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn post(&mut self, what: String, params: String) -> ImportResult<String> {
        match change(&what, &params) {
            Ok(call) => Ok(self.ask(call).await?.map(|value| value.to_string())),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// What the person wrote or chose.
fn chosen(value: &Value) -> Option<String> {
    value.get("value").and_then(Value::as_str).map(str::to_owned)
}

impl ui::Host for State {
    async fn notify(&mut self, level: String, message: String) -> ImportResult<()> {
        Ok(self.ask(HostCall::Ui(UiOp::Notify { level: Some(level), message })).await?.map(drop))
    }

    async fn confirm(&mut self, title: String, message: String) -> ImportResult<bool> {
        let answer = self.ask(HostCall::Ui(UiOp::Confirm { title, message, timeout: None })).await?;
        Ok(answer.map(|value| value.get("confirmed").and_then(Value::as_bool).unwrap_or(false)))
    }

    async fn select(&mut self, title: String, options: Vec<String>) -> ImportResult<Option<String>> {
        let answer = self.ask(HostCall::Ui(UiOp::Select { title, options, timeout: None })).await?;
        Ok(answer.map(|value| chosen(&value)))
    }

    async fn input(&mut self, title: String, placeholder: Option<String>) -> ImportResult<Option<String>> {
        let answer = self.ask(HostCall::Ui(UiOp::Input { title, placeholder, timeout: None })).await?;
        Ok(answer.map(|value| chosen(&value)))
    }

    async fn set_status(&mut self, key: String, text: Option<String>) -> ImportResult<()> {
        Ok(self.ask(HostCall::Ui(UiOp::SetStatus { key, text })).await?.map(drop))
    }

    async fn set_widget(&mut self, key: String, lines: Option<Vec<String>>) -> ImportResult<()> {
        Ok(self.ask(HostCall::Ui(UiOp::SetWidget { key, lines, placement: None })).await?.map(drop))
    }
}
