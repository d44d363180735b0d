//! Handing a call to the extension: to the instance that serves, through the breaker, counted so that a reload can wait.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use jackfield_policy::Permit;
use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::{CallCx, ExtensionCall, Reply};

use super::breaker::{Breaker, Round};
use super::{InFlight, Running, State, Supervised, lock};

impl Supervised {
    /// Asks the extension, started if need be. A question that a dying instance never got goes to its successor; one that
    /// it may have got is not repeated.
    ///
    /// # Errors
    /// `internal` when the permit is for another kind of call or another extension; else what went wrong with the call.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        permit: &Permit,
        call: ExtensionCall,
        cx: CallCx,
    ) -> Result<Reply, CallError> {
        self.check(permit, &call)?;
        match self.attempt(call.clone(), &cx).await {
            Err(error) if error.is_undelivered() && Instant::now() < cx.deadline => self.attempt(call, &cx).await,
            outcome => outcome,
        }
    }

    /// Asks this one instance, which the caller has entered, whatever serves now. For channels: a connection belongs to the
    /// instance that made it.
    ///
    /// # Errors
    /// `internal` when the permit is for another kind of call or another extension; else what went wrong with the call.
    pub(crate) async fn deliver_to(
        &self,
        permit: &Permit,
        running: &Running,
        call: ExtensionCall,
        cx: CallCx,
    ) -> Result<Reply, CallError> {
        self.check(permit, &call)?;
        running.instance.call(call, cx).await
    }

    fn check(&self, permit: &Permit, call: &ExtensionCall) -> Result<(), CallError> {
        if self.is_for(permit, call) {
            return Ok(());
        }
        let message = format!("a permit for {} of {} does not cover this call", permit.need(), permit.extension());
        Err(CallError::new(ErrorCode::Internal, message).of(&self.id))
    }

    /// Whether the permit is for this call. The permit of a tool call may be that of the extension which calls the tool.
    fn is_for(&self, permit: &Permit, call: &ExtensionCall) -> bool {
        let method = match call {
            ExtensionCall::Tool { .. } | ExtensionCall::Mcp { .. } => return permit.need().method == "tool",
            ExtensionCall::Command { .. } => "command",
            ExtensionCall::Hook { .. } => "hook",
            ExtensionCall::Ask { .. } => "event",
            ExtensionCall::Shortcut { .. } => "shortcut",
            ExtensionCall::Channel { .. } => "channel",
            // A kind of call that this host does not know has no permit.
            _ => return false,
        };
        permit.need().method == method && *permit.extension() == self.id
    }

    async fn attempt(self: &Arc<Self>, call: ExtensionCall, cx: &CallCx) -> Result<Reply, CallError> {
        let (running, _in_flight) = match self.enter_now() {
            Some(entered) => entered,
            None => tokio::select! {
                entered = self.enter(cx.deadline) => entered?,
                () = cx.cancel.cancelled() => {
                    let message = format!("the call was given up before extension {} was ready", self.id);
                    return Err(CallError::new(ErrorCode::Cancelled, message).of(&self.id));
                }
            },
        };
        let admitted = self.admit()?;
        let outcome = running.instance.call(call, cx.clone()).await;
        admitted.record(&running, &outcome);
        outcome
    }

    /// The instance that serves, counted in.
    pub(crate) async fn enter(self: &Arc<Self>, deadline: Instant) -> Result<(Arc<Running>, InFlight), CallError> {
        loop {
            let running = self.ready(deadline).await?;
            if let Some(in_flight) = self.count_in(&running) {
                return Ok((running, in_flight));
            }
        }
    }

    /// The same, where one serves already.
    fn enter_now(&self) -> Option<(Arc<Running>, InFlight)> {
        let running = self.serving()?;
        let in_flight = self.count_in(&running)?;
        Some((running, in_flight))
    }

    /// One that was replaced before it was entered may be stopping already; one that is replaced from here on waits.
    fn count_in(&self, running: &Arc<Running>) -> Option<InFlight> {
        let in_flight = running.enter();
        let current = self.running.load();
        current.as_ref().is_none_or(|current| Arc::ptr_eq(current, running)).then_some(in_flight)
    }

    /// Resolves when `running` is not the instance that serves any more, because it died or another took its place.
    pub(crate) async fn superseded(&self, running: &Arc<Running>) {
        let mut states = self.state.subscribe();
        loop {
            if !self.running.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, running)) {
                return;
            }
            tokio::select! {
                changed = states.changed() => if changed.is_err() { return },
                _ = running.instance.exited() => return,
            }
        }
    }

    /// Starts one that was given up again.
    pub(crate) async fn revive(self: &Arc<Self>) -> Result<(), CallError> {
        match self.state() {
            State::Failed { .. } => self.replace((*self.found()).clone()).await.map_err(|why| self.unavailable(&why)),
            _ => Ok(()),
        }
    }

    /// Lets a call through the breaker.
    fn admit(&self) -> Result<Admitted<'_>, CallError> {
        match lock(&self.breaker).admit(Instant::now()) {
            Ok(round) => Ok(Admitted { breaker: &self.breaker, round, recorded: false }),
            Err(wait) => Err(self.unavailable(&format!(
                "its last calls failed in transport; it is tried again in {} s (or run `jackfield reload {}`)",
                wait.as_secs().max(1),
                self.id
            ))),
        }
    }
}

/// A call that the breaker let through. One that is dropped before its end is known was given up: the breaker must not
/// wait for it.
struct Admitted<'a> {
    breaker: &'a Mutex<Breaker>,
    round: Round,
    recorded: bool,
}

impl Admitted<'_> {
    /// Tells the breaker how the call went. Deaths are not its matter: they are counted by the restart rule, and a fresh
    /// instance is not to blame for the calls that its predecessor took along.
    fn record(mut self, running: &Running, outcome: &Result<Reply, CallError>) {
        self.recorded = true;
        let mut breaker = lock(self.breaker);
        match outcome {
            Err(error) if error.code == ErrorCode::Cancelled => breaker.abandoned(self.round),
            Err(error) if error.is_transport_failure() && running.is_gone() => breaker.abandoned(self.round),
            Err(error) if error.is_transport_failure() => breaker.failed(self.round, Instant::now()),
            _ => breaker.worked(self.round),
        }
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.recorded {
            lock(self.breaker).abandoned(self.round);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_probe_that_is_dropped_makes_way_for_the_next() {
        let breaker = Mutex::new(Breaker::default());
        let now = Instant::now();
        (0..5).for_each(|_| lock(&breaker).fails_once(now));
        let later = now + Duration::from_secs(10);
        let round = lock(&breaker).admit(later).expect("a probe");
        let probe = Admitted { breaker: &breaker, round, recorded: false };
        assert!(lock(&breaker).admit(later).is_err(), "one probe at a time");
        drop(probe);
        assert!(lock(&breaker).admit(later).is_ok());
    }
}
