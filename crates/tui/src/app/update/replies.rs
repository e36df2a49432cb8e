//! Replies to requests.

use super::super::commands::login;
use super::super::commands::sessions;
use super::super::commands::setup;
use super::super::view::inline_view;
use super::{approve, backend_replies, pick, prompt, switch};
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    CommandActionKind, CommandFailure, CommandResult, CommandsData, CompletionsData, ErrorCode,
    ExtensionsData, HelloData, JobsData, ListCommands, ListExtensions, ModelData, ModelsData, MovedData,
    QueueData, QueuedData, ReloadData, ReplyPayload, RpcResponse, SessionData, SessionInfo, SessionsData,
    StateData, ThinkingData, ToolsData, ToolsSet, TreeData,
};
use serde::de::DeserializeOwned;

use super::super::deferred_input::QueueSyncState;
use super::super::pending_request::{ListUse, PendingRequest, TakeBackUse};
use super::super::state::AppState;
use super::super::{BackendRequest, NO_MODEL};
use crate::editor::{EditorContent, Submission};
use crate::timeouts;

pub(super) fn handle_reply(state: &mut AppState, reply: RpcResponse) {
    let Some(pending) = reply.id.as_deref().and_then(|id| state.out.take_pending(id)) else {
        // A failure without an ID cannot be matched to a request, but must be shown.
        if let (None, Err(failure)) = (reply.id, reply.outcome) {
            state.show_error(failure.error);
        }
        return;
    };
    match reply.outcome {
        Ok(data) => handle_success(state, pending, data),
        Err(failure) => handle_failure(state, pending, failure),
    }
}

/// Reads the data of a reply. Data of another shape is reported as an error.
fn read_data<T: DeserializeOwned + Clone + 'static>(state: &mut AppState, data: &ReplyPayload) -> Option<T> {
    match data.read() {
        Ok(data) => Some(data),
        Err(error) => {
            state.show_error(format!("internal error: UI and agent versions differ ({error})"));
            None
        }
    }
}

fn handle_success(state: &mut AppState, pending: PendingRequest, data: ReplyPayload) {
    use PendingRequest as P;

    match pending {
        P::Hello => with_data(state, &data, handle_hello),
        P::State { work_revision, queue_revision } => {
            with_data(state, &data, |state, data| apply_state(state, work_revision, queue_revision, data))
        }
        P::Commands => with_data(state, &data, |state, data: CommandsData| {
            state.stack.composer.update_completions(|known| known.set_commands(data.commands));
        }),
        P::Extensions(shown) => with_data(state, &data, |state, data| update_extensions(state, data, shown)),
        P::Jobs(shown) => with_data(state, &data, |state, data| update_jobs(state, data, &shown)),
        P::Models(shown) => with_data(state, &data, |state, data| update_models(state, data, shown)),
        P::Sessions(shown) => with_data(state, &data, |state, data| update_sessions(state, data, &shown)),
        P::Tools(shown) => with_data(state, &data, |state, data| update_tools(state, data, shown)),
        P::Tree => with_data(state, &data, |state, data: TreeData| pick::pick_entry(state, data)),
        P::Prompt(_) => {
            state.work.unanswered_prompts = state.work.unanswered_prompts.saturating_sub(1);
            state.work.start_run();
        }
        P::QueuedMessage(_) => with_data(state, &data, handle_queued_message),
        P::Command(_) => with_data(state, &data, handle_command_result),
        P::Completions(command, prefix) => {
            with_data(state, &data, |state, data| {
                state.stack.composer.apply_completions((command, prefix), data, &mut state.out);
            });
        }
        P::Abort => state.request_state(),
        P::TakeQueued(taken) => with_data(state, &data, |state, data| handle_taken_queue(state, data, taken)),
        P::Model => with_data(state, &data, handle_model_set),
        P::Thinking => with_data(state, &data, handle_thinking_set),
        P::SetTools => with_data(state, &data, handle_tools_set),
        P::SessionCreated => match read_data(state, &data) {
            Some(SessionData { session, .. }) => switch::handle_session_created(state, session),
            None => switch::cancel_switch(state),
        },
        P::Switched => match read_data(state, &data) {
            Some(SessionData { session, .. }) => switch::handle_session_switched(state, session),
            None => switch::cancel_switch(state),
        },
        P::ModelCarriedOver(id) => switch::handle_model_carried_over(state, &id),
        P::PreviousSessionQueue(queue, continued_by) => {
            let taken = read_data(state, &data);
            switch::restore_previous_queue(state, *queue, continued_by.as_deref(), taken);
        }
        P::Cleared => handle_cleared(state),
        P::Compacted => {
            state.work.revision += 1;
            state.work.compacting = true;
        }
        P::Reloaded => with_data(state, &data, handle_reloaded),
        P::Renamed(name) => {
            state.flash(if name.is_some() { "session renamed" } else { "session name removed" });
            state.session.name = name;
            state.stack.composer.completions_mut().sessions = None;
        }
        P::Moved => with_data(state, &data, handle_moved),
        P::Shortcut | P::PreviousSessionMessage(_) | P::ShellOutput => {}
        P::Answered | P::ErrorsOnly | P::Ignored => {}
    }
}

