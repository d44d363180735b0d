//! Logging in to HTTP servers: OAuth 2.1 as MCP wants it.
//!
//! Credentials are bound to the server's address and to who issued them, are kept for their owner alone, and go nowhere but to
//! that server and that issuer. What an agent presents to us is never passed on.

mod challenge;
mod discover;
mod flow;
mod loopback;
mod store;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use jackfield_protocol::{CallError, ErrorCode};
use jackfield_runtime::BoxFuture;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::sync::Mutex;

pub use challenge::Challenge;
use discover::{Finder, canonical};
use flow::{NotIssued, now};
pub use loopback::Loopback;
use store::Record;
pub use store::Store;

use crate::http::{described, refused};

/// Somebody who can be asked to log in.
pub trait Consent: Send + Sync {
    /// Where the issuer sends the browser back to.
    fn redirect_uri(&self) -> String;

    /// Shows an address to the person and waits; gives the address that their browser came back to.
    fn ask<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<String, CallError>>;
}

/// Who we are to an issuer, where a person said so.
#[derive(Clone, Default)]
pub struct ClientSetup {
    /// The id that the issuer gave.
    pub client_id: Option<String>,
    /// The secret that came with it.
    pub client_secret: Option<String>,
    /// Whose they are, if it is known.
    pub issuer: Option<String>,
    /// The address of a document about this client, which is its id for issuers that take such.
    pub metadata_url: Option<String>,
    /// Asked for besides what the server wants.
    pub scopes: Vec<String>,
}

/// Holds the credentials for one server.
pub struct Oauth {
    name: String,
    server: Url,
    http: reqwest::Client,
    store: Option<Store>,
    setup: ClientSetup,
    consent: Option<Arc<dyn Consent>>,
    held: Mutex<Held>,
    /// What was last sent, for whoever cannot wait.
    last: SyncMutex<Option<String>>,
}

#[derive(Default)]
struct Held {
    loaded: bool,
    record: Option<Record>,
    /// What the last login of this process asked for.
    asked: Option<Vec<String>>,
}

/// A token is renewed this long before it ends.
const RENEW_BEFORE_SECONDS: u64 = 30;

/// How long a server may take to say whether it wants a login.
const PROBE_TIMEOUT: Duration = Duration::from_secs(20);

/// Under which a server's credentials are kept.
pub(crate) fn key(server: &Url) -> String {
    canonical(server)
}

impl Oauth {
    /// Credentials for the server called `name` at `url`, kept in `store`. Without `consent` nobody is asked, and what
    /// cannot be renewed is refused with the next step.
    ///
    /// # Errors
    /// The address is invalid.
    pub fn new(
        name: &str,
        url: &str,
        store: Option<Store>,
        setup: ClientSetup,
        consent: Option<Arc<dyn Consent>>,
    ) -> Result<Self, CallError> {
        let server = Url::parse(url).map_err(|error| {
            CallError::new(ErrorCode::InvalidConfig, format!("the url of MCP server {name} is invalid: {error}"))
        })?;
        let http = crate::http::client()?;
        let (held, last) = (Mutex::default(), SyncMutex::default());
        Ok(Self { name: name.to_owned(), server, http, store, setup, consent, held, last })
    }

