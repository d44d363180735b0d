//! `channel list`, `run`, `allow`, `deny`, `pair`.

use std::sync::Arc;
use std::time::Duration;

use jackfield_channels::{ChannelInfo, ChannelNews, ChannelRun, Channels, Echo, Program, Responder, Senders};
use jackfield_gateway::lines;
use jackfield_host::{Host, HostEvent};
use jackfield_protocol::{CallError, ErrorCode, Level, Notice, NoticeLevel, plain_text};
use serde_json::json;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::LEARN_TIMEOUT;
use crate::args::{ChannelVerb, Global};
use crate::compose::{self, Scope};
use crate::exit;
use crate::output::{self, note};
use crate::signals::Signals;

pub(crate) async fn channel(global: &Global, verb: ChannelVerb) -> anyhow::Result<u8> {
    match verb {
        ChannelVerb::List => list(global).await,
        ChannelVerb::Run { name, respond, timeout_ms, retry_ms, history, history_keep, watch } => {
            let (timeout, pause) = (Duration::from_millis(timeout_ms), Duration::from_millis(retry_ms));
            let history = history.then_some(history_keep);
            run(global, &Service { name, respond, timeout, pause, history, watch }).await
        }
        ChannelVerb::Allow { name, sender } => decide(global, &name, &sender, "allow").await,
        ChannelVerb::Deny { name, sender } => decide(global, &name, &sender, "deny").await,
        ChannelVerb::Pair { code } => pair(global, &code),
    }
}

async fn open(global: &Global) -> anyhow::Result<Host> {
    let host = compose::open(global, Scope::All)?;
    host.learn(LEARN_TIMEOUT).await;
    Ok(host)
}

async fn list(global: &Global) -> anyhow::Result<u8> {
    let host = open(global).await?;
    let channels = Channels::new(&host).list();
    host.shutdown().await;
    if global.json {
        output::json(&json!({ "channels": channels }))?;
        return Ok(exit::FINE);
    }
    let row = |channel: &ChannelInfo| {
        let owner = channel.extension.as_ref().map_or_else(|| "jackfield".to_owned(), ToString::to_string);
        let who = match &channel.senders {
            None => "nobody (damaged)".to_owned(),
            Some(senders) if senders.open => "everybody".to_owned(),
            Some(senders) => senders.allowed.len().to_string(),
        };
        let (waiting, failed) = (channel.waiting.to_string(), channel.failed.to_string());
        [channel.name.clone(), owner, who, waiting, failed, output::brief(&channel.description, 60)]
    };
    let rows: Vec<[String; 6]> = channels.iter().map(row).collect();
    output::table(["CHANNEL", "EXTENSION", "ALLOWED", "WAITING", "FAILED", "DESCRIPTION"], &rows)?;
    for channel in &channels {
        for pending in channel.senders.iter().flat_map(|senders| &senders.pending) {
            let (who, code) = (plain_text(&pending.sender), &pending.code);
            output::plain(&format!("{}: {who:?} asks to be let in: jackfield channel pair {code}", channel.name))?;
        }
        if let Some(error) = &channel.error {
            note!("warn: {}", plain_text(error));
        }
    }
    Ok(exit::FINE)
}

async fn decide(global: &Global, name: &str, sender: &str, word: &str) -> anyhow::Result<u8> {
    let host = open(global).await?;
    let channels = Channels::new(&host).list();
    let done = known(&channels, name).and_then(|name| {
        // The evidence first.
        Channels::new(&host).note_sender(name, sender, word)?;
        let senders = Senders::of(host.home(), name);
        if word == "allow" { senders.allow(sender) } else { senders.deny(sender) }?;
        Ok(name.to_owned())
    });
    host.shutdown().await;
    let name = done?;
    if global.json {
        output::json(&json!({ "ok": true, "channel": name, "sender": sender, "word": word }))?;
    } else {
        let may = if word == "allow" { "may speak" } else { "may not speak" };
        let who = if sender == "*" { "whoever is not known".to_owned() } else { format!("{sender:?}") };
        output::plain(&format!("{who} {may} on channel {name}"))?;
    }
    Ok(exit::FINE)
}

/// The name under which a channel keeps its senders.
fn known<'a>(channels: &'a [ChannelInfo], name: &str) -> Result<&'a str, CallError> {
    let qualified = |channel: &ChannelInfo| {
        channel.extension.as_ref().is_some_and(|extension| format!("{extension}:{}", channel.name) == name)
    };
    let found = channels.iter().find(|channel| channel.name == name || qualified(channel));
    found.map(|channel| channel.name.as_str()).ok_or_else(|| {
        let all: Vec<&str> = channels.iter().map(|channel| channel.name.as_str()).collect();
        CallError::new(ErrorCode::NotFound, format!("no channel named {name:?}; there are {}", all.join(", ")))
    })
}

