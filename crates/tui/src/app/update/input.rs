//! Input from the keyboard, the mouse and typed lines.
//!
//! Input goes to the components first, then to the global keys, and last to the key that quits. This module also
//! carries out the intents of components.

use std::time::Instant;

use haft_protocol::rpc::{AbortCommand, UiAnswer};

use super::super::commands::{self, setup};
use super::super::component::{CLOSE, InputOutcome};
use super::super::deferred_input::{MessageSource, UnsentMessage};
use super::super::intent::ComponentIntent;
use super::super::pending_request::{PendingRequest, TakeBackUse};
use super::super::state::AppState;
use super::super::status::quit_hint;
use super::super::{Effect, MouseAction};
use super::{apply_answer, browse, pick, prompt};
use crate::editor::EditorContent;
use crate::keys::{Action, App, Chord, KeyPress, Scroll};
use crate::queue::DeliveryTime;

/// Handles a key: first the components, then the global keys, last the key that quits.
pub(super) fn handle_key(state: &mut AppState, chord: Chord) {
    let press = state.keymap.press(chord);
    let (armed, composes) = (state.status.disarm_quit(), state.stack.is_composing());
    match state.offer_input(|component, scope| component.handle_key(&press, scope)) {
        InputOutcome::Unclaimed(None) if composes && run_shortcut(state, chord) => {}
        InputOutcome::Unclaimed(action) => handle_unclaimed_key(state, action, &press),
        InputOutcome::Handled | InputOutcome::PassedOn => {}
    }
    let before = state.stack.composer.editor().revision();
    run_intents(state, armed);
    if composes && state.stack.composer.editor().revision() != before {
        state.stack.composer.update_popup();
    }
}

/// Runs the shortcut of an extension. Returns false if no extension registered the key.
fn run_shortcut(state: &mut AppState, chord: Chord) -> bool {
    let Some(shortcut) = state.shortcuts.find_shortcut(chord).cloned() else { return false };
    state.stack.panel.allow_extension(&shortcut.extension);
    state.out.send(shortcut, PendingRequest::Shortcut);
    true
}

/// Handles a key that no component claims. The quit key quits unless it types text or has another action.
fn handle_unclaimed_key(state: &mut AppState, action: Option<Action>, press: &KeyPress) {
    match action {
        Some(Action::Scroll(action)) => run_scroll_action(state, action),
        Some(Action::App(action)) => run_app_action(state, action),
        None if press.is_quit() && press.chord().typed_char().is_none() => run_app_action(state, App::Quit),
        Some(_) | None => {}
    }
}

pub(super) fn handle_paste(state: &mut AppState, text: &str) {
    state.status.disarm_quit();
    state.offer_input(|component, scope| component.handle_paste(text, scope));
    run_intents(state, None);
}

/// Handles a line that was typed.
pub(super) fn handle_typed_line(state: &mut AppState, line: &str) {
    // A dialog takes each line unchanged.
    let has_dialog = !state.stack.dialogs.is_empty();
    let text = if has_dialog { Some(line.to_owned()) } else { state.linear.join_continuation(line) };
    let Some(text) = text else { return };
    if !has_dialog {
        state.status.disarm_quit();
        if state.linear.is_stray_line(state.now) && !text.trim().is_empty() {
            // The printer reports the text as not sent.
            return state.stack.composer.restore_prompts([&EditorContent::from_text(&text)]);
        }
    }
    state.offer_input(|component, scope| component.handle_line(&text, scope));
    run_intents(state, None);
}

pub(super) fn handle_interrupt(state: &mut AppState) {
    state.linear.drop_draft();
    if state.work.is_active() {
        state.abort();
    } else if !state.work.shells.is_empty() {
        state.stop_shell();
    } else if !state.stack.dialogs.is_empty() {
        state.stack.dialogs.answer(UiAnswer::Cancelled, &mut state.out);
    } else if state.stack.cover_rows().is_some() {
        state.offer_input(|component, scope| component.handle_line(CLOSE, scope));
    } else if !state.deferred.unsent.is_empty() {
        state.restore_unsent();
    } else {
        let armed = state.status.disarm_quit();
        quit_or_arm(state, armed);
    }
    run_intents(state, None);
}

pub(super) fn handle_mouse(state: &mut AppState, mouse: MouseAction) {
    state.offer_input(|component, scope| component.handle_mouse(mouse, scope));
    run_intents(state, None);
}

