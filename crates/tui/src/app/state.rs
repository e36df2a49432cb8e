//! `State`: everything that the interface knows.

use std::time::Instant;

use haft_protocol::rpc::{
    AbortCommand, ClientInfo, GetState, HelloCommand, ListCommands, ListExtensions, ListSessions, ReloadExt, TakeQueued,
};

use crate::dialog::{Question, AnswerKind};
use crate::keys::Keymap;
use crate::look::DrawContext;
use crate::picker::{PickerAbilities, PickerRow};
use crate::queue::MessageQueue;
use crate::theme::{Appearance, Theme};
use crate::transcript::{LocalMessage, Transcript};

use super::areas::Areas;
use super::component::{Component, Flow, Scope};
use super::composer::MARK;
use super::held::{Held, Queued, Unsent};
use super::inline::Inline;
use super::intent::{AnswerUse, ChoiceUse};
use super::known::Known;
use super::lines::{Lines, PrintSources};
use super::menu::{Coming, Menu};
use super::notes::Notes;
use super::outbox::Outbox;
use super::page::Page;
use super::pending::{Pending, Shown, Taken};
use super::sending::Sendings;
use super::session::Session;
use super::settings::Settings;
use super::stack::Stack;
use super::status::StatusBar;
use super::themes::Themes;
use super::waiting::waiting;
use super::work::Work;
use super::{BackendRequest, Effect, Printed};

/// The initial options of the interface.
#[derive(Debug, Clone)]
pub struct Options {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Which key does what.
    pub keymap: Keymap,
    /// The settings of the interface.
    pub settings: Settings,
    /// The appearance of the terminal's background.
    pub appearance: Appearance,
    /// Which haft this is.
    pub version: String,
    /// A prompt that is sent as soon as it can be.
    pub prompt: Option<String>,
    /// True if the first thing is to pick a session to go on with.
    pub resume: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            size: (80, 24),
            keymap: Keymap::default(),
            settings: Settings::default(),
            appearance: Appearance::default(),
            version: String::new(),
            prompt: None,
            resume: false,
        }
    }
}

/// Everything that the interface knows. Only [`update`](super::update()) changes it; drawing fills caches.
#[derive(Debug)]
pub struct State {
    pub(super) now: Instant,
    pub(super) size: (u16, u16),
    pub(super) keymap: Keymap,
    pub(super) settings: Settings,
    pub(super) themes: Themes,
    pub(super) version: String,
    pub(super) session: Session,
    /// The names that were reported as not used because the project is not trusted.
    pub(super) untrusted: Vec<String>,
    pub(super) stack: Stack,
    pub(super) lines: Lines,
    pub(super) inline: Inline,
    pub(super) queue: MessageQueue,
    pub(super) notes: Notes,
    pub(super) coming: Option<Coming>,
    pub(super) work: Work,
    pub(super) sending: Sendings,
    pub(super) held: Held,
    pub(super) status: StatusBar,
    pub(super) extensions_at: Option<Instant>,
    pub(super) reloads: Option<ReloadExt>,
    /// True if a session is to be picked before anything is said.
    pub(super) resumes: bool,
    pub(super) title: String,
    pub(super) areas: Areas,
    pub(super) out: Outbox,
}

impl State {
    /// An interface that knows nothing yet; [`start`](super::start) says what it asks first.
    pub fn new(options: Options, now: Instant) -> Self {
        let Options { size, keymap, settings, appearance, version, prompt, resume } = options;
        let themes = Themes::new(appearance, settings.get(super::settings::THEME));
        let mut known = Known::default();
        known.themes = themes.names();
        let stack = Stack::new(settings.transcript(), known);
        let (lines, inline) = (Lines::new(settings.screen()), Inline::new(settings.screen()));
        let mut held = Held::new();
        held.unsent.extend(prompt.as_deref().and_then(Unsent::prompt));
        Self {
            now,
            lines,
            inline,
            size,
            keymap,
            settings,
            themes,
            version,
            stack,
            resumes: resume,
            session: Session::default(),
            untrusted: Vec::new(),
            queue: MessageQueue::default(),
            notes: Notes::default(),
            coming: None,
            work: Work::default(),
            sending: Sendings::default(),
            held,
            status: StatusBar::default(),
            extensions_at: None,
            reloads: None,
            title: String::new(),
            areas: Areas::default(),
            out: Outbox::default(),
        }
    }

    /// The theme that counts, with all of its colours.
    pub fn theme(&self) -> &Theme {
        self.themes.theme()
    }

    /// Returns the look of a frame at this moment.
    pub fn look(&self, now: Instant) -> DrawContext {
        DrawContext { theme: self.theme().clone(), now, images: None }
    }

    /// The settings of the interface as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The conversation.
    pub fn transcript(&mut self) -> &mut Transcript {
        self.stack.conversation.transcript_mut()
    }

    /// The session that is shown, as soon as it is known.
    pub fn session(&self) -> Option<&str> {
        self.out.session()
    }

    /// True if something is worked on.
    pub fn works(&self) -> bool {
        self.work.is_on()
    }

