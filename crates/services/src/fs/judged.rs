//! Operations that need more than one permit: those on two paths, and those on folders with all that is in them.
//!
//! A permit for a folder is not one for what is in it. Operations that touch the content of files below ask for each;
//! operations that name files below leave out those that a rule denies.

use std::collections::HashSet;
use std::path::Path;

use jackfield_policy::Verdict;
use jackfield_protocol::{CallError, ErrorCode, FsOp, Need, Power, Resource};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};

use super::{Below, Entry, Last, MAX_ENTRIES, Root, checked, is, join, perform, watch};
use crate::Authorize;
use crate::{Stop, Until, blocking, demand};

/// So many entries are judged before others get their turn.
const YIELD_EVERY: usize = 256;

/// Serves one operation; `op` has been resolved and the permit for its first path is there.
pub(crate) async fn serve(
    root: &Root,
    op: &FsOp,
    max_file: usize,
    kept: &[&Path],
    authorize: &dyn Authorize,
    cx: &HostCallCx,
    until: &Until,
) -> Result<Value, CallError> {
    checked(op.path())?;
    if let FsOp::Rename { path, to } = op {
        // To move a file is to have its content elsewhere.
        demand(authorize, on("fs", Power::Read, path)).await?;
        for path in [path, to] {
            let path = root.absolute(path);
            if let Some(kept) = kept.iter().find(|kept| kept.starts_with(&path)) {
                let message = format!("rename {path:?}: {} is in it and stays where it is", kept.display());
                return Err(CallError::new(ErrorCode::Denied, message));
            }
        }
        // What is below moves with the folder.
        let below = list_below(root, path, until, &format!("fs on {path:?}")).await?;
        for (power, folder) in [(Power::Read, path), (Power::Write, path), (Power::Write, to)] {
            judge_below(authorize, power, folder, &below).await?;
        }
        // A person may have taken a while to answer, and a file may have come meanwhile.
        let now = list_below(root, path, until, &format!("fs on {path:?}")).await?;
        let judged: HashSet<&str> = below.iter().map(|entry| entry.name.as_str()).collect();
        for entry in now.iter().filter(|entry| !judged.contains(entry.name.as_str())) {
            for (power, folder) in [(Power::Read, path), (Power::Write, path), (Power::Write, to)] {
                demand(authorize, on("fs", power, &join(folder, &entry.name))).await?;
            }
        }
    }
    if let FsOp::Link { path, target, symbolic: true } = op {
        let link = root.absolute(path);
        let from = link.parent().unwrap_or_else(|| Path::new("/"));
        let target = root.resolve_from(target, from, Last::Follow)?;
        demand(authorize, on("fs", Power::Read, &target)).await?;
    } else if let Some((other, powers)) = op.other() {
        checked(other)?;
        for power in powers {
            demand(authorize, on("fs", *power, other)).await?;
        }
    }
    let what = format!("fs on {:?}", op.path());
    match op {
        FsOp::Watch { path, recursive } => match &cx.chunks {
            Some(chunks) => {
                let is_denied =
                    |name: &str| authorize.judge(&on("fs", Power::Read, &join(path, name))) == Verdict::Deny;
                watch(root, path, *recursive, chunks, until, &is_denied).await
            }
            None => perform_blocking(root, op, max_file, until, &what).await,
        },
        FsOp::List { path } => {
            let (folder, listed) = (root.clone(), path.clone());
            let list = move |stop: &Stop| folder.list(Path::new(&listed), MAX_ENTRIES, stop);
            let (entries, truncated) = blocking(until, &what, list).await?;
            let entries =
                without_denied(authorize, "fs", entries, |entry| join(path, &entry.name.to_string_lossy())).await;
            let fields =
                |e: &Entry| json!({ "name": e.name.to_string_lossy(), "kind": e.kind.as_str(), "size": e.size });
            let entries: Vec<Value> = entries.iter().map(fields).collect();
            Ok(json!({ "entries": entries, "truncated": truncated }))
        }
        FsOp::Remove { path, recursive: true, force } => {
            let below = match list_below(root, path, until, &what).await {
                Err(error) if *force && is(&error, "ENOENT") => return Ok(json!({ "removed": false })),
                other => other?,
            };
            judge_below(authorize, Power::Write, path, &below).await?;
            let (root, path) = (root.clone(), path.clone());
            blocking(until, &what, move |stop| root.remove_all(&path, &below, stop)).await?;
            Ok(json!({ "removed": true }))
        }
        FsOp::Copy { path, to, exclusive, recursive: true } => {
            if root.absolute(to).starts_with(root.absolute(path)) {
                let message = format!("copy {path:?} to {to:?}: a folder cannot be copied into itself");
                return Err(crate::errno::as_errno("EINVAL", message));
            }
            let below = list_below(root, path, until, &what).await?;
            judge_below(authorize, Power::Read, path, &below).await?;
            judge_below(authorize, Power::Write, to, &below).await?;
            let (root, path, to, exclusive) = (root.clone(), path.clone(), to.clone(), *exclusive);
            blocking(until, &what, move |stop| root.copy_all(&path, &to, &below, exclusive, stop)).await?;
            Ok(json!({}))
        }
        _ => perform_blocking(root, op, max_file, until, &what).await,
    }
}

