//! Tests of exit statuses, signals and limits in a sandbox.

use std::os::unix::process::ExitStatusExt as _;

use haft_launch::sandbox::ConfinementLevel;
use haft_launch::{GroupChild, Sandbox, StderrMode, StdioMode};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};

use super::{is_available, run, spec};
use crate::support::PATIENCE;

fn levels() -> impl Iterator<Item = ConfinementLevel> {
    [ConfinementLevel::Standard, ConfinementLevel::Strict].into_iter().filter(|level| is_available(*level))
}

#[tokio::test]
async fn exit_status_and_signal_are_forwarded() {
    for level in levels() {
        let ends = async |script: &str| {
            let ended = run(spec("/bin/sh", "/usr", Some(Sandbox::new(level))).args(["-c", script])).await;
            assert!(!ended.never_started, "{ended:?}");
            (ended.status.code(), ended.status.signal())
        };
        for code in [0, 1, 7, 255] {
            assert_eq!(ends(&format!("exit {code}")).await, (Some(code), None));
        }
        // A signal inside namespaces is reported only as an exit code.
        let killed = if level == ConfinementLevel::Strict { (Some(128 + 9), None) } else { (None, Some(9)) };
        assert_eq!(ends("kill -9 $$").await, killed);
    }
}

#[tokio::test]
async fn terminate_reaches_the_program() {
    for level in levels() {
        // sleep: a step of a loop that ends by the signal
        let script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done";
        let mut spec = spec("/bin/sh", "/usr", Some(Sandbox::new(level))).args(["-c", script]);
        spec.stdout = StdioMode::Piped;
        let mut child = GroupChild::spawn(spec).unwrap();
        let mut stdout = BufReader::new(child.take_stdout().unwrap());
        let mut output = String::new();
        tokio::time::timeout(PATIENCE, stdout.read_line(&mut output)).await.unwrap().unwrap();
        child.terminate().unwrap();
        tokio::time::timeout(PATIENCE, stdout.read_to_string(&mut output)).await.unwrap().unwrap();
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        assert_eq!((output.as_str(), status.code()), ("up\nbye\n", Some(7)), "{level}");
    }
}

/// A kill before the program has started is included.
#[tokio::test]
async fn kill_right_after_spawn_ends_the_program() {
    for level in levels() {
        for _ in 0..20 {
            let mut child =
                GroupChild::spawn(spec("/bin/sleep", "/usr", Some(Sandbox::new(level))).args(["600"]))
                    .unwrap();
            child.kill().unwrap();
            tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        }
    }
}

#[tokio::test]
async fn file_size_is_limited() {
    for level in levels() {
        let dir = tempfile::tempdir().unwrap();
        let mut sandbox = Sandbox::new(level);
        sandbox.write = vec![dir.path().to_owned()];
        sandbox.max_file_bytes = Some(100_000);
        let words = ["-c", "head -c 99999 /dev/zero >small && head -c 200000 /dev/zero >big; echo $?"];
        let ended = run(spec("/bin/sh", dir.path(), Some(sandbox)).args(words)).await;
        assert_ne!(ended.out, "0\n", "{ended:?}");
        let size = |name: &str| dir.path().join(name).metadata().unwrap().len();
        assert_eq!((size("small"), size("big")), (99_999, 100_000));
    }
}

/// A read-only path below a writable path, and a writable path below that.
#[tokio::test]
async fn protected_paths_cannot_be_changed() {
    if !is_available(ConfinementLevel::Strict) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join(".git/hooks/ours")).unwrap();
    std::fs::create_dir_all(dir.path().join("elsewhere")).unwrap();
    let mut sandbox = Sandbox::new(ConfinementLevel::Strict);
    sandbox.write = vec![dir.path().to_owned(), dir.path().join(".git/hooks/ours")];
    sandbox.protect = vec![dir.path().join(".git")];
    let script = "for dir in . .git .git/hooks .git/hooks/ours elsewhere; do \
                  if (: >$dir/file) 2>/dev/null; then echo $dir; fi; done; \
                  mv .git gone 2>/dev/null || echo stays; chmod 777 .git 2>/dev/null || echo as it is";
    let ended = run(spec("/bin/sh", dir.path(), Some(sandbox)).args(["-c", script])).await;
    assert_eq!(ended.out, ".\n.git/hooks/ours\nelsewhere\nstays\nas it is\n", "{ended:?}");
}

/// A program may be limited to executing itself and its interpreter.
#[tokio::test]
async fn system_programs_run_only_if_allowed() {
    for level in levels() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("program");
        std::fs::write(
            &program,
            "#!/bin/sh\necho up\n/bin/true && echo ran\n$SHELL_OF_ITS_OWN -c 'echo again'\n",
        )
        .unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        for (allowed, expect) in [(true, "up\nran\nagain\n"), (false, "up\nagain\n")] {
            let mut sandbox = Sandbox::new(level);
            sandbox.system_programs = allowed;
            let mut spec = spec(&program, "/usr", Some(sandbox));
            spec.env = haft_launch::EnvPolicy::Only([("SHELL_OF_ITS_OWN".into(), "/bin/sh".into())].into());
            let ended = run(spec).await;
            assert_eq!(ended.out, expect, "{level}: {ended:?}");
        }
    }
}

/// A program whose working directory is hidden does not start in another directory.
#[tokio::test]
async fn hidden_working_directory_prevents_the_start() {
    if !is_available(ConfinementLevel::Strict) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut spec = spec("/bin/pwd", dir.path(), Some(Sandbox::new(ConfinementLevel::Strict)));
    (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::Own(StdioMode::Piped));
    let ended = run(spec).await;
    assert!(ended.never_started && ended.out.is_empty() && ended.err.contains("chdir"), "{ended:?}");
}

/// A guardian that notices late that its program has started must not treat the request as a cancelled start.
#[tokio::test]
async fn terminate_right_after_the_start_reaches_the_program() {
    use rustix::process::{Pid, Signal, kill_process};
    if !is_available(ConfinementLevel::Strict) {
        return;
    }
    // sleep: a step of a loop that ends by the signal
    let script = "trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done";
    let mut spec = spec("/bin/sh", "/usr", Some(Sandbox::new(ConfinementLevel::Strict))).args(["-c", script]);
    (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::Own(StdioMode::Inherit));
    let mut child = GroupChild::spawn(spec).unwrap();
    let guardian = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    while std::fs::read_to_string(&children).unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    kill_process(guardian, Signal::STOP).unwrap();
    let mut stdout = BufReader::new(child.take_stdout().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).await.unwrap();
    child.terminate().unwrap();
    kill_process(guardian, Signal::CONT).unwrap();
    stdout.read_to_string(&mut line).await.unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    assert_eq!((line.as_str(), status.code()), ("up\nbye\n", Some(7)));
}
