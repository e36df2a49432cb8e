//! The transcript.
//!
//! Its items (`document.rs`, `item.rs`) are messages, thoughts, calls and notes. They come from the events of a run
//! or from the messages of a resumed conversation. Both look the same as far as messages contain the same data. These
//! parts keep their own state: the growing answer (`answer.rs`), running calls (`calls.rs`) and the view (`view.rs`).
//! So do the search (`search.rs`), the cursor and the selection (`browse.rs`), and the printed part (`spoken.rs`,
//! `settle.rs`).
//!
//! The position of the view is a row of an item, or the end; the rows of all items are never counted. Items are laid
//! out when they become visible and forgotten when they are far away. So the cost of a frame depends on the visible
//! part, not on the length of the conversation. A growing item keeps its rendering.
//!
//! Invariant: every text of an item was sanitized when it became part of it.

mod answer;
mod browse;
mod call;
mod calls;
mod document;
mod draw;
mod item;
mod layout;
pub(crate) mod linear;
mod note;
mod notes;
mod row;
mod scrollback;
mod search;
mod view;

use std::time::Instant;

use haft_protocol::event::AgentEvent as E;
use haft_protocol::message::{AssistantBlock, Message, StopCause, ToolMessage};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, CleanText};
use crate::draw_context::DrawContext;
use crate::image::ImagePlacement;
use crate::keys::{Browse, Scroll};
use crate::mouse::MouseKind;
use crate::theme::{Role, Theme};
use answer::{AnswerInProgress, AnswerTextKind};
use browse::{BrowseCursor, SelectionTracker};
use call::{ArgumentSummary, CallItem, CallPhase};
use calls::OpenCalls;
use document::{ItemMoves, TranscriptDocument};
use item::{ItemKind, PageItem, TranscriptItem, UserItem};
use linear::LinearTranscript;
use note::{NoteItem, NoteTag};
use notes::{apply_note_event, push_note};
use scrollback::PrintedScrollback;
pub use search::SearchOutcome;
use search::TranscriptFinder;
use view::TranscriptView;

/// A message from haft itself in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalMessage {
    /// Information.
    Info(String),
    /// An error.
    Error(String),
    /// The output of a command of haft: a heading and Markdown.
    Page(String, String),
}

/// The conversation and its parts.
#[derive(Debug, Default)]
pub struct Transcript {
    doc: TranscriptDocument,
    answer: AnswerInProgress,
    calls: OpenCalls,
    view: TranscriptView,
    finder: TranscriptFinder,
    browse: Option<BrowseCursor>,
    selecting: SelectionTracker,
    /// The printed state in linear mode.
    linear_state: LinearTranscript,
    /// The printed state in inline mode.
    scrollback: PrintedScrollback,
}

/// The outcome of a key in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowseOutcome {
    /// The key was handled.
    Done,
    /// Text for the clipboard.
    Copy(String),
    /// Focus returns to the editor.
    Leave,
}

impl Transcript {
    /// Replaces the conversation. Global unfolding is kept. Running commands of the person are moved behind it.
    pub fn restore(&mut self, messages: &[Message]) {
        let view = TranscriptView { height: self.view.height, ..TranscriptView::default() };
        let running = self.calls.take_running(&mut self.doc);
        let TranscriptDocument { folds, thinking_label, mut layouts, .. } = std::mem::take(&mut self.doc);
        layouts.kept.clear();
        *self = Self {
            doc: TranscriptDocument { folds, thinking_label, layouts, ..TranscriptDocument::default() },
            view,
            ..Self::default()
        };
        messages.iter().for_each(|message| self.add_message(message));
        self.calls.end_run(&mut self.doc);
        self.calls.put_running(&mut self.doc, running);
    }

    fn add_message(&mut self, message: &Message) {
        let Self { doc, calls, .. } = self;
        match message {
            Message::User { content, .. } => {
                doc.push(ItemKind::User(Box::new(UserItem::new(content))));
            }
            Message::Assistant(message) => {
                for block in &message.content {
                    let Some(item) = answer::item_from_block(None, block) else { continue };
                    if let AssistantBlock::ToolCall(call) = block {
                        calls.of_run.insert(call.id.clone(), doc.items.len());
                    }
                    doc.items.push(item);
                }
            }
            Message::Tool(ToolMessage { call_id, name, content, is_error, details, extension, .. }) => {
                if let Some(call) = calls.call_or_new(doc, call_id, name) {
                    call.set_result(content, *is_error, details.as_ref(), extension.as_ref());
                }
            }
        }
    }

