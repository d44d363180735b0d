//! One job in one instance. It begins on the caller's thread. A job that computes for long moves to a thread of its own.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use jackfield_runtime::{BoxFuture, CallCx};
use tokio::runtime::Handle;
use tokio::sync::SemaphorePermit;
use tokio_util::sync::CancellationToken;

use super::{Failure, Pool};
use crate::guest::{Done, Guest, Task};

/// After so many ticks of the clock a component counts as computing for long.
const LONG_RUN_TICKS: u32 = 3;

/// What came of a job, and the instance that did it, for the next one.
type Ran = Result<(Guest, Done), Failure>;

/// When a new instance is initialised.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Init {
    Before,
    After,
    Never,
}

/// Does a job in `guest`, or in a new instance. An instance that works is kept for the next job. `slot` is given back last:
/// the job that gets it next finds the memory of this one free.
pub(super) async fn run(
    slot: Option<SemaphorePermit<'_>>,
    pool: &Arc<Pool>,
    guest: Option<Guest>,
    init: Init,
    task: Task,
    cx: &CallCx,
) -> Result<Done, Failure> {
    let ticks = guest.as_ref().map(|guest| Arc::clone(&guest.store.data().ticks)).unwrap_or_default();
    // An idle instance may still hold the ticks of its last call.
    ticks.store(0, Ordering::Relaxed);
    let mut work: BoxFuture<'static, Ran> = Box::pin(perform(Arc::clone(pool), guest, Arc::clone(&ticks), init, task));
    let over = must_end(pool, cx);
    tokio::pin!(over);
    let computing = pool.shared.clock.computing();
    let ran = tokio::select! {
        biased;
        ran = &mut work => Some(ran),
        failure = &mut over => return Err(failure),
        () = computes_for_long(&ticks) => None,
    };
    // From here on nothing is computed, or another thread counts it.
    drop(computing);
    let (guest, done) = match ran {
        Some(ran) => ran?,
        None => finish_on_thread(pool, work, over).await?,
    };
    if init != Init::Never {
        pool.put_back(guest);
    }
    drop(slot);
    Ok(done)
}

/// Resolves when the component has computed for long. It is asked each time that the component yields.
async fn computes_for_long(ticks: &AtomicU32) {
    std::future::poll_fn(|_| match ticks.load(Ordering::Relaxed) {
        LONG_RUN_TICKS.. => std::task::Poll::Ready(()),
        _ => std::task::Poll::Pending,
    })
    .await;
}

/// Resolves when a job has to end, with the reason.
async fn must_end(pool: &Pool, cx: &CallCx) -> Failure {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Failure::Cancelled,
        () = pool.gone.cancelled() => Failure::Gone,
        () = tokio::time::sleep_until(cx.deadline.into()) => Failure::Timeout,
    }
}

/// Finishes a job on a blocking thread, so that the caller's thread is free for other tasks. The job ends when `over` resolves
/// and when the caller drops this future.
async fn finish_on_thread(
    pool: &Pool,
    work: BoxFuture<'static, Ran>,
    over: Pin<&mut impl Future<Output = Failure>>,
) -> Ran {
    let (tasks, cancelled) = (Handle::current(), CancellationToken::new());
    let cancel = cancelled.clone().drop_guard();
    let shared = Arc::clone(&pool.shared);
    let mut running = tokio::task::spawn_blocking(move || {
        let _computing = shared.clock.computing();
        tasks.block_on(async move {
            tokio::select! {
                biased;
                ran = work => ran,
                () = cancelled.cancelled() => Err(Failure::Cancelled),
            }
        })
    });
    tokio::select! {
        biased;
        ran = &mut running => match ran {
            Ok(ran) => ran,
            Err(error) if error.is_panic() => Err(Failure::Init("its engine failed; please report this".to_owned())),
            Err(_) => Err(Failure::Gone),
        },
        failure = over => {
            // The job sees this at its next tick. Its memory is free when its slot is given back.
            drop(cancel);
            running.await.ok();
            Err(failure)
        }
    }
}

/// Does a job and returns the instance. It owns all that it needs, because it may move to another thread.
async fn perform(pool: Arc<Pool>, guest: Option<Guest>, ticks: Arc<AtomicU32>, init: Init, task: Task) -> Ran {
    let is_new = guest.is_none();
    let mut guest = match guest {
        Some(guest) => guest,
        None => match pool.program.instantiate(Arc::clone(&pool.shared), ticks).await {
            Ok(guest) => guest,
            Err(error) => return Err(Failure::Broke { error, starved: false }),
        },
    };
    if is_new && init == Init::Before {
        initialise(&pool, &mut guest).await?;
    }
    let done = guest.perform(task).await.map_err(|error| broke(error, &guest))?;
    if is_new && init == Init::After {
        initialise(&pool, &mut guest).await?;
    }
    Ok((guest, done))
}

async fn initialise(pool: &Pool, guest: &mut Guest) -> Result<(), Failure> {
    match guest.init(&pool.context).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(why)) => Err(Failure::Init(why)),
        Err(error) => Err(broke(error, guest)),
    }
}

fn broke(error: wasmtime::Error, guest: &Guest) -> Failure {
    Failure::Broke { error, starved: guest.store.data().starved }
}
