//! Merges the decisions of several hooks about one tool call, without asking anybody.
//!
//! Invariant: the tool and the arguments of [`Verdict::Run`] are, byte for byte, what every hook that has a part in calls
//! of that tool saw last and did not refuse. Enforced by
//! `tests::random::executed_arguments_were_seen_by_every_hook`.

mod diff;

use std::sync::Arc;

use haft_protocol::RawJson;
use haft_protocol::defence::{Defence, is_up};

use crate::hooks::{HookRole, Refusal, RefusalScope, ToolDecision};
use crate::tool::ToolOutput;

/// The chain of hooks over one tool call, as a state machine: [`step`](Self::step) returns the next thing to do.
///
/// First the ordered hooks are asked one after the other, each with what the one before left; each rewrite is checked
/// against the tool's schema before the next one sees it; one to the [same value](RawJson::same_value) is none. When a
/// hook has another tool called, the hooks' parts are those in calls of that tool from there on, and an ordered one that
/// has a part only now is asked in its turn, wherever it stands. Then every gate, and every ordered hook whose tool or
/// arguments were changed after it decided, is asked about the final call, all at once; only a refusal counts, and of
/// several the one that stands first in the order of the hooks, whichever came first.
///
/// The driver and the chain meet in four methods: [`step`](Self::step), [`call`](Self::call), [`answer`](Self::answer)
/// and [`resolve_check`](Self::resolve_check).
#[derive(Debug)]
pub struct ToolChain {
    called: Arc<str>,
    current: ChainCall,
    hooks: Vec<HookState>,
    phase: ChainPhase,
    changes: Vec<CallRewrite>,
    response: Option<HookResponse>,
}

#[derive(Debug)]
struct HookState {
    /// Its part in calls of the tool, if it has one.
    role: Option<HookRole>,
    /// The call that the hook decided on, or wrote, last.
    seen: Option<ChainCall>,
}

/// The answer of a hook in place of the tool.
#[derive(Debug)]
struct HookResponse {
    index: usize,
    /// The call that the hook was asked about.
    answers: ChainCall,
    by: String,
    output: ToolOutput,
}

#[derive(Debug)]
enum ChainPhase {
    Ordered,
    Check { rewriter: usize, renamed: bool },
    Final { open: Vec<PendingDecision> },
    Decided { verdict: Verdict, by: Option<usize> },
}

/// One hook in the last phase.
#[derive(Debug)]
struct PendingDecision {
    index: usize,
    /// `None` while the hook has not answered; then its refusal, if it refused.
    answer: Option<Option<Refusal>>,
}

/// The next task for the driver of a [`ToolChain`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChainStep {
    /// Ask this hook about [`ToolChain::call`], then call [`ToolChain::answer`].
    Ask(usize),
    /// Check that [`ToolChain::call`], which this hook has rewritten, can run, then call [`ToolChain::resolve_check`].
    Check {
        /// The hook that rewrote the call.
        hook: usize,
        /// The tool is another one than before.
        renamed: bool,
    },
    /// Ask these, all at once, and call [`ToolChain::answer`] for each answer as it comes, until
    /// [`step`](ToolChain::step) returns something else. The rest need not be waited for.
    AskAll(Vec<usize>),
    /// Stop; this is the outcome.
    Done(ChainOutcome),
}

impl ToolChain {
    /// A chain over hooks for a call of this tool with these arguments, which fit its schema. A hook without a role has
    /// no part in calls of the tool, and may get one when another tool is called.
    pub fn new(
        tool: &str,
        args: RawJson,
        roles: impl IntoIterator<Item = impl Into<Option<HookRole>>>,
    ) -> Self {
        let hooks = roles.into_iter().map(|role| HookState { role: role.into(), seen: None }).collect();
        let called: Arc<str> = tool.into();
        let stands = ChainCall { tool: called.clone(), args };
        Self {
            called,
            current: stands,
            hooks,
            phase: ChainPhase::Ordered,
            changes: Vec::new(),
            response: None,
        }
    }

    /// The call as it stands.
    pub fn call(&self) -> &ChainCall {
        &self.current
    }

    /// Returns the next thing to do.
    pub fn step(&mut self) -> ChainStep {
        loop {
            self.phase = match &self.phase {
                ChainPhase::Ordered => match self.next_ordered() {
                    Some(index) => return ChainStep::Ask(index),
                    None => ChainPhase::Final { open: self.pending_decisions() },
                },
                ChainPhase::Check { rewriter, renamed } => {
                    return ChainStep::Check { hook: *rewriter, renamed: *renamed };
                }
                ChainPhase::Final { open } => match self.final_verdict(open) {
                    Some((verdict, by)) => ChainPhase::Decided { verdict, by },
                    None => return ChainStep::AskAll(unanswered_hooks(open)),
                },
                ChainPhase::Decided { verdict, by } => {
                    return ChainStep::Done(self.build_outcome(verdict.clone(), *by));
                }
            };
        }
    }

