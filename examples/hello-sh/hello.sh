#!/bin/sh
# An extension in plain POSIX shell. One JSON object per line arrives on standard input; one per line goes out on
# standard output. Standard error is the log.
#
# Shell has no JSON parser, so this relies on two promises of the frames dialect: the host writes compact JSON with
# "type" first and "id" second, and within a JSON string every quote is escaped, so that a bare `"args":` is never part
# of a text.

LC_ALL=C
export LC_ALL
mark=$(printf '\001') # a raw control character cannot occur in JSON

emit() {
    printf '%s\n' "$1"
}

# The value of a simple string member: no escapes, as the host's ids and our own names have none.
member() { # member KEY
    member_rest=${line#*"\"$1\":\""}
    printf '%s' "${member_rest%%\"*}"
}

# Upper case for the ASCII letters of a JSON string as it stands on the wire. Escaped backslashes are set aside first, so
# that what follows them is a letter; then \N becomes the escape \n again.
upper() {
    sed -e "s/\\\\\\\\/$mark/g" \
        -e 'y/abcdefghijklmnopqrstuvwxyz/ABCDEFGHIJKLMNOPQRSTUVWXYZ/' \
        -e 's/\\B/\\b/g; s/\\F/\\f/g; s/\\N/\\n/g; s/\\R/\\r/g; s/\\T/\\t/g; s/\\U/\\u/g' \
        -e "s/$mark/\\\\\\\\/g"
}

tool_result() { # tool_result TEXT IS_ERROR, the text already escaped
    emit '{"type":"tool_result","id":"'"$id"'","content":[{"type":"text","text":"'"$1"'"}],"is_error":'"$2"'}'
}

call_tool() {
    if [ "$(member name)" != shout ]; then
        tool_result 'hello-sh has no such tool' true
        return
    fi
    # Nothing but a single string member is understood. The x in front tells an empty text from no match.
    text=$(printf '%s\n' "$line" | sed -nE 's/^.*"args":\{"text":"(([^"\\]|\\.)*)"\}.*$/x\1/p')
    case $text in
        x*) tool_result "$(printf '%s\n' "${text#x}" | upper)" false ;;
        *) tool_result 'shout takes one string, text' true ;;
    esac
}

run_command() {
    # "args" is left out when nothing follows the command.
    who=$(printf '%s\n' "$line" | sed -nE 's/^.*"args":"(([^"\\]|\\.)*)".*$/\1/p')
    emit '{"type":"command_response","id":"'"$id"'","action":"display","display":"Hello, '"${who:-world}"'!"}'
}

emit '{"type":"hello","name":"hello-sh","version":"1.0.0","capabilities":["commands","tools"]}'
emit '{"type":"register_command","name":"hello","description":"Says hello to whoever is named"}'
emit '{"type":"register_tool","name":"shout","description":"Returns the text in upper case.","schema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}}'
emit '{"type":"ready"}'

while IFS= read -r line; do
    case $line in
        '{"type":"tool_call",'*) id=$(member id) && call_tool ;;
        '{"type":"command_invoked",'*) id=$(member id) && run_command ;;
        '{"type":"shutdown"'*)
            emit '{"type":"shutdown_ack"}'
            exit 0
            ;;
        *) ;; # a frame that this extension has no use for
    esac
done
