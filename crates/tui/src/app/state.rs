//! The state of the interface.

use std::time::{Instant, SystemTime};

use haft_protocol::rpc::{
    AbortCommand, ClientInfo, GetState, HelloCommand, ListCommands, ListExtensions, ListSessions, ReloadExt,
    TakeQueued,
};

use crate::dialog::{AnswerKind, Question};
use crate::diff::Diff;
use crate::draw_context::DrawContext;
use crate::keys::Keymap;
use crate::picker::{PickerAbilities, PickerRow};
use crate::queue::MessageQueue;
use crate::theme::{Appearance, SpinnerStyle, Theme};
use crate::transcript::{LocalMessage, Transcript};

use super::activity::ActivityState;
use super::areas::ScreenAreas;
use super::completion_catalog::CompletionCatalog;
use super::component::{Component, InputContext, InputOutcome};
use super::composer::MARK;
use super::deferred_input::{DeferredInput, QueueSyncState, UnsentMessage};
use super::extension_screen::ExtensionScreen;
use super::image_prompts::ImagePromptQueue;
use super::inline::InlineScreen;
use super::intent::{AnswerUse, ChoiceUse};
use super::linear::{LinearPrinter, PrintSources};
use super::menu::{Menu, PendingPicker};
use super::notes::ExtensionNotes;
use super::outbox::Outbox;
use super::page::CoverPage;
use super::pending_request::{ListUse, PendingRequest, TakeBackUse};
use super::session::CurrentSession;
use super::settings::Settings;
use super::shortcuts::ExtensionShortcuts;
use super::stack::ComponentStack;
use super::status::StatusBar;
use super::themes::ThemeCatalog;
use super::waiting_messages::list_waiting_messages;
use super::{BackendRequest, Effect, LinearOutput};

/// The initial options of the interface.
#[derive(Debug, Clone)]
pub struct AppOptions {
    /// The columns and rows of the terminal.
    pub size: (u16, u16),
    /// The key bindings.
    pub keymap: Keymap,
    /// The settings of the interface.
    pub settings: Settings,
    /// The appearance of the terminal's background.
    pub appearance: Appearance,
    /// The version of haft.
    pub version: String,
    /// A prompt to send as soon as the session is open.
    pub prompt: Option<String>,
    /// True if the interface opens with the session picker.
    pub resume: bool,
    /// The level of the tools' sandbox, with `, network` if the network is open; for the status line.
    pub sandbox: Option<String>,
    /// True if the machine cannot enforce a part of the sandbox.
    pub has_sandbox_gap: bool,
    /// True if the user trusts the project.
    pub is_trusted: bool,
    /// Returns the time of day, from which ages are calculated.
    pub clock: fn() -> SystemTime,
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            size: (80, 24),
            keymap: Keymap::default(),
            settings: Settings::default(),
            appearance: Appearance::default(),
            version: String::new(),
            prompt: None,
            resume: false,
            sandbox: None,
            has_sandbox_gap: false,
            is_trusted: false,
            clock: SystemTime::now,
        }
    }
}

/// The state of the interface. Only [`update`](super::update()) changes it; drawing only fills caches.
#[derive(Debug)]
pub struct AppState {
    pub(super) now: Instant,
    pub(super) clock: fn() -> SystemTime,
    pub(super) size: (u16, u16),
    pub(super) keymap: Keymap,
    pub(super) settings: Settings,
    pub(super) themes: ThemeCatalog,
    pub(super) version: String,
    pub(super) session: CurrentSession,
    /// True if the user trusts the project.
    pub(super) is_trusted: bool,
    /// The names of the items that were reported as skipped because the project is not trusted.
    pub(super) untrusted: Vec<String>,
    pub(super) stack: ComponentStack,
    pub(super) linear: LinearPrinter,
    pub(super) inline: InlineScreen,
    pub(super) queue: MessageQueue,
    pub(super) notes: ExtensionNotes,
    pub(super) pending_picker: Option<PendingPicker>,
    pub(super) work: ActivityState,
    pub(super) image_prompts: ImagePromptQueue,
    pub(super) deferred: DeferredInput,
    pub(super) status: StatusBar,
    pub(super) extensions_refresh_at: Option<Instant>,
    /// The time of the next request for the background commands.
    pub(super) jobs_refresh_at: Option<Instant>,
    pub(super) pending_reload: Option<ReloadExt>,
    /// True until the user has chosen a session; no message is sent before that.
    pub(super) awaits_session_choice: bool,
    pub(super) title: String,
    pub(super) extension_screen: ExtensionScreen,
    pub(super) shortcuts: ExtensionShortcuts,
    pub(super) areas: ScreenAreas,
    pub(super) out: Outbox,
}

