//! Layout of items as rows of a width, cached for items near the view.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::item::{ItemKind, PageItem, ThinkingItem, TranscriptItem, UserItem};
use super::row::{INDENT, ImageScreen, ItemRows, LayoutConstraints, TranscriptRow, owner_label};
use crate::clean::{CleanLine, span};
use crate::humanize::format_elapsed;
use crate::markdown;
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap, wrap_lines};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LayoutKey {
    version: u32,
    open: bool,
    gap: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ItemLayout {
    key: LayoutKey,
    /// The unique number of the layout. Rows with the same number are equal.
    pub(super) number: usize,
    rows: Vec<TranscriptRow>,
    lines: Vec<Line<'static>>,
    /// True if the lines of the item's text follow; those are kept with the text.
    of_words: bool,
    indent: u16,
    over: Option<Style>,
}

#[derive(Debug)]
pub(super) struct LayoutCache {
    pub(super) width: u16,
    pub(super) theme: Theme,
    pub(super) images: Option<ImageScreen>,
    pub(super) now: Option<Instant>,
    pub(super) kept: BTreeMap<usize, ItemLayout>,
    pub(super) made: usize,
}

impl Default for LayoutCache {
    fn default() -> Self {
        Self { width: 80, theme: Theme::dark(), images: None, now: None, kept: BTreeMap::new(), made: 0 }
    }
}

impl LayoutCache {
    pub(super) fn rows_of<'a>(
        &'a mut self,
        at: usize,
        item: &'a mut TranscriptItem,
        open: bool,
        gap: bool,
    ) -> ItemRows<'a> {
        let key = LayoutKey { version: item.version, open, gap };
        let room =
            LayoutConstraints { width: self.width, theme: &self.theme, open, images: self.images.as_ref() };
        let made = &mut self.made;
        let mut make = |item: &TranscriptItem| {
            *made += 1;
            ItemLayout { key, number: *made, ..ItemLayout::from_item(item, room, gap, self.now) }
        };
        let layout = self.kept.entry(at).or_insert_with(|| make(item));
        if layout.key != key {
            *layout = make(item);
        }
        let width = self.width.saturating_sub(layout.indent).max(1);
        let lines = match item.model_text().filter(|_| layout.of_words) {
            Some(text) => text.rendered_mut().lines(width, &self.theme),
            None => &layout.lines,
        };
        ItemRows { own: &layout.rows, lines, indent: layout.indent, over: layout.over }
    }
}

impl ItemLayout {
    fn from_item(
        item: &TranscriptItem,
        room: LayoutConstraints<'_>,
        gap: bool,
        now: Option<Instant>,
    ) -> Self {
        let mut layout = match &item.kind {
            ItemKind::User(user) => Self { rows: user_rows(user, room), ..Self::default() },
            ItemKind::Text(text) if text.is_blank() => return Self::default(),
            ItemKind::Text(_) => Self { of_words: true, ..Self::default() },
            ItemKind::Thinking(thinking) if thinking.text.is_blank() => return Self::default(),
            ItemKind::Thinking(thinking) => thinking_layout(thinking, room),
            ItemKind::Call(call) => {
                let mut rows = vec![TranscriptRow::new(call.header_row(room.width, room.theme, now))];
                rows.extend(call.detail_rows(room));
                Self { rows, ..Self::default() }
            }
            ItemKind::Note(note) => {
                let mut layout = Self { rows: note.rows(room), ..Self::default() };
                if let Some(more) = note.more.as_ref().filter(|_| room.open) {
                    layout.lines = render(more.as_str(), room.width.saturating_sub(INDENT), room);
                    layout.indent = INDENT;
                    layout.over = Some(room.theme.style(Role::Muted));
                }
                layout
            }
            ItemKind::Page(page) => page_layout(page, room),
        };
        if gap {
            layout.rows.insert(0, TranscriptRow::default());
        }
        layout
    }
}

