//! Replies: what becomes of what was sent.

use super::super::commands::sessions;
use super::super::commands::setup;
use super::super::view::below;
use super::{answers, approve, pick, prompt, switch};
use haft_protocol::event::AgentEvent;
use haft_protocol::rpc::{
    CommandActionKind, CommandResult, CommandsData, CompletionsData, ErrorCode, ExtensionsData, CommandFailure,
    HelloData, ListCommands, ListExtensions, ModelData, ModelsData, MovedData, ReplyPayload, QueueData,
    QueuedData, ReloadData, RpcResponse, SessionData, SessionInfo, SessionsData, StateData, ThinkingData,
    ToolsData, ToolsSet, TreeData,
};
use serde::de::DeserializeOwned;

use super::super::BackendRequest;
use super::super::held::Queued;
use super::super::pending::{Pending, Shown, Taken};
use super::super::state::State;
use crate::editor::{EditorContent, Submission};
use crate::timeouts;

pub(super) fn reply(state: &mut State, reply: RpcResponse) {
    let Some(pending) = reply.id.as_deref().and_then(|id| state.out.take_pending(id)) else {
        // What it was about is not known, and yet it was not done.
        if let (None, Err(failure)) = (reply.id, reply.outcome) {
            state.error(failure.error);
        }
        return;
    };
    match reply.outcome {
        Ok(data) => succeeded(state, pending, data),
        Err(failure) => failed(state, pending, failure),
    }
}

/// Reads the data of a reply; where it is not what it should be, that is said.
fn read_data<T: DeserializeOwned + Clone + 'static>(state: &mut State, data: &ReplyPayload) -> Option<T> {
    match data.read() {
        Ok(data) => Some(data),
        Err(error) => {
            state.error(format!("internal error: UI and agent versions differ ({error})"));
            None
        }
    }
}

fn succeeded(state: &mut State, pending: Pending, data: ReplyPayload) {
    match pending {
        Pending::Hello => with_data(state, &data, greeted),
        Pending::State { begun, told } => {
            with_data(state, &data, |state, data| take_state(state, begun, told, data))
        }
        Pending::Commands => with_data(state, &data, |state, data: CommandsData| {
            state.stack.composer.learn(|known| known.set_commands(data.commands));
        }),
        Pending::Extensions(shown) => with_data(state, &data, |state, data| extensions(state, data, shown)),
        Pending::Models(shown) => with_data(state, &data, |state, data| models(state, data, shown)),
        Pending::Sessions(shown) => with_data(state, &data, |state, data| sessions(state, data, &shown)),
        Pending::Tools(shown) => with_data(state, &data, |state, data| tools(state, data, shown)),
        Pending::Tree => with_data(state, &data, |state, data: TreeData| pick::pick_entry(state, data)),
        Pending::Prompt(_) => {
            state.work.prompts = state.work.prompts.saturating_sub(1);
            state.work.begins();
        }
        Pending::Said(_) => with_data(state, &data, said),
        Pending::Command(_) => with_data(state, &data, command_done),
        Pending::Completions(command, prefix) => {
            with_data(state, &data, |state, data| {
                state.stack.composer.completed((command, prefix), data, &mut state.out);
            });
        }
        Pending::Abort => state.ask_state(),
        Pending::Taken(taken) => with_data(state, &data, |state, data| queue_taken(state, data, taken)),
        Pending::Model => with_data(state, &data, model_set),
        Pending::Thinking => with_data(state, &data, |state, data: ThinkingData| {
            state.session.thinking = data.level;
            state.flash(format!("thinking: {}", data.level.name()));
        }),
        Pending::SetTools => with_data(state, &data, tools_set),
        Pending::Made => match read_data(state, &data) {
            Some(SessionData { session, .. }) => switch::made(state, session),
            None => switch::end_switch(state),
        },
        Pending::Switched => match read_data(state, &data) {
            Some(SessionData { session, .. }) => switch::switched(state, session),
            None => switch::end_switch(state),
        },
        Pending::CarriedOver(id) => switch::carried_over(state, &id),
        Pending::Left(queue, goes_on) => {
            let taken = read_data(state, &data);
            switch::left(state, *queue, goes_on.as_deref(), taken);
        }
        Pending::Cleared => cleared(state),
        Pending::Compacted => {
            state.work.begun += 1;
            state.work.sums_up = true;
        }
        Pending::Reloaded => with_data(state, &data, reloaded),
        Pending::Named(name) => {
            state.flash(if name.is_some() { "named" } else { "it has no name any more" });
            state.session.name = name;
            state.stack.composer.known_mut().sessions = None;
        }
        Pending::Moved => with_data(state, &data, moved),
        Pending::Before(_) | Pending::ShellSaid => {}
        Pending::Answered | Pending::Quiet | Pending::Silent => {}
    }
}

