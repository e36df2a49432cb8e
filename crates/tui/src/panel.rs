//! An extension's panel.
//!
//! The frame shows the extension's name before the panel's title, and the panel never draws outside of the frame. A
//! line of the panel is one row. Long lines and excess lines are truncated with a mark.
//!
//! Invariant: the keys that close a panel never reach the extension.

use haft_protocol::ids::{ExtensionName, PanelId};
use haft_protocol::rpc::{Command, PanelCloseCommand, PanelContent, PanelKeyCommand, PanelResizeCommand};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::frame::{self, BorderFrame, draw_line, row_area, truncate_spans};
use crate::keys::{Action, Context, KeyPress, Panel as Key};
use crate::theme::Role;

const HELP: &str = "esc close";

/// An open panel of an extension.
#[derive(Debug)]
pub struct ExtensionPanel {
    extension: ExtensionName,
    content: PanelContent,
    /// The size that was reported to the extension.
    known_size: Option<(u16, u16)>,
}

impl ExtensionPanel {
    /// Opens a panel.
    pub fn open(extension: ExtensionName, content: PanelContent) -> Self {
        Self { extension, content, known_size: None }
    }

    /// True if it is the panel with this extension and id.
    pub fn has_id(&self, extension: &ExtensionName, id: &PanelId) -> bool {
        self.extension == *extension && self.content.panel_id == *id
    }

    /// Returns its owner.
    pub fn extension(&self) -> &ExtensionName {
        &self.extension
    }

    /// Replaces lines and footer. An empty title keeps the old title.
    pub fn update_content(&mut self, content: PanelContent) {
        let before = std::mem::replace(&mut self.content, content);
        if self.content.title.is_empty() {
            self.content.title = before.title;
        }
    }

    /// Returns its content.
    pub fn content(&self) -> &PanelContent {
        &self.content
    }

    /// Handles a key. Returns `panel_key` for the extension, or `panel_close` for the keys that close the panel;
    /// those never reach the extension. Returns nothing for unsupported keys.
    pub fn key(&mut self, press: &KeyPress) -> Option<Command> {
        if press.action(Context::Panel) == Some(Action::Panel(Key::Close)) {
            let (extension, panel_id) = self.panel_names();
            return Some(PanelCloseCommand { extension, panel_id }.into());
        }
        let (key, typed) = press.chord().panel_key()?;
        Some(self.key_command(key, typed.map(String::from)))
    }

    /// Handles pasted text as one key. Lines end with a newline, and tabs are the only other control characters.
    pub fn paste(&self, text: &str) -> Option<Command> {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
        (!text.is_empty()).then(|| self.key_command("rune", Some(text)))
    }

    /// Returns `panel_resize` if the room for lines in an area differs from the last reported size.
    pub fn resize(&mut self, area: Rect) -> Option<Command> {
        let room = lines_area(frame::inner_area(area));
        let size = (room.width, room.height);
        if self.known_size.replace(size) == Some(size) {
            return None;
        }
        let (extension, panel_id) = self.panel_names();
        Some(PanelResizeCommand { extension, panel_id, width: size.0.into(), height: size.1.into() }.into())
    }

    /// Draws the panel.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let inner = self.build_frame(look).draw(area, buffer);
        let lines = lines_area(inner);
        let text = look.theme.style(Role::Text);
        for (y, line) in (0..lines.height).zip(&self.content.lines) {
            let line = truncate_spans(vec![span(CleanLine::new(line), text)], usize::from(lines.width));
            draw_line(&line, row_area(lines, y), buffer);
        }
        if inner.height > lines.height {
            let footer = self.footer_text(self.content.lines.len().saturating_sub(usize::from(lines.height)));
            let footer =
                truncate_spans(vec![span(footer, look.theme.style(Role::Muted))], usize::from(inner.width));
            draw_line(&footer, row_area(inner, inner.height - 1), buffer);
        }
    }

    fn build_frame(&self, look: &DrawContext) -> BorderFrame {
        let style = look.theme.style(Role::BorderFocused);
        let name = CleanLine::new(&format!("[{}]", self.extension));
        let mut left = vec![span(name, look.theme.style(Role::Extension))];
        if !self.content.title.is_empty() {
            let title = CleanLine::new(&format!(" {}", self.content.title));
            left.push(span(title, look.theme.style(Role::Heading)));
        }
        let lower = vec![span(HELP, look.theme.style(Role::Muted))];
        BorderFrame { style, left, right: Vec::new(), lower }
    }

    /// Returns the footer: the number of hidden rows and the extension's text.
    fn footer_text(&self, more: usize) -> CleanLine {
        let footer = &self.content.footer;
        match (more, footer.is_empty()) {
            (0, _) => CleanLine::new(footer),
            (more, true) => CleanLine::new(&format!("… {more} more")),
            (more, false) => CleanLine::new(&format!("… {more} more · {footer}")),
        }
    }

    fn panel_names(&self) -> (ExtensionName, PanelId) {
        (self.extension.clone(), self.content.panel_id.clone())
    }

    fn key_command(&self, key: &str, text: Option<String>) -> Command {
        let (extension, panel_id) = self.panel_names();
        PanelKeyCommand { extension, panel_id, key: key.to_owned(), text }.into()
    }
}

