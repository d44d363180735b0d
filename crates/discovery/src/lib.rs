//! Discovery: which extensions there are, and which of them take part.
//!
//! It reads manifests of every form, the person's decisions about them (trust, lock file, grants) and the catalogue of
//! earlier runs. It runs nothing: this crate knows no runtime, opens no socket and starts no process. One broken extension
//! never harms another; what is wrong with it stands in the report.
//!
//! Modules in reading order:
//! - `report`: what discovery says of an extension.
//! - `roots`, `walk`, `level`, `loose`: the folders it looks in, and which of two extensions comes first.
//! - `read`, `parse`, and one module per form: `native`, `zot`, `nexo`, `pi`, `js`, `python`, `wasm`, `mcp`.
//! - `settings`, `gating`, `standing`: switched off, missing requirements, and how that reads.
//! - `fingerprint`, `stamp`, `catalog`: content hashes, and how they are not taken twice.
//! - `trust`, `lock`, `grants`: what the person decided.

pub mod catalog;
mod env;
pub mod fingerprint;
mod gating;
pub mod grants;
pub mod js;
mod level;
pub mod lock;
mod loose;
pub mod mcp;
mod mcp_servers;
mod native;
mod nexo;
mod parse;
mod pi;
pub mod python;
pub mod read;
mod report;
mod roots;
pub mod settings;
mod stamp;
mod standing;
pub mod trust;
mod walk;
pub mod wasm;
mod wire;
mod yaml;
mod zot;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use jackfield_files::real_path;
use jackfield_protocol::{ExtensionId, Format, RuntimeKind};

use crate::catalog::Catalog;
use crate::lock::Judge;

pub use env::{child_env, known_secrets};
#[cfg(any(test, feature = "testing"))]
pub use fingerprint::content_hash;
pub use report::{
    Diagnostic, DiagnosticLevel, DiscoverySettings, Extent, Found, Origin, Report, Standing, WatchSettings,
};

pub use grants::{Grants, GrantsError};
pub use lock::{Change, Granted, LockError, LockFile, Locked};
pub use roots::ProjectScan;
pub use standing::discover_named;
pub use trust::{Trust, TrustError, TrustState};

use jackfield_files::Home;
use level::{Candidate, Level};
pub use mcp::read_jsonc;

/// Where to look, and the environment that counts.
#[derive(Debug, Clone)]
pub struct DiscoveryInput {
    /// The host's own directory.
    pub home: Home,
    /// The directory of the project.
    pub project: PathBuf,
    /// Extensions named on the command line, in their order.
    pub ext: Vec<PathBuf>,
    /// The host's PATH.
    pub path_env: Option<OsString>,
    /// The host's environment, as far as it is text.
    pub env: BTreeMap<String, String>,
    /// The names of the secrets that a person keeps for extensions.
    pub secrets: BTreeSet<String>,
}

impl DiscoveryInput {
    /// Whether a variable that an extension wants is there: set and not empty, or kept as a secret.
    pub fn is_set(&self, name: &str) -> bool {
        self.env.get(name).is_some_and(|value| !value.is_empty()) || self.secrets.contains(name)
    }
}

/// Finds all extensions. Never fails and never runs anything; what is wrong stands in the report.
pub fn discover(input: &DiscoveryInput) -> Report {
    discover_with(input, &Catalog::of(&input.home))
}

