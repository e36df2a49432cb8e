//! Items as rows of a width, kept for what is near the view.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ratatui_core::style::Style;
use ratatui_core::text::Line;

use super::item::{Item, Kind, Page, Thinking, User};
use super::row::{INDENT, Room, Row, Rows, Showing, owner};
use crate::clean::{CleanLine, span};
use crate::figures::lasted;
use crate::markdown;
use crate::theme::{Role, Theme};
use crate::wrap::{Hang, Mode, wrap, wrap_lines};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Key {
    version: u32,
    open: bool,
    gap: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Layout {
    key: Key,
    /// Which of all that were made it is: for as long as an item has this one, its rows are the same.
    pub(super) number: usize,
    rows: Vec<Row>,
    lines: Vec<Line<'static>>,
    /// True if the lines of the item's text follow them instead, which are kept with the text.
    of_words: bool,
    indent: u16,
    over: Option<Style>,
}

#[derive(Debug)]
pub(super) struct Layouts {
    pub(super) width: u16,
    pub(super) theme: Theme,
    pub(super) images: Option<Showing>,
    pub(super) now: Option<Instant>,
    pub(super) kept: BTreeMap<usize, Layout>,
    pub(super) made: usize,
}

impl Default for Layouts {
    fn default() -> Self {
        Self { width: 80, theme: Theme::dark(), images: None, now: None, kept: BTreeMap::new(), made: 0 }
    }
}

impl Layouts {
    pub(super) fn of<'a>(&'a mut self, at: usize, item: &'a mut Item, open: bool, gap: bool) -> Rows<'a> {
        let key = Key { version: item.version, open, gap };
        let room = Room { width: self.width, theme: &self.theme, open, images: self.images.as_ref() };
        let made = &mut self.made;
        let mut make = |item: &Item| {
            *made += 1;
            Layout { key, number: *made, ..Layout::of(item, room, gap, self.now) }
        };
        let layout = self.kept.entry(at).or_insert_with(|| make(item));
        if layout.key != key {
            *layout = make(item);
        }
        let width = self.width.saturating_sub(layout.indent).max(1);
        let lines = match item.words().filter(|_| layout.of_words) {
            Some(text) => text.rendered().lines(width, &self.theme),
            None => &layout.lines,
        };
        Rows { own: &layout.rows, lines, indent: layout.indent, over: layout.over }
    }
}

impl Layout {
    fn of(item: &Item, room: Room<'_>, gap: bool, now: Option<Instant>) -> Self {
        let mut layout = match &item.kind {
            Kind::User(user) => Self { rows: user_rows(user, room), ..Self::default() },
            Kind::Text(text) if text.is_blank() => return Self::default(),
            Kind::Text(_) => Self { of_words: true, ..Self::default() },
            Kind::Thinking(thinking) if thinking.text.is_blank() => return Self::default(),
            Kind::Thinking(thinking) => thinking_layout(thinking, room),
            Kind::Call(call) => {
                let mut rows = vec![Row::new(call.head(room.width, room.theme, now))];
                rows.extend(call.below(room));
                Self { rows, ..Self::default() }
            }
            Kind::Note(note) => {
                let mut layout = Self { rows: note.rows(room), ..Self::default() };
                if let Some(more) = note.more.as_ref().filter(|_| room.open) {
                    layout.lines = render(more.as_str(), room.width.saturating_sub(INDENT), room);
                    layout.indent = INDENT;
                    layout.over = Some(room.theme.style(Role::Muted));
                }
                layout
            }
            Kind::Page(page) => page_layout(page, room),
        };
        if gap {
            layout.rows.insert(0, Row::default());
        }
        layout
    }
}

fn render(text: &str, width: u16, room: Room<'_>) -> Vec<Line<'static>> {
    markdown::render(text, width.max(1), room.theme)
}

fn user_rows(user: &User, room: Room<'_>) -> Vec<Row> {
    let ground = room.theme.style(Role::UserMessage);
    let mark = ground.patch(room.theme.style(Role::User));
    let rest = vec![span("  ", ground)];
    let mut lines: Vec<_> = user.text.lines().map(|line| vec![span(line, ground)]).collect();
    if lines.is_empty() && user.images.is_empty() {
        lines.push(Vec::new());
    }
    let row = |line| Row { frame: 2, ground: Some(ground), ..Row::new(line) };
    let hang = Hang { first: vec![span("› ", mark)], rest: rest.clone() };
    let lines = wrap_lines(lines, room.width, hang.clone(), Mode::Words);
    let mut rows: Vec<Row> = lines.into_iter().map(row).collect();
    for picture in &user.images {
        let hang = if rows.is_empty() { hang.clone() } else { Hang::all(rest.clone()) };
        let words =
            wrap(&picture.facts.line(room.theme).patch_style(ground).spans, room.width, &hang, Mode::Words);
        let words = words.into_iter().map(row).collect();
        rows.extend(picture.rows(words, &row(Line::default()), room));
    }
    rows
}

fn thinking_layout(thinking: &Thinking, room: Room<'_>) -> Layout {
    let style = room.theme.style(Role::Thinking);
    let seconds = thinking.took.map(|took| Duration::from_secs(took.as_secs()));
    let head = match (thinking.over, seconds.and_then(lasted)) {
        (true, Some(time)) => format!("∴ thought for {time}"),
        (true, None) => "∴ thought".to_owned(),
        (false, _) if room.open => "∴ thinking…".to_owned(),
        (false, _) => {
            let last = thinking.text.as_str().trim_end().lines().next_back().unwrap_or_default();
            format!("∴ thinking… {last}")
        }
    };
    let head = CleanLine::new(&head).shortened(usize::from(room.width));
    let rows = vec![Row::new(Line::from(span(head, style)))];
    let mut layout = Layout { rows, ..Layout::default() };
    if room.open {
        layout.of_words = true;
        layout.indent = INDENT;
        layout.over = Some(style);
    }
    layout
}

fn page_layout(page: &Page, room: Room<'_>) -> Layout {
    let width = room.width.saturating_sub(INDENT).max(1);
    let mut heading = Vec::new();
    if let Some(extension) = &page.owner {
        heading.push(owner(extension, room.theme));
    }
    if page.heading.columns() > 0 {
        heading.push(span(page.heading.clone(), room.theme.style(Role::Heading)));
    }
    let mut layout = Layout { indent: INDENT, ..Layout::default() };
    if !heading.is_empty() {
        let rows = wrap(&heading, room.width, &Hang::default(), Mode::Words);
        layout.rows.extend(rows.into_iter().map(Row::new));
    }
    let plain = page.body.lines().map(|line| vec![span(line, room.theme.style(Role::Note))]);
    layout.lines = match page.markdown {
        true => render(page.body.as_str(), width, room),
        false => wrap_lines(plain, width, Hang::default(), Mode::Words),
    };
    layout
}
