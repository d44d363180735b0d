//! Streams of events: what was said is kept for a while, so that a client whose connection broke can go on where it was.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::super::lock;
use super::super::out::{Message, Outgoing};

/// How many bytes of a stream are kept for a client that comes back.
const MAX_STREAM_BYTES: usize = 8 * 1024 * 1024;
/// How long a stream is kept after its end.
const FINISHED_STREAM_LIFETIME: Duration = Duration::from_secs(60);
/// How often something is said on a stream on which nothing happens.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// Events in order, for one reader at a time.
pub(super) struct Stream {
    pub(super) id: u64,
    state: Mutex<State>,
    news: Notify,
    readers: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// The number of each, from 1.
    events: VecDeque<(u64, String)>,
    bytes: usize,
    last: u64,
    /// The last one that was handed to a reader.
    read: u64,
    over: Option<Instant>,
}

impl Stream {
    pub(super) fn new(id: u64) -> Self {
        Self { id, state: Mutex::default(), news: Notify::new(), readers: AtomicUsize::new(0) }
    }

    /// Adds an event. Waits for the reader when much is unread; without a reader the oldest goes.
    pub(super) async fn push(&self, text: String) {
        loop {
            let news = self.news.notified();
            {
                let mut state = lock(&self.state);
                let full = state.bytes + text.len() > MAX_STREAM_BYTES && !state.events.is_empty();
                let unread = state.events.front().is_some_and(|(number, _)| *number > state.read);
                if !full || !unread || !self.is_read() {
                    while state.bytes + text.len() > MAX_STREAM_BYTES
                        && let Some((_, old)) = state.events.pop_front()
                    {
                        state.bytes -= old.len();
                    }
                    state.last += 1;
                    state.bytes += text.len();
                    let number = state.last;
                    state.events.push_back((number, text));
                    break;
                }
            }
            news.await;
        }
        self.news.notify_waiters();
    }

    /// Nothing more comes.
    pub(super) fn end(&self) {
        lock(&self.state).over.get_or_insert_with(Instant::now);
        self.news.notify_waiters();
    }

    /// Whether somebody reads it.
    pub(super) fn is_read(&self) -> bool {
        self.readers.load(Ordering::Acquire) > 0
    }

    /// Whether it has been over for long.
    pub(super) fn is_stale(&self) -> bool {
        lock(&self.state).over.is_some_and(|over| over.elapsed() > FINISHED_STREAM_LIFETIME)
    }

    /// After which event somebody reads who has read nothing of it.
    pub(super) fn unread_from(&self) -> u64 {
        lock(&self.state).read
    }

    /// The next event after one; nothing at the end.
    async fn after(&self, number: u64) -> Option<(u64, String)> {
        loop {
            let news = self.news.notified();
            {
                let mut state = lock(&self.state);
                if let Some((at, text)) = state.events.iter().find(|(at, _)| *at > number).cloned() {
                    state.read = state.read.max(at);
                    drop(state);
                    self.news.notify_waiters();
                    return Some((at, text));
                }
                if state.over.is_some() {
                    return None;
                }
            }
            news.await;
        }
    }
}

/// Which event of which stream an id names.
pub(super) fn place(id: &str) -> Option<(u64, u64)> {
    let (stream, number) = id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

/// Moves what is said into a stream until the answer has been given.
pub(super) async fn pump(mut outgoing: Outgoing, stream: Arc<Stream>) {
    while let Some(message) = outgoing.next().await {
        stream.push(message.text).await;
        if message.last {
            break;
        }
    }
    stream.end();
}

/// A stream as a body, from after an event on. When the connection breaks, the stream stays.
pub(super) fn body_of(stream: Arc<Stream>, after: u64, primed: bool) -> Body {
    let (sender, receiver) = mpsc::channel(8);
    stream.readers.fetch_add(1, Ordering::AcqRel);
    tokio::spawn(async move {
        let reading = Reading(Arc::clone(&stream));
        let mut at = after;
        if primed {
            let event = format!("id: {}-{at}\ndata: \n\n", stream.id);
            sender.send(Bytes::from(event)).await.ok();
        }
        loop {
            tokio::select! {
                event = stream.after(at) => match event {
                    Some((number, text)) => {
                        at = number;
                        let id = format!("id: {}-{number}\n", stream.id);
                        if sender.send(Bytes::from(event_of(&id, &text))).await.is_err() {
                            break;
                        }
                    }
                    None => break,
                },
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {
                    if sender.send(Bytes::from_static(b":\n\n")).await.is_err() {
                        break;
                    }
                }
                () = sender.closed() => break,
            }
        }
        drop(reading);
    });
    Body::from_stream(Pieces(receiver))
}

struct Reading(Arc<Stream>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::AcqRel);
        self.0.news.notify_waiters();
    }
}

/// What belongs to a request that stands for itself; when the connection breaks, the request is given up.
pub(super) fn direct(first: Option<Message>, mut outgoing: Outgoing, cancel: CancellationToken) -> Body {
    let (sender, receiver) = mpsc::channel(8);
    tokio::spawn(async move {
        let given_up = cancel.drop_guard();
        let mut next = first;
        loop {
            if let Some(message) = next.take() {
                let last = message.last;
                if sender.send(Bytes::from(event_of("", &message.text))).await.is_err() {
                    return;
                }
                if last {
                    break;
                }
            }
            tokio::select! {
                message = outgoing.next() => match message {
                    Some(message) => next = Some(message),
                    None => break,
                },
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => {
                    if sender.send(Bytes::from_static(b":\n\n")).await.is_err() {
                        return;
                    }
                }
                () = sender.closed() => return,
            }
        }
        given_up.disarm();
    });
    Body::from_stream(Pieces(receiver))
}

/// An event with its data, line by line.
fn event_of(id: &str, text: &str) -> String {
    let mut event = String::with_capacity(id.len() + text.len() + 32);
    event.push_str(id);
    event.push_str("event: message\n");
    for line in text.split(['\n', '\r']) {
        event.push_str("data: ");
        event.push_str(line);
        event.push('\n');
    }
    event.push('\n');
    event
}

/// The pieces of a body.
struct Pieces(mpsc::Receiver<Bytes>);

impl futures_util::Stream for Pieces {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|piece| piece.map(Ok))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_and_their_ids() {
        assert_eq!(place("7-3"), Some((7, 3)));
        assert_eq!(place("x"), None);
        assert_eq!(event_of("id: 7-3\n", "{\n}"), "id: 7-3\nevent: message\ndata: {\ndata: }\n\n");
    }

    #[tokio::test]
    async fn a_reader_goes_on_where_it_was() {
        let stream = Stream::new(1);
        for text in ["a", "b"] {
            stream.push(text.to_owned()).await;
        }
        assert_eq!(stream.after(0).await, Some((1, "a".to_owned())));
        assert_eq!(stream.after(1).await, Some((2, "b".to_owned())));
        stream.end();
        assert_eq!(stream.after(1).await, Some((2, "b".to_owned())));
        assert_eq!(stream.after(2).await, None);
    }
}
