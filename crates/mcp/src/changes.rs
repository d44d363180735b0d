//! Lists that change while a server runs: it says so, and the list is fetched again and told to the host.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jackfield_protocol::ContributionChange;
use jackfield_runtime::CallCx;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::envelope::METHOD_NOT_FOUND;
use crate::offers::{self, List, Offers};
use crate::session::{Ask, Session, lock};

/// How long it must be quiet before a list is fetched.
const QUIET_PERIOD: Duration = Duration::from_millis(50);
/// How long a list may take that nobody waits for.
const LIST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a subscription is meant to last.
const NO_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// The longest pause before a subscription is tried again.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The most resources that are subscribed to.
const MOST_URIS: usize = 1000;

const TOOLS: u8 = 1;
const PROMPTS: u8 = 2;
const RESOURCES: u8 = 4;

/// What has changed since somebody looked, and what is listened to.
#[derive(Default)]
pub(crate) struct Changes {
    flags: AtomicU8,
    told: Notify,
    /// Resources that callers want to hear about, in the newer era.
    uris: Mutex<BTreeSet<String>>,
    relisten: Notify,
}

impl Changes {
    pub(crate) fn tools(&self) {
        self.note(TOOLS);
    }

    pub(crate) fn prompts(&self) {
        self.note(PROMPTS);
    }

    pub(crate) fn resources(&self) {
        self.note(RESOURCES);
    }

    fn note(&self, what: u8) {
        self.flags.fetch_or(what, Ordering::AcqRel);
        self.told.notify_one();
    }

    /// A caller wants to hear about a resource, or does not any more. False when there are too many.
    pub(crate) fn subscribe(&self, uri: &str, on: bool) -> bool {
        let mut uris = lock(&self.uris);
        let changed = if !on {
            uris.remove(uri)
        } else if uris.len() >= MOST_URIS {
            return uris.contains(uri);
        } else {
            uris.insert(uri.to_owned())
        };
        if changed {
            self.relisten.notify_one();
        }
        true
    }
}

/// Fetches what the server says has changed, until the session is over. `offers` is what it offered at first.
pub(crate) async fn follow(session: Arc<Session>, mut offers: Offers, warnings: Vec<String>) {
    loop {
        tokio::select! {
            () = session.changes.told.notified() => {}
            () = session.over.cancelled() => return,
        }
        tokio::time::sleep(QUIET_PERIOD).await;
        let flags = session.changes.flags.swap(0, Ordering::AcqRel);
        let began = Instant::now();
        let again = |list| offers::fetch(&session, list, LIST_TIMEOUT);
        let mut failed = Vec::new();
        for (flag, list) in
            [(TOOLS, List::Tools), (PROMPTS, List::Prompts), (RESOURCES, List::Resources), (RESOURCES, List::Templates)]
        {
            if flags & flag == 0 {
                continue;
            }
            match again(list).await {
                Ok(fetched) => match list {
                    List::Tools => offers.tools = fetched,
                    List::Prompts => offers.prompts = fetched,
                    List::Resources => offers.resources = fetched,
                    List::Templates => offers.templates = fetched,
                },
                // What it offered before stays; it may say again that something changed.
                Err(error) => failed.push(error),
            }
        }
        if session.over.is_cancelled() {
            return;
        }
        for error in &failed {
            session.server.note(&format!("a list that changed could not be fetched: {error}"));
        }
        if let Some(met) = session.met.get() {
            session.host.contribute(ContributionChange::All(offers.contributions(met, &warnings)));
        }
        // A server that changes all the time does not get all the time.
        tokio::time::sleep(began.elapsed().min(LIST_TIMEOUT)).await;
    }
}

/// Keeps a subscription open, until the session is over or the server does not know what that is. Newer era only.
pub(crate) async fn subscribe(session: Arc<Session>) {
    const METHOD: &str = "subscriptions/listen";
    let mut pause = Duration::from_millis(500);
    loop {
        let Some(filter) = filter(&session) else {
            tokio::select! {
                () = session.changes.relisten.notified() => continue,
                () = session.over.cancelled() => return,
            }
        };
        let meta = session.meta(&Map::new(), None).unwrap_or_else(|| "{}".to_owned());
        let params = |_: u64| format!("{{\"notifications\":{filter},\"_meta\":{meta}}}");
        let cx = CallCx::within(NO_TIMEOUT);
        let began = Instant::now();
        let ended = tokio::select! {
            ended = session.request(Ask::own(METHOD), params, &cx) => ended,
            // Dropping the request takes the old subscription back.
            () = session.changes.relisten.notified() => continue,
            () = session.over.cancelled() => return,
        };
        if let Ok(Err(error)) = &ended {
            session.server.note(&format!("{METHOD} was refused: {} (code {})", error.message, error.code));
            if error.code == METHOD_NOT_FOUND {
                return;
            }
        }
        if began.elapsed() > LONGEST_PAUSE {
            pause = Duration::from_millis(500);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = session.over.cancelled() => return,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
        // What changed while nobody listened.
        session.changes.note(TOOLS | PROMPTS | RESOURCES);
    }
}

/// What to listen to; nothing if there is nothing.
fn filter(session: &Session) -> Option<Value> {
    let met = session.met.get()?;
    let mut filter = Map::new();
    for (capability, key) in
        [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
    {
        if met.tells_of_changes(capability) {
            filter.insert(key.to_owned(), json!(true));
        }
    }
    let uris = lock(&session.changes.uris).clone();
    if !uris.is_empty() {
        filter.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    (!filter.is_empty()).then_some(Value::Object(filter))
}