fn render(text: &str, width: u16, room: LayoutConstraints<'_>) -> Vec<Line<'static>> {
    markdown::render(text, width.max(1), room.theme)
}

fn user_rows(user: &UserItem, room: LayoutConstraints<'_>) -> Vec<TranscriptRow> {
    let ground = room.theme.style(Role::UserMessage);
    let mark = ground.patch(room.theme.style(Role::User));
    let rest = vec![span("  ", ground)];
    let mut lines: Vec<_> = user.text.lines().map(|line| vec![span(line, ground)]).collect();
    if lines.is_empty() && user.images.is_empty() {
        lines.push(Vec::new());
    }
    let row = |line| TranscriptRow { frame: 2, ground: Some(ground), ..TranscriptRow::new(line) };
    let hang = RowPrefixes { first: vec![span("› ", mark)], rest: rest.clone() };
    let lines = wrap_lines(lines, room.width, hang.clone(), WrapMode::Words);
    let mut rows: Vec<TranscriptRow> = lines.into_iter().map(row).collect();
    if !room.open && rows.len() > UserItem::FOLDED_ROWS + 1 {
        let hidden = rows.len() - UserItem::FOLDED_ROWS;
        rows.truncate(UserItem::FOLDED_ROWS);
        let note = format!("  … +{hidden} rows (ctrl+o)");
        rows.push(row(Line::from(span(CleanLine::new(&note), ground.patch(room.theme.style(Role::Muted))))));
    }
    for label in &user.attached {
        let label = span(
            label.clone().truncate_to_width(usize::from(room.width.saturating_sub(2))),
            ground.patch(room.theme.style(Role::Muted)),
        );
        rows.push(row(Line::from_iter([span("  ", ground), label])));
    }
    for picture in &user.images {
        let hang = if rows.is_empty() { hang.clone() } else { RowPrefixes::repeated(rest.clone()) };
        let words = wrap(
            &picture.facts.label_line(room.theme).patch_style(ground).spans,
            room.width,
            &hang,
            WrapMode::Words,
        );
        let words = words.into_iter().map(row).collect();
        rows.extend(picture.rows(words, &row(Line::default()), room));
    }
    rows
}

fn thinking_layout(thinking: &ThinkingItem, room: LayoutConstraints<'_>) -> ItemLayout {
    let style = room.theme.style(Role::Thinking);
    let seconds = thinking.took.map(|took| Duration::from_secs(took.as_secs()));
    let head = match (thinking.over, seconds.and_then(format_elapsed)) {
        _ if let Some(label) = thinking.label.as_ref().filter(|_| !room.open) => {
            format!("∴ {}", label.as_str())
        }
        (true, Some(time)) => format!("∴ thought for {time}"),
        (true, None) => "∴ thought".to_owned(),
        (false, _) if room.open => "∴ thinking…".to_owned(),
        (false, _) => {
            let last = thinking.text.as_str().trim_end().lines().next_back().unwrap_or_default();
            format!("∴ thinking… {last}")
        }
    };
    let head = CleanLine::new(&head).truncate_to_width(usize::from(room.width));
    let rows = vec![TranscriptRow::new(Line::from(span(head, style)))];
    let mut layout = ItemLayout { rows, ..ItemLayout::default() };
    if room.open {
        layout.of_words = true;
        layout.indent = INDENT;
        layout.over = Some(style);
    }
    layout
}

fn page_layout(page: &PageItem, room: LayoutConstraints<'_>) -> ItemLayout {
    let width = room.width.saturating_sub(INDENT).max(1);
    let mut heading = Vec::new();
    if let Some(extension) = &page.owner {
        heading.push(owner_label(extension, room.theme));
    }
    if page.heading.columns() > 0 {
        heading.push(span(page.heading.clone(), room.theme.style(Role::Heading)));
    }
    let mut layout = ItemLayout { indent: INDENT, ..ItemLayout::default() };
    if !heading.is_empty() {
        let rows = wrap(&heading, room.width, &RowPrefixes::default(), WrapMode::Words);
        layout.rows.extend(rows.into_iter().map(TranscriptRow::new));
    }
    let plain = page.body.lines().map(|line| vec![span(line, room.theme.style(Role::Note))]);
    layout.lines = match page.markdown {
        true => render(page.body.as_str(), width, room),
        false => wrap_lines(plain, width, RowPrefixes::default(), WrapMode::Words),
    };
    layout
}