async fn perform_blocking(
    root: &Root,
    op: &FsOp,
    max_file: usize,
    until: &Until,
    what: &str,
) -> Result<Value, CallError> {
    let (root, op) = (root.clone(), op.clone());
    blocking(until, what, move |stop| perform(&root, &op, max_file, stop)).await
}

async fn list_below(root: &Root, path: &str, until: &Until, what: &str) -> Result<Vec<Below>, CallError> {
    let (root, path) = (root.clone(), path.to_owned());
    blocking(until, what, move |stop| root.below(&path, stop)).await
}

/// Judges every entry below a folder. What is denied stops the operation before it begins; where a person must be asked,
/// one question covers all that is below.
async fn judge_below(authorize: &dyn Authorize, power: Power, folder: &str, below: &[Below]) -> Result<(), CallError> {
    let mut open = false;
    for (count, entry) in below.iter().enumerate() {
        let need = on("fs", power, &join(folder, &entry.name));
        match authorize.judge(&need) {
            Verdict::Allow => {}
            Verdict::Ask => open = true,
            Verdict::Deny => demand(authorize, need).await?,
        }
        pause(count).await;
    }
    if open { demand(authorize, tree("fs", power, folder)).await } else { Ok(()) }
}

/// The entries that no rule denies. For what only names files: the permit for the folder covers the names in it.
pub(crate) async fn without_denied<T>(
    authorize: &dyn Authorize,
    method: &'static str,
    entries: Vec<T>,
    path: impl Fn(&T) -> String,
) -> Vec<T> {
    let mut visible = Vec::with_capacity(entries.len());
    for (count, entry) in entries.into_iter().enumerate() {
        if authorize.judge(&on(method, Power::Read, &path(&entry))) != Verdict::Deny {
            visible.push(entry);
        }
        pause(count).await;
    }
    visible
}

/// The entries below `folder` whose content may be read. What a rule denies is left out; one question covers all that a
/// person must be asked about.
///
/// # Errors
/// The person said no.
pub(crate) async fn readable<T>(
    authorize: &dyn Authorize,
    method: &'static str,
    folder: &str,
    entries: Vec<T>,
    path: impl Fn(&T) -> &str,
) -> Result<Vec<T>, CallError> {
    let (mut readable, mut open) = (Vec::with_capacity(entries.len()), false);
    for (count, entry) in entries.into_iter().enumerate() {
        let path = path(&entry);
        // The permit is for this one.
        let verdict = if path == folder { Verdict::Allow } else { authorize.judge(&on(method, Power::Read, path)) };
        open |= verdict == Verdict::Ask;
        if verdict != Verdict::Deny {
            readable.push(entry);
        }
        pause(count).await;
    }
    if open {
        demand(authorize, tree(method, Power::Read, folder)).await?;
    }
    Ok(readable)
}

/// Lets others have their turn now and then.
async fn pause(count: usize) {
    if count % YIELD_EVERY == YIELD_EVERY - 1 {
        tokio::task::yield_now().await;
    }
}

fn on(method: &'static str, power: Power, path: &str) -> Need {
    Need { power, method, resource: Resource::Path(path.to_owned()) }
}

fn tree(method: &'static str, power: Power, folder: &str) -> Need {
    Need { power, method, resource: Resource::Tree(folder.to_owned()) }
}
