//! The queue of messages to one client. Notifications are dropped when the client does not read; answers wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_mcp::envelope::{self, RpcError};
use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

/// How many bytes may wait for a client before its notifications are dropped and its answers wait.
const MOST: usize = 32 * 1024 * 1024;
/// How much is written at once.
const TOGETHER: usize = 256 * 1024;

/// A message to a client.
pub(crate) struct Message {
    pub(crate) text: String,
    /// It answers the request that the queue is for; nothing comes after it there.
    pub(crate) last: bool,
    /// The code of the error that it says.
    pub(crate) code: Option<i64>,
}

/// An answer to a request.
pub(crate) struct Answer {
    pub(crate) text: String,
    /// The code of the error, if it is one.
    pub(crate) code: Option<i64>,
}

impl Answer {
    /// A good one, or a bad one.
    pub(crate) fn of(id: Option<&Value>, result: &Result<String, RpcError>) -> Self {
        match (result, id) {
            (Ok(result), Some(id)) => Self { text: envelope::answer(id, result), code: None },
            (Ok(_), None) => Self { text: String::new(), code: None },
            (Err(error), id) => Self { text: envelope::failure(id, error), code: Some(error.code) },
        }
    }

    /// A bad one.
    pub(crate) fn refusal(id: Option<&Value>, code: i64, message: impl Into<String>) -> Self {
        Self::of(id, &Err(RpcError::new(code, message)))
    }
}

/// Where messages to a client go. Cheap to clone; the order is kept.
#[derive(Clone)]
pub(crate) struct Out {
    lines: mpsc::UnboundedSender<Message>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    less: Notify,
}

/// The other end of the queue.
pub(crate) struct Outgoing {
    lines: mpsc::UnboundedReceiver<Message>,
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

    /// Answers a request; waits while too much waits already.
    pub(crate) async fn answer(&self, answer: Answer) {
        loop {
            let less = self.waiting.less.notified();
            if self.waiting.bytes.load(Ordering::Relaxed) < MOST || self.lines.is_closed() {
                break;
            }
            less.await;
        }
        self.send(Message { text: answer.text, last: true, code: answer.code });
    }

    /// Says something that must not be lost, without waiting: our own questions, of which there are few.
    pub(crate) fn push(&self, message: String) {
        self.send(Message { text: message, last: false, code: None });
    }

    fn send(&self, message: Message) {
        self.waiting.bytes.fetch_add(message.text.len(), Ordering::Relaxed);
        // A client that has gone needs no messages.
        self.lines.send(message).ok();
    }
}

impl Outgoing {
    /// The next message; nothing once everybody who could say something has gone.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.lines.recv().await?;
        self.taken(message.text.len());
        Some(message)
    }

    fn taken(&self, bytes: usize) {
        self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiting.less.notify_waiters();
    }

    /// Writes one message a line until there is nobody left to say something, or nobody to read.
    pub(crate) async fn write_to(mut self, mut output: impl AsyncWrite + Unpin) {
        let mut text = Vec::new();
        while let Some(message) = self.lines.recv().await {
            let mut size = message.text.len();
            add_line(&mut text, &message.text);
            while text.len() < TOGETHER
                && let Ok(message) = self.lines.try_recv()
            {
                size += message.text.len();
                add_line(&mut text, &message.text);
            }
            if output.write_all(&text).await.is_err() || output.flush().await.is_err() {
                break;
            }
            self.taken(size);
            text.clear();
            text.shrink_to(TOGETHER);
        }
        self.lines.close();
        self.waiting.less.notify_waiters();
    }
}

/// Adds a message as one line. Within JSON a line break stands between tokens only, where a space does as well.
fn add_line(text: &mut Vec<u8>, message: &str) {
    if message.contains(['\n', '\r']) {
        text.extend(message.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    } else {
        text.extend_from_slice(message.as_bytes());
    }
    text.push(b'\n');
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.lines.close();
        self.waiting.less.notify_waiters();
    }
}
