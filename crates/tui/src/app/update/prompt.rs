//! Messages of the person: prompts, commands, and what waits.

use haft_protocol::content::Image;
use haft_protocol::rpc::{CommandFailure, FollowUp, PromptCommand as Said, RunCommand, SteerCommand};

use super::super::BackendRequest;
use super::super::commands::{self, Command};
use super::super::held::{Form, Unsent};
use super::super::pending::{Pending, Taken};
use super::super::sending::{Arrival, Sending};
use super::super::state::State;
use super::shell;
use super::size::fits;
use crate::editor::{Editor, Submission};
use crate::queue::{RestoredMessages, DeliveryTime};

/// Below this likeness, of at most 1, another name is not what was meant.
const ALIKE: f64 = 0.88;

enum Typed<'t> {
    Own(&'static Command, &'t str),
    Other(&'t str, &'t str),
    /// A command for the shell; whether the model is told what came of it.
    Shell(&'t str, bool),
    Nearly(String),
    Prompt,
}

pub(super) fn say_when_possible(state: &mut State, unsent: Unsent) {
    let quits = matches!(typed(state, &unsent), Typed::Own(command, _) if command.name == "quit");
    match holds(state) && !quits {
        // It is meant for the session that is being opened; the one before is about to be closed. And a conversation
        // that is being read might have it already, so that it would be seen twice.
        true => state.held.unsent.push_back(unsent),
        false => mean(state, &unsent),
    }
}

/// True if no message can be sent now: no session is there to hear it, or not all that was to come before it.
fn holds(state: &State) -> bool {
    state.held.next.is_some()
        || state.stack.conversation.is_read()
        || state.resumes
        || state.out.is_pending(Pending::is_left)
}

/// Says what could not be said so far, as far as that is possible now.
pub(super) fn say_unsent(state: &mut State) {
    while !holds(state)
        && let Some(unsent) = state.held.unsent.pop_front()
    {
        mean(state, &unsent);
    }
}

/// Says what was typed, or does what it means.
fn mean(state: &mut State, unsent: &Unsent) {
    let Unsent { submission, when, form } = unsent;
    let kept = || Box::new(submission.clone());
    match typed(state, unsent) {
        Typed::Nearly(name) => {
            let typed = submission.text.split_whitespace().next().unwrap_or_default();
            state.error(format!("there is no command {typed}; did you mean /{name}? With a blank before it, it is sent as it stands"));
            // A line is typed again.
            if *form != Form::Line {
                state.stack.composer.give_back([&submission.content]);
            }
        }
        Typed::Own(command, args) => {
            remember(state, submission);
            (command.run)(state, args);
        }
        Typed::Other(name, args) => {
            remember(state, submission);
            let command = RunCommand { name: name.to_owned(), args: args.to_owned() };
            state.out.send(command, Pending::Command(kept()));
        }
        Typed::Shell(command, told) => {
            remember(state, submission);
            shell::shell(state, command.to_owned(), told);
        }
        Typed::Prompt => {
            remember(state, submission);
            let when = by_now(state, *when);
            if *form == Form::Line && when == DeliveryTime::Now {
                state.stack.conversation.transcript_mut().record_typed(&submission.text);
            }
            deliver(state, submission.clone(), when, is_plain(submission));
        }
    }
}

fn by_now(state: &State, when: DeliveryTime) -> DeliveryTime {
    match (when, state.work.is_on()) {
        (_, false) => DeliveryTime::Now,
        (DeliveryTime::FollowUp, true) => DeliveryTime::FollowUp,
        (DeliveryTime::Now | DeliveryTime::Steer, true) => DeliveryTime::Steer,
    }
}

fn typed<'t>(state: &State, unsent: &'t Unsent) -> Typed<'t> {
    let Unsent { submission, form, .. } = unsent;
    let text = submission.text.as_str();
    let as_it_stands = *form == Form::Prompt || is_plain(submission) || !submission.images.is_empty();
    if as_it_stands {
        return Typed::Prompt;
    }
    let shell = |command: &'t str, kept| match command.trim() {
        "" => Typed::Prompt,
        command => Typed::Shell(command, kept),
    };
    if let Some(command) = text.strip_prefix("!!") {
        return shell(command, false);
    }
    if let Some(command) = text.strip_prefix('!') {
        return shell(command, true);
    }
    let Some(typed) = text.strip_prefix('/') else { return Typed::Prompt };
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if let Some(command) = Command::named(name) {
        return Typed::Own(command, args.trim());
    }
    if state.stack.composer.known().other(name).is_some() {
        return Typed::Other(name, args.trim());
    }
    match nearly(state, name) {
        Some(nearly) => Typed::Nearly(nearly),
        // One word alone is meant as a command; if there is none, whoever runs it says so, and it comes back.
        None if args.trim().is_empty() && is_name(name) => Typed::Other(name, ""),
        // A prompt may begin with a path.
        None => Typed::Prompt,
    }
}

