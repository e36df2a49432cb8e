//! How the decisions of several hooks about one tool call become one, without asking anybody.
//!
//! Invariant: the tool and the arguments of [`Verdict::Run`] are, byte for byte, what every hook that has a part in calls
//! of that tool saw last and did not refuse. Enforced by
//! `tests::random::executed_arguments_were_seen_by_every_hook`.

mod diff;
mod verdict;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};

use crate::hooks::{HookRole, ToolDecision};
use crate::tool::ToolOutput;

pub use verdict::{Change, Conflict, Verdict};

/// The chain of hooks over one tool call, as a state machine: [`step`](Self::step) says what to do next.
///
/// First the ordered hooks are asked one after the other, each with what the one before left; each rewrite is checked
/// against the tool's schema before the next one sees it; one to the [same value](RawJson::same_value) is none. When a
/// hook has another tool called, the hooks' parts are those in calls of that tool from there on, and an ordered one that
/// has a part only now is asked in its turn, wherever it stands. Then every gate, and every ordered hook whose tool or arguments were changed after it decided, is asked about
/// the final call, all at once; only a refusal counts, and of several the one that stands first in the order of the hooks,
/// whichever came first.
#[derive(Debug)]
pub struct ToolChain {
    /// The tool that was called.
    called: Arc<str>,
    stands: Asked,
    hooks: Vec<Hook>,
    phase: Phase,
    changes: Vec<Change>,
    response: Option<Response>,
}

/// What a hook is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    tool: Arc<str>,
    args: RawJson,
}

#[derive(Debug)]
struct Hook {
    /// Its part in calls of the tool, if it has one.
    role: Option<HookRole>,
    /// What it decided on, or wrote, last.
    seen: Option<Asked>,
}

/// What a hook says in place of the tool.
#[derive(Debug)]
struct Response {
    index: usize,
    /// What it was asked about.
    answers: Asked,
    by: String,
    output: ToolOutput,
}

#[derive(Debug)]
enum Phase {
    Ordered,
    Resolve { rewriter: usize },
    Validate { rewriter: usize },
    Final { open: Vec<Open> },
    Decided { verdict: Verdict, by: Option<usize> },
}

/// One hook in the last phase.
#[derive(Debug)]
struct Open {
    index: usize,
    /// `None` while it has not answered.
    answer: Option<Answer>,
}

#[derive(Debug)]
enum Answer {
    Passed,
    Refused(Verdict),
}

/// What the driver of a [`ToolChain`] does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainStep {
    /// Ask this hook about [`ToolChain::tool`] and [`ToolChain::args`], then call [`ToolChain::answer`].
    Ask(usize),
    /// Look for [`ToolChain::tool`], then call [`ToolChain::resolved`].
    Resolve,
    /// Check [`ToolChain::args`] against the schema of the tool, then call [`ToolChain::validated`].
    Validate,
    /// Ask these, all at once, and call [`ToolChain::answer`] for each answer as it comes, until
    /// [`step`](ToolChain::step) says something else. The rest need not be waited for.
    AskAll(Vec<usize>),
    /// Nothing; this is the outcome.
    Done(Verdict),
}

impl ToolChain {
    /// A chain over hooks for a call of this tool with these arguments, which fit its schema. A hook without a role has
    /// no part in calls of the tool, and may get one when another tool is called.
    pub fn new(
        tool: &str,
        args: RawJson,
        roles: impl IntoIterator<Item = impl Into<Option<HookRole>>>,
    ) -> Self {
        let hooks = roles.into_iter().map(|role| Hook { role: role.into(), seen: None }).collect();
        let called: Arc<str> = tool.into();
        let stands = Asked { tool: called.clone(), args };
        Self { called, stands, hooks, phase: Phase::Ordered, changes: Vec::new(), response: None }
    }

    /// The tool as it stands.
    pub fn tool(&self) -> &str {
        &self.stands.tool
    }

    /// The arguments as they stand.
    pub fn args(&self) -> &RawJson {
        &self.stands.args
    }

