# An extension with one fault, without an SDK: `evil.py FAULT NAME`.
import json, os, sys, time

fault, name = sys.argv[1], sys.argv[2]


def mark():
    with open(os.environ["HAFT_MARKER"], "a") as file:
        file.write(fault + "\n")


def emit(frame):
    print(json.dumps(frame), flush=True)


if fault == "silent":
    mark()
    time.sleep(600)  # sleep: keeps running without output
if fault == "garbage":
    mark()
    print("Welcome!\n  loading modules...", flush=True)
emit({"type": "hello", "name": name, "version": "1.0.0"})
emit({"type": "register_tool", "name": "evil_tool", "description": "for tests", "schema": {"type": "object"}})
emit({"type": "subscribe", "intercept": ["tool_call"]})
emit({"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] in ("tool_call", "event_intercept") and fault == "exit-in-call":
        mark()
        sys.exit("panic: boom")
    if frame["type"] == "tool_call":
        emit({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "ok"}]})
    elif frame["type"] == "event_intercept":
        emit({"type": "event_intercept_response", "id": frame["id"]})
    elif frame["type"] == "shutdown":
        break