/// Returns the area of the lines. A row below it is always reserved for the footer, so the size does not depend on
/// the content.
fn lines_area(inner: Rect) -> Rect {
    let footer = u16::from(inner.height > 1);
    Rect { height: inner.height - footer, ..inner }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Keymap;

    fn content(title: &str, lines: usize) -> PanelContent {
        PanelContent {
            panel_id: PanelId::new("p"),
            title: title.to_owned(),
            lines: (0..lines).map(|line| line.to_string()).collect(),
            footer: String::new(),
        }
    }

    fn panel() -> ExtensionPanel {
        ExtensionPanel::open(ExtensionName::new("todo"), content("Todos", 3))
    }

    #[test]
    fn panel_receives_keys_except_close_keys() {
        let check = |key: &str, expect: Option<(&str, Option<&str>)>| {
            let told = panel().key(&Keymap::default().press(key.parse().unwrap()));
            let expect = expect.map(|(key, text)| panel().key_command(key, text.map(str::to_owned)));
            assert_eq!(told, expect, "{key}");
        };
        check("x", Some(("rune", Some("x"))));
        check("Q", Some(("rune", Some("Q"))));
        check("space", Some(("rune", Some(" "))));
        check("enter", Some(("enter", None)));
        check("pagedown", Some(("pagedown", None)));
        check("f1", None);
        check("ctrl+x", None);
        check("shift+tab", None);
        for key in ["esc", "ctrl+c"] {
            let told = panel().key(&Keymap::default().press(key.parse().unwrap()));
            assert!(matches!(told, Some(Command::PanelClose(_))), "{key}");
        }
    }

    #[test]
    fn paste_is_one_panel_key() {
        let check = |text: &str, expect: Option<&str>| {
            let expect = expect.map(|text| panel().key_command("rune", Some(text.to_owned())));
            assert_eq!(panel().paste(text), expect, "{text:?}");
        };
        check("Buy milk", Some("Buy milk"));
        check("a\r\nb\rc\n\td", Some("a\nb\nc\n\td"));
        check("a\u{1b}[31m\u{9b}b\u{7f}\0", Some("a[31mb"));
        check("\u{1b}", None);
        check("", None);
    }

    #[test]
    fn reports_changed_panel_size() {
        let mut panel = panel();
        let mut room = |width, height| {
            let told = panel.resize(Rect::new(0, 3, width, height));
            told.map(|told| {
                let Command::PanelResize(room) = told else { panic!("{told:?}") };
                (room.width, room.height)
            })
        };
        assert_eq!(room(80, 20), Some((76, 17)));
        assert_eq!(room(80, 20), None);
        assert_eq!(room(20, 4), Some((20, 2)));
        assert_eq!(room(0, 0), Some((0, 0)));
        panel.update_content(content("", 100));
        assert_eq!(panel.resize(Rect::default()), None);
        assert_eq!(panel.content.title, "Todos");
    }

    #[test]
    fn panel_is_identified_by_owner_and_id() {
        let is = |owner: &str, id: &str| panel().has_id(&ExtensionName::new(owner), &PanelId::new(id));
        assert_eq!((is("todo", "p"), is("other", "p"), is("todo", "q")), (true, false, false));
    }
}
