//! `haft ext`: the life of an extension, with real processes.

#[cfg(unix)]
mod confirmations;
mod hooks;
mod import;
#[cfg(unix)]
mod reports;
mod versions;

use std::io::{BufRead as _, BufReader, Write as _};

use crate::world::World;

const HELLO: &str = r#"{ "name": "hello", "version": "1.2.0", "exec": "./run", "language": "sh" }"#;

/// Creates an extension that can run.
fn hello(world: &World) {
    let dir = world.extension("src/hello", HELLO);
    std::fs::write(dir.join("run"), "#!/bin/sh\ntouch was-run\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(dir.join("run"), std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Returns the output without digests, which depend on the directory of the test, and times.
fn without_digests(text: &str) -> String {
    let hex = |word: &str| word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    words
        .map(|word| {
            let end = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric()).len();
            if hex(&word[..end]) { format!("DIGEST{}", &word[end..]) } else { word.to_owned() }
        })
        .collect()
}

#[test]
fn installs_lists_and_removes_extension() {
    let world = World::new();
    hello(&world);
    let steps: &[&[&str]] = &[
        &["ext", "list"],
        &["ext", "install", "src/hello"],
        &["ext", "list"],
        &["ext", "install", "--yes", "src/hello"],
        &["ext", "install", "src/hello"],
        &["ext", "list"],
        &["ext", "disable", "hello"],
        &["ext", "disable", "hello"],
        &["ext", "list"],
        &["ext", "enable", "hello"],
        &["ext", "logs", "hello"],
        &["ext", "remove", "hello"],
        &["ext", "remove", "hello", "-y"],
        &["ext", "remove", "hello", "-y"],
    ];
    let mut transcript = String::new();
    for step in steps {
        let ended = world.haft(step);
        transcript.push_str(&format!("$ haft {}\n{}\n\n", step.join(" "), ended.transcript()));
    }
    insta::assert_snapshot!(without_digests(&transcript));
    assert!(!world.home().join("extensions").exists() && !world.home().join("copies/hello").exists());
}

#[test]
fn installs_current_directory_by_manifest_name_without_running_it() {
    let world = World::new();
    hello(&world);
    let dir = world.project().join("src/hello");
    let output = world.command(&["ext", "install", "-y", "."]).current_dir(dir).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let installed = world.home().join("copies/hello");
    let manifest = std::fs::read_to_string(installed.join("extension.json")).unwrap();
    assert_eq!(manifest, HELLO);
    assert!(!installed.join("was-run").exists());
}

#[test]
fn rejects_unsafe_sources() {
    let world = World::new();
    hello(&world);
    let local = format!("file://{}", world.project().join("src/hello").display());
    for source in [local.as_str(), "ext::sh -c touch% x", "http://example.invalid/x", "no/such/dir", "src"] {
        let ended = world.haft(&["ext", "install", source]);
        assert_eq!(ended.code, 8, "{source}: {ended:?}");
        assert!(ended.stderr.starts_with("haft: install_rejected: "), "{source}: {ended:?}");
    }
    let ended = world.haft(&["ext", "install", "--", "-ccore.sshCommand=touch x"]);
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(world.haft(&["ext", "list"]).stderr.starts_with("no extensions installed"));
}

#[test]
fn remove_without_terminal_needs_yes() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let ended = world.haft_reading(&["ext", "remove", "hello"], "y\n");
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(ended.stderr.contains("use --yes"), "{ended:?}");
    assert!(world.home().join("copies/hello").exists());
}

#[test]
fn remove_keeps_and_mentions_data() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    std::fs::create_dir_all(world.home().join("data/hello")).unwrap();
    let ended = world.haft(&["ext", "rm", "hello", "-y"]);
    assert!(ended.stderr.contains("its data stays in ROOT/home/data/hello"), "{ended:?}");
    assert!(world.home().join("data/hello").exists());
}

#[test]
fn lists_project_extension_with_its_scope() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    world.extension(".haft/extensions/copy", HELLO);
    world.extension(".haft/extensions/bad", "{\"name\":\"\u{1b}[31mred\"}");
    insta::assert_snapshot!(without_digests(&world.haft(&["ext", "list"]).transcript()));

    assert_eq!(world.haft(&["ext", "disable", "hello"]).stderr, "hello is disabled\n");
    let copy =
        || std::fs::read_to_string(world.project().join(".haft/extensions/copy/extension.json")).unwrap();
    assert_eq!(copy(), HELLO, "the command applies to the user's extension");

    for command in [&["ext", "disable", "copy"][..], &["ext", "remove", "-y", "copy"]] {
        let ended = world.haft(command);
        assert_eq!(ended.code, 8, "{ended:?}");
        assert!(ended.stderr.contains("belongs to the project") && ended.stderr.contains("--scope project"));
        assert_eq!(copy(), HELLO, "files of a repository change only on request");
    }
    assert_eq!(world.haft(&["ext", "disable", "copy", "--scope", "project"]).code, 0);
    assert_ne!(copy(), HELLO);
}

