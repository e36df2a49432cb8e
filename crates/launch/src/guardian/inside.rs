//! The launcher inside namespaces of its own: it confines itself and becomes the program.
//!
//! `--confine SANDBOX --report FD -- PROGRAM ARGS…`, with what the guardian outside gives to bubblewrap. A second start
//! of the launcher, because the kernel's rules have to be put on when all is mounted, and bubblewrap mounts.

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

/// Before the sandbox as text.
pub(super) const CONFINE: &str = "--confine";

/// Before the number of the descriptor for [`READY`].
const REPORT: &str = "--report";

/// Said by the process inside immediately before it becomes the program.
const READY: u8 = b'+';

/// Said when it did not, and before the reason.
const FAILED: u8 = b'-';

/// The end of what the process inside says, which is closed when it has become the program.
pub(super) struct StartReportReader(PipeReader);

impl StartReportReader {
    pub(super) fn open_pipe() -> io::Result<(Self, PipeWriter)> {
        let (reader, writer) = io::pipe()?;
        Ok((Self(reader), writer))
    }

    /// Until it is known whether the program has started.
    ///
    /// # Errors
    /// Why it has not, also because nobody wants it any more.
    pub(super) fn wait(mut self, inbox: &mut SignalInbox, host: &HostWatch) -> io::Result<()> {
        let mut said = Vec::new();
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
                    read => said.extend(bytes.iter().take(read)),
                }
                continue;
            }
            let news = inbox.take();
            if news.kill || news.terminate {
                if !self.has_more()? {
                    return Err(io::Error::other("the program was no longer wanted"));
                }
                // It has begun meanwhile, so it is asked to end as every program is.
                inbox.put_back(news);
            } else if host.is_gone()? {
                return Err(io::Error::other("the host is gone"));
            }
        }
        match said.strip_prefix(&[READY]).unwrap_or(&said) {
            [] if !said.is_empty() => Ok(()),
            [FAILED, reason @ ..] => Err(io::Error::other(String::from_utf8_lossy(reason).into_owned())),
            _ => {
                Err(io::Error::other("no sandbox: bubblewrap ended; what it says of that stands before this"))
            }
        }
    }

    fn has_more(&self) -> io::Result<bool> {
        Ok(poll(&mut [poll_readable(&self.0)], Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))? > 0)
    }
}

fn has_events(fd: &PollFd<'_>) -> bool {
    !fd.revents().is_empty()
}

/// Returns the command line of bubblewrap, and the order for the launcher inside.
pub(super) fn bubblewrap_command_line(
    confine: &SandboxOrder,
    bubblewrap: &Bubblewrap,
    program: &OsStr,
    args: &[OsString],
    report: &PipeWriter,
) -> io::Result<Vec<OsString>> {
    let launcher = std::fs::read_link("/proc/self/exe")?;
    if !launcher.exists() {
        let text = format!("no sandbox: {} was replaced meanwhile; start haft again", launcher.display());
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

/// Does not come back, unless it failed.
pub(super) fn run(args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(ConfineArgs { sandbox, report, program, args }) = ConfineArgs::parse(args) else {
        let _ = writeln!(io::stderr(), "the launcher confines what a guardian starts, and nobody else");
        return ExitCode::FAILURE;
    };
    let mut report = PipeWriter::from(report);
    let error = match prepare_program(&sandbox, &report, &program, &args) {
        Ok((image, confinement)) => become_program(image, confinement, &mut report, Path::new(&program)),
        Err(error) => error,
    };
    // The guardian tells it: its word comes last.
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

/// Comes back with the reason why not.
fn become_program(
    image: sys::ExecImage,
    mut confinement: Confinement,
    report: &mut PipeWriter,
    program: &Path,
) -> io::Error {
    if let Err(error) = confinement.apply().and_then(|()| report.write_all(&[READY])) {
        return error;
    }
    crate::program::explain(program, None, &image.execute())
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