fn nearly(state: &State, name: &str) -> Option<String> {
    let likeness = |known: &str| strsim::jaro_winkler(known, name);
    let best = state.stack.composer.known().names().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (!name.contains('/') && likeness(best) >= ALIKE).then(|| best.to_owned())
}

fn remember(state: &mut State, submission: &Submission) {
    state.stack.panel.allow_all();
    if !commands::is_secret(&submission.text) && state.stack.composer.remember(&submission.history_text) {
        state.out.ask(BackendRequest::Remember(submission.history_text.clone()));
    }
}

fn deliver(state: &mut State, submission: Submission, when: DeliveryTime, plain: bool) {
    state.notes.clear();
    state.stack.conversation.transcript_mut().scroll(crate::keys::Scroll::Bottom);
    if submission.images.is_empty() {
        return send_prompt(state, submission, Vec::new(), when, plain);
    }
    let ask = |path: &std::path::PathBuf| {
        let number = state.out.next_number();
        state.out.ask(BackendRequest::Image { number, path: path.clone() });
        number
    };
    let images = submission.images.iter().map(ask).collect();
    state.sending.add(submission, when, plain, images);
}

/// Takes an image that was read, for what is pasted or sent.
pub(super) fn image_read(state: &mut State, number: u64, image: Result<Image, CommandFailure>) {
    if state.stack.composer.image(number, &image, &mut state.out) {
        return;
    }
    match state.sending.arrived(number, image) {
        Arrival::Waits => {}
        Arrival::Failed(Sending { submission, .. }, failure) => {
            state.error(format!("the prompt was not sent: {failure}"));
            state.stack.composer.give_back([&submission.content]);
        }
        Arrival::Complete(Sending { submission, when, plain, .. }, images) => {
            let when = by_now(state, when);
            send_prompt(state, submission, images, when, plain);
        }
    }
}

/// `plain` says that it is no command, whatever it begins with.
fn send_prompt(state: &mut State, submission: Submission, images: Vec<Image>, when: DeliveryTime, plain: bool) {
    let message = submission.text.clone();
    if let Err(why) = fits(&message, &images) {
        state.error(why);
        return state.stack.composer.give_back([&submission.content]);
    }
    let kept = Box::new(submission);
    match when {
        DeliveryTime::Now => {
            state.work.prompts += 1;
            state.work.begun += 1;
            state.out.send(Said { message, images, plain: plain.then_some(true) }, Pending::Prompt(kept));
        }
        DeliveryTime::Steer => {
            state.held.told += 1;
            state.queue.push_prompt(&kept);
            state.out.send(SteerCommand { message, images }, Pending::Said(kept));
        }
        DeliveryTime::FollowUp => {
            state.held.told += 1;
            state.queue.push_prompt(&kept);
            state.out.send(FollowUp { message, images }, Pending::Said(kept));
        }
    }
}

/// A run that fails leaves what waited for it where it is.
pub(super) fn has_prompts_waiting(state: &State) -> bool {
    state.queue.waiting_messages().any(|waiting| !waiting.shell)
}

pub(super) fn taken_back(state: &mut State, back: RestoredMessages, taken: Taken) {
    let RestoredMessages { prompts, printed } = back;
    printed.into_iter().for_each(|printed| shell::say_printed(state, printed));
    match taken {
        Taken::Editor => state.stack.composer.give_back(&prompts),
        Taken::Sent => {
            let mut editor = Editor::new();
            editor.prepend_prompts(&prompts);
            let submission = editor.take();
            if !submission.text.is_empty() {
                let when = by_now(state, DeliveryTime::Now);
                // As the agent would have been told it.
                deliver(state, submission, when, true);
            }
        }
    }
}

/// True if the model is told it as it stands, whatever it begins with: that is what a blank before it says.
fn is_plain(submission: &Submission) -> bool {
    submission.history_text.starts_with(char::is_whitespace)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c))
}