/// As [`discover`], with an open catalogue.
pub fn discover_with(input: &DiscoveryInput, catalog: &Catalog) -> Report {
    let mut diagnostics = Vec::new();
    let mut extensions = flags(input, &mut diagnostics);
    js::keep_apart(extensions.iter_mut(), &mut BTreeSet::new());
    level::judge_flags(&mut extensions, input, &mut diagnostics);

    let mut global = roots::global(&input.home, &input.env, &mut diagnostics);
    let mut candidates = roots::candidates(&global.roots, Origin::Global, &mut diagnostics);
    candidates.append(&mut global.pi.found);
    candidates.append(&mut global.servers);
    let mut taken = BTreeSet::new();
    js::keep_apart(candidates.iter_mut().map(|candidate| &mut candidate.found), &mut taken);
    let mut scan = ProjectScan::of(&input.project, &input.home, &mut diagnostics);
    // What a flag names is the user's choice; the same directory is not also the project's.
    scan.found.retain(|candidate| extensions.iter().all(|flag| !is_same(flag, &candidate.found)));
    keep_project_apart(&mut scan, &candidates);
    let trust = project_trust(input, &scan, catalog, &mut diagnostics);
    let untrusted = trust != TrustState::Trusted;
    let project = Level { origin: Origin::Project, settings: &scan.settings, untrusted };
    let judged = project.judge(std::mem::take(&mut scan.found), input, &mut diagnostics);
    if judged.iter().any(|found| found.standing == Standing::Untrusted) {
        diagnostics.push(Diagnostic::warn(&input.project, trust.advice(&input.project)));
    }
    extensions.extend(judged);

    candidates.retain(|candidate| {
        extensions.iter().all(|found| found.origin != Origin::Flag || !is_same(found, &candidate.found))
    });
    let level = Level { origin: Origin::Global, settings: &global.settings, untrusted: false };
    extensions.extend(level.judge(candidates, input, &mut diagnostics));

    hold_to_record(&mut extensions, &input.home, catalog);
    tracing::debug!(extensions = extensions.len(), "discovered");
    mcp::follow_owners(&mut extensions);
    shadow(&mut extensions, &mut diagnostics);
    diagnostics.sort_by(|a, b| (&a.path, &a.message, a.level).cmp(&(&b.path, &b.message, b.level)));
    diagnostics.dedup();

    // An untrusted project has no say.
    let voices: &[&settings::Settings] =
        if untrusted { &[&global.settings] } else { &[&scan.settings, &global.settings] };
    let defaults = WatchSettings::default();
    let watch = WatchSettings {
        enabled: voices.iter().find_map(|voice| voice.watch).unwrap_or(defaults.enabled),
        debounce_ms: voices.iter().find_map(|voice| voice.debounce_ms).unwrap_or(defaults.debounce_ms),
    };
    let roots = scan.roots.iter().chain(&global.roots).map(|root| root.dir.clone());
    let roots = roots.chain(scan.pi_roots).chain(global.pi.roots).collect();
    Report { extensions, diagnostics, settings: DiscoverySettings { watch, roots } }
}

/// Reads one extension: a directory, or its manifest. Nothing else is looked at, so neither trust nor requirements are
/// judged. The error is what is wrong with the manifest.
pub fn load_one(path: &Path) -> Result<Found, Diagnostic> {
    let (found, mut diagnostics) = check_one(path);
    match found {
        Some(found) if !matches!(found.standing, Standing::Invalid { .. }) => Ok(found),
        _ => {
            let worst = diagnostics.iter().position(|diagnostic| diagnostic.level == DiagnosticLevel::Error);
            Err(worst
                .map(|at| diagnostics.swap_remove(at))
                .unwrap_or_else(|| Diagnostic::error(path, "the manifest cannot be used")))
        }
    }
}

/// As [`load_one`], with all that is odd about the manifest. `None` when there is no manifest at all.
pub fn check_one(path: &Path) -> (Option<Found>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut found = match read::locate(&path) {
        Ok((dir, manifest)) => Some(read::found(&dir, &manifest, Origin::Flag, &mut diagnostics)),
        Err(error) => {
            let scripts = without_manifest(&path, &mut diagnostics);
            let first = scripts.and_then(|scripts| scripts.into_iter().next());
            if first.is_none() {
                diagnostics.push(Diagnostic::error(&path, error));
            }
            first
        }
    };
    if let Some(found) = found.as_mut().filter(|found| found.is_active() && !found.manifest.enabled) {
        found.standing = level::disabled_by_manifest();
    }
    (found, diagnostics)
}

