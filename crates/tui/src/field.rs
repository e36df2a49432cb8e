//! A text field: the input of a dialog, or the filter of a list.

use std::fmt;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::Line;
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::{CleanLine, span};
use crate::editor::Editor;
use crate::frame::{draw_line, row_area};
use crate::keys::{Action, Chord, ChordKey, Edit};

/// The character shown for each character of a secret.
const DOT: char = '•';

pub(crate) struct TextField {
    pub(crate) editor: Editor,
    /// True if the screen must not show it.
    secret: bool,
    one_line: bool,
    /// The width at the last drawing, in columns.
    width: u16,
}

/// The text may be a secret.
impl fmt::Debug for TextField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("secret", &self.secret).finish_non_exhaustive()
    }
}

impl TextField {
    pub(crate) fn single_line(text: &str, secret: bool) -> Self {
        let mut editor = Editor::one_line();
        editor.insert(text);
        Self { editor, secret, one_line: true, width: 0 }
    }

    /// Makes a field of several lines, with the cursor at the end.
    pub(crate) fn multi_line(text: &str) -> Self {
        let mut editor = Editor::new();
        editor.set_text(text);
        Self { editor, secret: false, one_line: false, width: 0 }
    }

    /// Handles a key with its action. Returns true if the key changed the text or the cursor.
    pub(crate) fn key(&mut self, chord: Chord, action: Option<Action>) -> bool {
        let before = self.editor.revision();
        match action {
            Some(Action::Edit(edit)) => self.apply_edit(edit),
            Some(_) => {}
            None => {
                if let Some(c) = chord.typed_char() {
                    self.editor.type_char(c);
                }
            }
        }
        self.editor.revision() != before
    }

    pub(crate) fn apply_edit(&mut self, edit: Edit) {
        if self.one_line && edit == Edit::Newline {
            return;
        }
        // A field has no history above the first row, and no key quits.
        let _ = self.editor.apply_edit(edit, self.width);
    }

    pub(crate) fn move_row(&mut self, chord: Chord, edit: Edit) {
        if chord.key() == ChordKey::Tab {
            self.editor.type_char('\t');
        } else {
            self.apply_edit(edit);
        }
    }

    /// Inserts pasted text. A single line loses the newlines at its end.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = if self.one_line { text.trim_end_matches(['\r', '\n']) } else { text };
        self.editor.insert(text);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.editor.is_empty()
    }

    pub(crate) fn rows(&self, width: u16) -> usize {
        if self.one_line { 1 } else { self.editor.layout(width).len() }
    }

    /// Draws the rows around the cursor and returns the position of the cursor.
    pub(crate) fn draw(&mut self, area: Rect, buffer: &mut Buffer, style: Style) -> Option<(u16, u16)> {
        self.width = area.width;
        if area.is_empty() {
            return None;
        }
        if self.secret {
            return Some(self.draw_dots(area, buffer, style));
        }
        let layout = self.editor.layout(area.width);
        let height = usize::from(area.height);
        let top = layout.row.saturating_sub(height - 1);
        for (y, at) in (0..area.height).zip(top..layout.len()) {
            let pieces = self.editor.row_pieces(&layout, at);
            let spans = pieces.into_iter().map(|piece| span(CleanLine::from_clean_part(&piece.text), style));
            draw_line(&Line::from_iter(spans), row_area(area, y), buffer);
        }
        let [x, y] = [layout.column, layout.row - top].map(|at| u16::try_from(at).unwrap_or(u16::MAX));
        Some((area.x + x.min(area.width - 1), area.y + y.min(area.height - 1)))
    }

    /// Draws a dot for each character, as far as there is room around the cursor.
    fn draw_dots(&self, area: Rect, buffer: &mut Buffer, style: Style) -> (u16, u16) {
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let before = text.get(..cursor).unwrap_or_default().graphemes(true).count();
        let behind = text.get(cursor..).unwrap_or_default().graphemes(true).count();
        let width = usize::from(area.width);
        let start = before.saturating_sub(width - 1);
        let dots = CleanLine::from_repeated_char(DOT, (before + behind - start).min(width));
        draw_line(&Line::from(span(dots, style)), row_area(area, 0), buffer);
        (area.x + u16::try_from(before - start).unwrap_or(u16::MAX).min(area.width - 1), area.y)
    }
}
