//! Which session a sender is in. One per sender and channel; it outlives the host.

use std::path::{Path, PathBuf};

use jackfield_files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::store;

/// How many senders' sessions are remembered; the ones that were silent longest are forgotten.
const MAX_SESSIONS: usize = 1000;
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// The most that is kept of what a channel needs to answer somebody, in bytes; all sessions together stay within bounds.
const MAX_RAW: usize = 2048;

/// The session of one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    pub(crate) sender: String,
    pub(crate) id: String,
    pub(crate) since: String,
    pub(crate) messages: u64,
    /// What the channel needs to answer the last message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) raw: Option<Value>,
}

/// The sessions of one channel, the one used last at the end.
#[derive(Debug)]
pub(crate) struct Sessions {
    file: PathBuf,
    channel: String,
    sessions: Vec<Session>,
}

impl Sessions {
    /// Those in the folder of a channel. What cannot be read is begun anew: a session is only a name.
    pub(crate) fn open(folder: &Path, channel: &str) -> Self {
        let file = folder.join("sessions.json");
        let read = store::read(&file, MAX_BYTES).ok().flatten();
        let sessions = read.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        Self { file, channel: channel.to_owned(), sessions }
    }

    /// The session of a sender, begun if there is none, with one message more.
    pub(crate) fn message(&mut self, sender: &str, raw: Option<&Value>) -> std::io::Result<Session> {
        let session = match self.take(sender) {
            Some(session) => Session { messages: session.messages + 1, ..session },
            None => self.begin(sender, 1)?,
        };
        let raw = raw.filter(|raw| raw.to_string().len() <= MAX_RAW).cloned();
        self.put(Session { raw, ..session })
    }

    /// A new session for a sender; gives the one before too.
    pub(crate) fn renew(&mut self, sender: &str) -> std::io::Result<(Option<Session>, Session)> {
        let before = self.take(sender);
        let raw = before.as_ref().and_then(|before| before.raw.clone());
        let session = Session { raw, ..self.begin(sender, 0)? };
        Ok((before, self.put(session)?))
    }

    /// The session of a sender, if there is one.
    pub(crate) fn of(&self, sender: &str) -> Option<&Session> {
        self.sessions.iter().find(|session| session.sender == sender)
    }

    fn take(&mut self, sender: &str) -> Option<Session> {
        let at = self.sessions.iter().position(|session| session.sender == sender)?;
        Some(self.sessions.remove(at))
    }

    fn begin(&self, sender: &str, messages: u64) -> std::io::Result<Session> {
        let random: String = store::random::<6>()?.iter().map(|byte| format!("{byte:02x}")).collect();
        let id = format!("{}-{random}", self.channel);
        Ok(Session { sender: sender.to_owned(), id, since: store::now(), messages, raw: None })
    }

    fn put(&mut self, session: Session) -> std::io::Result<Session> {
        self.sessions.push(session.clone());
        let over = self.sessions.len().saturating_sub(MAX_SESSIONS);
        self.sessions.drain(..over);
        write_atomic(&self.file, &serde_json::to_vec(&self.sessions)?, WriteOptions::PRIVATE).map(drop)?;
        Ok(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_session_per_sender_that_outlives_the_host() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sessions = Sessions::open(dir.path(), "c");
        let bob = sessions.message("bob", None).expect("a session");
        let eve = sessions.message("eve", None).expect("a session");
        assert_ne!(bob.id, eve.id);
        let mut sessions = Sessions::open(dir.path(), "c");
        let again = sessions.message("bob", None).expect("a session");
        assert_eq!((again.id.as_str(), again.messages), (bob.id.as_str(), 2));
        let (before, new) = sessions.renew("bob").expect("a new one");
        assert_eq!(before, Some(again));
        assert_ne!(new.id, bob.id);
        for number in 0..MAX_SESSIONS {
            sessions.sessions.push(Session { sender: number.to_string(), ..eve.clone() });
        }
        sessions.message("bob", None).expect("a session");
        assert_eq!(sessions.sessions.len(), MAX_SESSIONS);
        assert!(sessions.of("bob").is_some() && sessions.of("eve").is_none(), "who was silent longest is forgotten");
        std::fs::write(dir.path().join("sessions.json"), "{").expect("damage");
        assert!(Sessions::open(dir.path(), "c").message("bob", None).is_ok());
    }
}
