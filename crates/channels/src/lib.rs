//! Channels: people write to an agent in a chat service, a responder answers, and the answers go out. An agent can also
//! write to people of its own accord.
//!
//! This crate refuses to answer unknown senders: they get a pairing code at most. It reaches extensions only through the
//! host, which checks policy. It writes a message to the inbox before it acts on it, and removes it after the answer was
//! sent. A killed host therefore continues where it was: every message is handled at least once.
//!
//! Modules, in reading order:
//!
//! - `channels`: [`Channels`], the entry point: list channels, run one, offer the tools.
//! - `connection`: the contract of a connection, and the connection to an extension.
//! - `run`: the event loop of a channel. One worker per sender; senders are served in parallel.
//! - `accept`: takes a received message in, or refuses it.
//! - `senders`: the allow-list and the pairing codes.
//! - `limits`: rate limits for refused senders, and growing pauses.
//! - `inbox`: messages on disk.
//! - `handle`: answers one message and sends the answer.
//! - `respond`: [`Responder`] and the two that are built in.
//! - `commands`: slash commands that this crate answers itself.
//! - `sessions`, `history`: the session of a sender, and the optional transcript.
//! - `outgoing`, `media`: the tools `send_message` and `send_media`.
//! - `telegram`: the built-in channel.
//! - `store`: small helpers for files.

mod accept;
mod channels;
mod commands;
mod connection;
mod handle;
mod history;
mod inbox;
mod limits;
mod media;
mod outgoing;
mod respond;
mod run;
mod senders;
mod sessions;
mod store;
mod telegram;

pub use channels::{ChannelInfo, ChannelNews, ChannelRun, Channels};
pub use respond::{Echo, Exchange, Program, Responder};
pub use senders::{Paired, PendingSender, SenderList, Senders};
