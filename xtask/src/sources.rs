//! What something was made of, as one hash. Shared with the test that compares.

use sha2::{Digest, Sha256};

/// A hash over files and directories below `root`, by name and content, in an order that does not depend on the machine.
/// Comments of WIT do not count, because they do not reach a component.
pub(crate) fn hash(root: &std::path::Path, sources: &[&str]) -> anyhow::Result<String> {
    let mut files = Vec::new();
    let mut pending: Vec<std::path::PathBuf> = sources.iter().map(|source| root.join(source)).collect();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            for entry in std::fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        } else {
            files.push(path);
        }
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let mut content = std::fs::read(&file).map_err(|error| anyhow::anyhow!("cannot read {name}: {error}"))?;
        if name.ends_with(".wit") {
            let text = String::from_utf8_lossy(&content).into_owned();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
            content = lines.collect::<Vec<_>>().join("\n").into_bytes();
        }
        for part in [name.as_bytes(), &content] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