    /// Sets the text shown for hidden thoughts, from the next ones on; `None` for haft's own.
    pub fn set_thinking_label(&mut self, label: Option<CleanLine>) {
        self.doc.thinking_label = label;
    }

    /// Handles an event. Events without a place in the transcript change nothing.
    pub fn handle_event(&mut self, event: &E, now: Instant) {
        let Self { doc, answer, calls, .. } = self;
        match event {
            E::CustomMessage { display: false, .. } => {}
            E::UserMessage { content, .. } | E::CustomMessage { content, .. } => {
                doc.push(ItemKind::User(Box::new(UserItem::new(content))));
            }
            E::AssistantStart => answer.finish(doc, now),
            E::TextDelta { delta } => answer.push_delta(doc, delta, AnswerTextKind::Text, now),
            E::ThinkingDelta { delta } => answer.push_delta(doc, delta, AnswerTextKind::Thinking, now),
            E::ModelResponse { text_bytes, .. } => answer.sent_bytes = Some(*text_bytes),
            E::AssistantMessage { content, .. } => {
                let moved = answer.apply_final_content(doc, calls, content, now);
                self.apply_moves(&moved);
            }
            E::TurnEnd { stop, error } => self.finish_turn(*stop, error.as_deref(), now),
            E::Done => {
                answer.finish(doc, now);
                calls.end_run(doc);
            }
            E::ToolUseStart { id, name } => {
                answer.close(doc, now);
                answer.items.push(calls.add(doc, id, name, ArgumentSummary::default(), CallPhase::Writing));
            }
            E::ToolCall { id, name, args } => {
                answer.withhold(doc, now);
                calls.set_waiting(doc, id, name, args);
            }
            E::ToolStart { .. } | E::ToolProgress { .. } | E::ToolEnd { .. } => {
                calls.apply_tool_event(doc, event, now)
            }
            E::ToolResult { .. } => calls.apply_tool_result(doc, event),
            E::HostCallStart { .. } | E::HostCallEnd { .. } => calls.apply_host_call(doc, event, now),
            E::ToolRewritten { .. }
            | E::ToolRewriteConflict { .. }
            | E::ToolBlocked { .. }
            | E::ToolSkipped { .. } => calls.apply_decision(doc, event),
            E::Retry { .. } | E::ModelFallback { .. } => {
                let moved = answer.restart(doc, calls, now);
                apply_note_event(doc, event);
                self.apply_moves(&moved);
            }
            E::EventGap { lost } => self.record_gap(*lost),
            E::Interrupted { .. }
            | E::TurnDiscarded { .. }
            | E::CompactionStart { .. }
            | E::CompactionEnd { .. }
            | E::SessionRepaired { .. }
            | E::TrustRequired { .. }
            | E::Error { .. }
            | E::ExtDisplay { .. }
            | E::GateOff { .. }
            | E::ExtensionError(_) => apply_note_event(doc, event),
            E::Session { .. } | E::QueueUpdate { .. } | E::TurnStart { .. } | E::ModelRequest { .. } => {}
            E::ToolUseArgs { .. } | E::ToolUseEnd { .. } | E::Usage { .. } | E::SteeringInjected { .. } => {}
            E::ExtNotify { .. } | E::ExtClearNotes { .. } => {}
            E::AgentStart | E::Settled | E::ModelChanged { .. } | E::ThinkingChanged { .. } => {}
            _ => {}
        }
    }

    fn record_gap(&mut self, lost: u64) {
        self.answer.gap = true;
        self.calls.mark_host_calls_lost(&mut self.doc);
        let before = match self.doc.items.last().and_then(TranscriptItem::note).map(|note| note.tag) {
            Some(NoteTag::Gap(before)) => before,
            Some(NoteTag::Plain | NoteTag::Retry | NoteTag::Compacting | NoteTag::Failure) | None => 0,
        };
        push_note(&mut self.doc, NoteItem::lost_events(before.saturating_add(lost)));
    }

