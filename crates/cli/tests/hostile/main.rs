//! What bad input gets, proved through the built binary: every weakness that is known of other hosts is tried on this one.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test that fails by panicking fails as it should")]

mod answers;
mod calls;
mod crowd;
mod failures;
mod floods;
mod guards;
mod projects;
mod secrets;
mod starts;
mod support;
mod terminal;
mod trees;
