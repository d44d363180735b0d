//! What a child speaks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_protocol::{CallError, Contributions, Dialect, Event};
use jackfield_runtime::{CallCx, ExtensionCall, Reply, StartError};
use tokio::process::ChildStdout;

use crate::core::Core;
use crate::envelope::Envelopes;
use crate::frames::Frames;
use crate::jsonrpc::JsonRpc;
use crate::lines::{Line, Lines};

/// How long a child that ended its output may take to go by itself before the start is called off.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// One dialect with what it remembers about one child.
pub(crate) enum DialectState {
    Frames(Frames),
    JsonRpc(JsonRpc),
    Envelope(Envelopes),
}

impl DialectState {
    pub(crate) fn new(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Frames => Self::Frames(Frames::default()),
            Dialect::JsonRpc => Self::JsonRpc(JsonRpc::default()),
            Dialect::Envelope => Self::Envelope(Envelopes::default()),
        }
    }

    /// Makes acquaintance; returns what the child contributes.
    pub(crate) async fn handshake(
        &self,
        core: &Arc<Core>,
        reader: &mut HandshakeReader,
    ) -> Result<Contributions, StartError> {
        match self {
            Self::Frames(frames) => frames.handshake(core, reader).await,
            Self::JsonRpc(rpc) => rpc.handshake(core, reader).await,
            Self::Envelope(envelopes) => envelopes.handshake(core, reader).await,
        }
    }

    /// The interpreter that a Python file said it runs in.
    pub(crate) fn interpreter(&self) -> Option<&str> {
        match self {
            Self::Frames(frames) => frames.interpreter(),
            Self::JsonRpc(_) | Self::Envelope(_) => None,
        }
    }

    /// A line from the child. Never waits.
    pub(crate) fn line(&self, core: &Arc<Core>, line: &[u8]) {
        match self {
            Self::Frames(frames) => frames.line(core, line),
            Self::JsonRpc(rpc) => rpc.line(core, line),
            Self::Envelope(envelopes) => envelopes.line(core, line),
        }
    }

    /// No further line is there right now.
    pub(crate) fn settled(&self, core: &Arc<Core>) {
        match self {
            Self::Frames(frames) => frames.settled(core),
            Self::JsonRpc(_) | Self::Envelope(_) => {}
        }
    }

    /// A call into the child.
    pub(crate) async fn call(&self, core: &Arc<Core>, call: ExtensionCall, cx: CallCx) -> Result<Reply, CallError> {
        match self {
            Self::Frames(frames) => frames.call(core, call, cx).await,
            Self::JsonRpc(rpc) => rpc.call(core, call, cx).await,
            Self::Envelope(envelopes) => envelopes.call(core, call, cx).await,
        }
    }

    /// Tells the child of an event, if it wants to know.
    pub(crate) fn notify(&self, core: &Arc<Core>, event: &Event) {
        match self {
            Self::Frames(frames) => frames.notify(core, event),
            Self::JsonRpc(_) => {}
            Self::Envelope(envelopes) => envelopes.notify(core, event),
        }
    }

    /// Asks the child to go and closes its input, within `grace`.
    pub(crate) async fn farewell(&self, core: &Arc<Core>, grace: Duration) {
        match self {
            Self::Frames(frames) => frames.farewell(core),
            Self::JsonRpc(rpc) => rpc.farewell(core, grace).await,
            Self::Envelope(envelopes) => envelopes.farewell(core),
        }
        core.outbox.close();
    }
}

/// Listens to a child during the handshake.
pub(crate) struct HandshakeReader {
    pub(crate) lines: Lines<ChildStdout>,
}

impl HandshakeReader {
    /// The next line; `None` when `until` has passed. Lines are copied: a handshake is short.
    ///
    /// # Errors
    /// The child went, or ended its output.
    pub(crate) async fn next_line(
        &mut self,
        core: &Arc<Core>,
        until: Instant,
        awaited: &str,
    ) -> Result<Option<Vec<u8>>, StartError> {
        loop {
            let line = tokio::select! {
                biased;
                line = self.lines.next() => line,
                () = core.gone.cancelled() => Ok(None),
                () = tokio::time::sleep_until(until.into()) => return Ok(None),
            };
            match line {
                Ok(Some(Line::Whole(line))) => return Ok(Some(line.to_vec())),
                Ok(Some(Line::TooLong(_))) => core.too_long(),
                Ok(None) | Err(_) => break,
            }
        }
        core.stdout_ended.cancel();
        let exit = tokio::time::timeout(EXIT_TIMEOUT, core.exited()).await.unwrap_or_default();
        Err(StartError::EarlyExit { awaited: awaited.to_owned(), exit, stderr: core.log.tail() })
    }
}

/// A handshake that went wrong.
pub(crate) fn bad_handshake(reason: impl Into<String>) -> StartError {
    StartError::BadHandshake { reason: reason.into(), stderr: String::new() }
}

/// A handshake that took too long.
pub(crate) fn too_late(core: &Core, awaited: &str) -> StartError {
    StartError::HandshakeTimeout { awaited: awaited.to_owned(), after: core.spec.start_timeout, stderr: String::new() }
}
