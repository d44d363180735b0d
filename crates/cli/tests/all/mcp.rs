//! MCP servers as extensions, through the built binary: what is found, what bad ones cost, what a changed tool takes, and real
//! ones from npm and PyPI.

mod found;
mod pins;
mod real;
mod support;
mod torture;
