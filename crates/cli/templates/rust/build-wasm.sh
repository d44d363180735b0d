#!/bin/sh
# Builds {{name}}.wasm. Needs Rust with the target wasm32-unknown-unknown; the linker comes with Rust.
set -eu
cd "$(dirname "$0")"
cargo build --quiet --release --target wasm32-unknown-unknown
cp "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/{{name}}.wasm" {{name}}.wasm
