//! A session in reading order: one branch from beginning to end, with results attached to their calls.

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::{EntryBody, MessageEntry, ResponseMetadata, SessionEntry, ToolStart};
use haft_core::session::intervention::{HookIntervention, InterventionAction};
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantMessage, Message, ToolMessage};

/// The maximum nesting of branches.
const DEPTH: usize = 16;

/// One branch, or the rest of one.
pub(super) struct EntryThread<'a> {
    pub(super) items: Vec<ThreadItem<'a>>,
}

/// An item that is shown as one block.
pub(super) enum ThreadItem<'a> {
    Entry(&'a SessionEntry),
    Step(Box<Step<'a>>),
    Branches(Vec<EntryThread<'a>>),
    /// The number of branches that begin here and are not shown.
    Hidden(usize),
}

/// One answer of the model.
pub(super) struct Step<'a> {
    pub(super) entry: &'a SessionEntry,
    pub(super) message: &'a AssistantMessage,
    pub(super) answer: Option<&'a ResponseMetadata>,
    pub(super) calls: Vec<ToolCallItem<'a>>,
    pub(super) interventions: Vec<HookIntervention>,
}

pub(super) struct ToolCallItem<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) start: Option<&'a ToolStart>,
    pub(super) result: Option<&'a ToolMessage>,
    pub(super) interventions: Vec<HookIntervention>,
}

/// All entries and their children.
pub(super) struct BranchTree<'a> {
    entries: &'a [SessionEntry],
    children: HashMap<Option<EntryId>, Vec<usize>>,
    /// The position of the last descendant of each entry, and whether the entry or a descendant is a message.
    last: Vec<(usize, bool)>,
}

impl<'a> BranchTree<'a> {
    pub(super) fn new(entries: &'a [SessionEntry]) -> Self {
        let places: HashMap<EntryId, usize> =
            entries.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
        let mut children: HashMap<Option<EntryId>, Vec<usize>> = HashMap::new();
        let is_message = |entry: &SessionEntry| matches!(entry.body, EntryBody::MessageEntry(_));
        let mut last: Vec<_> =
            entries.iter().enumerate().map(|(at, entry)| (at, is_message(entry))).collect();
        for (at, entry) in entries.iter().enumerate() {
            children.entry(entry.parent).or_default().push(at);
        }
        for (at, entry) in entries.iter().enumerate().rev() {
            let below = last.get(at).copied().unwrap_or_default();
            let parent = entry.parent.and_then(|parent| places.get(&parent)).and_then(|at| last.get_mut(*at));
            if let Some((last, is_message)) = parent {
                *last = below.0.max(*last);
                *is_message |= below.1;
            }
        }
        Self { entries, children, last }
    }

    /// Returns the thread along a branch; with `all`, including the branches that begin on it.
    pub(super) fn thread_along(&self, branch: &[usize], all: bool) -> EntryThread<'a> {
        let depth = if all { DEPTH } else { 0 };
        let mut thread = EntryThread { items: Vec::new() };
        self.append_forks(&mut thread, None, branch.first().copied(), depth);
        self.append_branch(&mut thread, branch, depth);
        thread
    }

    fn append_branch(&self, thread: &mut EntryThread<'a>, branch: &[usize], depth: usize) {
        for (place, at) in branch.iter().enumerate() {
            let Some(entry) = self.entries.get(*at) else { continue };
            thread.add(entry);
            self.append_forks(thread, Some(entry.id), branch.get(place + 1).copied(), depth);
        }
    }

    /// Adds the branches that follow an entry, except the one through `next`.
    fn append_forks(
        &self,
        thread: &mut EntryThread<'a>,
        at: Option<EntryId>,
        next: Option<usize>,
        depth: usize,
    ) {
        let children = self.children.get(&at).into_iter().flatten().copied();
        let is_message = |at: usize| self.last.get(at).is_some_and(|(_, is_message)| *is_message);
        let others: Vec<usize> =
            children.filter(|child| Some(*child) != next && is_message(*child)).collect();
        if others.is_empty() {
            return;
        }
        thread.items.push(match depth.checked_sub(1) {
            None => ThreadItem::Hidden(others.len()),
            Some(depth) => {
                let side = |child: &usize| {
                    let mut side = EntryThread { items: Vec::new() };
                    self.append_branch(&mut side, &self.branch_from(*child), depth);
                    side
                };
                ThreadItem::Branches(others.iter().map(side).collect())
            }
        });
    }

    fn branch_from(&self, from: usize) -> Vec<usize> {
        let mut way = vec![from];
        let mut at = from;
        while let Some(next) = self.entries.get(at).and_then(|entry| self.children.get(&Some(entry.id))) {
            let last = |at: &usize| self.last.get(*at).map_or(*at, |(last, _)| *last);
            let Some(next) = next.iter().copied().filter(|next| *next > at).max_by_key(last) else { break };
            way.push(next);
            at = next;
        }
        way
    }
}

