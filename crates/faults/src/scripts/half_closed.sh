# An extension that closes one of its streams and continues to run: `half_closed.sh close-stdin|close-stdout NAME`.
echo '{"type":"hello","name":"'"$2"'"}'
echo '{"type":"register_tool","name":"evil_tool","description":"for tests","schema":{"type":"object"}}'
echo '{"type":"subscribe","intercept":["tool_call"]}'
echo '{"type":"ready"}'
# Reads the answer to hello, and a question that stays open.
read -r line
while read -r line; do
  case $line in *'"tool_call"'*) break ;; esac
done
case $1 in
  close-stdin) exec <&- ;;
  close-stdout) exec >&- ;;
esac
# After the close: a question in between would be lost in the pipe.
echo "$1" >> "$HAFT_MARKER"
sleep 600
