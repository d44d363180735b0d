//! The lookup: which extension owns a tool, kept between runs so that one call need not look at a thousand extensions.
//!
//! It holds as long as nothing that discovery or an extension's contributions depend on looks different. It is lines of
//! text rather than a document, because the reader wants three of a few thousand lines and must be quick about the rest. A
//! second file has the stamps of all files of all extensions; they are looked at while the tool's owner starts.

mod others;
mod stamps;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_protocol::{ExtensionId, OnFailure};

use crate::catalog::Catalog;
use crate::discovery::{
    DiscoveryInput, Extent, Found, Looked, Origin, Report, discover_for_keeping, input_key, tree_stamp,
};
use crate::registry::Snapshot;
use crate::supervisor::Supervised;

use jackfield_files::{Home, WriteOptions, write_atomic};
pub(crate) use others::Others;

const SHAPE: &str = concat!("jackfield.lookup.5 ", env!("CARGO_PKG_VERSION"));
/// More than this is slower to check than to discover.
const MOST_STAMPS: usize = 50_000;

/// How many lookups are kept: one per project, PATH and set of flags.
const MOST_LOOKUPS: usize = 16;
/// Stands before the tools; each is on a line of its own, with its owner's place in the catalogue and its name there.
const TOOLS: &str = "\ntools";

fn lookup_file(home: &Home, key: &str) -> PathBuf {
    home.catalog().join(format!("lookup-{}", key.get(..16).unwrap_or(key)))
}

fn stamps_file(home: &Home, key: &str) -> PathBuf {
    lookup_file(home, key).with_extension("stamps")
}

/// What a call of one tool concerns.
pub(crate) struct Concerned {
    /// The tool's owner, and every extension that hooks. These, and all that discovery depends on, look as they did.
    pub(crate) extensions: Vec<Found>,
    /// The files of all extensions; nothing may be called before they have been looked at.
    pub(crate) others: Others,
}

/// What a call of `tool` concerns. `None` when the lookup does not know or does not hold any more; then everything has to
/// be looked at.
pub(crate) fn find(input: &DiscoveryInput, tool: &str) -> Option<Concerned> {
    let key = input_key(input);
    let text = std::fs::read_to_string(lookup_file(&input.home, &key)).ok()?;
    // The tools are many and only one of them is wanted, so they are not read line by line.
    let (text, tools) = text.split_once(TOOLS)?;
    let mut lines = text.lines();
    let head = lines.next()?;
    if !head.starts_with(&format!("{SHAPE} {key} ")) {
        return None;
    }
    let entry = format!("\n{tool} ");
    let (_, owner) = tools.split_once(&entry)?;
    let mut wanted = BTreeSet::from([owner.lines().next()?]);
    for line in lines {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "s" if !stamps::holds(rest)? => return None,
            "r" => {
                let (stamp, path) = rest.split_once(' ')?;
                if tree_stamp(Path::new(path)).0 != stamp {
                    return None;
                }
            }
            "v" => {
                let (was, name) = rest.split_once(' ')?;
                if input.is_set(name) != (was == "set") {
                    return None;
                }
            }
            "h" => {
                wanted.insert(rest);
            }
            _ => {}
        }
    }
    let catalog = Catalog::of(&input.home);
    let extensions = wanted.into_iter().map(|entry| entry_of(&catalog, entry)).collect::<Option<Vec<Found>>>()?;
    let others = Others::new(stamps_file(&input.home, &key), head.to_owned());
    Some(Concerned { extensions, others })
}

/// The extension that stands in the catalogue where a line of the lookup says.
fn entry_of(catalog: &Catalog, entry: &str) -> Option<Found> {
    let (place, name) = entry.split_once(' ')?;
    catalog.found_at(place.parse().ok()?, name)
}

/// Where an extension stands in the catalogue, for a line of the lookup.
fn entry_for(catalog: &Catalog, found: &Found) -> Option<String> {
    let name = Catalog::name_of(found);
    (!name.contains('\n')).then_some(format!("{} {name}", catalog.place_of(found)?))
}

