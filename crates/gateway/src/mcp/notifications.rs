//! What happens without a request: lists that change, resources that change, log lines that belong to no call.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use jackfield_host::HostEvent;
use jackfield_mcp::envelope::{self, RpcError};
use jackfield_protocol::{ExtensionId, Notice, NoticeLevel};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::catalog::Lists;
use super::client::Client;
use super::exchange::{Era, Exchange, Params, SUBSCRIPTION};
use super::out::Out;
use super::{Shared, catalog, lock, peer, resources};

/// How long changes are collected before the client is told.
const BATCH_WINDOW: Duration = Duration::from_millis(20);

/// Which lists have changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl Changed {
    /// What both say.
    fn and(self, other: Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            prompts: self.prompts && other.prompts,
            resources: self.resources && other.resources,
        }
    }

    /// As they are told.
    fn methods(self) -> impl Iterator<Item = &'static str> {
        let all = [
            (self.tools, "notifications/tools/list_changed"),
            (self.prompts, "notifications/prompts/list_changed"),
            (self.resources, "notifications/resources/list_changed"),
        ];
        all.into_iter().filter(|(changed, _)| *changed).map(|(_, method)| method)
    }
}

/// Somebody who listens, as clients do from 2026-07-28.
pub(crate) struct Listener {
    id: Value,
    out: Out,
    wants: Changed,
    seen: Arc<Lists>,
    uris: BTreeSet<String>,
}

impl Listener {
    fn tell(&self, method: &str, mut params: Map<String, Value>) {
        params.insert("_meta".to_owned(), json!({ SUBSCRIPTION: self.id }));
        self.out.tell(envelope::notification(method, Some(&Value::Object(params).to_string())));
    }
}

