//! Messages of the user: prompts, commands and queued messages.

use haft_protocol::content::Image;
use haft_protocol::rpc::{CommandFailure, FollowUp, PromptCommand, RunCommand, SteerCommand};

use super::super::BackendRequest;
use super::super::commands::{self, BuiltInCommand, login};
use super::super::deferred_input::{MessageSource, UnsentMessage};
use super::super::image_prompts::{ImageLoadOutcome, ImagePrompt};
use super::super::pending_request::{PendingRequest, TakeBackUse};
use super::super::state::AppState;
use super::shell;
use super::size::check_message_size;
use crate::editor::{Editor, Submission};
use crate::queue::{DeliveryTime, RestoredMessages};

/// The minimum similarity, from 0 to 1, of a suggested name.
const ALIKE: f64 = 0.88;

enum ParsedInput<'t> {
    BuiltIn(&'static BuiltInCommand, &'t str),
    External(&'t str, &'t str),
    /// A shell command, and whether its output is sent to the model.
    Shell(&'t str, bool),
    Misspelled(String),
    Prompt,
}

pub(super) fn send_or_defer(state: &mut AppState, unsent: UnsentMessage) {
    let quits =
        matches!(parse_input(state, &unsent), ParsedInput::BuiltIn(command, _) if command.name == "quit");
    match must_defer(state) && !quits {
        // The message is meant for the session that is being opened. A conversation that is being loaded might already
        // contain the message, which would then be shown twice.
        true => state.deferred.unsent.push_back(unsent),
        false => dispatch_input(state, &unsent),
    }
}

/// True if no message can be sent now, because the session is not ready or earlier messages must go first.
fn must_defer(state: &AppState) -> bool {
    state.deferred.session_switch.is_some()
        || state.stack.conversation.is_loading()
        || state.awaits_session_choice
        || state.out.is_pending(PendingRequest::is_previous_session_queue)
}

/// Sends the deferred messages, as far as possible.
pub(super) fn send_unsent(state: &mut AppState) {
    while !must_defer(state)
        && let Some(unsent) = state.deferred.unsent.pop_front()
    {
        dispatch_input(state, &unsent);
    }
}

/// Sends a prompt, or runs the command that the input names.
fn dispatch_input(state: &mut AppState, unsent: &UnsentMessage) {
    let UnsentMessage { submission, when, source } = unsent;
    let boxed = || Box::new(submission.clone());
    match parse_input(state, unsent) {
        ParsedInput::Misspelled(name) => {
            let typed = submission.text.split_whitespace().next().unwrap_or_default();
            state.show_error(format!(
                "unknown command {typed}; did you mean /{name}? To send the text as a prompt, begin it with a space"
            ));
            // In the linear mode, the user types the line again.
            if *source != MessageSource::LinearInput {
                state.stack.composer.restore_prompts([&submission.content]);
            }
        }
        ParsedInput::BuiltIn(command, args) => {
            add_to_history(state, submission);
            (command.run)(state, args);
        }
        ParsedInput::External(name, _) if state.session.has_no_model() && asks_model(state, name) => {
            refuse_without_model(state, submission, *source);
        }
        ParsedInput::External(name, args) => {
            add_to_history(state, submission);
            let command = RunCommand { name: name.to_owned(), args: args.to_owned() };
            state.out.send(command, PendingRequest::Command(boxed()));
        }
        ParsedInput::Shell(command, send_output) => {
            add_to_history(state, submission);
            shell::run_shell_command(state, command.to_owned(), send_output);
        }
        ParsedInput::Prompt if state.session.has_no_model() => {
            refuse_without_model(state, submission, *source)
        }
        ParsedInput::Prompt => {
            add_to_history(state, submission);
            let when = effective_timing(state, *when);
            if *source == MessageSource::LinearInput && when == DeliveryTime::Now {
                state.stack.conversation.transcript_mut().record_typed(&submission.text);
            }
            send_message(state, submission.clone(), when, is_plain(submission));
        }
    }
}

/// True if a command is a template or a skill. Commands of extensions may do without a model.
fn asks_model(state: &AppState, name: &str) -> bool {
    let known = state.stack.composer.completions().external_command(name);
    known.is_some_and(|command| command.extension.is_none())
}

/// Returns a message to the composer and offers the models.
fn refuse_without_model(state: &mut AppState, submission: &Submission, source: MessageSource) {
    state.show_error("no model is selected; the prompt was not sent");
    if source != MessageSource::LinearInput {
        state.stack.composer.restore_prompts([&submission.content]);
    }
    login::connect_model(state);
}

fn effective_timing(state: &AppState, when: DeliveryTime) -> DeliveryTime {
    match (when, state.work.is_active()) {
        (_, false) => DeliveryTime::Now,
        (DeliveryTime::FollowUp, true) => DeliveryTime::FollowUp,
        (DeliveryTime::Now | DeliveryTime::Steer, true) => DeliveryTime::Steer,
    }
}