/// Keeps the lookup for the next run, when every active extension's contributions are known. A lookup that cannot be kept
/// costs time and nothing else.
pub(crate) fn keep(input: &DiscoveryInput, home: &Home, snapshot: &Snapshot, extensions: &[Arc<Supervised>]) {
    let began = std::time::SystemTime::now();
    let catalog = Catalog::of(home);
    let Some((report, looked)) = discover_for_keeping(input, catalog.generation()) else { return };
    let now = std::time::SystemTime::now();
    if looked.is_racy(now) || looked.stamps().count() > MOST_STAMPS {
        return;
    }
    // Two processes may write at once; the two files of one of them must not be taken for those of the other.
    let nonce = now.duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    let key = input_key(input);
    let head = format!("{SHAPE} {key} {nonce}.{}\n", std::process::id());
    if let Some((lookup, stamps)) = write(&head, &report, &looked, snapshot, extensions, &catalog)
        && write_atomic(&stamps_file(home, &key), &stamps, WriteOptions::PRIVATE).is_ok()
        && others::note_look(&stamps_file(home, &key), began).is_ok()
        && write_atomic(&lookup_file(home, &key), lookup.as_bytes(), WriteOptions::PRIVATE).is_ok()
    {
        forget_old(home);
    }
}

/// Lets go of the lookups that were written longest ago.
fn forget_old(home: &Home) {
    let Ok(entries) = std::fs::read_dir(home.catalog()) else { return };
    let mut lookups: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("lookup-"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    lookups.sort_unstable();
    let too_many = lookups.len().saturating_sub(MOST_LOOKUPS * 2);
    for (_, path) in lookups.into_iter().take(too_many) {
        // Another process may have been first.
        std::fs::remove_file(path).ok();
    }
}

/// The two files, or nothing when something cannot stand on a line or is not known.
fn write(
    head: &str,
    report: &Report,
    looked: &Looked,
    snapshot: &Snapshot,
    extensions: &[Arc<Supervised>],
    catalog: &Catalog,
) -> Option<(String, Vec<u8>)> {
    let (mut lookup, mut stamps) = (head.to_owned(), head.as_bytes().to_vec());
    let path_text = |path: &Path| path.to_str().filter(|text| !text.contains('\n')).map(str::to_owned);
    let active: HashMap<&ExtensionId, &Found> =
        report.extensions.iter().filter(|found| found.is_active()).map(|found| (&found.manifest.id, found)).collect();
    // A loose script's directory is a place where discovery looks, so it is checked with those.
    let whole = active.values().filter(|found| found.extent == Extent::Directory);
    let dirs: BTreeSet<&Path> = whole.map(|found| found.dir.as_path()).collect();
    let root = common_root(&dirs);
    stamps.extend(path_text(&root)?.bytes().chain([b'\n']));
    for (path, outside) in looked.stamps() {
        if path.ancestors().any(|above| dirs.contains(above)) {
            stamps::push(&mut stamps, outside, path.strip_prefix(&root).ok()?.to_str()?);
        } else {
            writeln!(lookup, "s {} {}", stamps::text(outside), path_text(path)?).ok()?;
        }
    }
    for (path, stamp) in looked.trees() {
        writeln!(lookup, "r {stamp} {}", path_text(path)?).ok()?;
    }
    for (name, is_set) in looked.variables() {
        if name.contains('\n') {
            return None;
        }
        writeln!(lookup, "v {} {name}", if *is_set { "set" } else { "unset" }).ok()?;
    }
    let mut seen = 0;
    for extension in extensions {
        let Some(found) = active.get(&extension.id) else {
            // One that must be asked and cannot run denies every call; a host that leaves it out would not.
            if extension.found().manifest.on_failure == Some(OnFailure::Deny) {
                return None;
            }
            continue;
        };
        let known = extension.known()?;
        if *extension.found() != **found || known.stamp != found.quick_stamp() {
            return None;
        }
        if !extension.expected_hooks().is_empty() {
            writeln!(lookup, "h {}", entry_for(catalog, found)?).ok()?;
        }
        seen += 1;
    }
    if seen != active.len() {
        return None;
    }
    lookup.push_str(TOOLS);
    // Those that come by themselves are there in every run, or in none.
    let found = snapshot.tools().filter(|tool| tool.owner.origin() != Origin::Attached);
    for tool in found {
        let place = entry_for(catalog, active.get(&tool.extension)?)?;
        if tool.name.contains('\n') || tool.qualified_name.contains('\n') {
            return None;
        }
        write!(lookup, "\n{} {place}", tool.name).ok()?;
        if tool.qualified_name != tool.name {
            write!(lookup, "\n{} {place}", tool.qualified_name).ok()?;
        }
    }
    lookup.push('\n');
    Some((lookup, stamps))
}

/// The deepest directory above all of these.
fn common_root(dirs: &BTreeSet<&Path>) -> PathBuf {
    let mut root = dirs.first().and_then(|dir| dir.parent()).unwrap_or_else(|| Path::new("/")).to_path_buf();
    for dir in dirs {
        while !dir.starts_with(&root) && root.pop() {}
    }
    root
}
