//! Python files as extensions, through the built binary: what they offer, what bad ones cost, and what saving them does.

mod bad;
mod channels;
mod deaths;
mod environments;
mod reload;
mod storm;
mod support;
mod tools;
