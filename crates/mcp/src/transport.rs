//! How messages are sent to a server, and where they come in, whatever the transport.

use jackfield_protocol::CallError;
use jackfield_runtime::BoxFuture;
use serde_json::Value;

/// What comes from the server's side.
#[derive(Debug)]
pub(crate) enum IncomingMessage {
    /// One message as it was written.
    Message(String),
    /// A request will not be answered, and why.
    Failed {
        /// The id of the request.
        request: Value,
        /// Why it will not be answered.
        error: CallError,
    },
    /// A message of this many bytes was too long to be read; whatever it was is lost.
    TooLong(u64),
    /// The way to the server is gone, and why.
    Closed(String),
}

/// A message for the server.
#[derive(Debug)]
pub(crate) struct Outgoing {
    /// The whole message.
    pub(crate) text: String,
    /// The id of a request; `None` for answers and notifications.
    pub(crate) request: Option<Value>,
    /// The method of a request or notification.
    pub(crate) method: Option<String>,
    /// What the message is about (the tool, prompt or resource), where its method names one.
    pub(crate) subject: Option<String>,
}

/// What became of a request that was handed over.
pub(crate) enum Sending<'a> {
    /// It is on its way, or never will be.
    Done(Result<(), CallError>),
    /// That is known only later.
    Later(BoxFuture<'a, Result<(), CallError>>),
}

/// Sends to one server. What comes back arrives as [`IncomingMessage`] on the channel that the transport was made with.
pub(crate) trait Transport: Send + Sync {
    /// Hands a message over; done once it is on its way.
    fn send(&self, message: Outgoing) -> BoxFuture<'_, Result<(), CallError>>;

    /// Hands a request over; without waiting where that can be.
    fn hand(&self, request: u64, text: String, method: &str, subject: Option<&str>) -> Sending<'_> {
        Sending::Later(self.send(Outgoing {
            text,
            request: Some(request.into()),
            method: Some(method.to_owned()),
            subject: subject.map(str::to_owned),
        }))
    }

    /// Nobody waits for the answer to this request any more: frees what the transport holds for it. The notification of
    /// MCP, where the era has one, is sent as a message of its own.
    fn forget(&self, request: &Value);
}