fn with_data<T: DeserializeOwned + Clone + 'static>(
    state: &mut State,
    data: &ReplyPayload,
    then: impl FnOnce(&mut State, T),
) {
    if let Some(data) = read_data(state, data) {
        then(state, data);
    }
}

fn failed(state: &mut State, pending: Pending, failure: CommandFailure) {
    match pending {
        Pending::Prompt(submission) => {
            state.work.prompts = state.work.prompts.saturating_sub(1);
            not_sent(state, &submission, &failure);
        }
        Pending::Said(submission) => {
            state.queue.remove_prompt(&submission);
            not_sent(state, &submission, &failure);
        }
        // Its extension is gone, or was not there yet.
        Pending::Command(submission) if failure.code == ErrorCode::CommandNotFound => {
            let name = submission.text.split_whitespace().next().unwrap_or_default();
            let error = format!("there is no command {name}; /help shows them");
            not_sent(state, &submission, &CommandFailure { error, ..failure });
        }
        Pending::Command(submission) if failure.code == ErrorCode::LineTooLong => {
            not_sent(state, &submission, &failure);
        }
        Pending::Command(_) => state.error(failure.error),
        // Nothing comes to mind. Whoever types need not know why.
        Pending::Completions(command, prefix) => {
            let nothing = CompletionsData::default();
            state.stack.composer.completed((command, prefix), nothing, &mut state.out);
        }
        Pending::Before(submission) => switch::back_from_before(state, &[submission.content]),
        Pending::Left(queue, goes_on) => switch::left(state, *queue, goes_on.as_deref(), None),
        Pending::Taken(_) => {
            state.held.waiting = Queued::Told;
            state.error(failure.error);
        }
        Pending::Made | Pending::Switched => {
            switch::end_switch(state);
            state.error(failure.error);
        }
        Pending::Sessions(Shown::Picker) => {
            state.error(failure.error);
            sessions::picked_session(state);
        }
        Pending::Hello => {
            state.error(failure.error);
            // No conversation comes that it could stand behind.
            answers::follow(state);
            state.give_back_unsent();
        }
        // Whoever has it is asked, then.
        Pending::Models(Shown::One(name)) => setup::set_model(state, &name),
        Pending::State { .. } | Pending::Commands | Pending::Models(_) | Pending::CarriedOver(_) => {
            state.error(failure.error);
        }
        // There are none, where that cannot be asked.
        Pending::Extensions(Shown::No) => approve::check_approve(state),
        Pending::Sessions(Shown::No) | Pending::Silent => {}
        // It was answered, or its time was over: that is seen.
        Pending::Answered if failure.code == ErrorCode::NotOpen => {}
        Pending::Answered | Pending::Sessions(_) | Pending::Extensions(_) | Pending::Tools(_) => {
            state.error(failure.error);
        }
        Pending::Tree | Pending::Abort | Pending::Model | Pending::Thinking | Pending::SetTools => {
            state.error(failure.error);
        }
        Pending::Cleared | Pending::Compacted | Pending::Reloaded | Pending::Named(_) => {
            state.error(failure.error);
        }
        Pending::Moved | Pending::ShellSaid | Pending::Quiet => state.error(failure.error),
    }
}

/// It comes back into the editor. What the person took back is nothing that went wrong.
fn not_sent(state: &mut State, submission: &Submission, failure: &CommandFailure) {
    if failure.code != ErrorCode::Aborted {
        state.error(failure.error.clone());
    }
    state.stack.composer.give_back([&submission.content]);
}

fn greeted(state: &mut State, data: HelloData) {
    state.session.set_own_model(data.provider, data.model);
    // A later `hello` only says what is to be asked.
    if state.out.session().is_none() && !data.session.is_empty() {
        state.out.set_session(data.session.clone());
        state.begin_conversation(&data.session);
    }
}

fn take_state(state: &mut State, begun: u64, told: u64, data: StateData) {
    // What has begun or ended since is known better.
    match data.busy {
        _ if begun != state.work.begun => {}
        true => state.work.runs = state.work.runs || !state.work.sums_up,
        false => state.work.is_over(),
    }
    let QueueData { steering, follow_up, next_turn } = data.queue.clone();
    if state.held.waiting != Queued::Asked && told == state.held.told {
        state.queue.update(&AgentEvent::QueueUpdate { steering, follow_up, next_turn });
    }
    state.out.set_session(data.session.clone());
    state.session.update(data);
}

