//! stdin and stdout as the wire.
//!
//! Pipes are read and written without blocking, on the connection's own thread. tokio's stdin would hand every frame
//! through a second thread and back, which costs four times the round trip; it is used for nothing here. What is no
//! pipe (a terminal, a file, a socket, anything on Windows) goes through a thread of ours.

use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::runtime::Handle;

/// What is in flight between the wire and a thread that serves it.
const IN_FLIGHT: usize = 64 * 1024;

/// stdin. Must be called inside a runtime with IO enabled.
pub(crate) fn input() -> io::Result<Box<dyn AsyncRead + Send + Unpin>> {
    #[cfg(unix)]
    if let Ok(pipe) = unix::input() {
        return Ok(Box::new(pipe));
    }
    Ok(Box::new(threaded_input()?))
}

/// stdout. Must be called inside a runtime with IO enabled. [`Output::finish`] says that everything is out.
pub(crate) fn output() -> io::Result<Output> {
    #[cfg(unix)]
    if let Ok(pipe) = unix::output() {
        let shortcut = unix::shortcut(&pipe);
        return Ok(Output { writer: Box::new(pipe), pipe: shortcut, thread: None });
    }
    threaded_output()
}

/// stdout and, where one is needed, the thread that writes to it.
pub(crate) struct Output {
    pub(crate) writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// Another handle on the same pipe, if it is one.
    pub(crate) pipe: Option<File>,
    pub(crate) thread: Option<thread::JoinHandle<()>>,
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::AsFd;

    use tokio::net::unix::pipe::{Receiver, Sender};

    // Duplicates, because closing fd 0 or 1 would give their numbers to the next file that is opened.
    pub(super) fn input() -> io::Result<Receiver> {
        Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)
    }

    pub(super) fn output() -> io::Result<Sender> {
        Sender::from_owned_fd(io::stdout().as_fd().try_clone_to_owned()?)
    }

    /// Does not block either: that is a property of the pipe's end, not of the handle. Without one, all goes
    /// through the queue.
    pub(super) fn shortcut(pipe: &Sender) -> Option<File> {
        pipe.as_fd().try_clone_to_owned().ok().map(File::from)
    }
}

fn threaded_input() -> io::Result<DuplexStream> {
    let (ours, mut theirs) = tokio::io::duplex(IN_FLIGHT);
    let runtime = Handle::current();
    let copy = move || {
        let mut chunk = vec![0; IN_FLIGHT];
        // A failed read is the end of input; the connection cannot tell them apart and need not.
        while let Ok(read @ 1..) = io::stdin().lock().read(&mut chunk) {
            let filled = chunk.get(..read).unwrap_or_default();
            if runtime.block_on(theirs.write_all(filled)).is_err() {
                break;
            }
        }
    };
    thread::Builder::new().name("stdin".to_owned()).spawn(copy)?;
    Ok(ours)
}

fn threaded_output() -> io::Result<Output> {
    let (ours, mut theirs) = tokio::io::duplex(IN_FLIGHT);
    let runtime = Handle::current();
    let copy = move || {
        let mut chunk = vec![0; IN_FLIGHT];
        while let Ok(read @ 1..) = runtime.block_on(theirs.read(&mut chunk)) {
            let mut stdout = io::stdout().lock();
            let filled = chunk.get(..read).unwrap_or_default();
            if stdout.write_all(filled).and_then(|()| stdout.flush()).is_err() {
                break;
            }
        }
    };
    let thread = thread::Builder::new().name("stdout".to_owned()).spawn(copy)?;
    Ok(Output { writer: Box::new(ours), pipe: None, thread: Some(thread) })
}
