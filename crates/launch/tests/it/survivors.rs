//! Tests that all processes of an extension end, whatever it does to survive and whichever process ends first.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

use haft_launch::sandbox::ConfinementLevel;
use haft_launch::{EnvPolicy, GroupChild, Launcher, Sandbox, StdioMode};
use rustix::process::{Pid, Signal, getpgid, kill_process};

use crate::support::{PATIENCE, eventually, guarded_shell, launcher};

/// The environment variable that marks the processes of one test.
const TAG: &str = "HAFT_LAUNCH_TEST";

/// An extension's attempt to survive. The script creates the file `$UP` when ready, and ends when the file `$END`
/// exists.
struct SurvivalAttempt {
    name: &'static str,
    script: &'static str,
}

const ATTEMPTS: &[SurvivalAttempt] = &[
    SurvivalAttempt {
        name: "reads its input",
        script: ": >\"$UP\"; while read -r line; do [ \"$line\" = end ] && exit 0; done",
    },
    SurvivalAttempt {
        name: "ignores input and signal",
        // sleep: polls the file
        script: "trap '' TERM HUP INT; sleep 600 & : >\"$UP\"; while :; do [ -e \"$END\" ] && exit 0; sleep 0.05; done",
    },
    SurvivalAttempt {
        name: "leaves a grandchild in its group",
        script: "sh -c 'trap \"\" TERM HUP; : >\"$UP\"; sleep 600; :' </dev/null & \
                 while :; do [ -e \"$END\" ] && exit 0; sleep 0.05; done", // sleep: polls the file
    },
    DAEMON,
];

const DAEMON: SurvivalAttempt = SurvivalAttempt {
    name: "becomes a daemon",
    script: "(setsid sh -c '(trap \"\" TERM HUP; cd /; : >\"$UP\"; sleep 600; :) </dev/null >/dev/null 2>&1 & exit 0' &); \
             while :; do [ -e \"$END\" ] && exit 0; sleep 0.05; done", // sleep: polls the file
};

fn tag() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns all live processes with the tag in their environment, except guardians, whose environment only root can
/// read.
fn tagged(tag: &str) -> Vec<Pid> {
    let wanted = format!("{TAG}={tag}");
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw));
    pids.filter(|pid| {
        let dir = format!("/proc/{}", pid.as_raw_nonzero());
        let environ = std::fs::read(format!("{dir}/environ")).unwrap_or_default();
        let guardian =
            std::fs::read_to_string(format!("{dir}/comm")).is_ok_and(|name| name.trim() == "haft-launcher");
        !guardian
            && environ.split(|byte| *byte == 0).any(|pair| OsStr::from_bytes(pair) == OsStr::new(&wanted))
    })
    .collect()
}

/// Checks that no process is left well before the processes would end by themselves.
async fn check_gone(tag: &str, what: &str) {
    assert!(
        eventually(PATIENCE, || tagged(tag).is_empty()).await,
        "{what}: {:?} are still running",
        tagged(tag)
    );
}

/// The directory of `$UP` and `$END`.
struct ScriptDir(tempfile::TempDir);

impl ScriptDir {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn up(&self) -> PathBuf {
        self.0.path().join("up")
    }

    fn end(&self) -> PathBuf {
        self.0.path().join("end")
    }

    /// Starts an extension and waits until it is ready.
    async fn extension(&self, tag: &str, kind: &SurvivalAttempt, launcher: Option<Launcher>) -> GroupChild {
        self.confined(tag, kind, launcher, None).await
    }

    async fn confined(
        &self,
        tag: &str,
        kind: &SurvivalAttempt,
        launcher: Option<Launcher>,
        level: Option<ConfinementLevel>,
    ) -> GroupChild {
        let child = start(self.0.path(), tag, kind.script, launcher, level);
        self.wait_until_up(kind.name).await;
        assert!(!tagged(tag).is_empty());
        child
    }

    async fn wait_until_up(&self, what: &str) {
        assert!(eventually(PATIENCE, || self.up().exists()).await, "{what}: did not become ready");
    }
}

/// Starts a program that finds its files in a directory.
fn start(
    dir: &Path,
    tag: &str,
    script: &str,
    launcher: Option<Launcher>,
    level: Option<ConfinementLevel>,
) -> GroupChild {
    let mut spec = guarded_shell(script);
    spec.launcher = launcher;
    spec.sandbox = level.map(|level| {
        let mut sandbox = Sandbox::new(level);
        sandbox.write = vec![dir.to_owned()];
        sandbox
    });
    spec.env = EnvPolicy::Inherit {
        remove: Vec::new(),
        set: vec![
            (TAG.into(), tag.into()),
            ("UP".into(), dir.join("up").into()),
            ("END".into(), dir.join("end").into()),
        ],
    };
    spec.stdin = StdioMode::Piped;
    GroupChild::spawn(spec).unwrap()
}

#[tokio::test]
async fn kill_leaves_no_process() {
    for (kind, level) in ATTEMPTS.iter().flat_map(|kind| levels().into_iter().map(move |level| (kind, level)))
    {
        let (tag, place) = (tag(), ScriptDir::new());
        let mut child = place.confined(&tag, kind, Some(launcher()), level).await;
        child.terminate().unwrap();
        child.kill().unwrap();
        tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        check_gone(&tag, kind.name).await;
    }
}

