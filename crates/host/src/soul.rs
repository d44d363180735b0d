//! `SOUL.md`: what a project says to the agents that work on it. It counts only where a person has trusted the project.

use std::path::Path;

use jackfield_discovery::Diagnostic;
use jackfield_protocol::plain_text;
use jackfield_services::project_file;

use crate::host::{Host, Inner};

const FILE_NAME: &str = "SOUL.md";
/// The most that is passed on, in bytes.
const LONGEST_FILE: usize = 64 * 1024;

/// The text, and what is to be said about it; nothing and nothing where there is no such file.
fn read(project: &Path, is_trusted: impl FnOnce() -> bool) -> (Option<String>, Option<Diagnostic>) {
    let path = project.join(FILE_NAME);
    if path.symlink_metadata().is_err() {
        return (None, None);
    }
    let unused = |why: &str| (None, Some(Diagnostic::warn(&path, format!("it is not given to agents: {why}"))));
    if !is_trusted() {
        return unused(&format!(
            "you have not trusted this project as it is; run 'jackfield trust {}'",
            project.display()
        ));
    }
    let (mut bytes, size) = match project_file(project, FILE_NAME, LONGEST_FILE) {
        Ok(Some(read)) => read,
        Ok(None) => return (None, None),
        Err(error) => return unused(&error.message),
    };
    let is_cut = size > bytes.len() as u64;
    if let Err(error) = std::str::from_utf8(&bytes) {
        // The last character of what is cut may be cut, too.
        if error.error_len().is_some() || !is_cut {
            return unused(&format!("it is not UTF-8 text (first bad byte at offset {})", error.valid_up_to()));
        }
        bytes.truncate(error.valid_up_to());
    }
    let text = plain_text(&String::from_utf8_lossy(&bytes)).trim().to_owned();
    let diagnostic = is_cut
        .then(|| Diagnostic::warn(&path, format!("it holds {size} bytes; agents are given the first {LONGEST_FILE}")));
    (Some(text).filter(|text| !text.is_empty()), diagnostic)
}

impl Inner {
    /// The text as it is now, and what is to be said about it.
    pub(crate) fn soul(&self) -> (Option<String>, Option<Diagnostic>) {
        read(&self.project, || self.authority.secret_source.trusts_project())
    }
}

impl Host {
    /// What the project says to the agents that work on it (`SOUL.md`), as it is now.
    pub fn soul(&self) -> Option<String> {
        self.inner.soul().0
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_counts_where_the_project_is_trusted() {
        let dir = tempfile::tempdir().expect("a folder");
        let project = dir.path();
        assert_eq!(read(project, || true), (None, None));
        let file = project.join(FILE_NAME);
        fs::write(&file, "Be brief.\n").expect("a file");
        let (text, said) = read(project, || false);
        assert!(text.is_none() && said.expect("advice").message.contains("jackfield trust"));
        assert_eq!(read(project, || true), (Some("Be brief.".to_owned()), None));
        let refused = |why: &str| {
            let (text, said) = read(project, || true);
            assert!(text.is_none() && said.as_ref().is_some_and(|said| said.message.contains(why)), "{said:?}");
        };
        fs::write(&file, b"\xff\xfe").expect("a file");
        refused("not UTF-8");
        fs::write(&file, "ä".repeat(LONGEST_FILE)).expect("a file");
        let (text, said) = read(project, || true);
        assert!(text.is_some_and(|text| text.len() <= LONGEST_FILE && text.ends_with('ä')));
        assert!(said.is_some_and(|said| said.message.contains("the first 65536")));
        fs::write(&file, format!("x{}", "ä".repeat(LONGEST_FILE))).expect("a file");
        assert!(read(project, || true).0.is_some_and(|text| text.ends_with('ä')));
        fs::remove_file(&file).expect("gone");
        std::os::unix::fs::symlink("/etc/hostname", &file).expect("a link");
        refused("leads out of the project");
        fs::remove_file(&file).expect("gone");
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, 0o600.into(), 0).expect("a pipe");
        refused("SOUL.md");
        fs::remove_file(&file).expect("gone");
        fs::create_dir(&file).expect("a folder");
        refused("SOUL.md");
    }
}
