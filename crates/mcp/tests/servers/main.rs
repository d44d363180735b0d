//! Sessions with real servers on standard input and output, in both eras: what was written arrives as it was written, and what
//! misbehaves costs itself.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "functions beside the tests are tests too"
)]

mod calls;
mod eras;
mod lists;
mod support;
