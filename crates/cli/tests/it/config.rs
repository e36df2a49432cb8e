//! `haft config`, and the settings of a project in a run.

use std::fs;

use crate::world::World;

/// Creates a world with these settings of the user and the project.
fn world(user: &str, project: &str) -> World {
    let world = World::new();
    fs::create_dir_all(world.home()).unwrap();
    fs::create_dir_all(world.project().join(".haft")).unwrap();
    fs::write(world.home().join("config.toml"), user).unwrap();
    fs::write(world.project().join(".haft/config.toml"), project).unwrap();
    world
}

/// Settings of a project: allowed ones, and ones that only the user may set.
const PROJECT: &str = "model = 'theirs'\nbase_url = 'http://evil'\n[extension.weather]\nunits = 'si'\n\
    [grant.weather]\nenv = ['OPENAI_API_KEY']\n";

#[test]
fn shows_effective_settings_with_origin() {
    let world = world("provider = 'openai'\nmodel = 'mine'\n[extension.weather]\ntoken = 'x'\n", PROJECT);
    let mut command = world.command(&["config", "show", "--origin"]);
    let output = command.env("HAFT_MAX_STEPS", "7").output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().contains("max_steps = 7"));
    insta::assert_snapshot!(world.haft(&["config", "show", "--origin"]).transcript());
    insta::assert_snapshot!(world.haft(&["config", "show", "--trust-project"]).transcript());
}