impl<'a> EntryThread<'a> {
    fn add(&mut self, entry: &'a SessionEntry) {
        match &entry.body {
            EntryBody::MessageEntry(MessageEntry {
                message: Message::Assistant(message), answer, ..
            }) => {
                let new = |call| ToolCallItem { call, start: None, result: None, interventions: Vec::new() };
                let calls = message.tool_calls().map(new).collect();
                let answer = answer.as_ref();
                let interventions = Vec::new();
                self.items.push(ThreadItem::Step(Box::new(Step {
                    entry,
                    message,
                    answer,
                    calls,
                    interventions,
                })));
            }
            EntryBody::MessageEntry(MessageEntry { message: Message::Tool(result), .. }) => {
                match self.open_call(|call| call.call.id == result.call_id && call.result.is_none()) {
                    Some(call) => call.result = Some(result),
                    None => self.items.push(ThreadItem::Entry(entry)),
                }
            }
            EntryBody::ToolStart(start) => {
                if let Some(call) = self.open_call(|call| call.call.id == start.call_id) {
                    call.start = Some(start);
                }
            }
            EntryBody::Custom(custom) => {
                let Some(intervention) = HookIntervention::from_custom(custom) else {
                    return self.items.push(ThreadItem::Entry(entry));
                };
                match self.intervention_target(&intervention) {
                    Some(interventions) => interventions.push(intervention),
                    None => self.items.push(ThreadItem::Entry(entry)),
                }
            }
            EntryBody::Label(_) | EntryBody::Tags(_) | EntryBody::Name(_) => {}
            EntryBody::MessageEntry(_)
            | EntryBody::ModelChange(_)
            | EntryBody::ThinkingChange(_)
            | EntryBody::ToolsChange(_)
            | EntryBody::Compaction(_)
            | EntryBody::BranchSummary(_)
            | EntryBody::CustomMessage(_)
            | EntryBody::Unknown(_) => self.items.push(ThreadItem::Entry(entry)),
        }
    }

    /// Returns the interventions of the call or answer that an intervention belongs to; `None` for one that concerns
    /// the turn.
    fn intervention_target(&mut self, it: &HookIntervention) -> Option<&mut Vec<HookIntervention>> {
        match (&it.call_id, it.action) {
            (Some(id), _) => self.open_call(|call| call.call.id == *id).map(|call| &mut call.interventions),
            (
                None,
                InterventionAction::Replaced
                | InterventionAction::Suppressed
                | InterventionAction::AnswerEdited,
            ) => self.last_step().map(|step| &mut step.interventions),
            (
                None,
                InterventionAction::Blocked
                | InterventionAction::Answered
                | InterventionAction::Rewritten
                | InterventionAction::TurnEnded
                | InterventionAction::Edited
                | InterventionAction::AnswerDropped
                | InterventionAction::Discarded,
            ) => None,
        }
    }

    /// Returns a call of the last answer.
    fn open_call(&mut self, which: impl Fn(&ToolCallItem<'a>) -> bool) -> Option<&mut ToolCallItem<'a>> {
        self.last_step()?.calls.iter_mut().find(|call| which(call))
    }

    fn last_step(&mut self) -> Option<&mut Step<'a>> {
        self.items.iter_mut().rev().find_map(|item| match item {
            ThreadItem::Step(step) => Some(step.as_mut()),
            ThreadItem::Entry(_) | ThreadItem::Branches(_) | ThreadItem::Hidden(_) => None,
        })
    }

    /// The answers of this thread, without those of its branches.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step<'a>> {
        self.items.iter().filter_map(|item| match item {
            ThreadItem::Step(step) => Some(step.as_ref()),
            ThreadItem::Entry(_) | ThreadItem::Branches(_) | ThreadItem::Hidden(_) => None,
        })
    }
}
