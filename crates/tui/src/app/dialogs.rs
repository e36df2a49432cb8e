//! The queue of open dialogs. One dialog is shown; dialogs that grant something come first.

use std::time::Instant;

use haft_protocol::rpc::UiAnswer;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::component::{Component, InputContext, InputOutcome, WHEEL};
use super::intent::{AnswerUse, ComponentIntent};
use super::outbox::Outbox;
use super::stray_keys::StrayKeys;
use super::{Effect, MouseAction, MouseKind};
use crate::clean::CleanLine;
use crate::dialog::{Dialog, DialogKeyOutcome, Question, TypedLineOutcome};
use crate::draw_context::DrawContext;
use crate::keys::{Context, KeyPress};

/// The note for a question that closed unanswered, and for input that was meant for it.
pub(super) const CLOSED: &str = "the question closed before it was answered";

/// The open dialogs.
#[derive(Debug, Default)]
pub(super) struct DialogQueue {
    open: Vec<OpenDialog>,
    count: u64,
    /// The filter for keys that were meant for a closed dialog.
    stray_keys: Option<StrayKeys>,
    /// The dialog whose text is open in the external editor.
    edited: Option<u64>,
}

/// A dialog and the use of its answer.
#[derive(Debug)]
struct OpenDialog {
    dialog: Dialog,
    purpose: AnswerUse,
    number: u64,
    /// The question as a line, for the list of waiting questions.
    summary: CleanLine,
}

impl DialogQueue {
    pub(super) fn open(&mut self, question: Question, purpose: AnswerUse, now: Instant) {
        // Dialogs of the same kind keep the order of arrival.
        let grants = question.grants;
        let at = match grants {
            true => self.open.iter().position(|asked| !asked.dialog.question().grants),
            false => None,
        };
        let at = at.unwrap_or(self.open.len());
        self.count += 1;
        let number = self.count;
        let summary = question.summary_line();
        self.open.insert(at, OpenDialog { dialog: Dialog::open(question, now), purpose, number, summary });
    }

    pub(super) fn current_mut(&mut self) -> Option<&mut Dialog> {
        self.open.first_mut().map(|asked| &mut asked.dialog)
    }

    pub(super) fn current(&self) -> Option<&Dialog> {
        self.open.first().map(|asked| &asked.dialog)
    }

    pub(super) fn current_number(&self) -> Option<u64> {
        self.open.first().map(|asked| asked.number)
    }

    /// True if the dialog is open.
    pub(super) fn contains(&self, number: u64) -> bool {
        self.open.iter().any(|asked| asked.number == number)
    }

    /// Ignores the keys that follow, because they were meant for a dialog that closed unanswered.
    pub(super) fn expect_stray_keys(&mut self, now: Instant) {
        self.stray_keys = Some(StrayKeys::after_close(now));
    }

    /// Takes the number of the dialog whose text was open in the external editor.
    pub(super) fn take_external_edit(&mut self) -> Option<u64> {
        self.edited.take()
    }

    /// Applies the text of the external editor to its dialog. Returns false if the dialog is closed.
    pub(super) fn apply_external_edit(&mut self, number: u64, text: &str) -> bool {
        let asked = self.open.iter_mut().find(|asked| asked.number == number);
        asked.map(|asked| asked.dialog.apply_edited_text(text)).is_some()
    }

    /// Returns the rows that the dialog requests: at most `height`, or `screen` for a long text. Returns `None` if no
    /// dialog is open.
    pub(super) fn rows(&mut self, width: u16, height: u16, screen: u16, look: &DrawContext) -> Option<u16> {
        self.current_mut().map(|dialog| dialog.rows(width, height, screen, look))
    }

    /// Draws the dialog. Returns the cursor.
    pub(super) fn draw(&mut self, area: Rect, buffer: &mut Buffer, look: &DrawContext) -> Option<(u16, u16)> {
        self.current_mut()?.draw(area, buffer, look)
    }

    pub(super) fn answer(&mut self, answer: UiAnswer, out: &mut Outbox) {
        if !self.open.is_empty() {
            out.push_intent(ComponentIntent::Answer(self.open.remove(0).purpose, answer));
        }
    }

    /// True if the key was meant for a closed dialog. The quit key is never ignored.
    fn is_stray_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> bool {
        let Some(mut late) = self.stray_keys.take() else { return false };
        if press.is_quit() || !late.consumes_key(press.chord(), scope.now) {
            return false;
        }
        if late.is_after_close() {
            scope.out.flash(CLOSED);
        }
        self.stray_keys = Some(late);
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns the questions behind the one that is shown, in their order.
    pub(super) fn waiting_questions(&self) -> impl ExactSizeIterator<Item = &CleanLine> {
        self.open.iter().skip(1).map(|asked| &asked.summary)
    }

    pub(super) fn close(&mut self, id: &str) {
        let is = |purpose: &AnswerUse| matches!(purpose, AnswerUse::Reply { id: open, .. } if open == id);
        self.open.retain(|asked| !is(&asked.purpose));
    }

    pub(super) fn close_replies(&mut self) {
        self.open.retain(|asked| !matches!(asked.purpose, AnswerUse::Reply { .. }));
    }

    /// Records that no dialog is on the screen.
    pub(super) fn mark_hidden(&mut self) {
        self.open.iter_mut().for_each(|asked| asked.dialog.mark_hidden());
    }
}

impl Component for DialogQueue {
    fn wakes_at(&self, now: Instant) -> Option<Instant> {
        self.open.first().and_then(|asked| asked.dialog.wakes_at(now))
    }

