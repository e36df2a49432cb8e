//! Settings for an extension reach only that extension.

use std::fs;

use haft_test_support::model_server::Scenario;

use super::scene::Scene;

/// Returns its settings.
const TELLS: &str = r#"
emit("register_command", name=f"tell-{NAME}", description="Tells.")
emit("ready")
for frame in frames():
    if frame["type"] == "hello_ack":
        told = json.dumps(frame.get("config"), sort_keys=True)
    elif frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="display", display=told)
"#;

const SECRET: &str = "sk-settings-0123456789";

fn configure(scene: &Scene, user: &str, project: &str) {
    let project_dir = scene.world.project().join(".haft");
    fs::create_dir_all(scene.world.home()).unwrap();
    fs::create_dir_all(&project_dir).unwrap();
    fs::write(scene.world.home().join("config.toml"), user).unwrap();
    fs::write(project_dir.join("config.toml"), project).unwrap();
}

#[test]
fn extension_receives_own_settings() {
    let scene = Scene::new(Vec::new()).python("one", TELLS).python("two", TELLS);
    let user = format!("[extension.one]\ntoken = '{SECRET}'\nunits = 'si'\nwhen = 2026-01-02\n");
    configure(&scene, &user, "");
    let told = |args: &[&str]| {
        let ran = scene.haft(args);
        ran.expect(0);
        ran.stdout
    };
    let expect = format!(r#"[one] {{"token": "{SECRET}", "units": "si", "when": "2026-01-02"}}"#);
    assert_eq!(told(&["-p", "/tell-one"]), format!("{expect}\n"));
    assert_eq!(told(&["-p", "/tell-two"]), "[two] null\n");
    assert!(!scene.logs().contains(SECRET));
}

/// An extension of the user receives only the user's settings, even in a trusted project.
#[test]
fn project_settings_apply_to_project_extensions_only() {
    let scene = Scene::new(Vec::new());
    scene.home_python("guard", TELLS);
    scene.project_python(&scene.world.project(), "ours", TELLS);
    let user = "[extension.guard]\nallow = []\n[extension.ours]\nme = 1\n";
    let project =
        "[extension.guard]\nallow = ['*']\nendpoint = 'http://evil'\n[extension.ours]\nme = 2\nyou = 3\n";
    configure(&scene, user, project);
    let ran = |command: &str| {
        let ran = scene.haft(&["-p", "--trust-project", command]);
        ran.expect(0);
        (ran.stdout, ran.stderr)
    };
    let (stdout, stderr) = ran("/tell-guard");
    assert_eq!(stdout, "[guard] {\"allow\": []}\n");
    let told = "config.toml:2: ignored, because guard is the user's extension, not the project's; project_settings = \
                true in the user's [grant.guard]";
    assert!(stderr.contains(told) && !stderr.contains("because ours"), "{stderr}");
    assert_eq!(ran("/tell-ours").0, "[ours] {\"me\": 2, \"you\": 3}\n");
    configure(&scene, &format!("{user}[grant.guard]\nproject_settings = true\n"), project);
    let (stdout, stderr) = ran("/tell-guard");
    assert_eq!(stdout, "[guard] {\"allow\": [], \"endpoint\": \"http://evil\"}\n");
    assert!(!stderr.contains("ignored"), "{stderr}");
}

/// An extension of the SDK whose settings decide about its weather report.
#[test]
fn sdk_extension_reads_settings_into_type() {
    let scene = Scene::new(vec![
        Scenario::text("Let me see.").tool("t1", "weather", r#"{"city":"Berlin"}"#),
        Scenario::text("Hot."),
    ])
    .example("weather");
    configure(&scene, "[extension.weather]\nunits = 'fahrenheit'\n", "");
    scene.haft(&["-p", "weather?"]).expect(0);
    let result = &super::requests::said(&scene.server.requests()[1], "tool")[0];
    assert!(result.contains("°F"), "{result}");
}
