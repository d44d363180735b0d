//! `send_message` and `send_media`: ordinary tools with which an agent writes to people of its own accord.
//!
//! They are there while there is somebody to write to, reach only those whom the owner let in, and send only files of the
//! project. A failure is an error: nothing is said to be sent that was not.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use jackfield_host::{Attached, HostEvent, WeakHost};
use jackfield_protocol::{
    CallError, ChannelMessage, Contributions, ErrorCode, Event, Format, Launch, Manifest, RuntimeKind, ToolResult,
    ToolSpec,
};
use jackfield_runtime::{BoxFuture, CallCx, Exit, ExtensionCall, Instance, Reply};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::broadcast::error::RecvError;

use crate::channels::Channels;
use crate::connection::{ExtensionSource, SharedConnection, Source};
use crate::media::{self, LONGEST_CAPTION, OutFile};
use crate::senders::{Senders, Word};
use crate::sessions::Sessions;
use crate::telegram::{self, Telegram};

const MESSAGE: &str = "send_message";
const MEDIA: &str = "send_media";
/// How often a waiting message looks whether its recipient was let in meanwhile.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);
/// The longest text, in characters.
const LONGEST_TEXT: usize = 64 * 1024;

/// The tools as they are offered now.
struct Offer {
    outbox: Arc<Outbox>,
    now: Mutex<(Vec<String>, Option<Attached>)>,
}

impl Channels {
    /// Offers `send_message` and `send_media` for as long as the host lives, whenever there is a channel with an allowed
    /// person. Call this once for a host, inside a tokio runtime.
    pub fn offer_tools(&self) {
        let outbox = Arc::new(Outbox { host: self.host.downgrade() });
        let offer = Arc::new(Offer { outbox, now: Mutex::default() });
        offer.refresh();
        self.host.after_learn({
            let offer = Arc::clone(&offer);
            move || offer.refresh()
        });
        let mut events = self.host.events();
        // The host holds the offer; this task must not outlive the host.
        let offer = Arc::downgrade(&offer);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    event = events.recv() => match event {
                        Ok(HostEvent::RegistryChanged) | Err(RecvError::Lagged(_)) => {}
                        Ok(_) => continue,
                        Err(RecvError::Closed) => return,
                    },
                    () = tokio::time::sleep(RECHECK_INTERVAL) => {}
                }
                let Some(offer) = Weak::upgrade(&offer) else { return };
                offer.refresh();
            }
        });
    }
}

impl Offer {
    /// Offers the tools for the channels that can be written to now, or takes them back where there are none.
    fn refresh(&self) {
        let Some(host) = self.outbox.host.upgrade() else { return };
        let reached = Channels::new(&host).reached();
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.0 == reached {
            return;
        }
        let offered = contributions(&reached);
        match &now.1 {
            Some(attached) => attached.contribute(offered),
            // Only a host with hundreds of clients refuses, and has no use for these.
            None => now.1 = host.attach(manifest(), Arc::clone(&self.outbox) as _, offered).ok(),
        }
        now.0 = reached;
    }
}

fn manifest() -> Manifest {
    let launch = Launch::Unsupported { reason: "it is a part of the host".to_owned() };
    let description = Some("Writes to people on channels.".to_owned());
    Manifest { description, ..Manifest::plain("channels", Format::Native, RuntimeKind::Client, launch) }
}

