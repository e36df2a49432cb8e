//! Events of a panel.

use haft_protocol::ext::PanelKey;

/// An event of an open panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelEvent {
    /// A key, while the panel has the focus. `key` is `up`, `down`, `left`, `right`, `enter`,
    /// `esc`, `tab`, `pageup`, `pagedown`, `home`, `end`, `backspace`, `delete` or `rune`; for
    /// `rune`, `text` is the typed text.
    Key(PanelKey),
    /// The size of the panel, sent when it opens and after each change.
    Resized {
        /// The width in columns.
        width: u32,
        /// The height in rows.
        height: u32,
    },
    /// The user closed the panel; drawing it again has no effect.
    Closed,
}