    fn finish_turn(&mut self, stop: StopCause, error: Option<&str>, now: Instant) {
        let Self { doc, answer, .. } = self;
        match stop {
            StopCause::End | StopCause::ToolUse | StopCause::Length => answer.withhold(doc, now),
            StopCause::Error | StopCause::Aborted => {}
        }
        answer.finish(doc, now);
        match (stop, error) {
            // The person requested it, so it is not a failure.
            (StopCause::Aborted, _) => push_note(doc, NoteItem::muted("stopped")),
            (_, Some(error)) => push_note(doc, NoteItem { tag: NoteTag::Failure, ..NoteItem::error(error) }),
            (StopCause::Length, None) => {
                push_note(doc, NoteItem::warning("the answer reached the output limit of the model"))
            }
            (StopCause::End | StopCause::ToolUse | StopCause::Error, None) => {}
        }
    }

    fn apply_moves(&mut self, moved: &ItemMoves) {
        self.linear_state.apply_moves(moved);
        self.finder.forget_from(moved.from);
        self.scrollback.past = self.scrollback.past.min(moved.from);
    }

    /// Adds a message from haft itself.
    pub fn push_local(&mut self, said: LocalMessage) {
        let kind = match said {
            LocalMessage::Info(text) => ItemKind::Note(Box::new(NoteItem::info(&text))),
            LocalMessage::Error(text) => ItemKind::Note(Box::new(NoteItem::error(&text))),
            LocalMessage::Page(heading, text) => {
                let (heading, body) = (CleanLine::new(&heading), CleanText::new(&text));
                ItemKind::Page(Box::new(PageItem { owner: None, heading, body, markdown: true }))
            }
        };
        self.doc.push(kind);
    }

    /// Starts a command of the person (`!`). `kept` is true if the output is sent to the model.
    pub fn start_shell(&mut self, number: u64, command: &str, kept: bool, now: Instant) {
        self.calls.add_shell(&mut self.doc, number, CallItem::from_shell(command, kept, now));
    }

    /// Adds output of a command.
    pub fn shell_output(&mut self, number: u64, text: &str) {
        if let Some(call) = self.calls.shell_call(&mut self.doc, number) {
            call.output.push(text);
        }
    }

    /// Records that the session of a command was closed, so its output is not sent to the model.
    pub fn detach_shell(&mut self, number: u64) {
        if let Some(call) = self.calls.shell_call(&mut self.doc, number) {
            call.add_remark("", Role::Muted, "session closed: the output is not sent to the model");
        }
    }

    /// Ends a command with its status, if it has one, or the reason why it did not run.
    pub fn finish_shell(&mut self, number: u64, outcome: Result<Option<i32>, String>, now: Instant) {
        self.calls.finish_shell(&mut self.doc, number, outcome, now);
    }

    /// True if the transcript is empty.
    pub fn is_empty(&self) -> bool {
        self.doc.items.is_empty()
    }

    /// Scrolls the view.
    pub fn scroll(&mut self, action: Scroll) {
        self.finder.stop();
        self.view.scroll(&mut self.doc, action);
    }

    /// Scrolls by lines: down, or up when negative.
    pub fn scroll_lines(&mut self, lines: i32) {
        self.finder.stop();
        self.view.scroll_by(&mut self.doc, i64::from(lines));
    }

    /// True if the view follows the end.
    pub fn is_following(&self) -> bool {
        self.view.top.is_none()
    }

    /// Unfolds or folds all tool calls.
    pub fn toggle_calls(&mut self) {
        self.doc.folds.calls = !self.doc.folds.calls;
        let calls = |item: &&mut TranscriptItem| {
            matches!(item.kind, ItemKind::Call(_) | ItemKind::Note(_) | ItemKind::User(_))
        };
        self.doc.items.iter_mut().filter(calls).for_each(|item| item.unfolded = None);
    }

