//! The layout and drawing of a dialog.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::{AnswerControl, AnswerKind, Dialog};
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::frame::{self, BorderFrame, draw_line};
use crate::theme::Role;

/// The smallest readable size: the asker, part of the question, and one choice.
const READABLE: (u16, u16) = (20, 3);

const MOST_TYPED: usize = 10;

/// The minimum number of rows of a text of several lines.
const FEWEST_TYPED: usize = 3;

/// The division of the rows within the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowSplit {
    body: u16,
    gap: u16,
    control: u16,
}

impl RowSplit {
    /// Divides the rows. Each part gets one row, then up to half of the rest, then all that the other leaves. The
    /// body comes first.
    fn divide_rows(height: u16, body: usize, control: usize) -> Self {
        let room = usize::from(height);
        if room < 2 || body == 0 {
            return Self { body: 0, gap: 0, control: height };
        }
        let least = control.min(room / 2).max(1);
        let body = body.min(room - least);
        let control = control.clamp(1, room - body);
        let gap = usize::from(body + control < room);
        let [body, gap, control] = [body, gap, control].map(|rows| u16::try_from(rows).unwrap_or(u16::MAX));
        Self { body, gap, control }
    }
}

impl Dialog {
    /// Returns the number of rows it takes at this width: at most `most`, or `screen` if it fills the screen.
    pub fn rows(&mut self, width: u16, most: u16, screen: u16, look: &DrawContext) -> u16 {
        let columns = frame::inner_columns(width);
        let body = self.body.row_count(&self.question, columns, &look.theme);
        let control = self.control_rows(columns);
        let gap = usize::from(body > 0);
        let wanted = u16::try_from(body + gap + control).unwrap_or(u16::MAX);
        let wanted = frame::outer_rows(wanted);
        self.screen.is_long = wanted > most;
        wanted.min(if self.fills_screen() { screen } else { most })
    }

