//! Talks with one client over lines, as on standard input and output.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use jackfield_mcp::envelope::{INVALID_REQUEST, PARSE_ERROR};
use memchr::memchr;
use tokio::io::{AsyncBufRead, AsyncWrite};
use tokio::task::JoinSet;

use super::client::{Client, Taken};
use super::out::RpcResponse;
use super::{Expose, McpFace, lock, notifications, out};

/// The longest message that is read.
const LONGEST: usize = 16 * 1024 * 1024;
/// How much of a line's buffer is kept for the next line.
const KEPT_BUFFER_BYTES: usize = 64 * 1024;
/// How long requests may take to notice that their client has gone.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Talks with one client until it goes. What is still under way for it is given up then.
pub async fn serve(
    face: McpFace,
    expose: Option<Expose>,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let (out, queue) = out::queue();
    let writer = tokio::spawn(queue.write_to(output));
    let expose = expose.unwrap_or_else(|| face.shared.options.expose.clone());
    let client = Client::new(&face.shared, expose, String::new(), out.clone());
    // One request is served in place: most agents wait for the answer before they send the next one, and a task of its own
    // costs more than many a request. Those that come meanwhile get one.
    let mut first = pin!(None);
    let mut requests = JoinSet::new();
    let mut line = LineReader::default();
    loop {
        let read = poll_fn(|cx| {
            let _ = advance(first.as_mut(), cx);
            line.poll(cx, &mut input)
        });
        let text = match read.await {
            Read::Line => match std::str::from_utf8(&line.text) {
                Ok(text) => text.trim(),
                Err(_) => {
                    out.answer(RpcResponse::refusal(None, PARSE_ERROR, "a message is not UTF-8")).await;
                    continue;
                }
            },
            Read::TooLong => {
                out.answer(RpcResponse::refusal(None, INVALID_REQUEST, "a message is longer than 16 MiB")).await;
                continue;
            }
            Read::End => break,
        };
        if text.is_empty() {
            continue;
        }
        match client.take(text) {
            Taken::Request(waiting) if first.is_none() => first.set(Some(waiting.run_guarded(out.clone()))),
            Taken::Request(waiting) => drop(requests.spawn(waiting.serve(out.clone()))),
            Taken::Refused(refusal) => {
                let (id, error) = *refusal;
                out.answer(RpcResponse::of(id.as_ref(), &Err(error))).await;
            }
            Taken::Done => {}
        }
        while !requests.is_empty() && requests.try_join_next().is_some() {}
    }
    client.leave();
    let given_up = async {
        poll_fn(|cx| advance(first.as_mut(), cx)).await;
        while requests.join_next().await.is_some() {}
    };
    if tokio::time::timeout(CANCEL_GRACE, given_up).await.is_err() {
        // What does not notice is not worth waiting for; the ledger calls it abandoned.
        requests.shutdown().await;
    }
    first.set(None);
    notifications::forget(&face.shared, std::mem::take(&mut *lock(&client.subscriptions)));
    drop((client, out));
    tokio::time::timeout(CANCEL_GRACE, writer).await.ok();
}

/// Goes on with the request in a slot; ready when there is none.
fn advance<F: Future<Output = ()>>(mut slot: Pin<&mut Option<F>>, cx: &mut Context<'_>) -> Poll<()> {
    if let Some(request) = slot.as_mut().as_pin_mut() {
        ready!(request.poll(cx));
        slot.set(None);
    }
    Poll::Ready(())
}

#[derive(Debug, PartialEq, Eq)]
enum Read {
    Line,
    TooLong,
    End,
}

/// The line that is read at the moment. What was read stays when nobody waits for the rest.
#[derive(Default)]
struct LineReader {
    text: Vec<u8>,
    /// It was given out; the next one begins.
    over: bool,
    /// It is too long; what there is of it is passed over and not kept.
    long: bool,
}

impl LineReader {
    fn poll(&mut self, cx: &mut Context<'_>, input: &mut (impl AsyncBufRead + Unpin)) -> Poll<Read> {
        if std::mem::take(&mut self.over) {
            self.text.clear();
            self.text.shrink_to(KEPT_BUFFER_BYTES);
            self.long = false;
        }
        loop {
            let bytes = match ready!(Pin::new(&mut *input).poll_fill_buf(cx)) {
                Ok([]) | Err(_) => return Poll::Ready(self.end()),
                Ok(bytes) => bytes,
            };
            let end = memchr(b'\n', bytes);
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            self.long |= self.text.len() + part.len() >= LONGEST;
            if self.long {
                self.text = Vec::new();
            } else {
                self.text.extend_from_slice(part);
            }
            let used = end.map_or(bytes.len(), |end| end + 1);
            Pin::new(&mut *input).consume(used);
            if end.is_some() {
                self.over = true;
                return Poll::Ready(if self.long { Read::TooLong } else { Read::Line });
            }
        }
    }

    /// The input ends, perhaps within a line.
    fn end(&mut self) -> Read {
        self.over = true;
        match (self.long, self.text.is_empty()) {
            (true, _) => Read::TooLong,
            (false, false) => Read::Line,
            (false, true) => Read::End,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test]
    async fn lines_of_any_length_and_what_is_left_at_the_end() {
        let (mut far, near) = tokio::io::duplex(64 * 1024);
        let writer = tokio::spawn(async move {
            far.write_all(b"one\r\n\ntw").await.expect("room");
            tokio::task::yield_now().await;
            far.write_all(b"o\n").await.expect("room");
            for line in [LONGEST - 1, LONGEST, LONGEST + 70_000] {
                far.write_all(&vec![b'x'; line]).await.expect("room");
                far.write_all(b"\n").await.expect("room");
            }
            far.write_all(b"last").await.expect("room");
        });
        let mut input = tokio::io::BufReader::new(near);
        let mut line = LineReader::default();
        let mut seen = Vec::new();
        loop {
            let read = poll_fn(|cx| line.poll(cx, &mut input)).await;
            if read == Read::End {
                break;
            }
            seen.push((read, line.text.len()));
        }
        writer.await.expect("written");
        let expected = [
            (Read::Line, 4),
            (Read::Line, 0),
            (Read::Line, 3),
            (Read::Line, LONGEST - 1),
            (Read::TooLong, 0),
            (Read::TooLong, 0),
            (Read::Line, 4),
        ];
        assert_eq!(seen, expected);
    }
}
