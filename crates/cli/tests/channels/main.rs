//! Channels through the built binary: messages in, answers out, whatever the channel, its senders, its responder or the end
//! of the host do to them.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test that fails by panicking fails as it should")]

mod basics;
mod floods;
mod history;
mod hostile;
mod outgoing;
mod reload;
mod support;
mod survival;
mod telegram;
