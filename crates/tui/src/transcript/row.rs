//! A row of the transcript with its columns, and the rows of an image.

use std::sync::Arc;

use haft_protocol::content::{ContentBlock, Image};
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::clean::{CleanLine, grapheme_columns, span};
use crate::image::{ImageDisplay, ImageFacts};
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap_lines};

/// The indentation below a heading or a call.
pub(super) const INDENT: u16 = 2;

#[derive(Debug, Clone, Default)]
pub(super) struct TranscriptRow {
    pub(super) line: Line<'static>,
    /// Blank columns before the line.
    pub(super) indent: u16,
    /// The number of frame columns of the line: they are shown and not copied.
    pub(super) frame: u16,
    /// The background style, across the width.
    pub(super) ground: Option<Style>,
    /// The part of an image that the row shows, if images are supported.
    pub(super) part: Option<ImagePart>,
}

#[derive(Debug, Clone)]
pub(super) struct ImagePart {
    pub(super) image: Arc<Image>,
    /// Columns and rows of the whole image.
    pub(super) size: (u16, u16),
    pub(super) row: usize,
}

impl TranscriptRow {
    pub(super) fn new(line: Line<'static>) -> Self {
        Self { line, ..Self::default() }
    }

    pub(super) fn indented(line: Line<'static>, indent: u16) -> Self {
        Self { line, indent, ..Self::default() }
    }
}

/// A row as it is drawn, copied and searched.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowView<'a> {
    pub(super) line: &'a Line<'static>,
    pub(super) indent: u16,
    pub(super) frame: u16,
    pub(super) ground: Option<Style>,
    pub(super) over: Option<Style>,
    pub(super) part: Option<&'a ImagePart>,
}

/// The rows of an item: its own rows, then lines of a longer text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ItemRows<'a> {
    pub(super) own: &'a [TranscriptRow],
    pub(super) lines: &'a [Line<'static>],
    pub(super) indent: u16,
    pub(super) over: Option<Style>,
}

impl<'a> ItemRows<'a> {
    pub(super) fn len(&self) -> usize {
        self.own.len() + self.lines.len()
    }

    pub(super) fn get(&self, at: usize) -> Option<RowView<'a>> {
        if let Some(row) = self.own.get(at) {
            let TranscriptRow { line, indent, frame, ground, part } = row;
            let (indent, frame, ground) = (*indent, *frame, *ground);
            return Some(RowView { line, indent, frame, ground, over: None, part: part.as_ref() });
        }
        let line = self.lines.get(at - self.own.len())?;
        Some(RowView { line, indent: self.indent, frame: 0, ground: None, over: self.over, part: None })
    }
}

/// A grapheme of a row, and its columns.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowCell<'a> {
    pub(super) text: &'a str,
    pub(super) from: usize,
    pub(super) columns: usize,
}

impl<'a> RowView<'a> {
    /// Returns the cells, without the frame.
    pub(super) fn cells(self) -> impl Iterator<Item = RowCell<'a>> {
        let mut next = usize::from(self.indent);
        let first = next + usize::from(self.frame);
        let texts = self.line.spans.iter().flat_map(|span| span.content.graphemes(true));
        let cells = texts.map(move |text| {
            let cell = RowCell { text, from: next, columns: grapheme_columns(text) };
            next += cell.columns;
            cell
        });
        cells.filter(move |cell| cell.from >= first)
    }

    pub(super) fn text(self, from: usize, to: usize) -> String {
        let within = self.cells().filter(|cell| cell.from + cell.columns.max(1) > from && cell.from <= to);
        let text: String = within.map(|cell| cell.text).collect();
        text.trim_end().to_owned()
    }

    pub(super) fn last_column(self) -> usize {
        self.cells().last().map_or_else(|| self.first_column(), |cell| cell.from)
    }

    pub(super) fn first_column(self) -> usize {
        usize::from(self.indent) + usize::from(self.frame)
    }
}

