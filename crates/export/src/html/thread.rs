//! A session as it is read: one branch from its beginning to its end, with what belongs together put together.

use std::collections::HashMap;

use haft_core::session::EntryId;
use haft_core::session::entry::{Answer, Entry, EntryBody, Said, ToolStart};
use haft_core::session::intervention::{Action, Intervention};
use haft_protocol::content::ToolCall;
use haft_protocol::message::{AssistantMessage, Message, ToolMessage};

/// Branches of branches are shown this deep.
const DEPTH: usize = 16;

/// One branch, or the rest of one.
pub(super) struct Thread<'a> {
    pub(super) items: Vec<Item<'a>>,
}

/// A part that is shown in one piece.
pub(super) enum Item<'a> {
    Entry(&'a Entry),
    Said(Box<Step<'a>>),
    Branches(Vec<Thread<'a>>),
    /// So many other branches begin here, and are not shown.
    Hidden(usize),
}

/// One answer of the model.
pub(super) struct Step<'a> {
    pub(super) entry: &'a Entry,
    pub(super) message: &'a AssistantMessage,
    pub(super) answer: Option<&'a Answer>,
    pub(super) calls: Vec<Call<'a>>,
    pub(super) interventions: Vec<Intervention>,
}

pub(super) struct Call<'a> {
    pub(super) call: &'a ToolCall,
    pub(super) start: Option<&'a ToolStart>,
    pub(super) result: Option<&'a ToolMessage>,
    pub(super) interventions: Vec<Intervention>,
}

/// All entries, and who follows whom.
pub(super) struct Tree<'a> {
    entries: &'a [Entry],
    children: HashMap<Option<EntryId>, Vec<usize>>,
    /// The last entry of the file that follows each one, and whether anything was said in between.
    last: Vec<(usize, bool)>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(entries: &'a [Entry]) -> Self {
        let places: HashMap<EntryId, usize> =
            entries.iter().enumerate().map(|(at, entry)| (entry.id, at)).collect();
        let mut children: HashMap<Option<EntryId>, Vec<usize>> = HashMap::new();
        let said = |entry: &Entry| matches!(entry.body, EntryBody::Said(_));
        let mut last: Vec<_> = entries.iter().enumerate().map(|(at, entry)| (at, said(entry))).collect();
        for (at, entry) in entries.iter().enumerate() {
            children.entry(entry.parent).or_default().push(at);
        }
        for (at, entry) in entries.iter().enumerate().rev() {
            let below = last.get(at).copied().unwrap_or_default();
            let parent = entry.parent.and_then(|parent| places.get(&parent)).and_then(|at| last.get_mut(*at));
            if let Some((last, said)) = parent {
                *last = below.0.max(*last);
                *said |= below.1;
            }
        }
        Self { entries, children, last }
    }

    /// The thread along a branch. `all`: with the others that begin on its way.
    pub(super) fn along(&self, branch: &[usize], all: bool) -> Thread<'a> {
        let depth = if all { DEPTH } else { 0 };
        let mut thread = Thread { items: Vec::new() };
        self.fork(&mut thread, None, branch.first().copied(), depth);
        self.walk(&mut thread, branch, depth);
        thread
    }

    fn walk(&self, thread: &mut Thread<'a>, branch: &[usize], depth: usize) {
        for (place, at) in branch.iter().enumerate() {
            let Some(entry) = self.entries.get(*at) else { continue };
            thread.add(entry);
            self.fork(thread, Some(entry.id), branch.get(place + 1).copied(), depth);
        }
    }

    /// Adds the branches that follow an entry beside `next`.
    fn fork(&self, thread: &mut Thread<'a>, at: Option<EntryId>, next: Option<usize>, depth: usize) {
        let children = self.children.get(&at).into_iter().flatten().copied();
        let said = |at: usize| self.last.get(at).is_some_and(|(_, said)| *said);
        let others: Vec<usize> = children.filter(|child| Some(*child) != next && said(*child)).collect();
        if others.is_empty() {
            return;
        }
        thread.items.push(match depth.checked_sub(1) {
            None => Item::Hidden(others.len()),
            Some(depth) => {
                let side = |child: &usize| {
                    let mut side = Thread { items: Vec::new() };
                    self.walk(&mut side, &self.down(*child), depth);
                    side
                };
                Item::Branches(others.iter().map(side).collect())
            }
        });
    }

    fn down(&self, from: usize) -> Vec<usize> {
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

impl<'a> Thread<'a> {
    fn add(&mut self, entry: &'a Entry) {
        match &entry.body {
            EntryBody::Said(Said { message: Message::Assistant(message), answer }) => {
                let new = |call| Call { call, start: None, result: None, interventions: Vec::new() };
                let calls = message.tool_calls().map(new).collect();
                let answer = answer.as_ref();
                let interventions = Vec::new();
                self.items.push(Item::Said(Box::new(Step { entry, message, answer, calls, interventions })));
            }
            EntryBody::Said(Said { message: Message::Tool(result), .. }) => {
                match self.open(|call| call.call.id == result.call_id && call.result.is_none()) {
                    Some(call) => call.result = Some(result),
                    None => self.items.push(Item::Entry(entry)),
                }
            }
            EntryBody::ToolStart(start) => {
                if let Some(call) = self.open(|call| call.call.id == start.call_id) {
                    call.start = Some(start);
                }
            }
            EntryBody::Custom(custom) => {
                let Some(intervention) = Intervention::of(custom) else {
                    return self.items.push(Item::Entry(entry));
                };
                match self.changed_by(&intervention) {
                    Some(interventions) => interventions.push(intervention),
                    None => self.items.push(Item::Entry(entry)),
                }
            }
            EntryBody::Label(_) | EntryBody::Tags(_) | EntryBody::Name(_) => {}
            EntryBody::Said(_)
            | EntryBody::ModelChange(_)
            | EntryBody::ThinkingChange(_)
            | EntryBody::ToolsChange(_)
            | EntryBody::Compaction(_)
            | EntryBody::BranchSummary(_)
            | EntryBody::CustomMessage(_)
            | EntryBody::Unknown(_) => self.items.push(Item::Entry(entry)),
        }
    }

    /// Where an intervention belongs: to a call, or to the last answer. One in a turn stands for itself.
    fn changed_by(&mut self, it: &Intervention) -> Option<&mut Vec<Intervention>> {
        match (&it.call_id, it.action) {
            (Some(id), _) => self.open(|call| call.call.id == *id).map(|call| &mut call.interventions),
            (None, Action::Replaced | Action::Suppressed | Action::AnswerEdited) => {
                self.last_step().map(|step| &mut step.interventions)
            }
            (
                None,
                Action::Blocked
                | Action::Answered
                | Action::Rewritten
                | Action::TurnEnded
                | Action::Edited
                | Action::AnswerDropped
                | Action::Discarded,
            ) => None,
        }
    }

    /// A call of the last answer.
    fn open(&mut self, which: impl Fn(&Call<'a>) -> bool) -> Option<&mut Call<'a>> {
        self.last_step()?.calls.iter_mut().find(|call| which(call))
    }

    fn last_step(&mut self) -> Option<&mut Step<'a>> {
        self.items.iter_mut().rev().find_map(|item| match item {
            Item::Said(step) => Some(step.as_mut()),
            Item::Entry(_) | Item::Branches(_) | Item::Hidden(_) => None,
        })
    }

    /// The answers of this thread, without those of other branches.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step<'a>> {
        self.items.iter().filter_map(|item| match item {
            Item::Said(step) => Some(step.as_ref()),
            Item::Entry(_) | Item::Branches(_) | Item::Hidden(_) => None,
        })
    }
}
