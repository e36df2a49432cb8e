//! The parts of a line: text, its emphasis, links.

use pulldown_cmark::CowStr;
use ratatui_core::style::Style;
use ratatui_core::text::Span;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};

/// The lines of a paragraph (a heading, a cell) that is being read.
#[derive(Debug)]
pub(super) struct Inline {
    pub(super) lines: Vec<Vec<Span<'static>>>,
    /// Styles around what comes next; the first is that of the paragraph.
    styles: Vec<Style>,
    links: Vec<OpenLink>,
}

/// A link or a picture whose text is being read.
#[derive(Debug)]
struct OpenLink {
    address: CleanLine,
    shown: String,
    picture: bool,
}

impl Inline {
    pub(super) fn new(style: Style) -> Self {
        Self { lines: vec![Vec::new()], styles: vec![style], links: Vec::new() }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    /// Adds text. It is cleaned once more: Markdown can write any character as `&#27;`.
    pub(super) fn text(&mut self, text: &str) {
        self.styled(text, Style::new());
    }

    pub(super) fn styled(&mut self, text: &str, over: Style) {
        let text = CleanLine::new(text);
        if let Some(link) = self.links.last_mut() {
            link.shown.push_str(text.as_str());
        }
        self.put(text, self.style().patch(over));
    }

    fn put(&mut self, text: CleanLine, style: Style) {
        if let Some(line) = self.lines.last_mut() {
            line.push(span(text, style));
        }
    }

    /// Begins a part with a style over that of what is around it.
    pub(super) fn open(&mut self, over: Style) {
        self.styles.push(self.style().patch(over));
    }

    pub(super) fn close(&mut self) {
        if self.styles.len() > 1 {
            self.styles.pop();
        }
    }

    pub(super) fn open_link(&mut self, address: &CowStr<'_>, picture: bool, theme: &Theme) {
        self.open(theme.style(Role::Link));
        if picture {
            self.put("[image: ".into(), self.style());
        }
        self.links.push(OpenLink { address: CleanLine::new(address), shown: String::new(), picture });
    }

    /// Ends a link. Where it leads is shown, so that its text cannot say something else.
    pub(super) fn close_link(&mut self, theme: &Theme) {
        let Some(OpenLink { address, shown, picture }) = self.links.pop() else { return };
        if picture {
            self.put("]".into(), self.style());
        }
        self.close();
        let same = address.as_str().trim_start_matches("mailto:") == shown;
        if !same && address.columns() > 0 {
            let style = self.style().patch(theme.style(Role::LinkAddress));
            self.put(" (".into(), style);
            self.put(address, style);
            self.put(")".into(), style);
        }
        // The text of a link within the text of a picture.
        if let Some(around) = self.links.last_mut() {
            around.shown.push_str(&shown);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Vec::is_empty)
    }
}