/// Passes news of the host on until the face has gone.
pub(crate) async fn pass_on(face: Weak<Shared>, mut events: broadcast::Receiver<HostEvent>) {
    loop {
        let event = events.recv().await;
        match event {
            Ok(HostEvent::RegistryChanged | HostEvent::Reloaded(_)) | Err(RecvError::Lagged(_)) => {
                tokio::time::sleep(BATCH_WINDOW).await;
                let Some(shared) = face.upgrade() else { return };
                shared.changed(&shared.lists());
            }
            Ok(HostEvent::Notice { extension, notice }) => {
                let Some(shared) = face.upgrade() else { return };
                shared.noticed(&extension, &notice);
            }
            Ok(_) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

impl Shared {
    /// Tells everybody which of the lists that they have seen are others now.
    pub(crate) fn changed(&self, now: &Arc<Lists>) {
        for client in self.clients().iter().filter(|client| client.legacy().is_some()) {
            let Some(seen) = lock(&client.seen).replace(Arc::clone(now)) else {
                // Whoever has seen nothing has nothing to look at again.
                *lock(&client.seen) = None;
                continue;
            };
            for method in catalog::changed(&seen, now).methods() {
                client.general.tell(envelope::notification(method, None));
            }
        }
        for listener in lock(&self.listeners).values_mut() {
            let changed = catalog::changed(&listener.seen, now);
            listener.seen = Arc::clone(now);
            for method in changed.and(listener.wants).methods() {
                listener.tell(method, Map::new());
            }
        }
    }

    /// Tells those whom it concerns what an extension said outside of any call.
    fn noticed(self: &Arc<Self>, extension: &ExtensionId, notice: &Notice) {
        match notice {
            Notice::Mcp { call_id: None, method, params } if method == "notifications/resources/updated" => {
                let Some(uri) = resources::uri_of(params) else { return };
                let uri = resources::public_uri(&self.lists(), extension, uri);
                let mut params = params.as_object().cloned().unwrap_or_default();
                params.insert("uri".to_owned(), json!(uri));
                for client in self.clients() {
                    if lock(&client.subscriptions).contains(&uri) {
                        let params = Value::Object(params.clone()).to_string();
                        client.general.tell(envelope::notification(method, Some(&params)));
                    }
                }
                for listener in lock(&self.listeners).values().filter(|listener| listener.uris.contains(&uri)) {
                    listener.tell(method, params.clone());
                }
            }
            Notice::Mcp { call_id: None, method, params } if method == "notifications/message" => {
                self.logged(params);
            }
            Notice::Notify { level, message } => {
                let level = match level {
                    NoticeLevel::Info | NoticeLevel::Success => "info",
                    NoticeLevel::Warn => "warning",
                    NoticeLevel::Error => "error",
                };
                self.logged(&json!({ "level": level, "logger": extension, "data": message }));
            }
            _ => {}
        }
    }

    fn logged(&self, params: &Value) {
        let wants =
            |client: &&Arc<Client>| client.legacy().is_some() && peer::wants_log(Era::Legacy, client.level(), params);
        for client in self.clients().iter().filter(wants) {
            client.general.tell(envelope::notification("notifications/message", Some(&params.to_string())));
        }
    }
}

/// `subscriptions/listen`: says what will be told, and tells it until the client has had enough.
pub(crate) async fn listen(exchange: &Exchange, params: &Params<'_>) -> Result<String, RpcError> {
    let face = Arc::clone(&exchange.client.face);
    let filter = params.notifications.clone().unwrap_or_default();
    let wants = |name: &str| filter.get(name).and_then(Value::as_bool).unwrap_or(false);
    let changes = Changed {
        tools: wants("toolsListChanged"),
        prompts: wants("promptsListChanged"),
        resources: wants("resourcesListChanged"),
    };
    let mut uris = BTreeSet::new();
    let asked = filter.get("resourceSubscriptions").and_then(Value::as_array);
    for uri in asked.into_iter().flatten().filter_map(Value::as_str).take(1024) {
        // What nobody knows is left out of what is promised.
        if uris.contains(uri) || resources::watch(&face, uri, exchange.era).await.is_ok() {
            uris.insert(uri.to_owned());
        }
    }
    let mut promised = Map::new();
    let flags = [
        ("toolsListChanged", changes.tools),
        ("promptsListChanged", changes.prompts),
        ("resourcesListChanged", changes.resources),
    ];
    promised.extend(flags.iter().filter(|(_, wanted)| *wanted).map(|(name, _)| ((*name).to_owned(), json!(true))));
    if !uris.is_empty() {
        promised.insert("resourceSubscriptions".to_owned(), json!(uris));
    }
    let number = face.number();
    let (id, out, seen) = (exchange.id.clone(), exchange.out.clone(), face.lists());
    let listener = Listener { id, out, wants: changes, seen, uris };
    let mut said = Map::new();
    said.insert("notifications".to_owned(), Value::Object(promised));
    {
        // Nothing may come before the promise.
        let mut listeners = lock(&face.listeners);
        listener.tell("notifications/subscriptions/acknowledged", said);
        listeners.insert(number, listener);
    }
    let listening = Listening { face: Arc::clone(&face), number };
    exchange.cancel.cancelled().await;
    drop(listening);
    Ok(json!({ "resultType": "complete", "_meta": { SUBSCRIPTION: exchange.id } }).to_string())
}

/// Ends the listening when whoever listens has gone.
struct Listening {
    face: Arc<Shared>,
    number: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let Some(listener) = lock(&self.face.listeners).remove(&self.number) else { return };
        forget(&self.face, listener.uris);
    }
}

/// Takes back the wish for news of resources, behind the back of whoever has gone.
pub(crate) fn forget(face: &Arc<Shared>, uris: BTreeSet<String>) {
    if uris.is_empty() {
        return;
    }
    let face = Arc::clone(face);
    if let Ok(runtime) = tokio::runtime::Handle::try_current() {
        runtime.spawn(async move {
            for uri in uris {
                resources::unwatch(&face, &uri).await;
            }
        });
    }
}
