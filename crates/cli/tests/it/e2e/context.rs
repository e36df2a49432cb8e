//! Texts of the user and the project for the model: context files, skills, prompt templates.

use std::fs;
use std::path::Path;

use haft_test_support::model_server::Scenario;

use super::requests::{offered, said, system};
use super::scene::Scene;

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const SKILL: &str = "---\nname: release\ndescription: Makes a release.\n---\nCount to three.\n";

#[test]
fn sends_context_files_of_trusted_project_with_paths() {
    let scene = Scene::new(vec![Scenario::text("Hi."); 4]);
    write(&scene.world.home(), &[("AGENTS.md", "Be kind."), ("SYSTEM.md", "You are Eve.")]);
    let project =
        [("AGENTS.md", "Outer."), ("in/CLAUDE.md", "Inner."), ("in/.haft/SYSTEM.md", "You are Mallory.")];
    write(&scene.world.project(), &project);
    let shown = |args: &[&str]| {
        let ran = scene.haft(&[&["-p", "--cwd", "in", "hi"], args].concat());
        ran.expect(0);
        (system(scene.server.requests().last().unwrap()), ran.stderr)
    };
    let (prompt, told) = shown(&["--trust-project"]);
    let at = |text: &str| prompt.find(text).unwrap_or_else(|| panic!("{text} is missing in {prompt}"));
    assert!(at("Be kind.") < at("Outer.") && at("Outer.") < at("Inner."), "{prompt}");
    assert!(
        at("project/in/CLAUDE.md\">\nInner.") > at("# Context") && prompt.starts_with("You are Mallory.")
    );
    assert_eq!(told, "");
    let (prompt, told) = shown(&[]);
    assert!(prompt.contains("Be kind.") && !prompt.contains("Inner.") && prompt.starts_with("You are Eve."));
    assert_eq!(told.lines().count(), 1, "{told}");
    for name in [".haft/SYSTEM.md", "CLAUDE.md", "project/AGENTS.md", "not trusted"] {
        assert!(told.contains(name), "{name}: {told}");
    }
    let (prompt, told) = shown(&["--trust-project", "--no-context-files"]);
    assert!(!prompt.contains("# Context") && told.is_empty(), "{prompt}");
    write(&scene.world.home(), &[("config.toml", "context_files = false")]);
    assert!(!shown(&[]).0.contains("Be kind."));
}

