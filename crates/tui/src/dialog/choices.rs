//! The choices of a dialog.

use haft_protocol::rpc::UiAnswer;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::Line;

use super::{AnswerKind, Question};
use crate::clean::{CleanLine, span};
use crate::draw_context::DrawContext;
use crate::frame::{draw_line, row_area, truncate_spans};
use crate::theme::Role;

/// The decision about a gate that grants nothing.
pub(super) const STOP: &str = "stop";

/// The mark before the chosen choice.
const CHOSEN: &str = "›";

#[derive(Debug, Clone, Default)]
pub(super) struct ChoiceList {
    choices: Vec<DialogChoice>,
    chosen: usize,
    /// Side by side if there is room.
    across: bool,
    /// True if choices that grant something are not accepted yet.
    locked: bool,
    /// The number of unread rows of the granted call.
    unread: usize,
}

#[derive(Debug, Clone)]
struct DialogChoice {
    words: CleanLine,
    answer: UiAnswer,
    grants: bool,
}

impl ChoiceList {
    /// Makes the choices of a question that is answered by choosing. The safe choice is chosen at first.
    pub(super) fn from_question(question: &Question) -> Option<Self> {
        let choice = |words: CleanLine, answer, grants: bool| DialogChoice {
            words,
            answer,
            grants: grants && question.grants,
        };
        let value = |word: &String| UiAnswer::Value(word.clone());
        let place = |words: &[String], word: &str| words.iter().position(|known| known == word).unwrap_or(0);
        let (choices, chosen, across): (Vec<DialogChoice>, _, _) = match &question.wanted {
            AnswerKind::Confirm => {
                let [yes, no] = match (&question.call, question.grants) {
                    (Some(_), _) => ["Allow once", "Do not allow"],
                    (None, true) => ["Allow", "Do not allow"],
                    (None, false) => ["Yes", "No"],
                };
                let choices = [(yes, true), (no, false)]
                    .map(|(words, yes)| choice(words.into(), UiAnswer::Confirmed(yes), yes));
                (choices.into(), 1, true)
            }
            AnswerKind::Select(words) => {
                let choices = words.iter().map(|word| choice(CleanLine::new(word), value(word), true));
                let chosen = question.default.as_ref().map_or(0, |word| place(words, word));
                (choices.collect(), chosen, false)
            }
            AnswerKind::Gate(words) => {
                let choices = words.iter().map(|word| choice(gate_label(word), value(word), word != STOP));
                (choices.collect(), place(words, STOP), false)
            }
            AnswerKind::Input { .. } | AnswerKind::Editor(_) => return None,
        };
        Some(Self { choices, chosen, across, ..Self::default() })
    }

    /// Sets whether choices that grant something are locked, and otherwise the number of unread rows.
    pub(super) fn set_locked(&mut self, locked: bool, unread: usize) {
        (self.locked, self.unread) = (locked, unread);
    }

    /// Chooses the next choice. After the last comes the first.
    pub(super) fn next(&mut self) {
        self.chosen = (self.chosen + 1).checked_rem(self.choices.len()).unwrap_or(0);
    }

    /// Chooses the previous choice.
    pub(super) fn previous(&mut self) {
        self.chosen = self.chosen.checked_sub(1).unwrap_or(self.choices.len().saturating_sub(1));
    }

    /// Chooses by number, from 1. Returns false if there is no such choice.
    pub(super) fn choose_number(&mut self, number: Option<u32>) -> bool {
        let at = number.and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let at = at.filter(|at| *at < self.choices.len());
        self.chosen = at.unwrap_or(self.chosen);
        at.is_some()
    }

    pub(super) fn answer(&self) -> Option<(UiAnswer, bool)> {
        self.choices.get(self.chosen).map(|choice| (choice.answer.clone(), choice.grants))
    }

    /// Returns the answer of one choice, counted from 0.
    pub(super) fn answer_of(&self, at: usize) -> Option<UiAnswer> {
        self.choices.get(at).map(|choice| choice.answer.clone())
    }

    /// Returns the names of the choices.
    pub(super) fn labels(&self) -> impl Iterator<Item = &CleanLine> {
        self.choices.iter().map(|choice| &choice.words)
    }

