//! Actions of the mouse.

/// Something that was done with the mouse, in columns and rows from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MouseAction {
    /// What.
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
    /// It moved while down.
    Drag,
    /// It went up.
    Release,
    /// The wheel, up.
    WheelUp,
    /// The wheel, down.
    WheelDown,
}
