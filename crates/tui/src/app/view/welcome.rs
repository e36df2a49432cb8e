//! What stands where nothing was said yet.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::keys::{App, Prompt};
use crate::look::Look;
use crate::theme::Role;

use super::super::state::State;
use super::put;

pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer, look: &Look) {
    let theme = &look.theme;
    let session = &state.session;
    let key = |action: crate::keys::Action| {
        let first = state.keymap.keys(action).first();
        first.map_or_else(String::new, ToString::to_string)
    };
    let model = match session.model.as_str() {
        "" => String::new(),
        model => format!("{}/{model}", session.provider),
    };
    let hints = [
        "/ for commands, @ for files, ! for the shell".to_owned(),
        format!("{} for help, {} to stop what runs", key(App::Help.into()), key(Prompt::Abort.into())),
        format!("{} twice to leave", key(Prompt::ClearOrQuit.into())),
    ];
    let mut rows = vec![
        (format!("haft {}", state.version), Role::Heading),
        (model, Role::Text),
        (session.cwd.clone(), Role::Muted),
        (String::new(), Role::Text),
    ];
    rows.extend(hints.map(|hint| (hint, Role::Muted)));
    let room = usize::from(area.width.saturating_sub(2));
    let inner = Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(1), ..area };
    for (row, (text, role)) in (0..area.height).zip(rows) {
        let text = CleanLine::new(&text).shortened(room);
        put(buffer, inner, row, &Line::from(span(text, theme.style(role))));
    }
}
