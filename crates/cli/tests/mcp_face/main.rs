//! `jackfield mcp` through the built binary: both eras on stdio and over HTTP, hostile clients, many tools, many calls,
//! many agents, and clients that are not ours.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod http;
mod legacy;
mod many;
mod modern;
mod odd_input;
mod permission;
mod sdks;
mod sharing;
mod support;
