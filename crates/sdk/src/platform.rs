//! What the standard library does not say about stdin and stdout.

pub(crate) use system::{do_not_block, is_pipe, stdout, wait_readable, wait_writable};

#[cfg(unix)]
mod system {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::{Errno, ioctl_fionbio};

    /// Another handle on stdout, without the standard library's buffer.
    pub(crate) fn stdout() -> io::Result<File> {
        // A duplicate, because closing fd 1 would give its number to the next file that is opened.
        io::stdout().as_fd().try_clone_to_owned().map(File::from)
    }

    pub(crate) fn is_pipe(file: &File) -> bool {
        file.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
    }

    /// From here on a write without room fails. That belongs to the pipe's end, whatever handle it is written by.
    pub(crate) fn do_not_block(file: &File) -> io::Result<()> {
        Ok(ioctl_fionbio(file, true)?)
    }

    /// Waits until a handle that does not block has something to read.
    pub(crate) fn wait_readable(file: &impl AsFd) -> io::Result<()> {
        wait(file, PollFlags::IN)
    }

    /// Waits until a handle that does not block has room.
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

    pub(crate) fn do_not_block(_file: &File) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn wait_readable<T>(_file: &T) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }

    pub(crate) fn wait_writable<T>(_file: &T) -> io::Result<()> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}
