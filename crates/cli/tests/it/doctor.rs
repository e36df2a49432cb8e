//! `haft doctor`, in a home that is well and in one that is not.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::World;

/// A command whose output does not hang on where the tests run: nothing in `PATH` but what is linked there.
fn doctor(world: &World, args: &[&str], programs: &[&str]) -> crate::world::Ended {
    let bin = world.project().with_file_name("bin");
    fs::create_dir_all(&bin).unwrap();
    for program in programs {
        fs::write(bin.join(program), "#!/bin/sh\nexit 1\n").unwrap();
        executable(&bin.join(program));
    }
    let args = [&["doctor"], args].concat();
    world.ended(world.command(&args).env("PATH", bin).output().unwrap())
}

fn executable(path: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn write(path: impl AsRef<Path>, text: &str) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Without the section about the machine, which every machine has its own of, and a paragraph a line: where one breaks
/// hangs on the length of the place.
fn of_user(stdout: &str) -> String {
    let sections = stdout.split("\n\n").filter(|section| !section.starts_with("this machine\n"));
    let text = sections.collect::<Vec<_>>().join("\n\n");
    text.replace("\n          ", " ")
        .replace("\n         >", "\n>")
        .replace("\n         ", " ")
        .replace("\n>", "\n         >")
}

fn mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

/// Every file below a directory, with its content and when it was changed.
fn files(dir: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        all.push(format!(
            "{} {:?} {:?}",
            path.display(),
            metadata.modified().unwrap(),
            metadata.permissions()
        ));
        all.extend(files(&path));
    }
    all.sort();
    all
}

/// The one that clones extensions is none that a project brought.
#[test]
#[cfg(unix)]
fn only_a_git_that_would_be_run_is_named() {
    let world = World::new();
    write(world.project().join("tools/git"), "#!/bin/sh\nexit 1\n");
    executable(&world.project().join("tools/git"));
    let named = |programs: &[&str]| {
        doctor(&world, &[], programs);
        let bin = world.project().with_file_name("bin");
        let dirs = std::env::join_paths([world.project().join("tools"), bin]).unwrap();
        let output = world.command(&["doctor", "--json"]).env("PATH", dirs).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        findings.iter().find(|one| one["name"] == "git").unwrap()["text"].as_str().unwrap().to_owned()
    };
    assert!(named(&[]).contains("`haft ext install URL` needs it"));
    assert!(named(&["git"]).ends_with("/bin/git"));
}