impl AppState {
    /// Creates the initial state. [`start`](super::start) returns the first requests.
    pub fn new(options: AppOptions, now: Instant) -> Self {
        let AppOptions {
            size,
            keymap,
            settings,
            appearance,
            version,
            prompt,
            resume,
            sandbox,
            has_sandbox_gap,
            is_trusted,
            clock,
        } = options;
        let themes = ThemeCatalog::new(appearance, settings.get(super::settings::THEME));
        let mut known = CompletionCatalog::default();
        known.themes = themes.names();
        let stack = ComponentStack::new(settings.new_transcript(), known);
        let (lines, inline) = (LinearPrinter::new(settings.screen()), InlineScreen::new(settings.screen()));
        let mut held = DeferredInput::new();
        held.unsent.extend(prompt.as_deref().and_then(UnsentMessage::from_prompt));
        Self {
            now,
            clock,
            linear: lines,
            inline,
            size,
            keymap,
            settings,
            themes,
            version,
            stack,
            awaits_session_choice: resume,
            session: CurrentSession::default(),
            is_trusted,
            untrusted: Vec::new(),
            queue: MessageQueue::default(),
            notes: ExtensionNotes::default(),
            pending_picker: None,
            work: ActivityState::default(),
            image_prompts: ImagePromptQueue::default(),
            deferred: held,
            status: StatusBar::new(sandbox, has_sandbox_gap),
            extensions_refresh_at: None,
            jobs_refresh_at: None,
            pending_reload: None,
            title: String::new(),
            extension_screen: ExtensionScreen::default(),
            shortcuts: ExtensionShortcuts::default(),
            areas: ScreenAreas::default(),
            out: Outbox::default(),
        }
    }

    /// Returns the theme in effect, with all its colors.
    pub fn theme(&self) -> &Theme {
        self.themes.theme()
    }

    /// Returns the spinner beside the line of work.
    pub(super) fn current_spinner(&self) -> SpinnerStyle {
        self.extension_screen.spinner(self.theme().spinner())
    }

    /// Returns the drawing context of a frame at `now`.
    pub fn look(&self, now: Instant) -> DrawContext {
        DrawContext { theme: self.theme().clone(), now, images: None }
    }

    /// Returns the current settings of the interface.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the transcript.
    pub fn transcript(&mut self) -> &mut Transcript {
        self.stack.conversation.transcript_mut()
    }

    /// Returns the ID of the shown session, or `None` until it is known.
    pub fn session(&self) -> Option<&str> {
        self.out.session()
    }

    /// True while the agent works.
    pub fn is_working(&self) -> bool {
        self.work.is_active()
    }

