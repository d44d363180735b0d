//! How the extensions of one level stand: duplicates, switched off, not allowed, not trusted, not equipped.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jackfield_protocol::ExtensionId;

use super::DiscoveryInput;
use super::gating;
use super::report::{Diagnostic, Found, Origin, Standing};
use super::settings::Settings;

/// An extension, and the number of the search directory it was found in.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) root: usize,
    pub(crate) found: Found,
}

/// One level and what is said about it.
pub(crate) struct Level<'a> {
    pub(crate) origin: Origin,
    pub(crate) settings: &'a Settings,
    pub(crate) untrusted: bool,
}

impl Level<'_> {
    /// Judges `candidates`, which come in the order of their search directories and paths, and sorts them by search
    /// directory and id.
    pub(crate) fn judge(
        &self,
        mut candidates: Vec<Candidate>,
        input: &DiscoveryInput,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Found> {
        debug_assert!(candidates.iter().all(|candidate| candidate.found.origin == self.origin));
        for candidate in &mut candidates {
            switch_off_by_manifest(&mut candidate.found);
        }
        keep_first(candidates.iter_mut().map(|candidate| &mut candidate.found), diagnostics);
        self.note_unknown_allowed(&candidates, diagnostics);
        for Candidate { found, .. } in &mut candidates {
            if !found.is_active() {
                continue;
            }
            if let Some(reason) = self.switched_off(found) {
                found.standing = Standing::Disabled { reason };
            } else if self.untrusted {
                found.standing = Standing::Untrusted;
            } else {
                gate(found, input, diagnostics);
            }
        }
        candidates.sort_by(|a, b| {
            (a.root, &a.found.manifest.id, &a.found.dir).cmp(&(b.root, &b.found.manifest.id, &b.found.dir))
        });
        candidates.into_iter().map(|candidate| candidate.found).collect()
    }

    fn switched_off(&self, found: &Found) -> Option<String> {
        let id = found.manifest.id.as_str();
        let file = self.settings.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        if !self.settings.enabled {
            Some(format!("`enabled: false` in {file}"))
        } else if self.settings.disabled.iter().any(|disabled| disabled == id) {
            Some(format!("`disabled` in {file} names it"))
        } else if !self.settings.allowlist.is_empty() && !self.settings.allowlist.iter().any(|allowed| allowed == id) {
            Some(format!("`allowlist` in {file} does not name it"))
        } else {
            None
        }
    }

    fn note_unknown_allowed(&self, candidates: &[Candidate], diagnostics: &mut Vec<Diagnostic>) {
        let Some(file) = &self.settings.file else { return };
        for allowed in &self.settings.allowlist {
            if candidates.iter().all(|candidate| candidate.found.manifest.id.as_str() != allowed) {
                let message = format!("allowlist contains `{allowed}` but no extension with that id was discovered");
                diagnostics.push(Diagnostic::warn(file, message));
            }
        }
    }
}

/// Judges what flags name: the order stays, settings files have no say.
pub(crate) fn judge_flags(found: &mut [Found], input: &DiscoveryInput, diagnostics: &mut Vec<Diagnostic>) {
    found.iter_mut().for_each(switch_off_by_manifest);
    keep_first(found.iter_mut(), diagnostics);
    for found in found.iter_mut().filter(|found| found.is_active()) {
        gate(found, input, diagnostics);
    }
}

/// How an extension stands that its own manifest switches off.
pub(crate) fn disabled_by_manifest() -> Standing {
    Standing::Disabled { reason: "its manifest says that it is not enabled".to_owned() }
}

fn switch_off_by_manifest(found: &mut Found) {
    if found.is_active() && !found.manifest.enabled {
        found.standing = disabled_by_manifest();
    }
}

/// Of several with one id the first stays. What cannot run anyway neither wins nor loses.
fn keep_first<'a>(found: impl Iterator<Item = &'a mut Found>, diagnostics: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<ExtensionId, PathBuf> = BTreeMap::new();
    for found in found.filter(|found| found.is_active()) {
        let id = &found.manifest.id;
        if let Some(by) = first.get(id) {
            let message = format!(
                "duplicate extension id `{id}`; keeping first: {} is used, {} is not",
                by.display(),
                found.dir.display()
            );
            diagnostics.push(Diagnostic::warn(&found.manifest_path, message));
            found.standing = Standing::Shadowed { by: by.clone() };
        } else {
            first.insert(id.clone(), found.dir.clone());
        }
    }
}

fn gate(found: &mut Found, input: &DiscoveryInput, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(standing) = gating::missing(&found.manifest.requires, &found.dir, input) {
        if let Standing::MissingRequirements { bins, env } = &standing {
            diagnostics.push(Diagnostic::warn(&found.manifest_path, gating::describe(bins, env)));
        }
        found.standing = standing;
    }
}
