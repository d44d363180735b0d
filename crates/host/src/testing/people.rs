//! People who answer as a test says, and note the questions.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use jackfield_protocol::{CallError, Notice};
use jackfield_runtime::BoxFuture;
use serde_json::{Value, json};

use super::lock;
use crate::approver::{Answer, Approver, Question};
use crate::face::Peer;

/// A person who gives these answers in turn, and no afterwards.
#[derive(Default)]
pub(crate) struct ScriptedApprover {
    answers: Mutex<VecDeque<Answer>>,
    questions: Mutex<Vec<Question>>,
}

impl ScriptedApprover {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), questions: Mutex::default() }
    }

    /// The questions so far: which extension asked for what.
    pub(crate) fn questions(&self) -> Vec<String> {
        lock(&self.questions).iter().map(|question| format!("{}: {}", question.extension, question.need)).collect()
    }

    pub(crate) fn last_question(&self) -> Question {
        lock(&self.questions).last().cloned().expect("a question")
    }
}

impl Approver for ScriptedApprover {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        lock(&self.questions).push(question);
        let answer = lock(&self.answers).pop_front().unwrap_or(Answer::Unanswered);
        Box::pin(async move {
            // Another task may ask meanwhile, as it may while a person thinks.
            tokio::task::yield_now().await;
            answer
        })
    }
}

/// A caller that answers every question with its method, and notes what it is asked and told.
#[derive(Default)]
pub(crate) struct ScriptedPeer {
    /// What it answers when the host asks for permission. Without an answer it cannot be asked.
    permission: Option<Answer>,
    turn: Arc<tokio::sync::Mutex<()>>,
    questions: Mutex<Vec<(String, Value)>>,
    notices: Mutex<Vec<Notice>>,
}

impl ScriptedPeer {
    /// A caller that answers this to every question of permission.
    pub(crate) fn permits(answer: Answer) -> Self {
        Self { permission: Some(answer), ..Self::default() }
    }

    pub(crate) fn questions(&self) -> Vec<(String, Value)> {
        lock(&self.questions).clone()
    }

    pub(crate) fn notices(&self) -> Vec<Notice> {
        lock(&self.notices).clone()
    }
}

impl Peer for ScriptedPeer {
    fn tell(&self, notice: &Notice) {
        lock(&self.notices).push(notice.clone());
    }

    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Result<Value, CallError>> {
        lock(&self.questions).push((method.to_owned(), params));
        let answer = json!({ "answered": method });
        Box::pin(async move { Ok(answer) })
    }

    fn approve(&self, question: Question) -> BoxFuture<'_, Option<Answer>> {
        lock(&self.questions).push(("approve".to_owned(), json!(question.need.to_string())));
        let answer = self.permission;
        Box::pin(async move { answer })
    }

    fn turn(&self) -> Option<Arc<tokio::sync::Mutex<()>>> {
        self.permission.map(|_| Arc::clone(&self.turn))
    }
}