fn extensions(state: &mut State, data: ExtensionsData, shown: Shown) {
    state.stack.composer.known_mut().extensions =
        data.extensions.iter().map(|info| info.name.to_string()).collect();
    for name in state.session.set_extensions(data.extensions) {
        state.info(format!("[{name}] runs again"));
    }
    if state.session.changes_soon() {
        state.extensions_at = Some(state.now + timeouts::EXTENSIONS_AGAIN);
    }
    approve::check_approve(state);
    match shown {
        Shown::No => {}
        Shown::Picker => pick::pick_extension(state),
        Shown::One(name) => setup::show_extension(state, &name),
    }
}

fn models(state: &mut State, data: ModelsData, shown: Shown) {
    state.stack.composer.learn(|known| known.models = Some(data.models));
    match shown {
        Shown::No => {}
        Shown::Picker => pick::pick_model(state),
        Shown::One(name) => setup::choose_model(state, &name),
    }
}

pub(super) fn sessions(state: &mut State, mut data: SessionsData, shown: &Shown) {
    let id = state.out.session();
    if let Some(own) = data.sessions.iter_mut().find(|info| Some(info.session.as_str()) == id) {
        own.name.clone_from(&state.session.name);
        let SessionInfo { first_text, .. } = &*own;
        if let Some(first) = first_text {
            state.session.said_first(first);
        }
    }
    // Nobody goes on with what was never begun.
    data.sessions.retain(|info| !(info.open && info.messages == 0 && info.name.is_none() && !info.busy));
    state.stack.composer.learn(|known| known.sessions = Some(data.sessions));
    match shown {
        Shown::Picker => pick::pick_session(state),
        Shown::No | Shown::One(_) => pick::refresh_sessions(state),
    }
}

fn tools(state: &mut State, data: ToolsData, shown: Shown) {
    state.stack.composer.learn(|known| known.tools = Some(data.tools));
    approve::warn_of_approve(state);
    match shown {
        Shown::No => {}
        Shown::Picker => pick::pick_tools(state),
        Shown::One(name) => pick::toggle_tool(state, &name),
    }
}

fn said(state: &mut State, data: QueuedData) {
    // What is being taken back was said before that: it is among it.
    if !data.running && state.held.waiting == Queued::Told {
        state.held.waiting = Queued::Unheard;
    }
}

fn command_done(state: &mut State, data: CommandResult) {
    match data.action {
        CommandActionKind::Prompt => {
            state.work.begins();
            state.notes.clear();
        }
        CommandActionKind::Noop => state.flash("done"),
        // Events show them.
        CommandActionKind::Insert | CommandActionKind::Display | CommandActionKind::OpenPanel => {}
    }
}

fn queue_taken(state: &mut State, data: QueueData, taken: Taken) {
    state.held.waiting = Queued::Told;
    state.held.told += 1;
    let QueueData { steering, follow_up, .. } = data;
    let back = state.queue.take_returned(steering, follow_up);
    prompt::taken_back(state, back, taken);
}

fn model_set(state: &mut State, data: ModelData) {
    let ModelData { provider, model } = data;
    state.flash(format!("model: {provider}/{model}"));
    state.session.set_own_model(provider, model);
    state.ask_state();
}

fn tools_set(state: &mut State, data: ToolsSet) {
    for tool in state.stack.composer.known_mut().tools.iter_mut().flatten() {
        tool.active = data.active.contains(&tool.name);
    }
    pick::refresh_tools(state);
}

fn cleared(state: &mut State) {
    below::leave_conversation(state);
    state.begin_printing("cleared");
    state.stack.conversation.begin_anew();
    state.notes.clear();
    state.ask_state();
}

fn reloaded(state: &mut State, data: ReloadData) {
    let ReloadData { stopped, loaded, ready, kept, errors } = data;
    let kept = if kept > 0 { format!(", {kept} kept as they were") } else { String::new() };
    state.info(format!("reloaded: {stopped} stopped, {loaded} loaded ({ready} ready){kept}"));
    // Each error was told as an event.
    if !errors.is_empty() {
        let extensions = if errors.len() == 1 { "extension" } else { "extensions" };
        state.info(format!("{} {extensions} failed", errors.len()));
    }
    state.out.ask(BackendRequest::Themes);
    state.out.send(ListCommands {}, Pending::Commands);
    state.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
}

fn moved(state: &mut State, MovedData { text, .. }: MovedData) {
    if let Some(id) = state.out.session().map(str::to_owned) {
        state.begin_conversation(&id);
    }
    state.ask_state();
    if let Some(text) = text {
        // Before what is being written.
        state.stack.composer.give_back([&EditorContent::from_text(&text)]);
        state.stack.composer.close_popup();
    }
    state.out.ask(BackendRequest::Branch);
}
