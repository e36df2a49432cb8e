//! What the launcher does to itself and to the program before it runs.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::sys;

/// Open files that a program may have.
const OPEN_FILES: u64 = 1024;

/// How much sooner than others a program is ended when memory runs out, from 0 to 1000.
#[cfg(target_os = "linux")]
const OOM_SCORE: &str = "500";

/// None of these steps is a reason not to start, except those that are repeated in the program.
pub(super) fn this_process() {
    let _ = no_core_dumps();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, set_parent_process_death_signal};
        // A guardian that the program has stopped wakes when the host ends, and sees it. Also sent when only a thread of
        // the host ends, and then means nothing.
        let _ = set_parent_process_death_signal(Some(Signal::CONT));
        // Whatever loses its parent below this process becomes its child.
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        let _ = rustix::thread::set_name(c"haft-launcher");
    }
}

/// The program runs; what it must not inherit can be done.
pub(super) fn after_start() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // No debugger of the same user can hold the guardian up, and a guardian that ends as its program did leaves no
        // second dump.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Starts the program with the launcher's own streams, directory and environment.
pub(super) fn start(program: &OsStr, args: &[OsString]) -> io::Result<Pid> {
    let guardian = getpid();
    let started = sys::Image::new(program, args)
        .and_then(|image| sys::start(image, move || program_process(guardian)))
        .map_err(|error| crate::child::explain(Path::new(program), None, &error))?;
    // Waited for by number, together with everything else that becomes a child of this process.
    i32::try_from(started)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the system gave no process id"))
}

/// Runs in the new process.
fn program_process(guardian: Pid) -> io::Result<()> {
    // Its own session: no terminal to read from, to write to or to put words into.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        // Whoever ends the guardian ends the program. The guardian has one thread only, so nothing else does.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(guardian) {
            return Err(io::Error::other("the guardian is gone"));
        }
        rustix::thread::set_no_new_privs(true)?;
        // Refused when it stands higher already, which is as good.
        let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = guardian;
    no_core_dumps()?;
    few_open_files()?;
    sys::default_signals()
}

fn no_core_dumps() -> io::Result<()> {
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

fn few_open_files() -> io::Result<()> {
    let now = getrlimit(Resource::Nofile);
    let maximum = now.maximum.map_or(OPEN_FILES, |maximum| maximum.min(OPEN_FILES));
    Ok(setrlimit(Resource::Nofile, Rlimit { current: Some(maximum), maximum: Some(maximum) })?)
}
