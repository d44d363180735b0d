//! The host's own channel: Telegram, by long polling. The contract is that of every channel.

mod api;
mod split;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_files::{WriteOptions, private_folder, write_atomic};
use jackfield_host::Host;
use jackfield_protocol::{CallError, ChannelMessage, ErrorCode, ExtensionId};
use jackfield_runtime::BoxFuture;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use self::api::Api;
use crate::connection::{ChannelConnection, SharedConnection, Source};
use crate::media::{OutFile, Sort};
use crate::store;

/// The name of the channel.
pub(crate) const NAME: &str = "telegram";
/// The description of the channel, for people.
pub(crate) const DESCRIPTION: &str = "Messages to a Telegram bot.";
/// The variable, or the file among the secrets of the home, that holds the token.
pub(crate) const TOKEN: &str = "TELEGRAM_BOT_TOKEN";
/// The variable that names another server of the Bot API.
const BASE: &str = "TELEGRAM_API_BASE";
const DEFAULT_BASE: &str = "https://api.telegram.org";

/// How long Telegram holds a question for updates, in seconds.
const LONG_POLL_SECONDS: u64 = 30;
/// What the way there and back may take on top.
const NETWORK_MARGIN: Duration = Duration::from_secs(15);
/// How long sending may take.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// How long sending a file may take.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(120);
const WEEK: Duration = Duration::from_secs(7 * 24 * 3600);
/// How many updates are asked for at once.
const UPDATE_BATCH: u64 = 100;

/// The channel of one Telegram bot.
pub(crate) struct Telegram {
    bot: Arc<Bot>,
}

struct Bot {
    api: Api,
    offset_file: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first update that is not in the inbox.
    offset: i64,
    /// Updates that have come and are not in the inbox yet.
    ready: VecDeque<(i64, Option<ChannelMessage>)>,
    /// How many are asked for at once; fewer after an answer that was too large.
    batch: u64,
    /// `@name`, which commands in groups end with.
    name: Option<String>,
}

impl Telegram {
    /// The bot whose token is in the environment or among the secrets of the home.
    pub(crate) fn new(host: &Host) -> Result<Self, CallError> {
        let token = token(host)?;
        let base = host.env().get(BASE).map_or(DEFAULT_BASE, String::as_str);
        let folder = host.home().channel(NAME);
        let invalid = |why: String| CallError::new(ErrorCode::Io, format!("channel telegram: {why}"));
        private_folder(&folder).map_err(|error| invalid(format!("cannot make {}: {error}", folder.display())))?;
        let offset_file = folder.join("offset");
        let kept = if is_stale(&offset_file) { Ok(None) } else { store::read(&offset_file, 64) };
        let kept = kept.map_err(|error| invalid(format!("cannot read {}: {error}", offset_file.display())))?;
        let offset = kept.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok()).unwrap_or(0);
        let state = State { offset, batch: UPDATE_BATCH, ..State::default() };
        let bot = Bot { api: Api::new(base, token)?, offset_file, state: Mutex::new(state) };
        Ok(Self { bot: Arc::new(bot) })
    }
}

/// Whether there is a token.
pub(crate) fn is_set_up(host: &Host) -> bool {
    token(host).is_ok_and(|token| !token.is_empty())
}

/// What is needed to write to somebody by themselves: their private chat has their number.
pub(crate) fn chat_with(user: &str, reply_to: Option<&str>) -> Result<Value, CallError> {
    let number = |what: &str, text: &str| {
        text.parse::<i64>().map_err(|_| {
            let message = format!("{what} {text:?} is none of Telegram's: it must be a number");
            CallError::new(ErrorCode::InvalidRequest, message)
        })
    };
    let reply = reply_to.map(|id| number("the message", id)).transpose()?;
    Ok(json!({ "chat_id": number("the user", user)?, "reply_to": reply }))
}

/// Whether an offset says nothing any more: Telegram forgets what nobody fetched for a day, and after a week begins to count
/// somewhere else.
fn is_stale(file: &std::path::Path) -> bool {
    let age = std::fs::metadata(file).and_then(|facts| facts.modified()).ok().and_then(|at| at.elapsed().ok());
    age.is_some_and(|age| age > WEEK)
}

/// The token, from the environment or else from the secrets of the home.
fn token(host: &Host) -> Result<String, CallError> {
    let wrong = |why: String| CallError::new(ErrorCode::InvalidConfig, format!("channel telegram: {why}"));
    match host.secret(TOKEN) {
        Ok(Some(token)) if !token.trim().is_empty() => Ok(token.trim().to_owned()),
        Ok(_) => Err(wrong(format!("there is no token; run `jackfield secret set {TOKEN}`, or set the variable"))),
        Err(error) => Err(wrong(error.to_string())),
    }
}

