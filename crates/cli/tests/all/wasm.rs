//! WASM components, driven through the binary: how they are found and checked, what they cost, and what bad ones get.

mod bad;
mod forms;
mod support;
