//! Tables. Columns are as wide as their content and narrower on narrow screens. If even that does not fit, each value
//! has its own line.

use pulldown_cmark::Alignment;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::clean::{CleanLine, span, span_columns};
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};

/// The minimum width of a narrowed column.
const LEAST: usize = 6;

const BETWEEN: &str = " │ ";

/// The separator in the line below the head.
const CROSSING: &str = "─┼─";

/// The width of both separators.
const GAP: usize = 3;

type TableCell = Vec<Span<'static>>;

/// A table that is being parsed. The first row is the head.
#[derive(Debug)]
pub(super) struct MarkdownTable {
    alignments: Vec<Alignment>,
    pub(super) rows: Vec<Vec<TableCell>>,
    pub(super) row: Vec<TableCell>,
}

impl MarkdownTable {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    /// Returns its lines, at most `room` columns wide if possible.
    pub(super) fn into_rows(self, room: usize, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        match self.column_widths(room) {
            Some(widths) => self.render_grid(&widths, theme),
            None => self.render_values(theme),
        }
    }

    /// Returns the widths of the columns; `None` if they do not fit.
    fn column_widths(&self, room: usize) -> Option<Vec<usize>> {
        let mut natural = vec![1; self.alignments.len()];
        for row in &self.rows {
            for (width, cell) in natural.iter_mut().zip(row) {
                *width = (*width).max(span_columns(cell));
            }
        }
        let room = room.checked_sub(GAP * natural.len().saturating_sub(1))?;
        let cut = |most: usize| natural.iter().map(move |width| *width.min(&most));
        let widest = natural.iter().copied().max().unwrap_or_default();
        if cut(widest).sum::<usize>() <= room {
            return Some(natural);
        }
        // The widest columns are narrowed first.
        let most = (LEAST..widest).rev().find(|most| cut(*most).sum::<usize>() <= room)?;
        let mut widths: Vec<usize> = cut(most).collect();
        let mut left = room - widths.iter().sum::<usize>();
        for (width, wanted) in widths.iter_mut().zip(&natural) {
            if left > 0 && *width < *wanted {
                *width += 1;
                left -= 1;
            }
        }
        Some(widths)
    }

    fn render_grid(&self, widths: &[usize], theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let style = theme.style(Role::Rule);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self.render_row(row, widths, theme));
            if at == 0 {
                let dashes =
                    widths.iter().map(|width| span(CleanLine::from_repeated_char('─', *width), style));
                lines.push(join_parts(dashes.map(|dashes| vec![dashes]), &span(CROSSING, style)));
            }
        }
        lines
    }

    fn render_row(&self, row: &[TableCell], widths: &[usize], theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let bar = span(BETWEEN, theme.style(Role::Rule));
        let wrapped = |(at, width): (usize, &usize)| -> Vec<Line<'static>> {
            let width = u16::try_from(*width).unwrap_or(u16::MAX);
            wrap(
                row.get(at).map(Vec::as_slice).unwrap_or_default(),
                width,
                &RowPrefixes::default(),
                WrapMode::Words,
            )
        };
        let cells: Vec<Vec<Line<'static>>> = widths.iter().enumerate().map(wrapped).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or_default();
        let line = |height: usize| {
            let parts = cells.iter().zip(widths).enumerate().map(|(at, (cell, width))| {
                let spans = cell.get(height).map(|line| line.spans.clone()).unwrap_or_default();
                let alignment = self.alignments.get(at).copied().unwrap_or(Alignment::None);
                pad_cell(spans, *width, alignment)
            });
            join_parts(parts, &bar)
        };
        (0..height).map(line).collect()
    }

    fn render_values(self, theme: &Theme) -> Vec<Vec<Span<'static>>> {
        let mut rows = self.rows.into_iter();
        let head = rows.next().unwrap_or_default();
        let mut lines = Vec::new();
        for (at, row) in rows.enumerate() {
            if at > 0 {
                lines.push(vec![span("──", theme.style(Role::Rule))]);
            }
            for (at, cell) in row.into_iter().enumerate().filter(|(_, cell)| span_columns(cell) > 0) {
                let mut line = head.get(at).cloned().unwrap_or_default();
                line.push(span(": ", theme.style(Role::Rule)));
                line.extend(cell);
                lines.push(line);
            }
        }
        if lines.is_empty() {
            lines = head;
        }
        lines
    }
}

fn join_parts(
    parts: impl Iterator<Item = Vec<Span<'static>>>,
    between: &Span<'static>,
) -> Vec<Span<'static>> {
    let mut line = Vec::new();
    for (at, part) in parts.enumerate() {
        if at > 0 {
            line.push(between.clone());
        }
        line.extend(part);
    }
    line
}

fn pad_cell(mut cell: TableCell, width: usize, alignment: Alignment) -> TableCell {
    let free = width.saturating_sub(span_columns(&cell));
    let before = match alignment {
        Alignment::None | Alignment::Left => 0,
        Alignment::Center => free / 2,
        Alignment::Right => free,
    };
    let blank = |columns| span(CleanLine::from_repeated_char(' ', columns), Style::new());
    if before > 0 {
        cell.insert(0, blank(before));
    }
    if free > before {
        cell.push(blank(free - before));
    }
    cell
}
