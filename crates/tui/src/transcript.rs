//! The conversation as it is shown.
//!
//! It is a list of items (`item.rs`): what was said, thoughts, calls, notes. They come from the events of a run or from the
//! messages of a conversation that goes on, and look alike either way, as far as messages say what events say.
//!
//! Where one is, is an item and a row of it, or the end; nothing counts the rows of all items. Items are laid out when
//! they come into view and forgotten when they are far from it, so a frame costs what is seen, however long the
//! conversation is. An item that grows keeps what has been rendered of it.
//!
//! Invariant: every text of an item went through the sanitiser when it became part of it.

mod answer;
mod args;
mod browse;
mod call;
mod draw;
mod events;
mod item;
mod layout;
mod note;
mod notes;
mod output;
mod picture;
mod restore;
mod row;
mod search;
mod select;
mod settle;
pub(crate) mod spoken;
mod tail;
mod text;
mod view;

use std::collections::HashMap;
use std::time::Instant;

use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::Message;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::app::MouseKind;
use crate::clean::{Clean, CleanLine};
use crate::image::Placement;
use crate::keys::{Browse, Scroll};
use crate::look::Look;
use crate::theme::Theme;
use answer::Answer;
use browse::Browsing;
use call::{Call, Phase};
use item::{Folds, Item, Kind, Page};
use layout::Layouts;
use note::Note;
pub use search::Found;
use search::Search;
use select::{Point, Selection};
use settle::Settled;
use spoken::Told;
use view::View;

/// Something of haft's own that stands in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// Something to know.
    Info(String),
    /// Something that went wrong.
    Error(String),
    /// What a command of haft's shows: a heading and Markdown.
    Page(String, String),
}

/// The conversation, where one is in it, and what of it is unfolded, searched and selected.
#[derive(Debug, Default)]
pub struct Transcript {
    items: Vec<Item>,
    answer: Answer,
    /// Where the calls of this run stand.
    calls: HashMap<ToolCallId, usize>,
    /// Where the calls of extensions stand that are not over.
    hosted: HashMap<ToolCallId, usize>,
    /// Where the person's commands stand that are not over.
    shells: HashMap<u64, usize>,
    folds: Folds,
    layouts: Layouts,
    view: View,
    search: Option<Search>,
    /// How many bytes searches have read.
    scanned: usize,
    browse: Option<Browsing>,
    selection: Option<Selection>,
    /// Where the button of the mouse went down.
    pressed: Option<Point>,
    /// What has been printed, where the conversation is printed and not drawn.
    told: Told,
    /// What has been printed, where only what goes on is drawn.
    settled: Settled,
}

/// What came of a key in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Browsed {
    /// Nothing that others have to know.
    Done,
    /// Text for the clipboard.
    Copy(String),
    /// Back to the editor.
    Leave,
}

impl Transcript {
    /// Another conversation in the place of this one. What is unfolded for all stays unfolded.
    /// Commands of the person's that run stand behind it.
    pub fn restore(&mut self, messages: &[Message]) {
        let view = View { height: self.view.height, ..View::default() };
        let (folds, layouts, running) = (self.folds, std::mem::take(&mut self.layouts), self.take_running());
        *self = Self { folds, layouts, view, ..Self::default() };
        self.layouts.forget_from(0);
        messages.iter().for_each(|message| self.read(message));
        for at in std::mem::take(&mut self.calls).into_values() {
            if let Some(call) = self.changed(at).and_then(Item::call) {
                call.over();
            }
        }
        for (number, item) in running {
            self.shells.insert(number, self.items.len());
            self.items.push(item);
        }
    }

    /// Nothing is in it any more but the commands of the person's that run.
    pub fn begin_anew(&mut self) {
        self.restore(&[]);
    }

    /// The items of the person's commands that are not over, the oldest first.
    fn take_running(&mut self) -> Vec<(u64, Item)> {
        let mut running: Vec<(u64, usize)> = std::mem::take(&mut self.shells).into_iter().collect();
        running.sort_unstable_by_key(|(_, at)| std::cmp::Reverse(*at));
        // From the last one on, so that those before it stay where they are.
        let mut items: Vec<(u64, Item)> = Vec::new();
        for (number, at) in running {
            if at < self.items.len() {
                items.push((number, self.items.remove(at)));
            }
        }
        items.reverse();
        items
    }

    /// Something happened. Events that are not shown in the transcript change nothing.
    pub fn event(&mut self, event: &AgentEvent, now: Instant) {
        self.happened(event, now);
    }

    /// Something of haft's own.
    pub fn say(&mut self, said: Said) {
        let kind = match said {
            Said::Info(text) => Kind::Note(Box::new(Note::info(&text))),
            Said::Error(text) => Kind::Note(Box::new(Note::error(&text))),
            Said::Page(heading, text) => {
                let (heading, body) = (CleanLine::new(&heading), Clean::new(&text));
                Kind::Page(Box::new(Page { owner: None, heading, body, markdown: true }))
            }
        };
        self.push(kind);
    }

    /// A command of the person's (`!`) begins; whether the model is told what it prints.
    pub fn shell(&mut self, number: u64, command: &str, kept: bool, now: Instant) {
        let at = self.push(Kind::Call(Box::new(Call::shell(command, kept, now))));
        self.shells.insert(number, at);
    }

    /// More of what it prints.
    pub fn shell_output(&mut self, number: u64, text: &str) {
        if let Some(call) = self.shells.get(&number).copied().and_then(|at| self.changed(at)?.call()) {
            call.output.push(text);
        }
    }

    /// The session in which it began is closed: what it prints is told to nobody.
    pub fn shell_left(&mut self, number: u64) {
        if let Some(call) = self.shells.get(&number).copied().and_then(|at| self.changed(at)?.call()) {
            call.remark(
                "",
                crate::theme::Role::Muted,
                "its session is closed: the model is not told what it prints",
            );
        }
    }

