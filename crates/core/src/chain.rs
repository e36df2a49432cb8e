//! How the decisions of several hooks about one tool call become one, without asking anybody.
//!
//! Invariant: the arguments of [`Verdict::Run`] are, byte for byte, the arguments that every hook saw last and did
//! not refuse. Enforced by `tests::executed_arguments_were_seen_by_every_hook`.

mod diff;
#[cfg(test)]
mod tests;

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};

use crate::hooks::{HookRole, ToolDecision};
use crate::tool::ToolOutput;

/// The chain of hooks over one tool call, as a state machine: [`step`](Self::step) says what to do next.
///
/// First the ordered hooks are asked one after the other, each with the arguments the one before left; each rewrite is
/// checked against the tool's schema before the next one sees it. Then every gate, and every ordered hook whose
/// arguments were changed after it decided, is asked about the final arguments, all at once; only a refusal counts, and
/// of several the one that stands first in the order of the hooks, whichever came first.
#[derive(Debug)]
pub struct ToolChain {
    args: RawJson,
    hooks: Vec<Hook>,
    phase: Phase,
    changes: Vec<Change>,
    response: Option<(String, ToolOutput)>,
}

#[derive(Debug)]
struct Hook {
    role: HookRole,
    /// What it decided on, or wrote, last.
    seen: Option<RawJson>,
}

#[derive(Debug)]
enum Phase {
    Ordered { next: usize },
    Validate { rewriter: usize },
    Final { asked: Vec<Asked> },
    Decided { verdict: Verdict, by: Option<usize> },
}

/// One hook in the last phase.
#[derive(Debug)]
struct Asked {
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
    /// Ask this hook about [`ToolChain::args`], then call [`ToolChain::answer`].
    Ask(usize),
    /// Check [`ToolChain::args`] against the schema, then call [`ToolChain::validated`].
    Validate,
    /// Ask these about [`ToolChain::args`], all at once, and call [`ToolChain::answer`] for each answer as it comes,
    /// until [`step`](ToolChain::step) says something else. The rest need not be waited for.
    AskAll(Vec<usize>),
    /// Nothing; this is the outcome.
    Done(Verdict),
}

/// What becomes of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It runs with these arguments.
    Run {
        /// What every hook saw last.
        args: RawJson,
    },
    /// It does not run; a hook answered it and nobody objected.
    Respond {
        /// Who answered.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// It does not run.
    Block {
        /// Who blocked it.
        by: String,
        /// What the model is told.
        reason: String,
    },
    /// Neither it nor the rest of the turn runs.
    AbortTurn {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
    /// Neither it nor anything else of this run happens, and the program that runs the agent should end.
    AbortAgent {
        /// Who aborted.
        by: String,
        /// What the user is told.
        reason: String,
    },
}

/// One rewrite: who changed what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Who.
    pub by: String,
    /// JSON pointers of what is not as it was; `""` is the whole.
    pub changed: Vec<String>,
    /// Those of them that somebody else had changed before, each with who that was.
    pub conflicts: Vec<Conflict>,
}

/// A field that two hooks changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// JSON pointer of the field.
    pub path: String,
    /// Who changed it first.
    pub first: String,
}

impl ToolChain {
    /// A chain over hooks of these roles for a call with these arguments, which fit the tool's schema.
    pub fn new(roles: impl IntoIterator<Item = HookRole>, args: RawJson) -> Self {
        let hooks = roles.into_iter().map(|role| Hook { role, seen: None }).collect();
        Self { args, hooks, phase: Phase::Ordered { next: 0 }, changes: Vec::new(), response: None }
    }

    /// The arguments as they stand.
    pub fn args(&self) -> &RawJson {
        &self.args
    }

    /// Who changed what, in order.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The hook whose refusal, or unfit rewrite, decided.
    pub fn decided_by(&self) -> Option<usize> {
        if let Phase::Decided { by, .. } = &self.phase { *by } else { None }
    }

    /// What to do next.
    pub fn step(&mut self) -> ChainStep {
        loop {
            self.phase = match &self.phase {
                Phase::Ordered { next } => match self.ordered_from(*next) {
                    Some(index) => return ChainStep::Ask(index),
                    None => Phase::Final { asked: self.who_must_see() },
                },
                Phase::Validate { .. } => return ChainStep::Validate,
                Phase::Final { asked } => match self.settled(asked) {
                    Some((verdict, by)) => Phase::Decided { verdict, by },
                    None => return ChainStep::AskAll(unanswered(asked)),
                },
                Phase::Decided { verdict, .. } => return ChainStep::Done(verdict.clone()),
            };
        }
    }