fn with_data<T: DeserializeOwned + Clone + 'static>(
    state: &mut AppState,
    data: &ReplyPayload,
    then: impl FnOnce(&mut AppState, T),
) {
    if let Some(data) = read_data(state, data) {
        then(state, data);
    }
}

fn handle_failure(state: &mut AppState, pending: PendingRequest, failure: CommandFailure) {
    use PendingRequest as P;

    match pending {
        P::Prompt(submission) => {
            state.work.unanswered_prompts = state.work.unanswered_prompts.saturating_sub(1);
            report_unsent(state, &submission, &failure);
        }
        P::QueuedMessage(submission) => {
            state.queue.remove_prompt(&submission);
            report_unsent(state, &submission, &failure);
        }
        // The extension of the command has stopped or has not started yet.
        P::Command(submission) if failure.code == ErrorCode::CommandNotFound => {
            let name = submission.text.split_whitespace().next().unwrap_or_default();
            let error = format!(
                "unknown command {name}; /help lists all commands. To send the text as a prompt, begin it with a space"
            );
            report_unsent(state, &submission, &CommandFailure { error, ..failure });
        }
        P::Command(submission) if failure.code == ErrorCode::LineTooLong => {
            report_unsent(state, &submission, &failure);
        }
        P::Command(_) => state.show_error(failure.error),
        // A failed completion shows no candidates; the reason does not help the user.
        P::Completions(command, prefix) => {
            let nothing = CompletionsData::default();
            state.stack.composer.apply_completions((command, prefix), nothing, &mut state.out);
        }
        P::PreviousSessionMessage(submission) => {
            switch::restore_previous_prompts(state, &[submission.content])
        }
        P::PreviousSessionQueue(queue, continued_by) => {
            switch::restore_previous_queue(state, *queue, continued_by.as_deref(), None)
        }
        P::TakeQueued(_) => {
            state.deferred.queue_sync = QueueSyncState::Synced;
            state.show_error(failure.error);
        }
        P::SessionCreated | P::Switched => {
            switch::cancel_switch(state);
            state.show_error(failure.error);
        }
        P::Sessions(ListUse::Picker) => {
            state.show_error(failure.error);
            sessions::finish_session_choice(state);
        }
        P::Hello => {
            state.show_error(failure.error);
            // No conversation will be loaded that the updates could follow.
            backend_replies::show_deferred_updates(state);
            state.restore_unsent();
        }
        // Without a list of models, the agent checks the name.
        P::Models(ListUse::One(name)) => setup::set_model(state, &name),
        P::State { .. } | P::Commands | P::Models(_) | P::ModelCarriedOver(_) | P::Shortcut => {
            state.show_error(failure.error)
        }
        // An agent that cannot list extensions has none.
        P::Extensions(ListUse::CacheOnly) => approve::request_tools_to_verify(state),
        P::Sessions(ListUse::CacheOnly) | P::Jobs(ListUse::CacheOnly) | P::Ignored => {}
        // The dialog was answered elsewhere or timed out, which is already visible.
        P::Answered if failure.code == ErrorCode::NotOpen => {}
        P::Answered | P::Sessions(_) | P::Extensions(_) | P::Tools(_) => state.show_error(failure.error),
        P::Tree | P::Abort | P::Model | P::Thinking | P::SetTools => state.show_error(failure.error),
        P::Cleared | P::Compacted | P::Reloaded | P::Renamed(_) => state.show_error(failure.error),
        P::Moved | P::ShellOutput | P::ErrorsOnly | P::Jobs(_) => state.show_error(failure.error),
    }
}