    fn build_outcome(&self, verdict: Verdict, decided_by: Option<usize>) -> ChainOutcome {
        let call = self.response.as_ref().map_or(&self.current, |response| &response.answers).clone();
        ChainOutcome { verdict, decided_by, call, changes: self.changes.clone() }
    }

    /// Takes the decision of a hook that [`step`](Self::step) named; returns what it changed. An answer that was not
    /// asked for counts for nothing.
    pub fn answer(&mut self, index: usize, decision: ToolDecision) -> Option<&CallRewrite> {
        let next = self.next_ordered();
        match &mut self.phase {
            ChainPhase::Ordered if next == Some(index) => self.apply_ordered_decision(index, decision),
            ChainPhase::Final { open } => {
                let gate = self.hooks.get(index).is_some_and(|hook| hook.role == Some(HookRole::Gate));
                let slot = open.iter_mut().find(|open| open.index == index && open.answer.is_none())?;
                slot.answer = Some(final_refusal(gate, decision));
                None
            }
            ChainPhase::Ordered | ChainPhase::Check { .. } | ChainPhase::Decided { .. } => None,
        }
    }

    /// Takes the outcome of [`ChainStep::Check`]. Where the tool is another one, `Ok` has the part of each hook in its
    /// calls, in the order of the hooks; otherwise the list is empty.
    ///
    /// [`InvalidRewrite`] refuses the call.
    pub fn resolve_check(&mut self, outcome: Result<Vec<Option<HookRole>>, InvalidRewrite>) {
        let ChainPhase::Check { rewriter, .. } = self.phase else { return };
        self.phase = match outcome {
            Ok(roles) => {
                for (hook, role) in self.hooks.iter_mut().zip(roles) {
                    hook.role = role;
                }
                ChainPhase::Ordered
            }
            Err(misfit) => {
                let by = self.changes.last().map(|change| change.by.clone()).unwrap_or_default();
                ChainPhase::Decided { verdict: Verdict::Refuse(misfit.to_refusal(by)), by: Some(rewriter) }
            }
        };
    }

    /// The first ordered hook that was not asked yet.
    fn next_ordered(&self) -> Option<usize> {
        self.hooks.iter().position(|hook| hook.role == Some(HookRole::Ordered) && hook.seen.is_none())
    }

    /// The hooks that have a part in the final call and have not seen it. No gate has seen any.
    fn pending_decisions(&self) -> Vec<PendingDecision> {
        let sees_again = is_up(Defence::FinalArguments);
        let unseen = self.hooks.iter().enumerate().filter(|(_, hook)| match &hook.seen {
            Some(seen) => sees_again && hook.role.is_some() && *seen != self.current,
            None => hook.role.is_some(),
        });
        unseen.map(|(index, _)| PendingDecision { index, answer: None }).collect()
    }

    fn apply_ordered_decision(&mut self, index: usize, decision: ToolDecision) -> Option<&CallRewrite> {
        let mut changed = false;
        match decision {
            ToolDecision::Allow => {}
            ToolDecision::Rewrite { by, tool, args } => {
                let tool = tool.filter(|tool| *tool != *self.current.tool);
                let same = args.same_value(&self.current.args);
                if tool.is_some() || !same {
                    let args = if same { self.current.args.clone() } else { args };
                    self.phase = ChainPhase::Check { rewriter: index, renamed: tool.is_some() };
                    self.apply_rewrite(by, tool, args);
                    changed = true;
                }
            }
            ToolDecision::Respond { by, output } => {
                let answers = self.current.clone();
                _ = self.response.get_or_insert(HookResponse { index, answers, by, output });
            }
            ToolDecision::Refuse(refusal) => {
                self.phase = ChainPhase::Decided { verdict: Verdict::Refuse(refusal), by: Some(index) };
            }
        }
        if let Some(hook) = self.hooks.get_mut(index) {
            hook.seen = Some(self.current.clone());
        }
        self.changes.last().filter(|_| changed)
    }

    fn apply_rewrite(&mut self, by: String, tool: Option<String>, args: RawJson) {
        let stands = &mut self.current;
        let changed =
            if stands.args == args { Vec::new() } else { diff::changed_pointers(&stands.args, &args) };
        let mut conflicts: Vec<RewriteConflict> = Vec::new();
        for path in &changed {
            let others = self.changes.iter().filter(|change| change.by != by);
            for earlier in
                others.filter(|change| change.changed.iter().any(|old| diff::pointers_overlap(old, path)))
            {
                let conflict = RewriteConflict { path: path.clone(), first: earlier.by.clone() };
                if !conflicts.contains(&conflict) {
                    conflicts.push(conflict);
                }
            }
        }
        if let Some(tool) = &tool {
            stands.tool = tool.as_str().into();
        }
        stands.args = args;
        self.changes.push(CallRewrite { by, tool, changed, conflicts });
    }