impl Source for Telegram {
    fn owner(&self) -> ExtensionId {
        ExtensionId::new("host")
    }

    fn connect(&self) -> BoxFuture<'_, Result<Arc<SharedConnection>, CallError>> {
        Box::pin(async move {
            let me = self.bot.api.call("getMe", &json!({}), SEND_TIMEOUT).await?;
            let name = me.get("username").and_then(Value::as_str).map(|name| format!("@{name}"));
            let mut state = self.bot.state();
            state.name = name;
            // What came and was not kept comes again.
            state.ready.clear();
            drop(state);
            Ok(SharedConnection::new(Poll { bot: Arc::clone(&self.bot) }))
        })
    }

    fn resume(&self, messages: &[&ChannelMessage]) {
        let number = |message: &&ChannelMessage| message.raw.as_ref()?.get("update_id")?.as_i64();
        if let Some(last) = messages.iter().filter_map(number).max() {
            let mut state = self.bot.state();
            state.offset = state.offset.max(last.saturating_add(1));
        }
    }
}

impl Bot {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next message that came already. Updates that are none are passed over.
    fn next(&self) -> Result<Option<ChannelMessage>, CallError> {
        loop {
            let Some((number, message)) = self.state().ready.pop_front() else { return Ok(None) };
            match message {
                Some(message) => return Ok(Some(message)),
                None => self.advance(number)?,
            }
        }
    }

    /// Everything up to this update is in the inbox, or need not be.
    fn advance(&self, number: i64) -> Result<(), CallError> {
        let offset = {
            let mut state = self.state();
            // Not the highest there was: after a week of silence Telegram begins to count somewhere else.
            state.offset = number.saturating_add(1);
            state.offset
        };
        write_atomic(&self.offset_file, offset.to_string().as_bytes(), WriteOptions::PRIVATE).map(drop).map_err(
            |error| {
                let message = format!("channel telegram: cannot write {}: {error}", self.offset_file.display());
                CallError::new(ErrorCode::Io, message)
            },
        )
    }

    async fn poll(&self) -> Result<(), CallError> {
        let (offset, batch) = {
            let state = self.state();
            (state.offset, state.batch)
        };
        let mut params = json!({ "timeout": LONG_POLL_SECONDS, "limit": batch, "allowed_updates": ["message"] });
        if offset > 0
            && let Some(params) = params.as_object_mut()
        {
            params.insert("offset".to_owned(), json!(offset));
        }
        let answer =
            self.api.call("getUpdates", &params, Duration::from_secs(LONG_POLL_SECONDS) + NETWORK_MARGIN).await;
        let updates = match answer {
            Ok(Value::Array(updates)) => updates,
            Ok(_) => {
                return Err(CallError::new(
                    ErrorCode::Protocol,
                    "Telegram answered getUpdates with something else than a list",
                ));
            }
            Err(error) => {
                if error.details.as_ref().is_some_and(|details| details.get("too_large").is_some()) {
                    self.state().batch = 1;
                }
                return Err(error);
            }
        };
        let mut state = self.state();
        state.batch = UPDATE_BATCH;
        let name = state.name.clone();
        let numbered = updates.iter().filter_map(|update| Some((update.get("update_id")?.as_i64()?, update)));
        let mut fresh: Vec<(i64, &Value)> = numbered.collect();
        fresh.sort_by_key(|(number, _)| *number);
        fresh.dedup_by_key(|(number, _)| *number);
        state.ready = fresh.iter().map(|(number, update)| (*number, read(update, name.as_deref()))).collect();
        Ok(())
    }
}

/// The text message in an update, if it is one.
fn read(update: &Value, bot: Option<&str>) -> Option<ChannelMessage> {
    let message = update.get("message")?;
    let text = message.get("text")?.as_str()?;
    let (chat, from) = (message.get("chat")?, message.get("from")?);
    let chat_id = chat.get("id").filter(|id| id.is_i64())?;
    let sender = from.get("id").filter(|id| id.is_i64())?;
    // In groups a command names whom it is for.
    let command = bot.and_then(|bot| text.trim().strip_suffix(bot)).filter(|text| text.starts_with('/'));
    let text = command.unwrap_or(text).to_owned();
    let mut metadata = Map::new();
    metadata.insert("private".to_owned(), json!(chat.get("type").and_then(Value::as_str) == Some("private")));
    for (key, value) in [("username", from.get("username")), ("name", from.get("first_name"))] {
        metadata.extend(value.map(|value| (key.to_owned(), value.clone())));
    }
    let raw = json!({
        "chat_id": chat_id,
        "message_id": message.get("message_id"),
        "update_id": update.get("update_id"),
        "thread_id": message.get("message_thread_id").filter(|_| message.get("is_topic_message").is_some()),
    });
    Some(ChannelMessage {
        text,
        sender: sender.to_string(),
        channel: NAME.to_owned(),
        metadata: Some(metadata),
        raw: Some(raw),
    })
}