    /// It is over: its status, where it has one, or why it did not run.
    pub fn shell_end(&mut self, number: u64, outcome: Result<Option<i32>, String>, now: Instant) {
        let at = self.shells.remove(&number);
        let Some(call) = at.and_then(|at| self.changed(at)?.call()) else { return };
        call.took = call.began.map(|began| now.saturating_duration_since(began));
        call.phase = if outcome == Ok(Some(0)) { Phase::Done } else { Phase::Failed };
        match outcome {
            Ok(Some(0)) => {}
            Ok(Some(code)) => call.exit = Some(i64::from(code)),
            Ok(None) => call.remark("", crate::theme::Role::Muted, "ended by a signal"),
            Err(error) => call.remark("✗ ", crate::theme::Role::Error, &error),
        }
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Moves what is seen.
    pub fn scroll(&mut self, action: Scroll) {
        self.scrolled(action);
    }

    /// Moves what is seen by lines: down, or up when negative.
    pub fn scroll_lines(&mut self, lines: i32) {
        self.scroll_by(i64::from(lines));
    }

    /// Whether the end is seen and stays seen while more comes.
    pub fn follows(&self) -> bool {
        self.view.follow
    }

    /// Shows all tool calls in full, or folds them.
    pub fn toggle_calls(&mut self) {
        self.folds.calls = !self.folds.calls;
        let calls = |item: &&mut Item| matches!(item.kind, Kind::Call(_) | Kind::Note(_));
        self.items.iter_mut().filter(calls).for_each(|item| item.unfolded = None);
    }

    /// Shows what the model thinks, or folds it.
    pub fn toggle_thinking(&mut self) {
        self.folds.thinking = !self.folds.thinking;
        let thoughts = |item: &&mut Item| matches!(item.kind, Kind::Thinking(_));
        self.items.iter_mut().filter(thoughts).for_each(|item| item.unfolded = None);
    }

    /// Whether calls, and thoughts, are shown in full.
    pub fn unfolded(&self) -> (bool, bool) {
        (self.folds.calls, self.folds.thinking)
    }

    /// It will be seen in so many rows.
    pub fn opens(&mut self, rows: u16) {
        self.view.height = usize::from(rows);
    }

    /// The text of the model's last answer.
    pub fn last_answer(&self) -> Option<&str> {
        self.items.iter().rev().find_map(|item| match &item.kind {
            Kind::Text(text) => Some(text.as_str()).filter(|text| !text.trim().is_empty()),
            Kind::User(_) | Kind::Thinking(_) | Kind::Call(_) | Kind::Note(_) | Kind::Page(_) => None,
        })
    }

    /// Searches for a text, and moves to the match that is nearest above, or else to the nearest below; none for an empty
    /// text. Typing on searches from where it began. Where there is too much to read at once,
    /// [`search_on`](Self::search_on) goes on.
    pub fn search(&mut self, text: &str) -> Found {
        self.searched(text)
    }

    /// The match before (`true`), or the one after.
    pub fn next_match(&mut self, older: bool) -> Found {
        self.other_match(older)
    }

    /// Reads on, where it is not known yet whether there is a match.
    pub fn search_on(&mut self) -> Found {
        self.hunt()
    }

    /// What came of the search so far.
    pub fn found(&self) -> Found {
        self.search_result()
    }

    /// How many bytes searches have read so far: the measure of what a key of theirs costs.
    pub fn scanned(&self) -> usize {
        self.scanned
    }

    /// Nothing is searched for any more. One stays where the search led.
    pub fn end_search(&mut self) {
        self.search = None;
    }

    /// Nothing is searched for any more, and one is where one was before.
    pub fn leave_search(&mut self) {
        self.search_left();
    }

    /// The keyboard is here from now on: a cursor is shown.
    pub fn browse(&mut self) {
        self.start_browsing();
    }

    /// A key of the transcript's own.
    pub fn browsed(&mut self, action: Browse) -> Browsed {
        self.browse_key(action)
    }

    /// The button went down, moved while down, or went up, in columns and rows of the area that was drawn last. What is
    /// selected then is given for the clipboard when the button goes up.
    pub fn mouse(&mut self, kind: MouseKind, column: u16, row: u16) -> Option<String> {
        self.moused(kind, column, row)
    }

    /// When it looks different by itself: a spinner turns, a time goes on. None while nothing runs that was drawn last.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.next_picture(now)
    }

    /// Draws what is seen. What it takes to draw is kept for the next frame; nothing else changes.
    pub fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &Look) {
        self.paint(area, buffer, look);
    }

    /// Where images shall be in what was drawn last.
    pub fn images(&self) -> &[Placement] {
        &self.view.placements
    }

    /// The last rows, for the normal screen when all is over.
    pub fn tail(&mut self, width: u16, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
        self.last_rows(width, rows, theme)
    }

    /// How many items have been laid out so far: the measure of what a frame costs.
    pub fn laid_out(&self) -> usize {
        self.layouts.made
    }

    fn push(&mut self, kind: Kind) -> usize {
        self.items.push(Item::new(kind));
        self.items.len() - 1
    }

    /// An item that is about to be changed.
    fn changed(&mut self, at: usize) -> Option<&mut Item> {
        let item = self.items.get_mut(at)?;
        item.changed();
        Some(item)
    }

    /// What has been rendered of items is not needed now.
    fn compress(&mut self, items: impl IntoIterator<Item = usize>) {
        for at in items {
            if let Some(text) = self.items.get_mut(at).and_then(Item::words) {
                text.compress();
            }
        }
    }
}
