//! Reload: finds out what has changed and puts new versions in place of old ones, while calls go on.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use jackfield_discovery::catalog::Catalog;
use jackfield_discovery::trust::{Trust, TrustError, TrustState};
use jackfield_discovery::{Extent, Found, Origin, Report, Standing};
use jackfield_protocol::{Contributions, Correlation, ExtensionId, Format};
use serde::Serialize;
use serde_json::json;

use crate::host::{Host, HostEvent, Inner, serving};
use crate::supervisor::{DRAIN, Reloads, Supervised};

/// What became of one extension in a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Reloaded {
    /// The extension.
    pub extension: ExtensionId,
    /// The hash of the version before, if it had run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The hash of the version now, unless it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<String>,
    /// What is different, for people.
    pub changes: Vec<String>,
    /// Why the old version stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What to reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Which<'a> {
    /// Whatever has changed on disk.
    Changed,
    /// Everything.
    All,
    /// This one, changed or not.
    One(&'a ExtensionId),
}

impl Host {
    /// From now on changes of the project are vouched for as they are noticed, if it is trusted now: whoever works on its
    /// extensions has this host beside the editor. Says whether it is so.
    pub fn follow_project(&self) -> bool {
        let inner = &self.inner;
        let is_trusted = self.project_trust() == TrustState::Trusted;
        inner.extensions.follows_project.store(is_trusted, Ordering::Relaxed);
        is_trusted
    }

    /// Whether the project's extensions may run, as its files are now.
    pub fn project_trust(&self) -> TrustState {
        Trust::load_with(&self.inner.home, &self.inner.extensions.catalog).state(&self.inner.project)
    }

    /// Vouches for the project's extensions as they are now, and takes them in. For a person who said yes: their code
    /// runs from then on, also in later hosts of this home.
    ///
    /// # Errors
    /// The record of trusted projects cannot be written, or the project cannot be read.
    pub async fn trust_project(&self) -> Result<Vec<Reloaded>, TrustError> {
        Trust::load_with(&self.inner.home, &self.inner.extensions.catalog).trust(&self.inner.project)?;
        Ok(self.reload(Which::Changed).await)
    }

    /// Looks again at every place where extensions are, starts what is new, stops what is gone, and puts new versions in
    /// place of old ones. A version that does not start leaves the old one running.
    pub async fn reload(&self, which: Which<'_>) -> Vec<Reloaded> {
        let inner = &self.inner;
        let _one_at_a_time = inner.extensions.reloading.lock().await;
        if inner.extensions.follows_project.load(Ordering::Relaxed) {
            // Where it cannot be done, the extensions say that their project has changed, and what to do.
            Trust::load_with(&inner.home, &inner.extensions.catalog).trust(&inner.project).ok();
        }
        let report = inner.discover();
        let now = serving(&report);
        let mut outcomes = Vec::new();
        let changing = inner.extensions.rebuilding.lock().unwrap_or_else(PoisonError::into_inner);
        let before = inner.extensions.all.load_full();
        let mut next: BTreeMap<ExtensionId, Arc<Supervised>> = BTreeMap::new();
        let mut gone = Vec::new();
        for (id, extension) in before.iter() {
            if now.contains_key(id) || extension.origin() == Origin::Attached {
                next.insert(id.clone(), Arc::clone(extension));
            } else if let Some(broken) = broken_in_place(&report, extension, &inner.extensions.catalog) {
                // Without a readable manifest even its id is a guess.
                next.insert(id.clone(), Arc::clone(extension));
                outcomes.push(broken);
            } else {
                gone.push(Arc::clone(extension));
            }
        }
        let mut fresh = Vec::new();
        for (id, found) in &now {
            if !next.contains_key(id) {
                let extension = inner.supervised(found.clone());
                fresh.push(Arc::clone(&extension));
                next.insert(id.clone(), extension);
            }
        }
        inner.extensions.all.store(Arc::new(next));
        drop(changing);
        inner.extensions.report.store(Arc::new(report));
        // A call from now on waits for the new ones: they may be guards.
        inner.rebuild_quietly();
        for extension in gone {
            outcomes.push(inner.remove(&extension));
            tokio::spawn(async move { extension.retire(DRAIN).await });
        }
        inner.describe(&fresh).await;
        for extension in fresh {
            outcomes.extend(inner.add(&extension).await);
        }
        for (id, found) in now {
            if let Some(extension) = before.get(&id) {
                outcomes.extend(inner.renew(extension, found, which).await);
            }
        }
        inner.rebuild();
        for outcome in &outcomes {
            inner.note_reload(outcome);
            inner.publish(HostEvent::Reloaded(outcome.clone()));
        }
        outcomes
    }
}

impl Inner {
    /// Evidence of what runs from now on, and of what does not.
    fn note_reload(&self, outcome: &Reloaded) {
        let Reloaded { extension, old, new, changes, error } = outcome;
        let (event, message) = match error {
            Some(error) => ("extension.not_reloaded", error.as_str()),
            None => ("extension.reloaded", "the files as they are now count"),
        };
        let correlation = Correlation { extension_id: extension.to_string(), ..Correlation::default() };
        // Faces are told in any case; a ledger that cannot be written stops the next call anyway.
        self.ledger_note(event, correlation, message, json!({ "old": old, "new": new, "changes": changes })).ok();
    }

    fn remove(&self, extension: &Supervised) -> Reloaded {
        let old = extension.known().map(|known| known.hash.clone());
        Reloaded { extension: extension.id.clone(), old, new: None, changes: vec!["removed".to_owned()], error: None }
    }

