//! The open panel of an extension, and the extensions that may not open a panel.

use std::collections::BTreeMap;
use std::time::Instant;

use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Command, ExtensionInfo, PanelCloseCommand, PanelContent};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::MouseAction;
use super::component::{CLOSE, Component, InputContext, InputOutcome};
use super::intent::ComponentIntent;
use super::outbox::Outbox;
use super::pending_request::PendingRequest;
use crate::draw_context::DrawContext;
use crate::keys::{Chord, KeyPress};
use crate::panel::ExtensionPanel;
use crate::timeouts::QUIET;

/// The keys of a panel that can be typed as lines after a colon, for example `:up`.
const KEYS: &[&str] = &[
    "up",
    "down",
    "left",
    "right",
    "enter",
    "space",
    "tab",
    "backspace",
    "delete",
    "home",
    "end",
    "pageup",
    "pagedown",
];

#[derive(Debug, Default)]
pub(super) struct PanelHost {
    panel: Option<ExtensionPanel>,
    /// The extensions whose panel the user closed. They cannot open a panel on their own, because a panel takes the
    /// keyboard. The value is true once the user was informed.
    blocked: BTreeMap<ExtensionName, bool>,
    /// The end of the time in which the panel gets no keys, because it opened on its own while the user typed.
    quiet_until: Option<Instant>,
}

impl PanelHost {
    pub(super) fn is_open(&self) -> bool {
        self.panel.is_some()
    }

    pub(super) fn panel(&self) -> Option<&ExtensionPanel> {
        self.panel.as_ref()
    }

    pub(super) fn close(&mut self) {
        self.panel = None;
    }

    /// Lets all extensions open panels again, after input of the user that a panel may answer.
    pub(super) fn allow_all(&mut self) {
        self.blocked.clear();
    }

    /// Lets an extension open panels again, after the user pressed a key of it.
    pub(super) fn allow_extension(&mut self, name: &ExtensionName) {
        self.blocked.remove(name);
    }

    /// Makes the open panel ignore keys until the user pauses.
    pub(super) fn ignore_typing(&mut self, now: Instant) {
        self.quiet_until = Some(now + QUIET);
    }

    /// True for input that the user began before the panel opened.
    fn is_stray_input(&mut self, now: Instant) -> bool {
        let is_stray = self.quiet_until.is_some_and(|until| now < until);
        self.quiet_until = is_stray.then(|| now + QUIET);
        is_stray
    }

    pub(super) fn allow_tool_owner(&mut self, name: &str, extensions: &[ExtensionInfo]) {
        for info in extensions.iter().filter(|info| info.tools.iter().any(|tool| tool == name)) {
            self.blocked.remove(&info.name);
        }
    }

    /// Opens a panel and replaces an open one. Returns false if the extension is blocked.
    pub(super) fn open(&mut self, extension: ExtensionName, panel: PanelContent, out: &mut Outbox) -> bool {
        if let Some(informed) = self.blocked.get_mut(&extension) {
            if !std::mem::replace(informed, true) {
                out.push_intent(ComponentIntent::Info(format!(
                    "[{extension}] tried to open its panel again; the panel stays closed until you send a prompt, press a \
                     key of the extension, or the model calls a tool of it"
                )));
            }
            send_close(extension, panel.panel_id, out);
            return false;
        }
        self.quiet_until = None;
        let opened = ExtensionPanel::open(extension, panel);
        let of = opened.extension().clone();
        let before = self.panel.replace(opened).filter(|before| *before.extension() != of);
        if let Some(before) = before {
            send_close(before.extension().clone(), before.content().panel_id.clone(), out);
        }
        true
    }

    pub(super) fn render(&mut self, extension: &ExtensionName, content: PanelContent) {
        if let Some(panel) = self.panel.as_mut().filter(|open| open.has_id(extension, &content.panel_id)) {
            panel.update_content(content);
        }
    }

    pub(super) fn close_panel_of(&mut self, extension: &ExtensionName, id: &PanelId) {
        self.panel.take_if(|open| open.has_id(extension, id));
    }

    /// Sends the size of the panel to its extension, if the size has changed.
    pub(super) fn resize(&mut self, area: Rect, out: &mut Outbox) {
        if let Some(command) = self.panel.as_mut().and_then(|panel| panel.resize(area)) {
            send_command(command, out);
        }
    }
}

impl Component for PanelHost {
    fn cover_rows(&self) -> Option<u16> {
        self.is_open().then_some(0)
    }

    fn draw_cover(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        if let Some(panel) = &self.panel {
            panel.draw(area, buffer, look);
        }
        None
    }

    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome {
        let Some(panel) = &mut self.panel else { return InputOutcome::PassedOn };
        let Some(command) = panel.key(press) else { return InputOutcome::Unclaimed(None) };
        if let Command::PanelClose(close) = &command {
            self.panel = None;
            self.blocked.insert(close.extension.clone(), false);
        } else if self.is_stray_input(scope.now) {
            return InputOutcome::Handled;
        }
        send_command(command, scope.out);
        InputOutcome::Handled
    }

    fn handle_paste(&mut self, text: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        if self.is_open() && self.is_stray_input(scope.now) {
            return InputOutcome::Handled;
        }
        let Some(panel) = &self.panel else { return InputOutcome::PassedOn };
        if let Some(command) = panel.paste(text) {
            send_command(command, scope.out);
        }
        InputOutcome::Handled
    }

    fn handle_line(&mut self, line: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        if !self.is_open() {
            return InputOutcome::PassedOn;
        }
        let word = line.trim();
        let named = word.strip_prefix(':').filter(|name| KEYS.contains(name));
        let mut typed = line.chars();
        let key: Option<Chord> = match (named, typed.next(), typed.next()) {
            _ if word == CLOSE => "esc".parse().ok(),
            (Some(name), ..) => name.parse().ok(),
            (None, Some(c), None) if c != ' ' => c.to_string().parse().ok(),
            (None, ..) => None,
        };
        match key {
            Some(chord) => self.handle_key(&scope.keymap.press(chord), scope),
            None => self.handle_paste(line, scope),
        }
    }

    fn handle_mouse(&mut self, _: MouseAction, _: &mut InputContext<'_>) -> InputOutcome {
        if self.is_open() { InputOutcome::Handled } else { InputOutcome::PassedOn }
    }
}

fn send_close(extension: ExtensionName, panel_id: PanelId, out: &mut Outbox) {
    send_command(PanelCloseCommand { extension, panel_id }.into(), out);
}

/// Sends a command to the extension. A failure is ignored, because the end of the extension is reported elsewhere.
fn send_command(command: Command, out: &mut Outbox) {
    out.send(command, PendingRequest::Ignored);
}
