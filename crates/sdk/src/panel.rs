//! Events of a panel, for its handler.

use haft_protocol::ext::PanelKey;

/// Something happened to an open panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelEvent {
    /// A key, while the panel has the focus. `key` is `up`, `down`, `left`, `right`, `enter`, `esc`, `tab`, `pageup`,
    /// `pagedown`, `home`, `end`, `backspace`, `delete` or `rune`; for `rune`, `text` says what was typed.
    Key(PanelKey),
    /// The panel has this much room, at opening and whenever it changes.
    Resized {
        /// Columns.
        width: u32,
        /// Rows.
        height: u32,
    },
    /// The user closed the panel; drawing it again has no effect.
    Closed,
}