pub(super) fn full_line(row: RowView<'_>) -> Line<'static> {
    let blank = || span(CleanLine::from_repeated_char(' ', usize::from(row.indent)), Style::new());
    let blank = (row.indent > 0).then(blank);
    let mut line = Line::from_iter(blank.into_iter().chain(row.line.spans.iter().cloned()));
    if let Some(over) = row.over {
        line = line.patch_style(over);
        line.spans.iter_mut().for_each(|span| span.style = span.style.patch(over));
    }
    if let Some(ground) = row.ground {
        line = line.patch_style(ground);
    }
    line
}

/// An attached image. Its data is kept for terminals that can show it.
#[derive(Debug, Clone)]
pub(super) struct AttachedImage {
    pub(super) facts: ImageFacts,
    image: Arc<Image>,
}

/// The image support, and the number of rows of the screen.
#[derive(Debug, Clone)]
pub(super) struct ImageScreen {
    pub(super) images: Arc<ImageDisplay>,
    pub(super) screen: u16,
}

impl PartialEq for ImageScreen {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.images, &other.images) && self.screen == other.screen
    }
}

impl AttachedImage {
    pub(super) fn from_content(content: &[ContentBlock]) -> Vec<Self> {
        let images = content.iter().filter_map(|content| match content {
            ContentBlock::Image(image) => Some(image),
            ContentBlock::Text { .. } => None,
        });
        images
            .map(|image| Self { facts: ImageFacts::from_image(image), image: Arc::new(image.clone()) })
            .collect()
    }

    pub(super) fn rows(
        &self,
        words: Vec<TranscriptRow>,
        blank: &TranscriptRow,
        room: LayoutConstraints<'_>,
    ) -> Vec<TranscriptRow> {
        let used = blank.indent.saturating_add(blank.frame);
        let columns = room.width.saturating_sub(used);
        let size =
            room.images.and_then(|how| how.images.image_cells(&self.image, &self.facts, columns, how.screen));
        // If the label takes several rows, there is no room for an image either.
        let (Some(size), [first]) = (size, words.as_slice()) else { return words };
        let part = |row| Some(ImagePart { image: self.image.clone(), size, row });
        let rest = (1..usize::from(size.1)).map(|row| TranscriptRow { part: part(row), ..blank.clone() });
        std::iter::once(TranscriptRow { part: part(0), ..first.clone() }).chain(rest).collect()
    }
}

/// The constraints of a layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct LayoutConstraints<'t> {
    pub(super) width: u16,
    pub(super) theme: &'t Theme,
    pub(super) open: bool,
    pub(super) images: Option<&'t ImageScreen>,
}

impl LayoutConstraints<'_> {
    pub(super) fn inner_width(&self) -> u16 {
        self.width.saturating_sub(INDENT).max(1)
    }

    /// Makes a row that is truncated if it is too long.
    pub(super) fn truncated_row(&self, text: CleanLine, role: Role) -> TranscriptRow {
        let text = text.truncate_to_width(usize::from(self.inner_width()));
        TranscriptRow::indented(Line::from(span(text, self.theme.style(role))), INDENT)
    }

    pub(super) fn wrapped_rows(
        &self,
        mark: &'static str,
        lines: impl IntoIterator<Item = CleanLine>,
        role: Role,
        mode: WrapMode,
    ) -> Vec<TranscriptRow> {
        let style = self.theme.style(role);
        let lines = lines.into_iter().map(|line| vec![span(line, style)]);
        let rows = wrap_lines(lines, self.inner_width(), RowPrefixes::with_mark(mark, style), mode);
        rows.into_iter().map(|line| TranscriptRow::indented(line, INDENT)).collect()
    }
}

/// Returns the label of an extension, for example `[todo]`.
pub(super) fn owner_label(extension: &CleanLine, theme: &Theme) -> Span<'static> {
    span(CleanLine::new(&format!("[{extension}]")), theme.style(Role::Extension))
}
