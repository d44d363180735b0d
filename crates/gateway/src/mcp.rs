//! jackfield as an MCP server: every tool, prompt and resource of every extension behind one connection, in both eras of
//! the protocol. Up to 2025-11-25 a client shakes hands and is asked questions; from 2026-07-28 every request stands for
//! itself and questions are part of answers.
//!
//! A [`McpFace`] is shared by all clients of a host. [`serve`] talks with one client over lines, [`McpSocket`] with
//! those that attach to a host that runs, [`mcp_router`] over HTTP.

mod approve;
mod calls;
mod catalog;
mod client;
mod dispatch;
mod exchange;
mod http;
mod lines;
mod notifications;
mod out;
mod peer;
mod pending_input;
mod prompts;
mod resources;
mod search;
mod socket;
mod wire;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use jackfield_host::Host;
use jackfield_protocol::glob_matches;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use catalog::Lists;
use client::Client;
use notifications::Listener;
use pending_input::PendingInputs;
use wire::Seal;

pub use http::{HttpOptions, mcp_router, new_token, serve_http};
pub use lines::serve;
pub use search::{Cost, costs};
pub use socket::{Attached, McpSocket, attach, socket_path};

/// The revision without a handshake.
pub(crate) const MODERN: &str = "2026-07-28";
/// The revisions with one, newest first.
pub(crate) const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Which tools a client sees.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Expose {
    /// Every tool.
    #[default]
    All,
    /// Three that find, describe and call the others, and those whose names these patterns match.
    Search(Vec<String>),
    /// Those whose names these patterns match, and no others.
    Only(Vec<String>),
}

impl Expose {
    /// Reads what `--expose` says: `all`, `search`, or patterns; with `search` the patterns name favourites that stay in
    /// sight.
    pub fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let (mut search, mut patterns) = (false, Vec::new());
        for word in words.into_iter().flat_map(|word| word.split(',')).map(str::trim).filter(|word| !word.is_empty()) {
            match word {
                "all" => {}
                "search" => search = true,
                pattern => patterns.push(pattern.to_owned()),
            }
        }
        match (search, patterns.is_empty()) {
            (true, _) => Self::Search(patterns),
            (false, true) => Self::All,
            (false, false) => Self::Only(patterns),
        }
    }

    /// Whether a tool of this name is listed.
    pub(crate) fn lists(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Search(patterns) | Self::Only(patterns) => patterns.iter().any(|it| glob_matches(it, tool)),
        }
    }

    /// Whether a tool of this name may be called.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        match self {
            Self::All | Self::Search(_) => true,
            Self::Only(_) => self.lists(tool),
        }
    }
}

/// How the face is to be.
#[derive(Clone)]
pub struct McpOptions {
    /// Which tools clients see that do not say themselves.
    pub expose: Expose,
    /// Cancelled once every extension that was never seen before has had its chance to start. No tool runs before that,
    /// because one of them may be a guard.
    pub met: CancellationToken,
    /// How long a list waits for extensions that were never seen before when there is nothing else to list; what is known
    /// is listed at once, and the rest when it is.
    pub patience: Duration,
    /// How many items a page of a list has.
    pub page: usize,
}

impl Default for McpOptions {
    fn default() -> Self {
        let met = CancellationToken::new();
        met.cancel();
        Self { expose: Expose::All, met, patience: Duration::from_secs(3), page: 500 }
    }
}

/// A host as an MCP server, for any number of clients.
#[derive(Clone)]
pub struct McpFace {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) host: Host,
    pub(crate) options: McpOptions,
    lists: Mutex<Option<Arc<Lists>>>,
    clients: Mutex<Vec<Weak<Client>>>,
    pub(crate) listeners: Mutex<HashMap<u64, Listener>>,
    /// How many clients want news of a resource of an extension.
    pub(crate) watched: tokio::sync::Mutex<HashMap<String, usize>>,
    pub(crate) held: PendingInputs,
    pub(crate) seal: Seal,
    numbers: AtomicU64,
}

