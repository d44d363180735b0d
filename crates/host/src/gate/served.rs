//! What the gate serves itself: questions to the person, notes for faces, the agent, and views of the registry.

use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{AgentParams, CallError, ErrorCode, ExtensionId, Notice, NoticeLevel, SessionOp, UiOp};
use jackfield_runtime::HostCallCx;
use jackfield_services::Services;
use serde_json::{Value, json};

use crate::face::{AgentCall, Dialog, DialogAnswer, DialogAsk};
use crate::host::{HostEvent, Inner};

/// The longest text of a question, in characters.
const LONGEST_QUESTION: usize = 64 * 1024;
/// The most answers to choose from.
const MOST_OPTIONS: usize = 10_000;

/// The host's own tools in the order in which pi lists its.
const PI_ORDER: [&str; 7] = ["read", "bash", "edit", "write", "grep", "find", "ls"];
/// How many of them the agent uses until an extension chooses others, as with pi.
const ACTIVE_AT_FIRST: usize = 4;

fn is_active_at_first(tool: &Value) -> bool {
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
    PI_ORDER.iter().take(ACTIVE_AT_FIRST).any(|active| *active == name)
}

impl Inner {
    /// Serves `ui`.
    pub(crate) async fn ui(
        self: &Arc<Self>,
        extension: &ExtensionId,
        op: UiOp,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let notice = match op {
            UiOp::Notify { level, message } => {
                Notice::Notify { level: NoticeLevel::parse(level.as_deref().unwrap_or_default()), message }
            }
            UiOp::SetStatus { key, text } => Notice::SetStatus { key, text },
            UiOp::SetWidget { key, lines, placement } => Notice::SetWidget { key, lines, placement },
            UiOp::SetTitle { title } => Notice::SetTitle { title },
            UiOp::SetEditorText { text } => Notice::SetEditorText { text },
            UiOp::Select { title, options, timeout } => {
                if options.len() > MOST_OPTIONS {
                    let message = format!("select {title:?}: {} options, at most {MOST_OPTIONS}", options.len());
                    return Err(CallError::new(ErrorCode::InvalidRequest, message));
                }
                let shown: Vec<String> = options.iter().map(|option| self.fit(option)).collect();
                let ask = DialogAsk::Select { title: self.fit(&title), options: shown.clone() };
                let mut answer = self.dialog(extension, ask, timeout, cx).await?;
                // The extension knows its options as it wrote them.
                let chosen = answer.get("value").and_then(Value::as_str);
                let at = chosen.and_then(|chosen| shown.iter().position(|option| option == chosen));
                if let Some(option) = at.and_then(|at| options.get(at)) {
                    answer = json!({ "value": option });
                }
                return Ok(answer);
            }
            UiOp::Confirm { title, message, timeout } => {
                let ask = DialogAsk::Confirm { title: self.fit(&title), message: self.fit(&message) };
                return self.dialog(extension, ask, timeout, cx).await;
            }
            UiOp::Input { title, placeholder, timeout } => {
                let placeholder = placeholder.map(|text| self.fit(&text));
                let ask = DialogAsk::Input { title: self.fit(&title), placeholder, secret: false };
                return self.dialog(extension, ask, timeout, cx).await;
            }
            UiOp::Editor { title, prefill } => {
                let prefill = prefill.map(|text| self.fit(&text));
                return self.dialog(extension, DialogAsk::Editor { title: self.fit(&title), prefill }, None, cx).await;
            }
        };
        self.notice(extension, notice);
        Ok(json!({}))
    }

    fn fit(&self, text: &str) -> String {
        let cut: String = text.chars().take(LONGEST_QUESTION).collect();
        self.clean(&cut)
    }

