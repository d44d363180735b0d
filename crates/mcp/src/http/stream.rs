//! Streams of events: those that answer a request, that of what nobody asked for, and how both go on when they drop.

use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::CallError;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Response, StatusCode};
use tokio::sync::oneshot;

use super::events::{Events, Item};
use super::response::content_type;
use super::{IDLE_TIMEOUT, Inner, LONGEST, SESSION, VERSION, lock};
use crate::oauth::Challenge;
use crate::transport::{IncomingMessage, Outgoing};

/// How long to wait where the server does not say.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);
/// Even a server in a hurry waits this long.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How often in a row an answer is asked for again in vain.
const MAX_RESUME_FAILURES: u32 = 5;

impl Inner {
    /// Reads a stream to its end. Whether the answer to the request that it belongs to was among the events.
    pub(super) async fn read_events(
        &self,
        mut response: Response,
        events: &mut Events,
        request: Option<&Outgoing>,
    ) -> Result<bool, CallError> {
        events.begin();
        loop {
            let chunk = match request.filter(|request| request.method.as_deref() != Some("subscriptions/listen")) {
                // A stream of what may happen can be silent for as long as it likes.
                None => response.chunk().await,
                Some(_) => match tokio::time::timeout(IDLE_TIMEOUT, response.chunk()).await {
                    Ok(chunk) => chunk,
                    Err(_) => return Err(self.silent()),
                },
            };
            // A stream that breaks is one that ended: what is missing can be asked for again.
            let Ok(Some(chunk)) = chunk else { return Ok(false) };
            let mut answered = false;
            for item in events.feed(&chunk) {
                match item {
                    Item::Data(text) => answered |= self.pass_on(request, text).await,
                    Item::TooLong(bytes) if request.is_some() => return Err(self.too_long(bytes)),
                    Item::TooLong(bytes) => drop(self.incoming.send(IncomingMessage::TooLong(bytes)).await),
                }
            }
            if answered {
                return Ok(true);
            }
        }
    }

    /// Goes on with the answer to a request where its stream broke off.
    pub(super) async fn resume(&self, message: &Outgoing, mut events: Events) -> Result<(), CallError> {
        let mut failures = 0;
        loop {
            tokio::time::sleep(pause(&events, failures)).await;
            match self.get(events.last_id()).await {
                Ok(response) => {
                    let before = events.last_id().map(str::to_owned);
                    if self.read_events(response, &mut events, Some(message)).await? {
                        return Ok(());
                    }
                    // A stream that brings nothing new is no progress.
                    failures = if events.last_id() == before.as_deref() { failures + 1 } else { 0 };
                }
                Err(Absent::For) => failures += 1,
                Err(Absent::Ever(why)) => {
                    return Err(self.broken(&format!("its stream broke off and cannot be resumed: {why}")));
                }
            }
            if failures >= MAX_RESUME_FAILURES {
                return Err(self.broken("its stream broke off, and the answer did not come after it was resumed"));
            }
        }
    }

    /// Opens the stream of what nobody asked for, and keeps it open while the session lasts. What comes back ends when the
    /// server has answered.
    pub(super) fn listen(self: &Arc<Self>) -> oneshot::Receiver<()> {
        let (opened, answered) = oneshot::channel();
        let (inner, closed) = (Arc::clone(self), self.closed.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = closed.cancelled() => {}
                () = inner.keep_listening(opened) => {}
            }
        });
        answered
    }

    async fn keep_listening(&self, opened: oneshot::Sender<()>) {
        let mut opened = Some(opened);
        let mut events = Events::new(LONGEST);
        let mut failures = 0;
        loop {
            let got = self.get(events.last_id()).await;
            // Whoever waited for it may have gone on.
            opened.take().map(|opened| opened.send(()).ok());
            match got {
                Ok(response) => {
                    failures = 0;
                    // What comes on this stream answers nothing, so nothing of it is an error.
                    drop(self.read_events(response, &mut events, None).await);
                }
                Err(Absent::Ever(_)) => return,
                Err(Absent::For) => failures += 1,
            }
            tokio::time::sleep(pause(&events, failures)).await;
        }
    }

    /// Asks for a stream, from an event on if one is given.
    async fn get(&self, from: Option<&str>) -> Result<Response, Absent> {
        let mut headers: HeaderMap = self.headers.clone();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let session = lock(&self.session).clone();
        let named = session.id.is_some();
        session.version.map(|version| headers.insert(VERSION, version));
        session.id.map(|id| headers.insert(SESSION, id));
        if let Some(from) = from.and_then(|from| HeaderValue::try_from(from).ok()) {
            headers.insert("last-event-id", from);
        }
        let bearer = self.authorize(&mut headers).await.map_err(|error| Absent::Ever(error.message))?;
        let request = self.client.get(self.url.clone()).headers(headers);
        let response = match tokio::time::timeout(IDLE_TIMEOUT, request.send()).await {
            Ok(response) => response.map_err(|_| Absent::For)?,
            Err(_) => return Err(Absent::For),
        };
        let status = response.status();
        match status {
            StatusCode::OK if content_type(response.headers()) == "text/event-stream" => Ok(response),
            StatusCode::UNAUTHORIZED => {
                let challenge = Challenge::of(status.as_u16(), response.headers());
                match &self.oauth {
                    Some(oauth) => match oauth.refresh(&challenge, bearer.as_deref()).await {
                        Ok(()) => Err(Absent::For),
                        Err(error) => Err(Absent::Ever(error.message)),
                    },
                    None => Err(Absent::Ever("it wants a login".to_owned())),
                }
            }
            StatusCode::NOT_FOUND if named => {
                let why = format!("MCP server {} does not know the session any more (404)", self.name);
                self.lose(&why, false).await;
                Err(Absent::Ever(why))
            }
            _ if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => Err(Absent::For),
            // Most servers have nothing to say by themselves: 405.
            _ => Err(Absent::Ever(status.to_string())),
        }
    }
}

/// Why there is no stream.
enum Absent {
    /// It may come back.
    For,
    /// It will not.
    Ever(String),
}

fn pause(events: &Events, failures: u32) -> Duration {
    let asked = events.retry().unwrap_or(DEFAULT_PAUSE).max(SHORTEST_PAUSE);
    if failures == 0 { asked } else { asked.saturating_mul(1 << failures.min(6)).min(LONGEST_PAUSE.max(asked)) }
}
