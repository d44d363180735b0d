//! Learning what many Python files offer from one short-lived process, instead of one process each. Every file is loaded in
//! a fork, so that one that crashes loses only its own word.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::time::Duration;

use jackfield_protocol::frames::FromExtension;
use jackfield_protocol::{Contributions, Launch, PythonRole};
use jackfield_runtime::{StartError, StartSpec};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use super::{LaunchPlan, Python};
use crate::frames::Frames;
use crate::lines::{Line, Lines};
use crate::{Keeper, os, spawn};

/// What one file may say about itself.
const LONGEST: usize = 4 * 1024 * 1024;
/// How long all files together may take beyond what each may take.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How much longer for each further file.
const TIMEOUT_PER_FILE: Duration = Duration::from_millis(500);

/// What is known of one file after that: nothing, or what it offers, or why it does not load.
pub(crate) type Described = Option<Result<Contributions, StartError>>;

#[derive(Deserialize)]
struct Told {
    id: usize,
    #[serde(default)]
    frames: Vec<Value>,
    #[serde(default)]
    error: Option<String>,
}

/// Describes those of `specs` that are Python files. The others, and those whose process said nothing, are `None`.
pub(crate) async fn describe(python: &Python, specs: &[StartSpec], keeper: Option<&Keeper>) -> Vec<Described> {
    let mut described: Vec<Described> = specs.iter().map(|_| None).collect();
    let mut groups: BTreeMap<PathBuf, Vec<(usize, &StartSpec, PythonRole, String)>> = BTreeMap::new();
    for (at, spec) in specs.iter().enumerate() {
        let Launch::Python { entry, role } = &spec.manifest.launch else { continue };
        match python.launch_plan(spec, entry, *role) {
            Ok(LaunchPlan { program, args }) => {
                let worker = args.into_iter().next().unwrap_or_default();
                groups.entry(program).or_default().push((at, spec, *role, worker));
            }
            Err(error) => {
                if let Some(slot) = described.get_mut(at) {
                    *slot = Some(Err(error));
                }
            }
        }
    }
    for (program, group) in groups {
        for (at, told) in together(&program.to_string_lossy(), &group, keeper).await {
            if let Some(slot) = described.get_mut(at) {
                *slot = Some(told);
            }
        }
    }
    described
}

async fn together(
    program: &str,
    group: &[(usize, &StartSpec, PythonRole, String)],
    keeper: Option<&Keeper>,
) -> HashMap<usize, Result<Contributions, StartError>> {
    let mut found = HashMap::new();
    let Some((_, first, _, worker)) = group.first() else { return found };
    let Ok(mut child) = spawn::spawn(first, program, &[worker.clone(), "describe".to_owned()], keeper) else {
        return found;
    };
    let limit = START_TIMEOUT + TIMEOUT_PER_FILE.saturating_mul(u32::try_from(group.len()).unwrap_or(u32::MAX));
    // Whatever is not told by then is learnt one by one.
    tokio::time::timeout(limit, converse(&mut child, group, &mut found)).await.ok();
    if let Some(pid) = child.id() {
        if keeper.is_some() { os::kill_keeper(pid) } else { os::kill_tree(pid) }
    }
    child.wait().await.ok();
    found
}

async fn converse(
    child: &mut Child,
    group: &[(usize, &StartSpec, PythonRole, String)],
    found: &mut HashMap<usize, Result<Contributions, StartError>>,
) {
    let (Some(mut stdin), Some(stdout), Some(mut stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return;
    };
    let mut orders = Vec::new();
    for (at, spec, role, _) in group {
        let Launch::Python { entry, .. } = &spec.manifest.launch else { continue };
        let env: BTreeMap<&str, &str> = spec.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let order = json!({
            "id": at, "role": role, "file": spec.dir.join(entry), "name": spec.manifest.name, "env": env,
        });
        orders.extend_from_slice(order.to_string().as_bytes());
        orders.push(b'\n');
    }
    let write = async move {
        // A worker that goes early is seen at its output.
        stdin.write_all(&orders).await.ok();
        drop(stdin);
    };
    let read = async {
        let mut lines = Lines::new(stdout, LONGEST);
        while let Ok(Some(line)) = lines.next().await {
            let Line::Whole(line) = line else { continue };
            let Ok(told) = serde_json::from_slice::<Told>(line) else { continue };
            if let Some(error) = told.error {
                let error = StartError::BadHandshake { reason: error, stderr: String::new() };
                found.insert(told.id, Err(error));
            } else if !told.frames.is_empty() {
                let frames = Frames::default();
                for frame in
                    told.frames.iter().filter_map(|frame| FromExtension::parse(frame.to_string().as_bytes()).ok())
                {
                    frames.registered(frame);
                }
                found.insert(told.id, Ok(frames.finish()));
            }
        }
    };
    let drain = async {
        let mut nobody = [0; 4096];
        while stderr.read(&mut nobody).await.is_ok_and(|read| read > 0) {}
    };
    tokio::join!(write, async {
        tokio::select! {
            () = read => {}
            () = async { drain.await; std::future::pending::<()>().await } => {}
        }
    });
}
