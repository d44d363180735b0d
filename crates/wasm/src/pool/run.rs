//! A job under way: here as long as it takes no time, elsewhere from when on it computes for long.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};

use jackfield_protocol::CallError;
use jackfield_runtime::{BoxFuture, CallCx};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{Failure, Pool, Seat, Slot};
use crate::engine::Computing;
use crate::guest::{Done, Guest, Task};

/// Ticks of the clock after which a component computes for long.
const LONG: u32 = 3;

/// What came of a run. What it was asked for lies with the instance.
type Ran = Result<Box<Guest>, Failure>;

/// What runs. It owns all that it needs, because it may have to go on elsewhere. Its memory is used again, because to make it
/// anew for each call is what costs.
pub(super) type Run = Box<dyn Runs>;

/// See [`Run`].
pub(super) trait Runs: Send {
    /// Begins the next job, in place of one that is done.
    fn again(&mut self, guest: Box<Guest>, task: Task);
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ran>;
    /// How often the clock has ticked while the instance computed.
    fn ticks(&self) -> u32;
}

struct Runner<M, F> {
    make: M,
    future: Pin<Box<F>>,
    ticks: Arc<AtomicU32>,
}

impl<M: Fn(Box<Guest>, Task) -> F + Send, F: Future<Output = Ran> + Send> Runs for Runner<M, F> {
    fn again(&mut self, guest: Box<Guest>, task: Task) {
        // What an idle instance counted belongs to its last call.
        self.ticks.store(0, Ordering::Relaxed);
        self.future.set((self.make)(guest, task));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ran> {
        self.future.as_mut().poll(cx)
    }

    fn ticks(&self) -> u32 {
        self.ticks.load(Ordering::Relaxed)
    }
}

fn runner<F: Future<Output = Ran> + Send + 'static>(
    make: impl Fn(Box<Guest>, Task) -> F + Send + 'static,
    guest: Box<Guest>,
    task: Task,
) -> Run {
    let ticks = Arc::clone(&guest.store.data().ticks);
    ticks.store(0, Ordering::Relaxed);
    let future = Box::pin(make(guest, task));
    Box::new(Runner { make, future, ticks })
}

/// Does a job in an instance that is ready for it.
#[allow(clippy::manual_async_fn, reason = "an `async fn` has room for what it is given twice")]
fn perform(mut guest: Box<Guest>, mut task: Task) -> impl Future<Output = Ran> + Send {
    async move {
        match guest.perform(&mut task).await {
            Ok(()) => Ok(guest),
            Err(error) => Err(broke(error, &guest)),
        }
    }
}

fn broke(error: wasmtime::Error, guest: &Guest) -> Failure {
    Failure::Broke { error, starved: guest.store.data().starved }
}

/// When an instance that is new is initialised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Init {
    Before,
    After,
    Never,
}

/// A job under way, for whoever waits for it. A type of its own and no `async` block, because those carry everything twice.
pub(crate) struct Running<'a> {
    pub(super) pool: &'a Arc<Pool>,
    /// For messages.
    pub(super) what: &'static str,
    pub(super) stage: Stage<'a>,
}

pub(super) enum Stage<'a> {
    /// On this thread.
    Here(Here<'a>),
    /// It waits for a slot, or goes on elsewhere.
    Apart(BoxFuture<'a, Result<Done, Failure>>),
    Over,
}

/// A job on this thread.
pub(super) struct Here<'a> {
    run: Doing,
    /// Most jobs are done at once; only one that is not needs a timer.
    end: Option<BoxFuture<'a, Failure>>,
    computing: Computing<'a>,
    init: Init,
    cx: CallCx,
    /// The last that goes: whoever waits for it does not find what has been given up still there.
    slot: Option<Slot<'a>>,
}

enum Doing {
    /// In an instance that was there.
    Again(Run),
    /// In one that is made for it, and its ticks.
    New(BoxFuture<'static, Ran>, Arc<AtomicU32>),
    Done,
}

impl Doing {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ran> {
        match self {
            Self::Again(run) => run.poll(cx),
            Self::New(run, _) => run.as_mut().poll(cx),
            Self::Done => Poll::Pending,
        }
    }

    fn ticks(&self) -> u32 {
        match self {
            Self::Again(run) => run.ticks(),
            Self::New(_, ticks) => ticks.load(Ordering::Relaxed),
            Self::Done => 0,
        }
    }
}

impl Future for Running<'_> {
    type Output = Result<Done, CallError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let outcome = match &mut this.stage {
                Stage::Here(here) => match here.poll(this.pool, cx) {
                    Poll::Ready(Some(ran)) => {
                        let outcome = here.settle(this.pool, ran);
                        this.stage = Stage::Over;
                        outcome
                    }
                    Poll::Ready(None) => {
                        if let Stage::Here(here) = std::mem::replace(&mut this.stage, Stage::Over) {
                            this.stage = Stage::Apart(Box::pin(here.elsewhere(this.pool)));
                        }
                        continue;
                    }
                    Poll::Pending => return Poll::Pending,
                },
                Stage::Apart(apart) => {
                    let Poll::Ready(outcome) = apart.as_mut().poll(cx) else { return Poll::Pending };
                    this.stage = Stage::Over;
                    outcome
                }
                // Nobody asks once more.
                Stage::Over => return Poll::Pending,
            };
            return Poll::Ready(outcome.map_err(|failure| this.pool.failed(this.what, failure)));
        }
    }
}