    fn finder(&self) -> Finder<'_> {
        Finder { name: &self.name, server: &self.server, http: &self.http }
    }

    /// What was last sent to the server.
    pub(crate) fn known_bearer(&self) -> Option<String> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The token to send, renewed if it is about to end.
    ///
    /// # Errors
    /// The server is one that no token may be sent to.
    pub async fn bearer(&self) -> Result<Option<String>, CallError> {
        let mut held = self.held.lock().await;
        if !std::mem::replace(&mut held.loaded, true) {
            held.record = self.load();
        }
        let ending = |record: &Record| record.expires_at.is_some_and(|end| end < now() + RENEW_BEFORE_SECONDS);
        if held.record.as_ref().is_some_and(|record| ending(record) && record.refresh_token.is_some()) {
            // Where that fails the server has the last word.
            self.refresh_held(&mut held).await.ok();
        }
        let token = held.record.as_ref().and_then(|record| record.access_token.clone());
        if token.is_some() {
            // A token on an open line is everybody's.
            self.finder().allowed(self.server.as_str())?;
        }
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&token);
        Ok(token)
    }

    fn load(&self) -> Option<Record> {
        self.store.as_ref()?.load(&key(&self.server))
    }

    fn save(&self, record: &Record) -> Result<(), CallError> {
        let Some(store) = &self.store else { return Ok(()) };
        store.save(record).map_err(|error| {
            let text = format!("cannot keep the credentials for MCP server {}: {error}", self.name);
            CallError::new(ErrorCode::Io, text)
        })
    }

    /// The server refused `used`: gets other credentials, from another process, by renewing or from a person.
    ///
    /// # Errors
    /// There are none to be had; says what to do.
    pub async fn renew(&self, challenge: &Challenge, used: Option<&str>) -> Result<(), CallError> {
        let mut held = self.held.lock().await;
        if challenge.status == 401 && self.renewed(&mut held, used).await {
            return Ok(());
        }
        if challenge.status == 403 && !challenge.wants_more() {
            return Err(refused(&self.name, challenge, false));
        }
        let Some(consent) = &self.consent else { return Err(refused(&self.name, challenge, false)) };
        let wanted: Vec<String> =
            challenge.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned).collect();
        if challenge.status == 403
            && held.asked.as_ref().is_some_and(|asked| wanted.iter().all(|scope| asked.contains(scope)))
        {
            // It was granted just that and is still not content; asking again would go round in circles.
            return Err(refused(&self.name, challenge, false));
        }
        self.login_held(&mut held, challenge, consent.as_ref()).await
    }

    /// As [`Oauth::renew`], and nobody is asked.
    pub(crate) async fn refresh(&self, challenge: &Challenge, used: Option<&str>) -> Result<(), CallError> {
        let mut held = self.held.lock().await;
        if self.renewed(&mut held, used).await { Ok(()) } else { Err(refused(&self.name, challenge, false)) }
    }

    async fn renewed(&self, held: &mut Held, used: Option<&str>) -> bool {
        let current = |held: &Held| held.record.as_ref().and_then(|record| record.access_token.clone());
        // Another request, or a login in another process, was quicker.
        if current(held).as_deref() != used && current(held).is_some() {
            return true;
        }
        if let Some(stored) = self.load()
            && stored.access_token.is_some()
            && stored.access_token.as_deref() != used
        {
            held.record = Some(stored);
            return true;
        }
        used.is_some() && self.refresh_held(held).await.is_ok()
    }

    async fn refresh_held(&self, held: &mut Held) -> Result<(), CallError> {
        let before = held.record.as_ref().and_then(|record| record.access_token.clone());
        let _lock = match &self.store {
            Some(store) => store.lock(&key(&self.server)).await.ok(),
            None => None,
        };
        if let Some(stored) = self.load() {
            let newer = stored.access_token != before && stored.access_token.is_some();
            held.record = Some(stored);
            if newer {
                return Ok(());
            }
        }
        let Some(record) = &mut held.record else { return Err(self.finder().error("nobody has logged in yet")) };
        let done = self.finder().refresh(record).await;
        match done {
            Ok(()) => self.save(record),
            Err(NotIssued::Refused(error)) => {
                // It is of no use any more; the next time nobody has to wait to hear so.
                record.refresh_token = None;
                self.save(record).ok();
                Err(error)
            }
            Err(NotIssued::Failed(error)) => Err(error),
        }
    }

    /// Asks the server without credentials. What it wants, if it wants a login.
    ///
    /// # Errors
    /// The server cannot be reached, or a header cannot be sent.
    pub async fn knock(&self, headers: &BTreeMap<String, String>) -> Result<Option<Challenge>, CallError> {
        const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"jackfield","version":"0"}}}"#;
        let mut request = self.http.post(self.server.clone()).header(CONTENT_TYPE, "application/json");
        request = request.header(ACCEPT, "application/json, text/event-stream").timeout(PROBE_TIMEOUT);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let failed = |error: reqwest::Error| {
            let text = format!("cannot reach MCP server {}: {}", self.name, described(&error));
            CallError::new(ErrorCode::Unavailable, text)
        };
        let response = request.body(HELLO).send().await.map_err(failed)?;
        let status = response.status().as_u16();
        if matches!(status, 401 | 403) {
            return Ok(Some(Challenge::of(status, response.headers())));
        }
        if let Some(session) = response.headers().get("mcp-session-id").cloned() {
            let farewell =
                self.http.delete(self.server.clone()).header("mcp-session-id", session).timeout(PROBE_TIMEOUT);
            // It was only to look; a server that keeps the session forgets it in time.
            farewell.send().await.ok();
        }
        // Some let everybody in and want a login for what is inside.
        let asks = self.finder().has_metadata().await?;
        Ok(asks.then(|| Challenge { status: 401, ..Challenge::default() }))
    }

    /// Logs in anew, with a person's help.
    ///
    /// # Errors
    /// Nobody can be asked, they said no, or the issuer is not to be trusted.
    pub async fn login(&self, challenge: &Challenge) -> Result<(), CallError> {
        let mut held = self.held.lock().await;
        let Some(consent) = &self.consent else { return Err(refused(&self.name, challenge, false)) };
        if !std::mem::replace(&mut held.loaded, true) {
            held.record = self.load();
        }
        self.login_held(&mut held, challenge, consent.as_ref()).await
    }

    async fn login_held(&self, held: &mut Held, challenge: &Challenge, consent: &dyn Consent) -> Result<(), CallError> {
        let finder = self.finder();
        finder.allowed(self.server.as_str())?;
        let known = held.record.as_ref().map(|record| record.issuer.as_str());
        let found = finder.find(challenge.metadata.as_deref(), known).await?;
        let scopes = self.scopes(challenge, held, &found);
        let before = held.record.as_ref();
        let redirect_uri = consent.redirect_uri();
        let client = finder.client(&found.issuer, &self.setup, before, &redirect_uri, &scopes.join(" ")).await?;
        held.asked = Some(scopes.clone());
        let record = finder.authorize(&found, client, scopes, consent).await?;
        self.save(&record)?;
        held.record = Some(record);
        Ok(())
    }

    /// What to ask for: what the refusal says, else what the server lists, else nothing; and what was granted before, when
    /// more is wanted.
    fn scopes(&self, challenge: &Challenge, held: &Held, found: &discover::Found) -> Vec<String> {
        let mut scopes: Vec<String> = match (&challenge.scope, &found.scopes) {
            (Some(scope), _) => scope.split_whitespace().map(str::to_owned).collect(),
            (None, Some(listed)) => listed.clone(),
            (None, None) => Vec::new(),
        };
        let before = held.record.as_ref().filter(|record| record.issuer == found.issuer.issuer);
        let mut add = |scope: &String| {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        };
        if challenge.status == 403 {
            before.iter().flat_map(|record| &record.scopes).for_each(&mut add);
        }
        self.setup.scopes.iter().for_each(&mut add);
        let offline = "offline_access".to_owned();
        // Without it some issuers give nothing to renew a login with.
        if !scopes.is_empty()
            && !scopes.contains(&offline)
            && found.issuer.scopes_supported.as_ref().is_some_and(|listed| listed.contains(&offline))
        {
            scopes.push(offline);
        }
        scopes
    }

    /// Gives the credentials back and forgets them. Whether there were any.
    ///
    /// # Errors
    /// The file cannot be removed. What the issuer says about it is the second part of the answer.
    pub async fn logout(&self) -> Result<(bool, Option<CallError>), CallError> {
        let mut held = self.held.lock().await;
        let record = self.load();
        let unrevoked = match &record {
            Some(record) => self.finder().revoke(record).await.err(),
            None => None,
        };
        held.record = None;
        let removed = self.store.as_ref().map_or(Ok(false), |store| store.remove(&key(&self.server)));
        let removed = removed.map_err(|error| {
            let text = format!("cannot remove the credentials for MCP server {}: {error}", self.name);
            CallError::new(ErrorCode::Io, text)
        })?;
        Ok((removed, unrevoked))
    }
}

#[cfg(test)]
mod tests;
