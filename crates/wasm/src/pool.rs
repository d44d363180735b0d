//! The instances of one extension: one per call under way, kept for the next call, replaced when something went wrong.

mod run;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_protocol::{CallError, CallId, ErrorCode};
use jackfield_runtime::CallCx;
use serde_json::Map;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use self::run::Init;
use crate::fault::{Halt, in_words};
use crate::guest::{Done, Guest, Job, Program, Task};
use crate::state::Shared;

/// Idle instances that are kept for the next job.
const MAX_IDLE_INSTANCES: usize = 4;

pub(crate) struct Pool {
    pub(crate) program: Program,
    pub(crate) shared: Arc<Shared>,
    /// What `init` is told.
    context: String,
    /// Instances that are initialised and have nothing to do.
    idle: Mutex<Vec<Guest>>,
    /// How many more jobs may begin.
    slots: Semaphore,
    /// Cancelled when the pool ends: no job begins, and running jobs are ended.
    pub(crate) gone: CancellationToken,
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

    fn idle(&self) -> MutexGuard<'_, Vec<Guest>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes no more jobs, and ends those that wait and those that run.
    pub(crate) fn close(&self) {
        self.gone.cancel();
        self.slots.close();
        let guests = std::mem::take(&mut *self.idle());
        drop(guests);
    }

    /// Does a job in an instance that is initialised, once there is room for one more.
    pub(crate) async fn run(self: &Arc<Self>, call: Option<CallId>, job: Job, cx: CallCx) -> Result<Done, CallError> {
        let what = job.what();
        let done = async {
            let task = Task { call, job, deadline: cx.deadline };
            let slot = self.wait_for_slot(&cx).await?;
            let guest = self.idle().pop();
            run::run(Some(slot), self, guest, Init::Before, task, &cx).await
        };
        done.await.map_err(|failure| self.failed(what, failure))
    }

    /// Does the first job, in an instance that is not initialised yet. With `init` it is initialised afterwards, and kept.
    pub(crate) async fn first(self: &Arc<Self>, job: Job, cx: CallCx, init: bool) -> Result<Done, CallError> {
        let what = job.what();
        let init = if init { Init::After } else { Init::Never };
        let task = Task { call: None, job, deadline: cx.deadline };
        run::run(None, self, None, init, task, &cx).await.map_err(|failure| self.failed(what, failure))
    }

    async fn wait_for_slot(&self, cx: &CallCx) -> Result<SemaphorePermit<'_>, Failure> {
        tokio::select! {
            biased;
            slot = self.slots.acquire() => slot.map_err(|_| Failure::Gone),
            () = cx.cancel.cancelled() => Err(Failure::Cancelled),
            () = tokio::time::sleep_until(cx.deadline.into()) => Err(Failure::Timeout),
        }
    }

    /// Keeps an instance for the next job, unless enough are kept or the pool is closed.
    fn put_back(&self, guest: Guest) {
        let mut idle = self.idle();
        if idle.len() < MAX_IDLE_INSTANCES && !self.slots.is_closed() {
            idle.push(guest);
        } else {
            drop(idle);
            drop(guest);
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
