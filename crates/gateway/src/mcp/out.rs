//! The queue of messages to one client. Notifications are dropped when the client does not read; answers wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

/// How many bytes may wait for a client before its notifications are dropped and its answers wait.
const MOST: usize = 32 * 1024 * 1024;
/// How much is written at once.
const TOGETHER: usize = 256 * 1024;

/// Where messages to a client go. Cheap to clone; the order is kept.
#[derive(Clone)]
pub(crate) struct Out {
    lines: mpsc::UnboundedSender<String>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    less: Notify,
}

/// The other end of the queue.
pub(crate) struct Outgoing {
    lines: mpsc::UnboundedReceiver<String>,
    waiting: Arc<Waiting>,
}

/// A new queue.
pub(crate) fn queue() -> (Out, Outgoing) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(Waiting::default());
    (Out { lines: sender, waiting: Arc::clone(&waiting) }, Outgoing { lines: receiver, waiting })
}

impl Out {
    /// Says something that may be lost when the client does not read.
    pub(crate) fn tell(&self, message: String) {
        if self.waiting.bytes.load(Ordering::Relaxed) < MOST {
            self.push(message);
        }
    }

    /// Says something that must not be lost; waits while too much waits already.
    pub(crate) async fn answer(&self, message: String) {
        loop {
            let less = self.waiting.less.notified();
            if self.waiting.bytes.load(Ordering::Relaxed) < MOST || self.lines.is_closed() {
                break;
            }
            less.await;
        }
        self.push(message);
    }

    /// Says something that must not be lost, without waiting: our own questions, of which there are few.
    pub(crate) fn push(&self, message: String) {
        self.waiting.bytes.fetch_add(message.len(), Ordering::Relaxed);
        // A client that has gone needs no messages.
        self.lines.send(message).ok();
    }
}

impl Outgoing {
    /// The next message; nothing once everybody who could say something has gone.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let line = self.lines.recv().await?;
        self.taken(line.len());
        Some(line)
    }

    fn taken(&self, bytes: usize) {
        self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiting.less.notify_waiters();
    }

    /// Writes one message a line until there is nobody left to say something, or nobody to read.
    pub(crate) async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) {
        while let Some(line) = self.lines.recv().await {
            let mut size = line.len();
            let mut text = line.into_bytes();
            text.push(b'\n');
            while text.len() < TOGETHER
                && let Ok(line) = self.lines.try_recv()
            {
                size += line.len();
                text.extend_from_slice(line.as_bytes());
                text.push(b'\n');
            }
            if output.write_all(&text).await.is_err() || output.flush().await.is_err() {
                break;
            }
            self.taken(size);
        }
        self.lines.close();
        self.waiting.less.notify_waiters();
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.lines.close();
        self.waiting.less.notify_waiters();
    }
}
