//! Who may speak on a channel. Whoever is unknown gets a code, and is let in when the owner of the host says so.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_files::{Home, WriteOptions, open_locked, private_folder, write_atomic};
use jackfield_protocol::{CallError, ErrorCode};
use serde::{Deserialize, Serialize};

use crate::store;

const VERSION: u32 = 1;
/// More than anybody allows; what is larger is not our file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
/// The longest name of a sender, in bytes.
pub(crate) const LONGEST: usize = 256;
/// How many senders one channel may know.
const MOST_KNOWN: usize = 10_000;
/// How many may wait for the owner's word.
const MOST_PENDING: usize = 20;
/// How long a code counts, in seconds.
const CODE_LIFE: i64 = 3600;
/// How long a change waits for another process.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// Without those that look alike.
const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";

/// Somebody who asked to be let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingSender {
    /// What the owner types to let them in.
    pub code: String,
    /// The sender as the channel names them.
    pub sender: String,
    /// When they asked, in seconds since 1970.
    pub asked_at: i64,
}

/// All that is known of the senders of a channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SenderList {
    version: u32,
    /// The name of the channel.
    pub channel: String,
    /// Everybody may speak who is not denied.
    pub open: bool,
    /// Strangers get no answer, not even a code.
    pub silent: bool,
    /// The senders who may speak.
    pub allowed: Vec<String>,
    /// The senders who may not speak, and get no code.
    pub denied: Vec<String>,
    /// The strangers who asked to be let in and wait for an answer.
    pub pending: Vec<PendingSender>,
}

/// What a sender may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Allowed,
    Denied,
    Stranger,
}

/// What a stranger gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Knock {
    /// A code for the owner.
    Code(String),
    /// Nothing: strangers are not answered, or too many wait already.
    Nothing(&'static str),
}

/// Who was let in by a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Paired {
    /// The name of the channel.
    pub channel: String,
    /// The sender as the channel names them.
    pub sender: String,
}

/// The senders of one channel, in a file that several processes share.
#[derive(Debug)]
pub struct Senders {
    channel: String,
    folder: PathBuf,
}

impl Senders {
    /// Those of the channel of this name; it need not be there yet.
    pub fn of(home: &Home, channel: &str) -> Self {
        Self { channel: channel.to_owned(), folder: home.channel(channel) }
    }

    /// Lets in whoever was given this code, on whichever channel.
    ///
    /// # Errors
    /// When nobody was given it, or not lately, or the file cannot be changed.
    pub fn pair(home: &Home, code: &str) -> Result<Paired, CallError> {
        let code = code.trim().to_ascii_uppercase();
        let folders = std::fs::read_dir(home.channels()).into_iter().flatten().flatten();
        for folder in folders.map(|entry| entry.path()).filter(|path| path.join("senders.json").is_file()) {
            let mut senders = Self { channel: String::new(), folder };
            let list = senders.list()?;
            senders.channel.clone_from(&list.channel);
            if !list.pending.iter().any(|pending| pending.code == code) {
                continue;
            }
            let paired = senders.change(|list| {
                list.forget_old(now());
                let at = list.pending.iter().position(|pending| pending.code == code)?;
                let sender = list.pending.remove(at).sender;
                list.admit(&sender);
                Some(sender)
            })?;
            if let Some(sender) = paired {
                return Ok(Paired { channel: senders.channel, sender });
            }
        }
        let message =
            format!("no sender waits with the code {code:?}; codes count for an hour (see `jackfield channel list`)");
        Err(CallError::new(ErrorCode::NotFound, message))
    }

    /// Lets somebody in; `*` stands for everybody who is not denied.
    ///
    /// # Errors
    /// When the file cannot be changed.
    pub fn allow(&self, sender: &str) -> Result<(), CallError> {
        check(sender)?;
        self.change(|list| match sender {
            "*" => (list.open, list.silent) = (true, false),
            sender => list.admit(sender),
        })
    }

    /// Keeps somebody out; `*` stands for strangers, who get no code from then on.
    ///
    /// # Errors
    /// When the file cannot be changed.
    pub fn deny(&self, sender: &str) -> Result<(), CallError> {
        check(sender)?;
        self.change(|list| {
            if sender == "*" {
                (list.open, list.silent) = (false, true);
                list.pending.clear();
                return;
            }
            list.allowed.retain(|known| known != sender);
            list.pending.retain(|pending| pending.sender != sender);
            if !list.denied.iter().any(|known| known == sender) && list.denied.len() < MOST_KNOWN {
                list.denied.push(sender.to_owned());
            }
        })
    }

