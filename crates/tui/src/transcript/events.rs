//! What happens, as items.

use std::time::{Duration, Instant};

use haft_protocol::event::AgentEvent as E;
use haft_protocol::ids::ToolCallId;
use haft_protocol::message::Stop;

use super::Transcript;
use super::answer::Words;
use super::args::Sum;
use super::call::{Call, Origin, Phase};
use super::item::{Item, Kind, User};
use super::note::{Note, Tag};
use crate::clean::CleanLine;
use crate::theme::Role;

impl Transcript {
    pub(super) fn happened(&mut self, event: &E, now: Instant) {
        match event {
            E::UserMessage { content, .. } => {
                self.push(Kind::User(Box::new(User::new(content))));
            }
            E::AssistantStart => self.answer_starts(now),
            E::TextDelta { delta } => self.words(delta, Words::Text, now),
            E::ThinkingDelta { delta } => self.words(delta, Words::Thinking, now),
            E::ModelResponse { text_bytes, .. } => self.answer_given(*text_bytes),
            E::AssistantMessage { content, .. } => self.answered(content, now),
            E::TurnEnd { stop, error } => self.turn_ends(*stop, error.as_deref(), now),
            E::Done => self.run_ends(now),
            E::ToolUseStart { .. }
            | E::ToolCall { .. }
            | E::ToolStart { .. }
            | E::ToolProgress { .. }
            | E::ToolEnd { .. } => self.called(event, now),
            E::ToolResult { .. } => self.came_to(event),
            E::HostCallStart { .. } | E::HostCallEnd { .. } => self.hosted(event, now),
            E::ToolRewritten { .. }
            | E::ToolRewriteConflict { .. }
            | E::ToolBlocked { .. }
            | E::ToolSkipped { .. } => self.decided(event),
            E::Retry { .. } | E::ModelFallback { .. } => {
                self.answer_anew(now);
                self.noted(event);
            }
            E::EventGap { .. } => {
                self.answer_has_gap();
                self.hosted_have_gap();
                self.noted(event);
            }
            E::Interrupted { .. }
            | E::TurnDiscarded { .. }
            | E::CompactionStart { .. }
            | E::CompactionEnd { .. }
            | E::SessionRepaired { .. }
            | E::TrustRequired { .. }
            | E::Error { .. }
            | E::ExtDisplay { .. }
            | E::GateOff { .. }
            | E::ExtensionError(_) => self.noted(event),
            E::Session { .. }
            | E::QueueUpdate { .. }
            | E::TurnStart { .. }
            | E::ModelRequest { .. }
            | E::ToolUseArgs { .. }
            | E::ToolUseEnd { .. }
            | E::Usage { .. }
            | E::SteeringInjected { .. }
            | E::ExtNotify { .. }
            | E::ExtClearNotes { .. } => {}
        }
    }

    /// The call of an id, to be changed.
    fn call(&mut self, id: &ToolCallId) -> Option<&mut Call> {
        let at = self.calls.get(id).or_else(|| self.hosted.get(id)).copied()?;
        self.changed(at).and_then(Item::call)
    }

    /// Changes the call of an id, which may be one that nobody told of.
    pub(super) fn with_call(&mut self, id: &ToolCallId, name: &str, change: impl FnOnce(&mut Call)) {
        let known = self.calls.get(id).or_else(|| self.hosted.get(id)).copied();
        let at = known.unwrap_or_else(|| self.new_call(id, name, Sum::default(), Phase::Waiting));
        if let Some(call) = self.changed(at).and_then(Item::call) {
            change(call);
        }
    }

    /// A call that is on its way.
    fn called(&mut self, event: &E, now: Instant) {
        if let E::ToolUseStart { id, name } = event {
            self.close_words(now);
            let at = self.new_call(id, name, Sum::default(), Phase::Writing);
            self.answer_calls(at);
        }
        if let E::ToolCall { id, name, args } = event {
            self.answer_withheld(now);
            let new =
                self.call(id).filter(|call| call.phase == Phase::Writing || call.is_new()).map(|call| {
                    call.phase = Phase::Waiting;
                    call.sum = Sum::of(name, args);
                });
            // Some models give every step's calls the same ids.
            if new.is_none() && self.call(id).is_none_or(|call| call.is_over()) {
                self.new_call(id, name, Sum::of(name, args), Phase::Waiting);
            }
        }
        if let E::ToolStart { id, name, args } = event {
            if self.call(id).is_some_and(|call| call.is_over()) {
                self.new_call(id, name, Sum::default(), Phase::Waiting);
            }
            self.with_call(id, name, |call| call.start(name, args, now));
        }
        if let E::ToolProgress { id, text } = event
            && let Some(call) = self.call(id).filter(|call| call.phase == Phase::Running)
        {
            call.output.push(text);
        }
        if let E::ToolEnd { id, duration_ms, .. } = event
            && let Some(call) = self.call(id)
        {
            call.took = Some(Duration::from_millis(*duration_ms));
        }
    }

