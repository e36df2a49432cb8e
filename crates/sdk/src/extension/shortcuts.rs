//! Keys of the user that run handlers.

use haft_protocol::ext::{PressShortcut, RegisterFrame, RegistrationKind};

use super::check;
use crate::handler::{BoxedHandler, HandlerFn};

/// The handlers of keys, with their registrations.
#[derive(Debug, Default)]
pub(crate) struct ShortcutHandlers(Vec<(RegisterFrame, BoxedHandler<PressShortcut, ()>)>);

impl ShortcutHandlers {
    pub(super) fn add_handler(
        &mut self,
        key: String,
        description: String,
        handler: impl HandlerFn<PressShortcut, ()>,
    ) {
        let shortcut =
            RegisterFrame { kind: RegistrationKind::Shortcut.name().to_owned(), name: key, description };
        self.0.push((shortcut, BoxedHandler::new(handler)));
    }

    /// Describes the first key that has two handlers.
    pub(super) fn find_duplicate(&self) -> Option<String> {
        let keys: Vec<&str> = self.registration_frames().map(|shortcut| shortcut.name.as_str()).collect();
        check::find_duplicate("shortcut", &keys)
    }

    /// Returns the registrations, in order.
    pub(crate) fn registration_frames(&self) -> impl Iterator<Item = &RegisterFrame> {
        self.0.iter().map(|(shortcut, _)| shortcut)
    }

    /// Returns the handler of a key.
    pub(crate) fn find_handler(&self, key: &str) -> Option<BoxedHandler<PressShortcut, ()>> {
        let found = self.0.iter().find(|(shortcut, _)| shortcut.name == key);
        found.map(|(_, handler)| handler.clone())
    }
}