    /// Unfolds or folds the model's thinking.
    pub fn toggle_thinking(&mut self) {
        self.doc.folds.thinking = !self.doc.folds.thinking;
        let thoughts = |item: &&mut TranscriptItem| matches!(item.kind, ItemKind::Thinking(_));
        self.doc.items.iter_mut().filter(thoughts).for_each(|item| item.unfolded = None);
    }

    /// Returns whether calls and thoughts are unfolded.
    pub fn unfolded_kinds(&self) -> (bool, bool) {
        (self.doc.folds.calls, self.doc.folds.thinking)
    }

    /// Sets the height of the view in rows.
    pub fn set_height(&mut self, rows: u16) {
        self.view.height = usize::from(rows);
    }

    /// Returns the text of the model's last answer.
    pub fn last_answer(&self) -> Option<&str> {
        self.doc.items.iter().rev().filter_map(TranscriptItem::text).find(|text| !text.trim().is_empty())
    }

    /// Searches for a text and moves to the nearest match above, or else below. An empty text has no match. Typing
    /// more continues from the same origin. If there is too much to read at once,
    /// [`continue_search`](Self::continue_search) continues.
    pub fn search(&mut self, text: &str) -> SearchOutcome {
        let found = self.finder.search(&mut self.doc, &mut self.view, text);
        self.follow_match(found)
    }

    /// Moves to the previous match (`true`) or the next one.
    pub fn next_match(&mut self, older: bool) -> SearchOutcome {
        let found = self.finder.next_match(&mut self.doc, &mut self.view, older);
        self.follow_match(found)
    }

    /// Continues a search whose outcome is not known yet.
    pub fn continue_search(&mut self) -> SearchOutcome {
        let found = self.finder.continue_scan(&mut self.doc, &mut self.view);
        self.follow_match(found)
    }

    fn follow_match(&mut self, found: SearchOutcome) -> SearchOutcome {
        if let (Some(at), Some(browse)) = (self.finder.take_landing(), &mut self.browse) {
            browse.cursor = at;
        }
        found
    }

    /// Returns the outcome of the search so far.
    pub fn search_outcome(&self) -> SearchOutcome {
        self.finder.outcome()
    }

    /// Returns the number of bytes read by searches: a measure of the cost of their keys.
    pub fn scanned_bytes(&self) -> usize {
        self.finder.scanned
    }

    /// Ends the search. The view stays at the match.
    pub fn end_search(&mut self) {
        self.finder.end();
    }

    /// Ends the search and restores the previous position.
    pub fn leave_search(&mut self) {
        self.finder.cancel(&mut self.doc, &mut self.view);
    }

    /// Moves keyboard focus to the transcript and shows a cursor.
    pub fn start_browsing(&mut self) {
        self.browse = Some(BrowseCursor::begin(&mut self.doc, &mut self.view));
        self.selecting.selection = None;
    }

    /// Handles a key of the transcript.
    pub fn handle_browse(&mut self, action: Browse) -> BrowseOutcome {
        let Self { doc, view, finder, browse, selecting, .. } = self;
        let Some(browsing) = browse else { return BrowseOutcome::Leave };
        if !matches!(action, Browse::NextMatch | Browse::PreviousMatch) {
            finder.stop();
        }
        browsing.clamp(doc);
        match action {
            Browse::Copy => return self.copy_selection(),
            Browse::Close => {
                view.top = view.top.filter(|_| !browsing.followed);
                selecting.selection = None;
                *browse = None;
                return BrowseOutcome::Leave;
            }
            Browse::NextMatch | Browse::PreviousMatch => {
                self.next_match(action == Browse::PreviousMatch);
                self.extend_selection();
                return BrowseOutcome::Done;
            }
            Browse::Mark | Browse::MarkLines => {
                selecting.toggle_mark(browsing.cursor, action == Browse::MarkLines);
            }
            Browse::Expand => {
                doc.toggle_fold(browsing.cursor.at.item);
                browsing.clamp(doc);
            }
            Browse::Up | Browse::Down | Browse::Left | Browse::Right => browsing.move_cursor(doc, action),
            Browse::LineStart | Browse::LineEnd => browsing.move_cursor(doc, action),
        }
        view.reveal(doc, browsing.cursor.at);
        self.extend_selection();
        BrowseOutcome::Done
    }