    async fn dialog(
        &self,
        extension: &ExtensionId,
        ask: DialogAsk,
        timeout_ms: Option<u64>,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let timeout_ms = timeout_ms.filter(|ms| *ms > 0);
        let dialog = Dialog { extension: extension.clone(), ask, timeout_ms };
        let asking = self.faces.face.dialog(dialog);
        let answer = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                return Err(CallError::new(ErrorCode::Cancelled, "the question was taken back by its extension"));
            }
            () = self.cancel.cancelled() => DialogAnswer::Unanswered,
            () = over(timeout_ms) => return Ok(json!({ "cancelled": true, "timed_out": true })),
            answer = asking => answer,
        };
        Ok(match answer {
            DialogAnswer::Value(value) => json!({ "value": value }),
            DialogAnswer::Confirmed(confirmed) => json!({ "confirmed": confirmed }),
            DialogAnswer::Cancelled => json!({ "cancelled": true }),
            DialogAnswer::Unanswered => json!({ "cancelled": true, "unanswered": true }),
        })
    }

    /// Serves `agent`.
    pub(crate) async fn agent(
        &self,
        extension: &ExtensionId,
        params: AgentParams,
        cx: &HostCallCx,
    ) -> Result<Value, CallError> {
        let AgentParams { op, params } = params;
        let call = AgentCall {
            extension: extension.clone(),
            op,
            params,
            chunks: cx.chunks.clone(),
            input: cx.input.clone(),
            cancel: (*cx.cancel).clone(),
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                Err(CallError::new(ErrorCode::Cancelled, "the extension gave up what it asked of the agent"))
            }
            answer = self.faces.agent.serve(call) => answer,
        }
    }

    /// Serves the operations on the session that are seen from outside, or that look at the registry.
    pub(crate) fn session_view(&self, op: &SessionOp) -> Option<Value> {
        let snapshot = self.snapshot();
        match op {
            SessionOp::Tools => {
                let mut own = Services::builtin_tools();
                // pi has none of these, and an agent has no use for them.
                own.retain(|tool| !Services::is_secret_tool(&tool.name));
                own.sort_by_key(|tool| PI_ORDER.iter().position(|name| *name == tool.name));
                let mut all: Vec<Value> = own
                    .iter()
                    .map(|tool| {
                        json!({
                            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
                            "source": "builtin",
                        })
                    })
                    .collect();
                all.extend(snapshot.tools().map(|tool| {
                    json!({
                        "name": tool.name, "label": tool.spec.label, "description": tool.description,
                        "parameters": tool.parameters(), "source": "extension", "extension": tool.extension,
                    })
                }));
                let known = |name: &String| Services::is_builtin_tool(name) || snapshot.tool(name).is_some();
                let active = match self.authority.services.session().active_tools() {
                    Some(names) => names.into_iter().filter(known).collect(),
                    None => all
                        .iter()
                        .filter(|tool| tool.get("source") != Some(&json!("builtin")) || is_active_at_first(tool))
                        .filter_map(|tool| tool.get("name")?.as_str().map(str::to_owned))
                        .collect(),
                };
                let active: Vec<String> = active;
                Some(json!({ "active": active, "all": all }))
            }
            SessionOp::Commands => {
                let commands: Vec<Value> = snapshot
                    .commands()
                    .map(|command| {
                        json!({
                            "name": command.name, "description": command.spec.description,
                            "source": "extension", "extension": command.extension,
                        })
                    })
                    .collect();
                Some(json!({ "commands": commands }))
            }
            _ => None,
        }
    }

    /// Tells everybody what an operation has changed in the session.
    pub(crate) fn session_changed(&self, extension: &ExtensionId, op: &SessionOp, answer: &Value) {
        match op {
            SessionOp::SetName { name } => {
                self.emit(&self.snapshot(), "session_info_changed", || json!({ "name": name }));
            }
            SessionOp::SetTools { .. } => {
                let snapshot = self.snapshot();
                let mut tools = self.authority.services.session().active_tools().unwrap_or_default();
                tools.retain(|name| Services::is_builtin_tool(name) || snapshot.tool(name).is_some());
                self.publish(HostEvent::ActiveTools { extension: extension.clone(), tools });
            }
            _ => {}
        }
        let id = answer.get("id").and_then(Value::as_str);
        if let Some(entry) = id.and_then(|id| self.authority.services.session().entry(id)) {
            self.publish(HostEvent::SessionEntry { extension: Some(extension.clone()), entry });
        }
    }
}

async fn over(timeout_ms: Option<u64>) {
    match timeout_ms {
        Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
        None => std::future::pending().await,
    }
}
