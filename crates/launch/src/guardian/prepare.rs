//! Preparations of the launcher and the program before the program runs.

use std::io;
#[cfg(target_os = "linux")]
use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::path::Path;

use rustix::process::{Pid, Resource, Rlimit, getpid, getrlimit, setrlimit};

use super::LaunchOrder;
#[cfg(target_os = "linux")]
use super::inside;
#[cfg(target_os = "linux")]
use super::order::SandboxOrder;
use crate::program::explain;
#[cfg(target_os = "linux")]
use crate::sandbox::Confinement;
use crate::sys;

const OPEN_FILES: u64 = 1024;

/// The score by which a program is killed sooner than others when memory runs out, from 0 to 1000.
#[cfg(target_os = "linux")]
const OOM_SCORE: &str = "500";

/// None of these steps is a reason not to start, except those that are repeated in the program.
pub(super) fn harden_guardian() {
    let _ = no_core_dumps();
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{
            DumpableBehavior, Signal, set_dumpable_behavior, set_parent_process_death_signal,
        };
        // Before the program exists, so that it never sees the guardian's memory and environment: no process of the same
        // user can attach to the guardian. It also leaves no second core dump when it ends as its program did.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        // A guardian that the program has stopped wakes when the host ends, and sees it. Also sent when only a thread of
        // the host ends, and then means nothing.
        let _ = set_parent_process_death_signal(Some(Signal::CONT));
        // Whatever loses its parent below this process becomes its child.
        let _ = rustix::process::set_child_subreaper(Some(getpid()));
        let _ = rustix::thread::set_name(c"haft-launcher");
    }
}

pub(super) struct StartedProgram {
    pub(super) pid: Pid,
    /// Where it says whether it has become the program; none if it has.
    #[cfg(target_os = "linux")]
    pub(super) report: Option<inside::StartReportReader>,
}

/// Starts the program with the launcher's own streams, directory and environment.
pub(super) fn start(order: &LaunchOrder) -> io::Result<StartedProgram> {
    let program = Path::new(&order.program);
    start_it(order).map_err(|error| explain(program, None, &error))
}

/// By a further process of this program, which has one thread: what is put on between its beginning and the program's
/// may allocate and need not be a program of its own.
#[cfg(target_os = "linux")]
fn start_it(order: &LaunchOrder) -> io::Result<StartedProgram> {
    let LaunchOrder { program, args, .. } = order;
    let image = sys::ExecImage::new(program, args)?;
    match &order.sandbox {
        None => spawn_program(image, || Ok(()), None),
        Some(SandboxOrder { bubblewrap: None, sandbox, .. }) => {
            let mut confinement = Confinement::prepare(sandbox, Path::new(program))?;
            let (mut reader, writer) = io::pipe()?;
            let put_on = move || confinement.apply().inspect_err(|error| write_reason(&writer, error));
            spawn_program(image, put_on, None).map_err(|error| read_reason(&mut reader).unwrap_or(error))
        }
        Some(confine @ SandboxOrder { bubblewrap: Some(bubblewrap), .. }) => {
            let (report, writer) = inside::StartReportReader::open_pipe()?;
            let words = inside::bubblewrap_command_line(confine, bubblewrap, program, args, &writer)?;
            let (bubblewrap, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            spawn_program(
                sys::ExecImage::new(bubblewrap, args)?,
                move || inside::keep_open(&writer),
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
            let words = crate::sandbox::seatbelt_words(&confine.sandbox, Path::new(program), args);
            let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            sys::ExecImage::new(program, args)?
        }
        #[cfg(not(target_os = "macos"))]
        Some(_) => return Err(io::Error::other("no sandbox: there is none for this system")),
    };
    spawn_program(image, || Ok(()))
}

/// The new process has no other way to give a reason: only the number of an error gets out of it.
#[cfg(target_os = "linux")]
fn write_reason(mut to: &PipeWriter, error: &io::Error) {
    // A pipe holds more than any reason is long.
    let _ = to.write_all(error.to_string().as_bytes());
}

/// The reason why the new process did not confine itself; none if it had none to give.
#[cfg(target_os = "linux")]
fn read_reason(from: &mut PipeReader) -> Option<io::Error> {
    let mut text = String::new();
    // It ends: the other end went with the process, and with what would have started it.
    from.read_to_string(&mut text).ok()?;
    (!text.is_empty()).then(|| io::Error::other(text))
}

fn spawn_program(
    image: sys::ExecImage,
    mut confine: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    #[cfg(target_os = "linux")] report: Option<inside::StartReportReader>,
) -> io::Result<StartedProgram> {
    let guardian = getpid();
    let started = sys::start(image, move || program_process(guardian).and_then(|()| confine()))?;
    // Waited for by number, together with everything else that becomes a child of this process.
    let pid = i32::try_from(started).ok().and_then(Pid::from_raw);
    Ok(StartedProgram {
        pid: pid.ok_or_else(|| io::Error::other("the system gave no process id"))?,
        #[cfg(target_os = "linux")]
        report,
    })
}

fn program_process(guardian: Pid) -> io::Result<()> {
    // Its own session: no terminal to read from, to write to or to put words into.
    rustix::process::setsid()?;
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{
            DumpableBehavior, Signal, getppid, set_dumpable_behavior, set_parent_process_death_signal,
        };
        // Inherited from the guardian; it would keep this process from writing to its own files in /proc.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
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
