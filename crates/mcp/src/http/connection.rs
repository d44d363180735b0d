//! One HTTP connection: it begins with the first message and ends with a farewell, or when the server forgot it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{is_secret_name, plain_text, redact_text};
use jackfield_runtime::{BoxFuture, Exit, LogFile, Secrets, StartError, StartSpec};
use tokio::sync::mpsc;

use super::{HttpServer, HttpTransport, Inner, annotations, lock};
use crate::oauth::Oauth;
use crate::runtime::Logins;
use crate::server_handle::{Connection, Incoming, ServerHandle};
use crate::transport::{IncomingMessage, Transport};
use crate::vars::Vars;

/// Messages that may wait to be looked at; what is more waits in the connection.
const MESSAGE_QUEUE: usize = 64;

/// How a server is reached, its variables filled in.
pub(crate) struct HttpTarget {
    spec: StartSpec,
    url: String,
    headers: BTreeMap<String, String>,
    logins: Logins,
    secrets: Secrets,
}

impl HttpTarget {
    /// Fills in the variables of a server's settings.
    ///
    /// # Errors
    /// A variable is not set.
    pub(crate) fn of(
        spec: &StartSpec,
        vars: &Vars<'_>,
        url: &str,
        headers: &BTreeMap<String, String>,
        logins: &Logins,
    ) -> Result<Self, StartError> {
        let written = headers;
        let (url, headers) = vars
            .address(url, headers)
            .map_err(|error| StartError::NotRunnable(format!("extension {}: {error}", spec.manifest.id)))?;
        let mut secrets: Vec<String> = spec.secrets.now().as_ref().clone();
        for (name, value) in &headers {
            if is_secret_name(name) || written.get(name) != Some(value) {
                // What follows a scheme is the secret.
                secrets.extend(value.split_whitespace().filter(|word| word.chars().count() >= 8).map(str::to_owned));
            }
        }
        Ok(Self { spec: spec.clone(), url, headers, logins: logins.clone(), secrets: Secrets::of(secrets) })
    }
}

/// Prepares the way to a server; nothing is sent.
///
/// # Errors
/// The address or a header is invalid.
pub(crate) fn connect(target: &HttpTarget) -> Result<Connection, StartError> {
    let unusable = |error: jackfield_protocol::CallError| StartError::NotRunnable(error.message);
    let Logins { store, setup, consent } = target.logins.clone();
    let name = target.spec.manifest.id.to_string();
    let oauth = Oauth::new(&name, &target.url, store, setup, consent).map_err(unusable)?;
    let (sender, incoming) = mpsc::channel(MESSAGE_QUEUE);
    let server = HttpServer {
        name,
        url: target.url.clone(),
        headers: target.headers.clone(),
        oauth: Some(oauth),
        log: Some(LogFile::at(&target.spec.log_file, target.secrets.clone())),
        secrets: target.secrets.clone(),
    };
    let transport = Arc::new(HttpTransport::new(server, sender).map_err(unusable)?);
    Ok(Connection {
        transport: Arc::clone(&transport) as Arc<dyn Transport>,
        incoming: Incoming::Queue(incoming),
        server: transport,
        warnings: Vec::new(),
    })
}

impl Inner {
    /// The way is gone; whoever waits for anything is told.
    pub(super) async fn lose(&self, why: &str, wanted: bool) {
        lock(&self.end).get_or_insert_with(|| (why.to_owned(), wanted));
        self.closed.cancel();
        self.lost.cancel();
        // Nobody may be left to hear it.
        self.incoming.send(IncomingMessage::Closed(why.to_owned())).await.ok();
    }

    /// Leaves without waiting.
    pub(super) fn leave(self: &Arc<Self>, why: &'static str) {
        self.closed.cancel();
        let farewell = self.farewell();
        let inner = Arc::clone(self);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                inner.lose(why, true).await;
                if let Some(farewell) = farewell {
                    farewell.await;
                }
            });
        } else {
            lock(&self.end).get_or_insert_with(|| (why.to_owned(), true));
            self.lost.cancel();
        }
    }
}

impl HttpTransport {
    async fn close(&self) {
        self.inner.closed.cancel();
        if let Some(farewell) = self.inner.farewell() {
            farewell.await;
        }
        self.inner.lose("the session was ended", true).await;
    }

    async fn ended(&self) -> Exit {
        self.inner.lost.cancelled().await;
        let (reason, wanted) = lock(&self.inner.end).clone().unwrap_or_default();
        Exit { reason, stderr: String::new(), wanted }
    }
}

impl ServerHandle for HttpTransport {
    fn note(&self, text: &str) {
        if let Some(log) = &self.inner.log {
            log.said("info", text);
        }
    }

    fn clean(&self, text: &str) -> String {
        redact_text(&plain_text(text), &self.inner.secrets.now())
    }

    fn fault(&self, definition: &str) -> Option<String> {
        // Only the modern era has such headers.
        if lock(&self.inner.session).version.is_some() { None } else { annotations::fault(definition) }
    }

    fn has_read_all(&self) -> Option<bool> {
        // A server far away may take its time; the deadline of the start is the only one.
        Some(false)
    }

    fn stop(&self, grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            if tokio::time::timeout(grace, self.close()).await.is_err() {
                self.inner.lose("the session was ended", true).await;
            }
            self.ended().await
        })
    }

    fn kill(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.close())
    }

    fn abandon(&self) {
        self.inner.leave("nobody uses it any more");
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(self.ended())
    }
}
