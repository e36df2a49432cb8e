//! `Calls`: the places of the calls that are not over, and the events about calls.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use haft_protocol::RawJson;
use haft_protocol::event::AgentEvent as E;
use haft_protocol::ids::ToolCallId;

use super::call::{Call, Origin, Phase, Sum};
use super::document::{Document, Moved};
use super::item::{Item, Kind};
use crate::clean::CleanLine;
use crate::theme::Role;

#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) of_run: HashMap<ToolCallId, usize>,
    /// The calls of extensions that are not over.
    hosted: HashMap<ToolCallId, usize>,
    /// The person's commands that are not over.
    shells: HashMap<u64, usize>,
}

impl Calls {
    pub(super) fn moved(&mut self, moved: &Moved) {
        let stays = |at: &mut usize| moved.place(*at).map(|new| *at = new).is_some();
        self.of_run.retain(|_, at| stays(at));
        self.hosted.retain(|_, at| stays(at));
        self.shells.retain(|_, at| stays(at));
    }

    fn place(&self, id: &ToolCallId) -> Option<usize> {
        self.of_run.get(id).or_else(|| self.hosted.get(id)).copied()
    }

    fn call<'d>(&self, doc: &'d mut Document, id: &ToolCallId) -> Option<&'d mut Call> {
        doc.changed(self.place(id)?).and_then(Item::call)
    }

    pub(super) fn call_or_new<'d>(
        &mut self,
        doc: &'d mut Document,
        id: &ToolCallId,
        name: &str,
    ) -> Option<&'d mut Call> {
        let at = self.place(id).unwrap_or_else(|| self.add(doc, id, name, Sum::default(), Phase::Waiting));
        doc.changed(at)?.call()
    }

    pub(super) fn add(
        &mut self,
        doc: &mut Document,
        id: &ToolCallId,
        name: &str,
        sum: Sum,
        phase: Phase,
    ) -> usize {
        let at = doc.push(Kind::Call(Box::new(Call::new(Origin::Model, name, sum, phase))));
        self.of_run.insert(id.clone(), at);
        at
    }

    pub(super) fn waits(&mut self, doc: &mut Document, id: &ToolCallId, name: &str, args: &RawJson) {
        match self.call(doc, id) {
            Some(call) if call.phase == Phase::Writing || call.is_new() => call.wait(name, args),
            Some(call) if !call.is_over() => {}
            // Some models give every step's calls the same ids.
            Some(_) | None => {
                self.add(doc, id, name, Sum::of(name, args), Phase::Waiting);
            }
        }
    }

    pub(super) fn called(&mut self, doc: &mut Document, event: &E, now: Instant) {
        if let E::ToolStart { id, name, args } = event {
            if self.call(doc, id).is_some_and(|call| call.is_over()) {
                self.add(doc, id, name, Sum::default(), Phase::Waiting);
            }
            if let Some(call) = self.call_or_new(doc, id, name) {
                call.start(name, args, now);
            }
        }
        if let E::ToolProgress { id, text } = event
            && let Some(call) = self.call(doc, id).filter(|call| call.phase == Phase::Running)
        {
            call.output.push(text);
        }
        if let E::ToolEnd { id, duration_ms, .. } = event
            && let Some(call) = self.call(doc, id)
        {
            call.took = Some(Duration::from_millis(*duration_ms));
        }
    }

    pub(super) fn came_to(&mut self, doc: &mut Document, event: &E) {
        if let E::ToolResult { id, name, is_error, content, extension, synthetic_by, details } = event
            && let Some(call) = self.call_or_new(doc, id, name)
        {
            call.result(content, *is_error, details.as_ref(), extension.as_ref());
            if let Some(by) = synthetic_by.as_ref().filter(|_| !call.told) {
                call.remark("", Role::Muted, &format!("answered by {by}, in place of the tool"));
            }
        }
    }

    pub(super) fn hosted(&mut self, doc: &mut Document, event: &E, now: Instant) {
        if let E::HostCallStart { id, extension, name, args } = event {
            let origin = Origin::Extension(CleanLine::new(extension.as_str()));
            let mut call = Call::new(origin, name, Sum::default(), Phase::Waiting);
            call.start(name, args, now);
            let at = doc.push(Kind::Call(Box::new(call)));
            self.hosted.insert(id.clone(), at);
        }
        if let E::HostCallEnd { id, is_error, content, details, .. } = event
            && let Some(call) = self.hosted.remove(id).and_then(|at| doc.changed(at)?.call())
        {
            call.took = call.began.map(|began| now.saturating_duration_since(began));
            call.result(content, *is_error, details.as_ref(), None);
        }
    }

    /// Notes a gap in the events, which may hide the ends of extensions' calls. Those that come yet say what it came
    /// to.
    pub(super) fn hosted_have_gap(&self, doc: &mut Document) {
        for at in self.hosted.values().copied() {
            if let Some(call) = doc.changed(at).and_then(Item::call) {
                call.over();
            }
        }
    }

    pub(super) fn decided(&self, doc: &mut Document, event: &E) {
        if let E::ToolRewritten { id, by, tool, args, changed } = event
            && let Some(call) = self.call(doc, id)
        {
            call.rewritten(by, tool.as_deref(), args, changed);
        }
        #[expect(clippy::wildcard_enum_match_arm, reason = "there are many events, and these are decisions")]
        let (id, mark, role, text) = match event {
            E::ToolRewriteConflict { id, path, by: [first, then] } => {
                let text = format!("{first} and {then} both changed {path}: what {then} wrote counts");
                (id, "", Role::Warning, text)
            }
            E::ToolBlocked { id, by, reason } => {
                (id, "✗ ", Role::Error, format!("refused by {by}: {reason}"))
            }
            E::ToolSkipped { id, reason, .. } => (id, "", Role::Muted, format!("skipped: {reason}")),
            _ => return,
        };
        if let Some(call) = self.call(doc, id) {
            call.told |= matches!(event, E::ToolBlocked { .. } | E::ToolSkipped { .. });
            call.remark(mark, role, &text);
        }
    }

    pub(super) fn end_run(&mut self, doc: &mut Document) {
        for at in std::mem::take(&mut self.of_run).into_values() {
            if let Some(call) = doc.changed(at).and_then(Item::call) {
                call.over();
            }
        }
    }

    pub(super) fn shell(&mut self, doc: &mut Document, number: u64, call: Call) {
        let at = doc.push(Kind::Call(Box::new(call)));
        self.shells.insert(number, at);
    }

    pub(super) fn shell_call<'d>(&self, doc: &'d mut Document, number: u64) -> Option<&'d mut Call> {
        doc.changed(self.shells.get(&number).copied()?)?.call()
    }

    /// It is over: its status, where it has one, or why it did not run.
    pub(super) fn shell_end(
        &mut self,
        doc: &mut Document,
        number: u64,
        outcome: Result<Option<i32>, String>,
        now: Instant,
    ) {
        let at = self.shells.remove(&number);
        let Some(call) = at.and_then(|at| doc.changed(at)?.call()) else { return };
        call.took = call.began.map(|began| now.saturating_duration_since(began));
        call.phase = if outcome == Ok(Some(0)) { Phase::Done } else { Phase::Failed };
        match outcome {
            Ok(Some(0)) => {}
            Ok(Some(code)) => call.exit = Some(i64::from(code)),
            Ok(None) => call.remark("", Role::Muted, "ended by a signal"),
            Err(error) => call.remark("✗ ", Role::Error, &error),
        }
    }

    /// The items of the person's commands that are not over, the oldest first.
    pub(super) fn take_running(&mut self, doc: &mut Document) -> Vec<(u64, Item)> {
        let mut running: Vec<(u64, usize)> = std::mem::take(&mut self.shells).into_iter().collect();
        running.sort_unstable_by_key(|(_, at)| std::cmp::Reverse(*at));
        // From the last one on, so that those before it stay where they are.
        let mut items: Vec<(u64, Item)> = Vec::new();
        for (number, at) in running {
            if at < doc.items.len() {
                items.push((number, doc.items.remove(at)));
            }
        }
        items.reverse();
        items
    }

    pub(super) fn put_running(&mut self, doc: &mut Document, running: Vec<(u64, Item)>) {
        for (number, item) in running {
            self.shells.insert(number, doc.items.len());
            doc.items.push(item);
        }
    }
}