    /// Draws the dialog and returns the position of the terminal's cursor. It counts as visible after
    /// [`mark_drawn`](Self::mark_drawn).
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        let area = area.intersection(buffer.area);
        let (width, height) = READABLE;
        self.drawn = Some((area.width >= width && area.height >= height, look.now));
        let inner = frame::inner_area(area);
        let body = self.body.row_count(&self.question, inner.width, &look.theme);
        let parts = RowSplit::divide_rows(inner.height, body, self.control_rows(inner.width));
        let body = Rect { height: parts.body, ..inner };
        self.body.draw(&self.question, body, buffer, look);
        let locked = self.update_lock();
        self.build_frame(locked, look).draw(area, buffer);
        let control = Rect { y: body.bottom() + parts.gap, height: parts.control, ..inner };
        match &mut self.control {
            AnswerControl::Choices(choices) => {
                choices.draw(control, buffer, look);
                None
            }
            AnswerControl::Field(field) => {
                let mark = Line::from(span("› ", look.theme.style(Role::Prompt)));
                let beside = if control.width > 8 { 2 } else { 0 };
                draw_line(&mark, Rect { width: beside, height: control.height.min(1), ..control }, buffer);
                let text = Rect { x: control.x + beside, width: control.width - beside, ..control };
                let cursor = field.draw(text, buffer, look.theme.style(Role::Text));
                if let Some(placeholder) = self.question.placeholder.as_ref().filter(|_| field.is_empty()) {
                    let shown = span(CleanLine::new(placeholder), look.theme.style(Role::Muted));
                    draw_line(&Line::from(shown), Rect { height: text.height.min(1), ..text }, buffer);
                }
                cursor
            }
        }
    }

    /// Updates the choices with the reading progress after this frame. Returns true if choices that grant something
    /// stay locked.
    fn update_lock(&mut self) -> bool {
        let (is_through, unread) = self.body.progress_after_draw();
        let locked = self.question.grants && !is_through;
        if let AnswerControl::Choices(choices) = &mut self.control {
            choices.set_locked(locked, unread);
        }
        locked
    }

    fn control_rows(&self, width: u16) -> usize {
        match &self.control {
            AnswerControl::Choices(choices) => choices.rows(width),
            AnswerControl::Field(field) => {
                let rows = field.rows(width.saturating_sub(2)).min(MOST_TYPED);
                if matches!(self.question.wanted, AnswerKind::Editor(_)) {
                    rows.max(FEWEST_TYPED)
                } else {
                    rows
                }
            }
        }
    }

    fn build_frame(&self, locked: bool, look: &DrawContext) -> BorderFrame {
        let role = if self.question.grants { Role::Warning } else { Role::BorderFocused };
        let style = look.theme.style(role);
        let mut left = Vec::new();
        if self.question.owner.is_none() || self.question.grants {
            left.push(span("haft asks", style));
        }
        if let Some(owner) = &self.question.owner {
            if !left.is_empty() {
                left.push(span(" for ", style));
            }
            left.push(span(CleanLine::new(&format!("[{owner}]")), look.theme.style(Role::Extension)));
            if !self.question.grants {
                left.push(span(" asks", style));
            }
        }
        let hint = self.hint.filter(|hinted| look.now < hinted.until).map(|hinted| hinted.hint);
        let role = if hint.is_some() { Role::Warning } else { Role::Muted };
        let lower = hint.map(|hint| span(hint.message(), look.theme.style(role))).into_iter();
        let lower = lower.chain([span(self.key_help(locked), look.theme.style(role))]).collect();
        BorderFrame { style, left, right: self.countdown_spans(look), lower }
    }

    /// Returns the time left and the default answer, in a long and a short form.
    fn countdown_spans(&self, look: &DrawContext) -> Vec<Span<'static>> {
        let Some(left) = self.seconds_left(look.now) else { return Vec::new() };
        let (minutes, seconds) = (left / 60, left % 60);
        let time =
            if minutes == 0 { format!("{seconds} s") } else { format!("{minutes} min {seconds:02} s") };
        let long = self.question.countdown_text(&time);
        let words = |text: String| span(CleanLine::new(&text), look.theme.style(Role::Muted));
        vec![words(long), words(time)]
    }

    fn approval_key_help(&self, locked: bool) -> &'static str {
        match (locked, self.screen.is_long) {
            (true, true) => "space next page · end jump to end · v view · n deny · esc stop",
            (true, false) => "space next page · end jump to end · n deny · esc stop",
            (false, true) => "y allow · n deny · v view · enter select · esc stop",
            (false, false) => "y allow · n deny · enter select · esc stop",
        }
    }

    fn key_help(&self, locked: bool) -> &'static str {
        match &self.question.wanted {
            AnswerKind::Confirm if self.question.is_approval() => self.approval_key_help(locked),
            AnswerKind::Confirm if locked => "space next page · end jump to end · n deny · esc deny",
            AnswerKind::Gate(_) if locked => "space next page · ↑↓ choose · enter select · esc stop",
            AnswerKind::Confirm if self.question.grants => "y allow · n deny · enter select · esc deny",
            AnswerKind::Confirm => "y yes · n no · enter select · esc cancel",
            AnswerKind::Gate(_) => "↑↓ choose · enter select · esc stop",
            AnswerKind::Select(_) => "↑↓ choose · enter select · esc cancel",
            AnswerKind::Input { .. } => "enter submit · esc cancel",
            AnswerKind::Editor(_) => "enter submit · shift+enter new line · ctrl+g open editor · esc cancel",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divides_rows_between_body_and_control() {
        let parts = |height, body, control| {
            let RowSplit { body, gap, control } = RowSplit::divide_rows(height, body, control);
            (body, gap, control)
        };
        assert_eq!(parts(10, 3, 1), (3, 1, 1));
        assert_eq!(parts(4, 3, 1), (3, 0, 1));
        assert_eq!(parts(10, 30, 1), (9, 0, 1));
        assert_eq!(parts(10, 30, 20), (5, 0, 5));
        assert_eq!(parts(10, 2, 20), (2, 0, 8));
        assert_eq!(parts(2, 9, 9), (1, 0, 1));
        assert_eq!(parts(1, 9, 9), (0, 0, 1));
        assert_eq!(parts(0, 9, 9), (0, 0, 0));
    }
}
