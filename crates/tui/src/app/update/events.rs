//! Events of the shown session.

use std::time::Duration;

use haft_protocol::content::written_text;
use haft_protocol::event::AgentEvent;
use haft_protocol::ids::ExtensionName;
use haft_protocol::message::TokenUsage;
use haft_protocol::rpc::{
    ClientEvent, EventLine, ListExtensions, PanelContent, RpcEvent, SessionEnd, UiRequest,
};

use super::super::commands::sessions;
use super::super::deferred_input::QueueSyncState;
use super::super::intent::AnswerUse;
use super::super::notes::ExtensionNote;
use super::super::pending_request::{ListUse, PendingRequest};
use super::super::state::AppState;
use super::super::{BackendRequest, Effect};
use crate::dialog::Question;
use crate::humanize::format_elapsed;
use crate::timeouts;

pub(super) fn handle_event_line(state: &mut AppState, line: EventLine) {
    let EventLine { event, session } = line;
    let shown = state.out.session();
    match &session {
        Some(of) if shown.is_some_and(|shown| shown != of) => {
            handle_other_session_event(state, of.clone(), event)
        }
        Some(_) | None => handle_session_event(state, event, session),
    }
}

/// Stores an event of another session, if that session may be shown next.
fn handle_other_session_event(state: &mut AppState, session: String, event: ClientEvent) {
    if let ClientEvent::Rpc(RpcEvent::UiDone { id, .. }) = &event {
        state.stack.dialogs.close(id);
    }
    if let ClientEvent::Rpc(RpcEvent::SessionSwitched { extension }) = &event {
        sessions::follow_extension(state, session, extension);
    } else if let Some(next) = &mut state.deferred.session_switch {
        next.record_event(session, event);
    }
}

pub(super) fn handle_session_event(state: &mut AppState, event: ClientEvent, session: Option<String>) {
    match event {
        ClientEvent::Agent(event) => handle_agent_event(state, event),
        ClientEvent::Rpc(event) => handle_rpc_event(state, event, session),
        ClientEvent::Unknown { .. } => {}
    }
}

fn handle_agent_event(state: &mut AppState, event: AgentEvent) {
    update_from_event(state, &event);
    if let Some(event) = state.stack.conversation.defer_until_loaded(event) {
        show_event(state, &event);
    }
}

pub(super) fn show_event(state: &mut AppState, event: &AgentEvent) {
    // Each session starts with this event; the same text is shown only once.
    if let AgentEvent::TrustRequired { skipped, .. } = event
        && std::mem::replace(&mut state.untrusted, skipped.clone()) == *skipped
    {
        return;
    }
    state.stack.conversation.transcript_mut().handle_event(event, state.now);
    let is_queue_update = matches!(event, AgentEvent::QueueUpdate { .. });
    // While the queue is requested, its messages stay visible until the reply.
    if !(is_queue_update && state.deferred.queue_sync == QueueSyncState::Requested) {
        state.deferred.queue_revision += u64::from(is_queue_update);
        state.queue.update(event);
    }
}

