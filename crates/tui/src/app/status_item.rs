//! An item of an extension in the status line: the name of the extension, and a text in parts with colors.

use haft_protocol::ext::{SpanColor, StyledSpan};
use haft_protocol::ids::ExtensionName;
use ratatui_core::style::Modifier;
use ratatui_core::text::Span;

use crate::clean::{CleanLine, span};
use crate::theme::{Role, Theme};

/// The maximum columns of an extension's name in the status line.
const LONGEST_NAME: usize = 24;

/// An item, as `name: text`.
#[derive(Debug)]
pub(super) struct ExtensionStatusItem(Vec<ItemPart>);

#[derive(Debug)]
struct ItemPart {
    text: CleanLine,
    role: Role,
    is_bold: bool,
}

impl ExtensionStatusItem {
    /// Creates an item with a text, or with these parts if there are some.
    pub(super) fn new(extension: &ExtensionName, text: &str, styled: &[StyledSpan]) -> Self {
        let plain = |text: &str| ItemPart { text: CleanLine::new(text), role: Role::Muted, is_bold: false };
        let name = CleanLine::new(extension.as_str()).truncate_to_width(LONGEST_NAME);
        let mut parts = vec![plain(&format!("{}: ", name.as_str()))];
        match styled.is_empty() {
            true => parts.push(plain(text)),
            false => parts.extend(styled.iter().map(|part| ItemPart {
                text: CleanLine::new(&part.text),
                role: part.fg.map_or(Role::Muted, color_role),
                is_bold: part.bold,
            })),
        }
        Self(parts)
    }

    /// Returns the width in columns.
    pub(super) fn columns(&self) -> usize {
        self.0.iter().map(|part| part.text.columns()).sum()
    }

    /// Returns the item in at most `most` columns, with `…` in place of the rest.
    pub(super) fn fit_spans(&self, most: usize, theme: &Theme) -> Vec<Span<'static>> {
        let fits = self.columns() <= most;
        let mut left = most;
        let mut spans = Vec::new();
        for part in &self.0 {
            let style = theme.style(part.role);
            let style = if part.is_bold { style.add_modifier(Modifier::BOLD) } else { style };
            let width = part.text.columns();
            // The last shown column is for the mark.
            if !fits && width >= left {
                spans.push(span(part.text.clone().truncate_with_ellipsis(left), style));
                break;
            }
            spans.push(span(part.text.clone(), style));
            left = left.saturating_sub(width);
        }
        spans
    }
}

fn color_role(color: SpanColor) -> Role {
    match color {
        SpanColor::Text => Role::Text,
        SpanColor::Muted => Role::Muted,
        SpanColor::Accent => Role::Accent,
        SpanColor::Ok => Role::Ok,
        SpanColor::Warning => Role::Warning,
        SpanColor::Error => Role::Error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item() -> ExtensionStatusItem {
        let parts = [
            StyledSpan::new("3").with_color(SpanColor::Warning).with_bold(),
            StyledSpan::new(" \u{1b}[31mopen\nnow"),
        ];
        ExtensionStatusItem::new(&ExtensionName::new("todo"), "3 open now", &parts)
    }

    fn texts(most: usize) -> Vec<String> {
        item().fit_spans(most, &Theme::dark()).iter().map(|span| span.content.to_string()).collect()
    }

    #[test]
    fn parts_are_cut_at_the_width() {
        assert_eq!(item().columns(), 16);
        assert_eq!(texts(16), ["todo: ", "3", " open now"]);
        assert_eq!(texts(15), ["todo: ", "3", " open n…"]);
        assert_eq!(texts(8), ["todo: ", "3", "…"]);
        assert_eq!(texts(7), ["todo: ", "…"]);
        assert_eq!(texts(6), ["todo:…"]);
        assert_eq!(texts(0), [""]);
    }

    #[test]
    fn parts_have_styles_of_the_theme() {
        let theme = Theme::dark();
        let styles: Vec<_> = item().fit_spans(80, &theme).iter().map(|span| span.style).collect();
        let (muted, warning) = (theme.style(Role::Muted), theme.style(Role::Warning));
        assert_eq!(styles, [muted, warning.add_modifier(Modifier::BOLD), muted]);
    }
}
