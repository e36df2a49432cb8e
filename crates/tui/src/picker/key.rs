//! What keys do in a list.

use super::{Mode, Picked, Picker};
use crate::field::Field;
use crate::keys::{Action, Confirm, Context, Dialog, Press};

impl Picker {
    /// A key.
    pub fn key(&mut self, press: &Press) -> Picked {
        match self.mode {
            Mode::Pick => self.pick(press),
            Mode::Rename(_) => self.rename(press),
            Mode::Delete => {
                self.mode = Mode::Pick;
                let yes = press.action(Context::Confirm) == Some(Action::Confirm(Confirm::Yes));
                self.key_of_chosen().filter(|_| yes).map_or(Picked::Open, Picked::Delete)
            }
        }
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str) {
        match &mut self.mode {
            Mode::Pick => {
                self.filter.paste(text);
                self.list.set_query(self.filter.editor.text());
            }
            Mode::Rename(field) => field.paste(text),
            Mode::Delete => {}
        }
    }

    fn pick(&mut self, press: &Press) -> Picked {
        use crate::keys::Picker as Key;
        let before = self.key_of_chosen();
        let page = isize::try_from(self.shown.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        let action = press.action(Context::Picker);
        match action {
            Some(Action::Picker(key)) => match key {
                Key::Next => self.list.next(),
                Key::Previous => self.list.previous(),
                Key::PageDown => self.list.move_by(page),
                Key::PageUp => self.list.move_by(-page),
                Key::First => self.list.move_by(isize::MIN),
                Key::Last => self.list.move_by(isize::MAX),
                Key::Accept => return before.map_or(Picked::Open, Picked::Taken),
                Key::Rename => self.begin_rename(),
                Key::Delete if self.can.delete && before.is_some() => self.mode = Mode::Delete,
                // No list of these marks rows.
                Key::Delete | Key::Toggle => {}
                Key::Close => return Picked::Closed,
            },
            other => {
                self.filter.key(press.chord(), other);
                self.list.set_query(self.filter.editor.text());
            }
        }
        self.key_of_chosen().filter(|now| before.as_ref() != Some(now)).map_or(Picked::Open, Picked::Moved)
    }

    fn begin_rename(&mut self) {
        if let Some(row) = self.list.chosen().filter(|_| self.can.rename) {
            self.mode = Mode::Rename(Box::new(Field::line(&row.text, false)));
        }
    }

    fn rename(&mut self, press: &Press) -> Picked {
        let Mode::Rename(field) = &mut self.mode else { return Picked::Open };
        let action = press.action(Context::Dialog);
        match action {
            Some(Action::Dialog(Dialog::Accept)) => {
                let name = field.editor.text().trim().to_owned();
                self.mode = Mode::Pick;
                self.key_of_chosen().map_or(Picked::Open, |key| Picked::Rename(key, name))
            }
            Some(Action::Dialog(Dialog::Close)) => {
                self.mode = Mode::Pick;
                Picked::Open
            }
            other => {
                field.key(press.chord(), other);
                Picked::Open
            }
        }
    }

    fn key_of_chosen(&self) -> Option<String> {
        self.list.chosen().map(|row| row.key.clone())
    }
}