    /// Who changed what, in order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The hook whose refusal, or unfit rewrite, decided.
    pub fn decided_by(&self) -> Option<usize> {
        if let Phase::Decided { by, .. } = &self.phase { *by } else { None }
    }

    /// The hook that answers in place of the tool, unless another refuses.
    pub fn responder(&self) -> Option<usize> {
        self.response.as_ref().map(|response| response.index)
    }

    /// The tool and the arguments that the outcome is about, if nobody refuses: those that a hook has answered, whatever
    /// others made of the call behind it; otherwise as they stand.
    pub fn subject(&self) -> (&str, &RawJson) {
        let Asked { tool, args } = self.response.as_ref().map_or(&self.stands, |response| &response.answers);
        (tool, args)
    }

    /// What to do next.
    pub fn step(&mut self) -> ChainStep {
        loop {
            self.phase = match &self.phase {
                Phase::Ordered => match self.next_ordered() {
                    Some(index) => return ChainStep::Ask(index),
                    None => Phase::Final { open: self.who_must_see() },
                },
                Phase::Resolve { .. } => return ChainStep::Resolve,
                Phase::Validate { .. } => return ChainStep::Validate,
                Phase::Final { open } => match self.settled(open) {
                    Some((verdict, by)) => Phase::Decided { verdict, by },
                    None => return ChainStep::AskAll(unanswered(open)),
                },
                Phase::Decided { verdict, .. } => return ChainStep::Done(verdict.clone()),
            };
        }
    }

    /// Takes the decision of a hook that [`step`](Self::step) named; returns what it changed. An answer that was not
    /// asked for counts for nothing.
    pub fn answer(&mut self, index: usize, decision: ToolDecision) -> Option<&Change> {
        let next = self.next_ordered();
        match &mut self.phase {
            Phase::Ordered if next == Some(index) => self.ordered_answer(index, decision),
            Phase::Final { open } => {
                let gate = self.hooks.get(index).is_some_and(|hook| hook.role == Some(HookRole::Gate));
                let slot = open.iter_mut().find(|open| open.index == index && open.answer.is_none())?;
                slot.answer = Some(final_answer(gate, decision));
                None
            }
            Phase::Ordered | Phase::Resolve { .. } | Phase::Validate { .. } | Phase::Decided { .. } => None,
        }
    }

    /// Takes what was found of the tool that a hook has called: the part of each hook in its calls, in the order of the
    /// hooks. `Err` says why it cannot be called.
    pub fn resolved(&mut self, outcome: Result<Vec<Option<HookRole>>, String>) {
        let Phase::Resolve { rewriter } = self.phase else { return };
        match outcome {
            Ok(roles) => {
                for (hook, role) in self.hooks.iter_mut().zip(roles) {
                    hook.role = role;
                }
                self.phase = Phase::Validate { rewriter };
            }
            Err(detail) => self.unfit(rewriter, |by| format!("{by} has another tool called: {detail}")),
        }
    }

    /// Takes the outcome of the schema check: `Err` says which argument is wrong.
    pub fn validated(&mut self, outcome: Result<(), String>) {
        let Phase::Validate { rewriter } = self.phase else { return };
        match outcome {
            Ok(()) => self.phase = Phase::Ordered,
            Err(detail) => {
                let reason = |by: &str| format!("arguments rewritten by {by} do not fit the tool: {detail}");
                self.unfit(rewriter, reason);
            }
        }
    }

    fn unfit(&mut self, rewriter: usize, reason: impl FnOnce(&str) -> String) {
        let by = self.changes.last().map(|change| change.by.clone()).unwrap_or_default();
        let reason = reason(&by);
        self.phase = Phase::Decided { verdict: Verdict::Block { by, reason }, by: Some(rewriter) };
    }

    /// The first ordered hook that was not asked yet.
    fn next_ordered(&self) -> Option<usize> {
        self.hooks.iter().position(|hook| hook.role == Some(HookRole::Ordered) && hook.seen.is_none())
    }

