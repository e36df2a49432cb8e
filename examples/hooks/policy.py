#!/usr/bin/env python3
"""A process hook without an SDK, for haft and PicoClaw: refuses dangerous shell commands, offers the model a tool that
explains what is refused, and takes secrets out of what tools come to. Standard library only."""

import json
import re
import sys

# What a command must not match, and what the model is told. It stops accidents, not attackers.
RULES = [
    (r"\brm\b(?=.*\s(-\w*[rR]|--recursive\b))(?=.*\s(-\w*f|--force\b))", "rm -rf is refused here; remove single files"),
    (r"(?:^|[\s/])sudo(?:\s|$)", "sudo is refused here; work with the rights you have"),
    (r"\bgit\b.*\spush\b(?=.*\s(-\w*f|--force\b))", "git push --force is refused here; push without force"),
]

KEY = re.compile(r"\b(AKIA|ghp_|sk-|xoxb-)[\w-]{12,}", re.ASCII)
ASSIGNED = re.compile(r"""((?:PASSWORD|SECRET|TOKEN|API_KEY)["'\\]*[ ]*[=:][ "'\\]*)[^\s"'\\]+""", re.IGNORECASE)

TOOL = {
    "type": "function",
    "function": {
        "name": "explain_policy",
        "description": "Says whether a shell command is refused here, and what to do instead.",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "description": "A shell command."}},
            "required": ["command"],
        },
    },
}


def refusal(command):
    """Why a command is refused; None when it is not."""
    if not isinstance(command, str):
        return "a shell command is a string"
    for part in re.split(r"[;|&\n(){}`$]", re.sub(r"""["'\\]""", "", command)):
        for pattern, reason in RULES:
            if re.search(pattern, part):
                return reason
    return None


def redacted(text):
    return ASSIGNED.sub(r"\1[redacted]", KEY.sub("[redacted]", text))


def before_llm(call):
    if call.get("graceful_terminal"):
        return {}
    # PicoClaw wants the request whole, so what was asked goes back with one tool more.
    return {"action": "modify", "request": {**call, "tools": [*(call.get("tools") or []), TOOL]}}


def before_tool(call):
    if call["tool"] != TOOL["function"]["name"]:
        return {}
    reason = refusal((call.get("arguments") or {}).get("command"))
    return {"action": "respond", "result": {"for_llm": reason or "not refused", "silent": False, "is_error": False}}


def approve_tool(call):
    # Asked last, about the call as it will run. "exec" is PicoClaw's name of the shell.
    if call["tool"] not in ("bash", "exec"):
        return {"approved": True}
    reason = refusal((call.get("arguments") or {}).get("command"))
    return {"approved": False, "reason": reason} if reason else {"approved": True}


def after_tool(call):
    result = call["result"]
    clean = {**result, **{key: redacted(result[key]) for key in ("for_llm", "for_user") if result.get(key)}}
    # The shape is that of the question, so the result stands in "result" in "result".
    return {"action": "modify", "result": {**call, "result": clean}} if clean != result else {}


# A method without a handler is answered with {}, which is "go on" everywhere but at approve_tool.
HANDLERS = {f"hook.{handler.__name__}": handler for handler in (before_llm, before_tool, approve_tool, after_tool)}

for line in sys.stdin:
    call = json.loads(line)
    if not call.get("id"):
        continue  # an event: nobody waits for an answer
    reply = {"jsonrpc": "2.0", "id": call["id"]}
    try:
        reply["result"] = HANDLERS.get(call["method"], lambda params: {})(call.get("params") or {})
    except Exception as error:  # the next call is answered whatever became of this one
        print(f"{call['method']}: {error!r}", file=sys.stderr)
        reply["error"] = {"code": -32000, "message": repr(error)}
    print(json.dumps(reply), flush=True)
