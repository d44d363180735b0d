//! Whether a message is taken in: who may speak, how much, and what strangers get.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jackfield_ledger::params_hash;
use jackfield_protocol::{CallError, ChannelMessage, ErrorCode, Level, plain_text};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use crate::connection::SharedConnection;
use crate::inbox::Letter;
use crate::run::{Job, Run, lock};
use crate::senders::{Knock, LONGEST, Word};

/// How many messages of one sender may wait.
const MAX_QUEUED_PER_SENDER: usize = 20;
/// The largest message that is taken in, in bytes of JSON. All queued messages may be in memory at once.
const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

impl Run {
    /// Takes a message in: into the inbox and before a worker, or not at all.
    pub(crate) async fn accept(
        self: &Arc<Self>,
        link: &Arc<SharedConnection>,
        message: ChannelMessage,
        room: OwnedSemaphorePermit,
    ) {
        tracing::debug!(bytes = message.text.len(), "a message");
        if message.sender.len() > LONGEST {
            self.refuse(&message, "the name of the sender is too long");
            return self.kept(link, &message);
        }
        match self.senders.judge(&message.sender) {
            Ok(Word::Allowed) => {}
            Ok(Word::Denied) => {
                self.refuse(&message, "the sender is denied");
                return self.kept(link, &message);
            }
            Ok(Word::Stranger) => {
                self.stranger(link, &message);
                return self.kept(link, &message);
            }
            Err(error) => {
                self.news(Level::Error, "refused", format!("a message was refused: {error}"));
                self.refuse(&message, "it is not known who may speak");
                return self.kept(link, &message);
            }
        }
        let queued = lock(&self.desks).get(&message.sender).map_or(0, VecDeque::len);
        let refusal = if queued >= MAX_QUEUED_PER_SENDER {
            Some((
                "too many messages of this sender wait",
                "You have too many messages waiting. Please send this one again later.",
            ))
        } else if json!(message).to_string().len() > MAX_MESSAGE_BYTES {
            Some(("the message is too long", "This message is too long to be answered."))
        } else {
            None
        };
        if let Some((why, said)) = refusal {
            self.refuse(&message, why);
            if lock(&self.known).answer(&message.sender, Instant::now()) {
                self.say(link, &message, said);
            }
            return self.kept(link, &message);
        }
        let letter = loop {
            // The disk may take its time; the others need not wait for it.
            let (inbox, kept) = (Arc::clone(&self.inbox), message.clone());
            match tokio::task::spawn_blocking(move || inbox.keep(kept)).await.unwrap_or_else(unkept) {
                Ok(letter) => break letter,
                Err(error) => {
                    let text = format!("{error}; the message of {:?} waits until it can be kept", message.sender);
                    self.news(Level::Error, "not_kept", text);
                    if !self.rest(Duration::from_secs(1)).await {
                        let text = format!("a message of {:?} was lost: it could not be kept", message.sender);
                        return self.news(Level::Error, "message_lost", text);
                    }
                }
            }
        };
        self.kept(link, &message);
        self.put(Job { letter, came_on: Some(link.enter()), _room: room });
    }

    pub(crate) fn kept(&self, link: &SharedConnection, message: &ChannelMessage) {
        if let Err(error) = link.connection.kept(message) {
            self.news(Level::Error, "not_kept", format!("{error}; a message may be answered twice after a restart"));
        }
    }

    fn stranger(self: &Arc<Self>, link: &Arc<SharedConnection>, message: &ChannelMessage) {
        self.refuse(message, "the sender is not known");
        // What is said in a group is read by others.
        let is_private = message.metadata.as_ref().and_then(|data| data.get("private")) != Some(&Value::Bool(false));
        if !is_private || !lock(&self.strangers).answer(&message.sender, Instant::now()) {
            return;
        }
        match self.senders.knock(&message.sender) {
            Ok(Knock::Code(code)) => {
                let who = plain_text(&message.sender);
                let text = format!("{who:?} asks to be let in: `jackfield channel pair {code}`");
                self.news(Level::Info, "pairing", text);
                self.note("channel.pairing", "a stranger was given a code", json!({ "sender": message.sender })).ok();
                let said = format!(
                    "You are not known here. Give the owner of this bot the pairing code {code}; it counts for an hour."
                );
                self.say(link, message, &said);
            }
            Ok(Knock::Nothing(why)) => self.news(Level::Info, "pairing", format!("a stranger gets no code: {why}")),
            Err(error) => self.news(Level::Error, "pairing", error.to_string()),
        }
    }

    /// Says something that is no answer; it is not tried twice.
    fn say(self: &Arc<Self>, link: &Arc<SharedConnection>, message: &ChannelMessage, text: &str) {
        let (run, user, message, text) = (Arc::clone(self), link.enter(), message.clone(), text.to_owned());
        tokio::spawn(async move {
            if let Err(error) = user.link.connection.send(message, text).await {
                run.news(
                    Level::Warn,
                    "send_failed",
                    format!("somebody could not be told why they are refused: {error}"),
                );
            }
        });
    }

    fn refuse(&self, message: &ChannelMessage, why: &str) {
        let recorded = lock(&self.strangers).refuse(Instant::now());
        if !recorded.this {
            return;
        }
        let more = if recorded.more > 0 { format!(" ({} others before it)", recorded.more) } else { String::new() };
        let data = json!({
            "sender": short(&message.sender),
            "message_hash": params_hash(&self.name, &json!(message)),
            "reason": why,
            "others": recorded.more,
        });
        self.note("channel.refused", &format!("a message was refused: {why}{more}"), data).ok();
        let who = plain_text(&short(&message.sender));
        self.news(Level::Info, "refused", format!("a message of {who:?} was refused: {why}{more}"));
    }
}

/// The beginning of a name that anybody may have chosen.
fn short(name: &str) -> String {
    name.chars().take(LONGEST / 4).collect()
}

fn unkept(error: tokio::task::JoinError) -> Result<Letter, CallError> {
    Err(CallError::new(ErrorCode::Internal, format!("a message could not be kept: {error}")))
}
