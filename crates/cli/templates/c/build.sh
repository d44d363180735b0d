#!/bin/sh
# Builds {{name}}.wasm. Needs wit-bindgen (`cargo install wit-bindgen-cli`), wasm-tools (`cargo install wasm-tools`) and a C
# compiler for wasm32-wasi: zig, or clang with wasi-libc through CC.
set -eu
cd "$(dirname "$0")"
mkdir -p build
wit-bindgen c --world pure-tool --out-dir build wit
${CC:-zig cc -target wasm32-wasi} -mexec-model=reactor -Oz -s -Wl,--no-entry -Ibuild -o build/core.wasm \
    tool.c build/pure_tool.c build/pure_tool_component_type.o
wasm-tools component new build/core.wasm -o {{name}}.wasm
