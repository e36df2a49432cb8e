//! The frame around dialogs, lists and panels, and truncation of rows.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use ratatui_core::text::{Line, Span};

use crate::clean::{CleanLine, columns, span, span_columns};

/// The minimum width of a frame with sides.
const SIDES: u16 = 24;

/// The minimum height of a frame with a lower edge.
const LOWER: u16 = 5;

/// A frame with texts in its edges.
#[derive(Debug, Clone, Default)]
pub(crate) struct BorderFrame {
    pub(crate) style: Style,
    /// The name in the upper edge. Always shown, truncated if necessary.
    pub(crate) left: Vec<Span<'static>>,
    /// The texts at the right of the upper edge: the first that fits is shown. The last one takes precedence over the
    /// end of `left`.
    pub(crate) right: Vec<Span<'static>>,
    pub(crate) lower: Vec<Span<'static>>,
}

pub(crate) fn inner_area(area: Rect) -> Rect {
    let top = u16::from(area.height > 1);
    let bottom = u16::from(area.height >= LOWER);
    let side = if area.width >= SIDES { 2 } else { 0 };
    let (width, height) = (area.width - 2 * side, area.height - top - bottom);
    Rect { x: area.x + side, y: area.y + top, width, height }
}

pub(crate) fn outer_rows(inner: u16) -> u16 {
    let both = inner.saturating_add(2);
    if both >= LOWER { both } else { inner.saturating_add(1) }
}

pub(crate) fn inner_columns(width: u16) -> u16 {
    inner_area(Rect::new(0, 0, width, LOWER)).width
}

impl BorderFrame {
    /// Draws the frame and returns the area inside. Ignores an area outside the screen.
    pub(crate) fn draw(&self, area: Rect, buffer: &mut Buffer) -> Rect {
        let inner = inner_area(area);
        let has_sides = inner.x > area.x;
        if inner.y > area.y {
            let corners = if has_sides { ["╭─", "─╮"] } else { ["─", "─"] };
            let upper = self.upper_edge(usize::from(area.width), corners);
            draw_line(&upper, row_area(area, 0), buffer);
        }
        if inner.bottom() < area.bottom() {
            let corners = if has_sides { ["╰─", "─╯"] } else { ["─", "─"] };
            let width = usize::from(area.width);
            let words =
                truncate_spans(self.lower.clone(), width.saturating_sub(edge_overhead(corners))).spans;
            let lower = self.render_edge(width, corners, words, None);
            draw_line(&lower, row_area(area, area.height - 1), buffer);
        }
        if has_sides {
            let side = Line::from(span("│", self.style));
            for y in inner.top()..inner.bottom() {
                draw_line(&side, Rect::new(area.x, y, 1, 1), buffer);
                draw_line(&side, Rect::new(area.right() - 1, y, 1, 1), buffer);
            }
        }
        inner
    }

