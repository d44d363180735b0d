//! What becomes of one message: judged, answered, and its answer sent, each step on the disk before the next.

use std::sync::Arc;

use jackfield_ledger::{Begin, Evidence, Kind, params_hash};
use jackfield_protocol::{CallError, ErrorCode, Level, plain_text};
use serde_json::json;

use crate::commands::Command;
use crate::connection::SharedConnection;
use crate::history::Role;
use crate::inbox::Letter;
use crate::limits::Backoff;
use crate::respond::Exchange;
use crate::run::{Job, Run, lock, wait_as_told};
use crate::senders::Word;

/// How often a responder is asked about one message.
const MAX_RESPONDER_ATTEMPTS: u32 = 3;
/// How often one part of an answer is sent.
const MAX_SEND_ATTEMPTS: u32 = 10;
/// What the sender of a message gets that could not be answered.
const APOLOGY: &str = "Sorry, this message could not be answered. The owner of this bot finds the reason in the log";

/// How a message ended.
enum End {
    /// Answered, or there was nothing to say.
    Done,
    /// Nothing more can be done.
    Failed(CallError),
    /// The host stops: it waits in the inbox.
    Left,
}

impl Run {
    pub(crate) async fn handle(self: &Arc<Self>, mut job: Job) {
        let _turn = tokio::select! {
            turn = self.working.acquire() => turn,
            () = self.stop.cancelled() => return,
        };
        let message = job.letter.message.clone();
        let who = format!("{}:{}", self.name, plain_text(&message.sender));
        // Who may speak may have changed since it came in.
        match self.senders.judge(&message.sender) {
            Ok(Word::Allowed) => {}
            Err(error) => {
                return self.news(Level::Error, "refused", format!("{error}; the message waits for the next run"));
            }
            Ok(Word::Denied | Word::Stranger) => {
                let why = "its sender may not speak any more".to_owned();
                self.note("channel.refused", &why, json!({ "sender": message.sender })).ok();
                self.put_aside(&mut job.letter, why);
                return;
            }
        }
        let call_id = self.host.next_call_id();
        let params = json!(message);
        let begin = Begin {
            caller: Some(&who),
            ..Begin::new(Kind::ChannelMessage, call_id.as_str(), self.owner.as_str(), &self.name, &params)
        };
        let mut recording = match self.host.begin_recording(begin) {
            Ok(recording) => recording,
            Err(error) => {
                return self.news(Level::Error, "not_recorded", format!("{error}; the message waits for the next run"));
            }
        };
        let end = self.answer_and_send(&mut job, call_id.as_str(), &mut recording.evidence).await;
        let abandoned = CallError::new(ErrorCode::Cancelled, "the host stops; the message waits for the next run");
        let error = match &end {
            End::Done => None,
            End::Failed(error) => Some(error),
            End::Left => Some(&abandoned),
        };
        if let Err(error) = recording.end_with(error, error.is_some()) {
            self.news(Level::Error, "not_recorded", error.to_string());
        }
        match end {
            End::Done => {
                if let Err(error) = self.inbox.done(&job.letter) {
                    let text = format!("{error}; the message may be answered twice after a restart");
                    self.news(Level::Error, "not_kept", text);
                }
            }
            End::Failed(error) => {
                let text = format!("a message of {who:?} could not be answered: {error}; it is kept in failed/");
                self.put_aside(&mut job.letter, error.message);
                self.news(Level::Error, "message_failed", text);
            }
            End::Left => {}
        }
    }

    fn put_aside(&self, letter: &mut Letter, why: String) {
        letter.trouble = Some(why);
        if let Err(error) = self.inbox.give_up(letter) {
            self.news(Level::Error, "not_kept", error.to_string());
        }
    }

