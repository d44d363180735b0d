//! The entry point: lists channels, runs one, and offers the tools with which an agent writes to people.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jackfield_host::Host;
use jackfield_protocol::{CallError, Correlation, ErrorCode, ExtensionId, Level};
use serde::Serialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::connection::{ExtensionSource, Source};
use crate::history::Histories;
use crate::inbox::Inbox;
use crate::respond::Responder;
use crate::run::{Parts, Run};
use crate::senders::{SenderList, Senders};
use crate::sessions::Sessions;
use crate::telegram::{self, Telegram};

/// Something that happened on a channel that runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelNews {
    /// How serious it is.
    pub level: Level,
    /// The kind of event, for programs.
    pub event: &'static str,
    /// For people; plain, without secrets.
    pub message: String,
}

/// Receives the news of a channel. Must not block.
pub(crate) type Tell = Arc<dyn Fn(ChannelNews) + Send + Sync>;

/// How a channel is to be run.
pub struct ChannelRun {
    /// Answers the messages.
    pub responder: Arc<dyn Responder>,
    /// Receives the news of the channel. Must not block.
    pub tell: Arc<dyn Fn(ChannelNews) + Send + Sync>,
    /// The first pause before something is tried again; pauses double up to four minutes when it is one second.
    pub pause: Duration,
    /// Ends it: messages in hand are finished, the others wait for the next run.
    pub stop: CancellationToken,
    /// Gives up the messages in hand too.
    pub hurry: CancellationToken,
    /// With a number, the channel keeps a history of each session; `/compact` shortens it to that many entries.
    pub history: Option<usize>,
}

/// A channel, as it is listed.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelInfo {
    /// The name of the channel.
    pub name: String,
    /// The extension that contributes it; nothing for a built-in channel.
    pub extension: Option<ExtensionId>,
    /// A description for people.
    pub description: String,
    /// The senders that may speak on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub senders: Option<SenderList>,
    /// Why the list of senders cannot be read. No sender may speak then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Messages that have yet to be answered.
    pub waiting: usize,
    /// Messages that could not be answered.
    pub failed: usize,
}

/// The channels of a host. A cheap handle; any number of them may exist.
#[derive(Clone)]
pub struct Channels {
    pub(crate) host: Host,
}

impl Channels {
    /// The channels of this host.
    pub fn new(host: &Host) -> Self {
        Self { host: host.clone() }
    }

    /// Every channel there is, the built-in ones first.
    pub fn list(&self) -> Vec<ChannelInfo> {
        let own = [(telegram::NAME.to_owned(), None, telegram::DESCRIPTION.to_owned())];
        let snapshot = self.host.snapshot();
        let theirs = snapshot
            .channels()
            .map(|entry| (entry.name.clone(), Some(entry.extension.clone()), entry.spec.description.clone()));
        own.into_iter()
            .chain(theirs)
            .map(|(name, extension, description)| self.info(name, extension, description))
            .collect()
    }

    fn info(&self, name: String, extension: Option<ExtensionId>, description: String) -> ChannelInfo {
        let (waiting, failed) = Inbox::counts(&self.host.home().channel(&name));
        let (senders, error) = match Senders::of(self.host.home(), &name).list() {
            Ok(list) => (Some(list), None),
            Err(error) => (None, Some(error.message)),
        };
        ChannelInfo { name, extension, description, senders, error, waiting, failed }
    }

    /// Records in the ledger that the owner allowed, denied or paired a sender.
    ///
    /// # Errors
    /// The ledger cannot be written.
    pub fn note_sender(&self, channel: &str, sender: &str, word: &str) -> Result<(), CallError> {
        let extension = self.host.snapshot().channel(channel).map(|entry| entry.extension.to_string());
        let correlation =
            Correlation { extension_id: extension.unwrap_or_else(|| "host".to_owned()), ..Correlation::default() };
        let data = json!({ "channel": channel, "sender": sender, "word": word });
        self.host.ledger_note("channel.sender", correlation, &format!("the owner said {word}"), data)
    }

    /// Runs a channel until it is told to stop.
    ///
    /// # Errors
    /// When there is no such channel, it may not run, another host runs it already, or its files cannot be used. Whatever
    /// goes wrong later is told and tried again.
    pub async fn run(&self, name: &str, how: ChannelRun) -> Result<(), CallError> {
        let host = &self.host;
        let (name, source): (String, Box<dyn Source>) = if name == telegram::NAME {
            (name.to_owned(), Box::new(Telegram::new(host)?))
        } else {
            let source = ExtensionSource::find(host, name).ok_or_else(|| self.not_found(name))?;
            source.authorize().await?;
            (source.name().to_owned(), Box::new(source))
        };
        let folder = host.home().channel(&name);
        let lock = only_one(&folder, &name)?;
        let ChannelRun { responder, tell, pause, stop, hurry, history } = how;
        let history = history.map(|keep| Histories::open(&folder, keep)).transpose().map_err(|error| {
            let message = format!("cannot keep a history in {}: {error}", folder.join("history").display());
            CallError::new(ErrorCode::Io, message)
        })?;
        let run = Run::new(Parts {
            host: host.clone(),
            inbox: Inbox::open(&folder)?,
            senders: Senders::of(host.home(), &name),
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

    pub(crate) fn not_found(&self, name: &str) -> CallError {
        let snapshot = self.host.snapshot();
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
