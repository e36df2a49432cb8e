// An extension with one fault, without an SDK: `evil.js FAULT NAME`.
const fs = require("fs");
const [fault, name] = process.argv.slice(2);
const mark = () => fs.appendFileSync(process.env.HAFT_MARKER, fault + "\n");
const write = (text) => fs.writeSync(1, text);
const emit = (frame) => write(JSON.stringify(frame) + "\n");

if (fault === "silent") {
  mark();
  setTimeout(() => {}, 600000); // sleep: keeps running without output
} else {
  if (fault === "garbage") {
    mark();
    write("Welcome!\n  loading modules...\n");
  }
  emit({ type: "hello", name, version: "1.0.0" });
  emit({ type: "register_tool", name: "evil_tool", description: "for tests", schema: { type: "object" } });
  emit({ type: "subscribe", intercept: ["tool_call"] });
  emit({ type: "ready" });
  require("readline")
    .createInterface({ input: process.stdin })
    .on("line", (line) => {
      const frame = JSON.parse(line);
      if (["tool_call", "event_intercept"].includes(frame.type) && fault === "exit-in-call") {
        mark();
        fs.writeSync(2, "panic: boom\n");
        process.exit(1);
      }
      if (frame.type === "tool_call") {
        emit({ type: "tool_result", id: frame.id, content: [{ type: "text", text: "ok" }] });
      } else if (frame.type === "event_intercept") {
        emit({ type: "event_intercept_response", id: frame.id });
      } else if (frame.type === "shutdown") {
        process.exit(0);
      }
    });
}
