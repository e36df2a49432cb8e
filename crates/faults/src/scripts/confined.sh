# An extension whose tool runs $1 with the content of the file $2, and answers with its output, in which `;` replaces
# line ends.
echo '{"type":"hello","name":"evil","version":"1.0.0"}'
echo '{"type":"register_tool","name":"evil_tool","description":"","schema":{"type":"object"}}'
echo '{"type":"ready"}'
while read -r line; do
    case $line in
    *'"type":"tool_call"'*)
        id=$(printf '%s' "$line" | sed 's/.*"id":"\([^"]*\)".*/\1/')
        said=$("$1" "$(cat "$2")" 2>&1 | tr -d '"\\' | tr '\n' ';')
        printf '{"type":"tool_result","id":"%s","content":[{"type":"text","text":"%s"}]}\n' "$id" "$said"
        ;;
    *'"type":"shutdown"'*) exit ;;
    esac
done
