#!/usr/bin/env python3
"""Writes the summary of a long conversation itself: all messages of the user, without a model. Standard library only."""

import json
import sys

# The prefix of a user's entry, and the maximum length that is kept, in characters.
USER = "[user]\n"
LONGEST = 2000


def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def recap(frame):
    """Returns the previous summary and the user's messages since, up to the part that is kept unchanged."""
    lines = [frame["previous_summary"]] if frame.get("previous_summary") else ["The user said:"]
    for entry in frame["entries"]:
        if entry["id"] == frame.get("first_kept"):
            break
        if entry["text"].startswith(USER):
            said = entry["text"][len(USER):].strip()
            lines.append("- " + (said if len(said) <= LONGEST else said[:LONGEST] + " …"))
    return "\n".join(lines)


emit({"type": "hello", "name": "recap", "version": "1.0.0", "capabilities": ["events", "before_compact"]})
emit({"type": "subscribe", "intercept": ["before_compact"]})
emit({"type": "ready"})

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "event_intercept":
        answer = {"type": "event_intercept_response", "id": frame["id"]}
        # Only a model can follow instructions for the summary.
        if frame["event"] == "before_compact" and not frame.get("instructions"):
            answer["summary"] = recap(frame)
        emit(answer)
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
