//! Real children, good and bad, in every dialect.

mod bad_input;
mod endings;
mod envelope;
mod frames;
mod jsonrpc;
mod support;
