//! Tests of a program behind a launcher: its environment, its end, and the behavior of its guardian.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use haft_launch::{EnvPolicy, GroupChild, SpawnOptions, StderrMode, StdioMode};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::support::{PATIENCE, eventually, guarded, guarded_shell, is_gone, launcher};

async fn ended(child: &mut GroupChild) -> ExitStatus {
    timeout(PATIENCE, child.wait()).await.unwrap().unwrap()
}

async fn output_of(mut spec: SpawnOptions) -> String {
    spec.stdout = StdioMode::Piped;
    spec.stderr = StderrMode::SameAsStdout;
    let mut child = GroupChild::spawn(spec).unwrap();
    let mut text = String::new();
    timeout(PATIENCE, child.take_stdout().unwrap().read_to_string(&mut text)).await.unwrap().unwrap();
    ended(&mut child).await;
    text
}

#[tokio::test]
async fn exit_status_and_signal_are_forwarded() {
    let ends = async |script: &str| {
        let mut child = GroupChild::spawn(guarded_shell(script)).unwrap();
        let status = ended(&mut child).await;
        assert!(!child.never_started(status));
        (status.code(), status.signal())
    };
    for code in [0, 1, 7, 126, 127, 255] {
        assert_eq!(ends(&format!("exit {code}")).await, (Some(code), None));
    }
    for signal in [1, 2, 6, 9, 11, 14, 15] {
        assert_eq!(ends(&format!("kill -{signal} $$")).await, (None, Some(signal)));
    }
    // The signal that means "never started" is reported as an exit code, like in shells.
    assert_eq!(ends("kill -VTALRM $$").await, (Some(128 + 26), None));
}

#[tokio::test]
async fn failed_start_differs_from_a_program_that_ended() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    let report = async |program: &std::path::Path| {
        let mut spec = guarded(program, [""; 0]);
        spec.stderr = StderrMode::Own(StdioMode::Piped);
        let mut child = GroupChild::spawn(spec).unwrap();
        let mut text = String::new();
        child.take_stderr().unwrap().read_to_string(&mut text).await.unwrap();
        let status = ended(&mut child).await;
        assert!(child.never_started(status), "{status:?}");
        text
    };
    std::fs::write(&program, b"\x7fELF of another machine").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = report(&program).await;
    assert!(text.contains(&format!("cannot start {}: Exec format error", program.display())), "{text}");
    std::fs::write(&program, b"no first line\n").unwrap();
    assert!(report(&program).await.contains("os error 8"));
    if cfg!(target_os = "linux") {
        let open = std::fs::File::options().append(true).open(&program).unwrap();
        assert!(report(&program).await.contains("Text file busy (os error 26)"));
        drop(open);
    }
    // Problems that are visible beforehand are reported by the spawn itself.
    for (text, mode, expect) in [
        ("#!/nowhere/python\n", 0o755, "the interpreter in its first line is missing"),
        ("#!/bin/sh\n", 0o644, "Permission denied (os error 13)"),
    ] {
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(mode)).unwrap();
        let error = GroupChild::spawn(guarded(&program, [""; 0])).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    }
    let missing = GroupChild::spawn(guarded("/nowhere/tool", [""; 0])).unwrap_err();
    assert_eq!(missing.to_string(), "cannot start /nowhere/tool: No such file or directory (os error 2)");
    let directory = GroupChild::spawn(guarded("/", [""; 0])).unwrap_err();
    assert_eq!(directory.kind(), std::io::ErrorKind::PermissionDenied);
    let mut spec = guarded_shell("true");
    spec.cwd = "/nowhere/dir".into();
    assert!(GroupChild::spawn(spec).unwrap_err().to_string().contains("directory /nowhere/dir"));
}

#[tokio::test]
async fn arguments_directory_and_environment_arrive_unchanged() {
    let mut spec =
        guarded("/bin/sh", ["-c", "printf '%s|' \"$@\"; pwd; echo $A", "sh", "", "--", "--host", "é"]);
    spec.env = EnvPolicy::Only([("A".into(), "b c".into()), ("PATH".into(), "/usr/bin:/bin".into())].into());
    spec.cwd = "/usr".into();
    assert_eq!(output_of(spec).await, "|--|--host|é|/usr\nb c\n");
}

#[tokio::test]
async fn large_streams_and_end_of_input_bypass_the_guardian() {
    let mut spec = guarded("/bin/cat", [""; 0]);
    spec.stdin = StdioMode::Piped;
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
    let sent: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let mut got = Vec::new();
    let write = async {
        stdin.write_all(&sent).await.unwrap();
        drop(stdin);
    };
    timeout(PATIENCE, async { tokio::join!(write, stdout.read_to_end(&mut got)) }).await.unwrap().1.unwrap();
    assert!(got == sent);
    assert!(ended(&mut child).await.success());
}

