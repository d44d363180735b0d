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
/// From here on, two threads look.
const MANY_STAMPS: usize = 400;

fn file(home: &Home) -> std::path::PathBuf {
    home.catalog().join("lookup")
}

/// The extensions that a call of `tool` concerns: its owner, and every one that hooks. `None` when the lookup does not
/// know or does not hold any more; then everything has to be looked at.
pub(crate) fn find(input: &DiscoveryInput, tool: &str) -> Option<Vec<Found>> {
    let text = std::fs::read_to_string(file(&input.home)).ok()?;
    let mut lines = text.lines();
    if lines.next()? != format!("{SHAPE} {}", input_key(input)) {
        return None;
    }
    let (mut stamps, mut extensions, mut wanted) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut owned = false;
    for line in lines {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "s" => stamps.push(rest),
            "r" => {
                let (stamp, path) = rest.split_once(' ')?;
                if tree_stamp(Path::new(path)).0 != stamp {
                    return None;
                }
            }
            "v" => {
                let (was, name) = rest.split_once(' ')?;
                let is_set = input.env.get(name).is_some_and(|value| !value.is_empty());
                if is_set != (was == "set") {
                    return None;
                }
            }
            "h" => {
                wanted.insert(rest.parse::<usize>().ok()?);
            }
            "t" => {
                let (index, name) = rest.split_once(' ')?;
                if name == tool {
                    owned = true;
                    wanted.insert(index.parse::<usize>().ok()?);
                }
            }
            "x" => extensions.push(rest),
            _ => return None,
        }
    }
    if !owned || !all_hold(&stamps) {
        return None;
    }
    wanted.into_iter().map(|index| serde_json::from_str(extensions.get(index)?).ok()).collect()
}

fn all_hold(stamps: &[&str]) -> bool {
    let check = |stamps: &[&str]| stamps.iter().all(|stamp| holds(stamp).unwrap_or(false));
    if stamps.len() < MANY_STAMPS {
        return check(stamps);
    }
    let (left, right) = stamps.split_at(stamps.len() / 2);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| check(right));
        check(left) && other.join().unwrap_or(false)
    })
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
    for (path, outside) in looked.stamps() {
        writeln!(out, "s {} {}", outside_text(outside), path_text(path)?).ok()?;
    }
    for (path, stamp) in looked.trees() {
        writeln!(out, "r {stamp} {}", path_text(path)?).ok()?;
    }
    for (name, is_set) in looked.variables() {
        writeln!(out, "v {} {name}", if *is_set { "set" } else { "unset" }).ok()?;
    }
    let active: Vec<&Found> = report.extensions.iter().filter(|found| found.is_active()).collect();
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