/// Carries out the intents of components. `armed` is the time until which a second press of the key quits.
pub(super) fn run_intents(state: &mut AppState, armed: Option<Instant>) {
    while let Some(intent) = state.out.next_intent() {
        match intent {
            ComponentIntent::Flash(text) => state.flash(text),
            ComponentIntent::Info(text) => state.show_info(text),
            ComponentIntent::Print(text) => state.linear.print_line(&text),
            ComponentIntent::PrintOutput => match state.stack.conversation.transcript().last_output(u16::MAX)
            {
                Some(rows) => state.linear.print_rows(rows),
                None => state.linear.print_line("no tool was called yet"),
            },
            ComponentIntent::PrintRows { from_start: true } => state.linear.list_narrowed(),
            ComponentIntent::PrintRows { from_start: false } => state.linear.list_changed(),
            ComponentIntent::SendMessage(submission, when) => {
                prompt::send_or_defer(
                    state,
                    UnsentMessage { submission: *submission, when, source: MessageSource::LinearInput },
                );
            }
            ComponentIntent::Answer(purpose, answer) => {
                state.linear.dialog_answered();
                apply_answer(state, purpose, answer);
            }
            ComponentIntent::StopTurn(session) => stop_turn(state, session),
            ComponentIntent::PreviewTheme(name) => state.themes.preview(&name),
            ComponentIntent::Pick(purpose, key) => pick::apply_choice(state, purpose, &key),
            ComponentIntent::Rename(session, name, is_open) => {
                pick::rename_session(state, session, name, is_open)
            }
            ComponentIntent::CloseMenu(purpose) => pick::handle_menu_closed(state, &purpose),
            ComponentIntent::ShowMatch => browse::stay_in_transcript(state),
            ComponentIntent::SendUnsent => prompt::send_unsent(state),
            ComponentIntent::Submit(when) => submit_composer(state, when),
            ComponentIntent::Abort => abort_or_clear(state),
            ComponentIntent::TakeBack => state.take_back_queued(TakeBackUse::Editor),
            ComponentIntent::QuitTwice => quit_or_arm(state, armed),
        }
    }
}

fn run_scroll_action(state: &mut AppState, action: Scroll) {
    if !browse::open_transcript(state, action) {
        return;
    }
    match action {
        Scroll::Search => {
            state.stack.composer.close_popup();
            state.stack.conversation.start_search();
        }
        Scroll::Browse => {
            state.stack.composer.close_popup();
            state.stack.conversation.start_browsing();
        }
        Scroll::CopyAnswer => commands::run(state, "copy", ""),
        Scroll::PageUp | Scroll::PageDown | Scroll::LineUp | Scroll::LineDown => {
            state.stack.conversation.transcript_mut().scroll(action);
        }
        Scroll::MessageUp | Scroll::MessageDown | Scroll::Top | Scroll::Bottom => {
            state.stack.conversation.transcript_mut().scroll(action);
        }
    }
}

fn run_app_action(state: &mut AppState, action: App) {
    match action {
        App::Quit => state.out.push_effect(Effect::Quit),
        App::Suspend => state.out.push_effect(Effect::Suspend),
        App::Redraw => state.out.push_effect(Effect::Redraw),
        App::Help => commands::run(state, "help", ""),
        App::Expand => browse::toggle_folds(state, true),
        App::ShowThinking => browse::toggle_folds(state, false),
        App::NextThinking => setup::next_thinking(state),
        App::PickModel => commands::run(state, "model", ""),
        App::PickSession => commands::run(state, "resume", ""),
        App::PickBranch => commands::run(state, "tree", ""),
    }
}

/// Stops the turn of a session, which need not be the shown one.
fn stop_turn(state: &mut AppState, session: Option<String>) {
    match session.filter(|session| state.session() != Some(session)) {
        Some(other) => {
            let abort = AbortCommand { queued: Some(true) };
            state.out.send_to(abort, Some(other), PendingRequest::ErrorsOnly);
        }
        None => state.abort(),
    }
}

fn submit_composer(state: &mut AppState, when: DeliveryTime) {
    if let Some(submission) = state.stack.composer.take_submission(when) {
        prompt::send_or_defer(state, UnsentMessage { submission, when, source: MessageSource::Composer });
    }
}

fn abort_or_clear(state: &mut AppState) {
    if state.stack.conversation.clear_search_results() {
        return;
    }
    state.notes.clear();
    match state.work.is_active() {
        true => state.abort(),
        false if !state.deferred.unsent.is_empty() => state.restore_unsent(),
        false if state.work.shells.is_empty() && prompt::has_queued_prompts(state) => {
            state.take_back_queued(TakeBackUse::Editor)
        }
        false => state.stop_shell(),
    }
}

/// Quits if `now` is not after `armed`; otherwise arms the key, so that the next press quits.
fn quit_or_arm(state: &mut AppState, armed: Option<Instant>) {
    if state.status.confirm_quit(armed, state.now) {
        state.out.push_effect(Effect::Quit);
        return;
    }
    state.linear.print_line(&quit_hint(&state.keymap, state.work.is_active()));
}
