//! Bytes and lines: the pipes of an extension, its lines, and the stable names of its faults.

pub(crate) mod decode;
pub(crate) mod fault;
pub(crate) mod framer;
pub(crate) mod pipe;
pub(crate) mod scratch;
#[cfg(unix)]
mod stdin_pipe;
pub(crate) mod stdin_writer;
pub(crate) mod translator;

#[cfg(unix)]
pub(crate) use stdin_pipe::StdinPipe;
#[cfg(not(unix))]
pub(crate) use tokio::process::ChildStdin as StdinPipe;
