//! The contract of a connection, which extensions and built-in channels keep alike, and the connection to an extension.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_host::{ChannelEndpoint, ChannelInstance, Host};
use jackfield_protocol::{CallError, ChannelMessage, ChannelOp, ErrorCode, ExtensionId};
use jackfield_runtime::{BoxFuture, CallCx};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::media::OutFile;

/// How long disconnecting may take.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Stands for no deadline: longer than any process runs.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Makes connections of one channel.
pub(crate) trait Source: Send + Sync {
    /// Whose channel it is, for the ledger.
    fn owner(&self) -> ExtensionId;

    /// A connection that can receive and send. May take as long as it needs, but not for ever.
    fn connect(&self) -> BoxFuture<'_, Result<Arc<SharedConnection>, CallError>>;

    /// These messages are in the inbox already.
    fn resume(&self, _messages: &[&ChannelMessage]) {}
}

/// One connection of a channel to its service.
pub(crate) trait ChannelConnection: Send + Sync {
    /// Waits for the next message. Cancelled, it gives the message that came meanwhile, if one did.
    fn receive(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<ChannelMessage>, CallError>>;

    /// What was received is in the inbox, or need not be.
    fn kept(&self, _message: &ChannelMessage) -> Result<(), CallError> {
        Ok(())
    }

    /// The parts in which an answer is sent.
    fn parts(&self, text: &str) -> Vec<String> {
        vec![text.to_owned()]
    }

    /// Sends one part of an answer.
    fn send(&self, message: ChannelMessage, text: String) -> BoxFuture<'_, Result<(), CallError>>;

    /// Sends a file to whom the message is from.
    fn send_file(&self, message: ChannelMessage, _file: OutFile) -> BoxFuture<'_, Result<(), CallError>> {
        let text = format!("channel {} takes no files; send_message can say where the file is", message.channel);
        Box::pin(std::future::ready(Err(CallError::new(ErrorCode::Unsupported, text))))
    }

    /// No more is wanted of it.
    fn disconnect(&self) -> BoxFuture<'_, ()>;

    /// Nothing can be sent any more.
    fn is_gone(&self) -> bool {
        false
    }

    /// Resolves when another connection should take its place.
    fn superseded(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// All permits of a connection; more than it ever has users.
const ALL_USERS: u32 = 1 << 20;

/// A connection and those who have yet to answer on it.
pub(crate) struct SharedConnection {
    pub(crate) connection: Box<dyn ChannelConnection>,
    users: Arc<Semaphore>,
}

/// Somebody who has yet to answer.
pub(crate) struct User {
    pub(crate) link: Arc<SharedConnection>,
    _held: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl SharedConnection {
    pub(crate) fn new(connection: impl ChannelConnection + 'static) -> Arc<Self> {
        Arc::new(Self { connection: Box::new(connection), users: Arc::new(Semaphore::new(ALL_USERS as usize)) })
    }

    /// Keeps the connection for an answer.
    pub(crate) fn enter(self: &Arc<Self>) -> User {
        User { link: Arc::clone(self), _held: Arc::clone(&self.users).try_acquire_owned().ok() }
    }

    /// Waits until all answers are sent, and disconnects.
    pub(crate) async fn retire(&self) {
        // Never closed, so it ends only when all are back.
        let _all = self.users.acquire_many(ALL_USERS).await;
        self.connection.disconnect().await;
    }
}

/// The channel of an extension, whichever instance of it serves.
pub(crate) struct ExtensionSource {
    endpoint: ChannelEndpoint,
}

impl ExtensionSource {
    /// Finds the channel.
    pub(crate) fn find(host: &Host, name: &str) -> Option<Self> {
        host.channel_endpoint(name).map(|endpoint| Self { endpoint })
    }

    /// The name in the registry.
    pub(crate) fn name(&self) -> &str {
        self.endpoint.name()
    }

    /// Checks that the extension may run the channel.
    pub(crate) async fn authorize(&self) -> Result<(), CallError> {
        self.endpoint.authorize().await
    }
}

impl Source for ExtensionSource {
    fn owner(&self) -> ExtensionId {
        self.endpoint.extension().clone()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Arc<SharedConnection>, CallError>> {
        Box::pin(async move { Ok(SharedConnection::new(self.endpoint.connect().await?)) })
    }
}

impl ChannelConnection for ChannelInstance {
    fn receive(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<ChannelMessage>, CallError>> {
        let cx = CallCx { deadline: Instant::now() + NO_TIMEOUT, cancel };
        Box::pin(self.call(ChannelOp::Receive, cx))
    }

    fn send(&self, message: ChannelMessage, text: String) -> BoxFuture<'_, Result<(), CallError>> {
        let sending = self.call(ChannelOp::Send { message: Box::new(message), text }, CallCx::within(self.timeout()));
        Box::pin(async move { sending.await.map(drop) })
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if !ChannelInstance::is_gone(self) {
                // It is let go whatever it says.
                self.call(ChannelOp::Disconnect, CallCx::within(self.timeout().min(DISCONNECT_TIMEOUT))).await.ok();
            }
        })
    }

    fn is_gone(&self) -> bool {
        ChannelInstance::is_gone(self)
    }

    fn superseded(&self) -> BoxFuture<'_, ()> {
        Box::pin(ChannelInstance::superseded(self))
    }
}
