//! WASM components, driven through the binary: how they are found and checked, what they cost, and what bad ones get.

#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "functions beside the tests are tests too")]

mod bad;
mod forms;
mod support;
