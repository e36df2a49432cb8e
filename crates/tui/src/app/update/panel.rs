//! An extension's panel: its keys, and its room.

use haft_protocol::rpc::Command;

use super::super::pending::Pending;
use super::super::state::State;
use super::super::view;
use crate::keys::Chord;

impl State {
    pub(in crate::app) fn panel_key(&mut self, chord: Chord) {
        let told = self.panel.as_mut().and_then(|panel| panel.key(chord, &self.keymap));
        if let Some(command) = told {
            if matches!(command, Command::PanelClose(_)) {
                self.panel = None;
            }
            self.tell_panel(command);
        }
    }

    pub(in crate::app) fn panel_paste(&mut self, text: &str) {
        if let Some(command) = self.panel.as_ref().and_then(|panel| panel.paste(text)) {
            self.tell_panel(command);
        }
    }

    /// Tells the extension how much room there is, when that is news.
    pub(super) fn fit_panel(&mut self) {
        if self.panel.is_none() {
            return;
        }
        let area = view::main_area(self);
        if let Some(command) = self.panel.as_mut().and_then(|panel| panel.resized(area)) {
            self.tell_panel(command);
        }
    }

    fn tell_panel(&mut self, command: Command) {
        let session = self.session.id.clone();
        // An extension that is gone has been told of already.
        self.send_to(command, session, Pending::Silent);
    }
}
