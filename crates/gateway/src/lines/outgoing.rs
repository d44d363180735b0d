//! What is on its way to one listener. Answers always go through; events only while there is room, so that a listener
//! that does not read costs a bounded amount of memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

use crate::forms::terminal_safe;

/// How many lines may wait to be written to one listener; events take no more than half of them.
const QUEUE_LINES: usize = 4096;
/// What the events among them may take together, in bytes.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// The listener has gone.
#[derive(Debug, PartialEq)]
pub(super) struct Gone;

/// Tells how many events there have been.
pub(super) type Told = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Where what a listener is owed goes in: answers and questions.
#[derive(Clone)]
pub(super) struct Outgoing {
    owed: mpsc::Sender<Owed>,
    told: Told,
}

/// Something that a listener is owed, and its place among the events.
pub(super) struct Owed {
    pub(super) text: String,
    /// It comes after so many events.
    pub(super) after: u64,
}

/// Where lines go in, in their order. One task has it.
pub(super) struct LineSender {
    lines: mpsc::Sender<QueuedLine>,
    events: Arc<Events>,
}

/// Where lines come out.
pub(super) struct Queue {
    lines: mpsc::Receiver<QueuedLine>,
    events: Arc<Events>,
}

struct QueuedLine {
    text: String,
    /// What it counts among the events.
    event_bytes: usize,
}

#[derive(Default)]
struct Events {
    bytes: AtomicUsize,
    /// Told whenever a line was written.
    written: Notify,
}

/// The parts of the way to one listener.
pub(super) fn queue(told: Told) -> (Outgoing, mpsc::Receiver<Owed>, LineSender, Queue) {
    let (sender, lines) = mpsc::channel(QUEUE_LINES);
    let (owed, receiver) = mpsc::channel(QUEUE_LINES);
    let events = Arc::new(Events::default());
    let sender = LineSender { lines: sender, events: Arc::clone(&events) };
    (Outgoing { owed, told }, receiver, sender, Queue { lines, events })
}

impl Outgoing {
    /// Sends what the listener is owed, as soon as there is room. A listener that has gone is owed nothing.
    pub(super) async fn answer(&self, text: String) {
        self.owed.send(Owed { text, after: (self.told)() }).await.ok();
    }

    /// The same, unless there is no room; says whether there was.
    pub(super) fn mention(&self, text: String) -> bool {
        self.owed.try_send(Owed { text, after: (self.told)() }).is_ok()
    }
}

impl LineSender {
    /// Sends a line as soon as there is room.
    pub(super) async fn put(&self, line: String) -> Result<(), Gone> {
        self.lines.send(QueuedLine { text: terminal_safe(line), event_bytes: 0 }).await.map_err(|_| Gone)
    }

    /// Sends an event if there is room, and says whether there was.
    pub(super) fn offer(&self, line: String) -> Result<bool, Gone> {
        if self.lines.is_closed() {
            return Err(Gone);
        }
        // Only one task offers events to a listener, so nothing comes between the look and the step.
        let queued = self.events.bytes.load(Ordering::Acquire);
        let fits =
            |size: usize| self.lines.capacity() > QUEUE_LINES / 2 && queued.saturating_add(size) <= MAX_EVENT_BYTES;
        if !fits(line.len()) {
            return Ok(false);
        }
        let text = terminal_safe(line);
        let event_bytes = text.len();
        if !fits(event_bytes) {
            return Ok(false);
        }
        self.events.bytes.fetch_add(event_bytes, Ordering::AcqRel);
        match self.lines.try_send(QueuedLine { text, event_bytes }) {
            Ok(()) => Ok(true),
            Err(unsent) => {
                self.events.bytes.fetch_sub(event_bytes, Ordering::AcqRel);
                if matches!(unsent, mpsc::error::TrySendError::Closed(_)) { Err(Gone) } else { Ok(false) }
            }
        }
    }

    /// Waits until something was written, or the listener has gone.
    pub(super) async fn room(&self) {
        tokio::select! {
            () = self.events.written.notified() => {}
            () = self.lines.closed() => {}
        }
    }
}

impl Queue {
    /// Writes lines until nobody sends any more or the listener has gone.
    pub(super) async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) {
        while let Some(QueuedLine { mut text, event_bytes }) = self.lines.recv().await {
            text.push('\n');
            if output.write_all(text.as_bytes()).await.is_err() || output.flush().await.is_err() {
                return;
            }
            self.events.bytes.fetch_sub(event_bytes, Ordering::AcqRel);
            self.events.written.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_are_bounded_and_lines_go_through() {
        let (_out, _owed, sender, queue) = queue(Arc::new(|| 0));
        let big = "x".repeat(1024 * 1024);
        let taken = (0..20).filter(|_| sender.offer(big.clone()) == Ok(true)).count();
        assert_eq!(taken, 8, "bounded in bytes");
        sender.put("owed".to_owned()).await.unwrap();
        let small = (0..QUEUE_LINES).filter(|_| sender.offer(String::new()) == Ok(true)).count();
        assert_eq!(small, QUEUE_LINES / 2 - 9, "bounded in lines");
        let writer = tokio::spawn(queue.write_to(tokio::io::sink()));
        while sender.offer(big.clone()) != Ok(true) {
            sender.room().await;
        }
        drop(sender);
        writer.await.expect("ends when nobody sends");
    }

    #[tokio::test]
    async fn a_listener_that_has_gone_is_noticed() {
        let (out, owed, sender, queue) = queue(Arc::new(|| 0));
        drop((queue, owed));
        assert_eq!(sender.offer("x".to_owned()), Err(Gone));
        assert_eq!(sender.put("x".to_owned()).await, Err(Gone));
        sender.room().await;
        out.answer("x".to_owned()).await;
        out.mention("x".to_owned());
    }
}
