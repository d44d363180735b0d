//! What a program says: kept up to a limit, handed on in pieces where they are wanted.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// How long a pipe may be silent after the program has ended. Whoever still holds it open is not the program.
const PIPE_SILENCE_TIMEOUT: Duration = Duration::from_millis(200);

/// One stream of a program.
pub(super) struct Capture {
    max: usize,
    kept: Mutex<KeptOutput>,
}

#[derive(Default)]
struct KeptOutput {
    bytes: Vec<u8>,
    truncated: bool,
}

/// What was kept.
#[derive(Default)]
pub(crate) struct Captured {
    pub(crate) bytes: Vec<u8>,
    pub(crate) truncated: bool,
}

impl Captured {
    /// As text. A character that was cut in two by the limit is left out; one that the program cut itself shows.
    pub(crate) fn text(&self) -> String {
        let mut pieces = Utf8Pieces::default();
        let mut text = pieces.push(&self.bytes);
        if !self.truncated {
            text.push_str(&pieces.finish());
        }
        text
    }
}

/// Where pieces of output go, and in which form.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces {
    pub(crate) chunks: Option<mpsc::Sender<Value>>,
    /// As bytes; otherwise as text that cuts no character.
    pub(crate) bytes: bool,
}

impl Pieces {
    /// Says which process it is.
    pub(super) async fn announce(&mut self, pid: Option<u32>) {
        self.send(json!({ "pid": pid })).await;
    }

    async fn send(&mut self, piece: Value) {
        if let Some(sender) = &self.chunks
            && sender.send(piece).await.is_err()
        {
            self.chunks = None;
        }
    }
}

impl Capture {
    pub(super) fn new(max: usize) -> Self {
        Self { max, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, KeptOutput> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads `pipe` to its end, so that the program never waits for us, and keeps the beginning. A consumer of chunks
    /// that is slow slows the program down; one that has gone is forgotten.
    pub(super) async fn pump(
        &self,
        pipe: Option<impl AsyncRead + Unpin>,
        stream: &'static str,
        mut pieces: Pieces,
        ended: &CancellationToken,
    ) {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 32 * 1024];
        let mut text = Utf8Pieces::default();
        loop {
            let read = tokio::select! {
                biased;
                read = pipe.read(&mut buffer) => read,
                () = async { ended.cancelled().await; tokio::time::sleep(PIPE_SILENCE_TIMEOUT).await } => break,
            };
            // A pipe that cannot be read is at its end.
            let Ok(read @ 1..) = read else { break };
            let bytes = buffer.get(..read).unwrap_or_default();
            self.keep(bytes);
            if pieces.bytes {
                let data = BASE64.encode(bytes);
                pieces.send(json!({ "stream": stream, "data": data, "encoding": "base64" })).await;
            } else if pieces.chunks.is_some() {
                send_text(&mut pieces, stream, text.push(bytes)).await;
            }
        }
        send_text(&mut pieces, stream, text.finish()).await;
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.kept();
        let room = self.max.saturating_sub(kept.bytes.len());
        match bytes.get(..room) {
            Some(fits) if bytes.len() > room => {
                kept.bytes.extend_from_slice(fits);
                kept.truncated = true;
            }
            _ => kept.bytes.extend_from_slice(bytes),
        }
    }

    /// What was kept so far.
    pub(super) fn take(&self) -> Captured {
        let KeptOutput { bytes, truncated } = std::mem::take(&mut *self.kept());
        Captured { bytes, truncated }
    }
}

async fn send_text(pieces: &mut Pieces, stream: &str, piece: String) {
    if !piece.is_empty() {
        pieces.send(json!({ "stream": stream, "text": piece })).await;
    }
}

/// Turns bytes into text piece by piece without cutting a character in two.
#[derive(Default)]
struct Utf8Pieces {
    rest: Vec<u8>,
}

impl Utf8Pieces {
    fn push(&mut self, bytes: &[u8]) -> String {
        let mut bytes = [std::mem::take(&mut self.rest).as_slice(), bytes].concat();
        let whole = bytes.utf8_chunks().last().map_or(0, |last| {
            // Only an unfinished character may go on in the next piece; what is wrong already stays wrong.
            let tail = last.invalid();
            let unfinished = std::str::from_utf8(tail).is_err_and(|error| error.error_len().is_none());
            if unfinished { tail.len() } else { 0 }
        });
        self.rest = bytes.split_off(bytes.len() - whole);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.rest)).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_keep_characters_whole() {
        let check = |pieces: &[&[u8]], expected: &[&str]| {
            let mut text = Utf8Pieces::default();
            let mut got: Vec<String> = pieces.iter().map(|piece| text.push(piece)).collect();
            got.push(text.finish());
            assert_eq!(got, expected);
        };
        check(&[b"abc", b"def"], &["abc", "def", ""]);
        check(&[b"a\xe2\x9c", b"\x93b"], &["a", "✓b", ""]);
        check(&[b"\xf0", b"\x9f", b"\x98", b"\x80"], &["", "", "", "😀", ""]);
        check(&[b"a\xff", b"b"], &["a\u{fffd}", "b", ""]);
        check(&[b"a\xe2\x9c"], &["a", "\u{fffd}"]);
    }

    #[test]
    fn the_limit_cuts_no_character() {
        let capture = Capture::new(4);
        capture.keep("a✓".as_bytes());
        let whole = Capture::new(3);
        whole.keep("a✓".as_bytes());
        let (capture, whole) = (capture.take(), whole.take());
        assert_eq!((capture.text().as_str(), capture.truncated), ("a✓", false));
        assert_eq!((whole.text().as_str(), whole.truncated), ("a", true));
    }
}
