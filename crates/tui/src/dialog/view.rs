//! The look of a dialog.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::{Line, Span};

use super::{Control, Dialog, Wanted};
use crate::clean::{CleanLine, span};
use crate::frame::{self, Frame, put};
use crate::look::Look;
use crate::theme::Role;

/// The smallest size in which a dialog can be read: who asks, something of what, something to choose.
const READABLE: (u16, u16) = (20, 3);

const MOST_TYPED: usize = 10;

/// The fewest rows of a text of several lines.
const FEWEST_TYPED: usize = 3;

/// The division of the rows within the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parts {
    body: u16,
    gap: u16,
    control: u16,
}

impl Parts {
    /// Both have a row, and up to half of the rest before the other one has all it wants; what is read comes first.
    fn of(height: u16, body: usize, control: usize) -> Self {
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
    /// The number of rows it takes at this width, at most `most`.
    pub fn rows(&mut self, width: u16, most: u16, look: &Look) -> u16 {
        let columns = frame::columns_in(width);
        let body = self.body.rows(&self.question, columns, &look.theme);
        let control = self.control_rows(columns);
        let gap = usize::from(body > 0);
        let wanted = u16::try_from(body + gap + control).unwrap_or(u16::MAX);
        frame::rows_with(wanted).min(most)
    }

    /// Draws it, and says where the terminal's cursor stands. It is seen when [`was_drawn`](Self::was_drawn) says so.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) -> Option<(u16, u16)> {
        let area = area.intersection(buffer.area);
        let (width, height) = READABLE;
        self.drawn = Some((area.width >= width && area.height >= height, look.now));
        let inner = frame::inner(area);
        let body = self.body.rows(&self.question, inner.width, &look.theme);
        let parts = Parts::of(inner.height, body, self.control_rows(inner.width));
        let body = Rect { height: parts.body, ..inner };
        self.body.draw(&self.question, body, buffer, look);
        let locked = self.lock();
        self.frame(locked, look).draw(area, buffer);
        let control = Rect { y: body.bottom() + parts.gap, height: parts.control, ..inner };
        match &mut self.control {
            Control::Choices(choices) => {
                choices.draw(control, buffer, look);
                None
            }
            Control::Field(field) => {
                let mark = Line::from(span("› ", look.theme.style(Role::Prompt)));
                let beside = if control.width > 8 { 2 } else { 0 };
                put(&mark, Rect { width: beside, height: control.height.min(1), ..control }, buffer);
                let text = Rect { x: control.x + beside, width: control.width - beside, ..control };
                field.draw(text, buffer, look.theme.style(Role::Text))
            }
        }
    }

    /// Has the choices know how much was read once this frame is seen: whether those that grant something do not count
    /// then.
    fn lock(&mut self) -> bool {
        let (is_through, unread) = self.body.once_drawn();
        let locked = self.question.grants && !is_through;
        if let Control::Choices(choices) = &mut self.control {
            choices.lock(locked, unread);
        }
        locked
    }

    fn control_rows(&self, width: u16) -> usize {
        match &self.control {
            Control::Choices(choices) => choices.rows(width),
            Control::Field(field) => {
                let rows = field.rows(width.saturating_sub(2)).min(MOST_TYPED);
                if matches!(self.question.wanted, Wanted::Editor(_)) { rows.max(FEWEST_TYPED) } else { rows }
            }
        }
    }

    fn frame(&self, locked: bool, look: &Look) -> Frame {
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
        let lower = hint.map(|hint| span(hint.words(), look.theme.style(role))).into_iter();
        let lower = lower.chain([span(self.help(locked), look.theme.style(role))]).collect();
        Frame { style, left, right: self.countdown(look), lower }
    }

    /// The time that is left, and what comes then; the shorter way to say it last.
    fn countdown(&self, look: &Look) -> Vec<Span<'static>> {
        let Some(left) = self.left(look.now) else { return Vec::new() };
        let (minutes, seconds) = (left / 60, left % 60);
        let time =
            if minutes == 0 { format!("{seconds} s") } else { format!("{minutes} min {seconds:02} s") };
        let long = match &self.question.default {
            Some(default) => format!("answers itself in {time}: {default}"),
            None => format!("closes itself in {time}"),
        };
        let words = |text: String| span(CleanLine::new(&text), look.theme.style(Role::Muted));
        vec![words(long), words(time)]
    }

    fn help(&self, locked: bool) -> &'static str {
        match &self.question.wanted {
            Wanted::Confirm if locked => "space reads on · end to its end · n no · esc leaves it",
            Wanted::Gate(_) if locked => "space reads on · ↑↓ choose · enter answers · esc leaves it",
            Wanted::Confirm => "y yes · n no · enter what is chosen · esc leaves it",
            Wanted::Select(_) | Wanted::Gate(_) => "↑↓ choose · enter answers · esc leaves it",
            Wanted::Input { .. } => "enter answers · esc leaves it",
            Wanted::Editor(_) => "enter answers · shift+enter new line · ctrl+g your editor · esc leaves it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_divided() {
        let parts = |height, body, control| {
            let Parts { body, gap, control } = Parts::of(height, body, control);
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