    /// Returns the label of a choice. It includes the number of unread rows.
    fn label_of(&self, choice: &DialogChoice) -> CleanLine {
        if !choice.grants || self.locked || self.unread == 0 {
            return choice.words.clone();
        }
        let rows = if self.unread == 1 { "row" } else { "rows" };
        CleanLine::new(&format!("{}, {} {rows} not read", choice.words, self.unread))
    }

    pub(super) fn rows(&self, width: u16) -> usize {
        if self.fits_across(width) { 1 } else { self.choices.len().max(1) }
    }

    fn fits_across(&self, width: u16) -> bool {
        let columns: usize = self.choices.iter().map(|choice| self.label_of(choice).columns() + 5).sum();
        self.across && columns <= usize::from(width) + 2
    }

    /// Draws the choices. If there is not enough room, draws those around the chosen one.
    pub(super) fn draw(&self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        if self.choices.is_empty() {
            let words = span("no choices", look.theme.style(Role::Muted));
            draw_line(&Line::from(words), row_area(area, 0), buffer);
            return;
        }
        if self.fits_across(area.width) {
            self.draw_across(area, buffer, look);
            return;
        }
        let height = usize::from(area.height);
        let top = (self.chosen + 1).saturating_sub(height.max(1));
        for (y, at) in (0..area.height).zip(top..self.choices.len()) {
            self.draw_row(at, row_area(area, y), buffer, look);
        }
        if height < self.choices.len() {
            let words = format!(" {}/{}", self.chosen + 1, self.choices.len());
            let words = span(CleanLine::new(&words), look.theme.style(Role::Muted));
            let columns = u16::try_from(words.content.len()).unwrap_or(u16::MAX).min(area.width);
            let place = Rect {
                x: area.right() - columns,
                width: columns,
                ..row_area(area, area.height.saturating_sub(1))
            };
            draw_line(&Line::from(words), place, buffer);
        }
    }

    fn draw_across(&self, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let mut spans = Vec::new();
        let text = look.theme.style(Role::Text);
        for (at, choice) in self.choices.iter().enumerate() {
            let is_chosen = at == self.chosen;
            let style = self.style(choice, is_chosen, look);
            let words = self.label_of(choice);
            spans.push(span(if is_chosen { CHOSEN } else { " " }, look.theme.style(Role::Accent)));
            spans.extend([span("[", style), span(words, style), span("]", style), span("  ", text)]);
        }
        draw_line(&Line::from_iter(spans), row_area(area, 0), buffer);
    }

    fn draw_row(&self, at: usize, area: Rect, buffer: &mut Buffer, look: &DrawContext) {
        let Some(choice) = self.choices.get(at) else { return };
        let is_chosen = at == self.chosen;
        let style = self.style(choice, is_chosen, look);
        let mut spans = vec![
            span(if is_chosen { CHOSEN } else { " " }, look.theme.style(Role::Accent)),
            span(" ", style),
        ];
        if !self.across {
            let number = if at < 9 { format!("{} ", at + 1) } else { "  ".to_owned() };
            spans.push(span(CleanLine::new(&number), look.theme.style(Role::Muted).patch(style)));
        }
        spans.push(span(self.label_of(choice), style));
        draw_line(&truncate_spans(spans, usize::from(area.width)), area, buffer);
    }

    fn style(&self, choice: &DialogChoice, is_chosen: bool, look: &DrawContext) -> Style {
        let theme = &look.theme;
        let text = theme.style(Role::Text);
        let style = match is_chosen {
            true => text.patch(theme.style(Role::Selection)).add_modifier(Modifier::BOLD),
            false => text,
        };
        // Locked choices are muted.
        if choice.grants && self.locked { style.patch(theme.style(Role::Muted)) } else { style }
    }
}

/// Returns the label of a decision about a failing gate. The body explains it.
fn gate_label(word: &str) -> CleanLine {
    match word {
        "restart" => "Restart".into(),
        "continue_without" => "Continue without it".into(),
        STOP => "Stop".into(),
        other => CleanLine::new(other),
    }
}
