//! An extension's panel.

use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Command, PanelContent};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::keys::{Chord, Keymap};
use crate::look::Look;

/// An extension's panel that is open.
#[derive(Debug)]
pub struct Panel {}

impl Panel {
    /// Opens it.
    pub fn open(_extension: ExtensionName, _content: PanelContent) -> Self {
        Self {}
    }
    /// Whether it is this one.
    pub fn is(&self, _extension: &ExtensionName, _id: &PanelId) -> bool {
        false
    }
    /// New content: lines and footer are replaced, an empty title keeps the old one.
    pub fn render(&mut self, _content: PanelContent) {}
    /// A key: what the extension is told, `panel_key`, or `panel_close` for the keys that close it; those never reach it.
    /// Nothing for keys that panels do not know.
    pub fn key(&mut self, _chord: Chord, _keys: &Keymap) -> Option<Command> {
        None
    }
    /// Text that was pasted, as one key.
    pub fn paste(&self, _text: &str) -> Option<Command> {
        None
    }
    /// The room of its lines in an area, when it is another one than was last told: `panel_resize`.
    pub fn resized(&mut self, _area: Rect) -> Option<Command> {
        None
    }
    /// Draws it.
    pub fn draw(&self, _area: Rect, _buffer: &mut Buffer, _look: &Look) {}
}
