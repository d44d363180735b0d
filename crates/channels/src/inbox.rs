//! The inbox: every message is on the disk before anything is done about it, and until its answer was sent.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_files::{WriteOptions, private_folder, write_atomic};
use jackfield_protocol::{CallError, ChannelMessage, ErrorCode};
use serde::{Deserialize, Serialize};

use crate::store;

/// The largest letter that is read; a line of an extension is smaller.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How many letters that failed are kept.
const MOST_FAILED: usize = 1000;

/// A message, and what has been done about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Letter {
    pub(crate) number: u64,
    pub(crate) received_at: String,
    pub(crate) message: ChannelMessage,
    /// The answer, once there is one.
    #[serde(default)]
    pub(crate) answer: Option<String>,
    /// How many parts of the answer have been sent.
    #[serde(default)]
    pub(crate) parts_sent: usize,
    /// Why there is no better answer.
    #[serde(default)]
    pub(crate) trouble: Option<String>,
}

/// The letters of one channel: a file each.
#[derive(Debug)]
pub(crate) struct Inbox {
    waiting: PathBuf,
    failed: PathBuf,
    next: AtomicU64,
}

impl Inbox {
    /// Opens the inbox of a channel's folder.
    pub(crate) fn open(folder: &Path) -> Result<Self, CallError> {
        let (waiting, failed) = (folder.join("inbox"), folder.join("failed"));
        for folder in [&waiting, &failed] {
            private_folder(folder).map_err(|error| trouble("make", folder, &error))?;
        }
        let last = numbers(&waiting)?.into_iter().chain(numbers(&failed)?).max().unwrap_or(0);
        Ok(Self { waiting, failed, next: AtomicU64::new(last + 1) })
    }

    /// How many letters wait and how many failed, without opening anything.
    pub(crate) fn counts(folder: &Path) -> (usize, usize) {
        let count = |name: &str| numbers(&folder.join(name)).map_or(0, |numbers| numbers.len());
        (count("inbox"), count("failed"))
    }

    /// Keeps a message. When this returns it survives the host.
    pub(crate) fn keep(&self, message: ChannelMessage) -> Result<Letter, CallError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let received_at = store::now();
        let letter = Letter { number, received_at, message, answer: None, parts_sent: 0, trouble: None };
        write(&self.file(number), &letter, WriteOptions::PRIVATE_DURABLE)?;
        Ok(letter)
    }

    /// Keeps what has been done about it. A loss of power may lose that, and then it is done again.
    pub(crate) fn update(&self, letter: &Letter) -> Result<(), CallError> {
        write(&self.file(letter.number), letter, WriteOptions::PRIVATE)
    }

    /// Nothing is left to do about it.
    pub(crate) fn done(&self, letter: &Letter) -> Result<(), CallError> {
        let file = self.file(letter.number);
        fs::remove_file(&file).map_err(|error| trouble("remove", &file, &error))
    }

    /// Nothing more can be done about it: puts it aside, where the owner finds it.
    pub(crate) fn give_up(&self, letter: &Letter) -> Result<(), CallError> {
        let mut kept = numbers(&self.failed)?;
        kept.sort_unstable();
        let over = (kept.len() + 1).saturating_sub(MOST_FAILED);
        for number in kept.into_iter().take(over) {
            fs::remove_file(path(&self.failed, number)).ok();
        }
        write(&path(&self.failed, letter.number), letter, WriteOptions::PRIVATE_DURABLE)?;
        self.done(letter)
    }

    /// The letters that wait, the oldest first, and what is wrong with those that cannot be read, which are put aside.
    pub(crate) fn waiting(&self) -> Result<(Vec<Letter>, Vec<String>), CallError> {
        let mut numbers = numbers(&self.waiting)?;
        numbers.sort_unstable();
        let (mut letters, mut damaged) = (Vec::new(), Vec::new());
        for number in numbers {
            let file = self.file(number);
            let read = store::read(&file, MAX_BYTES).map_err(|error| error.to_string());
            let letter = read.and_then(|text| {
                serde_json::from_slice::<Letter>(&text.unwrap_or_default()).map_err(|error| error.to_string())
            });
            match letter {
                Ok(letter) if letter.number == number => letters.push(letter),
                other => {
                    let why = other.err().unwrap_or_else(|| "its number is another".to_owned());
                    let aside = path(&self.failed, number);
                    fs::rename(&file, &aside).map_err(|error| trouble("put aside", &file, &error))?;
                    damaged
                        .push(format!("a kept message cannot be read and was put aside as {}: {why}", aside.display()));
                }
            }
        }
        Ok((letters, damaged))
    }

    fn file(&self, number: u64) -> PathBuf {
        path(&self.waiting, number)
    }
}

fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:012}.json"))
}

/// Writes a letter into a folder that is there. A folder that is missing was moved away or unmounted. A new one in its
/// place would hide the letters that wait in it.
fn write(file: &Path, letter: &Letter, options: WriteOptions) -> Result<(), CallError> {
    if !file.parent().is_some_and(Path::is_dir) {
        return Err(trouble("write", file, &"its folder is missing"));
    }
    let text = serde_json::to_vec(letter).map_err(|error| trouble("write", file, &error))?;
    write_atomic(file, &text, options).map(drop).map_err(|error| trouble("write", file, &error))
}

fn numbers(folder: &Path) -> Result<Vec<u64>, CallError> {
    let entries = fs::read_dir(folder).map_err(|error| trouble("read", folder, &error))?;
    // Only what `path` makes counts.
    let number = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let number: u64 = name.to_str()?.strip_suffix(".json")?.parse().ok()?;
        (path(folder, number).file_name() == Some(&name)).then_some(number)
    };
    Ok(entries.flatten().filter_map(number).collect())
}

fn trouble(what: &str, file: &Path, why: &dyn std::fmt::Display) -> CallError {
    CallError::new(ErrorCode::Io, format!("cannot {what} {} in the inbox of a channel: {why}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> ChannelMessage {
        ChannelMessage { text: text.into(), sender: "bob".into(), channel: "c".into(), ..ChannelMessage::default() }
    }

    #[test]
    fn letters_survive_until_they_are_done() {
        let dir = tempfile::tempdir().expect("a folder");
        let inbox = Inbox::open(dir.path()).expect("an inbox");
        let first = inbox.keep(message("one")).expect("kept");
        let mut second = inbox.keep(message("two")).expect("kept");
        second.answer = Some("2".into());
        inbox.update(&second).expect("updated");
        let third = inbox.keep(message("three")).expect("kept");
        inbox.done(&first).expect("done");
        inbox.give_up(&third).expect("put aside");

        let inbox = Inbox::open(dir.path()).expect("an inbox");
        assert_eq!(inbox.waiting(), Ok((vec![second], Vec::new())));
        assert_eq!(Inbox::counts(dir.path()), (1, 1));
        let next = inbox.keep(message("four")).expect("kept");
        assert!(next.number > third.number, "no number twice");
    }

    #[test]
    fn what_cannot_be_read_stops_nothing_and_is_not_lost() {
        let dir = tempfile::tempdir().expect("a folder");
        let inbox = Inbox::open(dir.path()).expect("an inbox");
        let good = inbox.keep(message("good")).expect("kept");
        fs::write(dir.path().join("inbox/000000000007.json"), "{\"number\":").expect("damage");
        fs::write(dir.path().join("inbox/.000000000008.json.1.0"), "half").expect("what a kill leaves");
        let (letters, damaged) = inbox.waiting().expect("letters");
        assert_eq!(letters, [good]);
        assert_eq!(damaged.len(), 1, "{damaged:?}");
        assert!(dir.path().join("failed/000000000007.json").is_file());
    }

    #[test]
    fn what_failed_does_not_pile_up() {
        let dir = tempfile::tempdir().expect("a folder");
        let inbox = Inbox::open(dir.path()).expect("an inbox");
        for number in 1..=MOST_FAILED as u64 {
            fs::write(path(&inbox.failed, number), "{}").expect("one that failed");
        }
        let inbox = Inbox::open(dir.path()).expect("an inbox");
        inbox.give_up(&inbox.keep(message("x")).expect("kept")).expect("put aside");
        assert_eq!(Inbox::counts(dir.path()), (0, MOST_FAILED));
        assert!(!path(&inbox.failed, 1).exists(), "the oldest goes");
    }

    #[test]
    fn a_folder_that_was_moved_away_is_not_made_anew() {
        let dir = tempfile::tempdir().expect("a folder");
        let inbox = Inbox::open(dir.path()).expect("an inbox");
        let aside = dir.path().join("aside");
        fs::rename(&inbox.waiting, &aside).expect("moved away");
        inbox.keep(ChannelMessage::default()).expect_err("nowhere to keep it");
        fs::rename(&aside, &inbox.waiting).expect("nothing stands in its place");
        inbox.keep(ChannelMessage::default()).expect("kept");
    }
}