    /// What a call came to.
    fn came_to(&mut self, event: &E) {
        if let E::ToolResult { id, name, is_error, content, extension, synthetic_by, details } = event {
            self.with_call(id, name, |call| {
                call.result(content, *is_error, details.as_ref());
                call.owned_by(extension.as_ref());
                if let Some(by) = synthetic_by.as_ref().filter(|_| !call.told) {
                    call.remark("", Role::Muted, &format!("answered by {by}, in place of the tool"));
                }
            });
        }
    }

    /// What extensions call.
    fn hosted(&mut self, event: &E, now: Instant) {
        if let E::HostCallStart { id, extension, name, args } = event {
            let origin = Origin::Extension(CleanLine::new(extension.as_str()));
            let mut call = Call::new(origin, name, Sum::default(), Phase::Waiting);
            call.start(name, args, now);
            let at = self.push(Kind::Call(Box::new(call)));
            self.hosted.insert(id.clone(), at);
        }
        if let E::HostCallEnd { id, is_error, content, details, .. } = event
            && let Some(call) = self.hosted.remove(id).and_then(|at| self.changed(at)).and_then(Item::call)
        {
            call.took = call.began.map(|began| now.saturating_duration_since(began));
            call.result(content, *is_error, details.as_ref());
        }
    }

    /// What is missing may be the ends of what extensions call. Those that come yet say what it came to.
    fn hosted_have_gap(&mut self) {
        let open: Vec<usize> = self.hosted.values().copied().collect();
        for at in open {
            if let Some(call) = self.changed(at).and_then(Item::call) {
                call.over();
            }
        }
    }

    pub(super) fn new_call(&mut self, id: &ToolCallId, name: &str, sum: Sum, phase: Phase) -> usize {
        let at = self.push(Kind::Call(Box::new(Call::new(Origin::Model, name, sum, phase))));
        self.calls.insert(id.clone(), at);
        at
    }

    /// What hooks and extensions decided about a call.
    fn decided(&mut self, event: &E) {
        if let E::ToolRewritten { id, by, tool, args, changed } = event
            && let Some(call) = self.call(id)
        {
            call.rewritten(by, tool.as_deref(), args, changed);
        }
        if let E::ToolRewriteConflict { id, path, by: [first, then] } = event
            && let Some(call) = self.call(id)
        {
            let text = format!("{first} and {then} both changed {path}: what {then} wrote counts");
            call.remark("", Role::Warning, &text);
        }
        if let E::ToolBlocked { id, by, reason } = event
            && let Some(call) = self.call(id)
        {
            call.told = true;
            call.remark("✗ ", Role::Error, &format!("refused by {by}: {reason}"));
        }
        if let E::ToolSkipped { id, reason, .. } = event
            && let Some(call) = self.call(id)
        {
            call.told = true;
            call.remark("", Role::Muted, &format!("skipped: {reason}"));
        }
    }

    fn turn_ends(&mut self, stop: Stop, error: Option<&str>, now: Instant) {
        match stop {
            Stop::End | Stop::ToolUse | Stop::Length => self.answer_withheld(now),
            Stop::Error | Stop::Aborted => {}
        }
        self.answer_over(now);
        match (stop, error) {
            // It is what the person wanted, and no failure.
            (Stop::Aborted, _) => self.note(Note::muted("stopped")),
            (_, Some(error)) => self.note(Note::error(error).tagged(Tag::Failure)),
            (Stop::Length, None) => {
                self.note(Note::warning("the answer reached the output limit of the model"))
            }
            (Stop::End | Stop::ToolUse | Stop::Error, None) => {}
        }
    }

    fn run_ends(&mut self, now: Instant) {
        self.answer_over(now);
        for at in std::mem::take(&mut self.calls).into_values() {
            if let Some(call) = self.changed(at).and_then(Item::call) {
                call.over();
            }
        }
    }
}
