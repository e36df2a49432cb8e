//! Where prompts are written: the editor, what it completes, the prompts of before, and searches.

use crate::complete::{self, Completer, Kind, Popup};
use crate::editor::{Content, Editor, Outcome};
use crate::history::{self, History};
use crate::keys::{Chord, Edit};

use super::known::Known;

/// Where prompts are written.
#[derive(Debug, Default)]
pub(super) struct Input {
    pub(super) editor: Editor,
    pub(super) completer: Completer,
    pub(super) history: History,
    pub(super) search: Option<Search>,
    pub(super) files: Files,
    /// The revision of the text for which it was seen what is to be asked.
    pub(super) asked_at: u64,
    /// What stood here when the person's own editor took it.
    pub(super) edited: Option<Content>,
}

/// What is known of the project's files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    /// Nobody has asked, or there may be others by now.
    #[default]
    Unknown,
    /// The program is asked.
    Asked,
    /// They are known.
    Known,
}

/// A search while its words are typed.
#[derive(Debug)]
pub(super) struct Search {
    pub(super) editor: Editor,
    pub(super) place: Place,
}

/// Where it is searched.
#[derive(Debug)]
pub(super) enum Place {
    /// In the prompts of before.
    History {
        search: history::Search,
        /// What the editor held.
        before: Content,
    },
    /// In the transcript.
    Transcript,
}

impl Input {
    /// A key that writes, or moves in what is written. Whether the key quits.
    pub(super) fn act(&mut self, action: Edit, width: u16) -> bool {
        let vertical = matches!(action, Edit::RowUp | Edit::RowDown);
        let among_prompts = vertical && self.history.is_shown(&self.editor.content());
        let outcome = match (among_prompts, action) {
            (true, Edit::RowUp) => Outcome::AtTop,
            (true, _) => Outcome::AtBottom,
            (false, _) => self.editor.act(action, width),
        };
        match outcome {
            Outcome::Done => {}
            Outcome::AtTop => self.go_to(History::older),
            Outcome::AtBottom => self.go_to(History::newer),
            Outcome::Empty => return true,
        }
        false
    }

    fn go_to(&mut self, other: impl Fn(&mut History, Content) -> Option<Content>) {
        if let Some(content) = other(&mut self.history, self.editor.content()) {
            self.editor.set(&content);
        }
    }

    /// The text or the cursor is another.
    pub(super) fn complete(&mut self, known: &Known) {
        if self.history.is_shown(&self.editor.content()) {
            // Up and down go on among the prompts of before, also where one of them is a command.
            return self.completer.close();
        }
        self.completer.update(self.editor.text(), self.editor.cursor(), known);
    }

    /// Candidates are wanted.
    pub(super) fn open_completion(&mut self, known: &Known) {
        self.completer.open(self.editor.text(), self.editor.cursor(), known);
    }

    /// What is being completed, whether something is shown or not.
    pub(super) fn wanted(&self) -> Option<Kind> {
        complete::wanted(self.editor.text(), self.editor.cursor()).map(|wanted| wanted.kind)
    }

    /// The command that is typed, and all that stands behind it up to the cursor.
    pub(super) fn arguments(&self) -> Option<(&str, &str)> {
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let wanted = complete::wanted(text, cursor)?;
        if !matches!(wanted.kind, Kind::Argument { .. }) || self.history.is_shown(&self.editor.content()) {
            return None;
        }
        let (command, behind) = text.get(1..cursor)?.split_once(char::is_whitespace)?;
        Some((command, behind.trim_start()))
    }

    /// Puts the chosen candidate in. Whether it is a command that can be run at once.
    pub(super) fn accept(&mut self, known: &Known) -> bool {
        let Some(accepted) = self.completer.accept(self.editor.text()) else { return false };
        self.editor.replace(accepted.range, &accepted.text);
        self.complete(known);
        accepted.complete
    }

    /// Whether what is typed is sent as it stands.
    pub(super) fn is_typed(&self) -> bool {
        self.completer.popup().is_some_and(Popup::is_typed)
    }

    pub(super) fn clear(&mut self) {
        self.editor.take();
        self.history.leave();
    }

    /// What is written is left, and can be had again.
    pub(super) fn empty(&mut self) {
        self.editor.set_text("");
        self.history.leave();
    }

    /// Prompts come back, before what is being written.
    pub(super) fn give_back<'c>(&mut self, contents: impl IntoIterator<Item = &'c Content>) {
        self.history.leave();
        self.editor.put_before(contents);
    }

    pub(super) fn search_history(&mut self) {
        let before = self.editor.content();
        self.completer.close();
        let place = Place::History { search: history::Search::default(), before };
        self.search = Some(Search { editor: Editor::one_line(), place });
    }

    pub(super) fn search_transcript(&mut self) {
        self.completer.close();
        self.search = Some(Search { editor: Editor::one_line(), place: Place::Transcript });
    }
}

impl Search {
    /// A key that writes the words. Whether there are other words now.
    pub(super) fn typed(&mut self, chord: Chord, edit: Option<Edit>, width: u16) -> bool {
        let before = self.editor.revision();
        match (edit, chord.text()) {
            (Some(Edit::Newline), _) => {}
            // One line has no history.
            (Some(edit), _) => {
                let _ = self.editor.act(edit, width);
            }
            (None, Some(c)) => self.editor.type_char(c),
            (None, None) => {}
        }
        self.editor.revision() != before
    }
}