    async fn answer_and_send(&self, job: &mut Job, call_id: &str, evidence: &mut Evidence) -> End {
        if job.letter.answer.is_none() {
            let answer = match self.answer(&job.letter).await {
                Ok(answer) => answer,
                Err(error) if error.code == ErrorCode::Cancelled => return End::Left,
                Err(error) => {
                    let text = format!("no answer to a message of {:?}: {error}", job.letter.message.sender);
                    self.news(Level::Error, "respond_failed", text);
                    job.letter.trouble = Some(error.message);
                    Some(format!("{APOLOGY} ({call_id})."))
                }
            };
            job.letter.answer = Some(answer.unwrap_or_default());
            // From here on the responder is not asked again, whatever happens.
            if let Err(error) = self.inbox.update(&job.letter) {
                self.news(Level::Error, "not_kept", format!("{error}; it may be answered twice after a restart"));
            }
        }
        self.remember(&job.letter);
        let answer = job.letter.answer.clone().unwrap_or_default();
        let answer_hash = params_hash(&self.name, &json!(answer));
        evidence.answer_hash = Some(answer_hash.clone());
        evidence.answer_bytes = Some(answer.len());
        if !answer.trim().is_empty() {
            let data = json!({ "sender": job.letter.message.sender, "answer_hash": answer_hash,
                "answer_bytes": answer.len() });
            if let Err(error) = self.note("channel.answer", "an answer is sent", data) {
                // Nothing goes out without evidence.
                self.news(Level::Error, "not_recorded", format!("{error}; the answer waits for the next run"));
                return End::Left;
            }
            match self.send(job, &answer).await {
                End::Done => {}
                other => return other,
            }
        }
        match job.letter.trouble.take() {
            None => End::Done,
            Some(why) => End::Failed(CallError::new(ErrorCode::Io, why)),
        }
    }

    /// Writes down what was said, where the owner wants that; once, however often the message is handled.
    fn remember(&self, letter: &Letter) {
        let Some(history) = &self.history else { return };
        if Command::parse(&letter.message.text).is_some() {
            return;
        }
        let session = lock(&self.sessions).of(&letter.message.sender).map(|session| session.id.clone());
        let Some(session) = session else { return };
        let answer = letter.answer.as_deref().filter(|answer| letter.trouble.is_none() && !answer.trim().is_empty());
        let said: Vec<(Role, &str)> = std::iter::once((Role::User, letter.message.text.as_str()))
            .chain(answer.map(|answer| (Role::Assistant, answer)))
            .collect();
        let message = format!("{}-{}", letter.received_at, letter.number);
        if let Err(error) = history.add(&session, &message, &said) {
            self.news(Level::Error, "not_kept", format!("cannot write the history of session {session}: {error}"));
        }
    }

    /// The answer to a message: the host's own to its commands, else the responder's.
    async fn answer(&self, letter: &Letter) -> Result<Option<String>, CallError> {
        let sender = &letter.message.sender;
        let unkept = |error: std::io::Error| {
            CallError::new(ErrorCode::Io, format!("cannot keep the session of a sender: {error}"))
        };
        if let Some(command) = Command::parse(&letter.message.text) {
            return self.command(command, sender).await.map(Some);
        }
        let session = lock(&self.sessions).message(sender, letter.message.raw.as_ref()).map_err(unkept)?;
        let history = self.history.as_ref().and_then(|history| match history.file(&session.id) {
            Ok(file) => Some(file),
            Err(error) => {
                let text = format!("cannot use the history of session {}: {error}", session.id);
                self.news(Level::Error, "not_kept", text);
                None
            }
        });
        let message = letter.message.clone();
        let exchange = Exchange { channel: self.name.clone(), session: session.id, message, history };
        let mut backoff = Backoff::new(self.pause * 2, self.pause * 40);
        let mut asked = 1;
        loop {
            let answer = tokio::select! {
                answer = self.responder.respond(&exchange, &self.hurry) => answer,
                () = self.hurry.cancelled() => return Err(CallError::new(ErrorCode::Cancelled, "the host stops")),
            };
            let error = match answer {
                Ok(answer) => return Ok(answer.map(|answer| plain_text(&answer))),
                Err(error) => error,
            };
            if asked >= MAX_RESPONDER_ATTEMPTS {
                return Err(error);
            }
            let pause = wait_as_told(&error, backoff.pause());
            let text = format!("attempt {asked} to answer a message of {sender:?} failed: {error}; it is tried again");
            self.news(Level::Warn, "respond_failed", text);
            asked += 1;
            if !self.rest(pause).await {
                return Err(CallError::new(ErrorCode::Cancelled, "the host stops"));
            }
        }
    }

