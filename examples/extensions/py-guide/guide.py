#!/usr/bin/env python3
"""A read-only tool, a guide for it in the system prompt, and a gate that blocks `rm -rf`. Standard library only."""

import json
import re
import sys

GLOSSARY = {
    "extension": "A process that adds commands, tools or rules to the agent.",
    "intercept": "A question the host asks before something happens; the answer may stop it.",
    "step": "One request to the model and the tool calls in its answer.",
}

GUIDE = "Look project words up with the tool `glossary` before you explain them; it changes nothing."

# rm with both flags, in one word or several, in any order.
RM_RF = re.compile(r"\brm\b(?=[^;|&\n]*\s(-\w*[rR]|--recursive\b))(?=[^;|&\n]*\s(-\w*f|--force\b))")


def emit(frame):
    sys.stdout.write(json.dumps(frame) + "\n")
    sys.stdout.flush()


def look_up(args):
    term = args.get("term")
    if not isinstance(term, str):
        raise ValueError("argument `term` must be a string")
    meaning = GLOSSARY.get(term.lower())
    if meaning is None:
        raise ValueError(f"no entry for {term!r}; known: {', '.join(sorted(GLOSSARY))}")
    return meaning


def call_tool(frame):
    result = {"type": "tool_result", "id": frame["id"]}
    try:
        return result | {"content": [{"type": "text", "text": look_up(frame["args"])}]}
    except ValueError as error:
        return result | {"content": [{"type": "text", "text": str(error)}], "is_error": True}


def intercept(frame):
    answer = {"type": "event_intercept_response", "id": frame["id"]}
    if frame["event"] == "before_agent_start":
        return answer | {"append_system_prompt": GUIDE}
    if frame["event"] == "tool_call" and frame["tool_name"] == "bash":
        command = frame["tool_args"].get("command")
        # Block calls that cannot be read: a gate must not allow an unknown call.
        if not isinstance(command, str) or RM_RF.search(command):
            return answer | {"block": True, "reason": "refused: rm -rf is not allowed here"}
    return answer


emit({"type": "hello", "name": "py-guide", "version": "1.0.0",
      "capabilities": ["tools", "events", "before_agent_start"]})
emit({"type": "register_tool", "name": "glossary", "description": "Explain a word of this project. Read-only.",
      "schema": {"type": "object", "properties": {"term": {"type": "string", "description": "The word."}},
                 "required": ["term"]}})
emit({"type": "subscribe", "intercept": ["tool_call", "before_agent_start"]})
emit({"type": "ready"})

for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "tool_call":
        emit(call_tool(frame))
    elif frame["type"] == "event_intercept":
        emit(intercept(frame))
    elif frame["type"] == "shutdown":
        emit({"type": "shutdown_ack"})
        break
