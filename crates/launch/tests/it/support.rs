//! Helpers shared by the tests.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use haft_launch::{Launcher, SpawnOptions};
pub(crate) use haft_test_support::PATIENCE;
use rustix::process::{Pid, test_kill_process};

/// The interval at which a condition is checked.
const POLL: Duration = Duration::from_millis(5);

/// Returns this crate's own launcher.
pub(crate) fn launcher() -> Launcher {
    Launcher { program: haft_test_support::launcher_path(), args: Vec::new() }
}

/// Returns a shell behind a launcher, with no standard streams.
pub(crate) fn guarded_shell(script: &str) -> SpawnOptions {
    guarded("/bin/sh", ["-c", script])
}

/// Returns a program behind a launcher, with no standard streams.
pub(crate) fn guarded<A: Into<OsString>>(
    program: impl AsRef<Path>,
    args: impl IntoIterator<Item = A>,
) -> SpawnOptions {
    let mut spec = SpawnOptions::new(program.as_ref(), "/").args(args);
    spec.launcher = Some(launcher());
    spec
}

/// True if the process is dead or a zombie that was not reaped yet: an orphan's new parent may take its time.
pub(crate) fn is_gone(pid: Pid) -> bool {
    if test_kill_process(pid).is_err() {
        return true;
    }
    let stat = Path::new("/proc").join(pid.as_raw_nonzero().to_string()).join("stat");
    std::fs::read_to_string(stat).is_ok_and(|text| text.contains(") Z "))
}

/// Waits until a condition holds; returns false if it did not within the limit.
pub(crate) async fn eventually(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let poll = async {
        while !holds() {
            // sleep: polls the condition
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(limit, poll).await.is_ok()
}
