//! Talks with one client over lines, as on standard input and output.

use std::time::Duration;

use jackfield_mcp::envelope::{INVALID_REQUEST, PARSE_ERROR};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite};
use tokio::task::JoinSet;

use super::client::{Client, Taken};
use super::out::Answer;
use super::{Expose, McpFace, lock, news, out};

/// The longest message that is read.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How long requests may take to notice that their client has gone.
const GIVING_UP: Duration = Duration::from_secs(1);

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
    let mut requests = JoinSet::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let text = match read(&mut input, &mut line).await {
            Read::Line => match std::str::from_utf8(&line) {
                Ok(text) => text.trim(),
                Err(_) => {
                    out.answer(Answer::refusal(None, PARSE_ERROR, "a message is not UTF-8")).await;
                    continue;
                }
            },
            Read::TooLong => {
                out.answer(Answer::refusal(None, INVALID_REQUEST, "a message is longer than 16 MiB")).await;
                continue;
            }
            Read::End => break,
        };
        if text.is_empty() {
            continue;
        }
        match client.take(text) {
            Taken::Request(waiting) => {
                requests.spawn(waiting.serve(out.clone()));
            }
            Taken::Refused(refusal) => {
                let (id, error) = *refusal;
                out.answer(Answer::of(id.as_ref(), &Err(error))).await;
            }
            Taken::Done => {}
        }
        while requests.try_join_next().is_some() {}
    }
    client.leave();
    let given_up = async { while requests.join_next().await.is_some() {} };
    if tokio::time::timeout(GIVING_UP, given_up).await.is_err() {
        // What does not notice is not worth waiting for; the ledger calls it abandoned.
        requests.shutdown().await;
    }
    news::forget(&face.shared, std::mem::take(&mut *lock(&client.subscriptions)));
    drop((client, out));
    tokio::time::timeout(GIVING_UP, writer).await.ok();
}

enum Read {
    Line,
    TooLong,
    End,
}

/// Reads a line, or passes over one that is too long without keeping it.
async fn read(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> Read {
    let mut bounded = (&mut *input).take(LONGEST);
    match bounded.read_until(b'\n', line).await {
        Ok(0) | Err(_) => return Read::End,
        Ok(read) if (read as u64) < LONGEST || line.last() == Some(&b'\n') => return Read::Line,
        Ok(_) => {}
    }
    line.clear();
    line.shrink_to(64 * 1024);
    loop {
        let (skip, found) = match input.fill_buf().await {
            Ok([]) | Err(_) => return Read::TooLong,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(skip);
        if found {
            return Read::TooLong;
        }
    }
}
