//! Preparations of the launcher and of the program before the program runs.

use std::io;
#[cfg(target_os = "linux")]
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::LaunchOrder;
#[cfg(target_os = "linux")]
use super::inner_launcher;
#[cfg(target_os = "linux")]
use super::order::SandboxOrder;
use crate::program::ProgramKind;
use crate::program::start_error;
#[cfg(target_os = "linux")]
use crate::sandbox::confine_process;
use crate::sys;

const OPEN_FILES: u64 = 1024;

/// The score from 0 to 1000 that makes the kernel kill the program before others when memory runs out.
#[cfg(target_os = "linux")]
const OOM_SCORE: &str = "500";

/// Hardens the guardian. Failures are ignored: the steps that matter are repeated in the program.
pub(super) fn harden_guardian() {
    let _ = no_core_dumps();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{
            DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
        };
        // Done before the program exists, so that processes of the same user can never attach to the guardian or read
        // its memory and environment. It also avoids a second core dump when the guardian ends like its program.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        // Wakes a guardian that the program has stopped when the host ends, so that the guardian notices. The signal is
        // also sent when only a thread of the host ends, and is then harmless.
        let _ = set_parent_process_death_signal(Some(Signal::CONT));
        // Orphans below this process become its children.
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        let _ = rustix::thread::set_name(crate::ancestry::PROCESS_NAME);
    }
}

pub(super) struct StartedProgram {
    pub(super) pid: Pid,
    /// The reader that reports whether the program was executed; `None` if it already was.
    #[cfg(target_os = "linux")]
    pub(super) report: Option<inner_launcher::StartReportReader>,
}

/// Starts the program with the launcher's own streams, directory and environment.
pub(super) fn start(order: &LaunchOrder) -> io::Result<StartedProgram> {
    let program = Path::new(&order.program);
    start_it(order).map_err(|error| start_error(program, None, &error))
}

/// Starts the program from a forked copy of this process, which has one thread. The confinement between fork and exec
/// may therefore allocate, and needs no separate program.
#[cfg(target_os = "linux")]
fn start_it(order: &LaunchOrder) -> io::Result<StartedProgram> {
    let LaunchOrder { program, args, .. } = order;
    let image = sys::ExecImage::new(program, args)?;
    match &order.sandbox {
        None => spawn_program(image, order.kind, || Ok(()), None),
        Some(SandboxOrder { bubblewrap: None, sandbox, .. }) => {
            let (mut reader, writer) = io::pipe()?;
            let (sandbox, path) = (sandbox.clone(), PathBuf::from(program));
            let confine =
                move || confine_process(&sandbox, &path).inspect_err(|error| write_reason(&writer, error));
            spawn_program(image, order.kind, confine, None)
                .map_err(|error| read_reason(&mut reader).unwrap_or(error))
        }
        Some(confine @ SandboxOrder { bubblewrap: Some(bubblewrap), .. }) => {
            let (report, writer) = inner_launcher::StartReportReader::open_pipe()?;
            let words = inner_launcher::bubblewrap_command_line(confine, bubblewrap, program, args, &writer)?;
            let (bubblewrap, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            spawn_program(
                sys::ExecImage::new(bubblewrap, args)?,
                order.kind,
                move || inner_launcher::keep_open(&writer),
                Some(report),
            )
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn start_it(order: &LaunchOrder) -> io::Result<StartedProgram> {
    let LaunchOrder { program, args, .. } = order;
    let image = match &order.sandbox {
        None => sys::ExecImage::new(program, args)?,
        #[cfg(target_os = "macos")]
        Some(confine) => {
            let words = crate::sandbox::seatbelt_command_line(&confine.sandbox, Path::new(program), args);
            let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            sys::ExecImage::new(program, args)?
        }
        #[cfg(not(target_os = "macos"))]
        Some(_) => return Err(io::Error::other("no sandbox: haft has no sandbox for this operating system")),
    };
    spawn_program(image, order.kind, || Ok(()))
}

/// Sends the reason to the parent; otherwise only an error number leaves the new process.
#[cfg(target_os = "linux")]
fn write_reason(mut to: &PipeWriter, error: &io::Error) {
    // The text always fits into the pipe's buffer.
    let _ = to.write_all(error.to_string().as_bytes());
}

/// Reads the reason why the new process did not confine itself; `None` if it sent none.
#[cfg(target_os = "linux")]
fn read_reason(from: &mut PipeReader) -> Option<io::Error> {
    let mut text = String::new();
    // The read ends, because the other end closed with the process and with its closure.
    from.read_to_string(&mut text).ok()?;
    (!text.is_empty()).then(|| io::Error::other(text))
}

fn spawn_program(
    image: sys::ExecImage,
    kind: ProgramKind,
    mut confine: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    #[cfg(target_os = "linux")] report: Option<inner_launcher::StartReportReader>,
) -> io::Result<StartedProgram> {
    let guardian = getpid();
    let started = sys::start(image, move || program_process(guardian, kind).and_then(|()| confine()))?;
    // The process is waited for by number, like all other children of this process.
    let pid = i32::try_from(started).ok().and_then(Pid::from_raw);
    Ok(StartedProgram {
        pid: pid.ok_or_else(|| io::Error::other("the system returned an invalid process id"))?,
        #[cfg(target_os = "linux")]
        report,
    })
}

fn program_process(guardian: Pid, kind: ProgramKind) -> io::Result<()> {
    // A separate session has no terminal to read from, to write to or to inject input into.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{
            DumpableBehavior, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal,
        };
        // Reverts the flag inherited from the guardian, which would block writes to this process's own files in /proc.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        // The end of the guardian ends the program. The guardian has only one thread, so no other event sends the
        // signal.
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if getppid() != Some(guardian) {
            return Err(io::Error::other("the guardian has ended"));
        }
        if kind == ProgramKind::Service {
            rustix::thread::set_no_new_privs(true)?;
        }
        // Fails if the score is already higher, which is also fine.
        let _ = std::fs::write("/proc/self/oom_score_adj", OOM_SCORE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = guardian;
    no_core_dumps()?;
    if kind == ProgramKind::Service {
        few_open_files()?;
    }
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
