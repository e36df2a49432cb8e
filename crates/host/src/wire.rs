//! Bytes and lines: the pipes of an extension, its lines, and the stable names of its faults.

pub(crate) mod decode;
pub(crate) mod fault;
pub(crate) mod framer;
#[cfg(unix)]
mod input;
pub(crate) mod outlet;
pub(crate) mod pipe;
pub(crate) mod scratch;

#[cfg(unix)]
pub(crate) use input::StdinPipe;
#[cfg(not(unix))]
pub(crate) use tokio::process::ChildStdin as StdinPipe;
