//! The lookup: which extension owns a tool, kept between runs so that one call need not look at a thousand extensions.
//!
//! It holds as long as nothing that discovery or an extension's contributions depend on looks different. It is lines of
//! text rather than a document, because the reader wants three of a few thousand lines and must be quick about the rest.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use jackfield_protocol::ExtensionId;

use crate::discovery::{DiscoveryInput, Found, Looked, Outside, Report, discover_for_keeping, input_key, tree_stamp};
use crate::home::{Home, write_atomically};
use crate::registry::Snapshot;
use crate::supervisor::Supervised;

const SHAPE: &str = concat!("jackfield.lookup.1 ", env!("CARGO_PKG_VERSION"));
/// More than this is slower to check than to discover.
const MOST_STAMPS: usize = 50_000;

fn file(home: &Home) -> std::path::PathBuf {
    home.catalog().join("lookup")
}

/// What a call of one tool concerns.
pub(crate) struct Concerned {
    /// The tool's owner, and every extension that hooks. These, and all that discovery depends on, look as they did.
    pub(crate) extensions: Vec<Found>,
    /// Looks at the files of all the others; they are many, so it happens beside the start of the owner.
    pub(crate) others: Others,
}

/// The stamps of the extensions that a call does not concern, unless one of them has changed.
pub(crate) struct Others {
    stamps: Vec<String>,
}

impl Others {
    /// Whether none of them has changed. Takes milliseconds for a thousand extensions.
    pub(crate) fn still_hold(&self) -> bool {
        self.stamps.iter().all(|stamp| holds(stamp).unwrap_or(false))
    }
}

/// What a call of `tool` concerns. `None` when the lookup does not know or does not hold any more; then everything has to
/// be looked at.
pub(crate) fn find(input: &DiscoveryInput, tool: &str) -> Option<Concerned> {
    let text = std::fs::read_to_string(file(&input.home)).ok()?;
    let mut lines = text.lines();
    if lines.next()? != format!("{SHAPE} {}", input_key(input)) {
        return None;
    }
    let (mut stamps, mut extensions, mut wanted) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut owned = false;
    for line in lines {
        let (kind, rest) = line.split_once(' ')?;
        let holds = match kind {
            "s" => holds(rest)?,
            "r" => {
                let (stamp, path) = rest.split_once(' ')?;
                tree_stamp(Path::new(path)).0 == stamp
            }
            "v" => {
                let (was, name) = rest.split_once(' ')?;
                input.env.get(name).is_some_and(|value| !value.is_empty()) == (was == "set")
            }
            "h" => {
                wanted.insert(rest.parse::<usize>().ok()?);
                true
            }
            "t" => {
                let (index, name) = rest.split_once(' ')?;
                if name == tool {
                    owned = true;
                    wanted.insert(index.parse::<usize>().ok()?);
                }
                true
            }
            "e" => {
                let (index, stamp) = rest.split_once(' ')?;
                stamps.push((index.parse::<usize>().ok()?, stamp));
                true
            }
            "x" => {
                extensions.push(rest);
                true
            }
            _ => return None,
        };
        if !holds {
            return None;
        }
    }
    let (own, others): (Vec<_>, Vec<_>) = stamps.into_iter().partition(|(index, _)| wanted.contains(index));
    if !owned || !own.iter().all(|(_, stamp)| holds(stamp).unwrap_or(false)) {
        return None;
    }
    let found: Option<Vec<Found>> =
        wanted.into_iter().map(|index| serde_json::from_str(extensions.get(index)?).ok()).collect();
    let others = Others { stamps: others.into_iter().map(|(_, stamp)| stamp.to_owned()).collect() };
    Some(Concerned { extensions: found?, others })
}

fn holds(stamp: &str) -> Option<bool> {
    let (outside, path) = stamp.split_once(' ')?;
    Some(outside_text(&Outside::of(Path::new(path))) == outside)
}

fn outside_text(outside: &Outside) -> String {
    match outside {
        Outside::Missing => "-".to_owned(),
        Outside::Present { is_dir, size, mtime_ns, ctime_ns, mode, inode } => {
            let kind = if *is_dir { 'd' } else { 'f' };
            format!("{kind}{size}.{mtime_ns}.{ctime_ns}.{mode}.{inode}")
        }
    }
}

/// Keeps the lookup for the next run, when every active extension's contributions are known. A lookup that cannot be kept
/// costs time and nothing else.
pub(crate) fn keep(input: &DiscoveryInput, home: &Home, snapshot: &Snapshot, extensions: &[Arc<Supervised>]) {
    let Some((report, looked)) = discover_for_keeping(input) else { return };
    if looked.is_racy(std::time::SystemTime::now()) || looked.stamps().count() > MOST_STAMPS {
        return;
    }
    if let Some(text) = write(&input_key(input), &report, &looked, snapshot, extensions) {
        write_atomically(&file(home), text.as_bytes()).ok();
    }
}

/// The lines, or nothing when something cannot stand on a line or is not known.
fn write(
    key: &str,
    report: &Report,
    looked: &Looked,
    snapshot: &Snapshot,
    extensions: &[Arc<Supervised>],
) -> Option<String> {
    let mut out = format!("{SHAPE} {key}\n");
    let path_text = |path: &Path| path.to_str().filter(|text| !text.contains('\n')).map(str::to_owned);
    for (path, stamp) in looked.trees() {
        writeln!(out, "r {stamp} {}", path_text(path)?).ok()?;
    }
    for (name, is_set) in looked.variables() {
        writeln!(out, "v {} {name}", if *is_set { "set" } else { "unset" }).ok()?;
    }
    let active: Vec<&Found> = report.extensions.iter().filter(|found| found.is_active()).collect();
    let dirs: HashMap<&Path, usize> =
        active.iter().enumerate().map(|(index, found)| (found.dir.as_path(), index)).collect();
    for (path, outside) in looked.stamps() {
        let (outside, text) = (outside_text(outside), path_text(path)?);
        match path.ancestors().find_map(|above| dirs.get(above)) {
            Some(index) => writeln!(out, "e {index} {outside} {text}").ok()?,
            None => writeln!(out, "s {outside} {text}").ok()?,
        }
    }
    let running: HashMap<&ExtensionId, &Arc<Supervised>> =
        extensions.iter().map(|extension| (&extension.id, extension)).collect();
    for (index, found) in active.iter().enumerate() {
        let extension = running.get(&found.manifest.id)?;
        let unchanged = extension.found().dir == found.dir && extension.found().manifest == found.manifest;
        if !unchanged || extension.known().is_none() {
            return None;
        }
        if !extension.expected_hooks().is_empty() {
            writeln!(out, "h {index}").ok()?;
        }
        writeln!(out, "x {}", serde_json::to_string(found).ok()?).ok()?;
    }
    let places: HashMap<&ExtensionId, usize> =
        active.iter().enumerate().map(|(index, found)| (&found.manifest.id, index)).collect();
    for tool in snapshot.tools() {
        let index = places.get(&tool.extension)?;
        writeln!(out, "t {index} {}", tool.name).ok()?;
        if tool.qualified_name != tool.name {
            writeln!(out, "t {index} {}", tool.qualified_name).ok()?;
        }
    }
    Some(out)
}
