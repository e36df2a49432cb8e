#!/usr/bin/env node
// A command and a tool in plain Node: no SDK, no packages.
"use strict";

const readline = require("node:readline");

const emit = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");

function now(timezone) {
  const date = new Date();
  // Throws a RangeError for a time zone it does not know.
  const local = date.toLocaleString("sv-SE", { timeZone: timezone || undefined });
  return timezone ? `${local} ${timezone}` : local;
}

function runCommand(frame) {
  try {
    emit({ type: "command_response", id: frame.id, action: "display", display: now(frame.args) });
  } catch (error) {
    emit({ type: "command_response", id: frame.id, action: "noop", error: error.message });
  }
}

function callTool(frame) {
  try {
    emit({ type: "tool_result", id: frame.id, content: [{ type: "text", text: now(frame.args.timezone) }] });
  } catch (error) {
    emit({ type: "tool_result", id: frame.id, content: [{ type: "text", text: error.message }], is_error: true });
  }
}

const handlers = {
  command_invoked: runCommand,
  tool_call: callTool,
  shutdown: () => {
    emit({ type: "shutdown_ack" });
    input.close();
  },
};

emit({ type: "hello", name: "clock", version: "1.0.0", capabilities: ["commands", "tools"] });
emit({ type: "register_command", name: "clock", description: "show the time, here or in TIMEZONE" });
emit({
  type: "register_tool",
  name: "now",
  description: "The current date and time.",
  schema: {
    type: "object",
    properties: { timezone: { type: "string", description: "IANA name, for example Europe/Berlin." } },
  },
});
emit({ type: "ready" });

const input = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
input.on("line", (line) => {
  const frame = JSON.parse(line);
  handlers[frame.type]?.(frame);
});
// Without this the open pipe would keep the process alive after `shutdown`.
input.on("close", () => process.stdin.destroy());