    async fn add(&self, extension: &Arc<Supervised>) -> Option<Reloaded> {
        let found = extension.found();
        if found.standing != Standing::Active {
            return None;
        }
        let deadline = Instant::now() + std::time::Duration::from_secs(30);
        let error = match extension.known() {
            Some(_) => None,
            None => extension.ready(deadline).await.err().map(|error| error.message),
        };
        Some(Reloaded {
            extension: extension.id.clone(),
            old: None,
            new: Some(found.content_hash(&self.extensions.catalog)),
            changes: vec!["added".to_owned()],
            error,
        })
    }

    async fn renew(&self, extension: &Arc<Supervised>, found: Found, which: Which<'_>) -> Option<Reloaded> {
        let known = extension.known_or_previous();
        let old = known.as_ref().map(|known| known.hash.clone());
        let new = found.content_hash(&self.extensions.catalog);
        let failed_already = extension.failed_hash().as_ref() == Some(&new);
        let same = old.as_ref() == Some(&new) && *extension.found() == found;
        let wanted = match which {
            Which::Changed => !same && !failed_already,
            Which::All => true,
            Which::One(id) => *id == extension.id,
        };
        if !wanted {
            return None;
        }
        if which == Which::Changed && found.manifest.format == Format::Python {
            // People and agents save often, and a file that nobody can reload any more helps nobody.
            extension.pause_if_hurried(Instant::now()).await;
        } else if which == Which::Changed {
            // One that writes beside itself when it starts would otherwise be reloaded for ever.
            match extension.count_reload(Instant::now()) {
                Reloads::Fine => {}
                Reloads::JustTooMany => {
                    let error =
                        format!("it changed too often; run `jackfield reload {}` to load it again", extension.id);
                    return Some(Reloaded {
                        extension: extension.id.clone(),
                        old,
                        new: Some(new),
                        changes: Vec::new(),
                        error: Some(error),
                    });
                }
                Reloads::TooMany => return None,
            }
        }
        if let Standing::Invalid { error } = &found.standing
            && extension.found().standing == Standing::Active
        {
            return Some(kept(extension, old, new, error));
        }
        let served = extension.found().standing == Standing::Active;
        let moved = extension.found().dir != found.dir;
        if found.standing != Standing::Active {
            // It may not run any more: disabled, untrusted or without what it needs.
            let reason = found.standing.why_not().unwrap_or_default();
            extension.stand_down(found).await;
            let changes = vec![format!("stopped: {reason}")];
            return Some(Reloaded { extension: extension.id.clone(), old, new: Some(new), changes, error: None });
        }
        let replaced = extension.replace(found).await;
        let after = extension.known();
        // What did not run served nothing, whatever it contributed earlier.
        let before = known.filter(|_| served);
        let mut changes = differences(
            before.as_ref().map(|known| &known.contributions),
            after.as_ref().map(|known| &known.contributions),
        );
        if moved {
            changes.push("moved to another directory".to_owned());
        }
        Some(Reloaded { extension: extension.id.clone(), old, new: Some(new), changes, error: replaced.err() })
    }
}

/// A manifest that cannot be read, as in the middle of an edit, stops nothing that works.
fn kept(extension: &Supervised, old: Option<String>, new: String, error: &str) -> Reloaded {
    let error = Some(error.to_owned());
    Reloaded { extension: extension.id.clone(), old, new: Some(new), changes: Vec::new(), error }
}

fn broken_in_place(report: &Report, extension: &Supervised, catalog: &Catalog) -> Option<Reloaded> {
    let dir = &extension.found().dir;
    let (found, error) = report.extensions.iter().find_map(|found| match &found.standing {
        // Files that are extensions by themselves share a directory.
        Standing::Invalid { error }
            if found.dir == *dir
                && (found.extent == Extent::Directory || found.place() == extension.found().place()) =>
        {
            Some((found, error))
        }
        _ => None,
    })?;
    let old = extension.known_or_previous().map(|known| known.hash.clone());
    Some(kept(extension, old, found.content_hash(catalog), error))
}

/// What two versions contribute differently.
fn differences(before: Option<&Contributions>, after: Option<&Contributions>) -> Vec<String> {
    let none = Contributions::default();
    let (before, after) = (before.unwrap_or(&none), after.unwrap_or(&none));
    let mut changes = Vec::new();
    for tool in &after.tools {
        match before.tools.iter().find(|old| old.name == tool.name) {
            None => changes.push(format!("tool {} added", tool.name)),
            Some(old) if old != tool => changes.push(format!("tool {} changed", tool.name)),
            Some(_) => {}
        }
    }
    for tool in &before.tools {
        if !after.tools.iter().any(|new| new.name == tool.name) {
            changes.push(format!("tool {} removed", tool.name));
        }
    }
    for command in &after.commands {
        if !before.commands.iter().any(|old| old.name == command.name) {
            changes.push(format!("command /{} added", command.name));
        }
    }
    for command in &before.commands {
        if !after.commands.iter().any(|new| new.name == command.name) {
            changes.push(format!("command /{} removed", command.name));
        }
    }
    for channel in &after.channels {
        if !before.channels.iter().any(|old| old.name == channel.name) {
            changes.push(format!("channel {} added", channel.name));
        }
    }
    for channel in &before.channels {
        if !after.channels.iter().any(|new| new.name == channel.name) {
            changes.push(format!("channel {} removed", channel.name));
        }
    }
    if before.hooks != after.hooks {
        changes.push("hooks changed".to_owned());
    }
    if before.version != after.version {
        let show = |version: &Option<String>| version.clone().unwrap_or_else(|| "none".to_owned());
        changes.push(format!("version {} → {}", show(&before.version), show(&after.version)));
    }
    changes
}

#[cfg(test)]
mod tests;
