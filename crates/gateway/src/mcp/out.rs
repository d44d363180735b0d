//! The queue of messages to one client. Notifications are dropped when the client does not read; answers wait.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use jackfield_mcp::envelope::{self, RpcError};
use serde_json::Value;
use tokio::io::AsyncWrite;
use tokio::sync::{Notify, mpsc};

use super::lock;

/// How many bytes may wait for a client before its notifications are dropped and its answers wait.
const MAX_QUEUED_BYTES: usize = 32 * 1024 * 1024;
/// How many bytes are collected before they are written.
const WRITE_BATCH_BYTES: usize = 256 * 1024;

/// A message to a client.
pub(crate) struct Message {
    pub(crate) text: String,
    /// It answers the request that the queue is for; nothing comes after it there.
    pub(crate) last: bool,
    /// The code of the error that it says.
    pub(crate) code: Option<i64>,
}

/// An answer to a request.
pub(crate) struct RpcResponse {
    pub(crate) text: String,
    /// The code of the error, if it is one.
    pub(crate) code: Option<i64>,
}

impl RpcResponse {
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
    /// How much was said and is not written yet.
    bytes: AtomicUsize,
    less: Notify,
    straight: Mutex<Straight>,
}

/// Where lines are written, once there is such a place. What is said while nothing waits is written at once, which saves the
/// change to another task. Locked while something is said, so that the order is kept.
#[derive(Default)]
struct Straight {
    output: Option<Box<dyn AsyncWrite + Unpin + Send>>,
    /// What the output did not take at once; the queue begins with a message that says so.
    rest: Vec<u8>,
    /// How much of it is counted among what waits.
    owed: usize,
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
        if self.waiting.bytes.load(Ordering::Relaxed) < MAX_QUEUED_BYTES {
            self.push(message);
        }
    }

    /// Answers a request; waits while too much waits already.
    pub(crate) async fn answer(&self, answer: RpcResponse) {
        loop {
            let less = self.waiting.less.notified();
            if self.waiting.bytes.load(Ordering::Relaxed) < MAX_QUEUED_BYTES || self.lines.is_closed() {
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
        let mut straight = lock(&self.waiting.straight);
        let is_idle = self.waiting.bytes.load(Ordering::Relaxed) == 0;
        let (message, rest) = match straight.output.is_some() && is_idle {
            true if straight.write(&message.text) => return,
            // Says that there is a rest.
            true => (Message { text: String::new(), last: false, code: None }, straight.owed()),
            false => (message, 0),
        };
        // A message counts with its line's end, so that none is nothing.
        self.waiting.bytes.fetch_add(rest + message.text.len() + 1, Ordering::Relaxed);
        // A client that has gone needs no messages.
        self.lines.send(message).ok();
    }
}

impl Outgoing {
    /// The next message; nothing once everybody who could say something has gone.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        let message = self.lines.recv().await?;
        self.taken(message.text.len() + 1);
        Some(message)
    }

    fn taken(&self, bytes: usize) {
        self.waiting.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.waiting.less.notify_waiters();
    }

    /// Writes one message a line until there is nobody left to say something, or nobody to read.
    pub(crate) async fn write_to(mut self, output: impl AsyncWrite + Unpin + Send + 'static) {
        lock(&self.waiting.straight).output = Some(Box::new(output));
        while let Some(message) = self.lines.recv().await {
            let mut size = 0;
            let mut next = Some(message);
            while let Some(message) = next {
                size += message.text.len() + 1;
                let mut straight = lock(&self.waiting.straight);
                match message.text.is_empty() {
                    true => size += std::mem::take(&mut straight.owed),
                    false => add_line(&mut straight.rest, &message.text),
                }
                next = if straight.rest.len() < WRITE_BATCH_BYTES { self.lines.try_recv().ok() } else { None };
            }
            if poll_fn(|cx| lock(&self.waiting.straight).poll(cx)).await.is_err() {
                break;
            }
            self.taken(size);
        }
    }
}

impl Straight {
    /// Counts the rest.
    fn owed(&mut self) -> usize {
        self.owed = self.rest.len();
        self.owed
    }

    /// Writes a line while nothing else waits; false if something of it is left.
    fn write(&mut self, text: &str) -> bool {
        add_line(&mut self.rest, text);
        // What is pending or failed is for the task that writes, which then asks with a waker of its own.
        matches!(self.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(Ok(())))
    }

    /// Writes what is left.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(output) = &mut self.output else { return Poll::Ready(Ok(())) };
        let mut written = 0;
        let state = loop {
            let rest = self.rest.get(written..).unwrap_or_default();
            if rest.is_empty() {
                break Pin::new(&mut *output).poll_flush(cx);
            }
            match Pin::new(&mut *output).poll_write(cx, rest) {
                Poll::Ready(Ok(0)) => break Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(more)) => written += more,
                Poll::Ready(Err(error)) => break Poll::Ready(Err(error)),
                Poll::Pending => break Poll::Pending,
            }
        };
        self.rest.drain(..written);
        if self.rest.is_empty() {
            self.rest.shrink_to(WRITE_BATCH_BYTES);
        }
        state
    }
}

/// Adds a message as one line. Within JSON a line break stands between tokens only, where a space does as well.
fn add_line(text: &mut Vec<u8>, message: &str) {
    if message.as_bytes().contains(&b'\n') || message.as_bytes().contains(&b'\r') {
        text.extend(message.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
    } else {
        text.extend_from_slice(message.as_bytes());
    }
    text.push(b'\n');
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        lock(&self.waiting.straight).output = None;
        self.lines.close();
        self.waiting.less.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_keep_their_order_whether_they_are_written_at_once_or_not() {
        let (near, mut far) = tokio::io::duplex(16);
        let (out, queue) = queue();
        out.push("before there was an output".to_owned());
        let writer = tokio::spawn(queue.write_to(near));
        let reader = tokio::spawn(async move {
            let mut text = String::new();
            far.read_to_string(&mut text).await.expect("text");
            text
        });
        let mut expected = "before there was an output\n".to_owned();
        for number in 0..200 {
            // Short ones fit at once, long ones do not; some find the queue empty and some do not.
            let text = format!("{number}{}", "x".repeat(number % 40));
            expected.push_str(&format!("{text}\n"));
            if number % 3 == 0 {
                out.answer(RpcResponse { text, code: None }).await;
            } else {
                out.push(text);
            }
            if number % 7 == 0 {
                tokio::task::yield_now().await;
            }
        }
        let waiting = Arc::clone(&out.waiting);
        drop(out);
        writer.await.expect("written");
        assert_eq!(reader.await.expect("read"), expected);
        assert_eq!(waiting.bytes.load(Ordering::Relaxed), 0, "everything was counted once");
    }

    #[tokio::test]
    async fn whoever_has_gone_keeps_nobody_waiting() {
        let (near, far) = tokio::io::duplex(16);
        let (out, queue) = queue();
        let writer = tokio::spawn(queue.write_to(near));
        tokio::task::yield_now().await;
        drop(far);
        for _ in 0..4 {
            out.answer(RpcResponse { text: "x".repeat(MAX_QUEUED_BYTES), code: None }).await;
        }
        writer.await.expect("it has ended");
        assert!(lock(&out.waiting.straight).output.is_none());
    }
}
