//! Components against the runtime's contract: what they can do, what they can do wrong, and what becomes of it.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod calls;
mod code;
mod ends;
mod limits;
mod loading;
mod support;
mod versions;
