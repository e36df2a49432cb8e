//! All unsafe code of this crate, each block with its reason.
#![expect(unsafe_code, reason = "signal handlers and the time between fork and exec have no safe interface")]

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::RawFd;
#[cfg(target_os = "linux")]
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::process::Signal;

/// The first descriptor that is not a standard stream.
const FIRST: libc::c_int = 3;

/// The signals that arrived, one bit each.
static NOTED: AtomicU32 = AtomicU32::new(0);

/// The descriptor to which a byte is written when a bit is set.
static WAKE: AtomicI32 = AtomicI32::new(-1);

/// Returns the bit of a signal; 0 for signals beyond the first thirty-two.
pub(crate) fn signal_bit(signal: libc::c_int) -> u32 {
    u32::try_from(signal).ok().and_then(|signal| 1_u32.checked_shl(signal)).unwrap_or(0)
}

pub(crate) fn take_noted() -> u32 {
    NOTED.swap(0, Ordering::SeqCst)
}

/// Records again a signal that was already taken.
#[cfg(target_os = "linux")]
pub(crate) fn note_again(signal: libc::c_int) {
    NOTED.fetch_or(signal_bit(signal), Ordering::SeqCst);
}

/// Starts recording these signals. Each one also writes a byte to `wake`, which must stay open.
pub(crate) fn note_signals(signals: &[Signal], wake: RawFd) -> io::Result<()> {
    WAKE.store(wake, Ordering::SeqCst);
    for signal in signals {
        // SAFETY: an all-zero sigaction is a valid one: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler uses only operations that are allowed in a handler: atomics and write.
        if unsafe { libc::sigaction(signal.as_raw(), &raw const action, std::ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    all_signals(libc::SIG_UNBLOCK)
}

extern "C" fn note(signal: libc::c_int) {
    let bit = signal_bit(signal);
    if NOTED.fetch_or(bit, Ordering::SeqCst) & bit == 0 {
        // SAFETY: write is allowed in a handler, and one byte of a static is always readable. The call cannot block:
        // the pipe holds at most one byte per signal.
        unsafe { libc::write(WAKE.load(Ordering::SeqCst), b"!".as_ptr().cast(), 1) };
    }
}

fn all_signals(how: libc::c_int) -> io::Result<()> {
    // SAFETY: sigfillset initializes the set, and pthread_sigmask only reads it.
    let error = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(how, &raw const all, std::ptr::null_mut())
    };
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Resets every signal to its default action and unblocks all signals.
pub(crate) fn default_signals() -> io::Result<()> {
    for signal in 1..=last_signal() {
        // SAFETY: setting a disposition to the default has no preconditions. For the two signals without another
        // disposition, and for signals reserved by the C library, the call fails and changes nothing.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    all_signals(libc::SIG_UNBLOCK)
}

#[cfg(target_os = "linux")]
fn last_signal() -> libc::c_int {
    libc::SIGRTMAX()
}

#[cfg(not(target_os = "linux"))]
fn last_signal() -> libc::c_int {
    31
}

/// A program and its arguments in the form that `execv` takes.
pub(crate) struct ExecImage {
    words: Vec<CString>,
}

impl ExecImage {
    pub(crate) fn new(program: &OsStr, args: &[OsString]) -> io::Result<Self> {
        let words = std::iter::once(program).chain(args.iter().map(OsString::as_os_str));
        Ok(Self { words: words.map(|word| CString::new(word.as_bytes())).collect::<Result<_, _>>()? })
    }

    /// Replaces this process with the program, keeping the environment. Returns only on failure. The standard library's
    /// `exec` would pass a file that is not executable code to a shell.
    pub(crate) fn execute(&self) -> io::Error {
        let words = self.words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]);
        let words: Vec<*const libc::c_char> = words.collect();
        // SAFETY: the array ends in a null pointer, each C string outlives the call, and the first element exists.
        unsafe { libc::execv(words.first().copied().unwrap_or(std::ptr::null()), words.as_ptr()) };
        io::Error::last_os_error()
    }
}

/// Forks; the new process runs `prepare` and executes the program. A failure of either is returned here.
#[expect(clippy::disallowed_methods, reason = "this is the launcher")]
pub(crate) fn start(
    image: ExecImage,
    mut prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> io::Result<u32> {
    let mut command =
        Command::new(OsStr::from_bytes(image.words.first().map_or(b"", |word| word.to_bytes())));
    let execute = move || prepare().and_then(|()| Err(image.execute()));
    // SAFETY: the closure must not rely on other threads, which do not exist after the fork; the launcher has none
    // before it either.
    unsafe { command.pre_exec(execute) };
    Ok(command.spawn()?.id())
}

/// Closes all descriptors except the standard streams. Must be called before any descriptor is opened.
pub(crate) fn close_inherited() {
    // With musl, the libc crate has no function for this call.
    // SAFETY: no object in this process owns a descriptor beyond the standard streams yet.
    #[cfg(target_os = "linux")]
    if unsafe { libc::syscall(libc::SYS_close_range, FIRST.unsigned_abs(), libc::c_uint::MAX, 0) } == 0 {
        return;
    }
    // SAFETY: sysconf has no preconditions.
    let limit = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) };
    let limit = libc::c_int::try_from(limit).ok().filter(|limit| *limit >= 0);
    for fd in FIRST..limit.unwrap_or(MANY) {
        // SAFETY: as above.
        unsafe { libc::close(fd) };
    }
}

/// Takes ownership of a descriptor that the parent process left open for this one. `None` for the standard streams.
#[cfg(target_os = "linux")]
pub(crate) fn take_inherited(fd: RawFd) -> Option<OwnedFd> {
    if fd < FIRST {
        return None;
    }
    // SAFETY: fcntl on a number has no preconditions.
    let open = unsafe { libc::fcntl(fd, libc::F_GETFD) } >= 0;
    // SAFETY: the descriptor is open and has no owner in this process: it is taken once, before any other is opened.
    open.then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the version of Landlock, the kernel's access control.
///
/// # Errors
/// `ENOSYS` when the kernel does not have Landlock, `EOPNOTSUPP` when it is disabled.
#[cfg(target_os = "linux")]
pub(crate) fn landlock_abi() -> io::Result<u32> {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    // SAFETY: with the version flag, the call neither reads memory nor creates anything.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    u32::try_from(version).map_err(|_| io::Error::last_os_error())
}

/// Checks that the kernel can filter system calls, and that a filter can reject a call with an error.
#[cfg(target_os = "linux")]
pub(crate) fn can_filter_calls() -> io::Result<()> {
    let action = libc::SECCOMP_RET_ERRNO;
    // SAFETY: the call reads one number, which outlives the call.
    let answer = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_ACTION_AVAIL, 0_usize, &raw const action)
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Gives the calling process namespaces of its own. The caller must have a single thread.
#[cfg(target_os = "linux")]
pub(crate) fn enter_namespaces(flags: libc::c_int) -> rustix::io::Result<()> {
    // SAFETY: the call changes only what this process sees of the system; no memory or descriptor becomes invalid.
    if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Makes the mounts at and below a path read-only.
#[cfg(target_os = "linux")]
pub(crate) fn set_read_only(path: &std::path::Path) -> rustix::io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes()).map_err(|_| rustix::io::Errno::INVAL)?;
    let change =
        libc::mount_attr { attr_set: libc::MOUNT_ATTR_RDONLY, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: the path and the attributes are readable for the time of the call, and the size is that of the latter.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_RECURSIVE,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if answer == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Enables the loopback device of a separate network.
#[cfg(target_os = "linux")]
pub(crate) fn enable_loopback() -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let socket = std::net::UdpSocket::bind(("0.0.0.0", 0))?;
    // SAFETY: an all-zero request is a valid one: no name, no flags.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
    // SAFETY: the request outlives the call, and this operation reads nothing else.
    let answer =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as libc::Ioctl, &raw const request) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Tries in a short-lived process whether this user may make namespaces and change mounts in them.
#[cfg(target_os = "linux")]
pub(crate) fn try_namespaces() -> io::Result<()> {
    let (none, root) = (std::ptr::null(), c"/".as_ptr());
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWNET;
    // SAFETY: the new process makes only system calls, which are safe after a fork of a process with threads.
    let child = unsafe {
        let child = libc::fork();
        if child == 0 {
            let made = libc::unshare(flags) == 0 || libc::unshare(flags | libc::CLONE_NEWUSER) == 0;
            let ok = made && libc::mount(none, root, none, libc::MS_REC | libc::MS_SLAVE, none.cast()) == 0;
            libc::_exit(if ok { 0 } else { (*libc::__errno_location()).clamp(1, 255) });
        }
        child
    };
    let Some(child) = rustix::process::Pid::from_raw(child) else { return Err(io::Error::last_os_error()) };
    let status = rustix::io::retry_on_intr(|| {
        rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
    })?;
    match status.and_then(|(_, status)| status.exit_status()) {
        Some(0) => Ok(()),
        code => Err(io::Error::from_raw_os_error(code.unwrap_or(libc::EPERM))),
    }
}

#[cfg(target_os = "linux")]
fn last_errno() -> rustix::io::Errno {
    rustix::io::Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(rustix::io::Errno::INVAL)
}

/// The number of descriptors to close if the system does not report a limit.
const MANY: libc::c_int = 65_536;

/// Ends this process by a signal. Returns only if the signal does not end processes.
pub(crate) fn die_by_signal(signal: libc::c_int) {
    // SAFETY: resetting a disposition and raising a signal have no preconditions.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}
