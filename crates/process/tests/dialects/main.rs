//! Real children, good and bad, in every dialect.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::result_large_err, reason = "all of this is test code")]

mod bad_input;
mod channels;
mod endings;
mod envelope;
mod frames;
mod jsonrpc;
mod support;
mod worker;
