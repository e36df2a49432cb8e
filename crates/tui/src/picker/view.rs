//! Drawing of a list.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use super::list::{PickerLine as ListLine, tree_prefix};
use super::{Picker, PickerMode};
use crate::clean::{CleanLine, columns, span};
use crate::draw_context::DrawContext;
use crate::frame::{BorderFrame, draw_line, row_area, truncate_spans};
use crate::theme::Role;

/// Columns before each row, for the marks of the chosen and the current row.
const MARKS: u16 = 4;

impl Picker {
    /// Draws the list into the whole area and returns the position of the terminal's cursor.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        let area = area.intersection(buffer.area);
        let inner = self.build_frame(look).draw(area, buffer);
        // If there is room for one row only, show the chosen row.
        let head = u16::from(inner.height > 1);
        let filter = (head > 0).then(|| self.draw_filter(row_area(inner, 0), buffer, look)).flatten();
        let list = Rect { y: inner.y + head, height: inner.height - head, ..inner };
        self.shown = usize::from(list.height);
        self.scroll();
        let renaming = self.draw_list(list, buffer, look);
        match self.mode {
            PickerMode::Pick => filter,
            PickerMode::Rename(_) => renaming,
            PickerMode::Delete => None,
        }
    }

    fn build_frame(&self, look: &DrawContext) -> BorderFrame {
        let style = look.theme.style(Role::BorderFocused);
        let (fitting, all) = self.list.match_counts();
        let muted = look.theme.style(Role::Muted);
        let left = vec![span(self.title.clone(), look.theme.style(Role::Heading))];
        let right = vec![span(CleanLine::new(&format!("{fitting}/{all}")), muted)];
        let mut lower = vec![span("enter select · esc cancel", muted)];
        match self.mode {
            PickerMode::Pick => {
                lower.extend(self.can.rename.then(|| span(" · alt+r rename", muted)));
                lower.extend(self.can.delete.then(|| span(" · alt+d delete", muted)));
            }
            PickerMode::Rename(_) => lower = vec![span("enter rename · esc cancel", muted)],
            PickerMode::Delete => lower = vec![span("y delete · any other key cancel", muted)],
        }
        BorderFrame { style, left, right, lower }
    }

    fn draw_filter(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        draw_line(&Line::from(span("› ", look.theme.style(Role::Prompt))), area, buffer);
        let beside = area.width.min(2);
        let text = Rect { x: area.x + beside, width: area.width - beside, ..area };
        if self.filter.editor.is_empty() {
            let hint = span("type to search", look.theme.style(Role::Placeholder));
            draw_line(&truncate_spans(vec![hint], usize::from(text.width)), text, buffer);
        }
        self.filter.draw(text, buffer, look.theme.style(Role::Text))
    }

    /// Scrolls to the chosen row, and to its heading if there is room.
    fn scroll(&mut self) {
        let (line, first) = self.list.chosen_lines();
        let first = if self.shown > 1 { first } else { line };
        let least = (line + 1).saturating_sub(self.shown.max(1));
        self.top = self.top.clamp(least, first.max(least));
        // Avoid empty rows below while there are lines above.
        self.top = self.top.min(self.list.len().saturating_sub(self.shown));
    }

    /// Draws the rows. Returns the position of the cursor while a row is renamed.
    fn draw_list(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        let (fitting, all) = self.list.match_counts();
        if fitting == 0 {
            let words = if all == 0 { "no entries" } else { "no matches" };
            let words =
                truncate_spans(vec![span(words, look.theme.style(Role::Muted))], usize::from(area.width));
            draw_line(&words, row_area(area, 0), buffer);
            return None;
        }
        let mut cursor = None;
        for y in 0..area.height {
            let line = self.list.line(self.top + usize::from(y));
            match line {
                Some(ListLine::Heading(at)) => {
                    let words = span(self.list.heading(at), look.theme.style(Role::Heading));
                    draw_line(
                        &truncate_spans(vec![words], usize::from(area.width)),
                        row_area(area, y),
                        buffer,
                    );
                }
                Some(ListLine::Row(place)) => {
                    let place = self.draw_row(place, row_area(area, y), buffer, look);
                    cursor = cursor.or(place);
                }
                None => {}
            }
        }
        cursor
    }

    fn draw_row(
        &mut self,
        place: usize,
        area: Rect,
        buffer: &mut Buffer,
        look: &DrawContext,
    ) -> Option<(u16, u16)> {
        let is_chosen = self.list.is_chosen(place);
        let (this, shown, branches) = self.list.row(place)?;
        let (depth, is_current) = (this.depth, this.current);
        let (text, detail) = (shown.text.clone(), shown.detail.clone());
        let [base, muted, accent] =
            [Role::Text, Role::Muted, Role::Accent].map(|role| look.theme.style(role));
        let ground = if is_chosen { look.theme.style(Role::Selection) } else { Style::new() };
        buffer.set_style(area.intersection(buffer.area), ground);
        let marks = [if is_chosen { "› " } else { "  " }, if is_current { "● " } else { "  " }];
        let mut spans: Vec<Span<'static>> = marks.map(|mark| span(mark, accent.patch(ground))).into();
        let room = usize::from(area.width.saturating_sub(MARKS));
        if self.list.is_unfiltered() {
            let lines = CleanLine::new(&tree_prefix(depth, branches, room / 2));
            spans.push(span(lines, muted.patch(ground)));
        }
        if is_chosen && !matches!(self.mode, PickerMode::Pick) {
            return self.draw_change(spans, area, buffer, look);
        }
        let style = if is_chosen { base.patch(ground).add_modifier(Modifier::BOLD) } else { base };
        let found = style.patch(look.theme.style(Role::SearchMatch)).add_modifier(Modifier::UNDERLINED);
        spans.extend(highlight_matches(&text, &self.list.matched_graphemes(text.as_str()), style, found));
        if !detail.as_str().is_empty() {
            spans.extend([span("  ", style), span(detail, muted.patch(ground))]);
        }
        draw_line(&truncate_spans(spans, usize::from(area.width)), area, buffer);
        None
    }

    /// Draws the row that is renamed, or that waits for the confirmation of its deletion.
    fn draw_change(
        &mut self,
        mut before: Vec<Span<'static>>,
        area: Rect,
        buffer: &mut Buffer,
        look: &DrawContext,
    ) -> Option<(u16, u16)> {
        let warning = look.theme.style(Role::Warning);
        match &mut self.mode {
            PickerMode::Rename(field) => {
                before.push(span("name: ", look.theme.style(Role::Prompt)));
                let columns = before.iter().map(|span| columns(&span.content)).sum::<usize>();
                let columns = u16::try_from(columns).unwrap_or(u16::MAX).min(area.width / 2);
                draw_line(&truncate_spans(before, usize::from(columns)), area, buffer);
                let text = Rect { x: area.x + columns, width: area.width - columns, ..area };
                field.draw(text, buffer, look.theme.style(Role::Text))
            }
            PickerMode::Delete => {
                let question = " delete? y/n";
                let name = self.list.chosen_row().map(|row| CleanLine::new(&row.text)).unwrap_or_default();
                before.push(span(name, warning));
                let room = usize::from(area.width).saturating_sub(question.len());
                let mut line = truncate_spans(before, room);
                line.push_span(span(question, warning.add_modifier(Modifier::BOLD)));
                draw_line(&line, area, buffer);
                None
            }
            PickerMode::Pick => None,
        }
    }
}

fn highlight_matches(text: &CleanLine, matched: &[u32], style: Style, found: Style) -> Vec<Span<'static>> {
    let is_found = |at: usize| u32::try_from(at).is_ok_and(|at| matched.binary_search(&at).is_ok());
    let graphemes: Vec<(usize, &str)> = text.as_str().graphemes(true).enumerate().collect();
    let runs = graphemes.chunk_by(|(a, _), (b, _)| is_found(*a) == is_found(*b));
    let spans = runs.map(|run| {
        let words: String = run.iter().map(|(_, grapheme)| *grapheme).collect();
        let first = run.first().is_some_and(|(at, _)| is_found(*at));
        span(CleanLine::from_clean_part(&words), if first { found } else { style })
    });
    spans.collect()
}
