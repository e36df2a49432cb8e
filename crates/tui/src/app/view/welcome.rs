//! The text of an empty conversation.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::keys::{App, Prompt};
use crate::theme::Role;

use super::super::component::draw_line;
use super::super::state::AppState;

pub(super) fn draw(state: &AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
    for (row, line) in (0..area.height).zip(rows(state, area.width, look)) {
        draw_line(buffer, area, row, &line);
    }
}

/// Things to try in a new session.
const SUGGESTIONS: [&str; 3] = [
    "explain what this project does and how it is built",
    "/init to write AGENTS.md, the instructions for this project",
    "/review to review the uncommitted changes",
];

/// Describes what the agent may do without a question, and whether it uses the files of the project for haft.
fn access_rows(state: &AppState) -> impl Iterator<Item = String> {
    let tools = state.settings.tools_to_approve();
    let access = state.status.sandbox_label().map(|sandbox| {
        let allowed = match sandbox.split(',').next() {
            Some("read-only") => "the agent reads files; it asks before other calls",
            Some("workspace") => "the agent changes this directory; it asks before other calls",
            Some(_) | None if tools.is_empty() => "the agent may do what you may do, without asking",
            Some(_) | None => "the agent may do what you may do",
        };
        let gap = if state.status.has_sandbox_gap() { ", incomplete" } else { "" };
        format!("sandbox {sandbox}{gap}: {allowed}")
    });
    let asks = (!tools.is_empty()).then(|| format!("asks before each call of {}", tools.join(", ")));
    let trust = match (state.is_trusted, state.untrusted.is_empty()) {
        (true, _) => "project trusted: haft uses its settings, extensions and instructions".to_owned(),
        (false, true) => "the project contains nothing that needs trust".to_owned(),
        (false, false) => "project not trusted: haft ignores parts of it; /trust reviews them".to_owned(),
    };
    access.into_iter().chain(asks).chain([trust])
}

pub(in crate::app) fn rows(state: &AppState, width: u16, look: &DrawContext) -> Vec<Line<'static>> {
    let theme = &look.theme;
    let session = &state.session;
    let key = |action: crate::keys::Action| state.keymap.keys(action).first();
    let model = match session.model.as_str() {
        "" => "opening the session…".to_owned(),
        _ if session.has_no_model() => "no model is selected; /login connects one".to_owned(),
        model => format!("{}/{model}", session.provider),
    };
    let help = key(App::Help.into()).map_or_else(|| "/help".to_owned(), ToString::to_string);
    let stop = key(Prompt::Abort.into()).map(|key| format!(", {key} to stop the agent"));
    let leave = key(Prompt::ClearOrQuit.into()).map(|key| format!("{key} twice to quit"));
    let hints = [
        "/ for commands, @ for files, ! for the shell".to_owned(),
        format!("{help} for help{}", stop.unwrap_or_default()),
        leave.unwrap_or_default(),
    ];
    let mut rows = vec![
        (format!("haft {}", state.version), Role::Heading),
        (model, Role::Text),
        (session.cwd.clone(), Role::Muted),
        (String::new(), Role::Text),
    ];
    rows.extend(hints.map(|hint| (hint, Role::Muted)));
    rows.push((String::new(), Role::Text));
    rows.extend(access_rows(state).map(|row| (row, Role::Muted)));
    rows.push((String::new(), Role::Text));
    rows.push(("Things to try:".to_owned(), Role::Text));
    rows.extend(SUGGESTIONS.map(|suggestion| (format!("  {suggestion}"), Role::Muted)));
    let room = usize::from(width.saturating_sub(2));
    let line = |(text, role): (String, Role)| {
        let text = CleanLine::new(&text).truncate_to_width(room);
        Line::from_iter([span(" ", theme.style(Role::Text)), span(text, theme.style(role))])
    };
    rows.into_iter().map(line).collect()
}