#[tokio::test]
async fn program_end_leaves_no_process() {
    for (kind, level) in ATTEMPTS.iter().flat_map(|kind| levels().into_iter().map(move |level| (kind, level)))
    {
        let (tag, place) = (tag(), ScriptDir::new());
        let mut child = place.confined(&tag, kind, Some(launcher()), level).await;
        std::fs::write(place.end(), "").unwrap();
        // Most attempts do not read their input.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut child.take_stdin().unwrap(), b"end\n").await;
        let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
        assert!(status.success(), "{}: {status}", kind.name);
        assert_eq!(tagged(&tag), [], "{}: wait() returned before all processes ended", kind.name);
    }
}

/// Returns `None` and every level of this machine. Missing levels are reported by the tests of the sandbox.
fn levels() -> Vec<Option<ConfinementLevel>> {
    let all = [ConfinementLevel::Standard, ConfinementLevel::Strict].into_iter();
    let there = all.filter(|level| Sandbox::new(*level).check().is_ok());
    std::iter::once(None).chain(there.map(Some)).collect()
}

/// The host is a shell, which starts the launcher and is killed.
#[expect(clippy::disallowed_methods, reason = "plays the host")]
#[tokio::test]
async fn killed_host_leaves_no_process() {
    for kind in ATTEMPTS {
        let (tag, place) = (tag(), ScriptDir::new());
        // A background job of a shell has no input unless it is redirected.
        let script = "exec 3<&0; \"$0\" --host $$ -- /bin/sh -c \"$1\" <&3 & wait";
        let mut host = std::process::Command::new("/bin/sh")
            .args(["-c", script])
            .arg(launcher().program)
            .arg(kind.script)
            .env(TAG, &tag)
            .env("UP", place.up())
            .env("END", place.end())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        place.wait_until_up(kind.name).await;
        assert!(!tagged(&tag).is_empty());
        // The input stays open, so that only the guardian can end the program.
        let _stdin = host.stdin.take();
        host.kill().unwrap();
        host.wait().unwrap();
        check_gone(&tag, kind.name).await;
    }
}

/// The environment variable that makes this test program play the host. The value starts with a level.
const HOST: &str = "HAFT_LAUNCH_TEST_HOST";

/// The host is this test program, which starts extensions in a sandbox and is killed.
#[expect(clippy::disallowed_methods, reason = "plays the host")]
#[tokio::test]
async fn killed_host_leaves_no_sandboxed_process() {
    if let Ok(wanted) = std::env::var(HOST) {
        return play_host(&wanted).await;
    }
    for level in levels().into_iter().flatten() {
        for (at, kind) in ATTEMPTS.iter().enumerate() {
            let (tag, place) = (tag(), ScriptDir::new());
            let mut host = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "survivors::killed_host_leaves_no_sandboxed_process"])
                .env(HOST, format!("{level} {at} {tag} {}", place.0.path().display()))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            place.wait_until_up(kind.name).await;
            assert!(!tagged(&tag).is_empty());
            host.kill().unwrap();
            host.wait().unwrap();
            check_gone(&tag, &format!("{} at {level}", kind.name)).await;
        }
    }
}

/// Starts the extension and waits to be killed.
async fn play_host(wanted: &str) {
    let [level, kind, tag, dir] = wanted.split(' ').collect::<Vec<_>>()[..] else { panic!("{wanted}") };
    let level = if level == "strict" { ConfinementLevel::Strict } else { ConfinementLevel::Standard };
    let kind = &ATTEMPTS[kind.parse::<usize>().unwrap()];
    let _child = start(Path::new(dir), tag, kind.script, Some(launcher()), Some(level));
    std::future::pending::<()>().await;
}

/// The host ends before its launcher has looked for it.
#[expect(clippy::disallowed_methods, reason = "plays the host")]
#[tokio::test]
async fn launcher_of_an_ended_host_starts_nothing() {
    let tag = tag();
    for _ in 0..20 {
        let mut host = std::process::Command::new("/bin/sh")
            .args(["-c", "\"$0\" --host $$ -- /bin/sleep 600 &"])
            .arg(launcher().program)
            .env(TAG, &tag)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        host.wait().unwrap();
    }
    check_gone(&tag, "the host ended").await;
}

/// The extension forks repeatedly, so that no process lives long.
#[tokio::test]
async fn drop_ends_a_program_that_keeps_forking() {
    let (tag, place) = (tag(), ScriptDir::new());
    // sleep: a step of a chain that never ends
    let script = "f() { : >\"$UP\"; [ -e \"$END\" ] || { (sleep 0.005; f) & }; }; f; sleep 600";
    let child =
        place.extension(&tag, &SurvivalAttempt { name: "keeps forking", script }, Some(launcher())).await;
    drop(child);
    check_gone(&tag, "keeps forking").await;
}

/// Proves that these tests can detect a survivor.
#[tokio::test]
async fn daemon_survives_without_a_launcher() {
    let (tag, place) = (tag(), ScriptDir::new());
    let mut child = place.extension(&tag, &DAEMON, None).await;
    let group = child.id();
    child.kill().unwrap();
    child.wait().await.unwrap();
    let group = Pid::from_raw(group.cast_signed());
    let is_of_group = |pid: &Pid| getpgid(Some(*pid)).ok() == group;
    assert!(
        eventually(PATIENCE, || !tagged(&tag).iter().any(is_of_group)).await,
        "the group is still running"
    );
    let left = tagged(&tag);
    assert!(!left.is_empty());
    for pid in left {
        kill_process(pid, Signal::KILL).unwrap();
    }
    check_gone(&tag, "killed one by one").await;
}