    /// All that is known now.
    ///
    /// # Errors
    /// When the file is damaged: then nobody may speak.
    pub fn list(&self) -> Result<SenderList, CallError> {
        let content = store::read(&self.file(), MAX_BYTES).map_err(|error| self.trouble("read", &error))?;
        let Some(content) = content else {
            return Ok(SenderList { version: VERSION, channel: self.channel.clone(), ..SenderList::default() });
        };
        let list: SenderList = serde_json::from_slice(&content).map_err(|error| self.trouble("read", &error))?;
        if list.version != VERSION {
            return Err(self.trouble("read", &format!("its version is {}, not {VERSION}", list.version)));
        }
        Ok(list)
    }

    /// Whether somebody may speak.
    pub(crate) fn judge(&self, sender: &str) -> Result<Word, CallError> {
        let list = self.list()?;
        let among = |known: &[String]| known.iter().any(|known| known == sender);
        Ok(match () {
            () if among(&list.denied) => Word::Denied,
            () if list.open || among(&list.allowed) => Word::Allowed,
            () => Word::Stranger,
        })
    }

    /// A stranger speaks: makes a code, or gives the one that is there.
    pub(crate) fn knock(&self, sender: &str) -> Result<Knock, CallError> {
        if sender.len() > LONGEST {
            return Ok(Knock::Nothing("its name is too long"));
        }
        let list = self.list()?;
        if list.silent {
            return Ok(Knock::Nothing("strangers are not answered on this channel"));
        }
        let now = now();
        let waits = |list: &SenderList| {
            let mut fresh = list.pending.iter().filter(|pending| !pending.is_old(now));
            fresh.find(|pending| pending.sender == sender).map(|pending| pending.code.clone())
        };
        if let Some(code) = waits(&list) {
            return Ok(Knock::Code(code));
        }
        let code = new_code().map_err(|error| self.trouble("make a code for", &error))?;
        self.change(|list| {
            list.forget_old(now);
            if let Some(code) = waits(list) {
                return Knock::Code(code);
            }
            if list.pending.len() >= MOST_PENDING {
                return Knock::Nothing("too many others wait for the owner's word");
            }
            list.pending.push(PendingSender { code: code.clone(), sender: sender.to_owned(), asked_at: now });
            Knock::Code(code.clone())
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut SenderList) -> T) -> Result<T, CallError> {
        let wrong = |error: std::io::Error| self.trouble("change", &error);
        private_folder(&self.folder).map_err(wrong)?;
        let _lock = self.lock().map_err(wrong)?;
        let mut list = self.list()?;
        let before = list.clone();
        let outcome = change(&mut list);
        if list != before {
            list.channel.clone_from(&self.channel);
            let mut text = serde_json::to_vec_pretty(&list).map_err(|error| self.trouble("change", &error))?;
            text.push(b'\n');
            write_atomic(&self.file(), &text, WriteOptions::PRIVATE_DURABLE).map_err(wrong)?;
        }
        Ok(outcome)
    }

    fn lock(&self) -> std::io::Result<File> {
        open_locked(&self.folder.join("senders.lock"), LOCK_WAIT)
    }

    fn file(&self) -> PathBuf {
        self.folder.join("senders.json")
    }

    fn trouble(&self, what: &str, why: &dyn std::fmt::Display) -> CallError {
        let file = self.file();
        let message = format!(
            "cannot {what} the senders of a channel in {}: {why}; nobody may speak on it until that is mended",
            file.display()
        );
        CallError::new(ErrorCode::InvalidConfig, message)
    }
}

impl SenderList {
    fn admit(&mut self, sender: &str) {
        self.denied.retain(|known| known != sender);
        self.pending.retain(|pending| pending.sender != sender);
        if !self.allowed.iter().any(|known| known == sender) && self.allowed.len() < MOST_KNOWN {
            self.allowed.push(sender.to_owned());
        }
    }