/// A bot that is polled.
struct Poll {
    bot: Arc<Bot>,
}

impl ChannelConnection for Poll {
    fn receive(&self, cancel: CancellationToken) -> BoxFuture<'_, Result<Option<ChannelMessage>, CallError>> {
        Box::pin(async move {
            if let Some(message) = self.bot.next()? {
                return Ok(Some(message));
            }
            // Nothing is lost when it is given up: what was not confirmed comes again.
            tokio::select! {
                polled = self.bot.poll() => polled?,
                () = cancel.cancelled() => return Ok(None),
            }
            self.bot.next()
        })
    }

    fn kept(&self, message: &ChannelMessage) -> Result<(), CallError> {
        let number = message.raw.as_ref().and_then(|raw| raw.get("update_id")).and_then(Value::as_i64);
        number.map_or(Ok(()), |number| self.bot.advance(number))
    }

    fn parts(&self, text: &str) -> Vec<String> {
        split::split(text, split::LONGEST)
    }

    fn send(&self, message: ChannelMessage, text: String) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move {
            let mut params = address(&message)?;
            params.insert("text".to_owned(), json!(text));
            self.bot.api.call("sendMessage", &Value::Object(params), SEND_TIMEOUT).await.map(drop)
        })
    }

    fn send_file(&self, message: ChannelMessage, file: OutFile) -> BoxFuture<'_, Result<(), CallError>> {
        Box::pin(async move {
            let params = address(&message)?;
            let (method, field) = match file.sort {
                Sort::Photo => ("sendPhoto", "photo"),
                Sort::Audio => ("sendAudio", "audio"),
                Sort::Video => ("sendVideo", "video"),
                Sort::Sticker => ("sendSticker", "sticker"),
                Sort::Document => ("sendDocument", "document"),
            };
            let caption = file.caption.clone().filter(|_| file.sort != Sort::Sticker).map(Value::String);
            let params = params.into_iter().chain(caption.map(|caption| ("caption".to_owned(), caption)));
            let fields = params.map(|(name, value)| match value {
                Value::String(text) => (name, text),
                other => (name, other.to_string()),
            });
            self.bot.api.upload(method, fields.collect(), field, file, UPLOAD_TIMEOUT).await.map(drop)
        })
    }

    fn disconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The chat of a message, its topic, and which message is answered.
fn address(message: &ChannelMessage) -> Result<Map<String, Value>, CallError> {
    let raw = message.raw.as_ref();
    let part = |key: &str| raw.and_then(|raw| raw.get(key)).filter(|value| !value.is_null()).cloned();
    let Some(chat) = part("chat_id") else {
        let text = "a message without a chat cannot be answered on Telegram";
        return Err(CallError::new(ErrorCode::InvalidRequest, text));
    };
    let mut address = Map::new();
    address.insert("chat_id".to_owned(), chat);
    if let Some(thread) = part("thread_id") {
        address.insert("message_thread_id".to_owned(), thread);
    }
    if let Some(number) = part("reply_to") {
        address.insert("reply_parameters".to_owned(), json!({ "message_id": number }));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_reserves_the_name() {
        assert!(jackfield_host::BUILT_IN_CHANNELS.contains(&NAME));
    }

    #[test]
    fn updates_are_read_or_passed_over() {
        let update = |message: Value| json!({ "update_id": 5, "message": message });
        let good = json!({"message_id": 9, "text": "/new@my_bot", "chat": {"id": -7, "type": "group"},
            "from": {"id": 42, "username": "ada", "first_name": "Ada"}});
        let message = read(&update(good.clone()), Some("@my_bot")).expect("a message");
        assert_eq!((message.text.as_str(), message.sender.as_str()), ("/new", "42"));
        assert_eq!(message.metadata.as_ref().and_then(|data| data.get("private")), Some(&json!(false)));
        assert_eq!(message.raw, Some(json!({"chat_id": -7, "message_id": 9, "update_id": 5, "thread_id": null})));
        assert_eq!(read(&update(good.clone()), None).expect("a message").text, "/new@my_bot");
        for key in ["text", "chat", "from"] {
            let mut broken = good.clone();
            broken[key] = json!(7);
            assert_eq!(read(&update(broken), None), None, "{key}");
        }
        assert_eq!(read(&json!({ "update_id": 5, "edited_message": good }), None), None);
    }
}
