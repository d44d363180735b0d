#!/bin/sh
# Builds {{name}}.wasm. Needs Node.js with npm; what runs needs neither.
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm install --no-audit --no-fund
npm run --silent build
