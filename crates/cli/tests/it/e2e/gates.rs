//! Gates that several tests use: bodies for [`Scene::python`](super::scene::Scene).

/// A gate for `bash` that keeps failing.
pub(super) const BROKEN: &str = r#"
emit("subscribe", intercept=[{"event": "tool_call", "tools": ["bash"], "role": "gate"}])
emit("ready")
for frame in frames():
    if frame.get("event") == "tool_call":
        answer(frame, block="no")
"#;

/// Blocks every turn: `the budget is spent`.
pub(super) const SPENT: &str = r#"
emit("subscribe", intercept=["turn_start"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, block=True, reason="the budget is spent")
"#;

/// Replaces the arguments of every call with these, in Python syntax.
pub(super) fn rewrites(args: &str) -> String {
    format!(
        r#"
emit("subscribe", intercept=["tool_call"])
emit("ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        answer(frame, modified_args={args})
"#
    )
}
