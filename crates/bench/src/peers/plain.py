import json, sys
def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()
emit({"type": "hello", "name": "plain", "version": "1.0.0", "capabilities": ["events"]})
emit({"type": "subscribe", "intercept": ["tool_call"]})
emit({"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        emit({"type": "event_intercept_response", "id": frame["id"], "block": False})
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
