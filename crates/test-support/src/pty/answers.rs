//! The terminal's answers to its program, and the commands that change its title, clipboard and bell.

use vt100::{Callbacks, Screen};

/// The commands for the terminal, apart from text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalCommands {
    /// The window titles in order.
    pub titles: Vec<String>,
    /// The texts copied to the clipboard: the name of the clipboard, and the text in base64.
    pub copied: Vec<(String, String)>,
    /// The number of bells.
    pub bells: usize,
}

/// Answers the program's queries as a terminal does.
#[derive(Debug, Default)]
pub(super) struct TerminalResponder {
    /// True if the terminal answers at all.
    pub(super) deaf: bool,
    /// The background that the terminal reports, as `rgb:0000/0000/0000`; without one there is no answer.
    pub(super) background: Option<String>,
    /// True if the terminal supports kitty's keyboard protocol.
    pub(super) kitty: bool,
    pub(super) told: TerminalCommands,
    /// The bytes to type next.
    pub(super) due: Vec<u8>,
    /// True within a synchronized update.
    pub(super) in_frame: bool,
}

impl TerminalResponder {
    fn respond(&mut self, text: &str) {
        if !self.deaf {
            self.due.extend_from_slice(text.as_bytes());
        }
    }
}

impl Callbacks for TerminalResponder {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.told.bells += 1;
    }

    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.told.titles.push(String::from_utf8_lossy(title).into_owned());
    }

    fn copy_to_clipboard(&mut self, _: &mut Screen, which: &[u8], data: &[u8]) {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        self.told.copied.push((text(which), text(data)));
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        action: char,
    ) {
        match (first, params, action) {
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                self.respond(&format!("\x1b[{};{}R", row + 1, column + 1));
            }
            (None, [] | [[0]], 'c') => self.respond("\x1b[?62;22c"),
            (Some(b'?'), [] | [[0]], 'u') if self.kitty => self.respond("\x1b[?0u"),
            (Some(b'?'), [[2026]], 'h') => self.in_frame = true,
            (Some(b'?'), [[2026]], 'l') => self.in_frame = false,
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        if let ([b"11", b"?"], Some(background)) = (params, self.background.clone()) {
            self.respond(&format!("\x1b]11;{background}\x1b\\"));
        }
    }
}