    fn upper_edge(&self, width: usize, corners: [&'static str; 2]) -> Line<'static> {
        let room = width.saturating_sub(edge_overhead(corners));
        let left = span_columns(&self.left);
        let beside = |span: &&Span<'_>| left + columns(&span.content) + 3 <= room;
        let right = self.right.iter().find(beside).or(self.right.last());
        let right = right.filter(|right| columns(&right.content) + 3 <= room / 2 || beside(right));
        let taken = right.map_or(0, |right| columns(&right.content) + 3);
        let left = truncate_spans(self.left.clone(), room.saturating_sub(taken)).spans;
        self.render_edge(width, corners, left, right.cloned())
    }

    fn render_edge(
        &self,
        width: usize,
        corners: [&'static str; 2],
        left: Vec<Span<'static>>,
        right: Option<Span<'static>>,
    ) -> Line<'static> {
        let rule = |times| span(CleanLine::from_repeated_char('─', times), self.style);
        let [first, last] = corners.map(|corner| span(corner, self.style));
        let room = width.saturating_sub(columns(&first.content) + columns(&last.content));
        let mut spans = pad_words(left);
        let right = pad_words(right.into_iter().collect());
        let used = span_columns(&spans) + span_columns(&right);
        spans.push(rule(room.saturating_sub(used)));
        spans.extend(right);
        Line::from_iter(std::iter::once(first).chain(spans).chain(std::iter::once(last)))
    }
}

/// Returns the columns of an edge that are not for text: the corners, and a blank before and after the text.
fn edge_overhead(corners: [&'static str; 2]) -> usize {
    corners.iter().map(|corner| columns(corner)).sum::<usize>() + 2
}

/// Adds a blank before and after a text that is not empty.
fn pad_words(words: Vec<Span<'static>>) -> Vec<Span<'static>> {
    if words.is_empty() {
        return words;
    }
    let blank = || span(" ", Style::new());
    std::iter::once(blank()).chain(words).chain(std::iter::once(blank())).collect()
}

/// Returns a row of an area, counted from 0.
pub(crate) fn row_area(area: Rect, at: u16) -> Rect {
    Rect { y: area.y.saturating_add(at), height: u16::from(at < area.height), ..area }
}

/// Draws a line into an area of one row, clipped to the screen.
pub(crate) fn draw_line(line: &Line<'_>, area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    if !area.is_empty() {
        buffer.set_line(area.x, area.y, line, area.width);
    }
}

/// Truncates spans to a width, with `…` in place of the rest.
pub(crate) fn truncate_spans(spans: Vec<Span<'static>>, most: usize) -> Line<'static> {
    if span_columns(&spans) <= most {
        return Line::from_iter(spans);
    }
    let mut left = most;
    let mut kept = Vec::new();
    for part in spans {
        match left.checked_sub(columns(&part.content)).filter(|rest| *rest > 0) {
            Some(rest) => left = rest,
            None => {
                kept.push(span(
                    CleanLine::from_clean_part(&part.content).truncate_with_ellipsis(left),
                    part.style,
                ));
                break;
            }
        }
        kept.push(part);
    }
    Line::from_iter(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(area: Rect, frame: &BorderFrame, expect: &[&str]) {
        let mut buffer = Buffer::empty(area);
        frame.draw(area, &mut buffer);
        let rows = buffer.content.chunks(usize::from(area.width).max(1));
        let rows: Vec<String> = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect()).collect();
        assert_eq!(rows, expect);
    }

    #[test]
    fn edge_texts_are_truncated_to_fit() {
        let words = |text: &str| span(CleanLine::new(text), Style::new());
        let frame = BorderFrame {
            left: vec![words("[todo]"), words(" asks")],
            right: vec![words("in 42 seconds"), words("42 s")],
            lower: vec![words("enter answers")],
            ..BorderFrame::default()
        };
        let wide = [
            "╭─ [todo] asks ───── in 42 seconds ─╮",
            "│                                   │",
            "│                                   │",
            "│                                   │",
            "╰─ enter answers ───────────────────╯",
        ];
        check(Rect::new(0, 0, 37, 5), &frame, &wide);
        let narrow = ["─ [todo] asks ─ 42 s ─", "                      "];
        check(Rect::new(0, 0, 22, 2), &frame, &narrow);
        check(Rect::new(0, 0, 18, 2), &frame, &["─ [todo]… ─ 42 s ─", "                  "]);
        check(Rect::new(0, 0, 5, 1), &frame, &["     "]);
        check(Rect::new(0, 0, 0, 0), &frame, &[]);
    }

    #[test]
    fn truncated_text_ends_with_ellipsis() {
        let words = |text: &str| span(CleanLine::new(text), Style::new());
        let cut = |most| truncate_spans(vec![words("ab"), words("日本"), words("c")], most).to_string();
        assert_eq!(
            (cut(7), cut(6), cut(4), cut(3), cut(2)),
            ("ab日本c".into(), "ab日…".into(), "ab…".into(), "ab…".into(), "a…".into())
        );
        assert_eq!((cut(1), cut(0)), ("…".into(), String::new()));
    }
}
