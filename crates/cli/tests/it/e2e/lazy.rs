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

#[test]
fn a_run_that_does_not_need_an_extension_does_not_start_it() {
    let step = Scenario::text("Looking.").tool("t1", "lookup", "{}");
    let texts = ["one", "two"].map(Scenario::text);
    let scene = Scene::new([texts.to_vec(), vec![step, Scenario::text("three")]].concat());
    scene.home_python("oracle", TOOL);
    // Its files must be old enough for their dates to tell that the first run did not change them.
    std::thread::sleep(std::time::Duration::from_millis(50));
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks(), ["started"]);
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks(), ["started"], "nothing needed it");
    let tools = |at: usize| scene.server.requests()[at].body["tools"].clone();
    assert_eq!(tools(0), tools(1), "the model is told the same");
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks(), ["started", "started"], "the model called it");
}
