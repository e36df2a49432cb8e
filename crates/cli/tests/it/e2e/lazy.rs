//! Extensions that wait for their first use, from one run of `haft` to the next.

use std::fs;

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

/// Runs after which one has started so quickly, and after its files were written, that it is remembered. Usually that is the
/// first; on a machine that is very busy it may be a later one.
const RUNS: usize = 20;

/// Runs of an extension that waits, before the model calls it.
const WAITS: usize = 3;

#[test]
fn a_run_that_does_not_need_an_extension_does_not_start_it() {
    let scene = Scene::new(Vec::new());
    scene.server.answer_with(|_| Scenario::text("one"));
    scene.home_python("oracle", TOOL);
    let mut run = 0;
    while !may_wait(&scene) {
        run += 1;
        assert!(run <= RUNS, "no start was quick enough");
        scene.haft(&["-p", "go"]).expect(0);
        assert_eq!(scene.marks().len(), run, "it was started, as it has to be");
    }
    for _ in 0..WAITS {
        scene.haft(&["-p", "go"]).expect(0);
        assert_eq!(scene.marks().len(), run, "nothing needed it");
    }
    let requests = scene.server.requests();
    let tools = |at: usize| requests[at].body["tools"].clone();
    assert_eq!(tools(0), tools(requests.len() - 1), "the model is told the same");
    let mut answers =
        [Scenario::text("Looking.").tool("t1", "lookup", "{}"), Scenario::text("two")].into_iter();
    scene.server.answer_with(move |_| answers.next().unwrap());
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks().len(), run + 1, "the model called it");
}

/// Whether what it registered is written down, without a reason to start it at once.
fn may_wait(scene: &Scene) -> bool {
    let files = fs::read_dir(scene.world.home().join("state")).into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).unwrap());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .any(|line| line.contains(r#""name":"oracle""#) && !line.contains(r#""mark":"#))
}
