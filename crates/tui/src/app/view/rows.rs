//! The rows between the transcript and the composer: notes, activity and queue.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::text::Line;

use haft_protocol::event::NoteLevel;

use crate::clean::{CleanLine, CleanText, span};
use crate::draw_context::DrawContext;
use crate::humanize;
use crate::keys::Prompt;
use crate::theme::{Role, Theme};
use crate::wrap::{RowPrefixes, WrapMode, wrap};

use super::super::component::draw_line;
use super::super::notes::ExtensionNote;
use super::super::state::AppState;
use super::super::waiting_messages::{DeliveryPoint, list_waiting_messages};

const MOST_NOTES: usize = 6;

const MOST_QUEUED: usize = 4;

const MOST_QUESTIONS: usize = 3;

/// The minimum height, in rows, of a screen with a list of waiting questions.
const QUESTIONS_FROM: u16 = 12;

/// The maximum columns of a command in the activity row.
const LONGEST_COMMAND: usize = 24;

/// The maximum bytes of a note that are considered; at most six rows are shown.
const LONGEST_NOTE: usize = 4096;

pub(super) fn note_rows(state: &AppState, width: u16, theme: &Theme) -> u16 {
    u16::try_from(note_lines(state, width, MOST_NOTES, theme).len()).unwrap_or(u16::MAX)
}

pub(super) fn draw_notes(state: &AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
    let lines = note_lines(state, area.width, usize::from(area.height), &look.theme);
    for (row, line) in (0..area.height).zip(&lines) {
        draw_line(buffer, area, row, line);
    }
}

/// Returns the newest notes that fit. Each note begins with its owner; a note that is too long is truncated.
fn note_lines(state: &AppState, width: u16, most: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    for note in state.notes.iter().rev() {
        let mut of_note = wrap_note(note, width, theme);
        if lines.is_empty() && of_note.len() > most {
            of_note.truncate(most);
            if let Some(last) = of_note.last_mut().filter(|_| most > 1) {
                *last = Line::from(span("  …", theme.style(Role::Muted)));
            }
        }
        if lines.len() + of_note.len() > most {
            break;
        }
        of_note.append(&mut lines);
        lines = of_note;
    }
    lines
}

fn wrap_note(
    ExtensionNote { owner, level, text }: &ExtensionNote,
    width: u16,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let role = match level {
        NoteLevel::Success => Role::Ok,
        NoteLevel::Warn => Role::Warning,
        NoteLevel::Error => Role::Error,
        NoteLevel::Info => Role::Note,
    };
    let end = (0..=LONGEST_NOTE.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let text = CleanText::new(text.get(..end).unwrap_or_default());
    let owner = span(CleanLine::new(&format!("[{owner}] ")), theme.style(Role::Extension));
    // The indent marks the following rows as part of the same note.
    let indent = vec![span("  ", theme.style(Role::Text))];
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let first = if at == 0 { vec![owner.clone()] } else { indent.clone() };
        let hang = RowPrefixes { first, rest: indent.clone() };
        lines.extend(wrap(&[span(line, theme.style(role))], width, &hang, WrapMode::Words));
    }
    // An empty note still shows its owner.
    if lines.is_empty() {
        lines.push(Line::from(owner));
    }
    lines
}

pub(super) fn work_rows(state: &AppState) -> u16 {
    u16::from(state.work.since.is_some() && !state.extension_screen.hides_work())
}

/// `⠋ Working… 12s · esc to stop`
pub(super) fn draw_work(state: &AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
    let Some(since) = state.work.since else { return };
    let theme = &look.theme;
    let elapsed = look.now.saturating_duration_since(since);
    let spinner = state.current_spinner();
    let picture = spinner.frame_at(elapsed);
    let of_extension = state.extension_screen.working_text();
    let words = match (state.work.is_active(), state.work.compacting) {
        (_, true) => "summarizing".into(),
        (false, false) => "running".into(),
        (true, false) => of_extension.map_or_else(
            || cyclic_message(&spinner.messages, u128::from(state.work.revision)),
            |text| CleanLine::new(&text),
        ),
    };
    let stop = stop_hint(state);
    let rest = format!(" {}…", capitalize(words.as_str()));
    let time = format!(" {}{stop}", humanize::format_seconds(elapsed.as_secs()));
    let line = Line::from_iter([
        span(picture, theme.style(Role::Spinner)),
        span(CleanLine::new(&rest), theme.style(Role::Text)),
        span(CleanLine::new(&time), theme.style(Role::Muted)),
    ]);
    draw_line(buffer, area, 0, &line);
}

