//! Keys: they go to what has the keyboard.

use crate::keys::{Action, App, Browse, Chord, Completion, Context, Prompt, Scroll, Search as Searching};
use crate::transcript::Browsed;

use super::super::Effect;
use super::super::commands;
use super::super::input::{Place, Search};
use super::super::overlay::Overlay;
use super::super::state::State;

/// What has the keyboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Dialog,
    Picker,
    Page,
    Panel,
    Search,
    Browse,
    Completion,
    Editor,
}

impl State {
    pub(super) fn focus(&self) -> Focus {
        match &self.overlay {
            _ if !self.dialogs.is_empty() => Focus::Dialog,
            Some(Overlay::Picker(..)) => Focus::Picker,
            Some(Overlay::Page(_)) => Focus::Page,
            None if self.panel.is_some() => Focus::Panel,
            None if self.input.search.is_some() => Focus::Search,
            None if self.browses => Focus::Browse,
            None if self.input.completer.popup().is_some() => Focus::Completion,
            None => Focus::Editor,
        }
    }

    pub(super) fn key(&mut self, chord: Chord) {
        if self.is_late(chord) {
            return;
        }
        if self.quits(chord) {
            return self.app(App::Quit);
        }
        let focus = self.focus();
        if !self.quits_again(focus, chord) {
            self.quits_until = None;
        }
        match focus {
            Focus::Dialog => self.dialog_key(chord),
            Focus::Picker => self.picker_key(chord),
            Focus::Page => self.page_key(chord),
            Focus::Panel => self.panel_key(chord),
            Focus::Search => self.search_key(chord),
            Focus::Browse => self.browse_key(chord),
            Focus::Completion => self.editor_key(Context::Completion, chord),
            Focus::Editor => self.editor_key(Context::Editor, chord),
        }
    }

    /// Whether it is the key that quits when it is pressed twice, where it does.
    fn quits_again(&self, focus: Focus, chord: Chord) -> bool {
        let action = Some(Action::Prompt(Prompt::ClearOrQuit));
        matches!(focus, Focus::Editor | Focus::Completion)
            && self.keymap.action(Context::Editor, chord) == action
    }

    /// The key that quits does so wherever the keyboard is, unless it is text or means something else there.
    fn quits(&self, chord: Chord) -> bool {
        let contexts: &[Context] = match self.focus() {
            Focus::Dialog => &[Context::Dialog, Context::Confirm],
            Focus::Picker => &[Context::Picker],
            Focus::Panel => &[Context::Panel],
            Focus::Search => &[Context::Search],
            Focus::Page | Focus::Browse | Focus::Completion | Focus::Editor => return false,
        };
        chord.text().is_none()
            && self.keymap.action(Context::Editor, chord) == Some(Action::App(App::Quit))
            && contexts.iter().all(|context| self.keymap.action(*context, chord).is_none())
    }

    fn page_key(&mut self, chord: Chord) {
        let action = self.keymap.action(Context::Browse, chord);
        let Some(Overlay::Page(page)) = &mut self.overlay else { return };
        match action {
            Some(Action::Browse(action)) => {
                if page.browse(action).is_none() {
                    self.overlay = None;
                }
            }
            Some(Action::Scroll(action)) => page.scroll(action),
            Some(Action::App(App::Help)) => self.overlay = None,
            Some(Action::App(action)) => self.app(action),
            Some(_) | None => {}
        }
    }

    fn browse_key(&mut self, chord: Chord) {
        match self.keymap.action(Context::Browse, chord) {
            Some(Action::Browse(action)) => {
                match self.transcript.browsed(action) {
                    Browsed::Done => {}
                    Browsed::Copy(text) => self.copy(text),
                    Browsed::Leave => self.browses = false,
                }
                if action == Browse::Close {
                    self.browses = false;
                }
            }
            Some(Action::Scroll(action)) => self.scroll(action),
            Some(Action::App(action)) => self.app(action),
            Some(_) | None => {}
        }
    }

    fn editor_key(&mut self, context: Context, chord: Chord) {
        let before = self.input.editor.revision();
        match self.keymap.action(context, chord) {
            Some(Action::Edit(action)) => {
                let quits = self.input.act(action, self.text_width());
                if quits {
                    self.effect(Effect::Quit);
                }
            }
            Some(Action::Prompt(action)) => self.prompt_key(action),
            Some(Action::Scroll(action)) => self.scroll(action),
            Some(Action::App(action)) => self.app(action),
            Some(Action::Completion(action)) => self.completion_key(action),
            Some(_) => {}
            None => {
                if let Some(c) = chord.text() {
                    self.input.editor.type_char(c);
                }
            }
        }
        if self.input.editor.revision() != before {
            self.input.complete(&self.known);
        }
    }

