//! `State`: everything that the interface knows.

use std::time::Instant;

use haft_protocol::rpc::ReloadExt;

use crate::keys::{Action, App, Chord, Keymap, Press, Scroll};
use crate::look::Look;
use crate::queue::Queue;
use crate::theme::{Appearance, Theme};
use crate::timeouts;
use crate::transcript::{Said, Transcript};

use super::component::{Component, Flow, Scope};
use super::composer::Composer;
use super::conversation::Conversation;
use super::dialogs::Dialogs;
use super::held::{Held, Unsent};
use super::inline::Inline;
use super::known::Known;
use super::lines::Lines;
use super::menu::{Coming, Menu};
use super::notes::Notes;
use super::outbox::{Intent, Outbox};
use super::page::Page;
use super::panel::PanelHost;
use super::pending::Taken;
use super::session::Session;
use super::settings::Settings;
use super::themes::Themes;
use super::update::Sending;
use super::view::Areas;
use super::work::Work;
use super::{Effect, Mouse, commands};

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
    pub(super) conversation: Conversation,
    pub(super) composer: Composer,
    pub(super) lines: Lines,
    pub(super) inline: Inline,
    pub(super) queue: Queue,
    pub(super) notes: Notes,
    pub(super) panel: PanelHost,
    pub(super) dialogs: Dialogs,
    pub(super) menu: Option<Menu>,
    pub(super) page: Option<Page>,
    pub(super) coming: Option<Coming>,
    pub(super) work: Work,
    pub(super) sending: Vec<Sending>,
    pub(super) held: Held,
    pub(super) flash: Option<Flash>,
    /// Until when the key that was pressed leaves, pressed again.
    pub(super) quits_until: Option<Instant>,
    pub(super) extensions_at: Option<Instant>,
    /// What is reloaded as soon as nothing is worked on.
    pub(super) reloads: Option<ReloadExt>,
    /// Whether a session is to be picked before anything is said.
    pub(super) resumes: bool,
    pub(super) title: String,
    pub(super) areas: Areas,
    pub(super) out: Outbox,
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
        let conversation = Conversation::new(settings.transcript());
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
            conversation,
            composer: Composer::new(known),
            resumes: resume,
            session: Session::default(),
            branch: None,
            untrusted: Vec::new(),
            queue: Queue::default(),
            notes: Notes::default(),
            panel: PanelHost::default(),
            dialogs: Dialogs::default(),
            menu: None,
            page: None,
            coming: None,
            work: Work::default(),
            sending: Vec::new(),
            held,
            flash: None,
            quits_until: None,
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
        self.conversation.transcript_mut()
    }

    /// The session that is shown, as soon as it is known.
    pub fn session(&self) -> Option<&str> {
        self.out.session()
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
        let inner = [self.conversation.wakes_at(now), self.dialogs.wakes_at(now)];
        [spinner, flash, self.quits_until, self.extensions_at].into_iter().chain(inner).flatten().min()
    }

    pub(super) fn info(&mut self, text: impl Into<String>) {
        self.conversation.say(Said::Info(text.into()));
    }

    pub(super) fn error(&mut self, text: impl Into<String>) {
        self.conversation.say(Said::Error(text.into()));
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
            true => self.conversation.say(Said::Page(title.to_owned(), text)),
            false => (self.menu, self.page) = (None, Some(Page::new(title, text))),
        }
    }

    /// How many columns the text of the editor has.
    pub(super) fn text_width(&self) -> u16 {
        self.size.0.saturating_sub(super::view::MARK)
    }

    /// The components in the order in which they are asked, and what they need to handle input.
    fn stack(&mut self) -> ([&mut dyn Component; 6], Scope<'_>) {
        let (now, width, main) = (self.now, self.text_width(), self.areas.main);
        let Self { dialogs, menu, page, panel, conversation, composer, out, .. } = self;
        let stack: [&mut dyn Component; 6] = [dialogs, menu, page, panel, conversation, composer];
        (stack, Scope { now, width, main, out })
    }

    /// Offers input to the components, until one of them takes it or leaves it unclaimed.
    fn offer(&mut self, give: impl Fn(&mut dyn Component, &mut Scope<'_>) -> Flow) -> Flow {
        let (stack, mut scope) = self.stack();
        for component in stack {
            match give(component, &mut scope) {
                Flow::PassedOn => {}
                flow @ (Flow::Handled | Flow::Unclaimed(_)) => return flow,
            }
        }
        Flow::PassedOn
    }

    /// True if no other component is open, so that the composer has the keyboard.
    pub(super) fn composes(&self) -> bool {
        let covered = self.has_cover() || self.panel.is_open() || self.conversation.is_open();
        self.dialogs.is_empty() && !covered
    }

    /// True if a list or a page is in the place of the conversation.
    pub(super) fn has_cover(&self) -> bool {
        self.menu.is_some() || self.page.is_some()
    }

    /// Handles a key: the components first, then the keys of the whole program, at last the key that quits.
    pub(super) fn key(&mut self, chord: Chord) {
        let press = self.keymap.press(chord);
        let (armed, composes) = (self.quits_until.take(), self.composes());
        match self.offer(|component, scope| component.key(&press, scope)) {
            Flow::Unclaimed(action) => self.unclaimed_key(action, &press),
            Flow::Handled | Flow::PassedOn => {}
        }
        let before = self.composer.editor().revision();
        self.carry_out(armed);
        if composes && self.composer.editor().revision() != before {
            self.composer.complete();
        }
    }

    /// Handles a key that no component claims. The key that quits does so unless it is text or means something else.
    fn unclaimed_key(&mut self, action: Option<Action>, press: &Press) {
        match action {
            Some(Action::Scroll(action)) => self.scroll(action),
            Some(Action::App(action)) => self.app(action),
            None if press.quits() && press.chord().text().is_none() => self.app(App::Quit),
            Some(_) | None => {}
        }
    }

    /// Handles text that was pasted.
    pub(super) fn paste(&mut self, text: &str) {
        self.quits_until = None;
        self.offer(|component, scope| component.paste(text, scope));
        self.carry_out(None);
    }

    /// Handles the mouse.
    pub(super) fn mouse(&mut self, mouse: Mouse) {
        self.offer(|component, scope| component.mouse(mouse, scope));
        self.carry_out(None);
    }

    /// Carries out the intents of components. `armed` is the time until which the key that was pressed quits.
    pub(super) fn carry_out(&mut self, armed: Option<Instant>) {
        while let Some(intent) = self.out.next_intent() {
            match intent {
                Intent::Flash(text) => self.flash(text),
                Intent::Info(text) => self.info(text),
                Intent::Answer(purpose, answer) => self.answered(purpose, answer),
                Intent::PreviewTheme(name) => self.themes.preview(&name),
                Intent::Pick(purpose, key) => self.picked(purpose, &key),
                Intent::Rename(session, name, is_open) => self.rename(session, name, is_open),
                Intent::CloseMenu(purpose) => self.menu_closed(&purpose),
                Intent::ShowMatch => self.stay_in_transcript(),
                Intent::Submit(when) => self.submit(when),
                Intent::Abort => self.abort_or_clear(),
                Intent::TakeBack => self.take_back(Taken::Editor),
                Intent::QuitTwice => {
                    self.quits_until = armed;
                    self.quit_the_second_time();
                }
            }
        }
    }

    fn scroll(&mut self, action: Scroll) {
        if !self.open_transcript(action) {
            return;
        }
        match action {
            Scroll::Search => {
                self.composer.close_popup();
                self.conversation.begin_search();
            }
            Scroll::Browse => {
                self.composer.close_popup();
                self.conversation.browse();
            }
            Scroll::CopyAnswer => commands::run(self, "copy", ""),
            Scroll::PageUp | Scroll::PageDown | Scroll::LineUp | Scroll::LineDown => {
                self.conversation.transcript_mut().scroll(action);
            }
            Scroll::MessageUp | Scroll::MessageDown | Scroll::Top | Scroll::Bottom => {
                self.conversation.transcript_mut().scroll(action);
            }
        }
    }

    fn app(&mut self, action: App) {
        match action {
            App::Quit => self.out.effect(Effect::Quit),
            App::Suspend => self.out.effect(Effect::Suspend),
            App::Redraw => self.out.effect(Effect::Redraw),
            App::Help => commands::run(self, "help", ""),
            App::Expand => self.unfold(true),
            App::ShowThinking => self.unfold(false),
            App::NextThinking => self.next_thinking(),
            App::PickModel => commands::run(self, "model", ""),
            App::PickSession => commands::run(self, "resume", ""),
            App::PickBranch => commands::run(self, "tree", ""),
        }
    }
}
