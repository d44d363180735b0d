//! What an extension sends to a program while it runs.

use std::collections::VecDeque;

use rustix::process::Signal;
use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::signals;
use crate::fs;

/// Bytes that may wait for a program that does not read; until it does, no more is taken.
const MAX_QUEUED_BYTES: usize = 4 * 1024 * 1024;

/// Standard input of a program: what is there from the beginning, and what comes.
pub(super) struct InputWriter {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) first: Vec<u8>,
    pub(super) input: Option<mpsc::Receiver<Value>>,
}

impl InputWriter {
    /// Writes until all is written, or the program has ended. A program that does not read it is no failure. Signals that
    /// are asked for go to `kill`.
    pub(super) async fn run(self, ended: &CancellationToken, kill: impl Fn(Signal)) {
        let Self { mut stdin, first, mut input } = self;
        let mut queue: VecDeque<u8> = first.into();
        let mut complete = input.is_none();
        loop {
            if complete && queue.is_empty() {
                stdin = None;
            }
            if stdin.is_none() {
                queue.clear();
                if input.is_none() {
                    return;
                }
            }
            let (piece, _) = queue.as_slices();
            tokio::select! {
                biased;
                () = ended.cancelled() => return,
                written = write(&mut stdin, piece), if !queue.is_empty() => match written {
                    Some(count) => drop(queue.drain(..count)),
                    None => stdin = None,
                },
                message = next(&mut input), if input.is_some() && queue.len() < MAX_QUEUED_BYTES => {
                    let Some(message) = message else {
                        input = None;
                        complete = true;
                        continue;
                    };
                    let text = |key: &str| message.get(key).and_then(Value::as_str);
                    if let Some(bytes) = text("stdin").and_then(|data| fs::decode(data, text("encoding"), "stdin").ok())
                        && !complete
                    {
                        queue.extend(bytes);
                    }
                    complete |= message.get("stdin_end").and_then(Value::as_bool) == Some(true);
                    if let Some(signal) = text("kill").and_then(signals::by_name) {
                        kill(signal);
                    }
                }
            }
        }
    }
}

async fn write(stdin: &mut Option<ChildStdin>, piece: &[u8]) -> Option<usize> {
    stdin.as_mut()?.write(piece).await.ok().filter(|count| *count > 0)
}

async fn next(input: &mut Option<mpsc::Receiver<Value>>) -> Option<Value> {
    input.as_mut()?.recv().await
}
