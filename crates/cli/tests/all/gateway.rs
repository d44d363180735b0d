//! The gateway through the built binary: what each request gets, whoever sends it and however; questions answered from
//! elsewhere; tools that clients bring; and how it ends.

mod approvals;
mod calls;
mod clients;
mod door;
mod ending;
mod example;
mod load;
mod mcp;
mod support;
mod tokens;
mod watching;
