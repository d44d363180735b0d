//! Channels through the built binary: messages in, answers out, whatever the channel, its senders, its responder or the end
//! of the host do to them.

mod basics;
mod floods;
mod history;
mod hostile;
mod outgoing;
mod reload;
mod support;
mod survival;
mod telegram;
