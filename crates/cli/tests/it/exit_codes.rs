//! What goes wrong before anything runs, and the number it ends with.

use crate::world::World;

#[track_caller]
fn check(world: &World, args: &[&str], code: i32, expect: &str) {
    let ended = world.haft(args);
    assert_eq!(ended.code, code, "{ended:?}");
    assert!(ended.stderr.contains(expect), "{} should contain {expect}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_command_line_that_cannot_be_understood() {
    let world = World::new();
    check(&world, &["--no-such-flag"], 2, "unexpected argument '--no-such-flag'");
    check(&world, &["--reasoning", "lots", "hi"], 2, "use default, off, low, medium or high");
    check(&world, &["--max-steps", "0", "hi"], 2, "--max-steps");
    check(&world, &["--json", "-p", "hi"], 2, "cannot be used with");
    check(&world, &["--tools", "read", "--no-tools", "hi"], 2, "cannot be used with");
    check(&world, &["ext"], 2, "Usage: haft ext");
    check(&world, &["ext", "nonsense"], 2, "unrecognized subcommand");
    check(&world, &["completions", "tcsh"], 2, "invalid value 'tcsh'");
    check(
        &world,
        &["-p", "--cwd", "no/such/dir", "hi"],
        2,
        "haft: --cwd: there is no directory ROOT/project/no/such/dir",
    );
}

#[test]
fn a_setting_that_cannot_be_used() {
    let world = World::new();
    std::fs::create_dir(world.home()).unwrap();
    std::fs::write(world.home().join("config.toml"), "modle = 'x'\n").unwrap();
    check(&world, &["-p", "hi"], 9, "config.toml has a mistake");
    std::fs::remove_file(world.home().join("config.toml")).unwrap();

    let output = world.command(&["-p", "hi"]).env("HAFT_MAX_STEPS", "none").output().unwrap();
    assert_eq!(output.status.code(), Some(9));
    let output = world.command(&["-p", "hi"]).env("HAFT_LOG", "a=b=c").output().unwrap();
    assert_eq!(output.status.code(), Some(9));
}

#[test]
fn a_projects_own_settings_are_not_read() {
    let world = World::new();
    std::fs::create_dir(world.project().join(".haft")).unwrap();
    std::fs::write(world.project().join(".haft/config.toml"), "this is no toml").unwrap();
    assert_ne!(world.haft(&["-p", "hi"]).code, 9);
}
