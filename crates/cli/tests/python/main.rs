//! Python files as extensions, through the built binary: what they offer, what bad ones cost, and what saving them does.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod bad;
mod channels;
mod deaths;
mod environments;
mod reload;
mod storm;
mod support;
mod tools;
