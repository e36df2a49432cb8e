#!/usr/bin/env python3
"""Notes in memory, by session: two commands and a tool. Standard library only."""

import json
import sys

session, notes = None, []


def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def run_command(frame):
    answer = {"type": "command_response", "id": frame["id"]}
    if frame["name"] == "note":
        notes.append(frame["args"])
        return answer | {"action": "display", "display": f"{len(notes)} in session {session}"}
    return answer | {"action": "prompt", "prompt": "Summarize my notes."}


emit({"type": "hello", "name": "logbook", "version": "1.0.0", "capabilities": ["commands", "tools", "events"]})
emit({"type": "register_command", "name": "note", "description": "Write a note"})
emit({"type": "register_command", "name": "recap", "description": "Summarize the notes"})
emit({"type": "register_tool", "name": "notes", "description": "Returns the notes of the user.",
      "schema": {"type": "object"}})
emit({"type": "subscribe", "events": ["session_start"]})
emit({"type": "ready"})

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event" and frame["event"] == "session_start":
        session, notes = frame["session_id"], []
    elif frame["type"] == "command_invoked":
        emit(run_command(frame))
    elif frame["type"] == "tool_call":
        emit({"type": "tool_result", "id": frame["id"], "content": [{"type": "text", "text": "; ".join(notes)}]})
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
