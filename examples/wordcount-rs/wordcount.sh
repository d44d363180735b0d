#!/bin/sh
# Runs the program that cargo built; `exec` leaves no shell between the host and it.
target=${CARGO_TARGET_DIR:-../../target}
for program in ./wordcount "$target/release/wordcount" "$target/debug/wordcount"; do [ -x "$program" ] && exec "$program"; done
echo "wordcount-rs is not built: run \`cargo build -p wordcount-rs\` in the jackfield repository" >&2; exit 1
