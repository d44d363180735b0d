//! The supervisor: one per extension. Starts it when it is first needed, notices its death, starts it again with growing
//! pauses, gives up after too many, and swaps in a new version beside the old one.

mod attached;
mod breaker;
mod deliver;
mod ending;
mod rest;
mod restart;
mod state;
mod stranger;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption};
use jackfield_protocol::{CallError, Capability, Contributions, ErrorCode, ExtensionId, HookPoint, OnFailure};
use jackfield_runtime::{Instance, StartError, Traits, bounded};
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use breaker::Breaker;
use jackfield_discovery::catalog::{Failure, Known, Memory};
use jackfield_discovery::{Found, Origin, Standing};
use restart::{AfterDeath, ReloadCount, RestartCount};

use crate::host::Inner;
pub(crate) use restart::{Reloads, RestartRule};
pub use state::State;

/// How long a replaced instance may finish its calls.
pub(crate) const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// A running instance and what it contributes.
pub(crate) struct Running {
    pub(crate) instance: Arc<dyn Instance>,
    pub(crate) contributions: ArcSwap<Contributions>,
    pub(crate) hash: String,
    /// Which start it came of.
    start: u64,
    /// Whether it was told that the session has begun.
    pub(crate) greeted: AtomicBool,
    in_flight: AtomicUsize,
    idle: Notify,
    /// When the last call ended.
    last_used: Mutex<Instant>,
}

impl Running {
    fn known(&self, contributions: Contributions) -> Known {
        Known { hash: self.hash.clone(), contributions }
    }

    /// Counts a call for as long as the guard lives, so that a reload can wait for it.
    pub(crate) fn enter(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        InFlight { running: Arc::clone(self) }
    }

    /// Whether the instance has died, which the supervising task may not have seen yet.
    pub(crate) fn is_gone(&self) -> bool {
        self.instance.is_gone()
    }

    async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            if self.in_flight.load(Ordering::SeqCst) == 0 {
                return;
            }
            idle.await;
        }
    }
}

/// A call under way.
pub(crate) struct InFlight {
    running: Arc<Running>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        *lock(&self.running.last_used) = Instant::now();
        if self.running.in_flight.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.running.idle.notify_waiters();
        }
    }
}

