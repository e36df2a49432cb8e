//! An extension's panel: its keys, and its room.

use std::collections::BTreeMap;

use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Command, PanelClose, PanelContent};

use super::super::overlay::Overlay;
use super::super::pending::Pending;
use super::super::state::State;
use super::super::view;
use crate::keys::Chord;
use crate::panel::Panel;

/// The extensions whose panels the person closed: none of them opens one by itself again, because it would hold the keyboard
/// for as long as it likes. Whether the person was told so.
#[derive(Debug, Default)]
pub(in crate::app) struct Shut(BTreeMap<ExtensionName, bool>);

impl Shut {
    /// The person says something, so that what opens now is an answer to it.
    pub(in crate::app) fn forget(&mut self) {
        self.0.clear();
    }
}

impl State {
    /// An extension opens a panel, in the place of the one that is open.
    pub(super) fn open_panel(&mut self, extension: ExtensionName, panel: PanelContent) {
        if let Some(told) = self.shut.0.get_mut(&extension) {
            if !std::mem::replace(told, true) {
                self.info(format!(
                    "[{extension}] wants its panel open again; it stays closed until you say something, or a tool of it is called"
                ));
            }
            return self.close_panel_of(extension, panel.panel_id);
        }
        // A page would hide it.
        if matches!(self.overlay, Some(Overlay::Page(_))) {
            self.overlay = None;
        }
        let opened = Panel::open(extension, panel);
        let of = opened.extension().clone();
        let before = self.panel.replace(opened).filter(|before| *before.extension() != of);
        if let Some(before) = before {
            self.close_panel_of(before.extension().clone(), before.content().panel_id.clone());
        }
    }

    /// A tool is called that may have its extension open a panel.
    pub(super) fn tool_starts(&mut self, name: &str) {
        for info in self.session.extensions.iter().filter(|info| info.tools.iter().any(|tool| tool == name)) {
            self.shut.0.remove(&info.name);
        }
    }

    fn close_panel_of(&mut self, extension: ExtensionName, panel_id: PanelId) {
        self.tell_panel(PanelClose { extension, panel_id }.into());
    }

    pub(in crate::app) fn panel_key(&mut self, chord: Chord) {
        let told = self.panel.as_mut().and_then(|panel| panel.key(chord, &self.keymap));
        if let Some(command) = told {
            if let Command::PanelClose(close) = &command {
                self.panel = None;
                self.shut.0.insert(close.extension.clone(), false);
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
