//! The transcript with its browse mode and its search.

use std::time::Instant;

use haft_protocol::event::AgentEvent;
use haft_protocol::message::Message;
use ratatui_core::layout::Rect;

use super::component::{Component, InputContext, InputOutcome};
use super::intent::ComponentIntent;
use super::search::{SearchField, SearchKeyOutcome};
use super::{Effect, MouseAction, MouseKind};
use crate::keys::{Action, Browse, Context, KeyPress};
use crate::timeouts;
use crate::transcript::{BrowseOutcome, LocalMessage, SearchOutcome, Transcript};

/// The rows that one step of the mouse wheel scrolls.
const WHEEL: i32 = 3;

#[derive(Debug)]
pub(super) struct ConversationView {
    transcript: Transcript,
    load_state: TranscriptLoadState,
    /// True while the transcript has the keyboard.
    browsing: bool,
    searched: bool,
    search: Option<SearchField>,
    searches_at: Option<Instant>,
    /// The folds before the transcript was opened in inline mode: true if tool calls, and if thinking, were unfolded.
    folds: Option<(bool, bool)>,
}

#[derive(Debug)]
enum TranscriptLoadState {
    Loading(Vec<DeferredUpdate>),
    Loaded,
}

#[derive(Debug)]
pub(super) enum DeferredUpdate {
    Event(AgentEvent),
    Notice(LocalMessage),
}

