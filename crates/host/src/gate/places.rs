//! Whose a file is. An extension uses its own files without a question to the person. No extension uses the host's own.

use std::path::{Path, PathBuf};

use jackfield_discovery::Found;
use jackfield_policy::Place;
use jackfield_protocol::{CallError, Capability, ErrorCode, ExtensionId, Launch, Need, Power, Resource};
use jackfield_runtime::real_path;

use crate::host::Inner;

/// Files of the home that decide, prove or run something. No extension writes them through the host, whatever is granted.
const NEVER_WRITTEN: [&str; 16] = [
    "grants.json",
    "trust.json",
    "jackfield.lock",
    "config.toml",
    "extensions.yaml",
    "mcp.json",
    "ledger",
    "catalog",
    "pins",
    "run",
    "logs",
    "extensions",
    "channels",
    "connect",
    "bridge",
    "code",
];
/// Files of the home that no extension reads either. With the key in `code`, anything could run as compiled code.
const NEVER_READ: [&str; 3] = ["secrets", ".env", "code"];

impl Inner {
    /// Whose the file is that a need is about. Paths in needs are resolved, so nothing here follows a link.
    pub(crate) fn place(&self, extension: &ExtensionId, need: &Need) -> Place {
        let (Resource::Path(path) | Resource::Tree(path)) = &need.resource else { return Place::Open };
        let path = self.authority.services.absolute(path);
        if is_of_a_process(&path) {
            return Place::Kept("the files of a process hold what it keeps to itself");
        }
        let writes = need.power == Power::Write;
        if let Ok(inside) = path.strip_prefix(&self.real_home) {
            let steps: Vec<_> = inside.iter().take(3).map(|step| step.to_string_lossy()).collect();
            let step = |at: usize| steps.get(at).map_or("", |step| step.as_ref());
            match (step(0), step(1)) {
                // The folder itself stays: a link in its place would make its own whatever the link points at.
                ("data" | "tmp", owner) if owner == extension.as_str() && (!writes || !step(2).is_empty()) => {
                    return Place::Own(if step(0) == "data" { "its data folder" } else { "its temporary folder" });
                }
                ("" | "data" | "tmp", "") if !writes => {}
                ("data" | "tmp", _) => return Place::Kept("it is another extension's, or the folder of one"),
                ("", _) => return Place::Kept("it is the host's own folder"),
                (name, _) if NEVER_READ.contains(&name) || writes && NEVER_WRITTEN.contains(&name) => {
                    return Place::Kept("it is the host's own");
                }
                _ => {}
            }
        }
        if !writes && self.own_folders().get(extension).is_some_and(|own| path.starts_with(own)) {
            return Place::Own("its own folder");
        }
        Place::Open
    }

    /// Makes the folders that an extension may write to, once in the life of the host.
    pub(crate) fn make_folders(&self, extension: &ExtensionId) -> Result<(), CallError> {
        if self.with_folders().contains(extension) {
            return Ok(());
        }
        for folder in [self.home.data(extension), self.home.temporary(extension)] {
            std::fs::create_dir_all(&folder).map_err(|error| {
                let message = format!("extension {extension}: cannot make its folder {}: {error}", folder.display());
                CallError::new(ErrorCode::Io, message)
            })?;
        }
        self.with_folders().insert(extension.clone());
        Ok(())
    }

    /// Remembers where an extension lives when it starts. A folder that holds more than the extension is not its own.
    pub(crate) fn lives_in(&self, found: &Found) {
        let extension = &found.manifest.id;
        // A script that stands by itself owns no more than itself: what lies beside it are other scripts.
        let is_loose = match &found.manifest.launch {
            Launch::Js { entry } => {
                let script = found.dir.join(entry);
                script == found.manifest_path && script.file_stem().is_some_and(|stem| stem != "index")
            }
            Launch::Python { .. } => true,
            Launch::Wasm { component } => found.dir.join(component) == found.manifest_path,
            Launch::Process { .. } | Launch::Mcp(_) | Launch::Unsupported { .. } => false,
        };
        let dir = if is_loose { &found.manifest_path } else { &found.dir };
        let temporary = self.env.get("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let person = self.env.get("HOME").map(PathBuf::from);
        let shared =
            [Some(self.authority.services.absolute(".")), Some(self.home.extensions()), Some(temporary), person];
        let holds_more = |own: &Path| {
            shared.iter().flatten().filter_map(|path| real_path(path).ok()).any(|path| path.starts_with(own))
        };
        match real_path(dir) {
            // Nothing lies below a file.
            Ok(own) if own.is_file() || !holds_more(&own) => self.own_folders().insert(extension.clone(), own),
            _ => self.own_folders().remove(extension),
        };
    }

    /// Capabilities with `~/` in their paths as the person's own folder.
    pub(crate) fn at_home(&self, capabilities: &[Capability]) -> Vec<Capability> {
        let home = self.env.get("HOME").map(String::as_str);
        capabilities.iter().map(|capability| expand(capability, home)).collect()
    }
}

fn expand(capability: &Capability, home: Option<&str>) -> Capability {
    let mut capability = capability.clone();
    for path in &mut capability.scope.paths {
        if let (Some(home), Some(rest)) = (home.filter(|home| home.starts_with('/')), path.strip_prefix("~/")) {
            *path = format!("{}/{rest}", home.trim_end_matches('/'));
        }
    }
    capability
}

/// `/proc/42/environ` and the like: what a process keeps in memory, the host's secrets among it.
fn is_of_a_process(path: &Path) -> bool {
    let first = path.strip_prefix("/proc").ok().and_then(|rest| rest.iter().next());
    first.is_some_and(|first| first.to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_processes_are_told_apart() {
        for path in ["/proc/1/environ", "/proc/4242/mem", "/proc/7"] {
            assert!(is_of_a_process(Path::new(path)), "{path}");
        }
        for path in ["/proc/cpuinfo", "/proc", "/home/u/proc/1/x", "/proc/sys/7"] {
            assert!(!is_of_a_process(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn the_persons_folder_has_a_short_name() {
        let mut capability = Capability::unlimited(Power::Read);
        capability.scope.paths = vec!["~/.pi/**".into(), "~x/a".into(), "src/~/b".into()];
        let paths = |home| expand(&capability, home).scope.paths;
        assert_eq!(paths(Some("/home/u/")), ["/home/u/.pi/**", "~x/a", "src/~/b"]);
        assert_eq!(paths(None), ["~/.pi/**", "~x/a", "src/~/b"]);
    }
}
