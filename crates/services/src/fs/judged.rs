//! Operations that need more than one permit: those on two paths, and those on folders with all that is in them.

use std::path::Path;

use jackfield_policy::Verdict;
use jackfield_protocol::{CallError, ErrorCode, FsOp, Need, Power, Resource};
use jackfield_runtime::HostCallCx;
use serde_json::{Value, json};

use super::{Below, Last, Root, checked, is, join, perform, watch};
use crate::Authorize;
use crate::{Until, blocking, demand};

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
        demand(authorize, on(Power::Read, path)).await?;
        for path in [path, to] {
            let path = root.absolute(path);
            if let Some(kept) = kept.iter().find(|kept| kept.starts_with(&path)) {
                let message = format!("rename {path:?}: {} is in it and stays where it is", kept.display());
                return Err(CallError::new(ErrorCode::Denied, message));
            }
        }
    }
    if let FsOp::Link { path, target, symbolic: true } = op {
        let link = root.absolute(path);
        let from = link.parent().unwrap_or_else(|| Path::new("/"));
        let target = root.resolve_from(target, from, Last::Follow)?;
        demand(authorize, on(Power::Read, &target)).await?;
    } else if let Some((other, powers)) = op.other() {
        checked(other)?;
        for power in powers {
            demand(authorize, on(*power, other)).await?;
        }
    }
    let what = format!("fs on {:?}", op.path());
    match op {
        FsOp::Watch { path, recursive } => match &cx.chunks {
            Some(chunks) => watch(root, path, *recursive, chunks, until).await,
            None => perform_blocking(root, op, max_file, until, &what).await,
        },
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
        let need = on(power, &join(folder, &entry.name));
        match authorize.judge(&need) {
            Verdict::Allow => {}
            Verdict::Ask => open = true,
            Verdict::Deny => demand(authorize, need).await?,
        }
        if count % YIELD_EVERY == YIELD_EVERY - 1 {
            tokio::task::yield_now().await;
        }
    }
    if open { demand(authorize, on(power, &join(folder, "**"))).await } else { Ok(()) }
}

fn on(power: Power, path: &str) -> Need {
    Need { power, method: "fs", resource: Resource::Path(path.to_owned()) }
}