fn parse_input<'t>(state: &AppState, unsent: &'t UnsentMessage) -> ParsedInput<'t> {
    let UnsentMessage { submission, source, .. } = unsent;
    let text = submission.text.as_str();
    let is_always_prompt =
        *source == MessageSource::CommandLine || is_plain(submission) || !submission.images.is_empty();
    if is_always_prompt {
        return ParsedInput::Prompt;
    }
    let shell = |command: &'t str, send_output| match command.trim() {
        "" => ParsedInput::Prompt,
        command => ParsedInput::Shell(command, send_output),
    };
    if let Some(command) = text.strip_prefix("!!") {
        return shell(command, false);
    }
    if let Some(command) = text.strip_prefix('!') {
        return shell(command, true);
    }
    let Some(typed) = text.strip_prefix('/') else { return ParsedInput::Prompt };
    let (name, args) = typed.split_once(char::is_whitespace).unwrap_or((typed, ""));
    if let Some(command) = BuiltInCommand::find_by_name(name) {
        return ParsedInput::BuiltIn(command, args.trim());
    }
    if state.stack.composer.completions().external_command(name).is_some() {
        return ParsedInput::External(name, args.trim());
    }
    match closest_command(state, name) {
        // The command may be one of an extension that is still starting. haft waits for it.
        Some(_) if is_name(name) && state.session.has_changing_extensions() => {
            ParsedInput::External(name, args.trim())
        }
        Some(suggestion) => ParsedInput::Misspelled(suggestion),
        // A word is meant as a command. The agent reports an unknown one, and the text returns to the composer.
        None if is_name(name) => ParsedInput::External(name, args.trim()),
        // A prompt may begin with a path.
        None => ParsedInput::Prompt,
    }
}

fn closest_command(state: &AppState, name: &str) -> Option<String> {
    let likeness = |known: &str| strsim::jaro_winkler(known, name);
    let best =
        state.stack.composer.completions().names().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (!name.contains('/') && likeness(best) >= ALIKE).then(|| best.to_owned())
}

fn add_to_history(state: &mut AppState, submission: &Submission) {
    state.stack.panel.allow_all();
    if !commands::contains_secret(&submission.text)
        && state.stack.composer.push_history(&submission.history_text)
    {
        state.out.ask_backend(BackendRequest::Remember(submission.history_text.clone()));
    }
}

fn send_message(state: &mut AppState, submission: Submission, when: DeliveryTime, plain: bool) {
    state.notes.clear();
    state.stack.conversation.transcript_mut().scroll(crate::keys::Scroll::Bottom);
    if submission.images.is_empty() {
        return send_prompt(state, submission, Vec::new(), when, plain);
    }
    let ask = |path: &std::path::PathBuf| {
        let number = state.out.next_number();
        state.out.ask_backend(BackendRequest::Image { number, path: path.clone() });
        number
    };
    let images = submission.images.iter().map(ask).collect();
    state.image_prompts.add(submission, when, plain, images);
}

/// Applies a loaded image to the paste or prompt that requested it.
pub(super) fn handle_image(state: &mut AppState, number: u64, image: Result<Image, CommandFailure>) {
    if state.stack.composer.handle_image(number, &image, &mut state.out) {
        return;
    }
    match state.image_prompts.accept_image(number, image) {
        ImageLoadOutcome::Waiting => {}
        ImageLoadOutcome::Failed(ImagePrompt { submission, .. }, failure) => {
            state.show_error(format!("the prompt was not sent: {failure}"));
            state.stack.composer.restore_prompts([&submission.content]);
        }
        ImageLoadOutcome::Complete(ImagePrompt { submission, when, plain, .. }, images) => {
            let when = effective_timing(state, when);
            send_prompt(state, submission, images, when, plain);
        }
    }
}

/// Sends a prompt. With `plain`, the text is never a command, even if it begins with `/`.
fn send_prompt(
    state: &mut AppState,
    submission: Submission,
    images: Vec<Image>,
    when: DeliveryTime,
    plain: bool,
) {
    let message = submission.text.clone();
    if let Err(why) = check_message_size(&message, &images) {
        state.show_error(why);
        return state.stack.composer.restore_prompts([&submission.content]);
    }
    let submission = Box::new(submission);
    match when {
        DeliveryTime::Now => {
            state.work.unanswered_prompts += 1;
            state.work.revision += 1;
            state.out.send(
                PromptCommand { message, images, plain: plain.then_some(true) },
                PendingRequest::Prompt(submission),
            );
        }
        DeliveryTime::Steer => {
            state.deferred.queue_revision += 1;
            state.queue.push_prompt(&submission);
            state.out.send(SteerCommand { message, images }, PendingRequest::QueuedMessage(submission));
        }
        DeliveryTime::FollowUp => {
            state.deferred.queue_revision += 1;
            state.queue.push_prompt(&submission);
            state.out.send(FollowUp { message, images }, PendingRequest::QueuedMessage(submission));
        }
    }
}

/// True if prompts are queued. A run that failed leaves its queue in place.
pub(super) fn has_queued_prompts(state: &AppState) -> bool {
    state.queue.waiting_messages().any(|waiting| !waiting.shell)
}

pub(super) fn restore_taken_messages(state: &mut AppState, restored: RestoredMessages, taken: TakeBackUse) {
    let RestoredMessages { prompts, printed } = restored;
    printed.into_iter().for_each(|printed| shell::send_shell_output(state, printed));
    match taken {
        TakeBackUse::Editor => state.stack.composer.restore_prompts(&prompts),
        TakeBackUse::Resend => {
            let mut editor = Editor::new();
            editor.prepend_prompts(&prompts);
            let submission = editor.take();
            if !submission.text.is_empty() {
                let when = effective_timing(state, DeliveryTime::Now);
                // A queued message is always plain text.
                send_message(state, submission, when, true);
            }
        }
    }
}

/// True if the text begins with white space, which marks it as a prompt whatever follows.
fn is_plain(submission: &Submission) -> bool {
    submission.history_text.starts_with(char::is_whitespace)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "-_:".contains(c))
}
