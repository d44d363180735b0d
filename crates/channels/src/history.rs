//! What was said in a session, where the owner wants it kept: a file per session, a line of JSON per message or answer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use jackfield_files::{WriteOptions, private_folder, write_atomic};
use serde::{Deserialize, Serialize};

use crate::store;

/// How many sessions are kept; those in which nothing was said for longest go.
const MOST_SESSIONS: usize = 1000;
/// The most that is kept of a session, in bytes; then the older half goes.
const MOST_BYTES: u64 = 1024 * 1024;
/// The most that is kept of one message or answer, in bytes.
const MOST_TEXT: usize = 64 * 1024;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// The sender of a message.
    User,
    /// The responder that answers it.
    Assistant,
}

/// One line of a history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    ts: String,
    role: Role,
    text: String,
    /// The message that it is, or answers: one that is handled again is not written again.
    #[serde(default)]
    message: String,
}

/// The histories of one channel.
#[derive(Debug)]
pub(crate) struct Histories {
    folder: PathBuf,
    keep: usize,
}

impl Histories {
    /// Those in the folder of a channel. `keep` is how much `/compact` leaves.
    pub(crate) fn open(channel: &Path, keep: usize) -> io::Result<Self> {
        let folder = channel.join("history");
        if folder.is_symlink() {
            return Err(refused("it is a link, and what people say stays in the home"));
        }
        private_folder(&folder)?;
        Ok(Self { folder, keep })
    }

    /// The file of a session, made if there is none.
    pub(crate) fn file(&self, session: &str) -> io::Result<PathBuf> {
        let path = self.path(session);
        if path.symlink_metadata().is_err() {
            self.make_room()?;
        }
        self.opened(session)?;
        Ok(path)
    }

    /// Adds what was said, unless it stands there already.
    pub(crate) fn add(&self, session: &str, message: &str, said: &[(Role, &str)]) -> io::Result<()> {
        let mut file = self.opened(session)?;
        let known = read(&mut file)?;
        let recent: Vec<&Said> = known.iter().rev().take(2).collect();
        let fresh = said.iter().map(|(role, text)| Said {
            ts: store::now(),
            role: *role,
            text: text.get(..text.floor_char_boundary(MOST_TEXT)).unwrap_or_default().to_owned(),
            message: message.to_owned(),
        });
        let fresh: Vec<Said> = fresh
            .filter(|new| {
                !recent.iter().any(|old| (old.role, &old.message, &old.text) == (new.role, &new.message, &new.text))
            })
            .collect();
        let mut lines = lines(&fresh)?;
        if file.metadata()?.len() + lines.len() as u64 > MOST_BYTES {
            let mut all: Vec<Said> = known;
            all.extend(fresh);
            let mut over = lines_len(&all)?.saturating_sub(MOST_BYTES / 2);
            let mut gone = 0;
            while over > 0 && gone + 1 < all.len() {
                over = over.saturating_sub(lines_len(all.get(gone..=gone).unwrap_or_default())?);
                gone += 1;
            }
            return self.replace(session, all.get(gone..).unwrap_or_default());
        }
        file.seek(SeekFrom::End(0))?;
        // At once: a kill in between leaves one line that is not whole, which the next one cuts off.
        file.write_all(&std::mem::take(&mut lines))
    }

    /// Keeps the last of a session; gives how many there are now, and were.
    pub(crate) fn compact(&self, session: &str) -> io::Result<(usize, usize)> {
        let all = read(&mut self.opened(session)?)?;
        let kept = all.get(all.len().saturating_sub(self.keep)..).unwrap_or_default();
        if kept.len() < all.len() {
            self.replace(session, kept)?;
        }
        Ok((kept.len(), all.len()))
    }

    /// How much a session holds.
    pub(crate) fn count(&self, session: &str) -> io::Result<usize> {
        Ok(read(&mut self.opened(session)?)?.len())
    }

    fn path(&self, session: &str) -> PathBuf {
        // Names of channels may hold anything; those of sessions begin with them.
        let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        self.folder.join(format!("{}.jsonl", session.chars().map(plain).collect::<String>()))
    }

    fn opened(&self, session: &str) -> io::Result<File> {
        let path = self.path(session);
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = match options.custom_flags(flags.bits().cast_signed()).open(&path) {
            Ok(file) => file,
            Err(_) if path.is_symlink() => return Err(refused("it is a link, and what people say stays in the home")),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Err(refused("it is not a file"));
        }
        Ok(file)
    }

    fn replace(&self, session: &str, all: &[Said]) -> io::Result<()> {
        write_atomic(&self.path(session), &lines(all)?, WriteOptions::PRIVATE).map(drop)
    }