impl ConversationView {
    /// Creates a view that waits for the messages of the session.
    pub(super) fn new(transcript: Transcript) -> Self {
        Self {
            transcript,
            load_state: TranscriptLoadState::Loading(Vec::new()),
            browsing: false,
            searched: false,
            search: None,
            searches_at: None,
            folds: None,
        }
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(super) fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// True until the messages of the session have arrived.
    pub(super) fn is_loading(&self) -> bool {
        matches!(self.load_state, TranscriptLoadState::Loading(_))
    }

    /// Waits for a reload of the session's messages. Updates that are already deferred stay deferred.
    pub(super) fn start_loading(&mut self) {
        if !self.is_loading() {
            self.load_state = TranscriptLoadState::Loading(Vec::new());
        }
    }

    /// Waits for the messages of another session and drops deferred updates.
    pub(super) fn restart_loading(&mut self) {
        self.load_state = TranscriptLoadState::Loading(Vec::new());
    }

    pub(super) fn restore(&mut self, messages: &[Message]) {
        self.transcript.restore(messages);
    }

    pub(super) fn finish_loading(&mut self) -> Vec<DeferredUpdate> {
        match std::mem::replace(&mut self.load_state, TranscriptLoadState::Loaded) {
            TranscriptLoadState::Loading(later) => later,
            TranscriptLoadState::Loaded => Vec::new(),
        }
    }

    /// Returns the event if it can be shown now. Otherwise the event is deferred until the messages have arrived.
    pub(super) fn defer_until_loaded(&mut self, event: AgentEvent) -> Option<AgentEvent> {
        match &mut self.load_state {
            TranscriptLoadState::Loading(later) => {
                later.push(DeferredUpdate::Event(event));
                None
            }
            TranscriptLoadState::Loaded => Some(event),
        }
    }

    pub(super) fn push_notice(&mut self, notice: LocalMessage) {
        match &mut self.load_state {
            TranscriptLoadState::Loading(later) => later.push(DeferredUpdate::Notice(notice)),
            TranscriptLoadState::Loaded => self.transcript.push_local(notice),
        }
    }

    pub(super) fn reset_transcript(&mut self) {
        self.transcript.restore(&[]);
        (self.browsing, self.searched) = (false, false);
    }

    /// True while the transcript has the keyboard.
    pub(super) fn is_browsing(&self) -> bool {
        self.browsing
    }

    pub(super) fn search(&self) -> Option<&SearchField> {
        self.search.as_ref()
    }

    pub(super) fn search_status(&self) -> SearchOutcome {
        match &self.search {
            Some(search) if search.text().is_empty() => SearchOutcome::Match,
            Some(_) | None => self.transcript.search_outcome(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.browsing || self.search.is_some()
    }

    pub(super) fn start_browsing(&mut self) {
        self.browsing = true;
        self.transcript.start_browsing();
    }

    pub(super) fn start_search(&mut self) {
        self.search = Some(SearchField::new("search: "));
    }

    /// Removes the highlighted matches of a search. Returns false if there were none.
    pub(super) fn clear_search_results(&mut self) -> bool {
        let shows = std::mem::take(&mut self.searched);
        if shows {
            self.transcript.end_search();
        }
        shows
    }

    /// Opens the transcript on a screen of `rows` rows in inline mode.
    pub(super) fn open_over_inline(&mut self, rows: u16) {
        self.folds.get_or_insert(self.transcript.unfolded_kinds());
        self.transcript.set_height(rows);
    }

    pub(super) fn advance_search(&mut self, now: Instant) {
        if self.searches_at.is_some_and(|at| at <= now) {
            self.searches_at = None;
            self.transcript.continue_search();
        }
        match self.transcript.search_outcome() {
            SearchOutcome::Searching(_) => {
                self.searches_at.get_or_insert(now + timeouts::FRAME);
            }
            SearchOutcome::Match | SearchOutcome::Nothing | SearchOutcome::Stopped => self.searches_at = None,
        }
        self.restore_folds();
    }

    /// Restores the folds from before the transcript was opened, so that later output is folded like earlier output.
    fn restore_folds(&mut self) {
        if self.is_open() {
            return;
        }
        let Some((calls, thinking)) = self.folds.take() else { return };
        let (calls_now, thinking_now) = self.transcript.unfolded_kinds();
        if calls != calls_now {
            self.transcript.toggle_calls();
        }
        if thinking != thinking_now {
            self.transcript.toggle_thinking();
        }
    }

    fn search_changed(&mut self) {
        if let Some(search) = &self.search {
            self.transcript.search(search.text());
            self.searched = !search.text().is_empty();
        }
    }

    /// Ends the search, at its match if `taken`, otherwise at the position before the search.
    fn end_search(&mut self, taken: bool, scope: &mut InputContext<'_>) {
        let Some(search) = self.search.take() else { return };
        self.searched = taken && !search.text().is_empty();
        match taken {
            true => scope.out.push_intent(ComponentIntent::ShowMatch),
            false => self.transcript.leave_search(),
        }
    }

    fn handle_browse_key(&mut self, action: Browse, scope: &mut InputContext<'_>) {
        match self.transcript.handle_browse(action) {
            BrowseOutcome::Done => {}
            BrowseOutcome::Copy(text) => scope.out.push_effect(Effect::Copy(text)),
            BrowseOutcome::Leave => self.browsing = false,
        }
        if action == Browse::Close {
            self.browsing = false;
        }
    }

    fn select(&mut self, mouse: MouseAction, area: Rect) -> Option<String> {
        let inside = area.contains((mouse.column, mouse.row).into());
        // A press outside the area selects nothing; a drag may leave the area.
        if mouse.kind == MouseKind::Press && !inside {
            return None;
        }
        let column = mouse.column.saturating_sub(area.x).min(area.width.saturating_sub(1));
        let row = mouse.row.saturating_sub(area.y).min(area.height.saturating_sub(1));
        self.transcript.handle_mouse(mouse.kind, column, row)
    }
}

impl Component for ConversationView {
    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        [self.searches_at, self.transcript.wakes_at(now)].into_iter().flatten().min()
    }

    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome {
        if let Some(search) = &mut self.search {
            match search.handle_key(press, scope.width) {
                SearchKeyOutcome::Nothing => {}
                SearchKeyOutcome::Changed => self.search_changed(),
                SearchKeyOutcome::Next { older } => {
                    self.transcript.next_match(older);
                }
                SearchKeyOutcome::Over { taken } => self.end_search(taken, scope),
            }
            return InputOutcome::for_text_input(press, &[Context::Search]);
        }
        if !self.browsing {
            return InputOutcome::PassedOn;
        }
        match press.action(Context::Browse) {
            Some(Action::Browse(action)) => {
                self.handle_browse_key(action, scope);
                InputOutcome::Handled
            }
            unclaimed => InputOutcome::Unclaimed(unclaimed),
        }
    }

    fn handle_paste(&mut self, text: &str, _: &mut InputContext<'_>) -> InputOutcome {
        if let Some(search) = &mut self.search {
            search.paste(text);
            self.search_changed();
            return InputOutcome::Handled;
        }
        // The text is meant for the composer, which also gets the keyboard.
        if std::mem::take(&mut self.browsing) {
            self.transcript.handle_browse(Browse::Close);
        }
        InputOutcome::PassedOn
    }

    fn handle_mouse(&mut self, mouse: MouseAction, scope: &mut InputContext<'_>) -> InputOutcome {
        match mouse.kind {
            MouseKind::WheelUp => self.transcript.scroll_lines(-WHEEL),
            MouseKind::WheelDown => self.transcript.scroll_lines(WHEEL),
            MouseKind::Press | MouseKind::Drag | MouseKind::Release => {
                if let Some(text) = self.select(mouse, scope.main) {
                    scope.out.push_effect(Effect::Copy(text));
                }
            }
        }
        InputOutcome::Handled
    }
}
