//! A page of Markdown or of diffs that covers the conversation.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use super::component::draw_line;
use super::component::{Component, InputContext, InputOutcome, LIST, WHEEL};
use super::{MouseAction, MouseKind};
use crate::clean::{CleanLine, span};
use crate::diff::Diff;
use crate::draw_context::DrawContext;
use crate::keys::{Action, App, Browse, Context, KeyPress, Scroll};
use crate::markdown;
use crate::theme::{Role, Theme};

#[derive(Debug)]
pub(super) struct CoverPage {
    title: String,
    content: PageContent,
    top: usize,
    height: usize,
    cache: Option<PageRenderCache>,
}

#[derive(Debug)]
enum PageContent {
    Markdown(String),
    Diffs(Vec<Diff>),
}

impl PageContent {
    fn render_lines(&self, width: u16, theme: &Theme) -> Vec<Line<'static>> {
        match self {
            Self::Markdown(text) => markdown::render(text, width, theme),
            Self::Diffs(diffs) => {
                let of_file = |diff: &Diff| {
                    let title = std::iter::once(diff.title(theme));
                    title.chain(diff.lines(width, theme)).chain([Line::default()]).collect::<Vec<_>>()
                };
                diffs.iter().flat_map(of_file).collect()
            }
        }
    }
}

#[derive(Debug)]
struct PageRenderCache {
    width: u16,
    theme: Theme,
    lines: Vec<Line<'static>>,
}

impl CoverPage {
    pub(super) fn from_markdown(title: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(title.into(), PageContent::Markdown(text.into()))
    }

    pub(super) fn from_diffs(title: impl Into<String>, diffs: Vec<Diff>) -> Self {
        Self::new(title.into(), PageContent::Diffs(diffs))
    }

    fn new(title: String, content: PageContent) -> Self {
        Self { title, content, top: 0, height: 0, cache: None }
    }

    /// Applies a browse action. Returns `None` if the action closes the page.
    fn apply_browse_action(&mut self, action: Browse) -> Option<()> {
        match action {
            Browse::Up => self.scroll_by(-1),
            Browse::Down => self.scroll_by(1),
            Browse::LineStart => self.top = 0,
            Browse::LineEnd => self.top = usize::MAX,
            Browse::Mark => self.scroll_by(self.page_rows()),
            Browse::Close => return None,
            Browse::Left | Browse::Right | Browse::MarkLines | Browse::Copy => {}
            Browse::NextMatch | Browse::PreviousMatch | Browse::Expand => {}
        }
        Some(())
    }

    fn apply_scroll_action(&mut self, action: Scroll) {
        match action {
            Scroll::PageUp => self.scroll_by(-self.page_rows()),
            Scroll::PageDown => self.scroll_by(self.page_rows()),
            Scroll::LineUp | Scroll::MessageUp => self.scroll_by(-1),
            Scroll::LineDown | Scroll::MessageDown => self.scroll_by(1),
            Scroll::Top => self.top = 0,
            Scroll::Bottom => self.top = usize::MAX,
            Scroll::Search | Scroll::Browse | Scroll::CopyAnswer => {}
        }
    }

    /// Scrolls down, or up if `rows` is negative.
    fn scroll_by(&mut self, rows: isize) {
        self.top = self.top.saturating_add_signed(rows);
    }

    fn page_rows(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    /// Returns the visible rows, and whether more rows exist above and below.
    fn visible_rows(&mut self, width: u16, height: u16, theme: &Theme) -> (&[Line<'static>], bool, bool) {
        let fits = |drawn: &PageRenderCache| drawn.width == width && drawn.theme.is_same(theme);
        let drawn = match self.cache.take() {
            Some(drawn) if fits(&drawn) => drawn,
            Some(_) | None => {
                let lines = self.content.render_lines(width, theme);
                PageRenderCache { width, theme: theme.clone(), lines }
            }
        };
        self.height = usize::from(height);
        self.top = self.top.min(drawn.lines.len().saturating_sub(self.height));
        let end = drawn.lines.len().min(self.top + self.height);
        let (above, below) = (self.top > 0, end < drawn.lines.len());
        let lines = &self.cache.insert(drawn).lines;
        (lines.get(self.top..end).unwrap_or_default(), above, below)
    }

    fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let theme = &look.theme;
        let title = CleanLine::new(&self.title).truncate_to_width(usize::from(area.width.saturating_sub(2)));
        draw_line(buffer, area, 0, &Line::from(span(title, theme.style(Role::Heading))));
        let body = Rect { y: area.y + 1, height: area.height.saturating_sub(2), ..area };
        let (lines, above, below) = self.visible_rows(area.width, body.height, theme);
        for (row, line) in (0..body.height).zip(lines) {
            draw_line(buffer, body, row, line);
        }
        let hint = match (above, below) {
            (false, false) => "esc close",
            (_, true) => "↓ more · esc close",
            (true, false) => "end · esc close",
        };
        if area.height > 1 {
            draw_line(buffer, area, area.height - 1, &Line::from(span(hint, theme.style(Role::Muted))));
        }
    }
}

impl Component for Option<CoverPage> {
    fn cover_rows(&self) -> Option<u16> {
        self.as_ref().map(|_| LIST)
    }

    fn draw_cover(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        if let Some(page) = self {
            page.draw(area, buffer, look);
        }
        None
    }

    fn handle_key(&mut self, press: &KeyPress, _: &mut InputContext<'_>) -> InputOutcome {
        let Some(page) = self else { return InputOutcome::PassedOn };
        match press.action(Context::Browse) {
            Some(Action::Browse(action)) => {
                if page.apply_browse_action(action).is_none() {
                    *self = None;
                }
            }
            Some(Action::Scroll(action)) => page.apply_scroll_action(action),
            Some(Action::App(App::Help)) => *self = None,
            unclaimed => return InputOutcome::Unclaimed(unclaimed),
        }
        InputOutcome::Handled
    }

    fn handle_paste(&mut self, _: &str, _: &mut InputContext<'_>) -> InputOutcome {
        if self.is_some() { InputOutcome::Handled } else { InputOutcome::PassedOn }
    }

    fn handle_mouse(&mut self, mouse: MouseAction, _: &mut InputContext<'_>) -> InputOutcome {
        let Some(page) = self else { return InputOutcome::PassedOn };
        match mouse.kind {
            MouseKind::WheelUp => page.scroll_by(-WHEEL),
            MouseKind::WheelDown => page.scroll_by(WHEEL),
            MouseKind::Press | MouseKind::Drag | MouseKind::Release => {}
        }
        InputOutcome::Handled
    }
}
