#!/usr/bin/env python3
"""A process hook without an SDK, for haft and PicoClaw: denies dangerous shell commands, offers the model a tool
that explains the rules, and removes secrets from the results of tools. Standard library only."""

import json
import re
import sys

# Denied patterns, and the reasons for the model. They prevent accidents, not attacks.
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
    """Returns the reason why a command is denied, or None."""
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
    # PicoClaw requires the complete request, so the reply repeats it with one more tool.
    return {"action": "modify", "request": {**call, "tools": [*(call.get("tools") or []), TOOL]}}


def before_tool(call):
    if call["tool"] != TOOL["function"]["name"]:
        return {}
    reason = refusal((call.get("arguments") or {}).get("command"))
    return {"action": "respond", "result": {"for_llm": reason or "not refused", "silent": False, "is_error": False}}


def approve_tool(call):
    # Called last, with the final arguments. "exec" is PicoClaw's name of the shell.
    if call["tool"] not in ("bash", "exec"):
        return {"approved": True}
    reason = refusal((call.get("arguments") or {}).get("command"))
    return {"approved": False, "reason": reason} if reason else {"approved": True}


def after_tool(call):
    result = call["result"]
    clean = {**result, **{key: redacted(result[key]) for key in ("for_llm", "for_user") if result.get(key)}}
    # The reply has the shape of the params, so the new result is "result" inside "result".
    return {"action": "modify", "result": {**call, "result": clean}} if clean != result else {}


# A method without a handler is answered with {}, which means "continue" except for approve_tool.
HANDLERS = {f"hook.{handler.__name__}": handler for handler in (before_llm, before_tool, approve_tool, after_tool)}

for line in sys.stdin:
    call = json.loads(line)
    if not call.get("id"):
        continue  # an event has no reply
    reply = {"jsonrpc": "2.0", "id": call["id"]}
    try:
        reply["result"] = HANDLERS.get(call["method"], lambda params: {})(call.get("params") or {})
    except Exception as error:  # a failed call must not stop later ones
        print(f"{call['method']}: {error!r}", file=sys.stderr)
        reply["error"] = {"code": -32000, "message": repr(error)}
    print(json.dumps(reply), flush=True)