fn pair(global: &Global, code: &str) -> anyhow::Result<u8> {
    let host = compose::open(global, Scope::All)?;
    let paired = Senders::pair(host.home(), code)?;
    Channels::new(&host).note_sender(&paired.channel, &paired.sender, "pair")?;
    if global.json {
        output::json(&json!({ "ok": true, "channel": paired.channel, "sender": paired.sender }))?;
    } else {
        output::plain(&format!("{:?} may speak on channel {}", paired.sender, paired.channel))?;
    }
    Ok(exit::FINE)
}

/// How a channel is to be run.
struct Service {
    name: String,
    respond: String,
    timeout: Duration,
    pause: Duration,
    history: Option<usize>,
    watch: bool,
}

async fn run(global: &Global, service: &Service) -> anyhow::Result<u8> {
    let host = open(global).await?;
    let done = serve(global, &host, service).await;
    host.shutdown().await;
    done
}

async fn serve(global: &Global, host: &Host, service: &Service) -> anyhow::Result<u8> {
    let responder = responder(host, &service.respond, service.timeout)?;
    let settings = host.report().settings.clone();
    let _watching = if service.watch || settings.watch.enabled {
        let debounce = Duration::from_millis(settings.watch.debounce_ms);
        Some(host.watch(debounce).map_err(|error| anyhow::anyhow!("cannot watch for changes: {error}"))?)
    } else {
        None
    };
    host.start_listeners(LEARN_TIMEOUT).await;
    let signals = Signals::listen();
    let (stop, hurry) = (signals.stop.clone(), signals.hurry.clone());
    let _attended = lines::attend(host, LEARN_TIMEOUT, stop.clone(), None);
    let json = global.json;
    let telling = tokio::spawn(tell_events(host.events(), json));
    let tell = Arc::new(move |news: ChannelNews| say(json, &news));
    let how = ChannelRun { responder, tell, pause: service.pause, stop, hurry, history: service.history };
    let outcome = Channels::new(host).run(&service.name, how).await;
    drop(signals);
    telling.abort();
    outcome?;
    Ok(exit::FINE)
}

fn say(json: bool, news: &ChannelNews) {
    if json {
        // Whoever does not read it does not want it.
        output::json(&json!(news)).ok();
        return;
    }
    let message = plain_text(&news.message).replace('\n', " ");
    match news.level {
        Level::Debug | Level::Info => note!("{message}"),
        Level::Warn => note!("warn: {message}"),
        Level::Error => note!("error: {message}"),
    }
}

/// What happens to the extensions meanwhile: new versions, those that were not taken, and what they say.
async fn tell_events(mut events: Receiver<HostEvent>, json: bool) {
    loop {
        let news = match events.recv().await {
            Ok(HostEvent::Reloaded(reloaded)) => match reloaded.error {
                Some(error) => {
                    let text = format!("extension {} stays as it was: {error}", reloaded.extension);
                    ChannelNews { level: Level::Error, event: "not_reloaded", message: text }
                }
                None => {
                    let what =
                        if reloaded.changes.is_empty() { "same contributions" } else { &reloaded.changes.join(", ") };
                    let text = format!("extension {} was reloaded: {what}", reloaded.extension);
                    ChannelNews { level: Level::Info, event: "reloaded", message: text }
                }
            },
            Ok(HostEvent::Notice { extension, notice: Notice::Notify { level, message } }) => {
                let level = match level {
                    NoticeLevel::Warn => Level::Warn,
                    NoticeLevel::Error => Level::Error,
                    NoticeLevel::Info | NoticeLevel::Success => Level::Info,
                };
                ChannelNews { level, event: "notice", message: output::said_by(extension.as_str(), &message) }
            }
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        say(json, &news);
    }
}

fn responder(host: &Host, respond: &str, timeout: Duration) -> anyhow::Result<Arc<dyn Responder>> {
    if respond == "echo" {
        return Ok(Arc::new(Echo));
    }
    match respond.strip_prefix("command:") {
        Some(line) => Ok(Arc::new(Program::new(host, line, timeout)?)),
        None => {
            let message = format!("--respond takes echo or command:PROGRAM ARGS…, not {respond:?}");
            Err(CallError::new(ErrorCode::InvalidRequest, message).into())
        }
    }
}
