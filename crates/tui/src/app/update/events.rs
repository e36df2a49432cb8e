//! Events: what happens in the session that is shown.

use haft_protocol::content::joined_text;
use haft_protocol::event::AgentEvent;
use haft_protocol::message::Usage;
use haft_protocol::rpc::{Event, EventLine, ListExtensions, RpcEvent, SessionEnd, UiRequest};

use super::super::dialogs::Purpose;
use super::super::held::Queued;
use super::super::notes::Note;
use super::super::pending::{Pending, Shown};
use super::super::state::State;
use super::super::{Ask, Effect};
use crate::dialog::Question;

impl State {
    pub(super) fn line(&mut self, line: EventLine) {
        let EventLine { event, session } = line;
        let shown = self.out.session();
        match &session {
            Some(of) if shown.is_some_and(|shown| shown != of) => self.of_another(of.clone(), event),
            Some(_) | None => self.event(event, session),
        }
    }

    /// What happens in a session that is not shown is of interest if it will be.
    fn of_another(&mut self, session: String, event: Event) {
        if let Event::Rpc(RpcEvent::UiDone { id, .. }) = &event {
            self.dialogs.close(id);
        }
        if let Some(next) = &mut self.held.next {
            next.happens(session, event);
        }
    }

    pub(super) fn event(&mut self, event: Event, session: Option<String>) {
        match event {
            Event::Agent(event) => self.agent_event(event),
            Event::Rpc(event) => self.rpc_event(event, session),
        }
    }

    fn agent_event(&mut self, event: AgentEvent) {
        self.facts_of(&event);
        if let Some(event) = self.conversation.admit(event) {
            self.shown_event(&event);
        }
    }

    /// It is part of what is seen.
    pub(super) fn shown_event(&mut self, event: &AgentEvent) {
        // Every session begins with it, and it is the same for all of them.
        if let AgentEvent::TrustRequired { skipped, .. } = event
            && std::mem::replace(&mut self.untrusted, skipped.clone()) == *skipped
        {
            return;
        }
        self.conversation.transcript_mut().event(event, self.now);
        let is_of_queue = matches!(event, AgentEvent::QueueUpdate { .. });
        // What is taken back is not forgotten before it is here.
        if !(is_of_queue && self.held.waiting == Queued::Asked) {
            self.held.told += u64::from(is_of_queue);
            self.queue.update(event);
        }
    }

    fn facts_of(&mut self, event: &AgentEvent) {
        #[expect(clippy::wildcard_enum_match_arm, reason = "most events are shown and nothing more")]
        match event {
            AgentEvent::UserMessage { content, time: _ } => {
                self.work.begins();
                if self.session.first_text.is_none() {
                    self.session.said_first(&joined_text(content));
                }
            }
            AgentEvent::TurnStart { .. } => self.work.runs = true,
            AgentEvent::ToolStart { name, .. } => self.panel.tool_starts(name, &self.session.extensions),
            AgentEvent::ModelRequest { provider, model, .. } => {
                (self.session.provider, self.session.model) = (provider.clone(), model.clone());
            }
            AgentEvent::ModelFallback { to, .. } => self.session.set_model(to),
            AgentEvent::Usage { usage, cumulative } => {
                let Usage { input, output, cache_read, cache_write, .. } = *usage;
                self.session.context = input + output + cache_read + cache_write;
                self.session.usage = *cumulative;
            }
            AgentEvent::CompactionStart { .. } => self.work.sums_up = true,
            AgentEvent::CompactionEnd { .. } => {
                self.work.sums_up = false;
                self.ask_state();
            }
            // A summary may end with nothing else: there was nothing to sum up, or it broke before it began.
            AgentEvent::Error { .. } if self.work.sums_up => self.ask_state(),
            AgentEvent::Done => self.done(),
            AgentEvent::ExtNotify { extension, level, message } => {
                let (owner, level, text) = (extension.to_string(), *level, message.clone());
                self.notes.push(Note { owner, level, text });
            }
            AgentEvent::ExtClearNotes { extension } => self.notes.clear_of(extension.as_str()),
            AgentEvent::ExtensionError(_) | AgentEvent::GateOff { .. } => {
                self.out.send(ListExtensions {}, Pending::Extensions(Shown::No));
            }
            _ => {}
        }
    }

    fn done(&mut self) {
        self.work.ends();
        self.composer.forget_files();
        // They may have gone to another branch, too.
        self.out.ask(Ask::Branch);
        self.ask_state();
        if self.settings.bell() {
            self.out.effect(Effect::Bell);
        }
    }

    fn rpc_event(&mut self, event: RpcEvent, session: Option<String>) {
        match event {
            RpcEvent::CompactDone { .. } => {
                self.work.sums_up = false;
                self.ask_state();
            }
            RpcEvent::UiRequest(request) => self.asked(&request, session),
            RpcEvent::UiDone { id, .. } => self.dialogs.close(&id),
            RpcEvent::PanelOpen { extension, panel } => {
                if self.panel.open(extension, panel, &mut self.out) {
                    // A page would hide the panel.
                    self.page = None;
                }
            }
            RpcEvent::PanelRender { extension, panel: content } => {
                self.panel.render(&extension, content);
            }
            RpcEvent::PanelClose { extension, panel_id } => {
                self.panel.close_of(&extension, &panel_id);
            }
            RpcEvent::Insert { extension, text } => {
                self.composer.insert(&text);
                self.flash(format!("[{extension}] put text into the editor"));
            }
            RpcEvent::ExtStatus { extension, key, text } => {
                self.session.says(extension, key, text.as_deref());
            }
            RpcEvent::SessionOpened { .. } => {}
            RpcEvent::SessionClosed { reason } => self.closed(reason),
        }
    }

    fn asked(&mut self, request: &UiRequest, session: Option<String>) {
        let purpose = Purpose::Reply { id: request.id.clone(), session };
        self.ask_person(Question::of(request).in_directory(&self.session.cwd), purpose);
    }

    /// The session that is shown is no more.
    fn closed(&mut self, reason: SessionEnd) {
        self.work.is_over();
        self.panel.close();
        self.dialogs.close_replies();
        match reason {
            SessionEnd::Shutdown => {}
            SessionEnd::Requested | SessionEnd::Failed => {
                self.error("this session is closed; /new begins another one, /resume goes on with one");
            }
        }
    }
}
