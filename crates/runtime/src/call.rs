//! Calls in both directions.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_protocol::{
    Asked, CallId, ChannelMessage, ChannelOp, CommandReply, HookCall, HookVerdict, ToolResult, Wire,
};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What the host asks of an extension.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ExtensionCall {
    /// Run a tool.
    Tool {
        /// The host's name for this call; progress and host calls refer to it.
        call_id: CallId,
        /// The extension's own name for the tool.
        name: String,
        /// Its arguments, an object. Shared, because the host keeps a call that may have to be made again.
        args: Arc<Value>,
        /// The same as the caller wrote them, where nothing was changed on the way.
        wire: Option<Wire>,
        /// `_meta` for extensions that asked for it; empty otherwise.
        meta: Arc<Map<String, Value>>,
    },
    /// A request in MCP's words, for extensions that speak it: prompts, resources, completion.
    Mcp {
        /// The host's name for this call; what the server says meanwhile refers to it.
        call_id: CallId,
        /// For instance `prompts/get`.
        method: String,
        /// Its parameters as the caller wrote them.
        params: Wire,
    },
    /// Run a slash command.
    Command {
        /// The host's name for this call.
        call_id: CallId,
        /// The registered spelling, without the slash.
        name: String,
        /// What follows it, trimmed.
        args: String,
    },
    /// May this happen?
    Hook {
        /// The host's name for this question.
        call_id: CallId,
        /// What.
        hook: HookCall,
    },
    /// What do the handlers of this event say? The extension's own format knows how answers are merged.
    Ask {
        /// The host's name for this question.
        call_id: CallId,
        /// The event's name.
        event: String,
        /// The question so far.
        asked: Asked,
    },
    /// A keyboard shortcut of the extension was pressed. Answered with [`Reply::Done`] when its handler is done.
    Shortcut {
        /// The host's name for this call.
        call_id: CallId,
        /// As the extension registered it.
        key: String,
    },
    /// A channel is to do something. A `receive` may stay open for ever; one that is cancelled is still answered when a
    /// message came before the extension heard of it.
    Channel {
        /// The host's name for this call.
        call_id: CallId,
        /// The extension's own name for the channel.
        name: String,
        /// What.
        op: ChannelOp,
    },
    /// A key was pressed in a panel of the extension. Answered with [`Reply::Done`] at once.
    PanelKey {
        /// The panel.
        panel_id: String,
        /// The key's name, `rune` for a character, `close` when the person closed the panel.
        key: String,
        /// The character.
        text: String,
    },
}

/// What an extension answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Reply {
    /// To [`ExtensionCall::Tool`].
    Tool(ToolResult),
    /// To [`ExtensionCall::Command`].
    Command(CommandReply),
    /// To [`ExtensionCall::Hook`].
    Hook(HookVerdict),
    /// To [`ExtensionCall::Ask`].
    Asked(Asked),
    /// To [`ExtensionCall::Channel`]: what was received, if anything was.
    Channel(Option<ChannelMessage>),
    /// To [`ExtensionCall::Mcp`]: the result as the extension wrote it.
    Mcp(Wire),
    /// To what has no answer.
    Done,
}

/// The conditions of a call into an extension.
#[derive(Debug, Clone)]
pub struct CallCx {
    /// When the caller stops waiting.
    pub deadline: Instant,
    /// Resolves when the caller gives up earlier.
    pub cancel: CancellationToken,
}

impl CallCx {
    /// A call that may take `timeout` and that nobody cancels.
    pub fn within(timeout: Duration) -> Self {
        Self { deadline: Instant::now() + timeout, cancel: CancellationToken::new() }
    }
}

/// What an extension sends into a host call under way. Shared, because the conditions of a call can be cloned; one reader
/// takes it.
#[derive(Debug, Clone)]
pub struct CallInput(Arc<Mutex<Option<mpsc::Receiver<Value>>>>);

impl CallInput {
    /// Input that arrives on `receiver`.
    pub fn new(receiver: mpsc::Receiver<Value>) -> Self {
        Self(Arc::new(Mutex::new(Some(receiver))))
    }

    /// The receiver, for whoever serves the call; `None` when it was taken before.
    pub fn take(&self) -> Option<mpsc::Receiver<Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The conditions of a host call.
#[derive(Debug, Clone, Default)]
pub struct HostCallCx {
    /// The call of the host that this one serves, where the extension said so.
    pub within: Option<CallId>,
    /// The capability that the extension claims; refused when it is not the one the host derives.
    pub claimed: Option<String>,
    /// The most it may take; the host's own limit stands beside it.
    pub timeout: Option<Duration>,
    /// Resolves when the extension gives up or goes. Shared, because to clone a token takes a lock.
    pub cancel: Arc<CancellationToken>,
    /// Takes the pieces of a streamed result, in order, before the call returns.
    pub chunks: Option<mpsc::Sender<Value>>,
    /// What the extension sends while the call runs: standard input, bytes for a socket.
    pub input: Option<CallInput>,
}