fn contributions(reached: &[String]) -> Contributions {
    if reached.is_empty() {
        return Contributions::default();
    }
    let text = |about: &str| json!({ "type": "string", "description": about });
    let channel = json!({
        "type": "string", "enum": reached,
        "description": "which channel; may be left out where there is only one",
    });
    let to = text("who, as the channel names them; may be left out where only one person is known there");
    let tool = |name: &str, about: &str, own: Value, required: &[&str]| {
        let mut properties = Map::new();
        properties.insert("channel".to_owned(), channel.clone());
        properties.insert("to".to_owned(), to.clone());
        properties.extend(own.as_object().cloned().unwrap_or_default());
        let parameters = json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        });
        ToolSpec { description: about.to_owned(), parameters, ..ToolSpec::open(name) }
    };
    let message = tool(
        MESSAGE,
        "Sends a text to a person on a channel, for instance Telegram. Only people whom the owner let in can be written to.",
        json!({
            "text": { "type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "description": "what is said" },
            "reply_to": text("the id of the message that this answers"),
        }),
        &["text"],
    );
    let media = tool(
        MEDIA,
        "Sends a file of the project to a person on a channel: an image, sound, video or document of at most 20 MiB.",
        json!({
            "path": { "type": "string", "minLength": 1, "description": "from the project's directory, for instance out/chart.png" },
            "caption": { "type": "string", "maxLength": LONGEST_CAPTION, "description": "a text beside it" },
            "type": {
                "type": "string", "enum": ["photo", "audio", "video", "sticker", "document"],
                "description": "how it is shown; the file's own kind without it",
            },
        }),
        &["path"],
    );
    Contributions { tools: vec![message, media], ..Contributions::default() }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    channel: Option<String>,
    to: Option<String>,
    text: Option<String>,
    reply_to: Option<String>,
    path: Option<String>,
    caption: Option<String>,
    #[serde(rename = "type")]
    sort: Option<String>,
}

/// Whom a wish is for.
struct Target {
    channel: String,
    to: String,
}

impl Channels {
    /// The channels on which there is a person to write to.
    fn reached(&self) -> Vec<String> {
        let own = telegram::is_set_up(&self.host).then(|| telegram::NAME.to_owned());
        let snapshot = self.host.snapshot();
        let theirs = snapshot.channels().map(|entry| entry.name.clone());
        own.into_iter()
            .chain(theirs)
            .filter(|name| {
                let folder = self.host.home().channel(name);
                let known = || Senders::of(self.host.home(), name).list();
                folder.is_dir() && known().is_ok_and(|list| list.open || !list.allowed.is_empty())
            })
            .collect()
    }

    fn target(&self, wish: &Wish) -> Result<Target, CallError> {
        let bad = |message: String| Err(CallError::new(ErrorCode::InvalidRequest, message));
        let reached = self.reached();
        let channel = match (&wish.channel, reached.as_slice()) {
            (Some(channel), _) if reached.contains(channel) => channel.clone(),
            (Some(channel), _) => {
                return bad(format!(
                    "channel {channel:?} is not set up, or nobody was let in there; there are {reached:?}"
                ));
            }
            (None, [only]) => only.clone(),
            (None, []) => return bad("no channel is set up (see `jackfield channel list`)".to_owned()),
            (None, several) => return bad(format!("say which channel: {several:?}")),
        };
        let senders = Senders::of(self.host.home(), &channel);
        let to = match &wish.to {
            Some(to) => to.clone(),
            None => match senders.list()?.allowed.as_slice() {
                [only] => only.clone(),
                several => return bad(format!("say to whom: on channel {channel} there are {} people", several.len())),
            },
        };
        match senders.judge(&to)? {
            Word::Allowed => Ok(Target { channel, to }),
            Word::Denied | Word::Stranger => {
                let message = format!(
                    "{to:?} may not be written to on channel {channel}: the owner did not let them in (`jackfield channel \
                     allow {channel} …`)"
                );
                Err(CallError::new(ErrorCode::Denied, message))
            }
        }
    }

    async fn link(&self, target: &Target) -> Result<Arc<SharedConnection>, CallError> {
        if target.channel == telegram::NAME {
            return Telegram::new(&self.host)?.connect().await;
        }
        let source = ExtensionSource::find(&self.host, &target.channel);
        let source = source.ok_or_else(|| self.not_found(&target.channel))?;
        source.authorize().await?;
        source.connect().await
    }

    /// A message that stands for the person.
    fn toward(&self, target: &Target, reply_to: Option<&str>) -> Result<ChannelMessage, CallError> {
        let raw = if target.channel == telegram::NAME {
            Some(telegram::chat_with(&target.to, reply_to)?)
        } else {
            let sessions = Sessions::open(&self.host.home().channel(&target.channel), &target.channel);
            sessions.of(&target.to).and_then(|session| session.raw.clone())
        };
        let mut metadata = Map::new();
        metadata.insert("unprompted".to_owned(), json!(true));
        metadata.extend(reply_to.map(|id| ("reply_to".to_owned(), json!(id))));
        let (sender, channel) = (target.to.clone(), target.channel.clone());
        Ok(ChannelMessage { text: String::new(), sender, channel, metadata: Some(metadata), raw })
    }

