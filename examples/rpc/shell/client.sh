#!/usr/bin/env bash
# Sends a prompt to haft: client.sh PROMPT [FLAG of haft rpc ...]
#
# The answer goes to standard output, all other text to standard error. The client asks you before a command runs or a
# file changes.
# Ctrl-C stops the work. Needs jq.
if (($# == 0)); then
  sed -n '2,5s/^# \{0,1\}//p' "$0" >&2
  exit 1
fi
prompt=$1
shift

# Converts a line of haft to words separated by tabs; lines that are not shown are omitted. Control characters are escaped,
# so that the terminal shows text of a model or a file instead of executing it.
# shellcheck disable=SC2016
words='
  if .type == "response" and (.success | not) then ["refused", .command, .code, .error]
  elif .type == "text_delta" then ["text", .delta]
  elif .type == "assistant_message" and any(.content[]; .type == "text") then ["text", "\n"]
  elif .type == "tool_call" then ["note", "\(.name) \(.args | tojson)"]
  elif .type == "ui_request" then ["ask", .id, .kind,
    ([.title, .message, (.options // [])[], (.call // "" | tojson)] | join(" "))]
  elif .type == "usage" then ["usage", (.cumulative | "\(.input) tokens in, \(.output) out, \(.cost_usd) US dollars")]
  elif .type == "error" then ["error", .message]
  elif .type == "done" then ["done"]
  else empty end
  | map(tostring | gsub("(?![\n\t])\\p{Cc}"; "\ufffd")) | @tsv'

pipes=$(mktemp -d)
mkfifo "$pipes/commands" "$pipes/lines"
set -m # haft gets a process group of its own, because Ctrl-C would reach it, too, and end it
{ set -o pipefail; "${HAFT:-haft}" rpc "$@" | jq --unbuffered -r "$words"; } <"$pipes/commands" >"$pipes/lines" &
set +m
exec 3>"$pipes/commands" 4<"$pipes/lines"
rm -r "$pipes"

ids=0 status=0 usage=
trap 'status=130; send "{type: \"abort\"}"' INT
trap '' PIPE # haft has ended, which its status tells

# Sends a command: a jq object, and the jq options for its variables.
send() { jq -cn --arg id "$((++ids))" "{\$id} + $1" "${@:2}" >&3 2>/dev/null; }

note() { printf '%b\n' "$*" >&2; }

# Answers a question; without a person with its default, which is the safe answer.
answer() {
  local request=$1 kind=$2 said='' fields='{cancelled: true}'
  # A status above 128 means that nothing was typed within the second.
  while [[ -t 0 ]] && ((status != 130)); do read -r -t 1 said && break; (($? > 128)) || break; done
  case $kind:$said in
    *:) ;;
    confirm:[yY] | confirm:[yY]es | approve:[yY] | approve:[yY]es) fields='{confirmed: true}' ;;
    confirm:* | approve:*) fields='{confirmed: false}' ;;
    *) fields='{$value}' ;;
  esac
  send "{type: \"ui_response\", \$request} + $fields" --arg request "$request" --arg value "$said"
}

send '{type: "hello", client: {name: "example-shell"}, ui: true, approve: ["bash", "edit", "write"]}'
send '{type: "prompt", $message}' --arg message "$prompt"
while IFS=$'\t' read -r -u 4 what first second third; do
  case $what in
    text) printf %b "$first" ;;
    note) note "* $first" ;;
    usage) usage=$first ;;
    ask) note "? $third"; answer "$first" "$second" ;;
    error) note "\nhaft: $first"; status=1 ;;
    refused)
      [[ $second == not_open ]] && continue # the question was over
      note "haft: $third"
      status=1
      ;;
  esac
  # At the end of its input haft ends when all work is finished. A rejected prompt has no `done`.
  if [[ $what == "done" || $what:$first == refused:prompt ]]; then exec 3>&-; fi
done
if [[ $usage ]]; then note "$usage"; fi
wait $! || status=$?
exit "$status"
