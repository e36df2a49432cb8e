//! `State`: everything that the interface knows.

use std::time::Instant;

use haft_protocol::rpc::{Command, Params, ReloadExt, Request};

use crate::keys::Keymap;
use crate::look::Look;
use crate::panel::Panel;
use crate::queue::Queue;
use crate::theme::{Appearance, Theme};
use crate::timeouts;
use crate::transcript::{Said, Transcript};

use super::dialogs::Dialogs;
use super::held::{Following, Held, Unsent};
use super::inline::Inline;
use super::input::Input;
use super::known::Known;
use super::late::Late;
use super::lines::Lines;
use super::notes::Notes;
use super::overlay::{Coming, Overlay};
use super::page::Page;
use super::pending::{Open, Pending};
use super::session::Session;
use super::settings::Settings;
use super::themes::Themes;
use super::update::{Pastes, Sending, Shut};
use super::view::Areas;
use super::work::Work;
use super::{Ask, Effect};

/// What the interface begins with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Which key does what.
    pub keymap: Keymap,
    /// The settings of the interface.
    pub settings: Settings,
    /// What the terminal's background is.
    pub appearance: Appearance,
    /// Which haft this is.
    pub version: String,
    /// A prompt that is sent as soon as it can be.
    pub prompt: Option<String>,
    /// Whether the first thing is to pick a session to go on with.
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
    pub(super) branch: Option<String>,
    /// What was said not to be used because the project is not trusted.
    pub(super) untrusted: Vec<String>,
    pub(super) transcript: Transcript,
    /// Whether the keyboard is in the transcript.
    pub(super) browses: bool,
    /// Whether matches of a search are shown.
    pub(super) searched: bool,
    pub(super) input: Input,
    pub(super) known: Known,
    pub(super) lines: Lines,
    pub(super) inline: Inline,
    pub(super) queue: Queue,
    pub(super) notes: Notes,
    pub(super) panel: Option<Panel>,
    pub(super) shut: Shut,
    pub(super) dialogs: Dialogs,
    pub(super) overlay: Option<Overlay>,
    pub(super) coming: Option<Coming>,
    pub(super) open: Open,
    pub(super) work: Work,
    pub(super) pastes: Pastes,
    pub(super) sending: Vec<Sending>,
    pub(super) held: Held,
    /// Whose text the person's own editor has.
    pub(super) edits: Edits,
    /// Keys that were meant for a question that is over.
    pub(super) late: Option<Late>,
    pub(super) flash: Option<Flash>,
    /// Until when the key that was pressed leaves, pressed again.
    pub(super) quits_until: Option<Instant>,
    pub(super) extensions_at: Option<Instant>,
    /// When a search that is not over goes on.
    pub(super) searches_at: Option<Instant>,
    /// What is reloaded as soon as nothing is worked on.
    pub(super) reloads: Option<ReloadExt>,
    /// Whether a session is to be picked before anything is said.
    pub(super) resumes: bool,
    /// A number for what is asked and is answered with it.
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) areas: Areas,
    pub(super) effects: Vec<Effect>,
}

/// Whose text the person's own editor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edits {
    /// The prompt that is being written.
    Prompt,
    /// The question of that number.
    Dialog(u64),
}

/// A word about what was done.
#[derive(Debug)]
pub(super) struct Flash {
    pub(super) text: String,
    pub(super) until: Instant,
}

impl State {
    /// An interface that knows nothing yet; [`start`](super::start) says what it asks first.
    pub fn new(options: Options, now: Instant) -> Self {
        let Options { size, keymap, settings, appearance, version, prompt, resume } = options;
        let themes = Themes::new(appearance, settings.get(super::settings::THEME));
        let mut known = Known::new();
        known.themes = themes.names();
        let transcript = settings.transcript();
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
            known,
            transcript,
            resumes: resume,
            session: Session::default(),
            branch: None,
            untrusted: Vec::new(),
            browses: false,
            searched: false,
            input: Input::default(),
            queue: Queue::default(),
            notes: Notes::default(),
            panel: None,
            shut: Shut::default(),
            dialogs: Dialogs::default(),
            overlay: None,
            coming: None,
            open: Open::default(),
            work: Work::default(),
            pastes: Pastes::default(),
            sending: Vec::new(),
            held,
            edits: Edits::Prompt,
            late: None,
            flash: None,
            quits_until: None,
            extensions_at: None,
            reloads: None,
            searches_at: None,
            number: 0,
            title: String::new(),
            areas: Areas::default(),
            effects: Vec::new(),
        }
    }

    /// The theme that counts, with all of its colours.
    pub fn theme(&self) -> &Theme {
        self.themes.theme()
    }

    /// What a frame of this moment is drawn with.
    pub fn look(&self, now: Instant) -> Look {
        Look { theme: self.theme().clone(), now, images: None }
    }

    /// The settings of the interface as they are now.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The conversation.
    pub fn transcript(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// The session that is shown, as soon as it is known.
    pub fn session(&self) -> Option<&str> {
        self.session.id.as_deref()
    }

    /// Whether something is worked on.
    pub fn works(&self) -> bool {
        self.work.is_on()
    }

    /// When it looks different by itself, or wants to do something. None while nothing moves.
    pub fn wakes_at(&self, now: Instant) -> Option<Instant> {
        if self.lines.on {
            return [self.extensions_at, self.lines_wake_at()].into_iter().flatten().min();
        }
        let spinner = self.work.since.and_then(|since| self.theme().spinner().changes_at(since, now));
        let flash = self.flash.as_ref().map(|flash| flash.until);
        let inner = [self.transcript.wakes_at(now), self.dialogs.wakes_at(now)];
        [spinner, flash, self.quits_until, self.extensions_at, self.searches_at]
            .into_iter()
            .chain(inner)
            .flatten()
            .min()
    }

    pub(super) fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(super) fn ask(&mut self, ask: Ask) {
        self.effects.push(Effect::Ask(ask));
    }

    /// A command about the session that is shown.
    pub(super) fn send<C: Params>(&mut self, command: C, pending: Pending) {
        let session = self.session.id.clone();
        self.send_to(command, session, pending);
    }

    /// A command about a session.
    pub(super) fn send_to(&mut self, command: impl Into<Command>, session: Option<String>, pending: Pending) {
        let id = Some(self.open.add(pending));
        let request = Request { id, command: command.into(), session };
        self.effects.push(Effect::Send(Box::new(request)));
    }

    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.tell(Said::Info(text.into()));
    }

    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.tell(Said::Error(text.into()));
    }

    /// Something of haft's own, behind the conversation.
    fn tell(&mut self, said: Said) {
        if let Some(Following::Said(said)) = self.held.keeps(Following::Said(said)) {
            self.transcript.say(said);
        }
    }

    /// A word in the status line.
    pub(super) fn flash(&mut self, text: impl Into<String>) {
        let text = text.into();
        self.lines.say(&text);
        if !self.lines.on {
            self.flash = Some(Flash { text, until: self.now + timeouts::FLASH });
        }
    }

    /// A page to read. Where nothing is drawn anew, it stands among the rest.
    pub(super) fn show_page(&mut self, title: &str, text: String) {
        match self.lines.on {
            true => self.tell(Said::Page(title.to_owned(), text)),
            false => self.overlay = Some(Overlay::Page(Page::new(title, text))),
        }
    }

    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// How many columns the text of the editor has.
    pub(super) fn text_width(&self) -> u16 {
        self.size.0.saturating_sub(super::view::MARK)
    }
}
