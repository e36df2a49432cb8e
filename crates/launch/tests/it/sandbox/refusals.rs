//! What cannot be confined as it was asked for does not run, and the reason is said.

use std::path::Path;
use std::process::{Command, Stdio};

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess, detect_support};
use haft_launch::{GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use tokio::io::AsyncReadExt as _;

use super::{Ended, is_there, own_launcher, probe, run, spec};

/// By which this test program, started again, knows what its kernel lacks.
const LACKS: &str = "HAFT_TEST_LACKS";

/// What a kernel may lack, what it is called then, and at which levels that matters.
const LACKING: &[(&str, &str, &[ConfinementLevel])] = &[
    ("landlock", "the kernel has no Landlock", &[ConfinementLevel::Standard, ConfinementLevel::Strict]),
    (
        "seccomp",
        "the kernel does not filter system calls",
        &[ConfinementLevel::Standard, ConfinementLevel::Strict],
    ),
    ("namespaces", "cannot make namespaces here", &[ConfinementLevel::Strict]),
];

/// The launcher on a kernel that lacks something that the host's has. A script, because a launcher is started with the
/// same words again.
fn launcher_without(what: &str, dir: &Path) -> Launcher {
    let program = dir.join(format!("launcher-without-{}", what.replace(' ', "-")));
    let [probe, launcher] = [probe(), own_launcher().program].map(|path| path.display().to_string());
    std::fs::write(&program, format!("#!/bin/sh\nexec {probe} --without '{what}' -- {launcher} \"$@\"\n"))
        .unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    Launcher { program, args: Vec::new() }
}

#[track_caller]
fn check_refused(ended: &Ended, reason: &str) {
    assert!(ended.never_started, "{ended:?}");
    assert_eq!(ended.out, "", "{ended:?}");
    assert!(ended.err.contains(reason), "{reason:?} is not in {ended:?}");
}

#[tokio::test]
async fn a_launcher_that_lacks_something_starts_nothing() {
    let (marker, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cases =
        LACKING.iter().map(|(what, _, levels)| (*what, *levels)).chain([("new filters", LACKING[0].2)]);
    for (what, levels) in cases {
        for level in levels.iter().filter(|level| is_there(**level)) {
            let mut sandbox = Sandbox::new(*level);
            sandbox.write = vec![marker.path().to_owned()];
            let mut spec = spec("/bin/sh", marker.path(), Some(sandbox)).args(["-c", "echo ran; echo >file"]);
            spec.launcher = Some(launcher_without(what, place.path()));
            let ended = run(spec).await;
            check_refused(&ended, if what == "namespaces" { "bwrap" } else { "no sandbox: " });
            // A host takes the last line for the reason.
            assert!(ended.err.lines().last().unwrap().contains("no sandbox: "), "{ended:?}");
            assert!(!marker.path().join("file").exists());
        }
    }
}

/// Asked beforehand, a machine says what it lacks. The machine is this test program again, on a kernel that lacks it.
#[expect(clippy::disallowed_methods, reason = "this very test program")]
#[tokio::test]
async fn a_machine_that_lacks_something_says_so() {
    if let Ok(what) = std::env::var(LACKS) {
        return lacking(&what);
    }
    for (what, _, levels) in LACKING {
        if !levels.iter().all(|level| is_there(*level)) {
            continue;
        }
        let status = Command::new(probe())
            .args(["--without", what, "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::refusals::a_machine_that_lacks_something_says_so"])
            .env(LACKS, what)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{what}");
    }
}

fn lacking(what: &str) {
    let (_, reason, levels) = LACKING.iter().find(|(lacking, _, _)| *lacking == what).unwrap();
    for level in [ConfinementLevel::Standard, ConfinementLevel::Strict] {
        let found = detect_support();
        let basis = if level == ConfinementLevel::Standard { found.standard } else { found.strict };
        let checked = Sandbox::new(level).check();
        if levels.contains(&level) {
            assert!(basis.unwrap_err().contains(reason));
            let text = checked.unwrap_err().to_string();
            assert!(text.starts_with(&format!("sandbox level {level} is not available: ")), "{text}");
            let error = GroupChild::spawn(spec("/bin/true", "/", Some(Sandbox::new(level)))).unwrap_err();
            assert_eq!(error.to_string(), text);
        } else {
            assert!(basis.is_ok() && checked.is_ok());
        }
    }
}

#[tokio::test]
async fn what_the_level_cannot_enforce_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Sandbox), reason: &str| {
        let mut sandbox = Sandbox::new(ConfinementLevel::Standard);
        change(&mut sandbox);
        let error = GroupChild::spawn(spec("/bin/true", "/", Some(sandbox))).unwrap_err();
        assert_eq!(error.to_string(), reason);
    };
    refused(
        &|sandbox| sandbox.net = NetworkAccess::Loopback,
        "network access to loopback only cannot be enforced at sandbox level standard; choose strict",
    );
    refused(
        &|sandbox| {
            sandbox.write = vec![dir.path().to_owned()];
            sandbox.protect = vec![dir.path().join("inner")];
        },
        "a protected path below a writable one cannot be enforced at sandbox level standard; choose strict",
    );
    refused(&|sandbox| sandbox.read = vec!["/".into()], "sandbox path / is everything, which is no sandbox");
    refused(&|sandbox| sandbox.exec = vec!["bin".into()], "sandbox path bin is not absolute");
    refused(&|sandbox| sandbox.write = vec!["/tmp/../etc".into()], "sandbox path /tmp/../etc has `..` in it");
    refused(&|sandbox| sandbox.read = vec!["/proc/1".into()], "sandbox path /proc/1 tells of other programs");
    refused(&|sandbox| sandbox.write = vec!["/sys/fs".into()], "sandbox path /sys/fs belongs to the kernel");
    for (target, reason) in
        [("/", "is everything, which is no sandbox"), ("/proc", "tells of other programs")]
    {
        let link = dir.path().join(format!("to{}", target.replace('/', "-")));
        std::os::unix::fs::symlink(target, &link).unwrap();
        let text = format!("sandbox path {} {reason}", link.display());
        refused(&|sandbox| sandbox.read = vec![link.clone()], &text);
    }
    refused(
        &|sandbox| sandbox.version = 2,
        "the sandbox is of version 2, and only 1 is known; approve it again",
    );
}

