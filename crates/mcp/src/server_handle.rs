//! What a session needs of the server behind a [`Transport`](crate::transport::Transport): a child process, or a connection.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use jackfield_runtime::{BoxFuture, Exit};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::stdio::ChildFeed;
use crate::transport::{IncomingMessage, Transport};

/// A way to a server, before anything was said.
pub(crate) struct Connection {
    /// Sends messages to the server.
    pub(crate) transport: Arc<dyn Transport>,
    /// Where messages come in.
    pub(crate) incoming: Incoming,
    /// What can be done about the server itself.
    pub(crate) server: Arc<dyn ServerHandle>,
    /// What could not be had, for instance a log.
    pub(crate) warnings: Vec<String>,
}

/// What a session needs of the server behind a transport, beside messages.
pub(crate) trait ServerHandle: Send + Sync {
    /// A line in the log of the extension.
    fn note(&self, text: &str);

    /// What the server wrote, without control sequences and secrets.
    fn clean(&self, text: &str) -> String;

    /// The last lines of its standard error, where it has one.
    fn tail(&self) -> String {
        String::new()
    }

    /// Its process, where it has one.
    fn pid(&self) -> Option<u32> {
        None
    }

    /// Whether it is certain that the server never got this request, and never will.
    fn never_got(&self, _request: &Value) -> bool {
        false
    }

    /// Whether the server has taken all that was sent; `None` where that cannot be known.
    fn has_read_all(&self) -> Option<bool> {
        None
    }

    /// What keeps a tool from being called this way, given its definition.
    fn fault(&self, _definition: &str) -> Option<String> {
        None
    }

    /// The handshake is over.
    fn settled(&self) {}

    /// Ends it politely within `grace`, else by force.
    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit>;

    /// Ends it at once and waits until nothing is left.
    fn kill(&self) -> BoxFuture<'_, ()>;

    /// Ends it at once without waiting.
    fn abandon(&self);

    /// Resolves when it is gone.
    fn exited(&self) -> BoxFuture<'_, Exit>;

    /// Whether it is gone.
    fn is_gone(&self) -> bool {
        self.exited().as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
}

/// Where messages come in: from whoever receives them, or straight from a child.
pub(crate) enum Incoming {
    Queue(mpsc::Receiver<IncomingMessage>),
    Child(ChildFeed),
}
