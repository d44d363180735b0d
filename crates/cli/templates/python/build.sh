#!/bin/sh
# Builds {{name}}.wasm. Needs componentize-py (`pip install componentize-py==0.25.1`); what runs does not.
set -eu
cd "$(dirname "$0")"
componentize-py -d wit -w pure-tool componentize --stub-wasi tool -o {{name}}.wasm
