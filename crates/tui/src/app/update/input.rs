//! The keyboard, the mouse and typed lines: the components first, then the keys of the whole program, at last the key
//! that quits. What components want done beyond their own state is carried out here.

use std::time::Instant;

use haft_protocol::rpc::UiAnswer;

use super::super::commands::{self, setup};
use super::super::component::{CLOSE, Flow};
use super::super::held::{Form, Unsent};
use super::super::intent::Intent;
use super::super::pending::Taken;
use super::super::state::State;
use super::super::status::quit_offer;
use super::super::{Effect, MouseAction};
use super::{answered, browse, pick, prompt};
use crate::editor::EditorContent;
use crate::keys::{Action, App, Chord, KeyPress, Scroll};
use crate::queue::DeliveryTime;

/// Handles a key: the components first, then the keys of the whole program, at last the key that quits.
pub(super) fn key(state: &mut State, chord: Chord) {
    let press = state.keymap.press(chord);
    let (armed, composes) = (state.status.disarm(), state.stack.composes());
    match state.offer(|component, scope| component.key(&press, scope)) {
        Flow::Unclaimed(action) => unclaimed_key(state, action, &press),
        Flow::Handled | Flow::PassedOn => {}
    }
    let before = state.stack.composer.editor().revision();
    carry_out(state, armed);
    if composes && state.stack.composer.editor().revision() != before {
        state.stack.composer.complete();
    }
}

/// Handles a key that no component claims. The key that quits does so unless it is text or means something else.
fn unclaimed_key(state: &mut State, action: Option<Action>, press: &KeyPress) {
    match action {
        Some(Action::Scroll(action)) => scroll(state, action),
        Some(Action::App(action)) => app(state, action),
        None if press.is_quit() && press.chord().typed_char().is_none() => app(state, App::Quit),
        Some(_) | None => {}
    }
}

pub(super) fn paste(state: &mut State, text: &str) {
    state.status.disarm();
    state.offer(|component, scope| component.paste(text, scope));
    carry_out(state, None);
}

/// Handles a line that was typed.
pub(super) fn heard(state: &mut State, line: &str) {
    // A question takes each line as it is.
    let is_asked = !state.stack.dialogs.is_empty();
    let text = if is_asked { Some(line.to_owned()) } else { state.lines.joined(line) };
    let Some(text) = text else { return };
    if !is_asked {
        state.status.disarm();
        if state.lines.is_late(state.now) && !text.trim().is_empty() {
            // It is printed that it was not sent, and how to send it.
            return state.stack.composer.give_back([&EditorContent::from_text(&text)]);
        }
    }
    state.offer(|component, scope| component.line(&text, scope));
    carry_out(state, None);
}

pub(super) fn interrupted(state: &mut State) {
    state.lines.drop_draft();
    if state.work.is_on() {
        state.abort();
    } else if !state.work.shells.is_empty() {
        state.stop_shell();
    } else if !state.stack.dialogs.is_empty() {
        state.stack.dialogs.answer(UiAnswer::Cancelled, &mut state.out);
    } else if state.stack.cover_rows().is_some() {
        state.offer(|component, scope| component.line(CLOSE, scope));
    } else if !state.held.unsent.is_empty() {
        state.give_back_unsent();
    } else {
        let armed = state.status.disarm();
        quit_the_second_time(state, armed);
    }
    carry_out(state, None);
}

pub(super) fn mouse(state: &mut State, mouse: MouseAction) {
    state.offer(|component, scope| component.mouse(mouse, scope));
    carry_out(state, None);
}

/// Carries out the intents of components. `armed` is the time until which the key that was pressed quits.
pub(super) fn carry_out(state: &mut State, armed: Option<Instant>) {
    while let Some(intent) = state.out.next_intent() {
        match intent {
            Intent::Flash(text) => state.flash(text),
            Intent::Info(text) => state.info(text),
            Intent::Print(text) => state.lines.say(&text),
            Intent::PrintOutput => match state.stack.conversation.transcript().last_output(u16::MAX) {
                Some(rows) => state.lines.say_rows(rows),
                None => state.lines.say("nothing was called"),
            },
            Intent::PrintRows { anew: true } => state.lines.list_narrowed(),
            Intent::PrintRows { anew: false } => state.lines.list_changed(),
            Intent::Say(submission, when) => {
                prompt::say_when_possible(state, Unsent { submission: *submission, when, form: Form::Line });
            }
            Intent::Answer(purpose, answer) => {
                state.lines.dialog_answered();
                answered(state, purpose, answer);
            }
            Intent::PreviewTheme(name) => state.themes.preview(&name),
            Intent::Pick(purpose, key) => pick::picked(state, purpose, &key),
            Intent::Rename(session, name, is_open) => pick::rename(state, session, name, is_open),
            Intent::CloseMenu(purpose) => pick::menu_closed(state, &purpose),
            Intent::ShowMatch => browse::stay_in_transcript(state),
            Intent::SayUnsent => prompt::say_unsent(state),
            Intent::Submit(when) => submit(state, when),
            Intent::Abort => abort_or_clear(state),
            Intent::TakeBack => state.take_back(Taken::Editor),
            Intent::QuitTwice => quit_the_second_time(state, armed),
        }
    }
}

fn scroll(state: &mut State, action: Scroll) {
    if !browse::open_transcript(state, action) {
        return;
    }
    match action {
        Scroll::Search => {
            state.stack.composer.close_popup();
            state.stack.conversation.begin_search();
        }
        Scroll::Browse => {
            state.stack.composer.close_popup();
            state.stack.conversation.browse();
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

fn app(state: &mut State, action: App) {
    match action {
        App::Quit => state.out.effect(Effect::Quit),
        App::Suspend => state.out.effect(Effect::Suspend),
        App::Redraw => state.out.effect(Effect::Redraw),
        App::Help => commands::run(state, "help", ""),
        App::Expand => browse::unfold(state, true),
        App::ShowThinking => browse::unfold(state, false),
        App::NextThinking => setup::next_thinking(state),
        App::PickModel => commands::run(state, "model", ""),
        App::PickSession => commands::run(state, "resume", ""),
        App::PickBranch => commands::run(state, "tree", ""),
    }
}

fn submit(state: &mut State, when: DeliveryTime) {
    if let Some(submission) = state.stack.composer.submit(when) {
        prompt::say_when_possible(state, Unsent { submission, when, form: Form::Typed });
    }
}

fn abort_or_clear(state: &mut State) {
    if state.stack.conversation.end_results() {
        return;
    }
    state.notes.clear();
    match state.work.is_on() {
        true => state.abort(),
        false if !state.held.unsent.is_empty() => state.give_back_unsent(),
        false if state.work.shells.is_empty() && prompt::has_prompts_waiting(state) => {
            state.take_back(Taken::Editor)
        }
        false => state.stop_shell(),
    }
}

/// Quits if the same key was pressed a moment ago: `armed` is the time until which that counts.
fn quit_the_second_time(state: &mut State, armed: Option<Instant>) {
    if state.status.quits(armed, state.now) {
        state.out.effect(Effect::Quit);
        return;
    }
    state.lines.say(&quit_offer(&state.keymap, state.work.is_on()));
}
