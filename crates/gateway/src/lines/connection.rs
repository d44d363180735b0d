//! The conversation with one listener.

use std::sync::Arc;

use jackfield_protocol::{CallError, ErrorCode};
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::calls::Calls;
use super::events::pass_on;
use super::offers::Offers;
use super::outgoing::Outgoing;
use super::request::{Request, failure, read, success};
use super::{CANCEL_GRACE, LinesFace, outgoing};

/// The longest line that is read.
const LONGEST: u64 = 16 * 1024 * 1024;

/// Talks with one listener until it goes. Requests that are still under way are given up then.
pub(super) async fn serve(
    face: Arc<LinesFace>,
    mut input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
) {
    let host = face.host.clone();
    let (out, owed, way, queue) = outgoing::queue(Arc::new(move || host.events_published()));
    let writer = tokio::spawn(queue.write_to(output));
    let events = tokio::spawn(pass_on(face.host.clone(), way, owed));
    let listening = face.listeners.add(out.clone());
    let calls = Arc::new(Calls::default());
    let mut offers = Offers::new(face.host.clone(), out.clone());
    let mut requests = tokio::task::JoinSet::new();
    let mut line = Vec::new();
    loop {
        tokio::select! {
            has_line = next_line(&mut input, &mut line, &out) => if !has_line { break },
            () = face.over.cancelled() => break,
        }
        let (id, kind, request) = match read(&line) {
            Ok(parts) => parts,
            Err(bad) => {
                let (id, error) = *bad;
                out.answer(failure(&id, "", &error)).await;
                continue;
            }
        };
        if let Request::ExtensionUiResponse(answer) = request {
            let question = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
            if !face.listeners.answered(&question, answer) {
                let error = CallError::new(ErrorCode::NotFound, format!("no question {question:?} is open"));
                out.answer(failure(&id, &kind, &error)).await;
            }
            continue;
        }
        let request = match offers.take(request) {
            Err(other) => *other,
            // An answer to a tool's call is answered only if something is wrong with it.
            Ok(Ok(None)) => continue,
            Ok(Ok(Some(data))) => {
                out.answer(success(&id, &kind, data)).await;
                continue;
            }
            Ok(Err(error)) => {
                out.answer(failure(&id, &kind, &error)).await;
                continue;
            }
        };
        // Before the next line is read, so that a cancellation on it finds the call.
        let cancel = match request {
            Request::CallTool { .. } => calls.begin(&id),
            _ => CancellationToken::new(),
        };
        let (face, calls, out) = (Arc::clone(&face), Arc::clone(&calls), out.clone());
        requests.spawn(async move {
            let answer = match face.answer(&id, request, &calls, cancel).await {
                Ok(data) => success(&id, &kind, data),
                Err(error) => failure(&id, &kind, &error),
            };
            out.answer(answer).await;
        });
        while requests.try_join_next().is_some() {}
    }
    drop(listening);
    drop(offers);
    calls.cancel_all();
    let given_up = async { while requests.join_next().await.is_some() {} };
    if tokio::time::timeout(CANCEL_GRACE, given_up).await.is_err() {
        // What waits for an extension to start is not worth waiting for; the ledger calls it abandoned.
        requests.shutdown().await;
    }
    // Ends when all that is owed has been passed on.
    drop(out);
    events.await.ok();
    writer.await.ok();
}

/// Reads the next line that is not blank; false at the end of input. Lines that are too long are refused and passed over.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>, out: &Outgoing) -> bool {
    loop {
        line.clear();
        match (&mut *input).take(LONGEST).read_until(b'\n', line).await {
            Ok(0) | Err(_) => return false,
            Ok(read) if read as u64 == LONGEST && line.last() != Some(&b'\n') => {
                let error = CallError::new(ErrorCode::InvalidRequest, "a line is longer than 16 MiB");
                out.answer(failure(&Value::Null, "", &error)).await;
                if !skip_line(input).await {
                    return false;
                }
            }
            Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
            Ok(_) => return true,
        }
    }
}

/// Passes over the rest of a line without keeping it; false at the end of input.
async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> bool {
    loop {
        let (skip, found) = match input.fill_buf().await {
            Ok([]) | Err(_) => return false,
            Ok(bytes) => match bytes.iter().position(|byte| *byte == b'\n') {
                Some(at) => (at + 1, true),
                None => (bytes.len(), false),
            },
        };
        input.consume(skip);
        if found {
            return true;
        }
    }
}
