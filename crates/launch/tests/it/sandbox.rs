//! Tests of what a sandbox prevents on this machine, as root and as the user nobody.

mod isolated;
mod limits;
mod probes;
mod programs;
mod refusals;

use std::path::PathBuf;
use std::process::ExitStatus;

use haft_launch::sandbox::ConfinementLevel;
use haft_launch::{EnvPolicy, GroupChild, Launcher, Sandbox, SpawnOptions, StderrMode, StdioMode};
use tokio::io::AsyncReadExt as _;

use crate::support::{PATIENCE, launcher};

/// The directory of copies of the launcher and the probes, for a user who cannot enter the build directory.
const PROGRAMS: &str = "HAFT_TEST_PROGRAMS";

fn copies() -> Option<PathBuf> {
    std::env::var_os(PROGRAMS).map(PathBuf::from)
}

fn own_launcher() -> Launcher {
    match copies() {
        Some(dir) => Launcher { program: dir.join("launcher"), args: Vec::new() },
        None => launcher(),
    }
}

fn probe() -> PathBuf {
    copies().map_or_else(|| haft_test_support::test_binary("sandbox-probe"), |dir| dir.join("sandbox-probe"))
}

/// The output and the exit status of a program.
#[derive(Debug)]
struct Ended {
    out: String,
    err: String,
    status: ExitStatus,
    never_started: bool,
}

/// Returns options behind a launcher, with an environment like that of sandboxed programs.
fn spec(program: impl Into<PathBuf>, cwd: impl Into<PathBuf>, sandbox: Option<Sandbox>) -> SpawnOptions {
    let mut spec = SpawnOptions::new(program, cwd);
    spec.launcher = Some(own_launcher());
    spec.sandbox = sandbox;
    let home = spec.cwd.clone();
    let pairs = [("PATH", "/usr/bin:/bin".into()), ("HOME", home.clone()), ("TMPDIR", home)];
    spec.env = EnvPolicy::Only(pairs.map(|(name, value)| (name.into(), value.into())).into());
    spec
}

async fn run(mut spec: SpawnOptions) -> Ended {
    (spec.stdout, spec.stderr) = (StdioMode::Piped, StderrMode::Own(StdioMode::Piped));
    let mut child = GroupChild::spawn(spec).unwrap();
    let (mut stdout, mut stderr) = (child.take_stdout().unwrap(), child.take_stderr().unwrap());
    let (mut out, mut err) = (String::new(), String::new());
    let read = async { tokio::try_join!(stdout.read_to_string(&mut out), stderr.read_to_string(&mut err)) };
    tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
    let status = tokio::time::timeout(PATIENCE, child.wait()).await.unwrap().unwrap();
    let never_started = child.never_started(status);
    Ended { out, err, status, never_started }
}

/// True if a level is available here. Otherwise prints a skip and checks that starting a program reports the same
/// error.
#[expect(clippy::print_stderr, reason = "a test that cannot run says so")]
fn is_available(level: ConfinementLevel) -> bool {
    let Err(error) = Sandbox::new(level).check() else { return true };
    let refused = GroupChild::spawn(spec("/bin/true", "/", Some(Sandbox::new(level)))).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(refused.to_string(), error.to_string());
    eprintln!("SKIP {error}");
    false
}