/// Returns the hint for the abort key, which stops the agent first, then the most recent shell command.
fn stop_hint(state: &AppState) -> String {
    let Some(key) = state.keymap.keys(Prompt::Abort).first() else { return String::new() };
    match state.work.shells.last() {
        Some(shell) if state.work.is_active() => {
            let command = CleanLine::new(first_line(&shell.command)).truncate_to_width(LONGEST_COMMAND);
            format!(" · {key} to stop the agent, then !{command}")
        }
        Some(_) | None => format!(" · {key} to stop"),
    }
}

fn cyclic_message(lines: &[CleanLine], at: u128) -> CleanLine {
    let count = u128::try_from(lines.len().max(1)).unwrap_or(1);
    let at = usize::try_from(at % count).unwrap_or(0);
    lines.get(at).cloned().unwrap_or_default()
}

fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

pub(super) fn queue_rows(state: &AppState) -> u16 {
    u16::try_from(
        list_waiting_messages(&state.queue, &state.deferred, state.work.is_active()).len().min(MOST_QUEUED),
    )
    .unwrap_or(u16::MAX)
}

/// `↳ steer: …`, `↳ follow-up: …`, `↳ with your next prompt: !…`
pub(super) fn draw_queue(state: &AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
    let waiting = list_waiting_messages(&state.queue, &state.deferred, state.work.is_active());
    let theme = &look.theme;
    let shown = usize::from(area.height);
    for (row, (until, text)) in (0..area.height).zip(&waiting) {
        let last = usize::from(row) + 1 == shown;
        let more = waiting.len().saturating_sub(shown);
        let until = match until {
            DeliveryPoint::Step => "↳ steer: ",
            DeliveryPoint::Done => "↳ follow-up: ",
            DeliveryPoint::Prompt => "↳ with your next prompt: ",
            DeliveryPoint::Session => "↳ when the session is open: ",
        };
        let mut text = CleanLine::new(first_line(text));
        if last && more > 0 {
            text = CleanLine::new(&format!("… and {} more", more + 1));
        }
        let room = usize::from(area.width).saturating_sub(CleanLine::from(until).columns());
        let line = Line::from_iter([
            span(until, theme.style(Role::Muted)),
            span(text.truncate_to_width(room), theme.style(Role::Text)),
        ]);
        draw_line(buffer, area, row, &line);
    }
}

/// Returns the rows of the list of waiting questions. On a small screen, the status line counts them.
pub(super) fn question_rows(state: &AppState, screen: u16) -> u16 {
    let waiting = if screen < QUESTIONS_FROM { 0 } else { state.stack.dialogs.waiting_questions().len() };
    u16::try_from(waiting.min(MOST_QUESTIONS)).unwrap_or(u16::MAX)
}

/// `? next question: Run bash? · "command": "cargo test"`
pub(super) fn draw_questions(state: &AppState, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
    let mut waiting = state.stack.dialogs.waiting_questions();
    let theme = &look.theme;
    for row in 0..area.height {
        let hidden = if row + 1 == area.height { waiting.len().saturating_sub(1) } else { 0 };
        let Some(summary) = waiting.next() else { break };
        let label = if row == 0 { "? next question: " } else { "? then: " };
        let text = match hidden {
            0 => summary.clone(),
            more => CleanLine::new(&format!("{} more questions", more + 1)),
        };
        let room = usize::from(area.width).saturating_sub(CleanLine::from(label).columns());
        let line = Line::from_iter([
            span(label, theme.style(Role::Warning)),
            span(text.truncate_to_width(room), theme.style(Role::Text)),
        ]);
        draw_line(buffer, area, row, &line);
    }
}

/// Returns the first line, limited to 500 characters.
fn first_line(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    let end = line.char_indices().nth(500).map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_seconds_briefly() {
        assert_eq!([0, 59, 184, 3720].map(humanize::format_seconds), ["0s", "59s", "3m 04s", "1h 02m"]);
    }
}
