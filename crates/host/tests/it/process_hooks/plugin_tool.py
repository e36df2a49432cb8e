# The two functions are those of PicoClaw's document, as they are there.


def handle_before_llm(params: dict) -> dict:
    tools = params.get("tools", [])
    # Add plugin tool definition
    tools.append({
        "type": "function",
        "function": {
            "name": "my_plugin_tool",
            "description": "Plugin provided tool",
            "parameters": {
                "type": "object",
                "properties": {
                    "input": {"type": "string", "description": "Input content"}
                },
                "required": ["input"]
            }
        }
    })
    return {
        "action": "modify",
        "request": {
            "model": params["model"],
            "messages": params["messages"],
            "tools": tools,
            "options": params.get("options", {})
        }
    }


def handle_before_tool(params: dict) -> dict:
    tool = params.get("tool", "")
    if tool == "my_plugin_tool":
        # Implement tool logic here
        args = params.get("arguments", {})
        input_text = args.get("input", "")
        # Return result directly, no need to register in ToolRegistry
        return {
            "action": "respond",
            "result": {
                "for_llm": f"Plugin tool executed successfully, input: {input_text}",
                "silent": False,
                "is_error": False
            }
        }
    return {"action": "continue"}


import json
import sys

HANDLERS = {"hook.before_llm": handle_before_llm, "hook.before_tool": handle_before_tool}

for line in sys.stdin:
    request = json.loads(line)
    handle = HANDLERS.get(request["method"], lambda params: {"action": "continue"})
    reply = {"jsonrpc": "2.0", "id": request["id"], "result": handle(request["params"])}
    print(json.dumps(reply), flush=True)
