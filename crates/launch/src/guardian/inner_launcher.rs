//! The launcher inside the namespaces: confines itself and then executes the program.
//!
//! Its arguments are `--confine SANDBOX --report FD -- PROGRAM ARGS…`; the guardian outside passes them to bubblewrap.
//! The launcher is started a second time because the kernel's rules must be applied after all mounts, and bubblewrap
//! does the mounting.

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

use super::host::HostWatch;
use super::order::{SEPARATOR, SandboxOrder, from_text};
use super::poll_readable;
use super::signals::SignalInbox;
use crate::sandbox::{Bubblewrap, Confinement, Sandbox, WrappedLaunch};
use crate::sys;

/// The flag before the sandbox's JSON text.
pub(super) const CONFINE: &str = "--confine";

/// The flag before the number of the report's descriptor.
const REPORT: &str = "--report";

/// The report's first byte, written immediately before the program is executed.
const READY: u8 = b'+';

/// The byte before the reason of a failure.
const FAILED: u8 = b'-';

/// The reading end of the inner launcher's report. The writing end closes when the program is executed.
pub(super) struct StartReportReader(PipeReader);

impl StartReportReader {
    pub(super) fn open_pipe() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        Ok((Self(reader), writer))
    }

    /// Waits until the start of the program has succeeded or failed.
    ///
    /// # Errors
    /// The reason of the failure, which includes a cancelled start.
    pub(super) fn wait(mut self, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<()> {
        let mut report = Vec::new();
        loop {
            let mut fds = vec![poll_readable(&self.0), inbox.poll_fd()];
            fds.extend(host.poll_fd());
            match poll(&mut fds, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if fds.first().is_some_and(has_events) {
                let mut bytes = [0; 64];
                match self.0.read(&mut bytes)? {
                    0 => break,
                    read => report.extend(bytes.iter().take(read)),
                }
                continue;
            }
            let news = inbox.take();
            if news.kill || news.terminate {
                if !self.has_more()? {
                    return Err(io::Error::other("the start was cancelled"));
                }
                // The report has begun meanwhile, so the program is asked to end like any other.
                inbox.put_back(news);
            } else if host.is_gone()? {
                return Err(io::Error::other("the host has ended"));
            }
        }
        match report.strip_prefix(&[READY]).unwrap_or(&report) {
            [] if !report.is_empty() => Ok(()),
            [FAILED, reason @ ..] => Err(io::Error::other(String::from_utf8_lossy(reason).into_owned())),
            _ => Err(io::Error::other(
                "no sandbox: bubblewrap ended without starting the program; see its message above",
            )),
        }
    }

    fn has_more(&self) -> io::Result<bool> {
        Ok(poll(&mut [poll_readable(&self.0)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
    }
}

fn has_events(fd: &PollFd<'_>) -> bool {
    !fd.revents().is_empty()
}

/// Returns the command line of bubblewrap, including the arguments of the inner launcher.
pub(super) fn bubblewrap_command_line(
    confine: &SandboxOrder,
    bubblewrap: &Bubblewrap,
    program: &OsStr,
    args: &[OsString],
    report: &PipeWriter,
) -> io::Result<Vec<OsString>> {
    let launcher = std::fs::read_link("/proc/self/exe")?;
    if !launcher.exists() {
        let text = format!("no sandbox: {} was replaced by an update; restart haft", launcher.display());
        return Err(io::Error::other(text));
    }
    let cwd = std::env::current_dir()?;
    let mut inside: Vec<OsString> = confine.role.iter().map(OsString::from).collect();
    inside.extend([CONFINE.into(), serde_json::to_string(&confine.sandbox)?.into()]);
    inside.extend([REPORT.into(), report.as_raw_fd().to_string().into(), SEPARATOR.into(), program.into()]);
    inside.extend(args.iter().cloned());
    let program = Path::new(program);
    let wrapped =
        WrappedLaunch { sandbox: &confine.sandbox, program, cwd: &cwd, launcher: &launcher, args: inside };
    Ok(bubblewrap.command_line(wrapped))
}

pub(super) fn keep_open(report: &PipeWriter) -> io::Result<()> {
    Ok(fcntl_setfd(report, FdFlags::empty())?)
}

/// Confines this process and executes the program. Returns only on failure.
pub(super) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(ConfineArgs { sandbox, report, program, args }) = ConfineArgs::parse(args) else {
        let _ =
            writeln!(io::stderr(), "--confine is internal to the launcher; use --host PID -- PROGRAM ARGS");
        return ExitCode::FAILURE;
    };
    let mut report = PipeWriter::from(report);
    let error = match prepare_program(&sandbox, &report, &program, &args) {
        Ok((image, confinement)) => become_program(image, confinement, &mut report, Path::new(&program)),
        Err(error) => error,
    };
    // The guardian prints the reason, so that it is the last line on standard error.
    let _ = report.write_all(&[FAILED]).and_then(|()| report.write_all(error.to_string().as_bytes()));
    ExitCode::FAILURE
}

fn prepare_program(
    sandbox: &Sandbox,
    report: &PipeWriter,
    program: &OsStr,
    args: &[OsString],
) -> io::Result<(sys::ExecImage, Confinement)> {
    fcntl_setfd(report, FdFlags::CLOEXEC)?;
    let confinement = Confinement::prepare(sandbox, Path::new(program))?;
    let image = sys::ExecImage::new(program, args)?;
    sys::default_signals()?;
    Ok((image, confinement))
}

/// Applies the sandbox and executes the program. Returns only on failure.
fn become_program(
    image: sys::ExecImage,
    mut confinement: Confinement,
    report: &mut PipeWriter,
    program: &Path,
) -> io::Error {
    if let Err(error) = confinement.apply().and_then(|()| report.write_all(&[READY])) {
        return error;
    }
    crate::program::start_error(program, None, &image.execute())
}

struct ConfineArgs {
    sandbox: Sandbox,
    report: OwnedFd,
    program: OsString,
    args: Vec<OsString>,
}

impl ConfineArgs {
    fn parse(mut args: impl Iterator<Item = OsString>) -> Option<Self> {
        let sandbox = from_text(&args.next()?)?;
        args.next().filter(|flag| flag == REPORT)?;
        let report = args.next()?.to_str()?.parse().ok().and_then(sys::take_inherited)?;
        args.next().filter(|separator| separator == SEPARATOR)?;
        Some(Self { sandbox, report, program: args.next()?, args: args.collect() })
    }
}
