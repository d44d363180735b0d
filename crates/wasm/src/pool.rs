//! The instances of one extension: one per call under way, kept for the next call, replaced when something went wrong.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use jackfield_protocol::{CallError, CallId, ErrorCode};
use jackfield_runtime::CallCx;
use serde_json::Map;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::fault::{Halt, in_words};
use crate::guest::{Done, Guest, Job, Program, Task};
use crate::state::Shared;

/// Instances that are kept while nothing is to be done.
const KEPT: usize = 4;
/// Ticks of the clock after which a component computes for long.
const LONG: u32 = 3;

pub(crate) struct Pool {
    pub(crate) program: Program,
    pub(crate) shared: Arc<Shared>,
    /// What `init` is told.
    context: String,
    // In boxes, because they pass from hand to hand.
    #[allow(clippy::vec_box, reason = "see above")]
    idle: Mutex<Vec<Box<Guest>>>,
    slots: Semaphore,
    /// Ends everything.
    pub(crate) gone: CancellationToken,
}

/// A job under way.
type Running = Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>>;

/// When an instance that is new is initialised.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Init {
    Before,
    After,
    Never,
}

/// How a job went wrong.
enum Failure {
    /// The instance broke.
    Broke {
        error: wasmtime::Error,
        starved: bool,
    },
    /// It refuses to be initialised.
    Init(String),
    Cancelled,
    Timeout,
    Gone,
}

impl Pool {
    pub(crate) fn new(program: Program, shared: Arc<Shared>, context: String, overlap: usize) -> Self {
        Self {
            program,
            shared,
            context,
            idle: Mutex::default(),
            slots: Semaphore::new(overlap.max(1)),
            gone: CancellationToken::new(),
        }
    }

    #[allow(clippy::vec_box, reason = "see the field")]
    fn idle(&self) -> MutexGuard<'_, Vec<Box<Guest>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is served any more; what waits and what runs ends.
    pub(crate) fn close(&self) {
        self.gone.cancel();
        self.slots.close();
        let idle = std::mem::take(&mut *self.idle());
        drop(idle);
    }

    /// Does a job in an instance that is initialised. It begins at once where there is room, so that whoever waits for it
    /// carries a pointer and not the job.
    pub(crate) fn run(
        self: &Arc<Self>,
        call: Option<CallId>,
        job: Job,
        cx: CallCx,
    ) -> impl Future<Output = Result<Done, CallError>> + Send {
        let what = job.what();
        let begun = match self.slots.try_acquire() {
            Ok(slot) => {
                let guest = self.idle().pop();
                Ok((slot, self.begin(guest, Init::Before, call, job, cx)))
            }
            Err(_) => Err(Box::pin(self.run_later(call, job, cx))),
        };
        async move {
            let outcome = match begun {
                Ok((_slot, (run, ticks))) => patiently(run, &ticks).await,
                Err(later) => later.await,
            };
            outcome.map_err(|failure| self.failed(what, failure))
        }
    }

    async fn run_later(self: &Arc<Self>, call: Option<CallId>, job: Job, cx: CallCx) -> Result<Done, Failure> {
        let _slot = self.wait_for_slot(&cx).await?;
        let guest = self.idle().pop();
        let (run, ticks) = self.begin(guest, Init::Before, call, job, cx);
        patiently(run, &ticks).await
    }

    /// Does the first job, in an instance that is not initialised yet; with `init` it is afterwards, and kept.
    pub(crate) async fn first(self: &Arc<Self>, job: Job, cx: CallCx, init: bool) -> Result<Done, CallError> {
        let what = job.what();
        let init = if init { Init::After } else { Init::Never };
        let (run, ticks) = self.begin(None, init, None, job, cx);
        patiently(run, &ticks).await.map_err(|failure| self.failed(what, failure))
    }

