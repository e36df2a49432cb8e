//! `haft doctor` in a healthy home and in a broken one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::world::World;

/// Returns a command whose output does not depend on the machine: `PATH` contains only linked programs.
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

/// Returns the report without the section about the machine, one paragraph per line, because line breaks depend on the
/// length of the path.
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

/// Returns every file below a directory, with its content and time of change.
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

/// The git that clones extensions must not come from a project.
#[test]
#[cfg(unix)]
fn names_only_usable_git() {
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
    assert!(named(&[]).contains("`haft ext install URL` needs git"));
    assert!(named(&["git"]).ends_with("/bin/git"));
}

#[test]
fn new_home_has_no_problems() {
    let world = World::new();
    let ended = doctor(&world, &[], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{ended:?}");
    insta::assert_snapshot!(of_user(&ended.stdout), @"
    haft 0.1.0 in ROOT/project

    haft's own files
      note   ROOT/home: does not exist yet; the first run creates it

    settings
      ok     ROOT/home/config.toml: does not exist; defaults are in effect

    keys
      note   providers: no API key found; without a key, haft looks for a model server on this machine; `haft login PROVIDER` saves a key
             > haft login anthropic

    this project
      ok     ROOT/project: contains no extensions, settings or instructions for haft

    extensions
      ok     none: no extensions installed; `haft ext install DIR` installs one

    sessions
      ok     ROOT/home/sessions: does not exist yet; the first session creates it

    no problems found
    ");
    assert!(!world.home().exists(), "doctor changes nothing");
}

/// Creates a home with most of the possible problems.
fn broken_home() -> World {
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
fn reports_problems_with_next_step() {
    let world = broken_home();
    let before = files(&world.home());
    let ended = doctor(&world, &[], &[]);
    assert_eq!((ended.code, ended.stderr.as_str()), (13, ""), "{ended:?}");
    insta::assert_snapshot!(of_user(&ended.stdout), @"
    haft 0.1.0 in ROOT/project

    haft's own files
      ok     ROOT/home: only you can change it
      WRONG  auth.json: is readable by other users (mode 644), so haft does not use its keys
             > chmod 600 ROOT/home/auth.json
      WRONG  trust.json: ROOT/home/trust.json is damaged (line 1, column 1), so haft ignores the file; remove it, then run `haft trust` again
             > mv ROOT/home/trust.json ROOT/home/trust.json.old
      WRONG  models.json: is writable by other users (mode 666)
             > chmod go-w ROOT/home/models.json

    settings
      WRONG  models.json: ROOT/home/models.json is not valid JSON: EOF while parsing a list at line 1 column 1
             > ${EDITOR:-vi} ROOT/home/models.json

    keys
      note   providers: no API key found; without a key, haft looks for a model server on this machine; `haft login PROVIDER` saves a key
             > haft login anthropic
      WRONG  groq: is the provider in your settings, but has no key in GROQ_API_KEY or auth.json
             > haft login groq

    this project
      note   ROOT/project: is not trusted, because trust.json cannot be read

    extensions
      WRONG  broken: cannot be loaded: ROOT/home/extensions/broken/extension.json is not a JSON object: unexpected end of file
             > ${EDITOR:-vi} ROOT/home/extensions/broken/extension.json
      note   theirs: cannot be loaded: ROOT/project/.haft/extensions/theirs/extension.json is not a JSON object: syntax error in line 1, column 2
      note   off: is disabled
             > haft ext enable off
      note   [grant.crash]: has no effect: no extension has exactly this name
             > haft ext list
      note   [grant.gone]: has no effect: no extension has exactly this name
             > haft ext list

    sessions
      ok     ROOT/home/sessions: does not exist yet; the first session creates it

    6 problems found
    ");
    assert!(!ended.stdout.contains("sk-secret") && !ended.stdout.contains('\u{1b}'), "{ended:?}");
    assert_eq!(files(&world.home()), before, "doctor changes nothing");
    let long = |line: &&str| line.chars().count() > 80 && !line.trim_start().starts_with('>');
    assert_eq!(ended.stdout.lines().filter(long).count(), 0, "{}", ended.stdout);
}

#[test]
#[cfg(unix)]
fn json_report_has_same_findings() {
    let world = broken_home();
    let report: Value = serde_json::from_str(&doctor(&world, &["--json"], &[]).stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let wrong: Vec<_> = findings.iter().filter(|finding| finding["state"] == "wrong").collect();
    assert_eq!(report["wrong"], wrong.len());
    assert!(wrong.iter().all(|finding| finding["next"].is_string()), "{wrong:#?}");
    let trust = wrong.iter().find(|finding| finding["name"] == "trust.json").unwrap();
    assert_eq!(trust["next"], "mv ROOT/home/trust.json ROOT/home/trust.json.old");
    assert_eq!(findings.iter().filter(|finding| finding["area"] == "machine").count(), 4);
}

/// The failure of an earlier run is reported without starting the extension.
#[test]
#[cfg(unix)]
fn reports_failed_extension_and_ended_trust() {
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
    // Irrelevant problems are not reported, and no problem is reported twice.
    assert_eq!(world.haft(&["ext", "verify"]).stderr, "no extensions approved\n");
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
    assert!(crash["text"].as_str().unwrap().contains("the project's, not sandboxed"), "{crash}");
    assert_eq!(started(), before, "doctor starts nothing");
}

/// A missing interpreter, and a sandbox on a machine without bubblewrap.
#[test]
#[cfg(target_os = "linux")]
fn reports_extensions_of_project_that_cannot_start() {
    let world = World::new();
    world.extension(".haft/extensions/x", r#"{"name":"x","exec":"/bin/sh"}"#);
    let dir =
        world.extension(".haft/extensions/lost", r#"{"name":"lost","exec":"./run.py","version":"1.2.0"}"#);
    write(dir.join("run.py"), "#!/nowhere/python3\n");
    executable(&dir.join("run.py"));
    let shown: Value = serde_json::from_str(&world.haft(&["trust", "--show", "--json"]).stdout).unwrap();
    assert_eq!(world.haft(&["trust", "--digest", shown["digest"].as_str().unwrap()]).code, 0);
    let without = doctor(&world, &[], &[]);
    assert!(without.stdout.contains("note   sandbox strict: not available"), "{without:?}");
    assert!(without.stdout.contains("ok     x: the project's, not sandboxed"), "{without:?}");
    let lost =
        "WRONG  lost: 1.2.0, the project's, not sandboxed: runs with your rights,\n         cannot start:";
    assert!(
        without.stdout.contains(lost) && without.stdout.contains("/nowhere/python3 does not exist"),
        "{without:?}"
    );
    write(world.home().join("config.toml"), "[grant.x]\nsandbox = 'strict'\n");
    let wanted = doctor(&world, &[], &[]);
    assert_eq!(wanted.code, 13, "{wanted:?}");
    assert!(wanted.stdout.contains("WRONG  x: the project's, sandbox strict, cannot start:"), "{wanted:?}");
}

#[test]
#[cfg(unix)]
fn reports_approved_and_unapproved_extensions() {
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
    assert!(text.contains("yours, approved 2") && text.contains("not sandboxed"), "{text}");
    write(dir.join("run.sh"), "#!/bin/sh\necho other\n");
    let (code, state, text, next) = told();
    assert_eq!((code, state.as_str(), next.as_str()), (13, "wrong", "haft ext trust x"), "{text}");
    assert!(text.contains("differs from the approved version") && text.contains("run.sh"), "{text}");
}

/// An extension that was a gate is reported if its approval is lost.
#[test]
#[cfg(unix)]
fn reports_lost_lock_file_with_its_extensions() {
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
        text.contains("The store contains the code of guard 2 (required), other 1\n         > mv "),
        "{text}"
    );
    assert!(text.contains("no tool runs, because a gate may be required"), "{text}");
    let said = "approvals: are unknown until the lock file can be read";
    assert!(text.contains(said) && !text.contains("no extensions installed"), "{text}");
    fs::rename(&lock, &old).unwrap();
    // `haft ext enable` needs an entry in the lock file.
    let told = of_user(&doctor(&world, &[], &[]).stdout);
    let (_, missing) = told.split_once("WRONG  guard: was required").unwrap();
    let next = missing.lines().find_map(|line| line.trim_start().strip_prefix("> haft ext ")).unwrap();
    assert!(next.starts_with("install ROOT/home/"), "{told}");
    write(world.project().join("script.json"), r#"{"steps": [{"say": [{"text": "Hi."}]}]}"#);
    let ended = world.haft(&["--model", "scripted/script.json", "-p", "go"]);
    assert!(ended.code == 3 && ended.stderr.contains("run `haft ext install "), "{ended:?}");
    assert_eq!(world.haft(&["ext", "install", other.to_str().unwrap(), "--yes"]).code, 0);
    let told = doctor(&world, &[], &[]);
    assert_eq!(told.code, 13);
    let text = of_user(&told.stdout);
    assert!(text.contains("WRONG  guard 2: does not run: its code is in the store"), "{text}");
    assert!(!text.contains("other 1: does not run"), "{text}");
    let next = text.lines().find_map(|line| line.trim_start().strip_prefix("> haft ext install ")).unwrap();
    let next = next.replace("ROOT", world.project().parent().unwrap().to_str().unwrap());
    fs::remove_file(&lock).unwrap();
    assert_eq!(world.haft(&["ext", "install", &next, "--yes"]).code, 0);
    assert!(world.haft(&["ext", "verify"]).stdout.contains("guard: unchanged"));
    // The old entry refers to code that was not cleaned up.
    fs::write(&lock, whole).unwrap();
    assert_eq!(world.haft(&["ext", "verify"]).code, 0);
}

#[test]
fn reports_sandbox_of_tools() {
    let world = World::new();
    write(world.home().join("config.toml"), "[tools]\nnetwork = true\nwrite = [\"/missing\", \"/usr\"]\n");
    let told = doctor(&world, &[], &[]).stdout.replace("\n         ", " ");
    let missing = "tools: tools.write: /missing does not exist, so commands cannot write to it; create it";
    assert!(told.contains(missing), "{told}");
    if cfg!(target_os = "linux") {
        assert!(told.contains("sandbox workspace, network"), "{told}");
    }
    if haft_launch::sandbox::detect_support().isolated.is_ok() {
        assert!(told.contains("tools: sandbox workspace, network, 2 more writable paths"), "{told}");
    }
}

#[test]
fn reports_unknown_names_in_approve() {
    let world = World::new();
    write(world.home().join("config.toml"), "[tui]\napprove = [\"Bash\", \"edit\", \"rm\", \"*\"]\n");
    let told = doctor(&world, &[], &[]).stdout;
    let told = of_user(&told);
    assert!(told.contains("tools.approve: rm is not a tool; unknown names have no effect"), "{told}");
}

/// Runs `haft` with a home on a disk of its own, mounted with these options; `None` if the machine does not permit
/// mounts. `prepare` is a shell command that runs before.
#[cfg(target_os = "linux")]
fn on_other_disk(options: &str, prepare: &str, args: &[&str]) -> Option<crate::world::Ended> {
    let world = World::new();
    fs::create_dir(world.home()).unwrap();
    write(world.project().join("s.json"), r#"{"steps": [{"say": [{"text": "Hi."}]}]}"#);
    let haft = world.command(&[]);
    #[expect(clippy::disallowed_methods, reason = "the program that is tested, on another disk")]
    let mut command = std::process::Command::new("unshare");
    let script = format!(
        r#"mount -t tmpfs -o mode=700,{options} none "$HAFT_HOME" || exit 99; {prepare}; exec "$0" "$@""#
    );
    command.args(["-Urm", "sh", "-c", &script]).arg(haft.get_program()).args(args);
    command.current_dir(world.project()).env_clear().env("HAFT_HOME", world.home());
    command.env("PATH", std::env::var_os("PATH").unwrap());
    let output = command.stdin(std::process::Stdio::null()).output().ok()?;
    // The user namespace or the mount is not permitted.
    let permitted = !matches!(output.status.code(), Some(1 | 99)) || !output.stderr.starts_with(b"unshare: ");
    permitted.then(|| world.ended(output)).filter(|ended| ended.code != 99)
}

#[cfg(target_os = "linux")]
#[test]
fn reports_read_only_and_full_home() {
    const FILL: &str = r#"dd if=/dev/zero of="$HAFT_HOME/fill" 2> /dev/null"#;
    const RUN: &[&str] = &["-p", "--provider", "scripted", "--model", "s.json", "hi"];
    let disks = [
        ("ro", "true", "is on a read-only file system", "Read-only file system"),
        ("size=64k", FILL, "is on a full disk", "No space left on device"),
    ];
    for (options, prepare, finding, error) in disks {
        let Some(ended) = on_other_disk(options, prepare, &["doctor"]) else { return };
        let told = ended.stdout.replace("\n         ", " ");
        assert_eq!(ended.code, 13, "{ended:?}");
        let text = format!(
            "WRONG  ROOT/home: {finding}, so sessions are not recorded; `haft --no-session` runs without a session file"
        );
        assert!(told.contains(&text) && told.contains("1 problem found"), "{told}");
        let ended = on_other_disk(options, prepare, RUN).unwrap();
        assert_eq!((ended.code, ended.stdout.as_str()), (1, ""), "{ended:?}");
        assert!(ended.stderr.starts_with("haft: stopped: cannot make ROOT/home/sessions/"), "{ended:?}");
        let next = "check disk space and permissions; --no-session runs without a session file\n";
        assert!(ended.stderr.contains(error) && ended.stderr.ends_with(next), "{ended:?}");
        let ended = on_other_disk(options, prepare, &[&["--no-session"], RUN].concat()).unwrap();
        assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (0, "Hi.\n", ""), "{ended:?}");
    }
}
