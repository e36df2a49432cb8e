import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" in call:
        result = {"ok": True} if call["method"] == "hook.hello" else {"action": "continue"}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}) + "\n")
        sys.stdout.flush()