#[test]
fn model_loads_skill_and_its_files() {
    let call = |id, args| Scenario::new().tool(id, "skill", args);
    let scene = Scene::new(vec![
        call("t1", r#"{"name":"release"}"#),
        call("t2", r#"{"name":"release","file":"notes/how.md"}"#),
        call("t3", r#"{"name":"release","file":"../../config.toml"}"#),
        call("t4", r#"{"name":"nope"}"#),
        Scenario::text("Done."),
    ]);
    write(
        &scene.world.home(),
        &[("skills/release/SKILL.md", SKILL), ("skills/release/notes/how.md", "Slowly.")],
    );
    scene.haft(&["-p", "release"]).expect(0);
    let requests = scene.server.requests();
    assert!(system(&requests[0]).contains("# Skills\n"), "{}", system(&requests[0]));
    assert!(system(&requests[0]).contains("\n- release: Makes a release.\n"));
    assert!(offered(&requests[0]).contains(&"skill".to_owned()));
    let results = said(&requests[4], "tool");
    assert!(results[0].contains("Count to three.") && results[0].contains("- notes/how.md"), "{results:?}");
    assert_eq!(results[1], "Slowly.");
    assert!(results[2].contains("outside the skill's directory"), "{results:?}");
    assert!(results[3].contains("no skill named \"nope\"; available skills: release"), "{results:?}");
}

#[test]
fn offers_skill_tool_only_for_trusted_skills() {
    let scene = Scene::new(vec![Scenario::text("Hi."); 2]);
    write(&scene.world.project(), &[(".agents/skills/release/SKILL.md", SKILL)]);
    let ran = scene.haft(&["-p", "hi"]);
    ran.expect(0);
    assert!(ran.stderr.contains(".agents/skills; run `haft trust` to review and trust it"), "{}", ran.stderr);
    assert!(!offered(&scene.server.requests()[0]).contains(&"skill".to_owned()));
    scene.haft(&["-p", "--trust-project", "hi"]).expect(0);
    assert!(offered(&scene.server.requests()[1]).contains(&"skill".to_owned()));
    let listed = scene.world.haft(&["skill", "list", "--trust-project"]);
    assert_eq!(listed.stdout, "release (project, ROOT/project/.agents/skills/release)\n  Makes a release.\n");
    let shown = scene.world.haft(&["config", "show", "--context", "--trust-project"]);
    assert_eq!(shown.stdout, "skill release in ROOT/project/.agents/skills/release\n");
}

#[test]
fn reports_templates_of_untrusted_project() {
    let scene = Scene::new(vec![Scenario::text("Hi."); 4]);
    fs::create_dir_all(scene.world.project().join(".haft/prompts")).unwrap();
    assert_eq!(scene.haft(&["-p", "hi"]).expect(0).stderr, "", "there is none yet");
    write(&scene.world.project(), &[(".haft/prompts/check.md", "Review $1.")]);
    let unused = "haft: not used, because the project is not trusted: .haft/prompts; run `haft trust` to review and trust it\n";
    assert_eq!(scene.haft(&["-p", "hi"]).expect(0).stderr, unused);
    let ran = scene.haft(&["-p", "/check a.rs"]);
    let told =
        "haft: /check is a template of the project, which is not trusted; the prompt was sent unchanged\n";
    assert_eq!(ran.expect(0).stderr, format!("{unused}{told}"));
    scene.haft(&["-p", "--trust-project", "/check a.rs"]).expect(0);
    assert_eq!(said(scene.server.requests().last().unwrap(), "user"), ["Review a.rs."]);
}

#[test]
fn lists_all_texts_for_model() {
    let scene = Scene::new(Vec::new());
    let shown = |args: &[&str]| scene.world.haft(&[&["config", "show"], args].concat()).stdout;
    let nothing = "haft's own system prompt; no context files, no skills and no templates\n";
    assert_eq!(shown(&["--context"]), nothing);
    write(&scene.world.home(), &[("prompts/fix.md", "Fix."), ("SYSTEM.md", "You are Eve.")]);
    let project = [
        ("AGENTS.md", "Outer."),
        (".haft/SYSTEM.md", "You are Bob."),
        (".haft/prompts/review.md", "Review."),
    ];
    write(&scene.world.project(), &project);
    assert_eq!(
        shown(&["--context", "--trust-project"]),
        "system prompt ROOT/project/.haft/SYSTEM.md (12 bytes)\nROOT/project/AGENTS.md (6 bytes)\n\
         template /fix in ROOT/home/prompts/fix.md\n\
         template /review in ROOT/project/.haft/prompts/review.md\n"
    );
    let users = "system prompt ROOT/home/SYSTEM.md (12 bytes)\ntemplate /fix in ROOT/home/prompts/fix.md\n";
    assert_eq!(shown(&["--context"]), users);
    let json: serde_json::Value = serde_json::from_str(&shown(&["--json"])).unwrap();
    assert_eq!(json["templates"][0]["name"], "fix");
    assert!(json["system_prompt"].as_str().unwrap().ends_with("home/SYSTEM.md"), "{json}");
}

const COMMAND: &str = r#"
emit("register_command", name="review", description="Reviews.")
emit("ready")
for frame in frames():
    if frame["type"] == "command_invoked":
        emit("command_response", id=frame["id"], action="display", display="mine")
"#;

#[test]
fn commands_of_extensions_precede_templates_and_skills() {
    let scene = Scene::new(vec![Scenario::text("Hi."); 4]);
    let files = [
        ("prompts/review.md", "---\ndescription: d\n---\nReview $1 for $ARGUMENTS."),
        ("skills/release/SKILL.md", SKILL),
    ];
    write(&scene.world.home(), &files);
    let asked = |prompt: &str| {
        scene.haft(&["-p", prompt]).expect(0);
        said(scene.server.requests().last().unwrap(), "user").pop().unwrap()
    };
    assert_eq!(asked("/review a.rs bugs"), "Review a.rs for a.rs bugs.");
    let skill = asked("/skill:release 1.0");
    assert!(skill.contains("Count to three.") && skill.ends_with("\n1.0"), "{skill}");
    let ran = scene.haft(&["-p", "/reviev a.rs"]);
    ran.expect(0);
    assert!(ran.stderr.ends_with("did you mean /review?\n"), "{}", ran.stderr);
    let ran = scene.haft(&["-p", "/skill:nope"]);
    ran.expect(2);
    assert_eq!(ran.stderr, "haft: /skill:nope: no skill named \"nope\"; available skills: release\n");
    let scene = scene.python("reviewer", COMMAND);
    let ran = scene.haft(&["-p", "/review a.rs"]);
    ran.expect(0);
    assert_eq!(ran.stdout, "[reviewer] mine\n");
    let told =
        "haft: /review runs the command of extension reviewer; the template of the same name is ignored\n";
    assert_eq!(ran.stderr, told);
}
