//! Who answers the questions that extensions put to the person, and the agent that leads the conversation.

use std::sync::Arc;

use jackfield_protocol::{CallError, ErrorCode, ExtensionId, Notice};
use jackfield_runtime::{BoxFuture, CallInput};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, mpsc};
use tokio_util::sync::CancellationToken;

use crate::approver::{Answer, Question};

/// A question of an extension to the person. Its texts carry no control sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dialog {
    /// The extension that asks.
    pub extension: ExtensionId,
    /// The question.
    pub ask: DialogAsk,
    /// How long the question stands, in milliseconds; the host closes it then.
    pub timeout_ms: Option<u64>,
}

impl Dialog {
    /// A question without a time limit.
    pub fn new(extension: ExtensionId, ask: DialogAsk) -> Self {
        Self { extension, ask, timeout_ms: None }
    }
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogAsk {
    /// One of several.
    Select {
        /// The question.
        title: String,
        /// The answers.
        options: Vec<String>,
    },
    /// Yes or no.
    Confirm {
        /// What it is about.
        title: String,
        /// The question.
        message: String,
    },
    /// A line of text.
    Input {
        /// The question.
        title: String,
        /// What an answer may look like.
        placeholder: Option<String>,
        /// The answer is a secret: it is not shown while it is typed, and kept nowhere.
        secret: bool,
    },
    /// A longer text.
    Editor {
        /// The question.
        title: String,
        /// The text to begin with.
        prefill: Option<String>,
    },
}

/// What the person answers.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DialogAnswer {
    /// This text; for a choice, the chosen one.
    Value(String),
    /// Yes or no.
    Confirmed(bool),
    /// The person did not want to.
    Cancelled,
    /// Nobody is there.
    Unanswered,
}

/// Asks the person. Implemented by faces.
pub trait Face: Send + Sync {
    /// The answer. May take as long as the person does; when the future is dropped the question is over.
    fn dialog(&self, dialog: Dialog) -> BoxFuture<'_, DialogAnswer>;

    /// Whether somebody may answer at all.
    fn is_there(&self) -> bool {
        true
    }
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFace;

impl Face for NoFace {
    fn dialog(&self, _dialog: Dialog) -> BoxFuture<'_, DialogAnswer> {
        Box::pin(async { DialogAnswer::Unanswered })
    }

    fn is_there(&self) -> bool {
        false
    }
}

/// Whoever made one call, for what concerns that call alone. Implemented by faces that can be asked and told while they
/// wait.
pub trait Peer: Send + Sync {
    /// Something happened to the call: progress, a log line. Never blocks; keeps the order.
    fn tell(&self, notice: &Notice);

    /// The extension asks something of its caller, in MCP's words. Policy has said yes already.
    fn ask(&self, method: &str, params: Value) -> BoxFuture<'_, Result<Value, CallError>>;

    /// The host asks for permission while the call runs. Nothing where whoever waits cannot be asked: the host's own
    /// approver answers then.
    fn approve(&self, _question: Question) -> BoxFuture<'_, Option<Answer>> {
        Box::pin(std::future::ready(None))
    }

    /// Held while permission is asked, so that whoever waits for several calls sees one question at a time. Nothing
    /// where [`Self::approve`] answers nothing.
    fn turn(&self) -> Option<Arc<Mutex<()>>> {
        None
    }
}

/// Something that an extension asks of the agent.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentCall {
    /// The extension that asks.
    pub extension: ExtensionId,
    /// The operation, for instance `send_user_message`.
    pub op: String,
    /// The parameters of the operation.
    pub params: Map<String, Value>,
    /// Takes the pieces of an answer that comes in pieces.
    pub chunks: Option<mpsc::Sender<Value>>,
    /// What the extension sends meanwhile.
    pub input: Option<CallInput>,
    /// Resolves when the extension gives up or goes.
    pub cancel: CancellationToken,
}

/// The agent that leads the conversation. Implemented by whoever embeds the host.
pub trait Agent: Send + Sync {
    /// Does what is asked, or says why not. Policy has said yes already.
    fn serve(&self, call: AgentCall) -> BoxFuture<'_, Result<Value, CallError>>;
}

/// There is none: every call says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAgent;

impl Agent for NoAgent {
    fn serve(&self, call: AgentCall) -> BoxFuture<'_, Result<Value, CallError>> {
        let AgentCall { extension, op, .. } = call;
        let message = format!(
            "agent {op} of extension {extension}: no agent is attached to this host; it works in a host that an agent runs"
        );
        Box::pin(async { Err(CallError::new(ErrorCode::Unsupported, message)) })
    }
}