/// One extension under supervision.
pub(crate) struct Supervised {
    pub(crate) id: ExtensionId,
    found: ArcSwap<Found>,
    state: watch::Sender<State>,
    running: ArcSwapOption<Running>,
    /// What it contributes as far as is known: from the catalogue, or from the instance that runs.
    known: ArcSwapOption<Known>,
    /// What an earlier version contributed: says what changed, and which hooks are missing while this one does not run.
    previous: ArcSwapOption<Known>,
    /// How the last start failed, in this run or an earlier one.
    failure: ArcSwapOption<Failure>,
    breaker: Mutex<Breaker>,
    restarts: Mutex<RestartCount>,
    /// Changes when a reload or a stop takes over the extension's life. A supervising task that sees the change ends.
    epoch: AtomicU64,
    task: Mutex<Option<AbortHandle>>,
    /// The content hash of the version that failed last, so that the watcher does not try the same one again.
    failed_hash: Mutex<Option<String>>,
    reloads: Mutex<ReloadCount>,
    /// A call has waited for it long enough.
    passed_over: AtomicBool,
    /// What an instance contributed before it was installed, and the start it came of.
    early_contributions: Mutex<Option<(u64, Contributions)>>,
    host: Weak<Inner>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Supervised {
    pub(crate) fn new(found: Found, memory: Memory, rule: RestartRule, host: Weak<Inner>) -> Arc<Self> {
        Arc::new(Self {
            id: found.manifest.id.clone(),
            found: ArcSwap::from_pointee(found),
            state: watch::Sender::new(State::Idle),
            running: ArcSwapOption::empty(),
            known: ArcSwapOption::new(memory.known.map(Arc::new)),
            previous: ArcSwapOption::new(memory.previous.map(Arc::new)),
            failure: ArcSwapOption::new(memory.failure.map(Arc::new)),
            breaker: Mutex::default(),
            restarts: Mutex::new(RestartCount::of(rule)),
            epoch: AtomicU64::new(0),
            task: Mutex::default(),
            failed_hash: Mutex::default(),
            reloads: Mutex::default(),
            passed_over: AtomicBool::new(false),
            early_contributions: Mutex::default(),
            host,
        })
    }

    pub(crate) fn found(&self) -> Arc<Found> {
        self.found.load_full()
    }

    pub(crate) fn origin(&self) -> Origin {
        self.found.load().origin
    }

    pub(crate) fn known(&self) -> Option<Arc<Known>> {
        self.known.load_full()
    }

    /// What is known, or else what an earlier version contributed.
    pub(crate) fn known_or_previous(&self) -> Option<Arc<Known>> {
        self.known().or_else(|| self.previous.load_full())
    }

    /// How its runtime treats it.
    pub(crate) fn traits(&self) -> Traits {
        self.host.upgrade().map_or_else(Traits::default, |host| host.traits(&self.found.load().manifest))
    }

    /// What it said that it needs. The manifest counts, because a person could read it beforehand. What the extension
    /// says at run time counts only if the manifest says nothing.
    pub(crate) fn declared(&self) -> Arc<Vec<Capability>> {
        let manifest = &self.found.load().manifest;
        let said = if manifest.capabilities.is_empty() {
            self.known().map(|known| known.contributions.capabilities.clone()).unwrap_or_default()
        } else {
            manifest.capabilities.clone()
        };
        Arc::new(self.host.upgrade().map_or_else(|| said.clone(), |host| host.at_home(&said)))
    }

    /// How the last start failed.
    pub(crate) fn failure(&self) -> Option<Arc<Failure>> {
        self.failure.load_full()
    }

    /// The hooks that this extension has, or should have: a guard that does not start is a guard that fails.
    pub(crate) fn expected_hooks(&self) -> Vec<HookPoint> {
        match self.known_or_previous() {
            Some(known) => known.contributions.hooks.clone(),
            // Its owner wants a failure to deny, so it is a guard. The host does not know its hooks yet.
            None if self.found.load().manifest.on_failure == Some(OnFailure::Deny) => vec![HookPoint::BeforeToolCall],
            None => Vec::new(),
        }
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    pub(crate) fn running(&self) -> Option<Arc<Running>> {
        self.running.load_full()
    }

    /// The running instance, if it has not died.
    fn serving(&self) -> Option<Arc<Running>> {
        self.running().filter(|running| !running.is_gone())
    }

    /// The running instance, started if need be. Fails at once when the extension is quarantined or may not run, and at
    /// `deadline` when it is not ready by then.
    pub(crate) async fn ready(self: &Arc<Self>, deadline: Instant) -> Result<Arc<Running>, CallError> {
        if let Some(running) = self.serving() {
            return Ok(running);
        }
        self.may_run()?;
        let mut states = self.state.subscribe();
        self.kick();
        let settled = |state: &State| match state {
            // A death that the supervising task has yet to see is not the end: it is started again.
            State::Ready => self.serving().is_some(),
            State::Failed { .. } | State::Shutdown => true,
            State::Idle | State::Spawning | State::Restarting { .. } => false,
        };
        let waited = tokio::time::timeout_at(deadline.into(), states.wait_for(settled)).await;
        match waited {
            Ok(Ok(state)) => match &*state {
                State::Failed { reason } => Err(self.unavailable(reason)),
                State::Shutdown => Err(self.unavailable("it was stopped")),
                _ => self.running().ok_or_else(|| self.unavailable("it went as soon as it was ready")),
            },
            Ok(Err(_)) => Err(self.unavailable("the host is shutting down")),
            Err(_) => Err(CallError::new(
                ErrorCode::Timeout,
                format!("extension {} is not ready yet ({})", self.id, self.describe()),
            )
            .of(&self.id)),
        }
    }

    fn describe(&self) -> String {
        match self.state() {
            State::Restarting { attempt, reason } => format!("restart {attempt} after: {reason}"),
            state => state.name().to_owned(),
        }
    }

    pub(crate) fn may_run(&self) -> Result<(), CallError> {
        if let Some(reason) = self.found.load().standing.why_not() {
            let code = match self.found.load().standing {
                Standing::Untrusted | Standing::Changed { .. } => ErrorCode::Denied,
                Standing::Invalid { .. } => ErrorCode::InvalidConfig,
                _ => ErrorCode::Unavailable,
            };
            return Err(CallError::new(code, format!("extension {} does not run: {reason}", self.id)).of(&self.id));
        }
        if let State::Failed { reason } = &*self.state.borrow() {
            return Err(self.unavailable(reason));
        }
        Ok(())
    }

    fn unavailable(&self, reason: &str) -> CallError {
        let message = format!("extension {} is not available: {reason}", self.id);
        CallError::new(ErrorCode::Unavailable, message).of(&self.id)
    }

    /// Starts the extension in the background, unless its start has begun.
    pub(crate) fn kick(self: &Arc<Self>) {
        let idle = self.state.send_if_modified(|state| {
            let idle = *state == State::Idle;
            if idle {
                *state = State::Spawning;
            }
            idle
        });
        if idle {
            let epoch = self.epoch.load(Ordering::Acquire);
            self.spawn_supervision(epoch, None);
        }
    }

    fn spawn_supervision(self: &Arc<Self>, epoch: u64, running: Option<Arc<Running>>) {
        let task = tokio::spawn(Arc::clone(self).supervise(epoch, running));
        *lock(&self.task) = Some(task.abort_handle());
    }

    /// Starts an instance of `found` beside whatever runs.
    async fn start(&self, found: &Found) -> Result<Arc<Running>, StartError> {
        let host = self.host.upgrade().ok_or_else(|| StartError::Unsupported("the host has gone".into()))?;
        let hash = found.content_hash(&host.extensions.catalog);
        let (started, start) = host.start(found).await?;
        Ok(Arc::new(Running {
            instance: started.instance,
            contributions: ArcSwap::from_pointee(bounded(started.contributions)),
            hash,
            start,
            greeted: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            idle: Notify::new(),
            last_used: Mutex::new(Instant::now()),
        }))
    }

    /// Lives as long as the extension does: starts it, waits for its death, starts it again.
    async fn supervise(self: Arc<Self>, epoch: u64, mut running: Option<Arc<Running>>) {
        let mut first = running.is_none();
        loop {
            let death = match running.take() {
                Some(running) => self.watch_over(&running, epoch).await,
                None => match self.start(&self.found()).await {
                    Ok(started) => {
                        if !self.install(epoch, &started) {
                            started.instance.stop(Duration::ZERO).await;
                            return;
                        }
                        self.watch_over(&started, epoch).await
                    }
                    Err(error) if first => {
                        self.fail(epoch, self.fit_to_tell(&error.to_string()));
                        return;
                    }
                    Err(error) => Some(self.fit_to_tell(&error.to_string())),
                },
            };
            first = false;
            let Some(reason) = death else { return };
            if self.traits().only_serves_calls {
                // No call waits for it. The next call starts it again.
                self.set_state(epoch, State::Idle);
                return;
            }
            let after = match lock(&self.restarts).died(Instant::now()) {
                AfterDeath::GiveUp { attempts } => {
                    self.fail(epoch, format!("started again {attempts} times and died again; the last time: {reason}"));
                    return;
                }
                AfterDeath::Restart { attempt, after } => {
                    self.set_state(epoch, State::Restarting { attempt, reason });
                    after
                }
            };
            tokio::time::sleep(after).await;
            if self.epoch.load(Ordering::Acquire) != epoch {
                return;
            }
        }
    }

    /// Waits for the instance's death; `None` when the host wanted it, or when a reload or a stop took over.
    async fn watch_over(&self, running: &Arc<Running>, epoch: u64) -> Option<String> {
        let exit = tokio::select! {
            exit = running.instance.exited() => exit,
            () = self.unused(running) => {
                self.rest(running, epoch).await;
                return None;
            }
        };
        if self.epoch.load(Ordering::Acquire) != epoch || exit.wanted {
            return None;
        }
        self.running.store(None);
        let tail = exit.stderr.trim();
        Some(if tail.is_empty() { exit.reason } else { format!("{}; stderr ends: {tail}", exit.reason) })
    }

    /// Makes `running` the instance that serves, unless the epoch is over.
    fn install(&self, epoch: u64, running: &Arc<Running>) -> bool {
        if self.epoch.load(Ordering::Acquire) != epoch {
            return false;
        }
        if let Some((start, contributions)) = lock(&self.early_contributions).take()
            && start == running.start
        {
            running.contributions.store(Arc::new(contributions));
        }
        let contributions = running.contributions.load_full();
        let known = running.known((*contributions).clone());
        self.running.store(Some(Arc::clone(running)));
        let is_new = self.known().is_none_or(|before| *before != known);
        self.known.store(Some(Arc::new(known)));
        self.failure.store(None);
        *lock(&self.failed_hash) = None;
        lock(&self.breaker).forget();
        if let Some(host) = self.host.upgrade().filter(|_| is_new) {
            host.contributions_changed(self);
        }
        self.set_state(epoch, State::Ready);
        if let Some(host) = self.host.upgrade() {
            host.greet(running);
        }
        true
    }

    /// The instance of that start says that it contributes something else now. What an older one says is not heard; what
    /// one says that is not installed yet counts once it is.
    pub(crate) fn contribute(&self, start: u64, contributions: Contributions) {
        let contributions = bounded(contributions);
        let Some(running) = self.running().filter(|running| running.start >= start) else {
            *lock(&self.early_contributions) = Some((start, contributions));
            return;
        };
        if running.start != start || **running.contributions.load() == contributions {
            return;
        }
        running.contributions.store(Arc::new(contributions.clone()));
        self.known.store(Some(Arc::new(running.known(contributions))));
        if let Some(host) = self.host.upgrade() {
            host.contributions_changed(self);
        }
    }

    /// Reasons quote what the extension wrote.
    fn fit_to_tell(&self, reason: &str) -> String {
        self.host.upgrade().map_or_else(|| reason.to_owned(), |host| host.clean(reason))
    }

    /// Counts a reload that a change of files caused.
    pub(crate) fn count_reload(&self, now: Instant) -> Reloads {
        lock(&self.reloads).count(now)
    }

    pub(crate) fn failed_hash(&self) -> Option<String> {
        lock(&self.failed_hash).clone()
    }

    fn fail(&self, epoch: u64, reason: String) {
        let found = self.found();
        let failure = Failure::now(&reason);
        if let Some(host) = self.host.upgrade() {
            let hash = found.content_hash(&host.extensions.catalog);
            host.extensions.catalog.save_failure(&found, &hash, failure.clone());
            *lock(&self.failed_hash) = Some(hash);
        }
        self.failure.store(Some(Arc::new(failure)));
        self.set_state(epoch, State::Failed { reason });
    }

    fn set_state(&self, epoch: u64, state: State) {
        if self.epoch.load(Ordering::Acquire) != epoch {
            return;
        }
        tracing::debug!(extension = %self.id, state = state.name(), "changes its state");
        if let Some(host) = self.host.upgrade() {
            host.state_changed(&self.id, &state);
        }
        self.state.send_replace(state);
    }

    /// Puts a new version in place of the old: starts it beside the old one, swaps when it is ready, lets the old one
    /// finish its calls. On failure the old one goes on as if nothing had happened.
    pub(crate) async fn replace(self: &Arc<Self>, found: Found) -> Result<(), String> {
        if let Some(reason) = found.standing.why_not() {
            return Err(reason);
        }
        let before = self.epoch.load(Ordering::Acquire);
        let started = match self.start(&found).await {
            Ok(started) => started,
            Err(error) => {
                let reason = self.fit_to_tell(&error.to_string());
                *lock(&self.failed_hash) = self.host.upgrade().map(|host| found.content_hash(&host.extensions.catalog));
                if self.running().is_none() {
                    self.found.store(Arc::new(found));
                    let epoch = self.epoch.fetch_add(1, Ordering::AcqRel) + 1;
                    self.fail(epoch, reason.clone());
                }
                return Err(reason);
            }
        };
        let epoch = before + 1;
        if self.epoch.compare_exchange(before, epoch, Ordering::AcqRel, Ordering::Acquire).is_err() {
            started.instance.stop(Duration::ZERO).await;
            return Err("it was stopped or reloaded by somebody else meanwhile".to_owned());
        }
        self.found.store(Arc::new(found));
        lock(&self.restarts).forget();
        let old = self.running.load_full();
        self.install(epoch, &started);
        self.spawn_supervision(epoch, Some(started));
        if let Some(old) = old {
            let grace = self.stop_grace();
            tokio::spawn(async move {
                // A call that outlives the drain is cut off: a leaked old version is worse than a failed call.
                let drained = tokio::time::timeout(DRAIN_TIMEOUT, old.drained()).await;
                old.instance.stop(if drained.is_ok() { grace } else { Duration::ZERO }).await;
            });
        }
        Ok(())
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        let limits = &self.found.load().manifest.limits;
        Duration::from_millis(limits.stop_grace_ms.unwrap_or(2_000).min(30_000))
    }
}

#[cfg(test)]
mod tests;