impl<'a> Here<'a> {
    /// Begins a job.
    pub(super) fn begin(
        pool: &'a Arc<Pool>,
        slot: Option<Slot<'a>>,
        seat: Option<Seat>,
        init: Init,
        task: Task,
        cx: CallCx,
    ) -> Self {
        let computing = pool.shared.clock.computing();
        let run = match seat {
            Some(Seat { guest, run: Some(mut run) }) => {
                run.again(guest, task);
                Doing::Again(run)
            }
            Some(Seat { guest, run: None }) => Doing::Again(runner(perform, guest, task)),
            None => {
                let ticks = Arc::default();
                let run = run_new(Arc::clone(pool), Arc::clone(&ticks), init, task);
                Doing::New(Box::pin(run), ticks)
            }
        };
        Self { run, end: None, computing, init, cx, slot }
    }

    /// Nothing when it computes for long.
    fn poll(&mut self, pool: &'a Arc<Pool>, cx: &mut Context<'_>) -> Poll<Option<Ran>> {
        if let Poll::Ready(ran) = self.run.poll(cx) {
            return Poll::Ready(Some(ran));
        }
        let conditions = &self.cx;
        let end = self.end.get_or_insert_with(|| Box::pin(end(pool, conditions.clone())));
        if let Poll::Ready(over) = end.as_mut().poll(cx) {
            return Poll::Ready(Some(Err(over)));
        }
        if self.run.ticks() >= LONG { Poll::Ready(None) } else { Poll::Pending }
    }

    /// What came of it; an instance that is as it should be is kept.
    fn settle(&mut self, pool: &Pool, ran: Ran) -> Result<Done, Failure> {
        let mut guest = ran?;
        let done = guest.done.take().unwrap_or(Done::Nothing);
        if self.init != Init::Never {
            let run = match std::mem::replace(&mut self.run, Doing::Done) {
                Doing::Again(run) => Some(run),
                Doing::New(..) | Doing::Done => None,
            };
            pool.put_back(Seat { guest, run }, self.slot.take());
        }
        Ok(done)
    }

    /// Here until the end, for jobs that waited for a slot.
    pub(super) async fn finish(self, pool: &'a Arc<Pool>) -> Result<Done, Failure> {
        let mut here = self;
        match std::future::poll_fn(|cx| here.poll(pool, cx)).await {
            Some(ran) => here.settle(pool, ran),
            None => here.elsewhere(pool).await,
        }
    }

    /// Goes on on a thread where nobody waits: whoever else needs this one does not wait for it. When the caller goes, so
    /// does what was begun for it, wherever it runs by now.
    async fn elsewhere(self, pool: &'a Arc<Pool>) -> Result<Done, Failure> {
        let Self { mut run, end: over, computing, init, cx, slot } = self;
        let (tasks, gone) = (Handle::current(), CancellationToken::new());
        let given_up = gone.clone().drop_guard();
        let shared = Arc::clone(&pool.shared);
        let mut running = tokio::task::spawn_blocking(move || {
            let _computing = shared.clock.computing();
            tasks.block_on(async move {
                tokio::select! {
                    biased;
                    ran = std::future::poll_fn(|cx| run.poll(cx)) => Ok((ran, run)),
                    () = gone.cancelled() => Err(Failure::Cancelled),
                }
            })
        });
        // It is counted where it runs from now on.
        drop(computing);
        let over = over.unwrap_or_else(|| Box::pin(end(pool, cx.clone())));
        let outcome = tokio::select! {
            biased;
            outcome = &mut running => outcome,
            over = over => {
                // Whoever gets the slot next finds its memory free, too. It goes at its next tick.
                drop(given_up);
                running.await.ok();
                return Err(over);
            }
        };
        match outcome {
            Ok(outcome) => {
                let (ran, run) = outcome?;
                let computing = pool.shared.clock.computing();
                Self { run, end: None, computing, init, cx, slot }.settle(pool, ran)
            }
            Err(error) if error.is_panic() => Err(Failure::Init("its engine failed; please report this".to_owned())),
            Err(_) => Err(Failure::Gone),
        }
    }
}

/// Resolves when a job has to end.
async fn end(pool: &Pool, cx: CallCx) -> Failure {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Failure::Cancelled,
        () = pool.gone.cancelled() => Failure::Gone,
        () = tokio::time::sleep_until(cx.deadline.into()) => Failure::Timeout,
    }
}

/// Does a job in an instance that is made for it.
async fn run_new(pool: Arc<Pool>, ticks: Arc<AtomicU32>, init: Init, mut task: Task) -> Ran {
    let made = pool.program.instantiate(Arc::clone(&pool.shared), ticks).await;
    let mut guest = Box::new(made.map_err(|error| Failure::Broke { error, starved: false })?);
    if init == Init::Before {
        initialise(&pool, &mut guest).await?;
    }
    guest.perform(&mut task).await.map_err(|error| broke(error, &guest))?;
    if init == Init::After {
        initialise(&pool, &mut guest).await?;
    }
    Ok(guest)
}

async fn initialise(pool: &Pool, guest: &mut Guest) -> Result<(), Failure> {
    match guest.init(&pool.context).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Failure::Init(why)),
        Err(error) => Err(broke(error, guest)),
    }
}
