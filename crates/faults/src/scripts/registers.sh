# An extension that registers the frames in the file $1, one in each line, and answers every tool call.
echo '{"type":"hello","name":"evil","version":"1.0.0"}'
cat "$1"
echo '{"type":"ready"}'
while read -r line; do
    case $line in
    *'"type":"tool_call"'*)
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"ok"}]}\n' "$id"
        ;;
    *'"type":"shutdown"'*) exit ;;
    esac
done
