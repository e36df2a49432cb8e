//! Keys, pastes, clicks and sizes, as the terminal's library tells them and as the interface takes them.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use crossterm::event::{Event as Raw, EventStream, MouseButton, MouseEvent, MouseEventKind};
use futures::StreamExt as _;

use super::TerminalError;
use crate::app::{MouseAction, MouseKind, UiEvent};
use crate::keys::from_crossterm;

/// The most that is read before anything else has its turn: a paste into a terminal that does not mark pastes.
const MOST_AT_ONCE: usize = 256;

/// Errors one after the other, after which nothing is expected to come any more.
const MOST_ERRORS: usize = 16;

#[derive(Debug)]
pub(super) struct InputReader {
    /// One that has never been asked reads nothing.
    events: Option<EventStream>,
    /// Somebody else reads.
    paused: bool,
    errors: usize,
}

impl InputReader {
    pub(super) fn new() -> Self {
        Self { events: Some(EventStream::new()), paused: false, errors: 0 }
    }

    /// Stops reading: what is typed from here on is for somebody else.
    ///
    /// The stream has a thread that waits for keys. Dropping the stream wakes the thread, and it ends; making the next
    /// stream waits until it has let go. The order matters, and so does it that no second stream is made and dropped only to
    /// wait: what wakes nobody stays, and hides the next key.
    pub(super) fn pause(&mut self) {
        self.events = None;
        self.events = Some(EventStream::new());
        self.paused = true;
    }

    pub(super) fn resume(&mut self) {
        self.paused = false;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused
    }

    /// Returns the next input, at least one event; waits for it.
    ///
    /// All of it is asked for in one poll: the stream wakes whoever asked first, so it must never be asked by anybody who
    /// does not wait.
    pub(super) async fn next(&mut self) -> Result<Vec<Raw>, TerminalError> {
        let mut all = Vec::new();
        poll_fn(|context| {
            let Some(events) = self.events.as_mut().filter(|_| !self.paused) else { return Poll::Pending };
            while all.len() < MOST_AT_ONCE {
                match events.poll_next_unpin(context) {
                    Poll::Ready(next) => collect_event(&mut all, &mut self.errors, next)?,
                    Poll::Pending if all.is_empty() => return Poll::Pending,
                    Poll::Pending => break,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await?;
        Ok(all)
    }
}

fn collect_event(
    all: &mut Vec<Raw>,
    errors: &mut usize,
    next: Option<io::Result<Raw>>,
) -> Result<(), TerminalError> {
    match next {
        Some(Ok(event)) => {
            *errors = 0;
            all.push(event);
            Ok(())
        }
        Some(Err(_)) if *errors < MOST_ERRORS => {
            *errors += 1;
            Ok(())
        }
        Some(Err(error)) => Err(TerminalError::Read(error)),
        None => Err(TerminalError::Read(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// The event as the interface takes it; none for what means nothing to it.
pub(super) fn convert_event(raw: Raw) -> Option<UiEvent> {
    match raw {
        Raw::Key(key) => from_crossterm(key).map(UiEvent::Key),
        Raw::Paste(text) => Some(UiEvent::Paste(normalize_lines(&text))),
        Raw::Mouse(mouse) => self::convert_mouse(mouse).map(UiEvent::Mouse),
        // Asked anew where it is used.
        Raw::Resize(..) | Raw::FocusGained | Raw::FocusLost => None,
    }
}

fn normalize_lines(pasted: &str) -> String {
    pasted.replace("\r\n", "\n").replace('\r', "\n")
}

fn convert_mouse(MouseEvent { kind, column, row, .. }: MouseEvent) -> Option<MouseAction> {
    let kind = match kind {
        MouseEventKind::Down(MouseButton::Left) => MouseKind::Press,
        MouseEventKind::Drag(MouseButton::Left) => MouseKind::Drag,
        MouseEventKind::Up(MouseButton::Left) => MouseKind::Release,
        MouseEventKind::ScrollUp => MouseKind::WheelUp,
        MouseEventKind::ScrollDown => MouseKind::WheelDown,
        MouseEventKind::Down(_) | MouseEventKind::Drag(_) | MouseEventKind::Up(_) => return None,
        MouseEventKind::Moved | MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight => return None,
    };
    Some(MouseAction { kind, column, row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_paste_end_as_lines_do() {
        assert_eq!(normalize_lines("a\r\nb\rc\nd"), "a\nb\nc\nd");
    }
}