    /// Returns the time of the next [`UiEvent::Tick`](super::UiEvent::Tick), or `None` if no tick is needed.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        if self.linear.enabled {
            return [
                self.extensions_refresh_at,
                self.jobs_refresh_at,
                self.linear.wakes_at(self.stack.panel.panel()),
            ]
            .into_iter()
            .flatten()
            .min();
        }
        let since = self.work.since.filter(|_| !self.extension_screen.hides_work());
        let spinner = since.and_then(|since| self.current_spinner().next_frame_at(since, now));
        let others = [
            spinner,
            self.stack.wakes_at(now),
            self.status.wakes_at(),
            self.extensions_refresh_at,
            self.jobs_refresh_at,
        ];
        others.into_iter().flatten().min()
    }

    pub(super) fn show_info(&mut self, text: impl Into<String>) {
        self.stack.conversation.push_notice(LocalMessage::Info(text.into()));
    }

    pub(super) fn show_error(&mut self, text: impl Into<String>) {
        self.stack.conversation.push_notice(LocalMessage::Error(text.into()));
    }

    pub(super) fn flash(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.linear.print_line(&text);
        if !self.linear.enabled {
            self.status.flash(text, self.now);
        }
    }

    pub(super) fn show_page(&mut self, title: &str, text: String) {
        match self.linear.enabled {
            true => self.stack.conversation.push_notice(LocalMessage::Page(title.to_owned(), text)),
            false => (self.stack.menu, self.stack.page) = (None, Some(CoverPage::from_markdown(title, text))),
        }
    }

    pub(super) fn show_diff_page(&mut self, title: &str, diffs: Vec<Diff>) {
        (self.stack.menu, self.stack.page) = (None, Some(CoverPage::from_diffs(title, diffs)));
    }

    pub(super) fn text_width(&self) -> u16 {
        self.size.0.saturating_sub(MARK)
    }

    /// Offers input to the components in order, until one of them handles it or leaves it unclaimed.
    pub(super) fn offer_input(
        &mut self,
        give: impl Fn(&mut dyn Component, &mut InputContext<'_>) -> InputOutcome,
    ) -> InputOutcome {
        let (now, width, main) = (self.now, self.text_width(), self.areas.main);
        let Self { stack, out, keymap, .. } = self;
        stack.offer_input(&mut InputContext { now, keymap, width, main, out }, give)
    }

    /// Returns the rows to print since the last call, wrapped to `width` columns.
    pub fn take_linear_output(&mut self, now: Instant, width: u16) -> LinearOutput {
        let waiting = list_waiting_messages(&self.queue, &self.deferred, self.work.is_active());
        let Self { linear: lines, version, session, notes, stack, .. } = self;
        let ComponentStack { dialogs, menu, panel, conversation, composer, .. } = stack;
        let session = self.out.session().is_some().then_some(&*session);
        let facts = PrintSources {
            version,
            session,
            works: self.work.is_active(),
            waiting,
            transcript: conversation.transcript_mut(),
            notes,
            editor: composer.editor(),
            picker: menu.as_ref().map(Menu::picker),
            panel: panel.panel(),
            dialogs,
        };
        lines.print(facts, now, width)
    }

    /// Records that the terminal has printed the rows.
    pub fn mark_printed(&mut self, now: Instant) {
        if let Some(dialog) = self.stack.dialogs.current_mut() {
            dialog.mark_printed(now);
        }
    }

    /// True if the typed text must not be shown.
    pub fn hides_input(&self) -> bool {
        let kind = self.stack.dialogs.current().map(|dialog| &dialog.question().wanted);
        kind == Some(&AnswerKind::Input { secret: true })
    }

    /// True if the interface is drawn in inline mode, below the printed rows.
    pub(super) fn draws_inline(&self) -> bool {
        self.inline.is_on() && self.stack.shows_conversation()
    }

    pub(super) fn announce_conversation(&mut self, fallback: &str) {
        self.inline.announce_conversation(self.session.description().unwrap_or(fallback));
    }

    /// Sends `hello`, with the dialogs that this client can answer.
    pub(super) fn send_hello(&mut self) {
        let client = ClientInfo { name: "haft".to_owned(), version: Some(self.version.clone()) };
        let approve = Some(self.settings.tools_to_approve());
        let hello = HelloCommand { token: None, client: Some(client), ui: Some(true), approve };
        self.out.send_to(hello, None, PendingRequest::Hello);
    }

    pub(super) fn request_session_data(&mut self) {
        self.request_state();
        self.out.send(ListCommands {}, PendingRequest::Commands);
        self.out.send(ListExtensions {}, PendingRequest::Extensions(ListUse::CacheOnly));
        self.out.send(ListSessions {}, PendingRequest::Sessions(ListUse::CacheOnly));
    }

    /// Records that the terminal has shown the last frame.
    pub fn mark_drawn(&mut self, now: Instant) {
        if let Some(dialog) = self.stack.dialogs.current_mut() {
            dialog.mark_drawn(now);
        }
    }

    /// Records that the last frame is no longer on the screen.
    pub fn mark_hidden(&mut self) {
        self.stack.dialogs.mark_hidden();
    }

    pub(super) fn open_dialog(&mut self, question: Question, purpose: AnswerUse) {
        self.stack.dialogs.open(question, purpose, self.now);
        if self.settings.is_bell_enabled() {
            self.out.push_effect(Effect::Bell);
        }
    }

    pub(super) fn open_menu(
        &mut self,
        title: &str,
        rows: Vec<PickerRow>,
        can: PickerAbilities,
        purpose: ChoiceUse,
    ) {
        self.linear.list_changed();
        (self.stack.menu, self.stack.page) = (Some(Menu::new(title, rows, can, purpose)), None);
    }

    /// Moves unsent messages back into the composer.
    pub(super) fn restore_unsent(&mut self) {
        let unsent = std::mem::take(&mut self.deferred.unsent);
        self.stack.composer.restore_prompts(unsent.iter().map(|unsent| &unsent.submission.content));
    }

    /// Stops the agent and moves queued messages back into the composer.
    pub(super) fn abort(&mut self) {
        self.out.send(AbortCommand { queued: Some(true) }, PendingRequest::Abort);
        self.take_back_queued(TakeBackUse::Editor);
    }

    pub(super) fn take_back_queued(&mut self, taken: TakeBackUse) {
        if taken == TakeBackUse::Editor {
            self.restore_unsent();
        }
        self.deferred.queue_sync = QueueSyncState::Requested;
        self.out.send(TakeQueued {}, PendingRequest::TakeQueued(taken));
    }

    pub(super) fn request_state(&mut self) {
        let (work_revision, queue_revision) = (self.work.revision, self.deferred.queue_revision);
        self.out.send(GetState {}, PendingRequest::State { work_revision, queue_revision });
    }

    pub(super) fn stop_shell(&mut self) {
        if let Some(number) = self.work.shells.last().map(|shell| shell.number) {
            self.out.ask_backend(BackendRequest::StopShell { number });
        }
    }

    /// Requests the conversation and defers updates until it has arrived.
    pub(super) fn load_conversation(&mut self, id: &str) {
        self.stack.conversation.start_loading();
        self.out.ask_backend(BackendRequest::Conversation { session: id.to_owned() });
    }
}
