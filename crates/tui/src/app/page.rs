//! A page to read: Markdown in the place of the transcript.

use ratatui_core::text::Line;

use crate::keys::{Browse, Scroll};
use crate::markdown;
use crate::theme::Theme;

/// A page to read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    text: String,
    top: usize,
    /// How many rows are seen, as far as it was drawn.
    height: usize,
    drawn: Option<Drawn>,
}

#[derive(Debug)]
struct Drawn {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
}

impl Page {
    pub(super) fn new(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self { title: title.into(), text: text.into(), top: 0, height: 0, drawn: None }
    }

    /// A key that moves it. None for one that does not.
    pub(super) fn browse(&mut self, action: Browse) -> Option<()> {
        match action {
            Browse::Up => self.by(-1),
            Browse::Down => self.by(1),
            Browse::LineStart => self.top = 0,
            Browse::LineEnd => self.top = usize::MAX,
            Browse::Mark => self.by(self.page()),
            Browse::Close => return None,
            Browse::Left | Browse::Right | Browse::MarkLines | Browse::Copy => {}
            Browse::NextMatch | Browse::PreviousMatch | Browse::Expand => {}
        }
        Some(())
    }

    pub(super) fn scroll(&mut self, action: Scroll) {
        match action {
            Scroll::PageUp => self.by(-self.page()),
            Scroll::PageDown => self.by(self.page()),
            Scroll::LineUp | Scroll::MessageUp => self.by(-1),
            Scroll::LineDown | Scroll::MessageDown => self.by(1),
            Scroll::Top => self.top = 0,
            Scroll::Bottom => self.top = usize::MAX,
            Scroll::Search | Scroll::Browse | Scroll::CopyAnswer => {}
        }
    }

    /// Down, or up when negative.
    pub(super) fn by(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows);
    }

    fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// The rows that are seen, and whether there are more above and below.
    pub(super) fn rows(&mut self, width: u16, height: u16, theme: &Theme) -> (&[Line<'static>], bool, bool) {
        let fits = |drawn: &Drawn| drawn.width == width && drawn.theme.is_same(theme);
        let drawn = match self.drawn.take() {
            Some(drawn) if fits(&drawn) => drawn,
            Some(_) | None => {
                let lines = markdown::render(&self.text, width, theme);
                Drawn { width, theme: theme.clone(), lines }
            }
        };
        self.height = usize::from(height);
        self.top = self.top.min(drawn.lines.len().saturating_sub(self.height));
        let end = drawn.lines.len().min(self.top + self.height);
        let (above, below) = (self.top > 0, end < drawn.lines.len());
        let lines = &self.drawn.insert(drawn).lines;
        (lines.get(self.top..end).unwrap_or_default(), above, below)
    }
}
