//! `OpenCalls`: the positions of unfinished calls, and the events about calls.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::ids::ToolCallId;

use super::call::{ArgumentSummary, CallItem, CallOrigin, CallOutput, CallPhase};
use super::document::{ItemMoves, TranscriptDocument};
use super::item::{ItemKind, TranscriptItem};
use crate::clean::CleanLine;
use crate::theme::Role;

#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    pub(super) of_run: HashMap<ToolCallId, usize>,
    /// The unfinished calls of extensions.
    hosted: HashMap<ToolCallId, usize>,
    /// The unfinished commands of the person.
    shells: HashMap<u64, usize>,
}

impl OpenCalls {
    pub(super) fn apply_moves(&mut self, moved: &ItemMoves) {
        let stays = |at: &mut usize| moved.new_place(*at).map(|new| *at = new).is_some();
        self.of_run.retain(|_, at| stays(at));
        self.hosted.retain(|_, at| stays(at));
        self.shells.retain(|_, at| stays(at));
    }

    fn item_of(&self, id: &ToolCallId) -> Option<usize> {
        self.of_run.get(id).or_else(|| self.hosted.get(id)).copied()
    }

    fn call<'d>(&self, doc: &'d mut TranscriptDocument, id: &ToolCallId) -> Option<&'d mut CallItem> {
        doc.change_item(self.item_of(id)?).and_then(TranscriptItem::call)
    }

    pub(super) fn call_or_new<'d>(
        &mut self,
        doc: &'d mut TranscriptDocument,
        id: &ToolCallId,
        name: &str,
    ) -> Option<&'d mut CallItem> {
        let at = self
            .item_of(id)
            .unwrap_or_else(|| self.add(doc, id, name, ArgumentSummary::default(), CallPhase::Waiting));
        doc.change_item(at)?.call()
    }

    pub(super) fn add(
        &mut self,
        doc: &mut TranscriptDocument,
        id: &ToolCallId,
        name: &str,
        sum: ArgumentSummary,
        phase: CallPhase,
    ) -> usize {
        let at = doc.push(ItemKind::Call(Box::new(CallItem::new(CallOrigin::Model, name, sum, phase))));
        self.of_run.insert(id.clone(), at);
        at
    }

    pub(super) fn set_waiting(
        &mut self,
        doc: &mut TranscriptDocument,
        id: &ToolCallId,
        name: &str,
        args: &RawJson,
    ) {
        match self.call(doc, id) {
            Some(call) if call.phase == CallPhase::Writing || call.is_new() => call.set_waiting(name, args),
            Some(call) if !call.is_over() => {}
            // Some models give every step's calls the same ids.
            Some(_) | None => {
                self.add(doc, id, name, ArgumentSummary::from_arguments(name, args), CallPhase::Waiting);
            }
        }
    }

    pub(super) fn apply_tool_event(&mut self, doc: &mut TranscriptDocument, event: &E, now: Instant) {
        if let E::ToolStart { id, name, args, label } = event {
            if self.call(doc, id).is_some_and(|call| call.is_over()) {
                self.add(doc, id, name, ArgumentSummary::default(), CallPhase::Waiting);
            }
            if let Some(call) = self.call_or_new(doc, id, name) {
                call.start(name, args, now);
                call.name = label.as_deref().map_or_else(|| call.name.clone(), CleanLine::new);
            }
        }
        if let E::ToolProgress { id, text, replaces, .. } = event
            && let Some(call) = self.call(doc, id).filter(|call| call.phase == CallPhase::Running)
        {
            if *replaces {
                call.output = CallOutput::from_text(text);
            } else {
                call.output.push(text);
            }
        }
        if let E::ToolEnd { id, duration_ms, .. } = event
            && let Some(call) = self.call(doc, id)
        {
            call.took = Some(Duration::from_millis(*duration_ms));
        }
    }

    pub(super) fn apply_tool_result(&mut self, doc: &mut TranscriptDocument, event: &E) {
        if let E::ToolResult { id, name, is_error, content, extension, synthetic_by, details, entry: _ } =
            event
            && let Some(call) = self.call_or_new(doc, id, name)
        {
            call.set_result(content, *is_error, details.as_ref(), extension.as_ref());
            if let Some(by) = synthetic_by.as_ref().filter(|_| !call.result_in_remarks) {
                call.add_remark("", Role::Muted, &format!("answered by {by} instead of the tool"));
            }
        }
    }

    pub(super) fn apply_host_call(&mut self, doc: &mut TranscriptDocument, event: &E, now: Instant) {
        if let E::HostCallStart { id, extension, name, args } = event {
            let origin = CallOrigin::Extension(CleanLine::new(extension.as_str()));
            let mut call = CallItem::new(origin, name, ArgumentSummary::default(), CallPhase::Waiting);
            call.start(name, args, now);
            let at = doc.push(ItemKind::Call(Box::new(call)));
            self.hosted.insert(id.clone(), at);
        }
        if let E::HostCallEnd { id, is_error, content, details, .. } = event
            && let Some(call) = self.hosted.remove(id).and_then(|at| doc.change_item(at)?.call())
        {
            call.took = call.began.map(|began| now.saturating_duration_since(began));
            call.set_result(content, *is_error, details.as_ref(), None);
        }
    }

    /// Handles a gap in the events, which may hide the ends of extensions' calls. Later end events still set the
    /// result.
    pub(super) fn mark_host_calls_lost(&self, doc: &mut TranscriptDocument) {
        for at in self.hosted.values().copied() {
            if let Some(call) = doc.change_item(at).and_then(TranscriptItem::call) {
                call.mark_over();
            }
        }
    }

    pub(super) fn apply_decision(&self, doc: &mut TranscriptDocument, event: &E) {
        if let E::ToolRewritten { id, by, tool, args, changed } = event
            && let Some(call) = self.call(doc, id)
        {
            call.apply_rewrite(by, tool.as_deref(), args, changed);
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "there are many events, and these are decisions")]
        let (id, mark, role, text) = match event {
            E::ToolRewriteConflict { id, path, by: [first, then] } => {
                let text = format!("{first} and {then} both changed {path}: the value of {then} is used");
                (id, "", Role::Warning, text)
            }
            E::ToolBlocked { id, by, reason } => {
                (id, "✗ ", Role::Error, format!("refused by {by}: {reason}"))
            }
            E::ToolSkipped { id, reason, .. } => (id, "", Role::Muted, format!("skipped: {reason}")),
            _ => return,
        };
        if let Some(call) = self.call(doc, id) {
            call.result_in_remarks |= matches!(event, E::ToolBlocked { .. } | E::ToolSkipped { .. });
            call.add_remark(mark, role, &text);
        }
    }

    pub(super) fn end_run(&mut self, doc: &mut TranscriptDocument) {
        for at in std::mem::take(&mut self.of_run).into_values() {
            if let Some(call) = doc.change_item(at).and_then(TranscriptItem::call) {
                call.mark_over();
            }
        }
    }

    pub(super) fn add_shell(&mut self, doc: &mut TranscriptDocument, number: u64, call: CallItem) {
        let at = doc.push(ItemKind::Call(Box::new(call)));
        self.shells.insert(number, at);
    }

    pub(super) fn shell_call<'d>(
        &self,
        doc: &'d mut TranscriptDocument,
        number: u64,
    ) -> Option<&'d mut CallItem> {
        doc.change_item(self.shells.get(&number).copied()?)?.call()
    }

    /// Ends a command with its status, if it has one, or the reason why it did not run.
    pub(super) fn finish_shell(
        &mut self,
        doc: &mut TranscriptDocument,
        number: u64,
        outcome: Result<Option<i32>, String>,
        now: Instant,
    ) {
        let at = self.shells.remove(&number);
        let Some(call) = at.and_then(|at| doc.change_item(at)?.call()) else { return };
        call.took = call.began.map(|began| now.saturating_duration_since(began));
        call.phase = if outcome == Ok(Some(0)) { CallPhase::Done } else { CallPhase::Failed };
        match outcome {
            Ok(Some(0)) => {}
            Ok(Some(code)) => call.exit = Some(i64::from(code)),
            Ok(None) => call.add_remark("", Role::Muted, "ended by a signal"),
            Err(error) => call.add_remark("✗ ", Role::Error, &error),
        }
    }

    /// Takes the items of unfinished commands of the person, the oldest first.
    pub(super) fn take_running(&mut self, doc: &mut TranscriptDocument) -> Vec<(u64, TranscriptItem)> {
        let mut running: Vec<(u64, usize)> = std::mem::take(&mut self.shells).into_iter().collect();
        running.sort_unstable_by_key(|(_, at)| std::cmp::Reverse(*at));
        // Start with the last one, so that the positions of earlier items stay valid.
        let mut items: Vec<(u64, TranscriptItem)> = Vec::new();
        for (number, at) in running {
            if at < doc.items.len() {
                items.push((number, doc.items.remove(at)));
            }
        }
        items.reverse();
        items
    }

    pub(super) fn put_running(&mut self, doc: &mut TranscriptDocument, running: Vec<(u64, TranscriptItem)>) {
        for (number, item) in running {
            self.shells.insert(number, doc.items.len());
            doc.items.push(item);
        }
    }
}