    /// Forgets the sessions in which nothing was said for longest.
    fn make_room(&self) -> io::Result<()> {
        let mut files: Vec<_> = fs::read_dir(&self.folder)?
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        let over = (files.len() + 1).saturating_sub(MOST_SESSIONS);
        files.sort_unstable();
        for (_, path) in files.into_iter().take(over) {
            fs::remove_file(path).ok();
        }
        Ok(())
    }
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn lines(all: &[Said]) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for said in all {
        serde_json::to_writer(&mut lines, said)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

fn lines_len(all: &[Said]) -> io::Result<u64> {
    Ok(lines(all)?.len() as u64)
}

/// All that was said. A last line that is not whole is cut off: a kill left it. Others that are none are passed over.
fn read(file: &mut File) -> io::Result<Vec<Said>> {
    let size = file.metadata()?.len();
    if size > 2 * MOST_BYTES {
        return Err(refused("it is larger than any that is written here; move it away"));
    }
    let mut bytes = Vec::new();
    Read::by_ref(file).take(2 * MOST_BYTES).read_to_end(&mut bytes)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    if whole < bytes.len() {
        file.set_len(whole as u64)?;
        bytes.truncate(whole);
    }
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(histories: &Histories) -> Vec<String> {
        let all = read(&mut histories.opened("c-1").expect("a file")).expect("its lines");
        all.into_iter().map(|said| said.text).collect()
    }

    #[test]
    fn what_was_said_is_kept_once_and_compacted() {
        let dir = tempfile::tempdir().expect("a folder");
        let histories = Histories::open(dir.path(), 3).expect("a place");
        let file = histories.file("c-1").expect("a file");
        for number in 0..4 {
            let (hello, answer) = (format!("hello {number}"), format!("hi {number}"));
            for _again in 0..2 {
                let said = [(Role::User, hello.as_str()), (Role::Assistant, answer.as_str())];
                histories.add("c-1", &number.to_string(), &said).expect("added");
            }
        }
        assert_eq!(histories.count("c-1").expect("a number"), 8);
        // The same words in another message are said again.
        histories.add("c-1", "9", &[(Role::User, "hi 3")]).expect("added");
        assert_eq!(histories.compact("c-1").expect("shorter"), (3, 9));
        assert_eq!(texts(&histories), ["hello 3", "hi 3", "hi 3"]);
        assert_eq!(histories.compact("c-1").expect("as short"), (3, 3));
        // A kill in the middle of a line, and what somebody else wrote.
        let torn = fs::read(&file).expect("a file");
        fs::write(&file, [&torn[..], b"nonsense\n{\"ts\":\"2026"].concat()).expect("torn");
        histories.add("c-1", "9", &[(Role::User, "hi 3"), (Role::Assistant, "the answer")]).expect("added");
        assert_eq!(texts(&histories), ["hello 3", "hi 3", "hi 3", "the answer"]);
        assert!(fs::read_to_string(&file).expect("a file").ends_with("\n"));
    }

    #[test]
    fn nothing_grows_without_end_and_no_link_is_followed() {
        let dir = tempfile::tempdir().expect("a folder");
        let histories = Histories::open(dir.path(), 50).expect("a place");
        let long = "ä".repeat(MOST_TEXT);
        for number in 0..40 {
            histories.add("c-1", &number.to_string(), &[(Role::User, &long)]).expect("added");
            assert!(fs::metadata(histories.path("c-1")).expect("a file").len() <= MOST_BYTES);
        }
        assert!(texts(&histories).len() > 4 && texts(&histories).iter().all(|text| text.len() <= MOST_TEXT));
        for number in 0..MOST_SESSIONS {
            fs::write(histories.folder.join(format!("old-{number}.jsonl")), "").expect("a file");
        }
        histories.file("c-2").expect("a new one");
        assert!(fs::read_dir(&histories.folder).expect("a folder").count() <= MOST_SESSIONS);

        let outside = dir.path().join("outside");
        fs::write(&outside, "mine").expect("a file");
        std::os::unix::fs::symlink(&outside, histories.path("c-3")).expect("a link");
        assert!(histories.file("c-3").is_err() && histories.add("c-3", "1", &[(Role::User, "x")]).is_err());
        assert_eq!(fs::read_to_string(&outside).expect("untouched"), "mine");
        assert_eq!(histories.path("../../x").parent(), Some(histories.folder.as_path()));
        let other = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::symlink(dir.path(), other.path().join("history")).expect("a link");
        assert!(Histories::open(other.path(), 1).is_err());
    }
}