fn update_from_event(state: &mut AppState, event: &AgentEvent) {
    #[expect(clippy::wildcard_enum_match_arm, reason = "most events are only shown")]
    match event {
        AgentEvent::UserMessage { content, time: _, entry: _ } => {
            state.work.start_run();
            if state.session.first_text.is_none() {
                state.session.set_first_text(&written_text(content));
            }
        }
        AgentEvent::TurnStart { .. } => state.work.agent_running = true,
        AgentEvent::ToolStart { name, args, .. } => {
            state.stack.panel.allow_tool_owner(name, &state.session.extensions);
            // Only the key counts: with `false`, the list is read once in vain.
            let mentions_job = name == "job" || (name == "bash" && args.as_str().contains(r#""background""#));
            if mentions_job {
                state.jobs_refresh_at = Some(state.now + timeouts::JOBS_AGAIN);
            }
        }
        AgentEvent::ModelRequest { provider, model, .. } => {
            (state.session.provider, state.session.model) = (provider.clone(), model.clone());
        }
        AgentEvent::ModelFallback { to: model, .. } | AgentEvent::ModelChanged { model } => {
            state.session.set_model(model);
        }
        AgentEvent::ThinkingChanged { level } => state.session.thinking = *level,
        AgentEvent::Usage { usage, cumulative } => {
            state.session.usage = *cumulative;
            // The request for a summary is not the context of the conversation.
            if !state.work.compacting {
                let TokenUsage { input, output, cache_read, cache_write, .. } = *usage;
                state.session.context = input + output + cache_read + cache_write;
            }
        }
        AgentEvent::CompactionStart { .. } => state.work.compacting = true,
        AgentEvent::CompactionEnd { tokens_after, .. } => {
            state.work.compacting = false;
            state.session.context = tokens_after.unwrap_or(state.session.context);
            state.request_state();
        }
        // An error may be the only sign that a compaction has ended.
        AgentEvent::Error { .. } if state.work.compacting => state.request_state(),
        AgentEvent::Done => handle_done(state),
        AgentEvent::ExtNotify { extension, level, message } => {
            let (owner, level, text) = (extension.to_string(), *level, message.clone());
            state.notes.push(ExtensionNote { owner, level, text });
        }
        AgentEvent::ExtClearNotes { extension } => state.notes.clear_owner(extension.as_str()),
        AgentEvent::ExtensionError(_) | AgentEvent::GateOff { .. } => {
            state.out.send(ListExtensions {}, PendingRequest::Extensions(ListUse::CacheOnly));
        }
        _ => {}
    }
}

fn handle_done(state: &mut AppState) {
    let took = state.work.since.map(|since| state.now.saturating_duration_since(since));
    if let Some(took) =
        took.filter(|took| *took >= timeouts::LONG_WORK && state.settings.is_notification_enabled())
    {
        let about = state.session.description().unwrap_or("the work");
        let time = format_elapsed(Duration::from_secs(took.as_secs())).unwrap_or_default();
        state.out.push_effect(Effect::Notify(format!("haft: {about} is done after {time}")));
    }
    state.work.end_run();
    state.stack.composer.invalidate_files();
    // The tools may have changed the git branch.
    state.out.ask_backend(BackendRequest::Branch);
    state.request_state();
    if state.settings.is_bell_enabled() {
        state.out.push_effect(Effect::Bell);
    }
}

fn handle_rpc_event(state: &mut AppState, event: RpcEvent, session: Option<String>) {
    match event {
        RpcEvent::CompactDone { .. } => {
            state.work.compacting = false;
            state.request_state();
        }
        RpcEvent::UiRequest(request) => open_request_dialog(state, &request, session),
        RpcEvent::UiDone { id, .. } => state.stack.dialogs.close(&id),
        RpcEvent::PanelOpen { extension, panel } => open_panel(state, extension, panel),
        RpcEvent::PanelRender { extension, panel: content } => {
            state.stack.panel.render(&extension, content);
        }
        RpcEvent::PanelClose { extension, panel_id } => {
            state.stack.panel.close_panel_of(&extension, &panel_id);
        }
        RpcEvent::Insert { extension, text } => {
            state.stack.composer.insert(&text);
            state.flash(format!("[{extension}] inserted text into the editor"));
        }
        RpcEvent::SetEditor { extension, text } => {
            state.stack.composer.set_text(&text);
            state.flash(format!("[{extension}] replaced the text in the editor"));
        }
        RpcEvent::SetTitle { extension, text } => state.extension_screen.set_title(extension, &text),
        RpcEvent::SetWorking { extension, working } => {
            state.extension_screen.set_working(extension, working);
            let label = state.extension_screen.thinking_label();
            state.stack.conversation.transcript_mut().set_thinking_label(label);
        }
        RpcEvent::ExtStatus { extension, key, text, styled } => {
            state.session.set_status_item(extension, key, text.as_deref(), &styled);
        }
        RpcEvent::RegistrationsChanged { .. } => {
            // Registrations mostly come in groups.
            let at = state.now + timeouts::REGISTRATIONS_SETTLE;
            state.extensions_refresh_at =
                Some(state.extensions_refresh_at.map_or(at, |planned| planned.min(at)));
        }
        RpcEvent::SessionClosed { reason } => handle_session_closed(state, reason),
        RpcEvent::SessionOpened { .. } | RpcEvent::SessionSwitched { .. } => {}
        _ => {}
    }
}

fn open_panel(state: &mut AppState, extension: ExtensionName, panel: PanelContent) {
    if state.stack.panel.open(extension, panel, &mut state.out) {
        // An open page would hide the panel.
        state.stack.page = None;
        if !state.linear.enabled && !state.out.is_pending(PendingRequest::opens_panels) {
            state.stack.panel.ignore_typing(state.now);
        }
    }
}

fn open_request_dialog(state: &mut AppState, request: &UiRequest, session: Option<String>) {
    let purpose = AnswerUse::Reply { id: request.id.clone(), session };
    state.open_dialog(Question::from_request(request).in_directory(&state.session.cwd), purpose);
}

fn handle_session_closed(state: &mut AppState, reason: SessionEnd) {
    state.work.stop_all();
    state.stack.panel.close();
    state.stack.dialogs.close_replies();
    match reason {
        SessionEnd::Shutdown => {}
        SessionEnd::Requested | SessionEnd::Failed => {
            state.show_error(
                "this session is closed; /new starts another session, /resume continues an earlier one",
            );
        }
    }
}