    /// What of a wish is sent, before anybody is connected to.
    async fn cargo(&self, tool: &str, wish: &Wish) -> Result<Cargo, CallError> {
        if tool == MESSAGE {
            return Ok(Cargo::Text(wish.text.clone().unwrap_or_default()));
        }
        let path = wish.path.clone().unwrap_or_default();
        let judged = media::judge(&path, wish.sort.as_deref())?;
        let host = self.host.clone();
        let caption = wish.caption.clone().filter(|caption| !caption.is_empty());
        let read = tokio::task::spawn_blocking(move || {
            let bytes = host.read_project_file(&path, judged.most())?;
            judged.with(bytes, caption)
        });
        let file = read.await.map_err(|error| CallError::new(ErrorCode::Internal, error.to_string()))??;
        Ok(Cargo::File(file))
    }

    async fn send_out(&self, tool: &str, args: Value) -> Result<ToolResult, CallError> {
        let wish: Wish = serde_json::from_value(args)
            .map_err(|error| CallError::new(ErrorCode::InvalidRequest, format!("{tool}: {error}")))?;
        let target = self.target(&wish)?;
        let cargo = self.cargo(tool, &wish).await?;
        let message = self.toward(&target, wish.reply_to.as_deref())?;
        let link = self.link(&target).await?;
        let connection = &link.connection;
        let (sent, told, size) = match cargo {
            Cargo::Text(text) => {
                let parts = connection.parts(&text);
                let mut sent = Ok(());
                for (number, part) in parts.iter().enumerate() {
                    sent = connection.send(message.clone(), part.clone()).await.map_err(|error| match number {
                        0 => error,
                        number => {
                            let message =
                                format!("only {number} of {} parts were sent: {}", parts.len(), error.message);
                            CallError::new(error.code, message)
                        }
                    });
                    if sent.is_err() {
                        break;
                    }
                }
                (sent, "the message", text.chars().count())
            }
            Cargo::File(file) => {
                let size = file.bytes.len();
                (connection.send_file(message, file).await, "the file", size)
            }
        };
        connection.disconnect().await;
        sent?;
        let Target { channel, to } = target;
        let unit = if tool == MESSAGE { "characters" } else { "bytes" };
        Ok(ToolResult {
            details: Some(json!({ "channel": channel, "to": to, "size": size })),
            ..ToolResult::text(format!("{told} was sent to {to} on {channel} ({size} {unit})"))
        })
    }
}

enum Cargo {
    Text(String),
    File(OutFile),
}

/// Serves the tools: an instance without an extension behind it.
struct Outbox {
    host: WeakHost,
}

impl Instance for Outbox {
    fn call(&self, call: ExtensionCall, cx: CallCx) -> BoxFuture<'_, Result<Reply, CallError>> {
        Box::pin(async move {
            let ExtensionCall::Tool { name, args, .. } = call else {
                return Err(CallError::new(ErrorCode::Unsupported, "it has only tools"));
            };
            let host = self.host.upgrade();
            let host = host.ok_or_else(|| CallError::new(ErrorCode::Unavailable, "the host has ended"))?;
            let channels = Channels::new(&host);
            let left = cx.deadline.saturating_duration_since(Instant::now());
            tokio::select! {
                sent = channels.send_out(&name, Arc::unwrap_or_clone(args)) => sent.map(Reply::Tool),
                () = cx.cancel.cancelled() => {
                    Err(CallError::new(ErrorCode::Cancelled, format!("{name} was given up; it may have been sent")))
                }
                () = tokio::time::sleep(left) => {
                    Err(CallError::new(ErrorCode::Timeout, format!("{name} took too long; it may have been sent")))
                }
            }
        })
    }

    fn notify(&self, _event: &Event) {}

    fn stop(&self, _grace: Duration) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::ready(Exit { reason: "it was stopped".to_owned(), stderr: String::new(), wanted: true }))
    }

    fn exited(&self) -> BoxFuture<'_, Exit> {
        Box::pin(std::future::pending())
    }
}
