//! The instances of one extension: one per call under way, kept for the next call, replaced when something went wrong.

mod run;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_protocol::{CallError, CallId, ErrorCode};
use jackfield_runtime::CallCx;
use serde_json::Map;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub(crate) use self::run::Running;
use self::run::{Here, Init, Run, Stage};
use crate::fault::{Halt, in_words};
use crate::guest::{Done, Guest, Job, Program, Task};
use crate::state::Shared;

/// Instances that are kept while nothing is to be done.
const KEPT: usize = 4;

pub(crate) struct Pool {
    pub(crate) program: Program,
    pub(crate) shared: Arc<Shared>,
    /// What `init` is told.
    context: String,
    idle: Mutex<Idle>,
    /// How many jobs may begin besides those for which an idle instance holds a slot.
    slots: Semaphore,
    /// Ends everything.
    pub(crate) gone: CancellationToken,
}

/// What waits for a job, and the jobs that wait.
#[derive(Default)]
struct Idle {
    seats: Vec<Seat>,
    /// How many of them still hold the slot of their last job: one that is taken together with its slot costs the semaphore
    /// nothing. None does while a job waits for one.
    slots: usize,
    /// Jobs that wait for a slot.
    waiting: usize,
}

/// An instance that is initialised, and what its next job can use again.
struct Seat {
    guest: Box<Guest>,
    run: Option<Run>,
}

/// Room for one job. Given back when it is dropped.
struct Slot<'a>(&'a Semaphore);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// A job that waits for a slot.
struct Waiting<'a>(&'a Pool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.idle().waiting -= 1;
    }
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

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is served any more; what waits and what runs ends.
    pub(crate) fn close(&self) {
        self.gone.cancel();
        self.slots.close();
        let seats = {
            let mut idle = self.idle();
            idle.slots = 0;
            std::mem::take(&mut idle.seats)
        };
        drop(seats);
    }

    /// Does a job in an instance that is initialised. It begins at once where there is room, so that whoever waits for it
    /// carries a pointer and not the job.
    pub(crate) fn run(self: &Arc<Self>, call: Option<CallId>, job: Job, cx: CallCx) -> Running<'_> {
        let what = job.what();
        let task = Task { call, job, deadline: cx.deadline };
        let stage = match self.take() {
            Ok((slot, seat)) => Stage::Here(Here::begin(self, Some(slot), seat, Init::Before, task, cx)),
            Err(waiting) => Stage::Apart(Box::pin(self.run_later(waiting, task, cx))),
        };
        Running { pool: self, what, stage }
    }

    async fn run_later(self: &Arc<Self>, waiting: Waiting<'_>, task: Task, cx: CallCx) -> Result<Done, Failure> {
        let slot = self.wait_for_slot(&cx).await?;
        let seat = self.idle().seats.pop();
        drop(waiting);
        Here::begin(self, Some(slot), seat, Init::Before, task, cx).finish(self).await
    }

    /// Does the first job, in an instance that is not initialised yet; with `init` it is afterwards, and kept.
    pub(crate) fn first(self: &Arc<Self>, job: Job, cx: CallCx, init: bool) -> Running<'_> {
        let what = job.what();
        let init = if init { Init::After } else { Init::Never };
        let task = Task { call: None, job, deadline: cx.deadline };
        Running { pool: self, what, stage: Stage::Here(Here::begin(self, None, None, init, task, cx)) }
    }

    /// Room for a job and an instance for it, if there is one that is idle.
    fn take(&self) -> Result<(Slot<'_>, Option<Seat>), Waiting<'_>> {
        let mut idle = self.idle();
        if idle.slots > 0 {
            idle.slots -= 1;
        } else if let Ok(slot) = self.slots.try_acquire() {
            slot.forget();
        } else {
            idle.waiting += 1;
            return Err(Waiting(self));
        }
        Ok((Slot(&self.slots), idle.seats.pop()))
    }

    async fn wait_for_slot(&self, cx: &CallCx) -> Result<Slot<'_>, Failure> {
        let slot = tokio::select! {
            biased;
            slot = self.slots.acquire() => slot.map_err(|_| Failure::Gone)?,
            () = cx.cancel.cancelled() => return Err(Failure::Cancelled),
            () = tokio::time::sleep_until(cx.deadline.into()) => return Err(Failure::Timeout),
        };
        slot.forget();
        Ok(Slot(&self.slots))
    }

    /// Keeps an instance for the next job, with its slot unless somebody waits for that.
    fn put_back(&self, seat: Seat, slot: Option<Slot<'_>>) {
        let mut idle = self.idle();
        if idle.seats.len() >= KEPT || self.slots.is_closed() {
            // Before its slot: whoever gets that finds its memory free.
            drop(idle);
            drop(seat);
            return;
        }
        idle.seats.push(seat);
        if idle.waiting == 0
            && let Some(slot) = slot
        {
            idle.slots += 1;
            std::mem::forget(slot);
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
