//! Permission questions that wait for an answer from elsewhere.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jackfield_host::{Answer, Approver, Question};
use jackfield_protocol::{plain_text, visible_text};
use jackfield_runtime::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{broadcast, oneshot};

/// A question that waits.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalShown {
    /// Names the question.
    pub(crate) id: String,
    /// Who wants it.
    pub(crate) extension: String,
    /// The question in words, for people.
    pub(crate) question: String,
    /// The whole act: the command line, the request line, or the tool with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) act: Option<String>,
    /// The power and the resource that are asked for, for programs.
    pub(crate) need: Value,
    /// The tool or command in whose course it is wanted.
    pub(crate) on_behalf_of: Option<String>,
    /// What the extension's manifest says about why.
    pub(crate) reason: Option<String>,
    /// What a lasting yes would grant.
    pub(crate) grant: Value,
    /// For how many milliseconds it has waited.
    pub(crate) waited_ms: u64,
    /// In how many milliseconds it is answered with no.
    pub(crate) expires_in_ms: u64,
}

/// How a question may be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// Yes, this time.
    Once,
    /// Yes, as long as this host runs.
    ThisRun,
    /// Yes, in this project, until revoked.
    AlwaysHere,
    /// Yes, everywhere, until revoked.
    Always,
    /// No.
    No,
}

impl From<Said> for Answer {
    fn from(said: Said) -> Self {
        match said {
            Said::Once => Self::Once,
            Said::ThisRun => Self::ThisRun,
            Said::AlwaysHere => Self::AlwaysHere,
            Said::Always => Self::Always,
            Said::No => Self::No,
        }
    }
}

struct Open {
    question: Question,
    asked: Instant,
    answer: oneshot::Sender<Answer>,
}

#[derive(Default)]
struct Waiting {
    next: u64,
    open: BTreeMap<u64, Open>,
}

/// Keeps permission questions open until somebody answers them through the gateway, or their time is over. Made before the
/// host, which asks it.
pub struct Approvals {
    waiting: Mutex<Waiting>,
    patience: Duration,
    news: broadcast::Sender<(&'static str, Value)>,
}

impl Approvals {
    /// Questions wait for that long; then the answer is no.
    pub fn new(patience: Duration) -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), patience, news: broadcast::Sender::new(64) })
    }

    /// What happens to questions from now on: `approval_requested` and `approval_closed`.
    pub fn news(&self) -> broadcast::Receiver<(&'static str, Value)> {
        self.news.subscribe()
    }

    pub(crate) fn list(&self) -> Vec<ApprovalShown> {
        self.lock().open.iter().map(|(id, open)| self.shown(*id, open)).collect()
    }

    /// False when no such question waits.
    pub(crate) fn answer(&self, id: &str, said: Said) -> bool {
        let Ok(number) = id.parse::<u64>() else { return false };
        let open = self.lock().open.remove(&number);
        open.is_some_and(|open| open.answer.send(said.into()).is_ok())
    }

    fn shown(&self, id: u64, open: &Open) -> ApprovalShown {
        let Question { extension, need, act, on_behalf_of, reason, grant, .. } = &open.question;
        let waited = open.asked.elapsed();
        ApprovalShown {
            id: id.to_string(),
            extension: extension.to_string(),
            question: open.question.lines().join("\n"),
            act: act.as_deref().map(visible_text),
            need: json!(need),
            on_behalf_of: on_behalf_of.clone(),
            reason: reason.as_deref().map(plain_text),
            grant: json!(grant),
            waited_ms: waited.as_millis() as u64,
            expires_in_ms: self.patience.saturating_sub(waited).as_millis() as u64,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a question whoever asked it does not wait for any more.
struct Close<'a> {
    approvals: &'a Approvals,
    id: u64,
}

impl Drop for Close<'_> {
    fn drop(&mut self) {
        self.approvals.lock().open.remove(&self.id);
        self.approvals.news.send(("approval_closed", json!({ "id": self.id.to_string() }))).ok();
    }
}

impl Approver for Approvals {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let (sender, answer) = oneshot::channel();
            let (id, shown) = {
                let mut waiting = self.lock();
                waiting.next += 1;
                let id = waiting.next;
                let open = Open { question, asked: Instant::now(), answer: sender };
                let shown = self.shown(id, &open);
                waiting.open.insert(id, open);
                (id, shown)
            };
            let _close = Close { approvals: self, id };
            // Nobody looking on is fine: the question stands in the list.
            self.news.send(("approval_requested", json!(shown))).ok();
            match tokio::time::timeout(self.patience, answer).await {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) | Err(_) => Answer::Unanswered,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use jackfield_protocol::{Capability, Need, Power, Resource};

    use super::*;

    fn question() -> Question {
        let need = Need { power: Power::Tool, method: "tool", resource: Resource::Tool("echo".into()) };
        let grant = Capability::exactly(&need);
        Question::new("e".into(), need, grant)
    }

    #[tokio::test]
    async fn questions_are_answered_once_time_out_and_go_with_who_asked() {
        let approvals = Approvals::new(Duration::from_secs(30));
        let mut news = approvals.news();
        let asking = tokio::spawn({
            let approvals = Arc::clone(&approvals);
            async move { approvals.ask(question()).await }
        });
        assert_eq!(news.recv().await.expect("told").0, "approval_requested");
        let id = approvals.list()[0].id.clone();
        assert!(!approvals.answer("nonsense", Said::Once) && !approvals.answer("99", Said::Once));
        assert!(approvals.answer(&id, Said::ThisRun) && !approvals.answer(&id, Said::No));
        assert_eq!(asking.await.expect("asked"), Answer::ThisRun);

        let dropped = approvals.ask(question());
        drop(tokio::time::timeout(Duration::from_millis(1), dropped).await);
        assert!(approvals.list().is_empty());

        assert_eq!(Approvals::new(Duration::ZERO).ask(question()).await, Answer::Unanswered);
    }
}
