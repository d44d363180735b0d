//! Host calls whose results come in pieces.

use std::sync::Arc;

use jackfield_protocol::{CallError, ErrorCode, HostCall};
use jackfield_runtime::{CallInput, HostCallCx};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime::component::Resource;

use super::{ImportResult, host_call_of, invalid, json_of, refused, written};
use crate::bindings::jackfield::extension::host::HostStream;
use crate::bindings::jackfield::extension::types::Error;
use crate::state::State;

/// Pieces that wait for their reader.
const STREAM_QUEUE: usize = 64;
/// Streams that one instance may have open.
const MAX_STREAMS: usize = 64;

/// A host call under way.
pub struct Stream {
    pieces: mpsc::Receiver<Value>,
    input: mpsc::Sender<Value>,
    serving: Option<JoinHandle<Result<Value, CallError>>>,
    _given_up: DropGuard,
}

impl State {
    fn stream(&mut self, stream: &Resource<Stream>) -> wasmtime::Result<Stream> {
        // Taken out while it is used, so that the component's clock can stand still meanwhile.
        let held = self.streams.get_mut(stream)?;
        let (_, pieces) = mpsc::channel(1);
        let (input, _) = mpsc::channel(1);
        let empty = Stream { pieces, input, serving: None, _given_up: CancellationToken::new().drop_guard() };
        Ok(std::mem::replace(held, empty))
    }

    fn put_back(&mut self, at: &Resource<Stream>, stream: Stream) -> wasmtime::Result<()> {
        *self.streams.get_mut(at)? = stream;
        Ok(())
    }

    fn begin_stream(&mut self, method: &str, params: &str) -> Result<Stream, Error> {
        let mut call = host_call_of(method, params)?;
        if let HostCall::Exec(exec) = &mut call {
            exec.stream = true;
        }
        let cancel = self.cancel.child_token();
        let (chunks, pieces) = mpsc::channel(STREAM_QUEUE);
        let (input, receiver) = mpsc::channel(STREAM_QUEUE);
        let cx = HostCallCx {
            within: self.call.clone(),
            claimed: None,
            timeout: None,
            cancel: Arc::new(cancel.clone()),
            chunks: Some(chunks),
            input: Some(CallInput::new(receiver)),
        };
        let shared = Arc::clone(&self.shared);
        let serving = tokio::spawn(async move { shared.host.call(call, cx).await });
        Ok(Stream { pieces, input, serving: Some(serving), _given_up: cancel.drop_guard() })
    }
}

impl HostStream for State {
    async fn open(&mut self, method: String, params: String) -> ImportResult<Resource<Stream>> {
        if let Some(error) = self.count()? {
            return Ok(Err(refused(error)));
        }
        if self.streams.iter_mut().count() >= MAX_STREAMS {
            return Ok(Err(invalid(format!("{MAX_STREAMS} streams are open; drop one first"))));
        }
        match self.begin_stream(&method, &params) {
            Ok(stream) => Ok(Ok(self.streams.push(stream)?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn next(&mut self, at: Resource<Stream>) -> ImportResult<Option<String>> {
        let mut stream = self.stream(&at)?;
        let piece = self.suspended(stream.pieces.recv()).await;
        self.put_back(&at, stream)?;
        Ok(Ok(piece.as_ref().map(written)))
    }

    async fn write(&mut self, at: Resource<Stream>, data: String) -> ImportResult<()> {
        let value = match json_of("data", &data) {
            Ok(value) => value,
            Err(error) => return Ok(Err(error)),
        };
        let stream = self.stream(&at)?;
        let sent = self.suspended(stream.input.send(value)).await;
        self.put_back(&at, stream)?;
        let gone = |_| refused(CallError::new(ErrorCode::Io, "the call takes no more input"));
        Ok(sent.map_err(gone))
    }

    async fn finish(&mut self, at: Resource<Stream>) -> ImportResult<String> {
        let mut stream = self.stream(&at)?;
        let Some(serving) = stream.serving.take() else {
            return Ok(Err(invalid("the stream was finished before")));
        };
        drop(std::mem::replace(&mut stream.input, mpsc::channel(1).0));
        let pieces = &mut stream.pieces;
        let end = async {
            // What nobody reads must not hold the call back.
            while pieces.recv().await.is_some() {}
            serving.await
        };
        let outcome = self.suspended(end).await;
        self.put_back(&at, stream)?;
        let lost = |_| CallError::new(ErrorCode::Internal, "the call was lost");
        Ok(outcome.map_err(lost).and_then(|outcome| outcome).map(|value| written(&value)).map_err(refused))
    }

    async fn drop(&mut self, at: Resource<Stream>) -> wasmtime::Result<()> {
        self.streams.delete(at)?;
        Ok(())
    }
}
