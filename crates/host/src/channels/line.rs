//! What is behind a channel: an instance of an extension, or something of the host's own. Both keep the same contract.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jackfield_ledger::Evidence;
use jackfield_policy::{Subject, Verdict};
use jackfield_protocol::{CallError, ChannelMessage, ChannelOp, ErrorCode, ExtensionId, Need, Power, Resource};
use jackfield_runtime::{BoxFuture, CallCx, ExtensionCall, Reply};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::media::OutFile;
use crate::gate::Course;
use crate::host::Inner;
use crate::supervisor::{InFlight, Running, Supervised};

/// How long connecting and sending may take when the manifest does not say.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long disconnecting may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long an extension may take to start.
const START: Duration = Duration::from_secs(60);
/// As good as for ever.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Makes connections.
pub(super) trait Source: Send + Sync {
    /// Whose channel it is, for the ledger.
    fn owner(&self) -> ExtensionId;

    /// A connection that can receive and send. May take as long as it needs, but not for ever.
    fn connect(&self) -> BoxFuture<'_, Result<Arc<Link>, CallError>>;

    /// These messages are in the inbox already.
    fn resume(&self, _messages: &[&ChannelMessage]) {}
}

/// One connection.
pub(super) trait Line: Send + Sync {
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

/// More users than a connection ever has.
const USERS: u32 = 1 << 20;

/// A connection and those who have yet to answer on it.
pub(super) struct Link {
    pub(super) line: Box<dyn Line>,
    users: Arc<Semaphore>,
}

/// Somebody who has yet to answer.
pub(super) struct User {
    pub(super) link: Arc<Link>,
    _held: Option<tokio::sync::OwnedSemaphorePermit>,
}

impl Link {
    pub(super) fn new(line: impl Line + 'static) -> Arc<Self> {
        Arc::new(Self { line: Box::new(line), users: Arc::new(Semaphore::new(USERS as usize)) })
    }

    /// Keeps the connection for an answer.
    pub(super) fn enter(self: &Arc<Self>) -> User {
        User { link: Arc::clone(self), _held: Arc::clone(&self.users).try_acquire_owned().ok() }
    }

    /// Waits until all answers are sent, and disconnects.
    pub(super) async fn retire(&self) {
        // Never closed, so it ends only when all are back.
        let _all = self.users.acquire_many(USERS).await;
        self.line.disconnect().await;
    }
}

/// The channel of an extension, whichever instance of it serves.
pub(super) struct ExtensionSource {
    host: Arc<Inner>,
    name: String,
    owner: ExtensionId,
    permitted: AtomicBool,
}

impl ExtensionSource {
    /// Finds the channel.
    pub(super) fn find(host: &Arc<Inner>, name: &str) -> Option<Self> {
        let snapshot = host.snapshot();
        let entry = snapshot.channel(name)?;
        Some(Self {
            host: Arc::clone(host),
            name: entry.name.clone(),
            owner: entry.extension.clone(),
            permitted: AtomicBool::new(false),
        })
    }

    /// The name that it is known by.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A channel lets its extension make the host answer strangers: that takes the power to make the agent act. A person is
    /// asked once; after that only a refusal counts.
    pub(super) async fn permit(&self) -> Result<(), CallError> {
        let owner = self.host.extension(&self.owner).ok_or_else(|| self.missing())?;
        let declared = owner.declared();
        let subject = Subject::Extension { declared: &declared };
        let need = Need { power: Power::Agent, method: "channel", resource: Resource::Whole };
        if !self.permitted.load(Ordering::Acquire) {
            let call_id = self.host.next_call_id();
            let course = Course { call_id: &call_id, within: None, tool: None };
            self.host.authorize(&self.owner, subject, need, course, &mut Evidence::default()).await?;
            self.permitted.store(true, Ordering::Release);
            return Ok(());
        }
        let decision = self.host.decide(&self.owner, subject, &need);
        if decision.verdict() == Verdict::Deny {
            let message =
                format!("extension {} may not run channel {} any more: {}", self.owner, self.name, decision.reason());
            return Err(CallError::new(ErrorCode::Denied, message).of(&self.owner));
        }
        Ok(())
    }

    fn missing(&self) -> CallError {
        let message =
            format!("no extension offers channel {} now (see `jackfield channel list`); it is tried again", self.name);
        CallError::new(ErrorCode::NotFound, message)
    }
}

impl Source for ExtensionSource {
    fn owner(&self) -> ExtensionId {
        self.owner.clone()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Arc<Link>, CallError>> {
        Box::pin(async move {
            self.permit().await?;
            if let Some(owner) = self.host.extension(&self.owner) {
                owner.revive().await?;
            }
            let entry = self.host.snapshot().channel(&self.name).cloned().ok_or_else(|| self.missing())?;
            if entry.extension != self.owner {
                return Err(self.missing());
            }
            let owner = Arc::clone(&entry.owner);
            let (running, in_flight) = owner.enter(Instant::now() + START).await?;
            let timeout = owner.found().manifest.limits.call_timeout_ms.map_or(CALL_TIMEOUT, Duration::from_millis);
            let line = ExtensionLine {
                host: Arc::clone(&self.host),
                owner,
                running,
                _in_flight: in_flight,
                channel: entry.spec.name.clone(),
                timeout,
            };
            line.call(ChannelOp::Connect, CallCx::within(timeout)).await?;
            Ok(Link::new(line))
        })
    }
}

/// One instance of an extension. As long as this lives, a reload waits for it.
struct ExtensionLine {
    host: Arc<Inner>,
    owner: Arc<Supervised>,
    running: Arc<Running>,
    _in_flight: InFlight,
    channel: String,
    timeout: Duration,
}

impl ExtensionLine {
    async fn call(&self, op: ChannelOp, cx: CallCx) -> Result<Option<ChannelMessage>, CallError> {
        let call = ExtensionCall::Channel { call_id: self.host.next_call_id(), name: self.channel.clone(), op };
        match self.running.instance.call(call, cx).await {
            Ok(Reply::Channel(message)) => Ok(message),
            Ok(other) => Err(CallError::new(ErrorCode::Protocol, format!("answered a channel call with {other:?}"))),
            Err(error) => Err(self.host.clean_error(error.of(&self.owner.id))),
        }
    }
}

impl Line for ExtensionLine {
    fn receive(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<ChannelMessage>, CallError>> {
        let cx = CallCx { deadline: Instant::now() + FOR_EVER, cancel };
        Box::pin(self.call(ChannelOp::Receive, cx))
    }

    fn send(&self, message: ChannelMessage, text: String) -> BoxFuture<'_, Result<(), CallError>> {
        let sending = self.call(ChannelOp::Send { message: Box::new(message), text }, CallCx::within(self.timeout));
        Box::pin(async move { sending.await.map(drop) })
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if !self.is_gone() {
                // It is let go whatever it says.
                self.call(ChannelOp::Disconnect, CallCx::within(self.timeout.min(FAREWELL))).await.ok();
            }
        })
    }

    fn is_gone(&self) -> bool {
        self.running.is_gone()
    }

    fn superseded(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.owner.superseded(&self.running))
    }
}
