#!/usr/bin/env bash
# A command in shell: jq reads and writes the frames.
set -euo pipefail

echo '{"type":"hello","name":"shout","version":"1.0.0","capabilities":["commands"]}'
echo '{"type":"register_command","name":"shout","description":"show TEXT in capitals"}'
echo '{"type":"ready"}'

while IFS= read -r line; do
  case $(jq -r '.type' <<<"$line") in
    command_invoked)
      jq -c '{type: "command_response", id, action: "display", display: (.args // "" | ascii_upcase + "!")}' <<<"$line"
      ;;
    shutdown)
      echo '{"type":"shutdown_ack"}'
      break
      ;;
  esac
done