impl McpFace {
    /// Offers a host. Must be called within an async runtime: news of the host are passed on from now on.
    pub fn new(host: Host, options: McpOptions) -> Self {
        let events = host.events();
        let shared = Arc::new(Shared {
            host,
            options,
            lists: Mutex::default(),
            clients: Mutex::default(),
            listeners: Mutex::default(),
            watched: tokio::sync::Mutex::default(),
            held: PendingInputs::default(),
            seal: Seal::new(),
            numbers: AtomicU64::new(1),
        });
        tokio::spawn(notifications::pass_on(Arc::downgrade(&shared), events));
        Self { shared }
    }
}

impl Shared {
    /// A number that nothing else here has.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Everything that can be listed now. Made once for each state of the registry.
    pub(crate) fn lists(self: &Arc<Self>) -> Arc<Lists> {
        let snapshot = self.host.snapshot();
        let mut kept = lock(&self.lists);
        if let Some(lists) = kept.as_ref().filter(|lists| Arc::ptr_eq(&lists.snapshot, &snapshot)) {
            return Arc::clone(lists);
        }
        let lists = Arc::new(Lists::of(&self.host, snapshot));
        *kept = Some(Arc::clone(&lists));
        drop(kept);
        self.inspect(&lists);
        lists
    }

    /// Compiles the schemas of all tools behind the back of whoever waits for the list; those that turn out to be
    /// unusable disappear from it.
    fn inspect(self: &Arc<Self>, lists: &Arc<Lists>) {
        let (face, lists) = (Arc::downgrade(self), Arc::clone(lists));
        tokio::task::spawn_blocking(move || {
            let mut unusable = false;
            for tool in lists.snapshot.tools() {
                unusable |= tool.known_quarantine().is_none() && tool.quarantine().is_some();
            }
            let Some(face) = face.upgrade().filter(|_| unusable) else { return };
            let again = Arc::new(Lists::of(&face.host, Arc::clone(&lists.snapshot)));
            let mut kept = lock(&face.lists);
            if kept.as_ref().is_some_and(|kept| Arc::ptr_eq(kept, &lists)) {
                *kept = Some(Arc::clone(&again));
                drop(kept);
                face.changed(&again);
            }
        });
    }

    /// Remembers a client for as long as it is there.
    pub(crate) fn add(&self, client: &Arc<Client>) {
        let mut clients = lock(&self.clients);
        clients.retain(|client| client.strong_count() > 0);
        clients.push(Arc::downgrade(client));
    }

    /// Everybody who is there.
    pub(crate) fn clients(&self) -> Vec<Arc<Client>> {
        lock(&self.clients).iter().filter_map(Weak::upgrade).collect()
    }

    /// Who we are.
    pub(crate) fn info() -> Value {
        json!({ "name": "jackfield", "title": "jackfield", "version": env!("CARGO_PKG_VERSION") })
    }

    /// What clients' models should know: what there is here, and what the project says to agents.
    pub(crate) fn instructions(&self, expose: &Expose) -> String {
        let ours = match expose {
            Expose::All | Expose::Only(_) => "Tools, prompts and resources of all extensions that jackfield runs.",
            Expose::Search(_) => {
                "Many tools are available that are not listed. Find them with search_tools, look at their parameters with \
                 describe_tool, and call them with call_tool."
            }
        };
        match self.host.soul() {
            Some(soul) => format!("{ours}\n\n{soul}"),
            None => ours.to_owned(),
        }
    }
}

/// A lock whose holder died is as good as any: what it protects is changed in single steps.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_exposed() {
        assert_eq!(Expose::parse(["all"]), Expose::All);
        assert_eq!(Expose::parse([]), Expose::All);
        assert_eq!(Expose::parse(["search", "git_*,fs_read"]), Expose::Search(vec!["git_*".into(), "fs_read".into()]));
        let only = Expose::parse(["git_*"]);
        assert!(only.lists("git_log") && !only.lists("rm") && !only.offers("rm"));
        let search = Expose::parse(["search"]);
        assert!(!search.lists("rm") && search.offers("rm"));
    }
}
