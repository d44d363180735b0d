#!/bin/sh
# Lists the tools of a gateway that runs, and calls one.
# usage: JACKFIELD_TOKEN=… calls.sh http://127.0.0.1:PORT TOOL PARAMS
set -eu
# In a file that only curl reads: everybody on the machine can read the arguments of a program.
ask() {
    printf 'header = "Authorization: Bearer %s"\n' "$JACKFIELD_TOKEN" | curl --silent --show-error --config - "$@"
    echo
}
ask "$1/api/tools"
ask "$1/api/tools/call" --header 'Content-Type: application/json' --data "{\"toolName\":\"$2\",\"params\":$3}"
