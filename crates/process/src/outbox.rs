//! What is on its way to the child's standard input. Sending never waits: what the pipe does not take at once stands in a
//! bounded queue that a task of its own drains.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::io::AsyncWrite;
use tokio::process::ChildStdin;
use tokio::sync::Notify;

use crate::os;

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotSent {
    /// The queue is full: the child does not read.
    Full,
    /// The message alone is larger than the queue may be.
    TooLarge,
    /// The input is closed, by the host or by the child.
    Closed,
}

/// How the draining ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drained {
    /// The host closed the input after all was written.
    Closed,
    /// The child closed its end.
    Broken,
}

/// The bounds of the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bytes: usize,
    pub(crate) frames: usize,
}

/// How many bytes stand in the pipe that nobody will ever read; `None` if someone may still read them, or if it cannot be
/// known.
pub(crate) type Unread<W> = fn(&W) -> Option<u64>;

pub(crate) struct Outbox<W = ChildStdin> {
    bounds: Bounds,
    unread: Unread<W>,
    inner: Mutex<Inner<W>>,
    /// Told whenever something was written.
    moved: Notify,
}

struct Inner<W> {
    pipe: Option<W>,
    queue: VecDeque<Vec<u8>>,
    /// How much of the first message is written.
    written: usize,
    bytes: usize,
    /// Where the next message begins, counted over all that were ever taken.
    taken: u64,
    /// How much has ever been written.
    left: u64,
    /// How much of that the child may have read, once no more can be.
    consumed: Option<u64>,
    closing: bool,
    broken: bool,
    drainer: Option<Waker>,
    last_progress: Instant,
}

impl<W: AsyncWrite + Unpin> Outbox<W> {
    pub(crate) fn new(pipe: W, bounds: Bounds, unread: Unread<W>) -> Self {
        let inner = Inner {
            pipe: Some(pipe),
            queue: VecDeque::new(),
            written: 0,
            bytes: 0,
            taken: 0,
            left: 0,
            consumed: None,
            closing: false,
            broken: false,
            drainer: None,
            last_progress: Instant::now(),
        };
        Self { bounds, unread, inner: Mutex::new(inner), moved: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        // A panic elsewhere cannot leave this half changed.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends a whole message, its line end included. Writes it at once when nothing is queued, which saves the change to
    /// another task. Says where the message begins, for [`Outbox::never_read`].
    pub(crate) fn send(&self, message: Vec<u8>) -> Result<u64, NotSent> {
        let mut inner = self.lock();
        if inner.closing || inner.broken || inner.pipe.is_none() {
            return Err(NotSent::Closed);
        }
        if message.len() > self.bounds.bytes {
            return Err(NotSent::TooLarge);
        }
        if inner.queue.is_empty() {
            inner.last_progress = Instant::now();
        } else if inner.queue.len() >= self.bounds.frames || inner.bytes + message.len() > self.bounds.bytes {
            return Err(NotSent::Full);
        }
        let start = inner.taken;
        inner.taken += message.len() as u64;
        inner.bytes += message.len();
        inner.queue.push_back(message);
        if inner.queue.len() == 1 {
            let mut nobody = Context::from_waker(Waker::noop());
            // Pending leaves the rest to the drainer, which then asks with a waker of its own.
            if inner.write(&mut nobody).is_ready() && !inner.broken {
                return Ok(start);
            }
            if inner.broken && inner.written == 0 {
                // Nothing of it has left: whoever sends may try elsewhere.
                let unsent = inner.queue.pop_back().map_or(0, |message| message.len());
                inner.bytes -= unsent;
                if let Some(drainer) = inner.drainer.take() {
                    drainer.wake();
                }
                return Err(NotSent::Closed);
            }
        }
        if let Some(drainer) = inner.drainer.take() {
            drainer.wake();
        }
        Ok(start)
    }

    /// Sends what may be lost: only while the queue is less than half full, so that a flood of it leaves room for
    /// questions that are waited on.
    pub(crate) fn send_if_half_empty(&self, message: Vec<u8>) -> Result<(), NotSent> {
        let half = self.bounds.bytes / 2;
        if message.len() > half {
            return Err(NotSent::TooLarge);
        }
        {
            let inner = self.lock();
            if inner.queue.len() >= self.bounds.frames.div_ceil(2) || inner.bytes + message.len() > half {
                return Err(NotSent::Full);
            }
        }
        self.send(message).map(|_| ())
    }

    /// Sends once there is room, at the latest after `patience`.
    pub(crate) async fn send_when_room(&self, message: &[u8], patience: Duration) -> Result<(), NotSent> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let moved = self.moved.notified();
            match self.send(message.to_vec()) {
                Err(NotSent::Full) => {}
                other => return other.map(drop),
            }
            if tokio::time::timeout_at(deadline, moved).await.is_err() {
                return Err(NotSent::Full);
            }
        }
    }

