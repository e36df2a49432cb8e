//! Keys, pastes, clicks and sizes, as the terminal's library tells them and as the interface takes them.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use crossterm::event::{Event as Raw, EventStream, MouseButton, MouseEvent, MouseEventKind};
use futures::StreamExt as _;

use super::TerminalError;
use crate::app::{Event, Mouse, MouseKind};
use crate::keys::from_crossterm;

/// The most that is read before anything else has its turn: a paste into a terminal that does not mark pastes.
const MOST_AT_ONCE: usize = 256;

/// Errors one after the other, after which nothing is expected to come any more.
const MOST_ERRORS: usize = 16;

/// What comes from the terminal.
#[derive(Debug)]
pub(super) struct Input {
    events: EventStream,
    errors: usize,
}

impl Input {
    /// Begins to read. Waits until whoever read before has stopped.
    pub(super) fn new() -> Self {
        Self { events: EventStream::new(), errors: 0 }
    }

    /// What has come, at least one event; waits for it.
    ///
    /// All of it is asked for in one poll: the stream wakes whoever asked first, so it must never be asked by anybody who
    /// does not wait.
    pub(super) async fn next(&mut self) -> Result<Vec<Raw>, TerminalError> {
        let mut all = Vec::new();
        poll_fn(|context| {
            while all.len() < MOST_AT_ONCE {
                match self.events.poll_next_unpin(context) {
                    Poll::Ready(next) => self.keep(&mut all, next)?,
                    Poll::Pending if all.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        Ok(all)
    }

    fn keep(&mut self, all: &mut Vec<Raw>, next: Option<io::Result<Raw>>) -> Result<(), TerminalError> {
        match next {
            Some(Ok(event)) => {
                self.errors = 0;
                all.push(event);
                Ok(())
            }
            Some(Err(_)) if self.errors < MOST_ERRORS => {
                self.errors += 1;
                Ok(())
            }
            Some(Err(error)) => Err(TerminalError::Read(error)),
            None => Err(TerminalError::Read(io::ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// Stops reading: what is typed from here on is for somebody else.
pub(super) fn stop(input: Option<Input>) {
    if input.is_some() {
        drop(input);
        // Its thread may still be about to read. A new one is made only once that has let go.
        drop(EventStream::new());
    }
}

/// The event as the interface takes it; none for what means nothing to it.
pub(super) fn event(raw: Raw) -> Option<Event> {
    match raw {
        Raw::Key(key) => from_crossterm(key).map(Event::Key),
        Raw::Paste(text) => Some(Event::Paste(lines(&text))),
        Raw::Mouse(mouse) => self::mouse(mouse).map(Event::Mouse),
        // Asked anew where it is used.
        Raw::Resize(..) | Raw::FocusGained | Raw::FocusLost => None,
    }
}

/// Terminals paste carriage returns for the ends of lines.
fn lines(pasted: &str) -> String {
    pasted.replace("\r\n", "\n").replace('\r', "\n")
}

fn mouse(MouseEvent { kind, column, row, .. }: MouseEvent) -> Option<Mouse> {
    let kind = match kind {
        MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
        MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
        MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
        MouseEventKind::ScrollUp => MouseKind::WheelUp,
        MouseEventKind::ScrollDown => MouseKind::WheelDown,
        MouseEventKind::Down(_) | MouseEventKind::Drag(_) | MouseEventKind::Up(_) => return None,
        MouseEventKind::Moved | MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => return None,
    };
    Some(Mouse { kind, column, row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_paste_end_as_lines_do() {
        assert_eq!(lines("a\r\nb\rc\nd"), "a\nb\nc\nd");
    }
}
