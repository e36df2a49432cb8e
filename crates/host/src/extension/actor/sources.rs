//! The sources that the task behind an extension waits for. All futures here are cancel-safe.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;

use bytes::BufMut as _;
use futures::channel::mpsc;
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use super::super::ActorCommand;
use super::super::deadline_timer::DeadlineTimer;
use super::super::rare_events::RareEventPoller;
use super::child::ChildProcess;
use crate::process::{ExtensionProcess, ProcessExit};
use crate::wire::decode::{BackgroundDecode, DecodedLine};
use crate::wire::framer::LineFramer;
use crate::wire::{pipe, scratch};

/// The maximum size of a read while no line is unfinished: the short lines that are handled in a row.
const SHORT_READ: usize = 4 * 1024;

/// The maximum size of a read of a long line. Limited so that the search for the line end finds the bytes in
/// the cache.
const LONG_READ: usize = 128 * 1024;

/// An event other than lines and commands.
pub(super) enum RareEvent {
    Alarm,
    Exit(ProcessExit),
    /// Standard error was read to its end.
    StderrEnd,
}

pub(super) enum InputEvent {
    Read(io::Result<usize>),
    Decoded(Box<DecodedLine>),
}

/// Returns the decoded line, or more bytes when no line is being decoded.
pub(super) async fn next_input(
    decoding: &mut Option<BackgroundDecode>,
    reader: &mut Option<pipe::StdoutReader>,
    framer: &mut LineFramer,
) -> InputEvent {
    match decoding {
        Some(decoding) => InputEvent::Decoded(decoding.decoded.as_mut().await),
        None => InputEvent::Read(read_some(reader, framer).await),
    }
}

pub(super) async fn next_rare_event(
    seldom: &RareEventPoller,
    alarm: &mut DeadlineTimer,
    child: &mut ChildProcess,
) -> RareEvent {
    poll_fn(|context| {
        seldom.poll_if_woken(context, |context| {
            let any = async {
                tokio::select! {
                    () = alarm.wait() => RareEvent::Alarm,
                    exit = wait_for_exit(&mut child.process) => RareEvent::Exit(exit),
                    () = wait_for_stderr_end(&mut child.stderr) => RareEvent::StderrEnd,
                }
            };
            pin!(any).poll(context)
        })
    })
    .await
}

async fn read_some(reader: &mut Option<pipe::StdoutReader>, framer: &mut LineFramer) -> io::Result<usize> {
    match reader {
        // Bytes behind the beginning of a line belong to the line and need not be moved again.
        Some(reader) if framer.unfinished_len() > 0 => {
            reader.read_buf(&mut framer.space().limit(LONG_READ)).await
        }
        Some(reader) => {
            let kept = |read: &[u8]| {
                framer.add(read);
                read.len()
            };
            scratch::read(reader, SHORT_READ, kept).await
        }
        None => pending().await,
    }
}

pub(super) async fn next_command(
    inbox: &mut Option<mpsc::UnboundedReceiver<ActorCommand>>,
) -> Option<ActorCommand> {
    match inbox {
        Some(inbox) => inbox.recv().await.ok(),
        None => pending().await,
    }
}

async fn wait_for_exit(process: &mut Option<ExtensionProcess>) -> ProcessExit {
    match process {
        Some(process) => process.wait_for_exit().await,
        None => pending().await,
    }
}

async fn wait_for_stderr_end(stderr: &mut Option<JoinHandle<()>>) {
    match stderr {
        // The task ended or was cancelled: no further read follows.
        Some(task) => _ = task.await,
        None => pending().await,
    }
}
