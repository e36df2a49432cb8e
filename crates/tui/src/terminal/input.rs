//! Conversion of crossterm's events to input of the interface.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use crossterm::event::{Event as Raw, EventStream, MouseButton, MouseEvent, MouseEventKind};
use futures::StreamExt as _;

use super::TerminalError;
use crate::app::{MouseAction, MouseKind, UiEvent};
use crate::keys::from_crossterm;

/// The maximum number of events handled in a row. A paste into a terminal without bracketed paste can be long.
const MOST_AT_ONCE: usize = 256;

/// The number of consecutive errors after which no more input is expected.
const MOST_ERRORS: usize = 16;

#[derive(Debug)]
pub(super) struct InputReader {
    /// The event stream. It reads nothing before the first poll.
    events: Option<EventStream>,
    /// True while another program reads the input.
    paused: bool,
    errors: usize,
}

impl InputReader {
    pub(super) fn new() -> Self {
        Self { events: Some(EventStream::new()), paused: false, errors: 0 }
    }

    /// Stops reading: later input belongs to another program.
    ///
    /// The stream has a thread that waits for keys. Dropping the stream wakes the thread, which then ends; making the
    /// next stream waits for that. The order matters. A second stream must not be made and dropped only to wait: its
    /// thread would stay blocked and swallow the next key.
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

    /// Waits for input and returns at least one event.
    ///
    /// All events are read in one poll. The stream wakes only its first caller, so only a caller that waits may poll
    /// it.
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

/// Converts an event for the interface; `None` for irrelevant events.
pub(super) fn convert_event(raw: Raw) -> Option<UiEvent> {
    match raw {
        Raw::Key(key) => from_crossterm(key).map(UiEvent::Key),
        Raw::Paste(text) => Some(UiEvent::Paste(normalize_lines(&text))),
        Raw::Mouse(mouse) => convert_mouse(mouse).map(UiEvent::Mouse),
        // The size is read again where it is used.
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
    fn paste_line_ends_become_newlines() {
        assert_eq!(normalize_lines("a\r\nb\rc\nd"), "a\nb\nc\nd");
    }
}
