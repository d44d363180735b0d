//! Channels: how messages of people come in, are answered, and how the answers go out.
//!
//! A message is in the inbox of its channel before anything is done about it and leaves it when its answer was sent, so that
//! a host that is killed in between goes on where it was: at least once, never not at all. Messages of one sender are
//! answered one after another, those of different senders at the same time. Who is not known is not answered, but paired.

mod accept;
mod commands;
mod door;
mod handle;
mod history;
mod inbox;
mod line;
mod media;
mod outgoing;
mod respond;
mod run;
mod senders;
mod sessions;
mod store;
mod telegram;

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackfield_protocol::{CallError, Correlation, ErrorCode, ExtensionId, Level};
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::history::Histories;
use self::inbox::Inbox;
use self::line::{ExtensionSource, Source};
use self::run::{Parts, Run};
use self::sessions::Sessions;
use self::telegram::Telegram;
use crate::host::{Host, Inner};

pub(crate) use self::outgoing::Offer;
pub use self::respond::{Echo, Exchange, Program, Responder};
pub use self::senders::{Paired, PendingSender, SenderList, Senders};

/// What is told about a channel that runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelNews {
    /// How bad it is.
    pub level: Level,
    /// What kind of news, for programs.
    pub event: &'static str,
    /// For people; plain, without secrets.
    pub message: String,
}

/// Is told what happens on a channel. Must not block.
pub(crate) type Tell = Arc<dyn Fn(ChannelNews) + Send + Sync>;

/// How a channel is to be run.
pub struct ChannelRun {
    /// Who answers.
    pub responder: Arc<dyn Responder>,
    /// Is told what happens.
    pub tell: Arc<dyn Fn(ChannelNews) + Send + Sync>,
    /// The first pause before something is tried again; pauses double up to four minutes when it is one second.
    pub pause: Duration,
    /// Ends it: messages in hand are finished, the others wait for the next run.
    pub stop: CancellationToken,
    /// Gives up the messages in hand too.
    pub hurry: CancellationToken,
    /// Keeps what is said, and this much of it when somebody says `/compact`; nothing is kept otherwise.
    pub history: Option<usize>,
}

/// A channel, as it is listed.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelInfo {
    /// Its name.
    pub name: String,
    /// Who offers it; nothing for the host's own.
    pub extension: Option<ExtensionId>,
    /// For people.
    pub description: String,
    /// Who may speak on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub senders: Option<SenderList>,
    /// Why it is not known who may speak: nobody may then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Messages that have yet to be answered.
    pub waiting: usize,
    /// Messages that could not be answered.
    pub failed: usize,
}

impl Host {
    /// Every channel there is, the host's own first.
    pub fn channels(&self) -> Vec<ChannelInfo> {
        let own = [(telegram::NAME.to_owned(), None, telegram::DESCRIPTION.to_owned())];
        let snapshot = self.snapshot();
        let theirs = snapshot
            .channels()
            .map(|entry| (entry.name.clone(), Some(entry.extension.clone()), entry.spec.description.clone()));
        own.into_iter()
            .chain(theirs)
            .map(|(name, extension, description)| self.info(name, extension, description))
            .collect()
    }

    fn info(&self, name: String, extension: Option<ExtensionId>, description: String) -> ChannelInfo {
        let (waiting, failed) = Inbox::counts(&self.home().channel(&name));
        let (senders, error) = match Senders::of(self.home(), &name).list() {
            Ok(list) => (Some(list), None),
            Err(error) => (None, Some(error.message)),
        };
        ChannelInfo { name, extension, description, senders, error, waiting, failed }
    }

    /// Notes in the ledger that the owner said something about a sender.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn note_sender(&self, channel: &str, sender: &str, word: &str) -> Result<(), CallError> {
        let extension = self.snapshot().channel(channel).map(|entry| entry.extension.to_string());
        let correlation =
            Correlation { extension_id: extension.unwrap_or_else(|| "host".to_owned()), ..Correlation::default() };
        let data = json!({ "channel": channel, "sender": sender, "word": word });
        self.inner.ledger_note("channel.sender", correlation, &format!("the owner said {word}"), data)
    }

    /// Runs a channel until it is told to stop.
    ///
    /// # Errors
    /// When there is no such channel, it may not run, another host runs it already, or its files cannot be used. Whatever
    /// goes wrong later is told and tried again.
    pub async fn run_channel(&self, name: &str, how: ChannelRun) -> Result<(), CallError> {
        let inner = &self.inner;
        let (name, source): (String, Box<dyn Source>) = if name == telegram::NAME {
            (name.to_owned(), Box::new(Telegram::new(inner)?))
        } else {
            let source = ExtensionSource::find(inner, name).ok_or_else(|| inner.no_such_channel(name))?;
            source.permit().await?;
            (source.name().to_owned(), Box::new(source))
        };
        let folder = inner.home.channel(&name);
        let lock = only_one(&folder, &name)?;
        let ChannelRun { responder, tell, pause, stop, hurry, history } = how;
        let history = history.map(|keep| Histories::open(&folder, keep)).transpose().map_err(|error| {
            let message = format!("cannot keep a history in {}: {error}", folder.join("history").display());
            CallError::new(ErrorCode::Io, message)
        })?;
        let run = Run::new(Parts {
            host: Arc::clone(inner),
            inbox: Inbox::open(&folder)?,
            senders: Senders::of(&inner.home, &name),
            sessions: Sessions::open(&folder, &name),
            history,
            name,
            responder,
            source,
            tell,
            pause: pause.clamp(Duration::from_millis(1), Duration::from_secs(60)),
            stop,
            hurry,
        });
        let done = run.run().await;
        drop(lock);
        done
    }
}

impl Inner {
    fn no_such_channel(&self, name: &str) -> CallError {
        let snapshot = self.snapshot();
        let known: Vec<&str> =
            std::iter::once(telegram::NAME).chain(snapshot.channels().map(|entry| entry.name.as_str())).collect();
        let message = format!("no channel named {name:?}; there are {}", known.join(", "));
        CallError::new(ErrorCode::NotFound, message)
    }
}

/// Two hosts on one channel would answer everything twice.
fn only_one(folder: &Path, name: &str) -> Result<File, CallError> {
    let unusable = |error: std::io::Error| {
        let message = format!("cannot use the folder {} of channel {name}: {error}", folder.display());
        CallError::new(ErrorCode::Io, message)
    };
    jackfield_files::private_folder(folder).map_err(unusable)?;
    let file = folder.join("running.lock");
    let lock = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&file).map_err(unusable)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => {
            let message =
                format!("channel {name} is run by another jackfield of this home already; stop that one first");
            Err(CallError::new(ErrorCode::Unavailable, message))
        }
        Err(TryLockError::Error(error)) => Err(unusable(error)),
    }
}
