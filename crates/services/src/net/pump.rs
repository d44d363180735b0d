//! Bytes between a socket and an extension.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use crate::fs;

/// What an extension sends into a connection.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    /// Nothing more comes.
    pub(super) end: bool,
}

impl Sent {
    pub(super) fn read(message: &Value) -> Self {
        let text = |key: &str| message.get(key).and_then(Value::as_str);
        let bytes = text("data").and_then(|data| fs::decode(data, text("encoding"), "data").ok()).unwrap_or_default();
        Self { bytes, end: message.get("end").and_then(Value::as_bool) == Some(true) }
    }
}

/// Where pieces go, and the number of the connection they belong to where there are several.
pub(super) struct Listener {
    pub(super) chunks: mpsc::Sender<Value>,
    pub(super) conn: Option<u64>,
}

impl Listener {
    /// Hands on a piece; false when nobody takes them any more.
    pub(super) async fn tell(&self, piece: Value) -> bool {
        let piece = match self.conn {
            Some(number) => named(number, piece),
            None => piece,
        };
        self.chunks.send(piece).await.is_ok()
    }
}

/// A piece with the number of its connection.
pub(super) fn named(number: u64, piece: Value) -> Value {
    let mut fields = Map::new();
    fields.insert("conn".to_owned(), json!(number));
    if let Value::Object(piece) = piece {
        fields.extend(piece);
    }
    Value::Object(fields)
}

/// Where what is to be written comes from.
pub(super) enum Source {
    /// The whole call is one connection.
    Call(mpsc::Receiver<Value>),
    /// One connection among several.
    Shared {
        queue: mpsc::UnboundedReceiver<Sent>,
        /// Bytes in the queue, or taken and not written yet.
        waiting: Arc<AtomicUsize>,
        /// What was taken last.
        last: usize,
    },
}

impl Source {
    async fn next(&mut self) -> Option<Sent> {
        match self {
            Self::Call(input) => input.recv().await.map(|message| Sent::read(&message)),
            Self::Shared { queue, waiting, last } => {
                // What was taken before has been written by now.
                waiting.fetch_sub(std::mem::take(last), Ordering::Relaxed);
                let sent = queue.recv().await?;
                *last = sent.bytes.len();
                Some(sent)
            }
        }
    }
}

/// Reads the socket to its end and writes what `source` gives until that ends. When nobody takes pieces any more, that is
/// the end of it all.
pub(super) async fn pump(
    stream: impl AsyncRead + AsyncWrite,
    mut source: Source,
    listener: &Listener,
) -> io::Result<()> {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let reading = async {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let read = match reader.read(&mut buffer).await {
                Ok(0) => break,
                // Many end a TLS connection without saying so.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                other => other?,
            };
            let data = BASE64.encode(buffer.get(..read).unwrap_or_default());
            if !listener.tell(json!({ "data": data, "encoding": "base64" })).await {
                return Ok::<bool, io::Error>(false);
            }
        }
        Ok(listener.tell(json!({ "end": true })).await)
    };
    let writing = async {
        while let Some(Sent { bytes, end }) = source.next().await {
            if !bytes.is_empty() {
                writer.write_all(&bytes).await?;
                writer.flush().await?;
            }
            if end {
                break;
            }
        }
        match writer.shutdown().await {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            _ => Ok(()),
        }
    };
    tokio::pin!(reading, writing);
    let (mut reads, mut writes) = (true, true);
    while reads || writes {
        tokio::select! {
            read = &mut reading, if reads => {
                if !read? {
                    return Ok(());
                }
                reads = false;
            }
            written = &mut writing, if writes => {
                written?;
                writes = false;
            }
        }
    }
    Ok(())
}
