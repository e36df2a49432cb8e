//! The Python quick start of zot's documentation, unmodified: installed, listed, run, removed.

use std::fs;
use std::path::Path;

use haft_test_support::model_server::Scenario;

use super::requests::said;
use super::scene::Scene;

#[test]
fn quick_start_of_zot_runs_unmodified() {
    let scene = Scene::new(vec![Scenario::text("Hello! 👋")]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions/hello-py");
    let copy = scene.world.project().join("hello-py");
    fs::create_dir(&copy).unwrap();
    for file in ["extension.json", "hello.py"] {
        fs::copy(source.join(file), copy.join(file)).unwrap();
    }

    assert_eq!(scene.world.haft(&["ext", "install", "--yes", "./hello-py"]).code, 0);
    let listed = scene.world.haft(&["ext", "list"]);
    assert!(listed.stdout.contains("hello-py"), "{listed:?}");

    let ran = scene.haft(&["-p", "/hellopy"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "Hello! 👋\n");
    assert_eq!(
        said(&scene.server.requests()[0], "user"),
        ["[from extension hello-py, command hellopy]\nGreet me very briefly. Add one emoji."]
    );

    let log = scene.log_of("hello-py");
    let mut last: Vec<&str> = log.lines().rev().take(3).collect();
    // The answer and the exit arrive on two channels: on a busy machine, the exit may arrive first.
    last.get_mut(1..).unwrap().sort_unstable();
    assert_eq!(last, ["[haft] gone", "[haft] exited with status 0", "[haft] shutdown_ack"], "{log}");
}
