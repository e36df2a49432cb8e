const emit = (frame) => process.stdout.write(JSON.stringify(frame) + "\n");
emit({ type: "hello", name: "plain", version: "1.0.0", capabilities: ["events"] });
emit({ type: "subscribe", intercept: ["tool_call"] });
emit({ type: "ready" });
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const frame = JSON.parse(line);
  if (frame.type === "event_intercept") {
    emit({ type: "event_intercept_response", id: frame.id, block: false });
  } else if (frame.type === "shutdown") {
    emit({ type: "shutdown_ack" });
    lines.close();
  }
});
