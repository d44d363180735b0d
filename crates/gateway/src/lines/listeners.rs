//! All who listen to one host: they are asked what extensions ask the person, and told what extensions ask of an agent.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_host::{Agent, AgentCall, Dialog, DialogAnswer, DialogAsk, Face};
use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::outgoing::Outgoing;

/// What a listener answers to an `extension_ui_request`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Answered {
    #[serde(default)]
    value: Option<String>,
    #[serde(default)]
    confirmed: Option<bool>,
    #[serde(default)]
    cancelled: bool,
}

/// The listeners of a host, made before the host is opened: they are its face, and may be its agent. A cheap handle.
#[derive(Clone, Default)]
pub struct Listeners {
    all: Arc<All>,
}

impl Listeners {
    /// Asks the listeners what extensions ask the person.
    pub fn face(&self) -> Arc<dyn Face> {
        Arc::new(LinesDialogs(Arc::clone(&self.all)))
    }

    /// An agent that does nothing but tell the listeners each call. It answers `{}`, or from a file: an object with a list
    /// of answers by operation.
    ///
    /// # Errors
    /// The file cannot be read, or has another form.
    pub fn recording_agent(&self, answers: Option<&Path>) -> Result<Arc<dyn Agent>, CallError> {
        Ok(Arc::new(Recorder::new(Arc::clone(&self.all), answers)?))
    }

    /// Counts one more listener, as long as the guard lives.
    pub(super) fn add(&self, out: Outgoing) -> Listening {
        self.all.add(out)
    }

    /// Takes a listener's answer; false when no such question is open.
    pub(super) fn answered(&self, id: &str, answer: Answered) -> bool {
        self.all.answered(id, answer)
    }
}

/// Those who listen, and the questions that are open.
#[derive(Default)]
struct All {
    listening: Mutex<HashMap<u64, Outgoing>>,
    open: Mutex<HashMap<String, oneshot::Sender<DialogAnswer>>>,
    next: AtomicU64,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl All {
    fn add(self: &Arc<Self>, out: Outgoing) -> Listening {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.listening).insert(number, out);
        Listening { all: Arc::clone(self), number }
    }

    /// Sends a line to everybody. One that must arrive waits for room; nobody there is said with false.
    async fn ask_all(&self, line: &Value) -> bool {
        let listening: Vec<Outgoing> = lock(&self.listening).values().cloned().collect();
        for out in &listening {
            out.answer(line.to_string()).await;
        }
        !listening.is_empty()
    }

    fn tell_all(&self, line: &Value) {
        for out in lock(&self.listening).values() {
            out.mention(line.to_string());
        }
    }

    fn answered(&self, id: &str, answer: Answered) -> bool {
        let Some(asker) = lock(&self.open).remove(id) else { return false };
        let answer = match answer {
            Answered { cancelled: true, .. } => DialogAnswer::Cancelled,
            Answered { confirmed: Some(confirmed), .. } => DialogAnswer::Confirmed(confirmed),
            Answered { value: Some(value), .. } => DialogAnswer::Value(value),
            Answered { .. } => DialogAnswer::Cancelled,
        };
        // Whoever asked may have given up at this very moment.
        asker.send(answer).ok();
        true
    }
}

/// A listener that is counted.
pub(super) struct Listening {
    all: Arc<All>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut listening = lock(&self.all.listening);
        listening.remove(&self.number);
        if listening.is_empty() {
            // Nobody is left to answer.
            lock(&self.all.open).clear();
        }
    }
}

/// A question that is over when this is dropped; listeners are told.
struct Question<'a> {
    all: &'a All,
    id: String,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if lock(&self.all.open).remove(&self.id).is_some() {
            self.all.tell_all(&json!({ "type": "extension_ui_closed", "id": self.id }));
        }
    }
}

/// Puts questions of extensions to every listener; the first answer counts.
struct LinesDialogs(Arc<All>);

impl Face for LinesDialogs {
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
        Box::pin(async move {
            let id = format!("ui-{}", self.0.next.fetch_add(1, Ordering::Relaxed));
            let (sender, answer) = oneshot::channel();
            lock(&self.0.open).insert(id.clone(), sender);
            let question = Question { all: &self.0, id };
            if !self.0.ask_all(&request(&question.id, &dialog)).await {
                return DialogAnswer::Unanswered;
            }
            answer.await.unwrap_or(DialogAnswer::Unanswered)
        })
    }
}

/// The line that puts a question, in pi's field names.
fn request(id: &str, dialog: &Dialog) -> Value {
    let (method, fields) = match &dialog.ask {
        DialogAsk::Select { title, options } => ("select", json!({ "title": title, "options": options })),
        DialogAsk::Confirm { title, message } => ("confirm", json!({ "title": title, "message": message })),
        DialogAsk::Input { title, placeholder, secret } => {
            ("input", json!({ "title": title, "placeholder": placeholder, "secret": secret.then_some(true) }))
        }
        DialogAsk::Editor { title, prefill } => ("editor", json!({ "title": title, "prefill": prefill })),
        // A listener cancels what it does not know.
        _ => ("unknown", json!({})),
    };
    let mut line = Map::new();
    line.insert("type".to_owned(), json!("extension_ui_request"));
    line.insert("id".to_owned(), json!(id));
    line.insert("extension".to_owned(), json!(dialog.extension));
    line.insert("method".to_owned(), json!(method));
    if let Value::Object(fields) = fields {
        line.extend(fields.into_iter().filter(|(_, value)| !value.is_null()));
    }
    if let Some(ms) = dialog.timeout_ms {
        line.insert("timeout".to_owned(), json!(ms));
    }
    Value::Object(line)
}

/// An agent that does nothing, and tells what it was asked.
struct Recorder {
    listeners: Arc<All>,
    /// By operation, what is still to be answered; the last one stays.
    answers: Mutex<HashMap<String, VecDeque<Value>>>,
}

impl Recorder {
    fn new(listeners: Arc<All>, answers: Option<&Path>) -> Result<Self, CallError> {
        let bad = |message: String| CallError::new(ErrorCode::Io, message);
        let answers = match answers {
            None => HashMap::new(),
            Some(file) => {
                let text =
                    std::fs::read(file).map_err(|error| bad(format!("cannot read {}: {error}", file.display())))?;
                serde_json::from_slice(&text).map_err(|error| {
                    let file = file.display();
                    bad(format!("{file}: wanted an object with a list of answers by operation: {error}"))
                })?
            }
        };
        Ok(Self { listeners, answers: Mutex::new(answers) })
    }

    fn answer(&self, op: &str) -> Value {
        let mut answers = lock(&self.answers);
        let left = answers.get_mut(op);
        let answer = left.and_then(|left| if left.len() > 1 { left.pop_front() } else { left.front().cloned() });
        answer.unwrap_or_else(|| json!({}))
    }
}

impl Agent for Recorder {
    fn serve(&self, call: AgentCall) -> BoxFuture<'_, Result<Value, CallError>> {
        Box::pin(async move {
            let AgentCall { extension, op, params, .. } = call;
            let line = json!({ "type": "agent_call", "extension": extension, "op": op, "params": params });
            self.listeners.ask_all(&line).await;
            Ok(self.answer(&op))
        })
    }
}
