//! `jackfield mcp` through the built binary: both eras on stdio and over HTTP, hostile clients, many tools, many calls,
//! many agents, and clients that are not ours.

mod http;
mod legacy;
mod many;
mod modern;
mod odd_input;
mod permission;
mod sdks;
mod sharing;
mod support;