#[test]
fn shows_settings_as_json() {
    let world = world("model = 'mine'\n", PROJECT);
    let ended = world.haft(&["config", "show", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let model = all["settings"].as_array().unwrap().iter().find(|row| row["key"] == "model").unwrap();
    assert_eq!((model["value"].as_str(), model["origin"]["line"].as_u64()), (Some("mine"), Some(1)));
    assert_eq!(all["unused"][0]["sets"], serde_json::json!(["base_url", "extension", "grant", "model"]));
}

#[test]
fn mistake_in_one_file_keeps_settings_of_other() {
    let world = world("model = 'mine'\n", "[grant.g]\nenvv = ['A']\n");
    let ended = world.haft(&["config", "show", "--trust-project"]);
    assert_eq!(ended.code, 9);
    assert!(ended.stdout.contains("model = \"mine\"\n"), "{ended:?}");
    let told = "project/.haft/config.toml:2: unknown key `grant.g.envv`; did you mean `grant.g.env`?\n";
    assert!(ended.stderr.ends_with(told), "{ended:?}");
    let ended = world.haft(&["-p", "--trust-project", "hi"]);
    assert!(ended.code == 9 && ended.stderr.ends_with(told), "{ended:?}");
}

/// A script that reports which steps were requested, selected by the project's setting.
#[test]
fn applies_settings_of_trusted_project() {
    let world = world("", "provider = 'scripted'\nmodel = 'script.json'\n[grant.x]\nenv = ['KEY']\n");
    fs::write(world.project().join("script.json"), r#"{"steps":[{"say":[{"text":"from the project"}]}]}"#)
        .unwrap();
    let ended = world.haft(&["-p", "--trust-project", "hi"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "from the project\n"), "{ended:?}");
    let told = "haft: ROOT/project/.haft/config.toml sets grant, which only your own config.toml may set; these settings are ignored\n";
    assert_eq!(ended.stderr, told);
    let ended = world.haft(&["-p", "--provider", "nobody", "hi"]);
    assert_eq!(ended.code, 6);
    let told = "haft: not used, because the project is not trusted: .haft/config.toml (sets grant, model, \
                provider); run `haft trust` to review and trust it\n";
    assert!(ended.stderr.starts_with(told), "{ended:?}");
}

#[test]
fn names_missing_extension_directory() {
    let world = world("extensions = ['gone']\n", "");
    let ended = world.haft(&["-p", "hi"]);
    assert_eq!(ended.code, 9);
    let told = "haft: ROOT/home/config.toml:1: `extensions`: the directory ROOT/home/gone does not exist; correct the path or \
                remove it\n";
    assert_eq!(ended.stderr, told);
    let ended = world.haft(&["config", "show"]);
    assert!(ended.code == 9 && ended.stderr.ends_with(told), "{ended:?}");
    assert!(ended.stdout.contains("extensions = \"ROOT/home/gone\"\n"), "{ended:?}");
}

#[test]
fn names_invalid_path_of_tools() {
    let world = world("[tools]\nhide = ['.env']\n", "");
    for args in [&["config", "show"][..], &["-p", "--provider", "ollama", "--model", "m", "hi"]] {
        let ended = world.haft(args);
        assert_eq!(ended.code, 9, "{ended:?}");
        let told =
            "haft: ROOT/home/config.toml:2: tools.hide: \".env\" is not absolute; use an absolute path";
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}

#[test]
fn rejects_writable_paths_that_open_what_is_protected() {
    let world = world("", "");
    let home = world.home();
    for (path, told) in [
        (home.join("results"), "which tools can never change"),
        (home, "which tools can never change"),
        ("~/.ssh".into(), "which is hidden because it holds secrets"),
        ("/".into(), "covers all files"),
    ] {
        let text = format!("tools.write = ['{}']\n", path.display());
        fs::write(world.home().join("config.toml"), text).unwrap();
        let ended = world.haft(&["-p", "--provider", "ollama", "--model", "m", "hi"]);
        assert!(ended.code == 9 && ended.stderr.contains("config.toml:1: tools.write: "), "{ended:?}");
        assert!(ended.stderr.contains(told), "{ended:?}");
    }
}

#[test]
fn warns_about_missing_paths_of_tools() {
    let world = world("[tools]\nwrite = ['/missing/cache']\nhide = ['$WORKSPACE/.env']\n", "");
    let ended = world.haft(&["config", "show"]);
    assert_eq!(ended.code, 0, "{ended:?}");
    let told =
        "haft: tools.write: /missing/cache does not exist, so commands cannot write to it; create it\n";
    assert!(ended.stderr.ends_with(told) && !ended.stderr.contains(".env"), "{ended:?}");
}

#[test]
fn rejects_working_directory_in_the_home_directory() {
    let world = world("", "");
    let home = world.home();
    let script = home.join("script.json");
    fs::write(&script, r#"{"steps": [{"say": [{"text": "Hello."}]}]}"#).unwrap();
    let model = ["--provider", "scripted", "--model", script.to_str().unwrap()];
    let args = [&["-p", "hi", "--cwd", home.to_str().unwrap()][..], &model].concat();
    let ended = world.haft(&args);
    assert_eq!(ended.code, 9, "{ended:?}");
    assert!(
        ended.stderr.contains("the working directory ROOT/home is in haft's home directory"),
        "{ended:?}"
    );
    let ended = world.haft(&[&args[..], &["--sandbox", "full"]].concat());
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "Hello.\n"), "{ended:?}");
}

#[test]
fn names_replacement_of_former_flag_once() {
    let world = world("", "");
    let ended = world.haft(&["-p", "--provider", "scripted", "--reasoning", "low", "hi"]);
    let expect = "haft: the flag `--reasoning` is now `--thinking`; the former name still works\n";
    assert_eq!(ended.stderr.matches(expect).count(), 1, "{ended:?}");
    let both = world.haft(&["--thinking", "low", "--reasoning", "low", "hi"]);
    assert_eq!(both.code, 2, "{both:?}");
}

#[test]
fn names_replacement_of_former_variable() {
    let world = world("", "");
    let mut command = world.command(&["config", "show", "--origin"]);
    let output = command.env("HAFT_REASONING", "low").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = shown.lines().find(|line| line.starts_with("thinking")).unwrap();
    assert!(line.ends_with("# HAFT_REASONING"), "{line}");
    let told = String::from_utf8(output.stderr).unwrap();
    let expect = "haft: the variable `HAFT_REASONING` is now `HAFT_THINKING`; the former name still works\n";
    assert!(told.ends_with(expect), "{told}");
}
