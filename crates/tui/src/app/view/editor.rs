//! The composer with its frame and its mark.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::editor::{Editor, PieceKind, RowPiece};
use crate::theme::{Role, Theme};

use super::super::component::draw_line;
use super::super::composer::MARK;
use super::super::state::AppState;
use super::layout::is_framed;

/// Draws the composer and returns the position of the cursor.
pub(super) fn draw(
    state: &AppState,
    area: Rect,
    buffer: &mut Buffer,
    look: &DrawContext,
) -> Option<(u16, u16)> {
    if area.is_empty() {
        return None;
    }
    let theme = &look.theme;
    let inner = match is_framed(area) {
        true => draw_frame(state, area, buffer, theme),
        false => area,
    };
    // A search in the history shows its match.
    if let Some(found) = state.stack.composer.history_match() {
        let mut editor = Editor::new();
        editor.set_text(found);
        draw_text(&editor, inner, buffer, theme);
        return None;
    }
    let editor = state.stack.composer.editor();
    if editor.is_empty() && super::active_search(state).is_none() {
        let hint = if state.work.is_active() { "enter steer · alt+enter follow up" } else { "" };
        let place = beside_mark(inner);
        let hint = CleanLine::from(hint).truncate_to_width(usize::from(place.width));
        draw_line(buffer, place, 0, &Line::from(span(hint, theme.style(Role::Placeholder))));
    }
    Some(draw_text(editor, inner, buffer, theme))
}

/// Draws the frame above and below, and returns the area between.
fn draw_frame(state: &AppState, area: Rect, buffer: &mut Buffer, theme: &Theme) -> Rect {
    let has_keys = state.stack.cover_rows().is_none() && !state.stack.conversation.is_browsing();
    let role = if has_keys { Role::BorderFocused } else { Role::Border };
    let rule =
        Line::from(span(CleanLine::from_repeated_char('─', usize::from(area.width)), theme.style(role)));
    draw_line(buffer, area, 0, &rule);
    draw_line(buffer, area, area.height - 1, &rule);
    Rect { y: area.y + 1, height: area.height - 2, ..area }
}

fn beside_mark(area: Rect) -> Rect {
    let mark = MARK.min(area.width);
    Rect { x: area.x + mark, width: area.width - mark, ..area }
}

fn draw_text(editor: &Editor, area: Rect, buffer: &mut Buffer, theme: &Theme) -> (u16, u16) {
    let mark = if editor.text().starts_with('!') { "! " } else { "› " };
    let inner = beside_mark(area);
    let layout = editor.layout(inner.width);
    let height = usize::from(area.height.max(1));
    let top = (layout.row + 1).saturating_sub(height).min(layout.len().saturating_sub(height));
    if top == 0 {
        draw_line(buffer, area, 0, &Line::from(span(mark, theme.style(Role::Prompt))));
    }
    for (row, at) in (0..area.height).zip(top..layout.len()) {
        let pieces = editor.row_pieces(&layout, at).into_iter().map(|piece| piece_span(&piece, theme));
        draw_line(buffer, inner, row, &pieces.collect());
    }
    let within = |at: usize, most: u16| u16::try_from(at).unwrap_or(u16::MAX).min(most.saturating_sub(1));
    (
        inner.x + within(layout.column, inner.width),
        inner.y + within(layout.row - top.min(layout.row), area.height),
    )
}

fn piece_span(piece: &RowPiece, theme: &Theme) -> ratatui_core::text::Span<'static> {
    let role = match piece.kind {
        PieceKind::Text => Role::Text,
        PieceKind::Paste | PieceKind::Image => Role::Accent,
    };
    span(CleanLine::new(&piece.text), theme.style(role))
}