    fn completion_key(&mut self, action: Completion) {
        match action {
            Completion::Next => self.input.completer.next(),
            Completion::Previous => self.input.completer.previous(),
            Completion::Close => self.input.completer.close(),
            Completion::Accept => {
                self.input.accept(&self.known);
            }
            // What is typed in full needs nothing put in.
            Completion::AcceptAndSend if self.input.is_typed() => {
                self.input.completer.close();
                self.prompt_key(Prompt::Send);
            }
            Completion::AcceptAndSend => {
                if self.input.accept(&self.known) {
                    self.prompt_key(Prompt::Send);
                }
            }
        }
    }

    fn scroll(&mut self, action: Scroll) {
        if !self.open_transcript(action) {
            return;
        }
        match action {
            Scroll::Search => self.input.search_transcript(),
            Scroll::Browse => {
                self.browses = true;
                self.input.completer.close();
                self.transcript.browse();
            }
            Scroll::CopyAnswer => commands::run(self, "copy", ""),
            Scroll::PageUp | Scroll::PageDown | Scroll::LineUp | Scroll::LineDown => {
                self.transcript.scroll(action);
            }
            Scroll::MessageUp | Scroll::MessageDown | Scroll::Top | Scroll::Bottom => {
                self.transcript.scroll(action);
            }
        }
    }

    fn app(&mut self, action: App) {
        match action {
            App::Quit => self.effect(Effect::Quit),
            App::Suspend => self.effect(Effect::Suspend),
            App::Redraw => self.effect(Effect::Redraw),
            App::Help => commands::run(self, "help", ""),
            App::Expand => self.unfold(true),
            App::ShowThinking => self.unfold(false),
            App::NextThinking => self.next_thinking(),
            App::PickModel => commands::run(self, "model", ""),
            App::PickSession => commands::run(self, "resume", ""),
            App::PickBranch => commands::run(self, "tree", ""),
        }
    }

    fn search_key(&mut self, chord: Chord) {
        let width = self.text_width();
        let action = self.keymap.action(Context::Search, chord);
        match action {
            Some(Action::Search(Searching::Accept)) => self.end_search(true),
            Some(Action::Search(Searching::Close)) => self.end_search(false),
            Some(Action::Search(Searching::Older)) => self.next_match(true),
            Some(Action::Search(Searching::Newer)) => self.next_match(false),
            action => {
                let edit = if let Some(Action::Edit(edit)) = action { Some(edit) } else { None };
                let search = self.input.search.as_mut();
                if search.is_some_and(|search| search.typed(chord, edit, width)) {
                    self.search_changed();
                }
            }
        }
    }

    pub(super) fn search_changed(&mut self) {
        let Some(search) = &mut self.input.search else { return };
        let Search { editor, place } = search;
        match place {
            Place::History { search, .. } => search.set_query(&self.input.history, editor.text()),
            Place::Transcript => {
                self.transcript.search(editor.text());
                self.searched = !editor.is_empty();
            }
        }
    }

    fn next_match(&mut self, older: bool) {
        let Some(search) = &mut self.input.search else { return };
        match &mut search.place {
            Place::History { search, .. } if older => search.older(&self.input.history),
            Place::History { search, .. } => search.newer(&self.input.history),
            Place::Transcript => {
                self.transcript.next_match(older);
            }
        }
    }

    /// The search is over: with its match, or with what was there.
    fn end_search(&mut self, taken: bool) {
        let Some(search) = self.input.search.take() else { return };
        match search.place {
            Place::History { search, before } => {
                let found = search.matched(&self.input.history).filter(|_| taken);
                let found = found.map(|found| found.prompt.to_owned());
                // What came meanwhile stays, and what is found is put to it.
                match found {
                    Some(prompt) if self.input.editor.content() == before => {
                        self.input.editor.set_text(&prompt)
                    }
                    Some(prompt) => self.input.editor.insert(&prompt),
                    None => {}
                }
                self.input.completer.close();
            }
            Place::Transcript if taken => {
                self.searched = !search.editor.is_empty();
                self.stay_in_transcript();
            }
            Place::Transcript => {
                self.transcript.leave_search();
                self.searched = false;
            }
        }
    }

    pub(in crate::app) fn copy(&mut self, text: String) {
        self.effect(Effect::Copy(text));
    }

    /// What an editor of prompts does with text of its own.
    pub(super) fn write(&mut self, text: &str) {
        self.input.editor.set_text(text);
        self.input.complete(&self.known);
    }
}