/// Reports a message that was not sent and moves it back into the composer. A message that the user took back is not an
/// error.
fn report_unsent(state: &mut AppState, submission: &Submission, failure: &CommandFailure) {
    if failure.code != ErrorCode::Aborted {
        state.show_error(failure.error.clone());
    }
    state.stack.composer.restore_prompts([&submission.content]);
}

fn handle_hello(state: &mut AppState, data: HelloData) {
    state.session.set_own_model(data.provider, data.model);
    // A later `hello` only changes the tools that need approval.
    if state.out.session().is_none() && !data.session.is_empty() {
        state.out.set_session(data.session.clone());
        state.load_conversation(&data.session);
        if state.session.has_no_model() && !state.awaits_session_choice {
            login::connect_model(state);
        }
    }
}

fn apply_state(state: &mut AppState, work_revision: u64, queue_revision: u64, data: StateData) {
    // Activity that started or ended since the request is more recent than the reply.
    match data.busy {
        _ if work_revision != state.work.revision => {}
        true => state.work.agent_running = state.work.agent_running || !state.work.compacting,
        false => state.work.stop_all(),
    }
    let QueueData { steering, follow_up, next_turn } = data.queue.clone();
    if state.deferred.queue_sync != QueueSyncState::Requested
        && queue_revision == state.deferred.queue_revision
    {
        state.queue.update(&AgentEvent::QueueUpdate { steering, follow_up, next_turn });
    }
    state.out.set_session(data.session.clone());
    state.session.update(data);
}

fn update_extensions(state: &mut AppState, data: ExtensionsData, shown: ListUse) {
    state.stack.composer.completions_mut().extensions =
        data.extensions.iter().map(|info| info.name.to_string()).collect();
    for name in state.session.set_extensions(data.extensions) {
        state.show_info(format!("[{name}] is running again"));
    }
    for conflict in state.shortcuts.set_extensions(&state.session.extensions, &state.keymap) {
        state.show_info(conflict);
    }
    if state.session.has_changing_extensions() {
        state.extensions_refresh_at = Some(state.now + timeouts::EXTENSIONS_AGAIN);
    }
    approve::request_tools_to_verify(state);
    match shown {
        ListUse::CacheOnly => {}
        ListUse::Picker => pick::pick_extension(state),
        ListUse::One(name) => setup::show_extension(state, &name),
    }
}

fn update_jobs(state: &mut AppState, data: JobsData, shown: &ListUse) {
    for ended in state.session.set_jobs(data.jobs) {
        state.show_info(ended);
    }
    if state.session.running_jobs() > 0 {
        state.jobs_refresh_at = Some(state.now + timeouts::JOBS_AGAIN);
    }
    if *shown == ListUse::Picker {
        pick::pick_job(state);
    }
}

fn update_models(state: &mut AppState, mut data: ModelsData, shown: ListUse) {
    data.models.retain(|model| model.provider != NO_MODEL);
    state.stack.composer.update_completions(|known| known.models = Some(data.models));
    match shown {
        ListUse::CacheOnly => {}
        ListUse::Picker => pick::pick_model(state, false),
        ListUse::One(name) => setup::choose_model(state, &name),
    }
}