#[tokio::test]
async fn without_a_launcher_nothing_is_confined_and_nothing_runs() {
    let mut spec = spec("/bin/true", "/", Some(Sandbox::new(ConfinementLevel::Standard)));
    spec.launcher = None;
    assert_eq!(GroupChild::spawn(spec).unwrap_err().to_string(), "a sandbox needs a launcher");
}

#[tokio::test]
async fn a_listed_path_that_is_not_there_is_a_reason_not_to_start() {
    for level in
        [ConfinementLevel::Standard, ConfinementLevel::Strict].into_iter().filter(|level| is_there(*level))
    {
        for change in [
            |sandbox: &mut Sandbox| sandbox.read = vec!["/nowhere/read".into()],
            |sandbox: &mut Sandbox| sandbox.write = vec!["/nowhere/write".into()],
            |sandbox: &mut Sandbox| sandbox.exec = vec!["/nowhere/exec".into()],
        ] {
            let mut sandbox = Sandbox::new(level);
            change(&mut sandbox);
            let ended = run(spec("/bin/sh", "/usr", Some(sandbox)).args(["-c", "echo ran"])).await;
            check_refused(&ended, "/nowhere/");
            assert!(ended.err.contains("No such file or directory"), "{ended:?}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_executed_inside_never_started() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    std::fs::write(&program, b"\x7fELF of another machine").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for level in
        [ConfinementLevel::Standard, ConfinementLevel::Strict].into_iter().filter(|level| is_there(*level))
    {
        let ended = run(spec(&program, "/usr", Some(Sandbox::new(level)))).await;
        check_refused(&ended, "Exec format error");
    }
}

/// What an older or a newer host, or somebody by hand, might say.
#[tokio::test]
async fn orders_that_are_not_understood_are_refused() {
    let host = std::process::id().to_string();
    for text in
        ["", "{}", r#"{"sandbox":{"version":1,"level":"none","net":"all"},"bubblewrap":null,"role":[]}"#]
    {
        let words = ["--host", &host, "--sandbox", text, "--", "/bin/echo", "ran"];
        let mut spec = SpawnOptions::new(own_launcher().program, Path::new("/")).args(words);
        (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::SameAsStdout);
        let mut child = GroupChild::spawn(spec).unwrap();
        let mut said = String::new();
        child.take_stdout().unwrap().read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("the launcher is started by a host"), "{said}");
        assert!(!child.wait().await.unwrap().success());
    }
}