    async fn command(&self, command: Command, sender: &str) -> Result<String, CallError> {
        let unkept = |error: std::io::Error| {
            CallError::new(ErrorCode::Io, format!("cannot keep the session of a sender: {error}"))
        };
        let current = lock(&self.sessions).of(sender).cloned();
        match command {
            Command::Help => Ok(Command::help()),
            Command::New => {
                let (before, session) = lock(&self.sessions).renew(sender).map_err(unkept)?;
                if let Some(before) = before {
                    self.responder.forget(&before.id);
                }
                Ok(format!("new session {}", session.id))
            }
            Command::Compact => match current {
                Some(session) => match &self.history {
                    Some(history) => {
                        let (kept, were) = history.compact(&session.id).map_err(unkept)?;
                        Ok(format!("compacted session {}: {kept} of {were} kept", session.id))
                    }
                    None => self.responder.compact(&session.id).await,
                },
                None => Ok("there is nothing to compact: nothing has been said yet".to_owned()),
            },
            Command::Info => Ok(match current {
                Some(session) => {
                    let history = self.history.as_ref().map(|history| match history.count(&session.id) {
                        Ok(count) => format!("history {count}\n"),
                        Err(_) => "history damaged\n".to_owned(),
                    });
                    format!(
                        "session {}\nsince {}\nmessages {}\n{}channel {}\nanswered by {}",
                        session.id,
                        session.since,
                        session.messages,
                        history.unwrap_or_default(),
                        self.name,
                        self.responder.describe()
                    )
                }
                None => format!("no session yet\nchannel {}\nanswered by {}", self.name, self.responder.describe()),
            }),
        }
    }

    /// Sends an answer part by part, on the connection that the message came in on, or else on the one there is.
    async fn send(&self, job: &mut Job, answer: &str) -> End {
        let mut backoff = Backoff::new(self.pause, self.pause * 120);
        let mut attempts = 0;
        loop {
            let Some(link) = self.link_for(job).await else { return End::Left };
            let parts = link.connection.parts(answer);
            let Some(part) = parts.get(job.letter.parts_sent) else { return End::Done };
            let sent = tokio::select! {
                sent = link.connection.send(job.letter.message.clone(), part.clone()) => sent,
                () = self.hurry.cancelled() => return End::Left,
            };
            let error = match sent {
                Ok(()) => {
                    job.letter.parts_sent += 1;
                    (attempts, backoff) = (0, Backoff::new(self.pause, self.pause * 120));
                    if job.letter.parts_sent < parts.len()
                        && let Err(error) = self.inbox.update(&job.letter)
                    {
                        let text = format!("{error}; a part may be sent twice after a restart");
                        self.news(Level::Error, "not_kept", text);
                    }
                    continue;
                }
                Err(error) => error,
            };
            if link.connection.is_gone() {
                // Not the answer's fault; the next connection gets it.
                job.came_on = None;
                attempts += u32::from(!error.is_undelivered());
            } else {
                attempts += 1;
            }
            if error.code == ErrorCode::InvalidRequest || attempts >= MAX_SEND_ATTEMPTS {
                let message = format!("the answer was not sent in {attempts} attempts; the last time: {error}");
                return End::Failed(CallError::new(error.code, message));
            }
            let pause = wait_as_told(&error, backoff.pause());
            let who = &job.letter.message.sender;
            self.news(
                Level::Warn,
                "send_failed",
                format!("an answer to {who:?} was not sent: {error}; it is tried again"),
            );
            if !self.rest(pause).await {
                return End::Left;
            }
        }
    }

    /// The connection to answer on; waits for one as long as it takes. `None` when the channel is to stop.
    async fn link_for(&self, job: &Job) -> Option<Arc<SharedConnection>> {
        if let Some(user) = &job.came_on
            && !user.link.connection.is_gone()
        {
            return Some(Arc::clone(&user.link));
        }
        let mut links = self.link.subscribe();
        tokio::select! {
            biased;
            link = links.wait_for(|link| link.as_ref().is_some_and(|link| !link.connection.is_gone())) => {
                link.ok().and_then(|link| link.clone())
            }
            () = self.stop.cancelled() => None,
        }
    }
}
