//! `Keymap`: maps keys to actions.

use std::collections::BTreeMap;

use super::{ACTIONS, Action, ActionBinding, App, Chord, Context, Section};

/// Maps keys to actions: the default table with the changes of the user's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    /// The keys of each entry of the table, in the table's order.
    keys: Vec<Vec<Chord>>,
    meanings: BTreeMap<(Section, Chord), Action>,
}

/// A key with two meanings at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyClash {
    pub(super) chord: Chord,
    /// The indexes of the actions in the table.
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) context: Context,
}

impl Default for Keymap {
    fn default() -> Self {
        Self::from_keys(ACTIONS.iter().map(default_keys).collect())
    }
}

pub(super) fn default_keys(entry: &ActionBinding) -> Vec<Chord> {
    // A test checks that all of them can be parsed.
    entry.keys.iter().filter_map(|key| key.parse().ok()).collect()
}

impl Keymap {
    /// Makes a keymap of one list of keys per entry of the table.
    pub(super) fn from_keys(keys: Vec<Vec<Chord>>) -> Self {
        let rows = ACTIONS.iter().zip(&keys);
        let meanings =
            rows.flat_map(|(entry, keys)| keys.iter().map(|chord| ((entry.section, *chord), entry.action)));
        Self { meanings: meanings.collect(), keys }
    }

    /// Looks up all meanings of a key.
    pub fn press(&self, chord: Chord) -> KeyPress {
        let action = |section: Section| Some((section, *self.meanings.get(&(section, chord))?));
        KeyPress::new(chord, Section::ALL.iter().copied().filter_map(action).collect())
    }

    /// Returns the keys of an action, the one to display first.
    pub fn keys(&self, action: impl Into<Action>) -> &[Chord] {
        let action = action.into();
        let at = ACTIONS.iter().position(|entry| entry.action == action);
        at.and_then(|at| self.keys.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Returns every action with its keys, in the table's order.
    pub fn rows(&self) -> impl Iterator<Item = (&'static ActionBinding, &[Chord])> {
        ACTIONS.iter().zip(self.keys.iter().map(Vec::as_slice))
    }

    /// Returns the keys with two meanings at the same time, each pair of actions once.
    pub(super) fn find_clashes(&self) -> Vec<KeyClash> {
        let mut clashes: Vec<KeyClash> = Vec::new();
        for context in Context::ALL {
            for (chord, first, second) in self.clashes_in(*context) {
                let known =
                    |clash: &KeyClash| (clash.chord, clash.first, clash.second) == (chord, first, second);
                if !clashes.iter().any(known) {
                    clashes.push(KeyClash { chord, first, second, context: *context });
                }
            }
        }
        clashes
    }

    /// Returns two meanings in one layer, and meanings in a higher layer of a fixed key of a lower layer.
    fn clashes_in(&self, context: Context) -> Vec<(Chord, usize, usize)> {
        let mut clashes = Vec::new();
        let mut above: BTreeMap<Chord, usize> = BTreeMap::new();
        for layer in context.layers() {
            let mut seen: BTreeMap<Chord, usize> = BTreeMap::new();
            for (at, entry, chord) in self.layer_chords(layer) {
                let over = above.get(&chord).filter(|over| {
                    let over = ACTIONS.get(**over);
                    is_fixed_key(entry, chord) && !over.is_some_and(|over| is_fixed_key(over, chord))
                });
                clashes.extend(over.map(|over| (chord, at, *over)));
                clashes.extend(seen.insert(chord, at).map(|first| (chord, first, at)));
            }
            above.extend(seen);
        }
        clashes
    }

    /// Returns the keys of a layer's actions, with the indexes in the table.
    fn layer_chords(
        &self,
        layer: &'static [Section],
    ) -> impl Iterator<Item = (usize, &'static ActionBinding, Chord)> {
        let rows = self.rows().enumerate().filter(|(_, (entry, _))| layer.contains(&entry.section));
        rows.flat_map(|(at, (entry, keys))| keys.iter().map(move |chord| (at, entry, *chord)))
    }
}

/// True if the file cannot remove this key from the action.
pub(super) fn is_fixed_key(entry: &ActionBinding, chord: Chord) -> bool {
    entry.fixed && default_keys(entry).contains(&chord)
}

/// A pressed key with its action in each section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyPress {
    chord: Chord,
    actions: Vec<(Section, Action)>,
}

impl KeyPress {
    pub(super) fn new(chord: Chord, actions: Vec<(Section, Action)>) -> Self {
        Self { chord, actions }
    }

    /// Returns the key.
    pub fn chord(&self) -> Chord {
        self.chord
    }

    /// Returns the action of the key in a context. `None` for typed text and for a key without a meaning there; in a
    /// panel, such a key goes to the extension.
    pub fn action(&self, context: Context) -> Option<Action> {
        let mut sections = context.layers().iter().flat_map(|layer| layer.iter());
        sections.find_map(|section| self.action_in(*section))
    }

    /// True for the key that quits.
    pub fn is_quit(&self) -> bool {
        self.action(Context::Editor) == Some(Action::App(App::Quit))
    }

    fn action_in(&self, section: Section) -> Option<Action> {
        self.actions.iter().find(|(of, _)| *of == section).map(|(_, action)| *action)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::keys::{Browse, Completion, Edit, Panel, Prompt, Scroll};

    #[test]
    fn action_table_is_valid() {
        let names: BTreeSet<&str> = ACTIONS.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ACTIONS.len());
        for entry in ACTIONS {
            assert_eq!(default_keys(entry).len(), entry.keys.len(), "{}", entry.name);
            assert!(entry.help.ends_with('.') && !entry.help.contains('|'), "{}", entry.name);
            let printed = default_keys(entry).iter().map(ToString::to_string).collect::<Vec<_>>();
            assert_eq!(printed, entry.keys, "{}", entry.name);
        }
        assert_eq!(Keymap::default().find_clashes(), []);
    }

    #[test]
    fn key_action_depends_on_context() {
        let keymap = Keymap::default();
        let check = |context, key: &str, expect: Option<Action>| {
            assert_eq!(keymap.press(key.parse().unwrap()).action(context), expect, "{context:?} {key}");
        };
        check(Context::Editor, "up", Some(Edit::RowUp.into()));
        check(Context::Completion, "up", Some(Completion::Previous.into()));
        check(Context::Completion, "ctrl+a", Some(Edit::LineStart.into()));
        check(Context::Browse, "up", Some(Browse::Up.into()));
        check(Context::Browse, "pageup", Some(Scroll::PageUp.into()));
        check(Context::Editor, "esc", Some(Prompt::Abort.into()));
        check(Context::Panel, "ctrl+c", Some(Panel::Close.into()));
        check(Context::Panel, "esc", Some(Panel::Close.into()));
        check(Context::Panel, "ctrl+x", None);
        check(Context::Editor, "k", None);
    }

    #[test]
    fn typed_text_has_no_action() {
        let keymap = Keymap::default();
        for context in
            [Context::Editor, Context::Completion, Context::Picker, Context::Dialog, Context::Search]
        {
            for c in '!'..='~' {
                let chord = Chord::new(crate::keys::ChordKey::Char(c), crate::keys::Modifiers::default());
                assert_eq!(keymap.press(chord).action(context), None, "{context:?} {c}");
            }
        }
    }
}