    /// The hooks that have a part in the final call and have not seen it. No gate has seen any.
    fn who_must_see(&self) -> Vec<Open> {
        let sees_again = is_up(Defence::FinalArguments);
        let unseen = self.hooks.iter().enumerate().filter(|(_, hook)| match &hook.seen {
            Some(seen) => sees_again && hook.role.is_some() && *seen != self.stands,
            None => hook.role.is_some(),
        });
        unseen.map(|(index, _)| Open { index, answer: None }).collect()
    }

    fn ordered_answer(&mut self, index: usize, decision: ToolDecision) -> Option<&Change> {
        let mut changed = false;
        match decision {
            ToolDecision::Allow => {}
            ToolDecision::Rewrite { by, tool, args } => {
                let tool = tool.filter(|tool| *tool != *self.stands.tool);
                let same = args.same_value(&self.stands.args);
                if tool.is_some() || !same {
                    let args = if same { self.stands.args.clone() } else { args };
                    self.phase = match &tool {
                        Some(_) => Phase::Resolve { rewriter: index },
                        None => Phase::Validate { rewriter: index },
                    };
                    self.rewrite(by, tool, args);
                    changed = true;
                }
            }
            ToolDecision::Respond { by, output } => {
                let answers = self.stands.clone();
                _ = self.response.get_or_insert(Response { index, answers, by, output });
            }
            refusal @ (ToolDecision::Block { .. }
            | ToolDecision::AbortTurn { .. }
            | ToolDecision::HardAbort { .. }
            | ToolDecision::AbortAgent { .. }) => {
                if let Some(verdict) = Verdict::refused(refusal) {
                    self.phase = Phase::Decided { verdict, by: Some(index) };
                }
            }
        }
        if let Some(hook) = self.hooks.get_mut(index) {
            hook.seen = Some(self.stands.clone());
        }
        self.changes.last().filter(|_| changed)
    }

    fn rewrite(&mut self, by: String, tool: Option<String>, args: RawJson) {
        let stands = &mut self.stands;
        let changed = if stands.args == args { Vec::new() } else { diff::changed(&stands.args, &args) };
        let mut conflicts: Vec<Conflict> = Vec::new();
        for path in &changed {
            let others = self.changes.iter().filter(|change| change.by != by);
            for earlier in others.filter(|change| change.changed.iter().any(|old| diff::overlap(old, path))) {
                let conflict = Conflict { path: path.clone(), first: earlier.by.clone() };
                if !conflicts.contains(&conflict) {
                    conflicts.push(conflict);
                }
            }
        }
        if let Some(tool) = &tool {
            stands.tool = tool.as_str().into();
        }
        stands.args = args;
        self.changes.push(Change { by, tool, changed, conflicts });
    }

    /// The outcome of the last phase, as soon as it is certain: a refusal counts when everybody before it has passed.
    fn settled(&self, open: &[Open]) -> Option<(Verdict, Option<usize>)> {
        for Open { index, answer } in open {
            match answer.as_ref()? {
                Answer::Passed => {}
                Answer::Refused(verdict) => return Some((verdict.clone(), Some(*index))),
            }
        }
        Some((self.passed(), None))
    }

    fn passed(&self) -> Verdict {
        if let Some(Response { by, output, .. }) = &self.response {
            return Verdict::Respond { by: by.clone(), output: output.clone() };
        }
        let Asked { tool, args } = &self.stands;
        let tool = (*tool != self.called).then(|| tool.to_string());
        Verdict::Run { tool, args: args.clone() }
    }
}

fn unanswered(open: &[Open]) -> Vec<usize> {
    open.iter().filter(|open| open.answer.is_none()).map(|open| open.index).collect()
}

/// In the last phase only a refusal counts. A gate that tries more than yes and no has said neither.
fn final_answer(gate: bool, decision: ToolDecision) -> Answer {
    if gate && let ToolDecision::Rewrite { by, .. } | ToolDecision::Respond { by, .. } = decision {
        let reason = format!("{by} is a gate, which may only allow or refuse, and tried to do more");
        return Answer::Refused(Verdict::Block { by, reason });
    }
    Verdict::refused(decision).map_or(Answer::Passed, Answer::Refused)
}