    /// Takes the decision of a hook that [`step`](Self::step) named; returns what it changed. An answer that was not
    /// asked for counts for nothing.
    pub fn answer(&mut self, index: usize, decision: ToolDecision) -> Option<&Change> {
        match &mut self.phase {
            Phase::Ordered { next } => {
                let next = *next;
                if self.ordered_from(next) != Some(index) {
                    return None;
                }
                self.ordered_answer(index, decision)
            }
            Phase::Final { asked } => {
                let gate = self.hooks.get(index).is_some_and(|hook| hook.role == HookRole::Gate);
                let slot = asked.iter_mut().find(|asked| asked.index == index && asked.answer.is_none())?;
                slot.answer = Some(final_answer(gate, decision));
                None
            }
            Phase::Validate { .. } | Phase::Decided { .. } => None,
        }
    }

    /// Takes the outcome of the schema check: `Err` says which argument is wrong.
    pub fn validated(&mut self, outcome: Result<(), String>) {
        let Phase::Validate { rewriter } = self.phase else { return };
        self.phase = match outcome {
            Ok(()) => Phase::Ordered { next: rewriter + 1 },
            Err(detail) => {
                let by = self.changes.last().map(|change| change.by.clone()).unwrap_or_default();
                let reason = format!("arguments rewritten by {by} do not fit the tool: {detail}");
                Phase::Decided { verdict: Verdict::Block { by, reason }, by: Some(rewriter) }
            }
        };
    }

    /// The first ordered hook from this one on.
    fn ordered_from(&self, start: usize) -> Option<usize> {
        let mut hooks = self.hooks.iter().enumerate().skip(start);
        hooks.find(|(_, hook)| hook.role == HookRole::Ordered).map(|(index, _)| index)
    }

    /// The hooks that have not seen the final arguments. No gate has seen any.
    fn who_must_see(&self) -> Vec<Asked> {
        let sees_again = is_up(Defence::FinalArguments);
        let unseen = self.hooks.iter().enumerate().filter(|(_, hook)| match &hook.seen {
            Some(seen) => sees_again && *seen != self.args,
            None => true,
        });
        unseen.map(|(index, _)| Asked { index, answer: None }).collect()
    }

    fn ordered_answer(&mut self, index: usize, decision: ToolDecision) -> Option<&Change> {
        self.phase = Phase::Ordered { next: index + 1 };
        let mut changed = false;
        match decision {
            ToolDecision::Allow => {}
            ToolDecision::Rewrite { by, args } if args != self.args => {
                self.rewrite(by, args);
                self.phase = Phase::Validate { rewriter: index };
                changed = true;
            }
            ToolDecision::Rewrite { .. } => {}
            ToolDecision::Respond { by, output } => _ = self.response.get_or_insert((by, output)),
            refusal @ (ToolDecision::Block { .. }
            | ToolDecision::AbortTurn { .. }
            | ToolDecision::AbortAgent { .. }) => {
                if let Some(verdict) = refused(refusal) {
                    self.phase = Phase::Decided { verdict, by: Some(index) };
                }
            }
        }
        if let Some(hook) = self.hooks.get_mut(index) {
            hook.seen = Some(self.args.clone());
        }
        self.changes.last().filter(|_| changed)
    }

    fn rewrite(&mut self, by: String, args: RawJson) {
        let changed = diff::changed(&self.args, &args);
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
        self.changes.push(Change { by, changed, conflicts });
        self.args = args;
    }

    /// The outcome of the last phase, as soon as it is certain: a refusal counts when everybody before it has passed.
    fn settled(&self, asked: &[Asked]) -> Option<(Verdict, Option<usize>)> {
        for Asked { index, answer } in asked {
            match answer.as_ref()? {
                Answer::Passed => {}
                Answer::Refused(verdict) => return Some((verdict.clone(), Some(*index))),
            }
        }
        Some((self.passed(), None))
    }

    fn passed(&self) -> Verdict {
        match &self.response {
            Some((by, output)) => Verdict::Respond { by: by.clone(), output: output.clone() },
            None => Verdict::Run { args: self.args.clone() },
        }
    }
}

fn unanswered(asked: &[Asked]) -> Vec<usize> {
    asked.iter().filter(|asked| asked.answer.is_none()).map(|asked| asked.index).collect()
}

/// In the last phase only a refusal counts. A gate that tries more than yes and no has said neither.
fn final_answer(gate: bool, decision: ToolDecision) -> Answer {
    if gate && let ToolDecision::Rewrite { by, .. } | ToolDecision::Respond { by, .. } = decision {
        let reason = format!("{by} is a gate, which may only allow or refuse, and tried to do more");
        return Answer::Refused(Verdict::Block { by, reason });
    }
    refused(decision).map_or(Answer::Passed, Answer::Refused)
}

/// What a refusal does to the call; `None` for what is no refusal.
fn refused(decision: ToolDecision) -> Option<Verdict> {
    match decision {
        ToolDecision::Block { by, reason } => Some(Verdict::Block { by, reason }),
        ToolDecision::AbortTurn { by, reason } => Some(Verdict::AbortTurn { by, reason }),
        ToolDecision::AbortAgent { by, reason } => Some(Verdict::AbortAgent { by, reason }),
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}