    fn forget_old(&mut self, now: i64) {
        self.pending.retain(|pending| !pending.is_old(now));
    }
}

impl PendingSender {
    /// Whether the code counts no longer; one from the future was made by another clock.
    fn is_old(&self, now: i64) -> bool {
        !(0..CODE_LIFE).contains(&now.saturating_sub(self.asked_at))
    }
}

fn check(sender: &str) -> Result<(), CallError> {
    if sender.len() <= LONGEST {
        return Ok(());
    }
    let message = format!("the name of a sender may have {LONGEST} bytes, not {}", sender.len());
    Err(CallError::new(ErrorCode::InvalidRequest, message))
}

fn new_code() -> std::io::Result<String> {
    let bytes = store::random::<8>()?;
    Ok(bytes.iter().filter_map(|byte| LETTERS.get(usize::from(byte % 32))).copied().map(char::from).collect())
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn senders() -> (tempfile::TempDir, Home, Senders) {
        let dir = tempfile::tempdir().expect("a folder");
        let home = Home::at(dir.path());
        let senders = Senders::of(&home, "../odd name");
        (dir, home, senders)
    }

    fn code(knock: Knock) -> String {
        match knock {
            Knock::Code(code) => code,
            Knock::Nothing(why) => panic!("no code: {why}"),
        }
    }

    #[test]
    fn a_stranger_is_let_in_by_its_code() {
        let (dir, home, senders) = senders();
        assert_eq!(senders.judge("bob"), Ok(Word::Stranger));
        let first = code(senders.knock("bob").expect("a knock"));
        assert_eq!(code(senders.knock("bob").expect("a knock")), first, "the same as before");
        assert_ne!(code(senders.knock("eve").expect("a knock")), first);
        assert_eq!(senders.judge("bob"), Ok(Word::Stranger), "asking is not being let in");
        assert_eq!(Senders::pair(&home, "WRONG").map_err(|error| error.code), Err(ErrorCode::NotFound));
        let paired = Senders::pair(&home, &format!(" {} ", first.to_lowercase())).expect("paired");
        assert_eq!(paired, Paired { channel: "../odd name".into(), sender: "bob".into() });
        assert_eq!(senders.judge("bob"), Ok(Word::Allowed));
        assert_eq!(senders.judge("eve"), Ok(Word::Stranger));
        assert!(Senders::pair(&home, &first).is_err(), "a code counts once");
        assert!(dir.path().join("channels/%2E%2E%2Fodd%20name/senders.json").is_file(), "and nowhere else");
    }

    #[test]
    fn somebody_called_star_is_not_everybody() {
        let (_dir, home, senders) = senders();
        let code = code(senders.knock("*").expect("a knock"));
        Senders::pair(&home, &code).expect("paired");
        assert_eq!((senders.judge("*"), senders.judge("eve")), (Ok(Word::Allowed), Ok(Word::Stranger)));
        senders.allow("*").expect("opened");
        senders.deny("eve").expect("denied");
        assert_eq!((senders.judge("bob"), senders.judge("eve")), (Ok(Word::Allowed), Ok(Word::Denied)));
        senders.deny("*").expect("closed");
        assert_eq!(senders.judge("bob"), Ok(Word::Stranger));
        assert!(matches!(senders.knock("bob"), Ok(Knock::Nothing(_))));
    }

    #[test]
    fn codes_run_out_and_so_does_the_room() {
        let (_dir, home, senders) = senders();
        for number in 0..MOST_PENDING {
            code(senders.knock(&format!("s{number}")).expect("a knock"));
        }
        assert!(matches!(senders.knock("one more"), Ok(Knock::Nothing(_))));
        let old = senders.change(|list| {
            list.pending.iter_mut().for_each(|pending| pending.asked_at -= CODE_LIFE);
            list.pending[0].code.clone()
        });
        assert!(Senders::pair(&home, &old.expect("changed")).is_err(), "too old");
        code(senders.knock("one more").expect("a knock"));
        assert_eq!(senders.list().expect("a list").pending.len(), 1);
        assert!(matches!(senders.knock(&"x".repeat(LONGEST + 1)), Ok(Knock::Nothing(_))));
    }

    #[test]
    fn a_damaged_file_lets_nobody_in() {
        let (_dir, _home, senders) = senders();
        senders.allow("bob").expect("allowed");
        for damage in ["", "{", "{\"version\":2}", "[]", "{\"version\":1,\"allowed\":7}"] {
            std::fs::write(senders.file(), damage).expect("written");
            let error = senders.judge("bob").expect_err(damage);
            assert!(error.message.contains("senders.json"), "{error}");
            assert!(senders.allow("bob").is_err(), "{damage}: what cannot be read is not overwritten");
        }
    }
}
