//! Properties of stdin and stdout that the standard library does not expose.

pub(crate) use system::{is_pipe, stdout, wait_readable, wait_writable, without_blocking};

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    #[cfg(target_os = "linux")]
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileTypeExt;

    use rustix::event::{PollFd, PollFlags, poll};
    #[cfg(target_os = "linux")]
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;

    /// Opens another handle to stdout, without the standard library's buffer.
    pub(crate) fn stdout() -> io::Result<File> {
        // A duplicate, because closing fd 1 would free its number for the next opened file.
        io::stdout().as_fd().try_clone_to_owned().map(File::from)
    }

    pub(crate) fn is_pipe(file: &File) -> bool {
        file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
    }

    /// Opens another non-blocking handle to the same pipe. Blocking is a property of the open file,
    /// so other handles are not affected.
    #[cfg(target_os = "linux")]
    pub(crate) fn without_blocking(file: &File) -> io::Result<File> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Ok(open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?.into())
    }

    /// Makes the handle itself non-blocking, because this system cannot open another one. Fails if
    /// that would affect the output of other processes.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn without_blocking(file: &File) -> io::Result<File> {
        use std::os::unix::fs::MetadataExt;
        let of = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let stderr = File::from(io::stderr().as_fd().try_clone_to_owned()?);
        if of(stderr.metadata()?) == of(file.metadata()?) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = file.try_clone()?;
        rustix::io::ioctl_fionbio(&file, true)?;
        Ok(file)
    }

    /// Waits until a non-blocking handle has data to read.
    pub(crate) fn wait_readable(file: &impl AsFd) -> io::Result<()> {
        wait(file, PollFlags::IN)
    }

    pub(crate) fn wait_writable(file: &impl AsFd) -> io::Result<()> {
        wait(file, PollFlags::OUT)
    }

    fn wait(file: &impl AsFd, for_what: PollFlags) -> io::Result<()> {
        match poll(&mut [PollFd::new(file, for_what)], None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::fs::File;
    use std::io;

    #[cfg(windows)]
    pub(crate) fn stdout() -> io::Result<File> {
        use std::os::windows::io::AsHandle;
        io::stdout().as_handle().try_clone_to_owned().map(File::from)
    }

    #[cfg(not(windows))]
    pub(crate) fn stdout() -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn is_pipe(_file: &File) -> bool {
        false
    }

    pub(crate) fn without_blocking(_file: &File) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn wait_readable<T>(_file: &T) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(crate) fn wait_writable<T>(_file: &T) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}
