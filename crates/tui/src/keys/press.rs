//! `Press`: one key with everything that it means.

use super::{Action, App, Chord, Context, Section};

/// A key that was pressed, looked up in the keymap once: its action in each section that has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    chord: Chord,
    actions: Vec<(Section, Action)>,
}

impl Press {
    pub(super) fn new(chord: Chord, actions: Vec<(Section, Action)>) -> Self {
        Self { chord, actions }
    }

    /// The key itself.
    pub fn chord(&self) -> Chord {
        self.chord
    }

    /// The action of the key in a context. None for text that is typed, and for a key without a meaning there; in a panel
    /// such a key is the extension's.
    pub fn action(&self, context: Context) -> Option<Action> {
        let mut sections = context.layers().iter().flat_map(|layer| layer.iter());
        sections.find_map(|section| self.action_in(*section))
    }

    /// True for the key that quits.
    pub fn quits(&self) -> bool {
        self.action(Context::Editor) == Some(Action::App(App::Quit))
    }

    fn action_in(&self, section: Section) -> Option<Action> {
        self.actions.iter().find(|(of, _)| *of == section).map(|(_, action)| *action)
    }
}