pub(super) fn update_sessions(state: &mut AppState, mut data: SessionsData, shown: &ListUse) {
    let id = state.out.session();
    if let Some(own) = data.sessions.iter_mut().find(|info| Some(info.session.as_str()) == id) {
        own.name.clone_from(&state.session.name);
        let SessionInfo { first_text, .. } = &*own;
        if let Some(first) = first_text {
            state.session.set_first_text(first);
        }
    }
    // An empty session is not worth resuming.
    data.sessions.retain(|info| !(info.open && info.messages == 0 && info.name.is_none() && !info.busy));
    state.stack.composer.update_completions(|known| known.sessions = Some(data.sessions));
    match shown {
        ListUse::Picker => pick::pick_session(state),
        ListUse::CacheOnly | ListUse::One(_) => pick::refresh_sessions(state),
    }
}

fn update_tools(state: &mut AppState, data: ToolsData, shown: ListUse) {
    state.stack.composer.update_completions(|known| known.tools = Some(data.tools));
    approve::warn_unknown_tools(state);
    match shown {
        ListUse::CacheOnly => {}
        ListUse::Picker => pick::pick_tools(state),
        ListUse::One(name) => pick::toggle_tool(state, &name),
    }
}

fn handle_queued_message(state: &mut AppState, data: QueuedData) {
    // The requested queue already includes this message.
    if !data.running && !data.handled && state.deferred.queue_sync == QueueSyncState::Synced {
        state.deferred.queue_sync = QueueSyncState::Undelivered;
    }
}

fn handle_command_result(state: &mut AppState, data: CommandResult) {
    match data.action {
        CommandActionKind::Prompt => {
            state.work.start_run();
            state.notes.clear();
        }
        CommandActionKind::Noop => state.flash("done"),
        // Events show the results of these actions.
        CommandActionKind::Insert | CommandActionKind::Display | CommandActionKind::OpenPanel => {}
    }
}

fn handle_taken_queue(state: &mut AppState, data: QueueData, taken: TakeBackUse) {
    state.deferred.queue_sync = QueueSyncState::Synced;
    state.deferred.queue_revision += 1;
    let QueueData { steering, follow_up, .. } = data;
    let restored = state.queue.take_returned(steering, follow_up);
    prompt::restore_taken_messages(state, restored, taken);
}

fn handle_model_set(state: &mut AppState, data: ModelData) {
    let ModelData { provider, model } = data;
    state.flash(format!("model: {provider}/{model}"));
    state.session.set_own_model(provider, model);
    state.request_state();
}

fn handle_thinking_set(state: &mut AppState, ThinkingData { level }: ThinkingData) {
    state.session.thinking = level;
    state.flash(format!("thinking: {}", level.name()));
}

fn handle_tools_set(state: &mut AppState, data: ToolsSet) {
    for tool in state.stack.composer.completions_mut().tools.iter_mut().flatten() {
        tool.active = data.active.contains(&tool.name);
    }
    pick::refresh_tools(state);
}

fn handle_cleared(state: &mut AppState) {
    inline_view::flush_conversation(state);
    state.announce_conversation("cleared");
    state.stack.conversation.reset_transcript();
    state.notes.clear();
    state.request_state();
}

fn handle_reloaded(state: &mut AppState, data: ReloadData) {
    let ReloadData { stopped, loaded, ready, kept, errors } = data;
    let unchanged = if kept > 0 { format!(", {kept} unchanged") } else { String::new() };
    state.show_info(format!("reloaded: {stopped} stopped, {loaded} loaded ({ready} ready){unchanged}"));
    // Each error was already reported by an event.
    if !errors.is_empty() {
        let extensions = if errors.len() == 1 { "extension" } else { "extensions" };
        state.show_info(format!("{} {extensions} failed; /ext shows the states", errors.len()));
    }
    state.out.ask_backend(BackendRequest::Themes);
    state.out.send(ListCommands {}, PendingRequest::Commands);
    state.out.send(ListExtensions {}, PendingRequest::Extensions(ListUse::CacheOnly));
}

fn handle_moved(state: &mut AppState, MovedData { text, .. }: MovedData) {
    if let Some(id) = state.out.session().map(str::to_owned) {
        state.load_conversation(&id);
    }
    state.request_state();
    if let Some(text) = text {
        // The text goes before the draft.
        state.stack.composer.restore_prompts([&EditorContent::from_text(&text)]);
        state.stack.composer.close_popup();
    }
    state.out.ask_backend(BackendRequest::Branch);
}
