#!/bin/sh
# Builds the program {{name}}.
set -eu
cd "$(dirname "$0")"
cargo build --quiet --release
cp "${CARGO_TARGET_DIR:-target}/release/{{name}}" {{name}}