    async fn wait_for_slot(&self, cx: &CallCx) -> Result<tokio::sync::SemaphorePermit<'_>, Failure> {
        tokio::select! {
            biased;
            slot = self.slots.acquire() => slot.map_err(|_| Failure::Gone),
            () = cx.cancel.cancelled() => Err(Failure::Cancelled),
            () = tokio::time::sleep_until(cx.deadline.into()) => Err(Failure::Timeout),
        }
    }

    /// Begins a job. What runs owns all that it needs, because it may have to go on elsewhere.
    fn begin(
        self: &Arc<Self>,
        mut guest: Option<Box<Guest>>,
        init: Init,
        call: Option<CallId>,
        job: Job,
        cx: CallCx,
    ) -> (Running, Arc<AtomicU32>) {
        let ticks = guest.as_ref().map(|guest| Arc::clone(&guest.store.data().ticks)).unwrap_or_default();
        // What an idle instance counted belongs to its last call.
        ticks.store(0, Ordering::Relaxed);
        let counted = if guest.is_none() { Some(Arc::clone(&ticks)) } else { None };
        let ours = Arc::clone(self);
        let mut task = Task { call, job, deadline: cx.deadline };
        let run = Box::pin(async move {
            let outcome = ours.unless_it_ends(pin!(ours.work(&mut guest, counted, init, &mut task)), &cx).await;
            if let Some(guest) = guest
                && outcome.is_ok()
                && init != Init::Never
            {
                ours.put_back(guest);
            }
            outcome
        });
        (run, ticks)
    }

    /// The work itself. The instance stays with the caller, who knows whether it may be kept.
    async fn work(
        &self,
        guest: &mut Option<Box<Guest>>,
        ticks: Option<Arc<AtomicU32>>,
        init: Init,
        task: &mut Task,
    ) -> Result<Done, Failure> {
        let _computing = self.shared.clock.computing();
        let guest = match guest {
            Some(guest) => guest,
            // In a box of its own: a call that finds an instance does not carry the room for making one.
            none => {
                let made = Box::pin(self.fresh(ticks.unwrap_or_default(), init == Init::Before)).await?;
                none.insert(Box::new(made))
            }
        };
        match guest.perform(task).await {
            Ok(value) if init == Init::After => Box::pin(self.init(guest)).await.map(|()| value),
            Ok(value) => Ok(value),
            Err(error) => Err(Failure::Broke { error, starved: guest.store.data().starved }),
        }
    }

    /// Works until that is done or its time is over. Most jobs are done at once; only one that is not needs a timer.
    async fn unless_it_ends(
        &self,
        mut work: Pin<&mut impl Future<Output = Result<Done, Failure>>>,
        cx: &CallCx,
    ) -> Result<Done, Failure> {
        let mut end = None;
        poll_fn(|task| {
            if let Poll::Ready(outcome) = work.as_mut().poll(task) {
                return Poll::Ready(outcome);
            }
            end.get_or_insert_with(|| Box::pin(self.end(cx))).as_mut().poll(task).map(Err)
        })
        .await
    }

    /// Resolves when a job has to end.
    async fn end(&self, cx: &CallCx) -> Failure {
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Failure::Cancelled,
            () = self.gone.cancelled() => Failure::Gone,
            () = tokio::time::sleep_until(cx.deadline.into()) => Failure::Timeout,
        }
    }

    async fn fresh(&self, ticks: Arc<AtomicU32>, init: bool) -> Result<Guest, Failure> {
        let made = self.program.instantiate(Arc::clone(&self.shared), ticks).await;
        let mut guest = made.map_err(|error| Failure::Broke { error, starved: false })?;
        if init {
            self.init(&mut guest).await?;
        }
        Ok(guest)
    }

    async fn init(&self, guest: &mut Guest) -> Result<(), Failure> {
        match guest.init(&self.context).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(Failure::Init(why)),
            Err(error) => Err(Failure::Broke { error, starved: guest.store.data().starved }),
        }
    }

    fn put_back(&self, guest: Box<Guest>) {
        let mut idle = self.idle();
        if idle.len() < KEPT && !self.slots.is_closed() {
            idle.push(guest);
        }
    }

    fn failed(&self, what: &str, failure: Failure) -> CallError {
        let id = &self.shared.id;
        let error = match failure {
            Failure::Broke { error, starved } => {
                let is_budget = matches!(error.downcast_ref::<Halt>(), Some(Halt::Budget(_)));
                let code = if is_budget { ErrorCode::Timeout } else { ErrorCode::Unavailable };
                let why = in_words(&error, starved.then_some(self.shared.memory.limit));
                self.shared.log(None, "error", &format!("{what}: {why}"), Map::new());
                CallError::new(code, format!("extension {id} broke off {what}: {why}"))
            }
            Failure::Init(why) => {
                CallError::new(ErrorCode::Unavailable, format!("extension {id} cannot be initialised: {why}"))
            }
            Failure::Cancelled => CallError::new(ErrorCode::Cancelled, "the caller gave up"),
            Failure::Timeout => {
                CallError::new(ErrorCode::Timeout, format!("extension {id} did not end {what} in time"))
            }
            Failure::Gone => CallError::new(ErrorCode::Unavailable, format!("extension {id} has gone: it was stopped")),
        };
        error.of(id)
    }
}

/// Runs on this thread as long as it takes no time, and on another one from when on it computes for long: whoever else
/// needs this thread does not wait for it.
async fn patiently(mut run: Running, ticks: &AtomicU32) -> Result<Done, Failure> {
    let quick = poll_fn(|cx| match run.as_mut().poll(cx) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending if ticks.load(Ordering::Relaxed) >= LONG => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    });
    if let Some(outcome) = quick.await {
        return outcome;
    }
    Box::pin(elsewhere(run)).await
}

/// Goes on on a thread where nobody waits.
async fn elsewhere(run: Running) -> Result<Done, Failure> {
    // When the caller goes, so does what was begun for it, wherever it runs by now.
    let (tasks, gone) = (Handle::current(), CancellationToken::new());
    let _given_up = gone.clone().drop_guard();
    let long = async move {
        tokio::select! {
            biased;
            outcome = run => outcome,
            () = gone.cancelled() => Err(Failure::Cancelled),
        }
    };
    match tokio::task::spawn_blocking(move || tasks.block_on(long)).await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => Err(Failure::Init("its engine failed; please report this".to_owned())),
        Err(_) => Err(Failure::Gone),
    }
}