/// What a path means that is no manifest: a component, a script, a package of scripts, or files that are extensions each.
fn without_manifest(path: &Path, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<Found>> {
    if wasm::is_component(path) && path.is_file() {
        return Some(vec![wasm::found(path, Origin::Flag)]);
    }
    js::named_by_flag(path, diagnostics).or_else(|| {
        // A directory may hold files of both kinds.
        let python = python::named_by_flag(path, diagnostics);
        let servers = mcp::named_by_flag(path, diagnostics);
        let both: Vec<Found> = python.into_iter().flatten().chain(servers.into_iter().flatten()).collect();
        (!both.is_empty()).then_some(both)
    })
}

/// Everything in the host's own directory of extensions, whatever the settings say about it.
pub fn installed(home: &Home) -> Vec<Found> {
    let mut diagnostics = Vec::new();
    let global = roots::global(home, &BTreeMap::new(), &mut diagnostics);
    let own = real_path(&home.extensions()).ok();
    let roots: Vec<_> = global.roots.into_iter().filter(|root| Some(&root.dir) == own.as_ref()).collect();
    let found = roots::candidates(&roots, Origin::Global, &mut diagnostics);
    found.into_iter().map(|candidate| candidate.found).collect()
}

/// The same files, under whatever name.
fn is_same(a: &Found, b: &Found) -> bool {
    a.place() == b.place()
}

/// A script of the project that is called like one of the user's gets another id, as pi would load both; and what the user
/// has granted to his own is not the project's. The same package or the same kind of manifest is a version of the user's,
/// and the project's comes first.
fn keep_project_apart(scan: &mut ProjectScan, users: &[Candidate]) {
    let is_loose = |found: &Found| {
        let is_script = found.manifest.runtime == RuntimeKind::Js || found.manifest.format == Format::Python;
        is_script && found.manifest_path.extension().is_none_or(|end| end != "json")
    };
    let others = users.iter().filter(|user| is_loose(&user.found)).map(|user| user.found.manifest.id.clone());
    let mut taken: BTreeSet<ExtensionId> = BTreeSet::new();
    let loose: BTreeSet<ExtensionId> = others.collect();
    for candidate in &mut scan.found {
        if is_loose(&candidate.found) && loose.contains(&candidate.found.manifest.id) {
            taken.insert(candidate.found.manifest.id.clone());
        }
    }
    js::keep_apart(scan.found.iter_mut().map(|candidate| &mut candidate.found), &mut taken);
}

fn flags(input: &DiscoveryInput, diagnostics: &mut Vec<Diagnostic>) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    // Of all that was found: there may be many.
    let mut places: BTreeSet<PathBuf> = BTreeSet::new();
    for path in &input.ext {
        let path = &match npm_flag(path, input) {
            Some(Ok(dir)) => dir,
            Some(Err(error)) => {
                diagnostics.push(Diagnostic::error(path, &error));
                found.push(read::nothing(path, &error));
                continue;
            }
            None => path.clone(),
        };
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let real = real_path(&absolute);
        let located = match &real {
            Ok(real) => read::locate(real),
            Err(error) => Err(format!("cannot find {}: {error}", path.display())),
        };
        if let (Err(_), Ok(real)) = (&located, &real)
            && let Some(scripts) = without_manifest(real, diagnostics)
        {
            for script in scripts {
                if places.insert(script.place()) {
                    found.push(script);
                }
            }
            continue;
        }
        match located {
            Ok((dir, _)) if found.iter().any(|earlier| earlier.dir == dir) => {}
            Ok((dir, manifest)) => {
                let extension = read::found(&dir, &manifest, Origin::Flag, diagnostics);
                let servers = mcp::brought_by(&extension, diagnostics);
                let from = found.len();
                found.push(extension);
                found.extend(servers);
                places.extend(found.iter().skip(from).map(Found::place));
            }
            Err(error) => {
                diagnostics.push(Diagnostic::error(&absolute, &error));
                found.push(read::nothing(&absolute, &error));
            }
        }
    }
    found
}

/// `npm:NAME` means an installed package. Installing is not for discovery, which runs nothing.
fn npm_flag(path: &Path, input: &DiscoveryInput) -> Option<Result<PathBuf, String>> {
    let spec = path.to_str()?.strip_prefix("npm:")?;
    let Some(name) = js::npm_name(spec) else {
        return Some(Err(format!("`{spec}` is not the name of an npm package")));
    };
    Some(
        js::installed_package(name, &input.home, &input.env)
            .ok_or_else(|| format!("package npm:{name} is not installed; run `jackfield ext install npm:{spec}`")),
    )
}

fn project_trust(
    input: &DiscoveryInput,
    scan: &ProjectScan,
    catalog: &Catalog,
    diagnostics: &mut Vec<Diagnostic>,
) -> TrustState {
    let trust = Trust::load_with(&input.home, catalog);
    diagnostics.extend(trust.diagnostic().cloned());
    trust.state_of(&input.project, scan)
}

/// What is installed takes part only as it was accepted.
fn hold_to_record(extensions: &mut [Found], home: &Home, catalog: &Catalog) {
    let judge = Judge::of(home, catalog);
    for found in extensions.iter_mut().filter(|found| found.is_active()) {
        if let Some(reason) = judge.objection(found) {
            found.standing = Standing::Changed { reason };
        }
    }
}

/// Between levels, the first active one of an id wins. What does not take part hides nothing.
fn shadow(extensions: &mut [Found], diagnostics: &mut Vec<Diagnostic>) {
    let mut first: BTreeMap<ExtensionId, (Origin, PathBuf)> = BTreeMap::new();
    for found in extensions.iter_mut().filter(|found| found.is_active()) {
        match first.get(&found.manifest.id) {
            Some((origin, by)) => {
                let message = format!(
                    "extension `{}` in {} ({}) is hidden by the one in {} ({})",
                    found.manifest.id,
                    found.dir.display(),
                    found.origin.as_str(),
                    by.display(),
                    origin.as_str()
                );
                diagnostics.push(Diagnostic::warn(&found.manifest_path, message));
                found.standing = Standing::Shadowed { by: by.clone() };
            }
            None => {
                first.insert(found.manifest.id.clone(), (found.origin, found.dir.clone()));
            }
        }
    }
}

#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