    /// When it looks different by itself, or wants to do something. None while nothing moves.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        if self.lines.on {
            return [self.extensions_at, self.lines.wakes_at(self.stack.panel.panel())]
                .into_iter()
                .flatten()
                .min();
        }
        let spinner = self.work.since.and_then(|since| self.theme().spinner().next_frame_at(since, now));
        let others = [spinner, self.stack.wakes_at(now), self.status.wakes_at(), self.extensions_at];
        others.into_iter().flatten().min()
    }

    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.stack.conversation.say(LocalMessage::Info(text.into()));
    }

    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.stack.conversation.say(LocalMessage::Error(text.into()));
    }

    pub(super) fn flash(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.lines.say(&text);
        if !self.lines.on {
            self.status.flash(text, self.now);
        }
    }

    pub(super) fn show_page(&mut self, title: &str, text: String) {
        match self.lines.on {
            true => self.stack.conversation.say(LocalMessage::Page(title.to_owned(), text)),
            false => (self.stack.menu, self.stack.page) = (None, Some(Page::new(title, text))),
        }
    }

    pub(super) fn text_width(&self) -> u16 {
        self.size.0.saturating_sub(MARK)
    }

    /// Offers input to the components, until one of them takes it or leaves it unclaimed.
    pub(super) fn offer(&mut self, give: impl Fn(&mut dyn Component, &mut Scope<'_>) -> Flow) -> Flow {
        let (now, width, main) = (self.now, self.text_width(), self.areas.main);
        let Self { stack, out, keymap, .. } = self;
        stack.offer(&mut Scope { now, keymap, width, main, out }, give)
    }

    /// Returns what is to be printed since the last time, as rows of a width.
    pub fn print(&mut self, now: Instant, width: u16) -> Printed {
        let waiting = waiting(&self.queue, &self.held, self.work.is_on());
        let Self { lines, version, session, notes, stack, .. } = self;
        let Stack { dialogs, menu, panel, conversation, composer, .. } = stack;
        let session = self.out.session().is_some().then_some(&*session);
        let facts = PrintSources {
            version,
            session,
            works: self.work.is_on(),
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

    /// Notes that the rows that were to be printed stand on the terminal.
    pub fn was_printed(&mut self, now: Instant) {
        if let Some(dialog) = self.stack.dialogs.shown() {
            dialog.mark_printed(now);
        }
    }

    /// True if nobody may see what is typed.
    pub fn hides_input(&self) -> bool {
        let wanted = self.stack.dialogs.first().map(|dialog| &dialog.question().wanted);
        wanted == Some(&AnswerKind::Input { secret: true })
    }

    /// True if the end of the terminal's own screen is drawn, and not all of a screen.
    pub(super) fn is_below(&self) -> bool {
        self.inline.is_on() && self.stack.shows_conversation()
    }

    pub(super) fn begin_printing(&mut self, fallback: &str) {
        self.inline.begin(self.session.about().unwrap_or(fallback));
    }

    /// Sends the greeting of the client, with the questions that it answers.
    pub(super) fn greet(&mut self) {
        let client = ClientInfo { name: "haft".to_owned(), version: Some(self.version.clone()) };
        let approve = Some(self.settings.approve());
        let hello = HelloCommand { token: None, client: Some(client), ui: Some(true), approve };
        self.out.send_to(hello, None, Pending::Hello);
    }

    pub(super) fn refresh(&mut self) {
        self.ask_state();
        self.out.send(ListCommands {}, Pending::Commands);
        self.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
        self.out.send(ListSessions {}, Pending::Sessions(Shown::No));
    }

    /// The terminal has taken all of what was drawn last.
    pub fn was_drawn(&mut self, now: Instant) {
        if let Some(dialog) = self.stack.dialogs.shown() {
            dialog.mark_drawn(now);
        }
    }

    /// Nothing of what was drawn is on the screen any more.
    pub fn was_hidden(&mut self) {
        self.stack.dialogs.hidden();
    }

    pub(super) fn ask_person(&mut self, question: Question, purpose: AnswerUse) {
        self.stack.dialogs.open(question, purpose, self.now);
        if self.settings.bell() {
            self.out.effect(Effect::Bell);
        }
    }

    pub(super) fn pick(&mut self, title: &str, rows: Vec<PickerRow>, can: PickerAbilities, purpose: ChoiceUse) {
        self.lines.list_changed();
        (self.stack.menu, self.stack.page) = (Some(Menu::new(title, rows, can, purpose)), None);
    }

    /// Puts a message that could not be sent back into the editor.
    pub(super) fn give_back_unsent(&mut self) {
        let unsent = std::mem::take(&mut self.held.unsent);
        self.stack.composer.give_back(unsent.iter().map(|unsent| &unsent.submission.content));
    }

    /// Ends what is worked on; what waits comes back.
    pub(super) fn abort(&mut self) {
        self.out.send(AbortCommand { queued: Some(true) }, Pending::Abort);
        self.take_back(Taken::Editor);
    }

    pub(super) fn take_back(&mut self, taken: Taken) {
        if taken == Taken::Editor {
            self.give_back_unsent();
        }
        self.held.waiting = Queued::Asked;
        self.out.send(TakeQueued {}, Pending::Taken(taken));
    }

    pub(super) fn ask_state(&mut self) {
        let (begun, told) = (self.work.begun, self.held.told);
        self.out.send(GetState {}, Pending::State { begun, told });
    }

    pub(super) fn stop_shell(&mut self) {
        if let Some(number) = self.work.shells.last().map(|shell| shell.number) {
            self.out.ask(BackendRequest::StopShell { number });
        }
    }

    /// Asks for the conversation; what happens until it is known follows it.
    pub(super) fn begin_conversation(&mut self, id: &str) {
        self.stack.conversation.read();
        self.out.ask(BackendRequest::Conversation { session: id.to_owned() });
    }
}
