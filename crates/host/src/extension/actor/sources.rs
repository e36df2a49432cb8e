//! The sources that the task behind an extension waits for. Everything here may be dropped and called again.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;

use bytes::BufMut as _;
use futures::channel::mpsc;
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use super::super::Command;
use super::super::alarm::Alarm;
use super::super::seldom::Seldom;
use super::child::Child;
use crate::process::{Exit, Process};
use crate::wire::decode::{Decoding, Heard};
use crate::wire::framer::Framer;
use crate::wire::{pipe, scratch};

/// The greatest size of a read while no line is unfinished: as many short lines as one may have handled in a row.
const SHORT_READ: usize = 4 * 1024;

/// The greatest size of a read of a long line: what is read is searched for its end while it is still close to the
/// processor.
const LONG_READ: usize = 128 * 1024;

/// A happening other than lines and commands.
pub(super) enum Happening {
    Alarm,
    Exit(Exit),
    /// All of standard error was read.
    StderrEnd,
}

pub(super) enum Incoming {
    Read(io::Result<usize>),
    Heard(Box<Heard>),
}

/// The line that is being read, or more bytes when there is none.
pub(super) async fn incoming(
    decoding: &mut Option<Decoding>,
    reader: &mut Option<pipe::Output>,
    framer: &mut Framer,
) -> Incoming {
    match decoding {
        Some(decoding) => Incoming::Heard(decoding.heard.as_mut().await),
        None => Incoming::Read(read_some(reader, framer).await),
    }
}

pub(super) async fn happened(seldom: &Seldom, alarm: &mut Alarm, child: &mut Child) -> Happening {
    poll_fn(|context| {
        seldom.poll(context, |context| {
            let any = async {
                tokio::select! {
                    () = alarm.rung() => Happening::Alarm,
                    exit = exited(&mut child.process) => Happening::Exit(exit),
                    () = finished(&mut child.stderr) => Happening::StderrEnd,
                }
            };
            pin!(any).poll(context)
        })
    })
    .await
}

async fn read_some(reader: &mut Option<pipe::Output>, framer: &mut Framer) -> io::Result<usize> {
    match reader {
        // Whatever follows the beginning of a line is a part of it, and need not be moved once more.
        Some(reader) if framer.unfinished() > 0 => {
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

pub(super) async fn received(inbox: &mut Option<mpsc::UnboundedReceiver<Command>>) -> Option<Command> {
    match inbox {
        Some(inbox) => inbox.recv().await.ok(),
        None => pending().await,
    }
}

async fn exited(process: &mut Option<Process>) -> Exit {
    match process {
        Some(process) => process.exited().await,
        None => pending().await,
    }
}

async fn finished(stderr: &mut Option<JoinHandle<()>>) {
    match stderr {
        // Whether the task ended or was cancelled: nothing more is read.
        Some(task) => _ = task.await,
        None => pending().await,
    }
}