    fn extend_selection(&mut self) {
        if let (Some(browsing), Some(selection)) = (&self.browse, &mut self.selecting.selection) {
            selection.to = browsing.cursor;
        }
    }

    fn copy_selection(&mut self) -> BrowseOutcome {
        let at = self.browse.as_ref().map_or(0, |browsing| browsing.cursor.at.item);
        let text = match self.selecting.selection.is_some() {
            true => self.selecting.selected_text(&mut self.doc),
            false => {
                self.doc.items.get(at).map(TranscriptItem::clipboard_text).filter(|text| !text.is_empty())
            }
        };
        self.selecting.selection = None;
        text.map_or(BrowseOutcome::Done, BrowseOutcome::Copy)
    }

    /// Handles a press, drag or release of the mouse, in columns and rows of the last drawn area. A release returns
    /// the selected text for the clipboard.
    pub fn handle_mouse(&mut self, kind: MouseKind, column: u16, row: u16) -> Option<String> {
        let Self { doc, view, selecting, .. } = self;
        match kind {
            // The wheel may scroll something else.
            MouseKind::WheelUp | MouseKind::WheelDown => {}
            MouseKind::Press => selecting.start_drag(view.cell_at(column, row)),
            MouseKind::Drag => selecting.drag_to(view.cell_at(column, row)),
            MouseKind::Release => {
                let pressed = selecting.pressed.take()?;
                if selecting.selection.is_some() {
                    return selecting.selected_text(doc);
                }
                // A click on the row of a call is equivalent to the key.
                if pressed.at.row == doc.gap_rows(pressed.at.item) {
                    doc.toggle_fold(pressed.at.item);
                }
            }
        }
        None
    }

    /// Returns the time of the next visible change, of a spinner or an elapsed time. `None` if nothing that runs was
    /// drawn last.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.view.next_spinner_frame(&self.doc, now)
    }

    /// Returns the image positions of the last drawing.
    pub fn image_placements(&self) -> &[ImagePlacement] {
        &self.view.placements
    }

    /// Returns the last rows, for the normal screen at exit.
    pub fn last_rows(&mut self, width: u16, rows: usize, theme: &Theme) -> Vec<Line<'static>> {
        self.doc.last_rows(width, rows, theme)
    }

    /// Records text that the person typed in linear mode. The terminal shows it already, so it is not printed again.
    pub fn record_typed(&mut self, text: &str) {
        self.linear_state.record_typed(text);
    }

    /// Returns the rows to print since the last call, for a width. Each row is returned once.
    pub fn take_linear_rows(&mut self, width: u16) -> Vec<CleanLine> {
        self.linear_state.take_rows(&self.doc, &self.answer, width)
    }

    /// Returns the whole output of the last call, as rows of a width. `None` if there was no call.
    pub fn last_output(&self, width: u16) -> Option<Vec<CleanLine>> {
        linear::last_output(&self.doc, width)
    }

    /// Returns the rows to print now, each of them once: all finished items, and more if necessary, so that at most
    /// `room` rows are left.
    pub fn take_settled_rows(&mut self, width: u16, room: usize, look: &DrawContext) -> Vec<Line<'static>> {
        self.scrollback.take_settled_rows(&mut self.doc, &self.answer, width, room, look)
    }

    /// Returns everything that has not been printed, in its current state.
    pub fn take_remaining_rows(&mut self, width: u16, look: &DrawContext) -> Vec<Line<'static>> {
        self.scrollback.take_remaining_rows(&mut self.doc, width, look)
    }

    /// Returns the number of rows left after [`take_settled_rows`](Self::take_settled_rows).
    pub fn live_rows(&self) -> usize {
        self.scrollback.live
    }

    /// Draws the last rows of the part that has not been printed.
    pub fn draw_live(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        self.scrollback.draw(&mut self.doc, &mut self.view, area, buffer, look);
    }

    /// Returns the number of items laid out so far: a measure of the cost of a frame.
    pub fn layout_count(&self) -> usize {
        self.doc.layouts.made
    }
}
