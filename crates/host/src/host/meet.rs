//! Meeting strangers: extensions whose contributions are unknown, because they are new or their files have changed.
//!
//! A stranger may turn out to be a guard, or to own the name of a tool. So a call waits for the strangers that could
//! matter to it. The host does this itself: a face cannot forget it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_discovery::Standing;
use jackfield_protocol::ExtensionId;
use tokio::task::JoinSet;

use super::inner::{START_TIMEOUT, START_TOGETHER};
use super::{Host, HostEvent, Inner};
use crate::registry::{Snapshot, could_own};
use crate::supervisor::Supervised;

/// How long a call waits for an extension that cannot be a guard.
const NO_GUARD_WAIT: Duration = Duration::from_secs(3);
/// How long a start may take beyond its own limit until the host notices that it failed.
const START_SLACK: Duration = Duration::from_secs(2);
/// When faces are told that a call waits.
const TELL_AFTER: Duration = Duration::from_secs(1);

/// What somebody wants from the extensions, which decides the strangers that matter.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// A call of the tool with this name. It must pass every guard, and the right extension must own the name.
    Tool(&'a str),
    /// The slash command with this name.
    Command(&'a str),
    /// The answers of hooks and of those who subscribed to an event.
    Hooks,
}

impl Wanted<'_> {
    /// Whether `stranger` could change what comes of it.
    fn concerns(self, stranger: &Supervised, snapshot: &Snapshot) -> bool {
        match self {
            Self::Tool(name) => {
                stranger.may_guard()
                    || match snapshot.tool(name) {
                        // The first one in the order of levels and ids has the name.
                        Some(entry) => {
                            let earlier = (stranger.origin(), &stranger.id) < (entry.owner.origin(), &entry.extension);
                            earlier && could_own(&stranger.found().manifest, name)
                        }
                        None => could_own(&stranger.found().manifest, name),
                    }
            }
            Self::Command(name) => snapshot.command(name).is_none(),
            Self::Hooks => stranger.may_guard(),
        }
    }
}

impl Host {
    /// Starts every extension whose contributions are unknown, all at once, and waits for them. Those that are not ready by
    /// then go on starting. Extensions that are in the catalogue are not started, nor are those that failed recently.
    ///
    /// A listing is complete only after it. A call needs none: it waits by itself for the extensions that matter to it.
    pub async fn learn(&self, within: Duration) {
        let unknown = |extension: &&Arc<Supervised>| {
            extension.known().is_none() && !extension.failure().is_some_and(|failure| failure.is_recent())
        };
        let unknown_now = || self.inner.extensions.all.load().values().filter(unknown).cloned().collect::<Vec<_>>();
        tokio::time::timeout(within, self.inner.describe(&unknown_now())).await.ok();
        self.start_together(unknown_now(), within).await;
        self.refresh_parts();
    }

    pub(super) async fn start_together(&self, extensions: Vec<Arc<Supervised>>, within: Duration) {
        let deadline = Instant::now() + within;
        let mut starts = JoinSet::new();
        for extension in extensions.into_iter().filter(|e| e.found().standing == Standing::Active) {
            // Why one did not start is in its state.
            starts.spawn(async move { extension.ready(deadline).await.map(|_| ()) });
        }
        while starts.join_next().await.is_some() {}
    }
}

impl Inner {
    /// Waits until no stranger can change what comes of `wanted` any more. `asking` is the extension that wants it, if it is
    /// one: it may be starting itself.
    ///
    /// The wait for an extension that may be a guard ends when it has started or failed to. The wait for any other is short.
    pub(crate) async fn meet(self: &Arc<Self>, wanted: Wanted<'_>, asking: Option<&ExtensionId>) {
        let snapshot = Arc::clone(&self.snapshot());
        let matters = |stranger: &&Arc<Supervised>| {
            stranger.is_stranger() && Some(&stranger.id) != asking && wanted.concerns(stranger, &snapshot)
        };
        let strangers: Vec<Arc<Supervised>> = snapshot.strangers().iter().filter(matters).cloned().collect();
        if strangers.is_empty() {
            return;
        }
        let meeting = self.meet_all(&strangers);
        tokio::pin!(meeting);
        tokio::select! {
            () = &mut meeting => return,
            () = tokio::time::sleep(TELL_AFTER) => {}
        }
        let silent = strangers.iter().filter(|stranger| stranger.is_stranger()).map(|stranger| stranger.id.clone());
        let extensions: Vec<ExtensionId> = silent.collect();
        if !extensions.is_empty() {
            self.publish(HostEvent::Waiting { extensions });
        }
        meeting.await;
    }

    async fn meet_all(&self, strangers: &[Arc<Supervised>]) {
        tokio::time::timeout(NO_GUARD_WAIT, self.describe(strangers)).await.ok();
        // Only so many start at once, and the others wait for their turn.
        let rounds = u32::try_from(strangers.len().div_ceil(START_TOGETHER)).unwrap_or(u32::MAX);
        let mut starts = JoinSet::new();
        for stranger in strangers.iter().filter(|stranger| stranger.is_stranger()) {
            let own = stranger.found().manifest.limits.start_timeout_ms.map(Duration::from_millis);
            let wait = match stranger.may_guard() {
                true => own.unwrap_or(START_TIMEOUT).saturating_mul(rounds) + START_SLACK,
                false => NO_GUARD_WAIT,
            };
            let stranger = Arc::clone(stranger);
            starts.spawn(async move {
                // Why it did not start is in its state. A later call does not wait for it again.
                if stranger.ready(Instant::now() + wait).await.is_err() {
                    stranger.pass_over();
                }
            });
        }
        while starts.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests;
