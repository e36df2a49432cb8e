//! Actions of the mouse.

/// A mouse action, in columns and rows from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MouseAction {
    /// The kind.
    pub kind: MouseKind,
    /// The column.
    pub column: u16,
    /// The row.
    pub row: u16,
}

/// The kind of a mouse action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// The mouse moved with the button down.
    Drag,
    /// The left button went up.
    Release,
    /// The wheel, up.
    WheelUp,
    /// The wheel, down.
    WheelDown,
}
