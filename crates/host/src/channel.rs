//! Channels of extensions, for the crate that runs channels. The guards are here: policy permits a connection, the ledger
//! records it, and the permit of the connection covers every call on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jackfield_ledger::Evidence;
use jackfield_policy::{Permit, Subject, Verdict};
use jackfield_protocol::{
    CallError, ChannelMessage, ChannelOp, Correlation, ErrorCode, ExtensionId, Need, Power, Resource,
};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};
use serde_json::json;

use crate::gate::CallContext;
use crate::host::{Host, Inner};
use crate::supervisor::{InFlight, Running, Supervised};

/// How long a call may take when the manifest does not say.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How long an extension may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A channel that an extension contributes, whichever instance of the extension serves it.
pub struct ChannelEndpoint {
    host: Arc<Inner>,
    name: String,
    owner: ExtensionId,
    approved: AtomicBool,
}

impl Host {
    /// The channel of an extension, by name or by `extension:name`.
    pub fn channel_endpoint(&self, name: &str) -> Option<ChannelEndpoint> {
        let snapshot = self.snapshot();
        let entry = snapshot.channel(name)?;
        Some(ChannelEndpoint {
            host: Arc::clone(&self.inner),
            name: entry.name.clone(),
            owner: entry.extension.clone(),
            approved: AtomicBool::new(false),
        })
    }
}

impl ChannelEndpoint {
    /// The name in the registry.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The extension that owns the channel.
    pub fn extension(&self) -> &ExtensionId {
        &self.owner
    }

    /// Checks that the extension may run the channel. The host asks a person at most once per endpoint.
    ///
    /// # Errors
    /// `denied` when the policy or a person says no; `not_found` when the extension is gone.
    pub async fn authorize(&self) -> Result<(), CallError> {
        self.permit().await.map(drop)
    }

    /// A channel makes the agent answer strangers, so its extension needs the power to make the agent act. A person is
    /// asked once. Later decisions that would ask again stand as approved; a refusal always counts.
    async fn permit(&self) -> Result<Permit, CallError> {
        let owner = self.host.extension(&self.owner).ok_or_else(|| self.missing())?;
        let declared = owner.declared();
        let subject = Subject::Extension { declared: &declared };
        let need = Need { power: Power::Agent, method: "channel", resource: Resource::Whole };
        if !self.approved.load(Ordering::Acquire) {
            let call_id = self.host.next_call_id();
            let context = CallContext { call_id: &call_id, within: None, tool: None, act: None };
            let permit = self.host.authorize(&self.owner, subject, need, context, &mut Evidence::default()).await?;
            self.approved.store(true, Ordering::Release);
            return Ok(permit);
        }
        let decision = self.host.decide(&self.owner, subject, &need);
        let reason = decision.reason().to_owned();
        let permit = match decision.verdict() {
            Verdict::Allow => decision.permit(),
            Verdict::Ask => decision.approved(),
            Verdict::Deny => None,
        };
        permit.ok_or_else(|| {
            let message = format!("extension {} may not run channel {} any more: {reason}", self.owner, self.name);
            CallError::new(ErrorCode::Denied, message).of(&self.owner)
        })
    }

    /// Enters an instance of the extension, started if need be, and connects the channel.
    ///
    /// # Errors
    /// The errors of [`Self::authorize`]; that the ledger cannot be written; or what the extension answers.
    pub async fn connect(&self) -> Result<ChannelInstance, CallError> {
        let permit = self.permit().await?;
        if let Some(owner) = self.host.extension(&self.owner) {
            owner.revive().await?;
        }
        let entry = self.host.snapshot().channel(&self.name).cloned().ok_or_else(|| self.missing())?;
        if entry.extension != self.owner {
            return Err(self.missing());
        }
        let owner = Arc::clone(&entry.owner);
        let (running, in_flight) = owner.enter(Instant::now() + START_TIMEOUT).await?;
        let correlation = Correlation { extension_id: self.owner.to_string(), ..Correlation::default() };
        let data = json!({ "channel": self.name });
        self.host.ledger_note("channel.connect", correlation, "a channel is connected", data)?;
        let timeout = owner.found().manifest.limits.call_timeout_ms.map_or(CALL_TIMEOUT, Duration::from_millis);
        let instance = ChannelInstance {
            host: Arc::clone(&self.host),
            permit,
            owner,
            running,
            _in_flight: in_flight,
            channel: entry.spec.name.clone(),
            timeout,
        };
        instance.call(ChannelOp::Connect, CallCx::within(timeout)).await?;
        Ok(instance)
    }

    fn missing(&self) -> CallError {
        let message =
            format!("no extension offers channel {} now (see `jackfield channel list`); it is tried again", self.name);
        CallError::new(ErrorCode::NotFound, message)
    }
}

/// A connected channel of one instance of an extension. A reload waits until this is dropped.
pub struct ChannelInstance {
    host: Arc<Inner>,
    permit: Permit,
    owner: Arc<Supervised>,
    running: Arc<Running>,
    _in_flight: InFlight,
    channel: String,
    timeout: Duration,
}

impl ChannelInstance {
    /// How long a call may take, by the manifest or by default.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Delivers one operation to the instance and gives the message that it answers with, if any.
    ///
    /// # Errors
    /// The extension's error, redacted; `protocol` when it answers with something else.
    pub async fn call(&self, op: ChannelOp, cx: CallCx) -> Result<Option<ChannelMessage>, CallError> {
        let call = ExtensionCall::Channel { call_id: self.host.next_call_id(), name: self.channel.clone(), op };
        match self.owner.deliver_to(&self.permit, &self.running, call, cx).await {
            Ok(Reply::Channel(message)) => Ok(message),
            Ok(other) => Err(CallError::new(ErrorCode::Protocol, format!("answered a channel call with {other:?}"))),
            Err(error) => Err(self.host.clean_error(error.of(&self.owner.id))),
        }
    }

    /// Whether the instance has died.
    pub fn is_gone(&self) -> bool {
        self.running.is_gone()
    }

    /// Resolves when the instance has died or another one has taken its place.
    pub async fn superseded(&self) {
        self.owner.superseded(&self.running).await;
    }
}

#[cfg(test)]
mod tests;
