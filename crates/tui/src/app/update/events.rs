//! Events: what happens in the session that is shown.

use haft_protocol::content::joined_text;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::TokenUsage;
use haft_protocol::rpc::{ClientEvent, EventLine, ListExtensions, RpcEvent, SessionEnd, UiRequest};

use super::super::held::Queued;
use super::super::intent::AnswerUse;
use super::super::notes::Note;
use super::super::pending::{Pending, Shown};
use super::super::state::State;
use super::super::{BackendRequest, Effect};
use crate::dialog::Question;

pub(super) fn event_line(state: &mut State, line: EventLine) {
    let EventLine { event, session } = line;
    let shown = state.out.session();
    match &session {
        Some(of) if shown.is_some_and(|shown| shown != of) => of_another(state, of.clone(), event),
        Some(_) | None => session_event(state, event, session),
    }
}

/// Keeps an event of another session, if that will be shown.
fn of_another(state: &mut State, session: String, event: ClientEvent) {
    if let ClientEvent::Rpc(RpcEvent::UiDone { id, .. }) = &event {
        state.stack.dialogs.close(id);
    }
    if let Some(next) = &mut state.held.next {
        next.happens(session, event);
    }
}

pub(super) fn session_event(state: &mut State, event: ClientEvent, session: Option<String>) {
    match event {
        ClientEvent::Agent(event) => agent_event(state, event),
        ClientEvent::Rpc(event) => rpc_event(state, event, session),
    }
}

fn agent_event(state: &mut State, event: AgentEvent) {
    facts_of(state, &event);
    if let Some(event) = state.stack.conversation.admit(event) {
        shown_event(state, &event);
    }
}

pub(super) fn shown_event(state: &mut State, event: &AgentEvent) {
    // Every session begins with it, and it is the same for all of them.
    if let AgentEvent::TrustRequired { skipped, .. } = event
        && std::mem::replace(&mut state.untrusted, skipped.clone()) == *skipped
    {
        return;
    }
    state.stack.conversation.transcript_mut().handle_event(event, state.now);
    let is_of_queue = matches!(event, AgentEvent::QueueUpdate { .. });
    // What is taken back is not forgotten before it is here.
    if !(is_of_queue && state.held.waiting == Queued::Asked) {
        state.held.told += u64::from(is_of_queue);
        state.queue.update(event);
    }
}

fn facts_of(state: &mut State, event: &AgentEvent) {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are shown and nothing more")]
    match event {
        AgentEvent::UserMessage { content, time: _ } => {
            state.work.begins();
            if state.session.first_text.is_none() {
                state.session.said_first(&joined_text(content));
            }
        }
        AgentEvent::TurnStart { .. } => state.work.runs = true,
        AgentEvent::ToolStart { name, .. } => state.stack.panel.tool_starts(name, &state.session.extensions),
        AgentEvent::ModelRequest { provider, model, .. } => {
            (state.session.provider, state.session.model) = (provider.clone(), model.clone());
        }
        AgentEvent::ModelFallback { to, .. } => state.session.set_model(to),
        AgentEvent::Usage { usage, cumulative } => {
            let TokenUsage { input, output, cache_read, cache_write, .. } = *usage;
            state.session.context = input + output + cache_read + cache_write;
            state.session.usage = *cumulative;
        }
        AgentEvent::CompactionStart { .. } => state.work.sums_up = true,
        AgentEvent::CompactionEnd { .. } => {
            state.work.sums_up = false;
            state.ask_state();
        }
        // A summary may end with nothing else: there was nothing to sum up, or it broke before it began.
        AgentEvent::Error { .. } if state.work.sums_up => state.ask_state(),
        AgentEvent::Done => done(state),
        AgentEvent::ExtNotify { extension, level, message } => {
            let (owner, level, text) = (extension.to_string(), *level, message.clone());
            state.notes.push(Note { owner, level, text });
        }
        AgentEvent::ExtClearNotes { extension } => state.notes.clear_of(extension.as_str()),
        AgentEvent::ExtensionError(_) | AgentEvent::GateOff { .. } => {
            state.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
        }
        _ => {}
    }
}

fn done(state: &mut State) {
    state.work.ends();
    state.stack.composer.forget_files();
    // They may have gone to another branch, too.
    state.out.ask(BackendRequest::Branch);
    state.ask_state();
    if state.settings.bell() {
        state.out.effect(Effect::Bell);
    }
}

fn rpc_event(state: &mut State, event: RpcEvent, session: Option<String>) {
    match event {
        RpcEvent::CompactDone { .. } => {
            state.work.sums_up = false;
            state.ask_state();
        }
        RpcEvent::UiRequest(request) => asked(state, &request, session),
        RpcEvent::UiDone { id, .. } => state.stack.dialogs.close(&id),
        RpcEvent::PanelOpen { extension, panel } => {
            if state.stack.panel.open(extension, panel, &mut state.out) {
                // A page would hide the panel.
                state.stack.page = None;
            }
        }
        RpcEvent::PanelRender { extension, panel: content } => {
            state.stack.panel.render(&extension, content);
        }
        RpcEvent::PanelClose { extension, panel_id } => {
            state.stack.panel.close_of(&extension, &panel_id);
        }
        RpcEvent::Insert { extension, text } => {
            state.stack.composer.insert(&text);
            state.flash(format!("[{extension}] put text into the editor"));
        }
        RpcEvent::ExtStatus { extension, key, text } => {
            state.session.says(extension, key, text.as_deref());
        }
        RpcEvent::SessionOpened { .. } => {}
        RpcEvent::SessionClosed { reason } => closed(state, reason),
    }
}

fn asked(state: &mut State, request: &UiRequest, session: Option<String>) {
    let purpose = AnswerUse::Reply { id: request.id.clone(), session };
    state.ask_person(Question::from_request(request).in_directory(&state.session.cwd), purpose);
}

fn closed(state: &mut State, reason: SessionEnd) {
    state.work.is_over();
    state.stack.panel.close();
    state.stack.dialogs.close_replies();
    match reason {
        SessionEnd::Shutdown => {}
        SessionEnd::Requested | SessionEnd::Failed => {
            state.error("this session is closed; /new begins another one, /resume goes on with one");
        }
    }
}
