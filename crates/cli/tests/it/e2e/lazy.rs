//! Extensions that wait for their first use, from one run of `haft` to the next.

use haft_test_support::model_server::{Recorded, Scenario};
use serde_json::Value;

use super::running::eventually;
use super::scene::Scene;

const TOOL: &str = r#"
mark started
tool lookup
say '{"type":"ready"}'
serve found
"#;

/// Runs of an extension that waits, before the model calls it.
const WAITS: usize = 3;

#[test]
fn a_run_that_does_not_need_an_extension_does_not_start_it() {
    let scene = Scene::new(Vec::new());
    scene.server.answer_with(|_| Scenario::text("one"));
    scene.home_shell("oracle", TOOL);
    let mut starts = 0;
    // A run waits for a tool that it asks for by name. A slow start is not remembered, and the next run starts again.
    let is_remembered = eventually(|| {
        starts += 1;
        scene.haft(&["-p", "--tools", "lookup", "go"]).expect(0);
        assert_eq!(scene.marks().len(), starts, "nothing stands in for it yet");
        scene.remembers("oracle")
    });
    assert!(is_remembered, "no start was quick enough");
    let told = lookup(scene.server.requests().last().unwrap()).expect("the tool is waited for");
    for _ in 0..WAITS {
        scene.haft(&["-p", "go"]).expect(0);
        assert_eq!(scene.marks().len(), starts, "nothing needed it");
        let request = scene.server.requests().pop().unwrap();
        assert_eq!(lookup(&request), Some(told.clone()), "the model is told the same");
    }
    let mut answers =
        [Scenario::text("Looking.").tool("t1", "lookup", "{}"), Scenario::text("two")].into_iter();
    scene.server.answer_with(move |_| answers.next().unwrap());
    scene.haft(&["-p", "go"]).expect(0);
    assert_eq!(scene.marks().len(), starts + 1, "the model called it");
}

/// Returns the description of the tool that the model is offered.
fn lookup(request: &Recorded) -> Option<Value> {
    let tools = request.body["tools"].as_array()?;
    tools.iter().find(|tool| tool["function"]["name"] == "lookup").cloned()
}