    /// The outcome of the last phase, as soon as it is certain: a refusal counts when everybody before it has passed.
    fn final_verdict(&self, open: &[PendingDecision]) -> Option<(Verdict, Option<usize>)> {
        for PendingDecision { index, answer } in open {
            match answer.as_ref()? {
                None => {}
                Some(refusal) => return Some((Verdict::Refuse(refusal.clone()), Some(*index))),
            }
        }
        if let Some(HookResponse { index, by, output, .. }) = &self.response {
            return Some((Verdict::Respond { by: by.clone(), output: output.clone() }, Some(*index)));
        }
        let ChainCall { tool, args } = &self.current;
        let tool = (*tool != self.called).then(|| tool.to_string());
        Some((Verdict::Run { tool, args: args.clone() }, None))
    }
}

fn unanswered_hooks(open: &[PendingDecision]) -> Vec<usize> {
    open.iter().filter(|open| open.answer.is_none()).map(|open| open.index).collect()
}

/// Returns the refusal of a hook in the last phase, where nothing else counts. A gate that tries more than yes and no has
/// said neither.
fn final_refusal(gate: bool, decision: ToolDecision) -> Option<Refusal> {
    match decision {
        ToolDecision::Refuse(refusal) => Some(refusal),
        ToolDecision::Rewrite { by, .. } | ToolDecision::Respond { by, .. } if gate => {
            let reason = format!(
                "{by} is a gate and tried to change the call; a gate can only allow or refuse a call"
            );
            Some(Refusal::new(RefusalScope::Call, by, reason))
        }
        ToolDecision::Allow | ToolDecision::Rewrite { .. } | ToolDecision::Respond { .. } => None,
    }
}

/// The decision of all hooks together about a tool call: the last of the four shapes of an answer, see
/// [`ToolDecision`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The call runs.
    Run {
        /// Another tool than the model called.
        tool: Option<String>,
        /// The arguments that every hook saw last.
        args: RawJson,
    },
    /// The call does not run; a hook answered it and no hook refused.
    Respond {
        /// The hook that answered.
        by: String,
        /// The result.
        output: ToolOutput,
    },
    /// The call does not run.
    Refuse(Refusal),
}

impl Verdict {
    /// True if [approvers](crate::hooks::ApproveTool) are asked before the verdict counts. `known`: the tool exists;
    /// `vouched`: the hook that answered in its place vouches for that.
    pub fn needs_approval(&self, known: bool, vouched: bool) -> bool {
        match self {
            Self::Run { .. } => known,
            Self::Respond { .. } => known && !vouched && is_up(Defence::ResponseApproval),
            Self::Refuse(_) => false,
        }
    }
}

/// The end of a [`ToolChain`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainOutcome {
    /// The decision.
    pub verdict: Verdict,
    /// The hook that decided alone: by its refusal, its unfit rewrite, or its response.
    pub decided_by: Option<usize>,
    /// The call that the decision is about, if no hook refused: the one that a hook has answered, whatever later hooks
    /// made of it; otherwise the call as it stands.
    pub call: ChainCall,
    /// The changes of the call, in order.
    pub changes: Vec<CallRewrite>,
}

/// A call inside the chain: a tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainCall {
    /// The tool.
    pub tool: Arc<str>,
    /// The arguments.
    pub args: RawJson,
}

/// A rewritten call that cannot run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidRewrite {
    /// The other tool cannot be called.
    Tool(String),
    /// The arguments do not fit the schema of the tool.
    Args(String),
}

impl InvalidRewrite {
    /// Returns the mistake in words.
    pub fn detail(&self) -> &str {
        match self {
            Self::Tool(detail) | Self::Args(detail) => detail,
        }
    }

    /// The refusal of a call that a hook has rewritten to one that cannot run.
    fn to_refusal(&self, by: String) -> Refusal {
        let reason = match self {
            Self::Tool(detail) => format!("{by} changed the call to a tool that cannot run: {detail}"),
            Self::Args(detail) => {
                format!("arguments rewritten by {by} do not match the tool's schema: {detail}")
            }
        };
        Refusal::new(RefusalScope::Call, by, reason)
    }
}

/// One rewrite of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRewrite {
    /// The hook that changed the call.
    pub by: String,
    /// The tool that the call is of from here on, if that is another.
    pub tool: Option<String>,
    /// JSON pointers of what is not as it was in the arguments; `""` is the whole.
    pub changed: Vec<String>,
    /// Those of them that somebody else had changed before, each with who that was.
    pub conflicts: Vec<RewriteConflict>,
}

/// A field that two hooks changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteConflict {
    /// JSON pointer of the field.
    pub path: String,
    /// The hook that changed it first.
    pub first: String,
}

#[cfg(test)]
mod tests;