    /// Writes what is queued until the input is closed by either side. Run by one task.
    pub(crate) async fn drain(&self) -> Drained {
        std::future::poll_fn(|cx| {
            let mut inner = self.lock();
            inner.drainer = Some(cx.waker().clone());
            let before = inner.bytes;
            let state = inner.write(cx);
            if inner.bytes != before {
                self.moved.notify_waiters();
            }
            if inner.broken {
                inner.shut(self.unread);
                return Poll::Ready(Drained::Broken);
            }
            if state.is_ready() && inner.closing {
                inner.shut(self.unread);
                return Poll::Ready(Drained::Closed);
            }
            Poll::Pending
        })
        .await
    }

    /// Takes no more messages, and closes the input once all are written.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closing = true;
        if let Some(drainer) = inner.drainer.take() {
            drainer.wake();
        }
    }

    /// Closes the input whatever is queued.
    pub(crate) fn abandon(&self) {
        let mut inner = self.lock();
        inner.closing = true;
        inner.shut(self.unread);
        if let Some(drainer) = inner.drainer.take() {
            drainer.wake();
        }
    }

    /// Whether it is certain that the child has read nothing of the message that begins at `start`, and never will. Can be
    /// so only after the input was closed.
    pub(crate) fn never_read(&self, start: u64) -> bool {
        self.lock().consumed.is_some_and(|consumed| start >= consumed)
    }

    /// Since when the child has taken nothing; `None` when nothing waits for it.
    pub(crate) fn stuck_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (!inner.queue.is_empty()).then_some(inner.last_progress)
    }
}

impl Outbox {
    /// How many bytes the child has yet to take; `None` where that cannot be known.
    pub(crate) fn unseen(&self) -> Option<u64> {
        let inner = self.lock();
        let piped = os::in_pipe(inner.pipe.as_ref()?)?;
        Some(piped + inner.bytes as u64)
    }
}

impl<W: AsyncWrite + Unpin> Inner<W> {
    /// Writes as much as the pipe takes; ready when nothing is left.
    fn write(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        while let Some(message) = self.queue.front() {
            let Some(pipe) = self.pipe.as_mut() else { return Poll::Ready(()) };
            let rest = message.get(self.written..).unwrap_or_default();
            match Pin::new(pipe).poll_write(cx, rest) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(count)) if count > 0 => {
                    self.last_progress = Instant::now();
                    self.written += count;
                    self.bytes -= count;
                    self.left += count as u64;
                    if self.written >= message.len() {
                        self.written = 0;
                        self.queue.pop_front();
                    }
                }
                Poll::Ready(_) => {
                    self.broken = true;
                    return Poll::Ready(());
                }
            }
        }
        Poll::Ready(())
    }

    fn shut(&mut self, unread: Unread<W>) {
        if let Some(pipe) = self.pipe.take() {
            // More than was written stands there only if someone else writes too; then the number says nothing.
            let read = unread(&pipe).and_then(|unread| self.left.checked_sub(unread));
            self.consumed = Some(read.unwrap_or(self.left));
        }
        self.queue = VecDeque::new();
        self.bytes = 0;
        self.written = 0;
    }
}

#[cfg(test)]
mod tests;