#[test]
fn logs_print_no_control_sequences() {
    let world = World::new();
    std::fs::create_dir_all(world.home().join("logs")).unwrap();
    std::fs::write(world.home().join("logs/ext-dev.log"), b"one\x1b]0;title\x07\r\ntwo \xff\n").unwrap();
    let ended = world.haft(&["ext", "logs", "dev"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "one\ntwo \u{fffd}\n"));
    let ended = world.haft(&["ext", "logs", "../../evil"]);
    assert_eq!(ended.code, 8);
    assert!(ended.stderr.contains("ROOT/home/logs/ext-_.._.._evil-"), "{ended:?}");
}

#[test]
fn followed_log_prints_additions() {
    let world = World::new();
    std::fs::create_dir_all(world.home().join("logs")).unwrap();
    let path = world.home().join("logs/ext-dev.log");
    std::fs::write(&path, "one\ntwo\n").unwrap();
    let mut child = world.command(&["ext", "logs", "-f", "dev"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "one");
    assert_eq!(lines.next().unwrap(), "two");
    std::fs::File::options().append(true).open(&path).unwrap().write_all(b"three\n").unwrap();
    assert_eq!(lines.next().unwrap(), "three");
    std::fs::write(&path, "anew\n").unwrap();
    assert_eq!(lines.next().unwrap(), "anew");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn closed_output_is_no_failure() {
    let world = World::new();
    std::fs::create_dir_all(world.home().join("logs")).unwrap();
    std::fs::write(world.home().join("logs/ext-dev.log"), "line\n".repeat(100_000)).unwrap();
    let mut child = world.command(&["ext", "logs", "dev"]).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

/// Returns the line of `haft ext list` about the only extension, and the lines below the table.
#[cfg(unix)]
fn listed(world: &World) -> (String, String) {
    let ended = world.haft(&["ext", "list"]);
    let line = ended.stdout.lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    (line, ended.stderr)
}

/// Runs `haft -p` with a model that sends one message.
#[cfg(unix)]
fn run(world: &World) -> crate::world::Ended {
    let ended = go(world);
    assert_eq!((ended.code, ended.stdout.as_str()), (0, "done\n"), "{ended:?}");
    ended
}

fn go(world: &World) -> crate::world::Ended {
    let script = world.project().join("script.json");
    std::fs::write(script, r#"{"steps":[{"repeat":true,"say":[{"text":"done"}]}]}"#).unwrap();
    world.haft(&["--model", "scripted/script.json", "-p", "go"])
}

#[cfg(unix)]
fn script(path: &std::path::Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
const GREETS: &str = r#"echo '{"type":"hello","name":"hello"}'; echo '{"type":"ready"}'; cat >/dev/null"#;

#[cfg(unix)]
#[test]
fn lists_failure_until_extension_is_ready_again() {
    let world = World::new();
    hello(&world);
    let update = |body: &str| {
        script(&world.project().join("src/hello/run"), body);
        let ended = world.haft(&["ext", "update", "--yes", "hello"]);
        assert_eq!(ended.code, 0, "{ended:?}");
        run(&world);
    };
    world.haft(&["ext", "install", "-y", "src/hello"]);
    update("echo one >&2; echo 'line 7: boom' >&2; exit 3");
    let (line, below) = listed(&world);
    assert!(line.starts_with("hello 1.2.0 global failed none ./src/hello"), "{line}");
    let below = below.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(below.starts_with("hello: failed "), "{below}");
    let rest = "(exited): ended before hello: exited with status 3: line 7: boom. The next run starts it again; `haft ext logs \
                hello` shows its output";
    assert!(below.ends_with(rest), "{below}");
    let log = world.haft(&["ext", "logs", "hello"]).stdout;
    assert_eq!(log.matches("boom").count(), 1, "{log}");

    update(GREETS);
    let (line, below) = listed(&world);
    assert_eq!((line.contains(" enabled "), below.as_str()), (true, ""), "{line}");

    update("exit 3");
    world.haft(&["ext", "remove", "-y", "hello"]);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    assert!(listed(&world).0.contains(" enabled "), "what was removed is forgotten");
}

/// Creates an extension in the user's extensions directory, as the user would.
#[cfg(unix)]
fn placed(world: &World, body: &str) -> std::path::PathBuf {
    let dir = world.home().join("extensions/hello");
    script(&dir.join("run"), body);
    std::fs::write(dir.join("extension.json"), HELLO).unwrap();
    dir
}

#[cfg(unix)]
#[test]
fn runs_placed_extension_only_as_approved() {
    let world = World::new();
    let mark = world.project().join("ran");
    let touches = format!("touch {}; {GREETS}", mark.display());
    let dir = placed(&world, &touches);
    let ended = run(&world);
    assert!(
        ended.stderr.contains("not_approved") && ended.stderr.contains("`haft ext trust hello`"),
        "{ended:?}"
    );
    assert!(listed(&world).0.contains(" unapproved "));
    let ended = world.haft(&["ext", "trust", "hello"]);
    assert_eq!(ended.code, 8, "{ended:?}");
    assert!(ended.stdout.contains("WITHOUT A SANDBOX") && ended.stderr.contains("with --yes"), "{ended:?}");
    run(&world);
    assert!(!mark.exists());

    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    let ended = run(&world);
    assert!(mark.exists() && ended.stderr.is_empty(), "{ended:?}");
    assert_eq!(world.haft(&["ext", "verify"]).stdout, "hello: unchanged\n");

    std::fs::remove_file(&mark).unwrap();
    script(&dir.join("run"), &format!("{touches}; true"));
    let ended = run(&world);
    assert!(ended.stderr.contains("pin_mismatch") && ended.stderr.contains("run (changed)"), "{ended:?}");
    assert!(!mark.exists() && listed(&world).0.contains(" changed "));
    let ended = world.haft(&["ext", "verify"]);
    assert!(ended.code == 8 && ended.stdout.contains("CHANGED since approval"), "{ended:?}");
    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    run(&world);
    assert!(mark.exists());
}

#[cfg(unix)]
#[test]
fn changed_required_extension_ends_run() {
    let world = World::new();
    let dir = placed(&world, GREETS);
    let required = HELLO.replace("\"1.2.0\"", "\"1.2.0\", \"required\": true");
    std::fs::write(dir.join("extension.json"), &required).unwrap();
    assert_eq!(world.haft(&["ext", "trust", "-y", "hello"]).code, 0);
    run(&world);
    // This also holds if the new manifest does not require the extension.
    std::fs::write(dir.join("extension.json"), HELLO).unwrap();
    let ended = world.haft(&["--model", "scripted/script.json", "-p", "go"]);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(ended.stderr.contains("pin_mismatch"), "{ended:?}");
}

#[cfg(unix)]
#[test]
fn repairs_copy_and_keeps_its_state() {
    let world = World::new();
    hello(&world);
    let evil =
        format!("printf 'touch {}/evil\\n' > new; chmod +x new; mv new run", world.project().display());
    let body = format!("echo x >> state; {evil}; {GREETS}");
    script(&world.project().join("src/hello/run"), &body);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    for runs in 1..4 {
        let ended = run(&world);
        // What was put back is said, whoever changed it.
        let said = "the installed copy was changed and restored to the approved version: run; change the files in the \
                    install source and run `haft ext update hello`";
        assert_eq!(ended.stderr.contains(said), runs > 1, "{ended:?}");
        let state = std::fs::read_to_string(world.home().join("copies/hello/state")).unwrap();
        assert_eq!(state.lines().count(), runs);
    }
    assert!(!world.project().join("evil").exists());
    assert_eq!(world.haft(&["ext", "verify", "hello"]).code, 0);
}

#[cfg(unix)]
#[test]
fn rolls_back_to_previous_version() {
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let ended = world.haft(&["ext", "update"]);
    assert!(ended.stderr.contains("is already approved"), "{ended:?}");
    script(&world.project().join("src/hello/run"), "exit 0");
    let ended = world.haft(&["ext", "update", "hello"]);
    assert!(ended.code == 8 && ended.stdout.contains("files changed since: run (changed)"), "{ended:?}");
    assert_eq!(world.haft(&["ext", "update", "-y"]).code, 0);
    let code = || std::fs::read_to_string(world.home().join("copies/hello/run")).unwrap();
    assert!(code().contains("exit 0"));
    assert_eq!(world.haft(&["ext", "rollback", "hello"]).code, 8);
    assert_eq!(world.haft(&["ext", "rollback", "hello", "-y"]).code, 0);
    assert!(code().contains("was-run"));
    let lock: serde_json::Value =
        serde_json::from_str(&world.haft(&["ext", "lock", "--json"]).stdout).unwrap();
    assert_eq!(lock["extensions"]["hello"]["previous"].as_array().unwrap().len(), 1);
    assert!(world.haft(&["ext", "lock"]).stdout.contains("  before: "));
}

#[cfg(unix)]
#[test]
fn lock_file_writable_by_others_approves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    hello(&world);
    world.haft(&["ext", "install", "-y", "src/hello"]);
    let lock = world.home().join("extensions.lock.json");
    std::fs::set_permissions(lock, std::fs::Permissions::from_mode(0o666)).unwrap();
    // One of the extensions may have been a gate, so no tool may run.
    let ended = go(&world);
    assert_eq!(ended.code, 3, "{ended:?}");
    assert!(
        ended.stderr.contains("lock_invalid") && ended.stderr.contains("written by other users"),
        "{ended:?}"
    );
    let why = "no tool may run: extensions.lock.json cannot be used, so the required extensions are unknown";
    assert!(ended.stderr.contains(why) && !ended.stderr.contains("spawn_failed"), "{ended:?}");
    assert!(!world.home().join("copies/hello/was-run").exists());
    assert!(world.haft(&["ext", "list"]).stderr.contains("can be written by other users"));
    assert_eq!(world.haft(&["ext", "install", "-y", "src/hello"]).code, 8);
}
