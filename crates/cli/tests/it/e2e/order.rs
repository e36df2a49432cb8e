//! Every event reaches an extension that watches, in order, up to the very last.

use haft_test_support::model_server::Scenario;

use super::scene::{Scene, bash};

/// Often enough that a race between the last event and the end would show.
const RUNS: usize = 20;

#[test]
fn the_last_event_is_never_lost() {
    let watcher = r#"
emit("subscribe", events=["session_start", "turn_start", "tool_call", "assistant_message", "turn_end"])
emit("ready")
for frame in frames():
    if frame["type"] == "event":
        mark(" ".join(str(frame[key]) for key in ("event", "step", "stop", "tool_id", "text") if key in frame))
mark("left")
"#;
    let steps = || [bash("t1", "true"), Scenario::text("Done.")];
    let scene = Scene::new((0..RUNS).flat_map(|_| steps()).collect()).python("watcher", watcher);
    for run in 1..=RUNS {
        let ran = scene.haft(&["--json", "go"]);
        ran.expect(0);
        let marks = scene.marks();
        assert_eq!(
            marks[marks.len() - 9..],
            [
                "session_start",
                "turn_start 1",
                "assistant_message",
                "tool_call t1",
                "turn_end tool_use",
                "turn_start 2",
                "assistant_message Done.",
                "turn_end end",
                "left",
            ]
            .map(str::to_owned),
            "run {run}"
        );
    }
}
