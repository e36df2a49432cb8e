//! What the host says first.

use haft_test_support::model_server::Scenario;

use crate::e2e::interactive::terminal_session::TerminalSession;
use crate::e2e::rpc_client::Client;
use crate::e2e::running::eventually;
use crate::e2e::scene::Scene;

/// Marks the mode of the host.
const LEARNS: &str = r#"
emit("ready")
for frame in frames():
    if frame["type"] == "hello_ack":
        mark(frame["mode"])
"#;

fn scene() -> Scene {
    Scene::new(vec![Scenario::text("Done.")]).python("learns", LEARNS)
}

#[track_caller]
fn expect_mode(scene: &Scene, mode: &str) {
    assert!(eventually(|| scene.marks() == [mode]), "{mode}: {:?}", scene.marks());
}

#[test]
fn extension_knows_how_haft_runs() {
    for (flag, mode) in [("-p", "print"), ("--json", "json")] {
        let scene = scene();
        scene.haft(&[flag, "go"]).expect(0);
        expect_mode(&scene, mode);
    }
    let scene_of_client = scene();
    let client = Client::of(&scene_of_client, &[]);
    expect_mode(&scene_of_client, "rpc");
    client.end().expect(0);

    let terminal = TerminalSession::at(scene(), &[]);
    expect_mode(&terminal.scene, "interactive");
    terminal.leave();
}