/// The guardian keeps no stream open: closed output ends, and writing to closed input fails.
#[tokio::test]
async fn streams_close_when_the_program_closes_them() {
    let mut spec = guarded_shell("exec <&- >&-; sleep 600");
    spec.stdin = StdioMode::Piped;
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
    let mut rest = Vec::new();
    timeout(PATIENCE, stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
    let filled = timeout(PATIENCE, stdin.write_all(&[0; 1_000_000])).await.unwrap();
    assert_eq!(filled.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
    child.kill().unwrap();
    ended(&mut child).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn program_has_its_own_session_and_few_rights() {
    // A descriptor that a careless host leaves open for its children.
    let (reader, _writer) = std::io::pipe().unwrap();
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty()).unwrap();
    // The fourth descriptor is the listed directory itself.
    let script = "cut -d' ' -f4-7 /proc/$$/stat; echo $$ $PPID; echo $(ls /proc/self/fd); \
                  ulimit -Sn; ulimit -Hn; ulimit -Hc; cat /proc/$$/oom_score_adj; \
                  grep -E '^(NoNewPrivs|SigBlk)' /proc/$$/status | tr -d '\\t'; (: </dev/tty) 2>/dev/null || echo no tty";
    let text = output_of(guarded_shell(script)).await;
    drop(reader);
    let lines: Vec<&str> = text.lines().collect();
    let [own, parent] = lines[1].split(' ').collect::<Vec<_>>()[..] else { panic!("{text}") };
    // Parent, group, session, terminal.
    assert_eq!(lines[0], format!("{parent} {own} {own} 0"), "{text}");
    let expect = ["0 1 2 3", "1024", "1024", "0", "500", "SigBlk:0000000000000000", "NoNewPrivs:1", "no tty"];
    let mut rest = lines[2..].to_vec();
    rest.sort_unstable();
    let mut expect = expect.to_vec();
    expect.sort_unstable();
    assert_eq!(rest, expect, "{text}");
}

/// The host is a shell that ignores signals. Ignored signals are inherited by started programs.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "plays the host")]
#[test]
fn program_does_not_inherit_ignored_signals() {
    let script =
        "trap '' HUP INT QUIT PIPE USR1 TERM; \"$0\" --host $$ -- /bin/grep SigIgn /proc/self/status; :";
    let mut host = std::process::Command::new("/bin/sh");
    let output = host.args(["-c", script]).arg(launcher().program).output().unwrap().stdout;
    let text = String::from_utf8(output).unwrap();
    let ignored = u64::from_str_radix(text.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    // The C library reserves two signals, which cannot be changed.
    let library = (1 << (32 - 1)) | (1 << (33 - 1));
    assert_eq!(ignored & !library, 0, "{text}");
}

#[tokio::test]
async fn terminate_reaches_the_program() {
    // sleep: a step of a loop that ends by the signal
    let mut spec = guarded_shell("trap 'echo bye; exit 7' TERM; echo 1; while :; do sleep 0.05; done");
    spec.stdout = StdioMode::Piped;
    let mut child = GroupChild::spawn(spec).unwrap();
    let mut stdout = child.take_stdout().unwrap();
    let mut first = [0; 2];
    timeout(PATIENCE, stdout.read_exact(&mut first)).await.unwrap().unwrap();
    child.terminate().unwrap();
    assert_eq!(ended(&mut child).await.code(), Some(7));
    let mut rest = String::new();
    timeout(PATIENCE, stdout.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, "bye\n");
}

/// Reads the ids of the guardian, the program and its child.
async fn started(child: &mut GroupChild) -> [Pid; 3] {
    let mut stdout = child.take_stdout().unwrap();
    let mut text = String::new();
    while text.lines().count() < 2 || !text.ends_with('\n') {
        let byte = timeout(PATIENCE, stdout.read_u8()).await.unwrap().unwrap();
        text.push(char::from(byte));
    }
    let pid = |text: &str| Pid::from_raw(text.parse().unwrap()).unwrap();
    let mut lines = text.lines();
    [pid(&child.id().to_string()), pid(lines.next().unwrap()), pid(lines.next().unwrap())]
}

/// Starts a program that ignores SIGTERM, with a child that also does.
fn stubborn() -> GroupChild {
    let mut spec = guarded_shell("trap '' TERM; echo $$; sleep 600 & echo $!; while :; do wait; done");
    spec.stdout = StdioMode::Piped;
    GroupChild::spawn(spec).unwrap()
}

#[track_caller]
fn check_gone(pids: [Pid; 3]) -> impl Future<Output = ()> {
    let at = std::panic::Location::caller();
    async move {
        assert!(
            eventually(PATIENCE, || pids.iter().all(|pid| is_gone(*pid))).await,
            "{at}: {pids:?} are still running"
        );
    }
}

#[tokio::test]
async fn kill_and_drop_leave_nothing() {
    let mut child = stubborn();
    let pids = started(&mut child).await;
    child.kill().unwrap();
    assert_eq!(ended(&mut child).await.signal(), Some(9));
    check_gone(pids).await;
    // Processes that reuse these numbers are not signaled.
    child.kill().unwrap();
    child.kill().unwrap();
    child.terminate().unwrap();

    let mut child = stubborn();
    let pids = started(&mut child).await;
    drop(child);
    check_gone(pids).await;
}

#[tokio::test]
async fn kill_reaches_stopped_program_and_stopped_guardian() {
    for stopped in 0..3 {
        let mut child = stubborn();
        let pids = started(&mut child).await;
        kill_process(pids[stopped], Signal::STOP).unwrap();
        child.terminate().unwrap();
        child.kill().unwrap();
        ended(&mut child).await;
        check_gone(pids).await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn second_kill_works_without_the_guardian() {
    let mut child = stubborn();
    let pids = started(&mut child).await;
    child.kill().unwrap();
    // The guardian may stop before or after it has handled the first kill; the tree must end either way.
    let _ = kill_process(pids[0], Signal::STOP);
    child.kill().unwrap();
    ended(&mut child).await;
    check_gone(pids).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn killed_guardian_ends_the_program() {
    let mut child = stubborn();
    let pids = started(&mut child).await;
    kill_process(pids[0], Signal::KILL).unwrap();
    assert_eq!(ended(&mut child).await.signal(), Some(9));
    assert!(eventually(PATIENCE, || is_gone(pids[1])).await);
    kill_process(pids[2], Signal::KILL).unwrap();
}

#[test]
fn programs_outlive_the_thread_that_started_them() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let children: Vec<GroupChild> = (0..200)
        .map(|_| {
            let handle = runtime.handle().clone();
            let start = move || {
                let _entered = handle.enter();
                let mut spec = guarded("/bin/cat", [""; 0]);
                (spec.stdin, spec.stdout) = (StdioMode::Piped, StdioMode::Piped);
                GroupChild::spawn(spec).unwrap()
            };
            std::thread::spawn(start).join().unwrap()
        })
        .collect();
    runtime.block_on(async {
        for mut child in children {
            // Each program echoes until its input ends, and then ends by itself.
            let (mut stdin, mut stdout) = (child.take_stdin().unwrap(), child.take_stdout().unwrap());
            stdin.write_all(b"x").await.unwrap();
            assert_eq!(timeout(PATIENCE, stdout.read_u8()).await.unwrap().unwrap(), b'x');
            drop(stdin);
            assert!(ended(&mut child).await.success());
        }
    });
}

/// A host with much memory would be slow if each start copied its memory map.
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "traces this very test program")]
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
#[test]
fn spawn_does_not_copy_the_hosts_memory_map() {
    let trace = tempfile::NamedTempFile::new().unwrap();
    let mut strace = std::process::Command::new("strace");
    strace.args(["-f", "-e", "trace=clone,clone3,fork,vfork", "-o"]).arg(trace.path());
    strace.arg(std::env::current_exe().unwrap());
    strace.args(["--exact", "guarded::arguments_directory_and_environment_arrive_unchanged"]);
    if !strace.output().is_ok_and(|output| output.status.success()) {
        eprintln!("SKIP spawn_does_not_copy_the_hosts_memory_map: strace is missing or may not trace");
        return;
    }
    let text = std::fs::read_to_string(trace).unwrap();
    let starts: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("clone") || line.contains("fork("))
        .filter(|line| !line.contains("CLONE_THREAD") && !line.contains("resumed"))
        .collect();
    // The host's start of the launcher, and the launcher's fork. The program, a shell, starts no process.
    assert_eq!(starts.len(), 2, "{text}");
    assert!(starts[0].contains("CLONE_VM|CLONE_VFORK"), "{text}");
    assert!(!starts[1].contains("CLONE_VM"), "{text}");
}

#[tokio::test]
async fn launcher_rejects_invalid_arguments() {
    for args in [
        vec![],
        vec!["--host"],
        vec!["--host", "1", "--", "/bin/true"],
        vec!["--host", "x", "--", "/bin/true"],
    ] {
        let program = launcher().program;
        let mut spec = SpawnOptions::new(program, "/").args(args);
        spec.stderr = StderrMode::Own(StdioMode::Piped);
        let mut child = GroupChild::spawn(spec).unwrap();
        let mut text = String::new();
        child.take_stderr().unwrap().read_to_string(&mut text).await.unwrap();
        assert!(text.contains("launcher") || text.contains("host ended"), "{text}");
        assert!(!ended(&mut child).await.success());
    }
}
