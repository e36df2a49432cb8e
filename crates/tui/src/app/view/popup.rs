//! The completion list above the composer.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::clean::{CleanLine, columns, span};
use crate::complete::{CompletionCandidate, CompletionKind, CompletionPopup, MOST_SHOWN};
use crate::draw_context::DrawContext;
use crate::theme::{Role, Theme};

use super::super::areas::ScreenAreas;
use super::super::component::draw_line;
use super::super::state::AppState;

/// The maximum width of the first column.
const MOST_NAME: usize = 32;

/// Returns the completion list, if no search or dialog hides it.
fn visible_popup(state: &AppState) -> Option<&CompletionPopup> {
    state
        .stack
        .composer
        .popup()
        .filter(|_| state.stack.conversation.search().is_none() && state.stack.dialogs.is_empty())
}

pub(super) fn rows(state: &AppState) -> u16 {
    let rows = visible_popup(state).map_or(0, |popup| popup.room.min(MOST_SHOWN));
    u16::try_from(rows).unwrap_or_default()
}

pub(super) fn draw(state: &AppState, areas: ScreenAreas, buffer: &mut Buffer, look: &DrawContext) {
    let Some(popup) = visible_popup(state) else { return };
    let ask = areas.ask;
    let above = ask.y.saturating_sub(areas.main.y);
    let rows = rows(state).min(above);
    let area = match areas.popup.height {
        0 => Rect { y: ask.y - rows, height: rows, ..ask },
        _ => areas.popup,
    };
    let rows = area.height;
    let shown = usize::from(rows);
    // The selected candidate is always visible.
    let top = (popup.chosen + 1).saturating_sub(shown).min(popup.candidates.len().saturating_sub(shown));
    let name =
        popup.candidates.iter().skip(top).take(shown).map(|candidate| name_columns(popup, candidate)).max();
    let name = name.unwrap_or(0).min(MOST_NAME).min(usize::from(area.width));
    // Neither text nor colors of the transcript may show through.
    for position in area.intersection(buffer.area).positions() {
        buffer[position].reset();
    }
    // A list that became shorter stays at the composer.
    let spare = rows.saturating_sub(u16::try_from(popup.candidates.len()).unwrap_or(u16::MAX));
    let blank = if area.y < ask.y { spare } else { 0 };
    for row in blank..rows {
        let at = top + usize::from(row - blank);
        if let Some(candidate) = popup.candidates.get(at) {
            let line = candidate_line(popup, candidate, name, area.width, at == popup.chosen, &look.theme);
            draw_line(buffer, area, row, &line);
            if at == popup.chosen {
                let place = Rect { y: area.y + row, height: 1, ..area };
                buffer.set_style(place, look.theme.own_style(Role::Selection));
            }
        }
    }
}

fn trigger_mark(popup: &CompletionPopup) -> &'static str {
    match popup.target.kind {
        CompletionKind::Command => "/",
        CompletionKind::File { .. } => "@",
        CompletionKind::Argument { .. } => "",
    }
}

fn name_columns(popup: &CompletionPopup, candidate: &CompletionCandidate) -> usize {
    let hint = if candidate.hint.is_empty() { 0 } else { 1 + CleanLine::new(&candidate.hint).columns() };
    trigger_mark(popup).len() + CleanLine::new(&candidate.text).columns() + hint
}

/// `/model [model]   Switch model   haft`
fn candidate_line(
    popup: &CompletionPopup,
    candidate: &CompletionCandidate,
    name: usize,
    width: u16,
    chosen: bool,
    theme: &Theme,
) -> Line<'static> {
    let muted = theme.style(Role::Muted);
    let mut spans = vec![
        span(if chosen { "▸ " } else { "  " }, theme.style(Role::Accent)),
        span(trigger_mark(popup), theme.style(Role::Text)),
    ];
    spans.extend(highlight_matches(candidate, theme));
    if !candidate.hint.is_empty() {
        spans.push(span(CleanLine::new(&format!(" {}", candidate.hint)), muted));
    }
    let used = |spans: &[Span<'static>]| spans.iter().map(|span| columns(&span.content)).sum::<usize>();
    let pad = (name + 2).saturating_sub(used(&spans)) + 2;
    let source = match (&popup.target.kind, candidate.source.as_str()) {
        (CompletionKind::Command, "") => "haft".into(),
        (_, source) => CleanLine::new(source),
    };
    let room = usize::from(width).saturating_sub(used(&spans) + pad);
    let source = source.truncate_to_width(room.min(MOST_NAME / 2));
    let about = CleanLine::new(&candidate.description);
    let about = about.truncate_to_width(room.saturating_sub(source.columns() + 2));
    spans.push(span(CleanLine::from_repeated_char(' ', pad), muted));
    let between = room.saturating_sub(about.columns() + source.columns());
    spans.push(span(about, muted));
    spans.push(span(CleanLine::from_repeated_char(' ', between), muted));
    spans.push(span(source, theme.style(Role::Extension)));
    Line::from(spans)
}

fn highlight_matches(candidate: &CompletionCandidate, theme: &Theme) -> Vec<Span<'static>> {
    let (plain, found) = (theme.style(Role::Text), theme.style(Role::Accent));
    let graphemes = (0_u32..).zip(candidate.text.graphemes(true));
    let marked = |(at, grapheme): (u32, &str)| {
        let style = if candidate.matched.contains(&at) { found } else { plain };
        span(CleanLine::new(grapheme), style)
    };
    graphemes.map(marked).collect()
}
