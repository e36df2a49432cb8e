//! `State`: everything that the interface knows.

use std::time::Instant;

use haft_protocol::rpc::{ReloadExt, UiAnswer};
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::dialog::Wanted;
use crate::editor::Content;
use crate::keys::{Action, App, Chord, Keymap, Press, Scroll};
use crate::look::Look;
use crate::queue::Queue;
use crate::theme::{Appearance, Theme};
use crate::transcript::{Said, Transcript};

use super::component::{CLOSE, Component, Flow, Scope};
use super::composer::Composer;
use super::conversation::Conversation;
use super::dialogs::Dialogs;
use super::held::{Form, Held, Unsent};
use super::inline::{Below, Inline};
use super::known::Known;
use super::lines::{Lines, PrintSources};
use super::menu::{Coming, Menu};
use super::notes::Notes;
use super::outbox::{Intent, Outbox};
use super::page::Page;
use super::panel::PanelHost;
use super::pending::Taken;
use super::session::Session;
use super::settings::Settings;
use super::status::StatusBar;
use super::themes::Themes;
use super::update::Sending;
use super::view::Areas;
use super::waiting::waiting;
use super::work::Work;
use super::{Effect, Mouse, Printed, commands, view};

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
    pub(super) status: StatusBar,
    pub(super) extensions_at: Option<Instant>,
    /// What is reloaded as soon as nothing is worked on.
    pub(super) reloads: Option<ReloadExt>,
    /// Whether a session is to be picked before anything is said.
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
            return [self.extensions_at, self.lines.wakes_at(self.panel.panel())].into_iter().flatten().min();
        }
        let spinner = self.work.since.and_then(|since| self.theme().spinner().changes_at(since, now));
        let inner = [self.conversation.wakes_at(now), self.dialogs.wakes_at(now)];
        [spinner, self.status.wakes_at(), self.extensions_at].into_iter().chain(inner).flatten().min()
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
            self.status.flash(text, self.now);
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
        self.size.0.saturating_sub(view::MARK)
    }

    /// The components in the order in which they are asked, and what they need to handle input.
    fn stack(&mut self) -> ([&mut dyn Component; 6], Scope<'_>) {
        let (now, width, main) = (self.now, self.text_width(), self.areas.main);
        let Self { dialogs, menu, page, panel, conversation, composer, out, keymap, .. } = self;
        let stack: [&mut dyn Component; 6] = [dialogs, menu, page, panel, conversation, composer];
        (stack, Scope { now, keymap, width, main, out })
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
        let (armed, composes) = (self.status.disarm(), self.composes());
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
        self.status.disarm();
        self.offer(|component, scope| component.paste(text, scope));
        self.carry_out(None);
    }

    /// Handles a line that was typed.
    pub(super) fn heard(&mut self, line: &str) {
        // A question takes each line as it is.
        let is_asked = !self.dialogs.is_empty();
        let text = if is_asked { Some(line.to_owned()) } else { self.lines.joined(line) };
        let Some(text) = text else { return };
        if !is_asked {
            self.status.disarm();
            if self.lines.is_late(self.now) && !text.trim().is_empty() {
                // It is printed that it was not sent, and how to send it.
                return self.composer.give_back([&Content::of_text(&text)]);
            }
        }
        self.offer(|component, scope| component.line(&text, scope));
        self.carry_out(None);
    }

    /// Handles ctrl+c, where that is no key: it stops or closes the first thing that is there.
    pub(super) fn interrupted(&mut self) {
        self.lines.drop_draft();
        if self.work.is_on() {
            self.abort();
        } else if !self.work.shells.is_empty() {
            self.stop_shell();
        } else if !self.dialogs.is_empty() {
            self.dialogs.answer(UiAnswer::Cancelled, &mut self.out);
        } else if self.menu.is_some() || self.panel.is_open() {
            self.offer(|component, scope| component.line(CLOSE, scope));
        } else if !self.held.unsent.is_empty() {
            self.give_back_unsent();
        } else {
            let armed = self.status.disarm();
            self.quit_the_second_time(armed);
        }
        self.carry_out(None);
    }

    /// Returns what is to be printed since the last time, as rows of a width.
    pub fn print(&mut self, now: Instant, width: u16) -> Printed {
        let waiting = waiting(&self.queue, &self.held, self.work.is_on());
        let Self { lines, version, session, conversation, notes, composer, menu, panel, dialogs, .. } = self;
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
        if let Some(dialog) = self.dialogs.shown() {
            dialog.was_printed(now);
        }
    }

    /// True if nobody may see what is typed.
    pub fn hides_input(&self) -> bool {
        let wanted = self.dialogs.first().map(|dialog| &dialog.question().wanted);
        wanted == Some(&Wanted::Input { secret: true })
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
                Intent::Print(text) => self.lines.say(&text),
                Intent::PrintOutput => match self.conversation.transcript().last_output(u16::MAX) {
                    Some(rows) => self.lines.say_rows(rows),
                    None => self.lines.say("nothing was called"),
                },
                Intent::PrintRows { anew: true } => self.lines.list_narrowed(),
                Intent::PrintRows { anew: false } => self.lines.list_changed(),
                Intent::Say(submission, when) => {
                    self.say_when_possible(Unsent { submission: *submission, when, form: Form::Line });
                }
                Intent::Answer(purpose, answer) => {
                    self.lines.dialog_answered();
                    self.answered(purpose, answer);
                }
                Intent::PreviewTheme(name) => self.themes.preview(&name),
                Intent::Pick(purpose, key) => self.picked(purpose, &key),
                Intent::Rename(session, name, is_open) => self.rename(session, name, is_open),
                Intent::CloseMenu(purpose) => self.menu_closed(&purpose),
                Intent::ShowMatch => self.stay_in_transcript(),
                Intent::Submit(when) => self.submit(when),
                Intent::Abort => self.abort_or_clear(),
                Intent::TakeBack => self.take_back(Taken::Editor),
                Intent::QuitTwice => self.quit_the_second_time(armed),
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

    /// Whether the end of the terminal's own screen is drawn, and not all of a screen.
    pub(super) fn is_below(&self) -> bool {
        self.inline.is_on() && !self.has_cover() && !self.panel.is_open() && !self.conversation.is_open()
    }

    /// The conversation that is shown is left: what was not printed of it is, as it is now.
    pub(super) fn leave_conversation(&mut self) {
        if !self.inline.is_on() || self.conversation.is_read() && !self.inline.has_greeted() {
            return;
        }
        let look = self.look(self.now);
        let rest = self.rest(self.size.0, &look);
        self.inline.leave(rest);
    }

    /// Another conversation begins.
    pub(super) fn begin_printing(&mut self, fallback: &str) {
        self.inline.begin(self.session.about().unwrap_or(fallback));
    }

    /// Before something is done in the transcript: it is opened. Whether it is of use here at all.
    pub(super) fn open_transcript(&mut self, scroll: Scroll) -> bool {
        if !self.is_below() {
            return true;
        }
        match scroll {
            Scroll::CopyAnswer => true,
            // The end is what is seen.
            Scroll::PageDown | Scroll::LineDown | Scroll::MessageDown | Scroll::Bottom => false,
            Scroll::Search | Scroll::Browse => {
                self.measure_transcript();
                true
            }
            Scroll::PageUp | Scroll::LineUp | Scroll::MessageUp | Scroll::Top => {
                self.browse_transcript();
                true
            }
        }
    }

    /// Unfolds calls, or what the model thinks, or folds them. What is printed cannot be unfolded: that is seen in the
    /// transcript.
    pub(super) fn unfold(&mut self, is_calls: bool) {
        let opens = self.is_below();
        if opens {
            self.measure_transcript();
        }
        let (calls, thinking) = self.conversation.transcript_mut().unfolded();
        match is_calls {
            true if !(opens && calls) => self.conversation.transcript_mut().toggle_calls(),
            false if !(opens && thinking) => self.conversation.transcript_mut().toggle_thinking(),
            true | false => {}
        }
        if opens {
            self.browse_transcript();
        }
    }

    fn browse_transcript(&mut self) {
        self.measure_transcript();
        self.composer.close_popup();
        self.conversation.browse();
    }

    fn measure_transcript(&mut self) {
        let area = view::main_area(self);
        self.conversation.open_in(area.height);
    }

    /// A match was taken: it is looked at.
    pub(super) fn stay_in_transcript(&mut self) {
        if self.inline.is_on() {
            self.browse_transcript();
        }
    }

    /// What is printed next on the terminal's own screen, and how many rows are drawn below that. None where all of a
    /// screen is drawn: that is how lists, pages, panels and the transcript are shown while they are open.
    pub fn below(&mut self, screen: Rect, look: &Look) -> Option<Below> {
        if !self.is_below() {
            return None;
        }
        let wanted = view::rows_below(self, screen, look);
        let room = screen.height.saturating_sub(wanted);
        let mut printed = Vec::new();
        // What is shown before the conversation is known is not a part of it.
        if !self.conversation.is_read() {
            printed.extend(self.heading(screen.width, look));
            printed.extend(self.conversation.transcript_mut().settle(screen.width, usize::from(room), look));
        }
        let live = u16::try_from(self.conversation.transcript().live()).unwrap_or(u16::MAX).min(room);
        Some(Below { printed, height: (wanted + live).min(screen.height).max(1) })
    }

    /// All that has not been printed, as it is now.
    pub(super) fn rest(&mut self, width: u16, look: &Look) -> Vec<Line<'static>> {
        let mut rows = self.heading(width, look);
        rows.extend(self.conversation.transcript_mut().settle_all(width, look));
        rows
    }

    /// What is printed before the conversation: the rest of the one before it, and what this one is.
    fn heading(&mut self, width: u16, look: &Look) -> Vec<Line<'static>> {
        let greets = self.inline.greets(self.out.session().is_some());
        let greeting = if greets { view::welcome_rows(self, width, look) } else { Vec::new() };
        self.inline.take_heading(greeting, width, look)
    }
}
