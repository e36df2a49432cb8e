//! Tests that a program does not run if its sandbox is not available, and that the reason is reported.

use std::path::Path;
use std::process::{Command, Stdio};

use haft_launch::sandbox::{ConfinementLevel, NetworkAccess, detect_support};
use haft_launch::{GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use tokio::io::AsyncReadExt as _;

use super::{Ended, is_available, own_launcher, probe, run, spec};

/// The environment variable that names the missing kernel feature when this test program is started again.
const LACKS: &str = "HAFT_TEST_LACKS";

/// A kernel feature, the reason reported when it is missing, and the levels that need it.
const LACKING: &[(&str, &str, &[ConfinementLevel])] = &[
    ("landlock", "the kernel has no Landlock", &[ConfinementLevel::Standard, ConfinementLevel::Strict]),
    (
        "seccomp",
        "the kernel does not filter system calls",
        &[ConfinementLevel::Standard, ConfinementLevel::Strict],
    ),
    ("namespaces", "cannot make namespaces here", &[ConfinementLevel::Strict]),
];

/// Returns a launcher on a kernel that lacks a feature of the host's kernel. It is a script, because a launcher is
/// started again with the same arguments.
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
    assert!(ended.err.contains(reason), "{reason:?} is missing in {ended:?}");
}

#[tokio::test]
async fn launcher_without_kernel_feature_starts_nothing() {
    let (marker, place) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let cases =
        LACKING.iter().map(|(what, _, levels)| (*what, *levels)).chain([("new filters", LACKING[0].2)]);
    for (what, levels) in cases {
        for level in levels.iter().filter(|level| is_available(**level)) {
            let mut sandbox = Sandbox::new(*level);
            sandbox.write = vec![marker.path().to_owned()];
            let mut spec = spec("/bin/sh", marker.path(), Some(sandbox)).args(["-c", "echo ran; echo >file"]);
            spec.launcher = Some(launcher_without(what, place.path()));
            let ended = run(spec).await;
            check_refused(&ended, if what == "namespaces" { "bwrap" } else { "no sandbox: " });
            // The host reports the last line as the reason.
            assert!(ended.err.lines().last().unwrap().contains("no sandbox: "), "{ended:?}");
            assert!(!marker.path().join("file").exists());
        }
    }
}

/// The machine is this test program, started again on a kernel that lacks the feature.
#[expect(clippy::disallowed_methods, reason = "this very test program")]
#[tokio::test]
async fn check_reports_missing_kernel_feature() {
    if let Ok(what) = std::env::var(LACKS) {
        return lacking(&what);
    }
    for (what, _, levels) in LACKING {
        if !levels.iter().all(|level| is_available(*level)) {
            continue;
        }
        let status = Command::new(probe())
            .args(["--without", what, "--"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "sandbox::refusals::check_reports_missing_kernel_feature"])
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
async fn rejects_requests_that_the_level_cannot_enforce() {
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
        "a protected path below a writable path cannot be enforced at sandbox level standard; choose strict",
    );
    refused(
        &|sandbox| sandbox.read = vec!["/".into()],
        "sandbox path / covers all files; list the needed directories instead",
    );
    refused(&|sandbox| sandbox.exec = vec!["bin".into()], "sandbox path bin is not absolute");
    refused(&|sandbox| sandbox.write = vec!["/tmp/../etc".into()], "sandbox path /tmp/../etc contains `..`");
    refused(&|sandbox| sandbox.read = vec!["/proc/1".into()], "sandbox path /proc/1 exposes other processes");
    refused(&|sandbox| sandbox.write = vec!["/sys/fs".into()], "sandbox path /sys/fs belongs to the kernel");
    for (target, reason) in
        [("/", "covers all files; list the needed directories instead"), ("/proc", "exposes other processes")]
    {
        let link = dir.path().join(format!("to{}", target.replace('/', "-")));
        std::os::unix::fs::symlink(target, &link).unwrap();
        let text = format!("sandbox path {} {reason}", link.display());
        refused(&|sandbox| sandbox.read = vec![link.clone()], &text);
    }
    refused(
        &|sandbox| sandbox.version = 2,
        "sandbox version 2 is not supported, only version 1 is; approve the extension again",
    );
}

#[tokio::test]
async fn rejects_sandbox_without_launcher() {
    let mut spec = spec("/bin/true", "/", Some(Sandbox::new(ConfinementLevel::Standard)));
    spec.launcher = None;
    assert_eq!(
        GroupChild::spawn(spec).unwrap_err().to_string(),
        "cannot start the program in a sandbox without a launcher; set `launcher`"
    );
}

#[tokio::test]
async fn missing_listed_path_prevents_the_start() {
    for level in [ConfinementLevel::Standard, ConfinementLevel::Strict]
        .into_iter()
        .filter(|level| is_available(*level))
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
async fn invalid_executable_never_started() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    std::fs::write(&program, b"\x7fELF of another machine").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for level in [ConfinementLevel::Standard, ConfinementLevel::Strict]
        .into_iter()
        .filter(|level| is_available(*level))
    {
        let ended = run(spec(&program, "/usr", Some(Sandbox::new(level)))).await;
        check_refused(&ended, "Exec format error");
    }
}

/// Orders from an older or newer host, or typed by a user.
#[tokio::test]
async fn launcher_rejects_unknown_orders() {
    let host = std::process::id().to_string();
    for text in
        ["", "{}", r#"{"sandbox":{"version":1,"level":"none","net":"all"},"bubblewrap":null,"role":[]}"#]
    {
        let words = ["--host", &host, "--sandbox", text, "--", "/bin/echo", "ran"];
        let mut spec = SpawnOptions::new(own_launcher().program, Path::new("/")).args(words);
        (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::SameAsStdout);
        let mut child = GroupChild::spawn(spec).unwrap();
        let mut output = String::new();
        child.take_stdout().unwrap().read_to_string(&mut output).await.unwrap();
        assert!(output.starts_with("invalid launcher arguments"), "{output}");
        assert!(!child.wait().await.unwrap().success());
    }
}
