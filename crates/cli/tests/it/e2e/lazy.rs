//! Extensions that wait for their first use, from one run of `haft` to the next.

use haft_test_support::model_server::Scenario;

use super::scene::Scene;

const TOOL: &str = r#"
mark("started")
emit("register_tool", name="lookup", description="looks things up", schema={"type": "object"})
emit("ready")
for frame in frames():
    if frame["type"] == "tool_call":
        emit("tool_result", id=frame["id"], content=[{"type": "text", "text": "found"}])
"#;

/// Runs that do not need it. Files that were just written, and a start that takes long because the machine is busy, leave
/// the next run as it was: not every one of these runs does without.
const RUNS: usize = 10;

#[test]
fn a_run_that_does_not_need_an_extension_does_not_start_it() {
    let step = Scenario::text("Looking.").tool("t1", "lookup", "{}");
    let idle = vec![Scenario::text("one"); RUNS];
    let scene = Scene::new([idle, vec![step, Scenario::text("two")]].concat());
    scene.home_python("oracle", TOOL);
    for run in 1..=RUNS {
        scene.haft(&["-p", "go"]).expect(0);
        assert!(!scene.marks().is_empty() && scene.marks().len() <= run);
    }
    let started = scene.marks().len();
    assert!(started < RUNS, "it was started {started} times, and nothing needed it");
    let tools = |at: usize| scene.server.requests()[at].body["tools"].clone();
    assert_eq!(tools(0), tools(RUNS - 1), "the model is told the same");
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks().len(), started + 1, "the model called it");
}