#[test]
fn a_new_home_is_well() {
    let world = World::new();
    let ended = doctor(&world, &[], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    insta::assert_snapshot!(of_user(&ended.stdout), @"
    haft 0.1.0 in ROOT/project

    haft's own files
      note   ROOT/home: is not there yet; the first run makes it

    settings
      ok     ROOT/home/config.toml: is not there; everything is as haft has it

    keys
      note   providers: there is no key; without one haft looks for a model server on this machine; `haft login PROVIDER` keeps one
             > haft login anthropic

    this project
      ok     ROOT/project: brings nothing that haft would run or obey

    extensions
      ok     none: no extension is installed; `haft ext install DIR` installs one

    sessions
      ok     ROOT/home/sessions: is not there yet; the first session makes it

    nothing is wrong
    ");
    assert!(!world.home().exists(), "it changes nothing");
}

/// A home in which most things are wrong that can be.
fn ill() -> World {
    let world = World::new();
    let home = world.home();
    write(home.join("auth.json"), r#"{"anthropic":{"key":"sk-secret"}}"#);
    mode(&home.join("auth.json"), 0o644);
    write(home.join("trust.json"), "{");
    write(
        home.join("config.toml"),
        "provider = 'groq'\n[grant.crash]\nsandbox = 'standard'\n[grant.gone]\nsandbox = 'strict'\n",
    );
    write(home.join("models.json"), "[");
    mode(&home.join("models.json"), 0o666);
    let manifest =
        |name: &str, text: &str| write(home.join("extensions").join(name).join("extension.json"), text);
    manifest("broken", "{");
    manifest("off", r#"{"name":"off","exec":"/bin/sh","enabled":false}"#);
    write(world.project().join("AGENTS.md"), "x");
    write(world.project().join(".haft/extensions/theirs/extension.json"), "not json \u{1b}[2J");
    world
}

#[test]
#[cfg(unix)]
fn what_is_wrong_is_told_with_the_next_step() {
    let world = ill();
    let before = files(&world.home());
    let ended = doctor(&world, &[], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (13, ""), "{ended:?}");
    insta::assert_snapshot!(of_user(&ended.stdout), @"
    haft 0.1.0 in ROOT/project

    haft's own files
      ok     ROOT/home: is yours alone to change
      WRONG  auth.json: can be read by other users (mode 644), so its keys are not used
             > chmod 600 ROOT/home/auth.json
      WRONG  trust.json: ROOT/home/trust.json is damaged (line 1, column 1), so nothing it says counts; remove it, and trust again
             > mv ROOT/home/trust.json ROOT/home/trust.json.old
      WRONG  models.json: can be changed by other users (mode 666)
             > chmod go-w ROOT/home/models.json

    settings
      WRONG  models.json: ROOT/home/models.json is not JSON: EOF while parsing a list at line 1 column 1
             > ${EDITOR:-vi} ROOT/home/models.json

    keys
      note   providers: there is no key; without one haft looks for a model server on this machine; `haft login PROVIDER` keeps one
             > haft login anthropic
      WRONG  groq: is the provider of your settings, and has no key: neither GROQ_API_KEY nor auth.json
             > haft login groq

    this project
      note   ROOT/project: is not trusted, because trust.json is not read

    extensions
      WRONG  broken: cannot be used: ROOT/home/extensions/broken/extension.json is not a JSON object: unexpected end of file
             > ${EDITOR:-vi} ROOT/home/extensions/broken/extension.json
      note   theirs: cannot be used: ROOT/project/.haft/extensions/theirs/extension.json is not a JSON object: syntax error in line 1, column 2
      note   off: is disabled
             > haft ext enable off
      note   [grant.crash]: confines nobody: there is no extension of exactly this name here
             > haft ext list
      note   [grant.gone]: confines nobody: there is no extension of exactly this name here
             > haft ext list

    sessions
      ok     ROOT/home/sessions: is not there yet; the first session makes it

    6 things are wrong
    ");
    assert!(!ended.stdout.contains("sk-secret") && !ended.stdout.contains('\u{1b}'), "{ended:?}");
    assert_eq!(files(&world.home()), before, "it changes nothing");
    let long = |line: &&str| line.chars().count() > 80 && !line.trim_start().starts_with('>');
    assert_eq!(ended.stdout.lines().filter(long).count(), 0, "{}", ended.stdout);
}

#[test]
#[cfg(unix)]
fn programs_read_the_same() {
    let world = ill();
    let report: Value = serde_json::from_str(&doctor(&world, &["--json"], &[]).stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let wrong: Vec<_> = findings.iter().filter(|finding| finding["state"] == "wrong").collect();
    assert_eq!(report["wrong"], wrong.len());
    assert!(wrong.iter().all(|finding| finding["next"].is_string()), "{wrong:#?}");
    let trust = wrong.iter().find(|finding| finding["name"] == "trust.json").unwrap();
    assert_eq!(trust["next"], "mv ROOT/home/trust.json ROOT/home/trust.json.old");
    assert_eq!(findings.iter().filter(|finding| finding["area"] == "machine").count(), 3);
}

/// What ran before is remembered; nothing of it is started to tell of it.
#[test]
#[cfg(unix)]
fn how_an_extension_failed_and_that_trust_ended_is_told() {
    let world = World::new();
    write(world.project().join("AGENTS.md"), "one");
    write(world.project().join("script.json"), r#"{"steps":[{"say":[{"text":"hi"}]}]}"#);
    let shown: Value = serde_json::from_str(&world.haft(&["trust", "--show", "--json"]).stdout).unwrap();
    assert_eq!(world.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]).code, 0);
    let trusted = doctor(&world, &[], &[]);
    assert!(trusted.stdout.contains("is trusted since"), "{trusted:?}");
    let dir = ".haft/extensions/crash";
    world.extension(dir, r#"{"name":"crash","exec":"./run.sh","required":true}"#);
    write(world.project().join(dir).join("run.sh"), "#!/bin/sh\necho started >> ../../../started\nexit 3\n");
    executable(&world.project().join(dir).join("run.sh"));
    let run = ["-p", "--trust-project", "--provider", "scripted", "--model", "script.json", "go"];
    assert_eq!(world.haft(&run).code, 3);
    let started = || fs::read_to_string(world.project().join("started")).unwrap();
    let before = started();
    let ended = doctor(&world, &["--json"], &[]);
    assert_eq!(ended.code, 13);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let find = |area: &str| {
        report["findings"].as_array().unwrap().iter().find(|one| one["area"] == area).unwrap().clone()
    };
    let project = find("project");
    assert_eq!(project["next"], "haft trust");
    let told = project["text"].as_str().unwrap();
    assert!(told.contains("no longer trusted") && told.ends_with("crash/run.sh (added)"), "{told}");
    // Where it does not matter it is not told, and nowhere twice.
    assert_eq!(world.haft(&["ext", "verify"]).stderr, "no extension is approved\n");
    let listed = world.haft(&["ext", "list"]);
    assert!(listed.stdout.contains(" untrusted "), "{listed:?}");
    assert_eq!(listed.stderr.matches("trusted").count(), 1, "{listed:?}");
    let shown: Value = serde_json::from_str(&world.haft(&["trust", "--show", "--json"]).stdout).unwrap();
    assert_eq!(world.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]).code, 0);
    let report: Value = serde_json::from_str(&doctor(&world, &["--json"], &[]).stdout).unwrap();
    let find = |area: &str| {
        report["findings"].as_array().unwrap().iter().find(|one| one["area"] == area).unwrap().clone()
    };
    let crash = find("extensions");
    assert_eq!((&crash["name"], &crash["next"]), (&"crash".into(), &"haft ext logs crash".into()));
    assert!(crash["text"].as_str().unwrap().contains("the project's, no sandbox"), "{crash}");
    assert_eq!(started(), before, "nothing is started");
}

/// An interpreter that is not there, and a sandbox that is wanted where the machine lacks bubblewrap.
#[test]
#[cfg(target_os = "linux")]
fn what_a_trusted_project_brings_and_cannot_run_is_told() {
    let world = World::new();
    world.extension(".haft/extensions/x", r#"{"name":"x","exec":"/bin/sh"}"#);
    let dir =
        world.extension(".haft/extensions/lost", r#"{"name":"lost","exec":"./run.py","version":"1.2.0"}"#);
    write(dir.join("run.py"), "#!/nowhere/python3\n");
    executable(&dir.join("run.py"));
    let shown: Value = serde_json::from_str(&world.haft(&["trust", "--show", "--json"]).stdout).unwrap();
    assert_eq!(world.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]).code, 0);
    let without = doctor(&world, &[], &[]);
    assert!(without.stdout.contains("note   sandbox strict: cannot be had"), "{without:?}");
    assert!(without.stdout.contains("ok     x: the project's, no sandbox"), "{without:?}");
    let lost = "WRONG  lost: 1.2.0, the project's, no sandbox: it has your rights, cannot run:";
    assert!(
        without.stdout.contains(lost) && without.stdout.contains("/nowhere/python3 is not there"),
        "{without:?}"
    );
    write(world.home().join("config.toml"), "[grant.x]\nsandbox = 'strict'\n");
    let wanted = doctor(&world, &[], &[]);
    assert_eq!(wanted.code, 13, "{wanted:?}");
    assert!(wanted.stdout.contains("WRONG  x: the project's, sandbox strict, cannot run:"), "{wanted:?}");
}

#[test]
#[cfg(unix)]
fn what_is_approved_and_what_is_not_is_told() {
    let world = World::new();
    let dir = world.home().join("extensions/x");
    write(dir.join("extension.json"), r#"{"name":"x","exec":"./run.sh"}"#);
    write(dir.join("run.sh"), "#!/bin/sh\n");
    executable(&dir.join("run.sh"));
    let told = || {
        let ended = doctor(&world, &["--json"], &[]);
        let report: Value = serde_json::from_str(&ended.stdout).unwrap();
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["area"] == "extensions").unwrap();
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (ended.code, text("state"), text("text"), text("next"))
    };
    let (code, state, text, next) = told();
    assert_eq!((code, state.as_str(), next.as_str()), (13, "wrong", "haft ext trust x"), "{text}");
    assert!(text.contains("is not approved"), "{text}");
    let approved = world.haft(&["ext", "trust", "x", "--yes"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let (code, state, text, _) = told();
    assert_eq!((code, state.as_str()), (0, "ok"), "{text}");
    assert!(text.contains("yours, approved 2") && text.contains("no sandbox"), "{text}");
    write(dir.join("run.sh"), "#!/bin/sh\necho other\n");
    let (code, state, text, next) = told();
    assert_eq!((code, state.as_str(), next.as_str()), (13, "wrong", "haft ext trust x"), "{text}");
    assert!(text.contains("not what was approved") && text.contains("run.sh"), "{text}");
}

/// What a guard is worth that nobody remembers was approved.
#[test]
#[cfg(unix)]
fn a_lost_lock_file_is_told_with_what_it_named() {
    let world = World::new();
    let guard =
        world.extension("src/guard", r#"{"name":"guard","version":"2","exec":"./run","required":true}"#);
    write(guard.join("run"), "#!/bin/sh\n");
    executable(&guard.join("run"));
    let other = world.extension("src/other", r#"{"name":"other","version":"1","exec":"/bin/sh"}"#);
    for dir in [&guard, &other] {
        assert_eq!(world.haft(&["ext", "install", dir.to_str().unwrap(), "--yes"]).code, 0);
    }
    let (lock, old) = (world.home().join("extensions.lock.json"), world.home().join("old"));
    let whole = fs::read_to_string(&lock).unwrap();
    fs::write(&lock, "{").unwrap();
    let told = doctor(&world, &[], &[]);
    let text = of_user(&told.stdout);
    assert!(
        text.contains("The store holds the code of guard 2 (required), other 1\n         > ${EDITOR:-vi} "),
        "{text}"
    );
    let said = "nothing: is approved as long as the lock file cannot be used";
    assert!(text.contains(said) && !text.contains("no extension is installed"), "{text}");
    fs::rename(&lock, &old).unwrap();
    assert_eq!(world.haft(&["ext", "install", other.to_str().unwrap(), "--yes"]).code, 0);
    let told = doctor(&world, &[], &[]);
    assert_eq!(told.code, 13);
    let text = of_user(&told.stdout);
    assert!(text.contains("WRONG  guard 2: its code is in the store"), "{text}");
    assert!(!text.contains("other 1: its code"), "{text}");
    let next = text.lines().find_map(|line| line.trim_start().strip_prefix("> haft ext install ")).unwrap();
    let next = next.replace("ROOT", world.project().parent().unwrap().to_str().unwrap());
    fs::remove_file(&lock).unwrap();
    assert_eq!(world.haft(&["ext", "install", &next, "--yes"]).code, 0);
    assert!(world.haft(&["ext", "verify"]).stdout.contains("guard: as approved"));
    // The old one names code that nobody has swept up.
    fs::write(&lock, whole).unwrap();
    assert_eq!(world.haft(&["ext", "verify"]).code, 0);
}

#[test]
fn a_name_in_approve_that_guards_nothing_is_told() {
    let world = World::new();
    write(world.home().join("config.toml"), "[tui]\napprove = [\"Bash\", \"edit\", \"rm\", \"*\"]\n");
    let told = doctor(&world, &[], &[]).stdout;
    let told = of_user(&told);
    assert!(
        told.contains("tui.approve: Bash is no tool, bash is; rm is no tool: nothing is asked for it"),
        "{told}"
    );
}