    fn handle_key(&mut self, press: &KeyPress, scope: &mut InputContext<'_>) -> InputOutcome {
        if self.is_stray_key(press, scope) {
            return InputOutcome::Handled;
        }
        let Some(asked) = self.open.first_mut() else { return InputOutcome::PassedOn };
        match asked.dialog.key(press, scope.now) {
            DialogKeyOutcome::Open => {}
            DialogKeyOutcome::OpenEditor(text) => {
                self.edited = Some(asked.number);
                scope.out.push_effect(Effect::OpenEditor(text));
            }
            DialogKeyOutcome::StopTurn => {
                if let AnswerUse::Reply { session, .. } = &asked.purpose {
                    scope.out.push_intent(ComponentIntent::StopTurn(session.clone()));
                }
                self.stray_keys = StrayKeys::after_answer(press.chord(), scope.now);
                self.answer(UiAnswer::Cancelled, scope.out);
            }
            DialogKeyOutcome::Answered(answer) => {
                self.stray_keys = StrayKeys::after_answer(press.chord(), scope.now);
                self.answer(answer, scope.out);
            }
        }
        InputOutcome::for_text_input(press, &[Context::Dialog, Context::Confirm])
    }

    fn handle_paste(&mut self, text: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        if self.stray_keys.as_ref().is_some_and(|late| late.is_after_close() && late.is_active(scope.now)) {
            scope.out.flash(CLOSED);
            return InputOutcome::Handled;
        }
        let Some(dialog) = self.current_mut() else { return InputOutcome::PassedOn };
        dialog.paste(text, scope.now);
        InputOutcome::Handled
    }

    fn handle_mouse(&mut self, mouse: MouseAction, _: &mut InputContext<'_>) -> InputOutcome {
        let Some(dialog) = self.current_mut().filter(|dialog| dialog.fills_screen()) else {
            return InputOutcome::PassedOn;
        };
        match mouse.kind {
            MouseKind::WheelUp => dialog.scroll_rows(-WHEEL),
            MouseKind::WheelDown => dialog.scroll_rows(WHEEL),
            MouseKind::Press | MouseKind::Drag | MouseKind::Release => {}
        }
        InputOutcome::Handled
    }

    fn handle_line(&mut self, line: &str, scope: &mut InputContext<'_>) -> InputOutcome {
        let Some(dialog) = self.current_mut() else { return InputOutcome::PassedOn };
        let (how, grants) = (dialog.answer_instructions(), dialog.question().grants);
        match dialog.handle_line(line, scope.now) {
            TypedLineOutcome::More => {}
            TypedLineOutcome::TooEarly => {
                scope.out.print("answer ignored: typed too early; answer again");
            }
            TypedLineOutcome::Unclear => scope.out.print(how),
            TypedLineOutcome::Answered(answer) => {
                match &answer {
                    UiAnswer::Confirmed(true) if grants => scope.out.print("allowed"),
                    UiAnswer::Confirmed(false) | UiAnswer::Cancelled if grants => {
                        scope.out.print("denied");
                    }
                    UiAnswer::Confirmed(_) | UiAnswer::Value(_) | UiAnswer::Cancelled => {}
                }
                self.answer(answer, scope.out);
            }
        }
        InputOutcome::Handled
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::update::update;
    use super::super::{AppOptions, AppState, UiEvent};
    use super::*;
    use crate::dialog::AnswerKind;

    fn question(id: &str, grants: bool) -> (Question, AnswerUse) {
        let question = Question {
            grants,
            ..Question::from_haft(AnswerKind::Editor(String::new()), id.to_owned(), String::new())
        };
        (question, AnswerUse::Reply { id: id.to_owned(), session: None })
    }

    fn opened() -> AppState {
        let mut state = AppState::new(AppOptions::default(), Instant::now());
        let (question, purpose) = question("q1", false);
        state.open_dialog(question, purpose);
        update(&mut state, Instant::now(), UiEvent::Key("ctrl+g".parse().unwrap()));
        assert_eq!(state.stack.dialogs.edited, Some(1));
        state
    }

    fn edited(state: &mut AppState) {
        update(state, Instant::now(), UiEvent::Edited(Ok("the text\n".to_owned())));
    }

    #[test]
    fn edited_text_goes_to_its_dialog_behind_a_newer_one() {
        let mut state = opened();
        let (question, purpose) = question("q2", true);
        state.open_dialog(question, purpose);
        assert_eq!(state.stack.dialogs.current_number(), Some(2));
        edited(&mut state);
        state.stack.dialogs.close("q2");
        let now = Instant::now() + Duration::from_secs(1);
        let effects = update(&mut state, now, UiEvent::Key("ctrl+g".parse().unwrap()));
        assert!(matches!(&effects[..], [Effect::OpenEditor(text)] if text == "the text"), "{effects:?}");
    }

    #[test]
    fn edited_text_of_a_closed_dialog_can_be_yanked() {
        let mut state = opened();
        state.stack.dialogs.close("q1");
        let (question, purpose) = question("q2", false);
        state.open_dialog(question, purpose);
        edited(&mut state);
        state.stack.dialogs.close("q2");
        assert!(state.stack.composer.editor().is_empty());
        update(&mut state, Instant::now(), UiEvent::Key("ctrl+y".parse().unwrap()));
        assert_eq!(state.stack.composer.editor().text(), "the text\n");
    }
}
