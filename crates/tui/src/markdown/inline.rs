//! Inline content of a line: text, emphasis, links.

use pulldown_cmark::CowStr;
use ratatui_core::style::Style;
use ratatui_core::text::Span;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};

/// The lines of the current paragraph, heading or cell.
#[derive(Debug)]
pub(super) struct InlineSpans {
    pub(super) lines: Vec<Vec<Span<'static>>>,
    /// The nested styles; the first is the paragraph's.
    styles: Vec<Style>,
    links: Vec<OpenLink>,
}

/// A link or picture whose text is incomplete.
#[derive(Debug)]
struct OpenLink {
    address: CleanLine,
    shown: String,
    picture: bool,
}

impl InlineSpans {
    pub(super) fn new(style: Style) -> Self {
        Self { lines: vec![Vec::new()], styles: vec![style], links: Vec::new() }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// Adds text. It is sanitized again, because Markdown can encode any character as `&#27;`.
    pub(super) fn push_text(&mut self, text: &str) {
        self.push_styled(text, Style::new());
    }

    pub(super) fn push_styled(&mut self, text: &str, over: Style) {
        let text = CleanLine::new(text);
        if let Some(link) = self.links.last_mut() {
            link.shown.push_str(text.as_str());
        }
        self.push_span(text, self.style().patch(over));
    }

    fn push_span(&mut self, text: CleanLine, style: Style) {
        if let Some(line) = self.lines.last_mut() {
            line.push(span(text, style));
        }
    }

    /// Begins a part with a style on top of the surrounding one.
    pub(super) fn open_style(&mut self, over: Style) {
        self.styles.push(self.style().patch(over));
    }

    pub(super) fn close_style(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    pub(super) fn open_link(&mut self, address: &CowStr<'_>, picture: bool, theme: &Theme) {
        self.open_style(theme.style(Role::Link));
        if picture {
            self.push_span("[image: ".into(), self.style());
        }
        self.links.push(OpenLink { address: CleanLine::new(address), shown: String::new(), picture });
    }

    /// Ends a link. Its address is shown, so that the text cannot hide it.
    pub(super) fn close_link(&mut self, theme: &Theme) {
        let Some(OpenLink { address, shown, picture }) = self.links.pop() else { return };
        if picture {
            self.push_span("]".into(), self.style());
        }
        self.close_style();
        let same = address.as_str().trim_start_matches("mailto:") == shown;
        if !same && address.columns() > 0 {
            let style = self.style().patch(theme.style(Role::LinkAddress));
            self.push_span(" (".into(), style);
            self.push_span(address, style);
            self.push_span(")".into(), style);
        }
        // The text of a link inside the text of a picture.
        if let Some(around) = self.links.last_mut() {
            around.shown.push_str(&shown);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Vec::is_empty)
    }
}
